"""The buttons of the audit pages. Each of them calls an action."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from records.audits import actions, workflow
from records.audits.forms import PlanOneForm, ScheduleNextForm, StartForm
from records.audits.models import RecordStatus
from records.audits.schedule import free_due_dates
from records.backoffice.current import author_of
from records.backoffice.forms import ReasonIfAny
from records.backoffice.transitions import RecordStep, active_in, by_key

Data = dict[str, Any]


def _plan_one(model_admin: object, request: HttpRequest, program: Any, reason: str, data: Data) -> None:
    values = {name: data[name] for name in ("date", "due_date", "is_extra", "notes")}
    actions.schedule_audit_record(program.site_id, program.pk, values, author=author_of(request), reason=reason)


def _start(model_admin: object, request: HttpRequest, record: Any, reason: str, data: Data) -> None:
    workflow.start_audit_record(record.site_id, record.pk, start_date=data["start_date"], author=author_of(request))


SCHEDULE_NEXT = RecordStep(
    "schedule-next",
    _("Schedule the next audits"),
    "audits.add_auditrecord",
    by_key(actions.schedule_next_audit_records, "count", "first"),
    applies=lambda program: not program.is_archived and program.next_due_date is not None,
    form=ScheduleNextForm,
    explanation=_("One audit is scheduled for each of the program's next due dates that has none yet."),
    done=_("The next audits of %(record)s were scheduled."),
    initial=lambda program: {"first": next((due.isoformat() for due in free_due_dates(program, 1)), "")},
    is_next=True,
)
PLAN_ONE = RecordStep(
    "plan",
    _("Plan an audit"),
    "audits.add_auditrecord",
    _plan_one,
    applies=lambda program: not program.is_archived,
    form=PlanOneForm,
    explanation=_(
        "One audit, on a day that you choose. People, checklists and rating are copied from the program and can be "
        "changed afterwards."
    ),
    done=_("An audit of %(record)s was planned."),
    initial=lambda program: {"is_extra": program.next_due_date is not None},
)
START = RecordStep(
    "start",
    pgettext_lazy("a button", "Start"),
    "audits.change_auditrecord",
    _start,
    applies=active_in(RecordStatus.SCHEDULED),
    form=StartForm,
    explanation=_("A finding is added for each question of the checklists. Answer them on the audit's page."),
    done=_("%(record)s was started."),
    is_next=True,
)
SUBMIT = RecordStep(
    "submit",
    _("Submit for review"),
    "audits.change_auditrecord",
    by_key(workflow.submit_audit_record),
    applies=active_in(RecordStatus.IN_PROGRESS),
    form=ReasonIfAny,
    explanation=_("Every finding needs its response. The audit is rated now; later changes need a reason."),
    done=_("%(record)s awaits its review."),
)
COMPLETE = RecordStep(
    "complete",
    _("Complete"),
    "audits.complete_auditrecord",
    by_key(workflow.complete_audit_record),
    applies=active_in(RecordStatus.AWAITING_REVIEW),
    form=ReasonIfAny,
    explanation=_("The audit is closed in its present state, and the program's next due date is set."),
    done=_("%(record)s was completed."),
    is_next=True,
)
CANCEL = RecordStep(
    "cancel",
    _("Cancel the audit"),
    "audits.change_auditrecord",
    by_key(workflow.cancel_audit_record),
    applies=active_in(RecordStatus.SCHEDULED, RecordStatus.IN_PROGRESS, RecordStatus.AWAITING_REVIEW),
    explanation=_("The audit will not be carried out. The program stays due, so that another audit can be planned."),
    done=_("%(record)s was cancelled."),
)
