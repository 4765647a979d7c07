"""The operations of the item endpoint; start reading here."""

from records.items import examples
from records.items.serializers import ItemChangeSerializer, ItemSerializer
from records.items.views import ItemViewSet
from records.operations.operation import MANAGER, READER, Operation, Parameter, operation_urls, permits
from records.operations.schema import WriteResult

permits("items.archive_item", MANAGER)

urlpatterns = operation_urls(
    ItemViewSet,
    Operation(
        method="POST",
        name="AddItem",
        permission="items.add_item",
        role=MANAGER,
        request=ItemSerializer,
        response=WriteResult,
        examples=examples.ADD_ITEM,
    ),
    Operation(
        method="GET",
        name="GetItem",
        permission="items.view_item",
        role=READER,
        takes_id=True,
        response=ItemSerializer,
        examples=examples.GET_ITEM,
    ),
    Operation(
        method="GET",
        name="GetItemList",
        permission="items.view_item",
        role=READER,
        many=True,
        response=ItemSerializer,
        parameters=(
            Parameter("code", lookup="code_key"),
            Parameter("serialNumber", lookup="serial_number_key"),
            Parameter("location", lookup="location_key"),
        ),
        examples=examples.GET_ITEM_LIST,
    ),
    Operation(
        method="PUT",
        name="UpdateItem",
        permission="items.change_item",
        role=MANAGER,
        takes_id=True,
        request=ItemChangeSerializer,
        response=WriteResult,
        examples=examples.UPDATE_ITEM,
    ),
)
