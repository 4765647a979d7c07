"""The buttons on an action's page; each takes a step of the workflow."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.actions import actions
from records.actions.models import UNFINISHED, Action, Status
from records.actions.workflow import CLOSE as MAY_CLOSE
from records.actions.workflow import Mover
from records.backoffice.current import author_of, user_of
from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonIfAny, WithoutReason
from records.backoffice.transitions import Act, RecordStep, active_in
from records.sites.text import FREE_TEXT

Data = dict[str, Any]


class DoneForm(WithoutReason):
    """The form for marking an action as Done: it asks what was done."""

    result = TextField(
        max_length=FREE_TEXT,
        widget=forms.Textarea({"rows": 6}),
        help_text=_("What was done, and what the result was. Attach photos and documents on the action's page."),
    )


class CloseForm(ReasonIfAny):
    """The form for closing an action: it asks whether the action was effective."""

    effective = forms.TypedChoiceField(
        label=_("Did it work?"),
        choices=(("yes", _("Yes, it worked")), ("no", _("No, it did not work"))),
        coerce=lambda value: value == "yes",
        widget=forms.RadioSelect,
    )
    field_order = ("effective", "change_reason")


def mover(request: HttpRequest, action: Action, reason: str = "", effective: bool | None = None) -> Mover:
    """Return the person who takes a step in the back-office."""
    user = user_of(request)
    return Mover(author_of(request), lambda name: access.may(user, action.site_id, name), reason, effective)


def _step(to: Status) -> Act:
    def act(model_admin: object, request: HttpRequest, action: Action, reason: str, data: Data) -> None:
        values: Data = {"record_status": to, **{name: data[name] for name in ("result", "effective") if name in data}}
        by = mover(request, action, reason, data.get("effective"))
        actions.update_action(action.site_id, action.pk, values, mover=by)

    return act


MARK_DONE = RecordStep(
    "done",
    _("Mark as done"),
    "actions.change_action",
    _step(Status.DONE),
    applies=active_in(Status.OPEN),
    form=DoneForm,
    explanation=_("Somebody else then judges whether it worked, and closes the action or sends it back."),
    done=_("%(record)s is Done and is waiting to be judged."),
    initial=lambda action: {"result": action.result},
    is_next=True,
)
CLOSE = RecordStep(
    "close",
    _("Close"),
    MAY_CLOSE,
    _step(Status.CLOSED),
    applies=active_in(Status.DONE),
    form=CloseForm,
    explanation=_("Judge whether the action worked. Its owner and the person who marked it as Done cannot close it."),
    done=_("%(record)s was closed."),
    consequences=lambda model_admin, request, action: [gettext("Result: %(result)s") % {"result": action.result}],
    is_next=True,
)
SEND_BACK = RecordStep(
    "send-back",
    _("Send back"),
    MAY_CLOSE,
    _step(Status.OPEN),
    applies=active_in(Status.DONE),
    explanation=_("The action is open again. Its owner sees the reason on its page."),
    done=_("%(record)s was sent back to its owner."),
)
REOPEN = RecordStep(
    "reopen",
    _("Reopen"),
    MAY_CLOSE,
    _step(Status.OPEN),
    applies=active_in(Status.CLOSED),
    explanation=_("The action is open again and its judgement is removed. The history keeps the judgement."),
    done=_("%(record)s was reopened."),
)
CANCEL = RecordStep(
    "cancel",
    _("Cancel the action"),
    MAY_CLOSE,
    _step(Status.CANCELLED),
    applies=active_in(*UNFINISHED),
    explanation=_("The action will not be carried out. It cannot be reopened."),
    done=_("%(record)s was cancelled."),
)
STEPS = (MARK_DONE, CLOSE, SEND_BACK, REOPEN, CANCEL)
