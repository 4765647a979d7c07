"""The operations of the action endpoint; start reading here."""

from records.actions import examples
from records.actions.models import Status
from records.actions.serializers import ActionChangeSerializer, ActionSerializer
from records.actions.views import ActionViewSet
from records.operations.operation import MANAGER, READER, STANDARD, Operation, Parameter, operation_urls, permits
from records.operations.schema import WriteResult

permits("actions.close_action", MANAGER)
permits("actions.archive_action", MANAGER)

urlpatterns = operation_urls(
    ActionViewSet,
    Operation(
        method="POST",
        name="AddAction",
        permission="actions.add_action",
        role=STANDARD,
        request=ActionSerializer,
        response=WriteResult,
        examples=examples.ADD_ACTION,
    ),
    Operation(
        method="GET",
        name="GetAction",
        permission="actions.view_action",
        role=READER,
        takes_id=True,
        response=ActionSerializer,
        examples=examples.GET_ACTION,
    ),
    Operation(
        method="GET",
        name="GetActionList",
        permission="actions.view_action",
        role=READER,
        many=True,
        response=ActionSerializer,
        parameters=(
            Parameter("ownerId", "id"),
            Parameter("recordId", "id", description="About this record."),
            Parameter("recordStatus", "choice", choices=Status.values),
            Parameter("dueBefore", "date-time", "due_date__lt", "Due before this moment."),
        ),
        examples=examples.GET_ACTION_LIST,
    ),
    Operation(
        method="PUT",
        name="UpdateAction",
        permission="actions.change_action",
        role=STANDARD,
        takes_id=True,
        request=ActionChangeSerializer,
        response=WriteResult,
        examples=examples.UPDATE_ACTION,
    ),
)
