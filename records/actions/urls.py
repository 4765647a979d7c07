"""The operations of the action endpoint; start reading here."""

from records.actions import examples
from records.actions.models import Status
from records.actions.serializers import ActionChangeSerializer, ActionSerializer
from records.actions.views import ActionViewSet
from records.operations.operation import (
    MANAGER,
    STANDARD,
    Parameter,
    adds,
    declare_permission,
    lists,
    operation_urls,
    reads,
    updates,
)

declare_permission("actions.close_action", MANAGER)
declare_permission("actions.archive_action", MANAGER)

urlpatterns = operation_urls(
    ActionViewSet,
    adds("AddAction", STANDARD, ActionSerializer, examples.ADD_ACTION),
    reads("GetAction", ActionSerializer, examples.GET_ACTION),
    lists(
        "GetActionList",
        ActionSerializer,
        examples.GET_ACTION_LIST,
        Parameter("ownerId", "id"),
        Parameter("recordId", "id", description="About this record."),
        Parameter("recordStatus", "choice", choices=Status.values),
        Parameter("dueBefore", "date-time", "due_date__lt", "Due before this moment."),
    ),
    updates("UpdateAction", STANDARD, ActionChangeSerializer, examples.UPDATE_ACTION),
)
