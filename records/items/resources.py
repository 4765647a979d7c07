"""The import and export of items."""

from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.items import actions
from records.items.models import Item
from records.items.serializers import ItemSerializer
from records.operations.tables import WireTable
from records.sites.writing import Values


@transferable
class ItemResource(RecordResource):
    """Items."""

    model = Item
    table = WireTable(ItemSerializer)

    def add(self, values: Values) -> Item:
        """Add an item."""
        return actions.add_item(self.site_id, values, author=self.author, reason=self.reason)

    def change(self, record: Item, values: Values) -> Item:
        """Change an item."""
        return actions.update_item(self.site_id, record.pk, values, author=self.author, reason=self.reason)
