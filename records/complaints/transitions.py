"""The buttons of a complaint's page. Each of them calls a workflow step."""

from typing import Any

from django import forms
from django.http import HttpRequest

from records.backoffice.current import author_of
from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonForm, ReasonIfAny, WithoutReason
from records.backoffice.transitions import RecordStep
from records.complaints import workflow
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint, RecordStatus
from records.retention.actions import held_since, kept_until
from records.sites.text import FREE_TEXT, REASON

Data = dict[str, Any]


class CompleteForm(ReasonIfAny):
    """The form for the review report, which is needed to complete the complaint."""

    review_report = TextField(
        max_length=FREE_TEXT,
        widget=forms.Textarea({"rows": 8}),
        help_text="What was found, what was done about it, and what the customer was told.",
    )
    field_order = ("review_report", "change_reason")


class EraseForm(ReasonForm):
    """Why a consumer is erased; the reason stays, so it must not say who they are."""

    change_reason = TextField(
        label="Reason for erasing",
        max_length=REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Kept in the record's history, so do not name the consumer. For example: “Asked by letter”.",
    )


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


def _before_erasing(complaint: Complaint) -> list[str]:
    """Return what to know before a consumer is erased: a legal hold that refuses it, and the period of retention."""
    told = []
    if held_since(complaint) is not None:
        told.append("This complaint is on legal hold. Lift the hold first; until then erasing is refused.")
    if until := kept_until(complaint):
        told.append(f"The complaint is kept at least until {until.isoformat()}. It stays; only the consumer is erased.")
    return told


SUBMIT = RecordStep(
    "submit",
    "Submit for review",
    "complaints.submit_complaint",
    _submit,
    applies=_in(RecordStatus.DRAFT),
    form=WithoutReason,
    explanation="It takes its number and awaits its review. Customer, product and nonconformance are needed.",
    done="was submitted for review.",
    is_next=True,
)
COMPLETE = RecordStep(
    "complete",
    "Complete the review",
    "complaints.complete_complaint",
    _complete,
    applies=_in(RecordStatus.AWAITING_REVIEW),
    form=CompleteForm,
    explanation="From then on only a Manager changes the complaint, or reopens it.",
    done="was completed.",
    initial=lambda complaint: {"review_report": complaint.review_report},
    is_next=True,
)
REOPEN = RecordStep(
    "reopen",
    "Reopen",
    "complaints.complete_complaint",
    _reopen,
    applies=_in(RecordStatus.COMPLETED),
    explanation="The complaint awaits its review again; the report stays and can be written on.",
    done="was reopened.",
)
ERASE = RecordStep(
    "erase-consumer",
    "Erase the consumer",
    "complaints.erase_consumer",
    _erase,
    form=EraseForm,
    explanation="Name, address, phones and e-mail are replaced by codes, here and in the whole history. Nobody can undo"
    " this. Descriptions, other free text and attached files are not searched.",
    done="no longer says who the consumer is.",
    tells=_before_erasing,
)
