"""The workflow steps of a complaint: draft, submit, complete and reopen (DECISIONS 5).

Each step is one transaction with its history. A step that the complaint's status does not allow raises ValidationError
(code InvalidTransition). The caller checks the permission for a step: `complaints.submit_complaint` or
`complaints.complete_complaint`.
"""

import uuid
from typing import Unpack

from django.utils.translation import gettext

from records.complaints.models import Complaint, RecordStatus
from records.history.trail import Author, now
from records.sites.reasons import required_reason
from records.sites.sequences import take_numbers
from records.sites.text import refuse
from records.sites.writing import Values, WriteArgs, add_record, apply, changing


def add_draft(
    site_id: uuid.UUID,
    values: Values,
    *,
    author: Author,
    key: uuid.UUID | None = None,
) -> Complaint:
    """Save a complaint that is still incomplete, without a number; `key` sets its id, a digest of the form's.

    Raises ValidationError, or IntegrityError if the key is already in use.
    """
    draft = Complaint(site_id=site_id, record_status=RecordStatus.DRAFT, **({"id": key} if key else {}))
    return add_record(draft, values, author=author, operation="AddComplaintDraft", numbered=False)


def update_draft(
    site_id: uuid.UUID,
    complaint_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "UpdateComplaintDraft",
    **options: Unpack[WriteArgs],
) -> Complaint:
    """Change a draft.

    Raises RecordNotFoundError, ValidationError, or the error of the precondition.
    """
    with changing(Complaint, site_id, complaint_id, operation=operation, **options) as complaint:
        if not complaint.is_draft:
            raise refuse(gettext("This complaint is not a draft any more; somebody submitted it meanwhile."))
        apply(complaint, values)
    return complaint


def submit(
    site_id: uuid.UUID, complaint_id: uuid.UUID, *, operation: str = "SubmitComplaint", **options: Unpack[WriteArgs]
) -> Complaint:
    """Turn a draft into a complaint that awaits its review, with the next number.

    A missing date becomes the present time. Raises RecordNotFoundError, or ValidationError that names each required
    field that is empty.
    """
    with changing(Complaint, site_id, complaint_id, operation=operation, **options) as complaint:
        if not complaint.is_draft:
            raise refuse(
                gettext("Only a draft can be submitted; this complaint is %(record_status)s.")
                % {"record_status": complaint.get_record_status_display()}
            )
        if complaint.is_archived:
            raise refuse(gettext("This draft is archived; restore it before it is submitted."))
        complaint.record_status = RecordStatus.AWAITING_REVIEW
        complaint.date = complaint.date or now()
        complaint.clean()
        complaint.site_sequence_id = take_numbers(site_id, Complaint.ENTITY)
    return complaint


def complete(
    site_id: uuid.UUID,
    complaint_id: uuid.UUID,
    *,
    review_report: str | None = None,
    operation: str = "CompleteComplaint",
    **options: Unpack[WriteArgs],
) -> Complaint:
    """Complete the complaint; a given report replaces the stored one, and there must be a report.

    Raises RecordNotFoundError, or ValidationError (RequiredField at review_report, or InvalidTransition).
    """
    with changing(Complaint, site_id, complaint_id, operation=operation, **options) as complaint:
        if complaint.is_draft:
            raise refuse(gettext("This complaint is a draft; submit it before it is completed."))
        if complaint.is_completed:
            raise refuse(gettext("This complaint is completed already."))
        if complaint.is_archived:
            raise refuse(gettext("This complaint is archived; restore it before it is completed."))
        complaint.record_status = RecordStatus.COMPLETED
        if review_report is not None:
            complaint.review_report = review_report
    return complaint


def reopen(
    site_id: uuid.UUID,
    complaint_id: uuid.UUID,
    *,
    operation: str = "ReopenComplaint",
    **options: Unpack[WriteArgs],
) -> Complaint:
    """Return a completed complaint to its review, with a reason; the report is kept.

    Raises RecordNotFoundError, or ValidationError (RequiredField at reason, or InvalidTransition).
    """
    options["reason"] = required_reason(options.get("reason", ""))
    with changing(Complaint, site_id, complaint_id, operation=operation, **options) as complaint:
        if not complaint.is_completed:
            raise refuse(
                gettext("Only a completed complaint can be reopened; this one is %(record_status)s.")
                % {"record_status": complaint.get_record_status_display()}
            )
        if complaint.is_archived:
            raise refuse(gettext("This complaint is archived; restore it before it is reopened."))
        complaint.record_status = RecordStatus.AWAITING_REVIEW
    return complaint
