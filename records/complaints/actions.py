"""The writes to complaints. Each is one transaction with its history; the workflow steps are in workflow.py."""

import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Unpack

from django.utils.translation import gettext

from records.complaints.models import Complaint, RecordStatus, UnitsSold
from records.history.statements import new_row
from records.history.trail import Author, now
from records.sites.text import refuse
from records.sites.writing import (
    Precondition,
    RecordNotFoundError,
    Values,
    WriteArgs,
    add_record,
    add_records,
    apply,
    changing,
)


def add_complaint_detail(
    site_id: uuid.UUID, values: Values, *, author: Author, operation: str = "AddComplaintDetail", reason: str = ""
) -> Complaint:
    """Add a complaint, which then awaits its review; its date defaults to the present time. Raises ValidationError."""
    complaint = new_row(Complaint, site_id=site_id, record_status=RecordStatus.AWAITING_REVIEW)
    return add_record(complaint, with_date(values), author=author, operation=operation, reason=reason)


def with_date(values: Values) -> Values:
    """Return the values, with the present time as the date if they have none."""
    return {**values, "date": values.get("date") or now()}


def update_complaint_detail(
    site_id: uuid.UUID,
    complaint_id: uuid.UUID,
    values: Values,
    *,
    may_change_completed: bool,
    operation: str = "UpdateComplaintDetail",
    **options: Unpack[WriteArgs],
) -> Complaint:
    """Change a submitted complaint; its status stays the same (DECISIONS 5).

    Raises RecordNotFoundError (also for a draft), ValidationError (code InvalidTransition for a completed complaint,
    unless `may_change_completed`), or the error of the precondition.
    """
    with changing_submitted(site_id, complaint_id, operation=operation, **options) as complaint:
        if complaint.is_completed and not may_change_completed:
            raise refuse(gettext("This complaint is completed; only a Manager can change it."))
        apply(complaint, values)
    return complaint


def import_complaints(
    site_id: uuid.UUID,
    rows: Sequence[Values],
    *,
    author: Author,
    operation: str = "ImportComplaints",
    reason: str = "",
) -> Sequence[Complaint]:
    """Add complaints from an earlier register, in the given order and with the status that they have there.

    Besides the values of a new complaint, a row may hold `record_status` (not a draft) and `review_report`. Raises
    ValidationError.
    """
    complaints = [
        Complaint(site_id=site_id, **{"record_status": RecordStatus.AWAITING_REVIEW, **with_date(row)}) for row in rows
    ]
    return add_records(complaints, author=author, operation=operation, reason=reason)


def changing_submitted(
    site_id: uuid.UUID, complaint_id: uuid.UUID, *, precondition: Precondition | None = None, **options: Any
) -> AbstractContextManager[Complaint]:
    """Lock a submitted complaint and let the block change it; raises RecordNotFoundError for a draft."""

    def check(complaint: Complaint) -> None:
        if complaint.is_draft:
            raise RecordNotFoundError
        if precondition is not None:
            precondition(complaint)

    return changing(Complaint, site_id, complaint_id, precondition=check, **options)


def add_units_sold(site_id: uuid.UUID, values: Values, *, author: Author, reason: str = "") -> UnitsSold:
    """Store the units of a month; raises ValidationError, code Duplicate if the month has units already."""
    return add_record(UnitsSold(site_id=site_id), values, author=author, operation="AddUnitsSold", reason=reason)


def update_units_sold(
    site_id: uuid.UUID | None, key: uuid.UUID, values: Values, **options: Unpack[WriteArgs]
) -> UnitsSold:
    """Change the month or the number of an entry; raises ValidationError, or the error of the precondition."""
    with changing(UnitsSold, site_id, key, operation="UpdateUnitsSold", **options) as units:
        apply(units, values)
    return units
