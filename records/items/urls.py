"""The operations of the item endpoint; start reading here."""

from records.items import examples
from records.items.serializers import ItemChangeSerializer, ItemSerializer
from records.items.views import ItemViewSet
from records.operations.operation import (
    MANAGER,
    READER,
    Parameter,
    adds,
    lists,
    operation_urls,
    permits,
    reads,
    updates,
)

permits("items.archive_item", MANAGER)

urlpatterns = operation_urls(
    ItemViewSet,
    adds("AddItem", "items.add_item", MANAGER, ItemSerializer, examples.ADD_ITEM),
    reads("GetItem", "items.view_item", READER, ItemSerializer, examples.GET_ITEM),
    lists(
        "GetItemList",
        "items.view_item",
        READER,
        ItemSerializer,
        examples.GET_ITEM_LIST,
        Parameter("code", lookup="code_key"),
        Parameter("serialNumber", lookup="serial_number_key"),
        Parameter("location", lookup="location_key"),
    ),
    updates("UpdateItem", "items.change_item", MANAGER, ItemChangeSerializer, examples.UPDATE_ITEM),
)
