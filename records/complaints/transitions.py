"""The buttons of a complaint's page. Each of them calls a workflow step."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from records.backoffice.current import author_of
from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonIfAny, WithoutReason
from records.backoffice.transitions import RecordStep
from records.complaints import workflow
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint, RecordStatus
from records.retention.forms import EraseForm, before_erasing
from records.sites.text import FREE_TEXT

Data = dict[str, Any]


class CompleteForm(ReasonIfAny):
    """The form for the review report, which is needed to complete the complaint."""

    review_report = TextField(
        max_length=FREE_TEXT,
        widget=forms.Textarea({"rows": 8}),
        help_text=_("What was found, what was done about it, and what the customer was told."),
    )
    field_order = ("review_report", "change_reason")


def _in(status: RecordStatus) -> Any:
    return lambda complaint: not complaint.is_archived and complaint.record_status == status


def _submit(model_admin: Any, request: HttpRequest, complaint: Complaint, reason: str, data: Data) -> None:
    workflow.submit(complaint.site_id, complaint.pk, author=author_of(request))


def _complete(model_admin: Any, request: HttpRequest, complaint: Complaint, reason: str, data: Data) -> None:
    workflow.complete(
        complaint.site_id,
        complaint.pk,
        review_report=data["review_report"],
        author=author_of(request),
        reason=reason,
    )


def _reopen(model_admin: Any, request: HttpRequest, complaint: Complaint, reason: str, data: Data) -> None:
    workflow.reopen(complaint.site_id, complaint.pk, author=author_of(request), reason=reason)


def _erase(model_admin: Any, request: HttpRequest, complaint: Complaint, reason: str, data: Data) -> None:
    erase_consumer(complaint.site_id, complaint.pk, author=author_of(request), reason=reason)


SUBMIT = RecordStep(
    "submit",
    _("Submit for review"),
    "complaints.submit_complaint",
    _submit,
    applies=_in(RecordStatus.DRAFT),
    form=WithoutReason,
    explanation=_("It takes its number and awaits its review. Customer, product and nonconformance are needed."),
    done=_("%(record)s was submitted for review."),
    is_next=True,
)
COMPLETE = RecordStep(
    "complete",
    _("Complete the review"),
    "complaints.complete_complaint",
    _complete,
    applies=_in(RecordStatus.AWAITING_REVIEW),
    form=CompleteForm,
    explanation=_("From then on only a Manager changes the complaint, or reopens it."),
    done=_("%(record)s was completed."),
    initial=lambda complaint: {"review_report": complaint.review_report},
    is_next=True,
)
REOPEN = RecordStep(
    "reopen",
    _("Reopen"),
    "complaints.complete_complaint",
    _reopen,
    applies=_in(RecordStatus.COMPLETED),
    explanation=_("The complaint awaits its review again; the report stays and can be written on."),
    done=_("%(record)s was reopened."),
)
ERASE = RecordStep(
    "erase-consumer",
    _("Erase the consumer"),
    "complaints.erase_consumer",
    _erase,
    form=EraseForm,
    explanation=_(
        "Name, address, phones and e-mail are replaced by codes, here and in the whole history. Nobody can undo"
        " this. Descriptions, other free text and attached files are not searched."
    ),
    done=_("%(record)s no longer says who the consumer is."),
    consequences=before_erasing,
)
