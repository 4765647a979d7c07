"""The operations of the item endpoint; start reading here."""

from records.items import examples
from records.items.serializers import ItemChangeSerializer, ItemSerializer
from records.items.views import ItemViewSet
from records.operations.operation import (
    MANAGER,
    Parameter,
    adds,
    declare_permission,
    lists,
    operation_urls,
    reads,
    updates,
)

declare_permission("items.archive_item", MANAGER)

urlpatterns = operation_urls(
    ItemViewSet,
    adds("AddItem", MANAGER, ItemSerializer, examples.ADD_ITEM),
    reads("GetItem", ItemSerializer, examples.GET_ITEM),
    lists(
        "GetItemList",
        ItemSerializer,
        examples.GET_ITEM_LIST,
        Parameter("code", lookup="code_key"),
        Parameter("serialNumber", lookup="serial_number_key"),
        Parameter("location", lookup="location_key"),
    ),
    updates("UpdateItem", MANAGER, ItemChangeSerializer, examples.UPDATE_ITEM),
)
