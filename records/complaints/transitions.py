"""The buttons of a complaint's page. Each of them calls a workflow step."""

from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from records.backoffice.autocomplete import choices_at, choose_url
from records.backoffice.current import author_of
from records.backoffice.fields import DayField, TextField
from records.backoffice.formfields import reference_field
from records.backoffice.forms import ReasonIfAny, WithoutReason
from records.backoffice.transitions import RecordStep, active_in, by_key
from records.complaints import workflow
from records.complaints.actions import update_complaint_detail
from records.complaints.erasure import IDENTIFYING, PERSONAL, erase_consumer
from records.complaints.models import Complaint, RecordStatus, Severity
from records.retention.forms import EraseWithTextsForm, asking_about_texts, before_erasing, who_else_names
from records.retention.pages import fault_of_erasing
from records.sites.text import FREE_TEXT

TRIAGE_FIELDS = ("owner", "severity", "target_date")


class CompleteForm(ReasonIfAny):
    """The form for the review report, which is needed to complete the complaint."""

    review_report = TextField(
        max_length=FREE_TEXT,
        widget=forms.Textarea({"rows": 8}),
        help_text=_("What was found, what was done about it, and what the customer was told."),
    )
    field_order = ("review_report", "change_reason")


class TriageForm(ReasonIfAny):
    """The form for who answers a complaint, how serious it is, and until when it has to be answered."""

    severity = forms.ChoiceField(choices=[("", "---------"), *Severity.choices])
    target_date = DayField(help_text=Complaint._meta.get_field("target_date").help_text)
    field_order = (*TRIAGE_FIELDS, "change_reason")


def _offer_owners(form: Any, complaint: Complaint) -> None:
    field = Complaint._meta.get_field("owner")
    choose_from, address = partial(choices_at, field, complaint.site_id), partial(choose_url, field, complaint.site_id)
    form.fields["owner"] = reference_field(choose_from, address, label=capfirst(field.verbose_name))
    form.fields["owner"].set_current([complaint.owner] if complaint.owner else [])
    form.order_fields(form.field_order)


def _triage(
    model_admin: object, request: HttpRequest, complaint: Complaint, reason: str, data: dict[str, object]
) -> None:
    update_complaint_detail(
        complaint.site_id,
        complaint.pk,
        {name: data[name] for name in TRIAGE_FIELDS},
        may_change_completed=False,
        operation="TriageComplaint",
        author=author_of(request),
        reason=reason,
    )


TRIAGE = RecordStep(
    "triage",
    _("Triage"),
    "change",
    _triage,
    applies=lambda complaint: (
        active_in(RecordStatus.AWAITING_REVIEW)(complaint)
        and not (complaint.owner_id and complaint.severity and complaint.target_date)
    ),
    form=TriageForm,
    done=_("%(record)s has its owner, severity and target date."),
    initial=lambda complaint: {name: getattr(complaint, name) for name in TRIAGE_FIELDS},
    fill=_offer_owners,
    is_next=True,
)
SUBMIT = RecordStep(
    "submit",
    _("Submit for review"),
    "complaints.submit_complaint",
    by_key(workflow.submit),
    applies=active_in(RecordStatus.DRAFT),
    form=WithoutReason,
    explanation=_("It gets its number and awaits its review. Customer, product and nonconformance are required."),
    done=_("%(record)s was submitted for review."),
    is_next=True,
)
COMPLETE = RecordStep(
    "complete",
    _("Complete the review"),
    "complaints.complete_complaint",
    by_key(workflow.complete, "review_report"),
    applies=active_in(RecordStatus.AWAITING_REVIEW),
    form=CompleteForm,
    explanation=_("After that, only a Manager can change or reopen the complaint."),
    done=_("%(record)s was completed."),
    initial=lambda complaint: {"review_report": complaint.review_report},
    is_next=True,
)
REOPEN = RecordStep(
    "reopen",
    _("Reopen"),
    "complaints.complete_complaint",
    by_key(workflow.reopen),
    applies=active_in(RecordStatus.COMPLETED),
    explanation=_("The complaint awaits its review again. The review report stays and can be continued."),
    done=_("%(record)s was reopened."),
)
ERASE = RecordStep(
    "erase-consumer",
    _("Erase the consumer"),
    "complaints.erase_consumer",
    by_key(erase_consumer, "with_texts"),
    fault_of=fault_of_erasing,
    form=EraseWithTextsForm,
    explanation=_(
        "Name, address, phone numbers and e-mail address are replaced by codes on this page and in the whole history. "
        "Nobody can undo this."
    ),
    done=_("The consumer was erased from %(record)s."),
    consequences=before_erasing,
    search=who_else_names(PERSONAL, IDENTIFYING),
    fill=asking_about_texts(PERSONAL),
)
