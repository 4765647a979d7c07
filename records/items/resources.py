"""The import and export of items."""

from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.items import actions
from records.items.models import Item
from records.items.serializers import ItemSerializer
from records.operations.tables import WireTable


@transferable
class ItemResource(RecordResource):
    """Items."""

    model = Item
    table = WireTable(ItemSerializer)
    add_action = staticmethod(actions.add_item)
    update_action = staticmethod(actions.update_item)
