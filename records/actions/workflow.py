"""The steps of an action: Open → Done → Closed, sent back, cancelled, reopened (DECISIONS 13.21).

Each step changes a locked row and raises ValidationError: InvalidTransition for a step that the status or the person
does not allow, RequiredField for a missing value.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext

from records.actions.models import Action, Status
from records.history.trail import Author, now
from records.sites.hidden import exists_for
from records.sites.models import SiteRecord
from records.sites.reasons import required_reason
from records.sites.text import fault_at, refuse

CHANGE, CLOSE = "actions.change_action", "actions.close_action"


@dataclass(frozen=True, slots=True)
class Mover:
    """The person who takes a step: their account, their permissions at the site, and their reason."""

    author: Author
    may: Callable[[str], bool]
    reason: str = ""
    effective: bool | None = None

    @property
    def user_id(self) -> uuid.UUID | None:
        """Return the account's Id; None for the system."""
        return self.author.id

    def sees(self, record: SiteRecord) -> bool:
        """Return whether a record of the site exists for the mover."""
        return self.user_id is None or exists_for(record, self.user_id, self.may)

    def owns(self, action: Action) -> bool:
        """Return whether the action is the mover's own."""
        return self.user_id is not None and self.user_id == action.owner_id


def mark_done(action: Action, mover: Mover) -> None:
    """Mark an open action as Done; needs a `result`.

    Raises ValidationError, code InvalidTransition, unless its owner, or somebody who may change actions, does this.
    """
    if not (mover.owns(action) or mover.may(CHANGE)):
        raise refuse(gettext("Only its owner, or somebody who may change actions, can mark an action as Done."))
    action.record_status = Status.DONE
    action.done_by_id, action.done_date = mover.user_id, now()


def close(action: Action, mover: Mover) -> None:
    """Close a Done action with the judgement whether it was effective.

    Raises ValidationError without the judgement, and unless a Manager does this who is neither its owner nor `done_by`.
    """
    _need_manager(mover, gettext("Only a Manager can close an action."))
    if mover.owns(action):
        raise refuse(gettext("You cannot close your own action. Ask another Manager."))
    if mover.user_id is not None and mover.user_id == action.done_by_id:
        raise refuse(gettext("The person who marked an action as Done cannot close it. Ask another Manager."))
    if mover.effective is None:
        raise fault_at("effective", gettext("Say whether the action worked."), "RequiredField")
    action.record_status, action.effective = Status.CLOSED, mover.effective
    action.closed_by_id, action.closed_date = mover.user_id, now()


def send_back(action: Action, mover: Mover) -> None:
    """Send a Done action back to its owner, with a reason; the result stays and can be completed."""
    _need_manager(mover, gettext("Only a Manager can send an action back."))
    _reopen(action, mover)


def reopen(action: Action, mover: Mover) -> None:
    """Open a Closed action again, with a reason; its judgement is removed (the history keeps it)."""
    _need_manager(mover, gettext("Only a Manager can reopen an action."))
    _reopen(action, mover)


def cancel(action: Action, mover: Mover) -> None:
    """Cancel an action that is not closed yet, with a reason."""
    _need_manager(mover, gettext("Only a Manager can cancel an action."))
    required_reason(mover.reason)
    action.record_status = Status.CANCELLED


def _reopen(action: Action, mover: Mover) -> None:
    required_reason(mover.reason)
    action.record_status = Status.OPEN
    action.done_by = action.done_date = action.closed_by = action.closed_date = action.effective = None


def _need_manager(mover: Mover, refusal: str) -> None:
    if not mover.may(CLOSE):
        raise refuse(refusal)


Step = Callable[[Action, Mover], None]
STEPS: dict[tuple[Status, Status], Step] = {
    (Status.OPEN, Status.DONE): mark_done,
    (Status.DONE, Status.CLOSED): close,
    (Status.DONE, Status.OPEN): send_back,
    (Status.CLOSED, Status.OPEN): reopen,
    (Status.OPEN, Status.CANCELLED): cancel,
    (Status.DONE, Status.CANCELLED): cancel,
}


def move(action: Action, to: Status, mover: Mover) -> None:
    """Take the step from the action's status to another one; the caller saves the action.

    Raises ValidationError, code InvalidTransition, if there is no such step.
    """
    step = STEPS.get((Status(action.record_status), to))
    if step is None:
        raise refuse(
            gettext("An action that is %(record_status)s cannot become %(label)s.")
            % {"record_status": action.get_record_status_display(), "label": to.label}
        )
    step(action, mover)
