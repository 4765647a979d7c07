"""Writes to audit programs, and the scheduling of their audits; the later steps of an audit are in workflow.py."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any, Unpack

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.audits.models import AuditProgram, AuditRecord, RecordStatus
from records.audits.schedule import free_due_dates, is_before
from records.history.trail import Author, recording
from records.sites.targets import errors_of
from records.sites.text import fault_at, refuse
from records.sites.writing import (
    RecordNotFoundError,
    Values,
    WriteArgs,
    add_record,
    apply,
    archive_record,
    changing,
)

MOST_AT_ONCE = 24
"""The most audits that one call can schedule."""


def add_audit_program(
    site_id: uuid.UUID, values: Values, *, author: Author, operation: str = "AddAuditProgram", reason: str = ""
) -> AuditProgram:
    """Add an audit program to the site. Raises ValidationError."""
    program = AuditProgram(site_id=site_id)
    return add_record(program, values, author=author, operation=operation, reason=reason)


def update_audit_program(
    site_id: uuid.UUID,
    program_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "UpdateAuditProgram",
    **options: Unpack[WriteArgs],
) -> AuditProgram:
    """Change an audit program; audits that are already scheduled keep their values. Raises the errors of `changing`."""
    with changing(AuditProgram, site_id, program_id, operation=operation, **options) as program:
        apply(program, values)
    return program


def archive_audit_program(
    site_id: uuid.UUID, program_id: uuid.UUID, *, archived: bool, author: Author, reason: str
) -> AuditProgram:
    """Archive a program that has no open audits, or restore one, with a reason; repeating it changes nothing.

    Raises ValidationError (code InUse) that names the audits that are still open.
    """
    with recording():
        program = lock_program(site_id, program_id)
        if archived and not program.is_archived and (open_numbers := _open_numbers(program)):
            text = gettext(
                "These audits of the program are still open: %(waiting)s. Complete or cancel them first."
            ) % {"waiting": open_numbers}
            raise ValidationError(text, code="InUse")
        return archive_record(AuditProgram, site_id, program_id, archived=archived, author=author, reason=reason)


def lock_program(site_id: uuid.UUID, program_id: uuid.UUID) -> AuditProgram:
    """Return one of the site's programs, locked until the transaction ends; raises RecordNotFoundError.

    Every change of a program or of one of its audits takes this lock first, so that dates and audits stay consistent.
    """
    program = (
        AuditProgram.objects.at(site_id)
        .select_for_update(of=("self",), no_key=True)
        .select_related("site")
        .filter(pk=program_id)
        .first()
    )
    if program is None:
        raise RecordNotFoundError
    return program


def _open_numbers(program: AuditProgram) -> str:
    open_records = program.records.filter(is_archived=False).exclude(
        record_status__in=(RecordStatus.COMPLETED, RecordStatus.CANCELLED)
    )
    numbers = list(open_records.order_by("site_sequence_id").values_list("site_sequence_id", flat=True)[:11])
    text = ", ".join(str(number) for number in numbers[:10])
    return gettext("%(numbers)s and more") % {"numbers": text} if len(numbers) > 10 else text


def schedule_audit_record(
    site_id: uuid.UUID, program_id: uuid.UUID, values: Values, *, author: Author, reason: str = ""
) -> AuditRecord:
    """Schedule one audit of a program for a date; fields that `values` omits are copied from the program.

    Either `date` or `due_date` may be omitted. With `is_extra`, and always if it is due before the program, the audit
    is an extra one, which does not change the program's due date. A program without a due date gets that of a regular
    audit. Raises RecordNotFoundError or ValidationError.
    """
    with recording():
        program = lock_program(site_id, program_id)
        refuse_archived(program)
        planned_date = values.get("date") or values.get("due_date")
        due = values.get("due_date") or planned_date
        if due is None:
            raise fault_at("date", gettext("Enter the date of the audit."), "RequiredField")
        is_extra = values.get("is_extra", False) or is_before(program.next_due_date, due)
        fields = {**_copied_values(program), **values, "date": planned_date, "due_date": due, "is_extra": is_extra}
        record = _add(program, fields, author=author, reason=reason)
        if program.next_due_date is None and not is_extra:
            values = {"next_due_date": due}
            update_audit_program(site_id, program_id, values, author=author, operation="ScheduleAudit", reason=reason)
    return record


def schedule_next_audit_records(
    site_id: uuid.UUID,
    program_id: uuid.UUID,
    *,
    count: int = 1,
    first: datetime.datetime | None = None,
    author: Author,
    reason: str = "",
) -> list[AuditRecord]:
    """Schedule the next audits of a program, one for each due date in its frequency that does not have an audit yet.

    With `first`, nothing is scheduled if the first of them is another date, because of what somebody did meanwhile.
    Raises RecordNotFoundError, or ValidationError (code InvalidTransition) if no audit is left to schedule.
    """
    if not 1 <= count <= MOST_AT_ONCE:
        text = gettext("Between 1 and %(most_at_once)s audits can be scheduled at once.") % {
            "most_at_once": MOST_AT_ONCE
        }
        raise fault_at("count", text, "InvalidValue")
    with recording():
        program = lock_program(site_id, program_id)
        refuse_archived(program)
        if program.next_due_date is None:
            raise fault_at("next_due_date", gettext("Enter the next due date of the program."), "RequiredField")
        dates = free_due_dates(program, count)
        if not dates:
            text = gettext("The audit that is due is scheduled, and a program without a frequency has no later one.")
            raise refuse(text)
        if first is not None and dates[0] != first:
            text = gettext(
                "Meanwhile, another date is the next one without an audit. Look at the program's audits, and open this "
                "page again."
            )
            raise refuse(text)
        copies = _copied_values(program)
        return [_add(program, {**copies, "date": due, "due_date": due}, author=author, reason=reason) for due in dates]


def refuse_archived(program: AuditProgram) -> None:
    """Raise ValidationError (code InvalidTransition) if the program is archived."""
    if program.is_archived:
        raise refuse(gettext("The program is archived; restore it first."))


def _copied_values(program: AuditProgram) -> dict[str, object]:
    """Return the values that a new audit copies from its program, except people and checklists no longer valid."""
    return {
        "auditors": _still_valid(program, list(program.auditors.all())),
        "auditees": _still_valid(program, list(program.auditees.all())),
        "checklists": list(program.checklists.filter(is_archived=False)),
        "rating_scale": program.rating,
    }


def _still_valid(program: AuditProgram, people: Sequence[Any]) -> list[Any]:
    """Return the people of the program who can still be chosen."""
    errors = errors_of(AuditProgram.auditors.field.related_model, people, program.site_id, AuditProgram)
    return [person for person in people if person.pk not in errors]


def _add(program: AuditProgram, values: Values, *, author: Author, reason: str) -> AuditRecord:
    record = AuditRecord(site_id=program.site_id, audit_program=program)
    return add_record(record, values, author=author, operation="ScheduleAudit", reason=reason, skip=["audit_program"])
