"""Writes to actions, each one transaction with its history; the steps are in workflow.py."""

import uuid
from collections.abc import Callable

from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext

from records.actions.models import Action, Status
from records.actions.workflow import CHANGE, Mover, move
from records.history.snapshots import columns
from records.history.statements import new_row
from records.history.trail import Author
from records.sites.models import SiteRecord
from records.sites.text import fault_at, refuse
from records.sites.writing import Precondition, Values, add_record, apply, changing

ANSWER = frozenset({"result"})
"""The fields that the owner of an action may write in any role."""


def add_action(
    site_id: uuid.UUID,
    values: Values,
    *,
    author: Author,
    operation: str = "AddAction",
    reason: str = "",
    sees: Callable[[SiteRecord], bool] = lambda record: True,
    on: SiteRecord | None = None,
) -> Action:
    """Add an open action, about a record (and `finding_id`) or alone. Its due date may lie in the past.

    The record is `on`, or the one that has the Id `record_id`. `sees` returns whether a record exists for the person
    who adds the action. Raises ValidationError: InvalidReference for a record that does not exist for them,
    InvalidTransition for an archived record or for another status than Open.
    """
    fields = {**values}
    status = fields.pop("record_status", "") or Status.OPEN
    if status != Status.OPEN:
        raise refuse(gettext("A new action is Open; mark it as Done, and have it closed, afterwards."))
    action = new_row(Action, site_id=site_id)
    check_judgement(action, values, Status.OPEN)
    action.point_as(fields, sees, on=on)
    return add_record(action, fields, author=author, operation=operation, reason=reason)


def update_action(
    site_id: uuid.UUID,
    action_id: uuid.UUID,
    values: Values,
    *,
    mover: Mover,
    operation: str = "UpdateAction",
    precondition: Precondition | None = None,
) -> Action:
    """Change an open action, or take a step of its workflow: `record_status` is its new status (DECISIONS 13.21).

    Other fields are changed only while the action is Open. An owner who may not change actions can only write the
    result and mark the action as Done (otherwise PermissionDenied). Raises RecordNotFoundError, ValidationError, or
    what the precondition raises.
    """
    fields = {**values}
    with changing(
        Action,
        site_id,
        action_id,
        author=mover.author,
        operation=operation,
        reason=mover.reason,
        precondition=precondition,
    ) as action:
        if not (mover.may(CHANGE) or mover.owns(action)):
            raise PermissionDenied
        to = Status(fields.pop("record_status", "") or action.record_status)
        moves = to != action.record_status
        effective = fields.pop("effective", action.effective)
        names = _change(action, fields, mover)
        if action.is_archived and (names or moves):
            raise refuse(gettext("This action is archived; restore it first."))
        if not mover.may(CHANGE) and names - ANSWER:
            raise PermissionDenied
        if names and action.record_status != Status.OPEN:
            raise refuse(
                gettext("This action is %(record_status)s. It can be changed only while it is Open.")
                % {"record_status": action.get_record_status_display()}
            )
        check_judgement(action, values, to)
        if moves:
            move(action, to, mover)
        elif effective != action.effective:
            raise refuse(gettext("This action is Closed. Reopen it before you judge it again."))
    return action


def check_judgement(action: Action, values: Values, to: Status) -> None:
    """Raise ValidationError if the values judge an action whose status becomes or stays another one than Closed."""
    if to != Status.CLOSED and values.get("effective", action.effective) != action.effective:
        raise fault_at("effective", gettext("Say whether an action worked only when you close it."), "InvalidValue")


def _change(action: Action, fields: Values, mover: Mover) -> set[str]:
    """Set values of a locked action and return the names of the fields that changed."""
    before = columns(action)
    action.point_as(fields, mover.sees)
    apply(action, fields)
    return {name for name, value in columns(action).items() if value != before[name]}
