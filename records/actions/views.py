"""The action endpoint. Reads are handled here; writes call the actions."""

import uuid
from collections.abc import Collection
from functools import partial
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from records.actions import actions
from records.actions.models import Action, Status
from records.actions.serializers import ActionChangeSerializer, ActionSerializer
from records.actions.workflow import Mover
from records.history.trail import beginning
from records.operations.lists import ListRules
from records.operations.operation import Operation
from records.operations.viewsets import Check, OperationViewSet
from records.sites.text import read_uuid
from records.sites.writing import Values, locking_with_content

ACTIONS = ListRules(search=("name", "description"))


class ActionViewSet(OperationViewSet):
    """Corrective and preventive actions of the caller's site."""

    def permits(self, operation: Operation) -> bool:
        """Return whether the caller may call the operation; an action's owner may update it in any role."""
        if super().permits(operation) or operation.name != "UpdateAction":
            return super().permits(operation)
        key = read_uuid(self.kwargs.get("id"))
        if key is None or not self.caller.may("actions.view_action"):
            return False
        return Action.objects.at(self.site_id).filter(pk=key, owner_id=self.caller.user_id).exists()

    def checks_of_action(self, record: Any, values: Values, faulty: Collection[str]) -> list[Check]:
        """Return the checks of the record that the action is about, and of the judgement."""
        to = Status(values.get("record_status") or record.record_status)
        judgement = partial(actions.check_judgement, record, values, to)
        return [*super().checks_of_action(record, values, faulty), judgement]

    def add_action(self, request: Request) -> HttpResponse:
        """Add an action about a complaint, audit, document, item, material or customer, or about none; it is Open."""
        return self.add_record(ActionSerializer, partial(actions.add_action, sees=self.sees))

    def update_action(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Change an open action, or move its RecordStatus; an absent field keeps its value.

        Open becomes Done with a Result (by its owner or whoever may change actions). Done becomes Closed with Effective
        (by a Manager who is neither its owner nor marked it as Done), or Open again with a ReasonForChange. A Manager
        cancels an Open or Done action, and reopens a Closed one, with a ReasonForChange. Anything else is 409.
        """
        with beginning():
            values = self.body(ActionChangeSerializer, partial(locking_with_content, Action, id))
            mover = Mover(self.author, self.caller.may, values.pop("reason_for_change", ""), values.get("effective"))
            action = self.call_action(
                actions.update_action, self.site_id, id, values, mover=mover, precondition=self.precondition
            )
        return self.write_response(action.pk, action.revision)

    def get_action(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one action."""
        return self.record(ActionSerializer, id)

    def get_action_list(self, request: Request) -> HttpResponse:
        """List the site's actions."""
        return self.listing(ActionSerializer, ACTIONS)
