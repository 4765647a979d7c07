"""The buttons of a complaint's page. Each of them calls a workflow step."""

from django import forms
from django.utils.translation import gettext_lazy as _

from records.backoffice.fields import TextField
from records.backoffice.forms import ReasonIfAny, WithoutReason
from records.backoffice.transitions import RecordStep, active_in, by_key
from records.complaints import workflow
from records.complaints.erasure import PERSONAL, erase_consumer
from records.complaints.models import RecordStatus
from records.retention.forms import EraseWithTextsForm, asking_about_texts, before_erasing
from records.sites.text import FREE_TEXT


class CompleteForm(ReasonIfAny):
    """The form for the review report, which is needed to complete the complaint."""

    review_report = TextField(
        max_length=FREE_TEXT,
        widget=forms.Textarea({"rows": 8}),
        help_text=_("What was found, what was done about it, and what the customer was told."),
    )
    field_order = ("review_report", "change_reason")


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
    form=EraseWithTextsForm,
    explanation=_(
        "Name, address, phone numbers and e-mail address are replaced by codes on this page and in the whole history. "
        "Nobody can undo this. Attached files and other records, such as actions, are not searched."
    ),
    done=_("The consumer was erased from %(record)s."),
    consequences=before_erasing,
    fill=asking_about_texts(PERSONAL),
)
