"""The way of a complaint: draft, submit, complete, reopen, archive."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from records.complaints import workflow
from records.complaints.models import Complaint, RecordStatus
from records.history.models import Change
from records.sites.models import SiteSequence
from records.sites.writing import RecordNotFoundError
from tests.make import SYSTEM, archive
from tests.make.complaints import make_complaint, make_completed, make_draft, required_of


def submit(complaint: Complaint) -> Complaint:
    return workflow.submit(complaint.site_id, complaint.pk, author=SYSTEM)


def complete(complaint: Complaint, report: str | None = "Checked.") -> Complaint:
    return workflow.complete(complaint.site_id, complaint.pk, author=SYSTEM, review_report=report)


def reopen(complaint: Complaint, reason: str = "New facts") -> Complaint:
    return workflow.reopen(complaint.site_id, complaint.pk, author=SYSTEM, reason=reason)


def codes(fault: Any) -> dict[str, list[str | None]]:
    error = fault.value
    if hasattr(error, "error_dict"):
        return {name: [one.code for one in faults] for name, faults in error.error_dict.items()}
    return {"": [one.code for one in error.error_list]}


def test_a_draft_takes_its_number_when_it_is_submitted(site: Any) -> None:
    draft = make_draft(site, trace_number="L1")
    assert (draft.site_sequence_id, draft.record_status, draft.date) == (None, "Draft", None)
    other = make_complaint(site)
    assert other.site_sequence_id == 1
    workflow.update_draft(site.pk, draft.pk, required_of(site), author=SYSTEM)
    complaint = submit(draft)
    stored = Complaint.objects.get(pk=draft.pk)
    assert (stored.site_sequence_id, stored.record_status) == (2, "Awaiting Review")
    assert stored.date is not None
    assert complaint.revision == 3
    assert list(Change.objects.filter(record_id=draft.pk).order_by("number").values_list("operation", flat=True)) == [
        "AddComplaintDraft",
        "UpdateComplaintDraft",
        "SubmitComplaint",
    ]


def test_submitting_names_every_required_field_that_is_empty_and_takes_no_number(site: Any) -> None:
    draft = make_draft(site, product=required_of(site)["product"])
    with pytest.raises(ValidationError) as fault:
        submit(draft)
    assert codes(fault) == {"customer": ["RequiredField"], "nonconformance": ["RequiredField"]}
    assert Complaint.objects.get(pk=draft.pk).is_draft
    assert not SiteSequence.objects.filter(site=site, entity="complaint", last__gt=0).exists()
    assert make_complaint(site).site_sequence_id == 1


def test_completing_needs_a_review_report(site: Any) -> None:
    complaint = make_complaint(site)
    for report in (None, "", " \n "):
        with pytest.raises(ValidationError) as fault:
            complete(complaint, report)
        assert codes(fault) == {"review_report": ["RequiredField"]}
    done = complete(complaint, "Blade replaced.")
    stored = Complaint.objects.get(pk=complaint.pk)
    assert (stored.record_status, stored.review_report, done.revision) == ("Completed", "Blade replaced.", 2)


def test_reopening_needs_a_reason_and_keeps_the_report(site: Any) -> None:
    complaint = make_completed(site)
    for reason in ("", "  ", "x" * 1001):
        with pytest.raises(ValidationError) as fault:
            reopen(complaint, reason)
        assert list(codes(fault)) == ["reason"]
    reopen(complaint, "New facts")
    stored = Complaint.objects.get(pk=complaint.pk)
    assert (stored.record_status, stored.review_report) == ("Awaiting Review", "Metal detector checked.")
    assert Change.objects.filter(record_id=complaint.pk).latest("number").reason == "New facts"


@pytest.mark.parametrize(
    ("make", "step"),
    [
        (make_complaint, submit),
        (make_completed, submit),
        (make_draft, complete),
        (make_completed, complete),
        (make_draft, reopen),
        (make_complaint, reopen),
    ],
)
def test_a_step_that_the_status_does_not_allow_is_refused_in_words(
    site: Any, make: Callable[..., Complaint], step: Callable[..., Complaint]
) -> None:
    complaint = make(site)
    before = Complaint.objects.filter(pk=complaint.pk).values().get()
    with pytest.raises(ValidationError) as fault:
        step(complaint)
    assert codes(fault) == {"": ["InvalidTransition"]}
    assert fault.value.messages[0].endswith(".")
    assert Complaint.objects.filter(pk=complaint.pk).values().get() == before
    assert Change.objects.filter(record_id=complaint.pk).latest("number").operation not in (
        "SubmitComplaint",
        "ReopenComplaint",
    )


def test_a_submitted_complaint_is_no_draft_to_be_changed(site: Any) -> None:
    complaint = make_complaint(site)
    with pytest.raises(ValidationError) as fault:
        workflow.update_draft(site.pk, complaint.pk, {"trace_number": "L1"}, author=SYSTEM)
    assert codes(fault) == {"": ["InvalidTransition"]}


def test_archiving_needs_a_reason_is_repeatable_and_keeps_the_kept_totals_right(site: Any) -> None:
    complaint, draft = make_complaint(site), make_draft(site)

    def turn(record: Complaint, archived: bool, reason: str = "Doubled") -> Complaint:
        return archive(record, archived=archived, reason=reason)

    with pytest.raises(ValidationError):
        turn(complaint, True, " ")
    for record in (complaint, complaint, draft):
        turn(record, True)
    sequence = SiteSequence.objects.get(site=site, entity="complaint")
    assert (sequence.last, sequence.archived) == (1, 1)
    for step in (submit,):
        with pytest.raises(ValidationError) as fault:
            step(draft)
        assert codes(fault) == {"": ["InvalidTransition"]}
    with pytest.raises(ValidationError):
        complete(complaint)
    turn(complaint, False)
    sequence.refresh_from_db()
    assert (sequence.last, sequence.archived) == (1, 0)
    operations = Change.objects.filter(record_id=complaint.pk).order_by("number").values_list("operation", flat=True)
    assert list(operations) == ["AddComplaintDetail", "ArchiveComplaint", "RestoreComplaint"]


def test_another_sites_complaint_takes_no_step(site: Any, other_site: Any) -> None:
    complaint = make_complaint(other_site)
    with pytest.raises(RecordNotFoundError):
        workflow.complete(site.pk, complaint.pk, author=SYSTEM, review_report="x")


def test_the_database_itself_refuses_a_number_on_a_draft_and_a_complaint_without_customer(site: Any) -> None:
    draft, complaint = make_draft(site), make_complaint(site)
    for key, wrong in (
        (draft.pk, {"site_sequence_id": 9}),
        (draft.pk, {"record_status": RecordStatus.COMPLETED}),
        (complaint.pk, {"customer": None}),
        (complaint.pk, {"record_status": RecordStatus.DRAFT}),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            Complaint.objects.filter(pk=key).update(**wrong)
