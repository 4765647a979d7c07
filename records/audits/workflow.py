"""The steps of an audit: Scheduled → In Progress → Awaiting Review → Completed, or Cancelled (DECISIONS 5).

A step that the audit's status does not allow raises ValidationError (code InvalidTransition). Every step first locks
the program and then the audit. The caller checks who may take a step.
"""

import datetime
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Unpack

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.audits.actions import lock_program, refuse_archived, update_audit_program
from records.audits.models import RATED_STATUSES, AuditRecord, Finding, RecordStatus
from records.audits.schedule import next_due_date
from records.audits.scores import Outcome, outcome_of
from records.history.snapshots import snapshot
from records.history.trail import Author, now, recording
from records.reference.models import RatingResponse
from records.sites.reasons import required_reason
from records.sites.text import fault_at, refuse
from records.sites.writing import (
    RecordNotFoundError,
    Values,
    WriteArgs,
    apply,
    archive_record,
    changing,
    replace_children,
)

SCHEDULED, IN_PROGRESS, AWAITING_REVIEW, COMPLETED, CANCELLED = RecordStatus


@contextmanager
def _auditing(
    site_id: uuid.UUID, record_id: uuid.UUID, *, operation: str, **options: Unpack[WriteArgs]
) -> Iterator[AuditRecord]:
    """Open a write to an audit, lock its program first and update the program's due date; raises as `changing`."""
    with recording():
        program_ids = AuditRecord.objects.at(site_id).filter(pk=record_id).values_list("audit_program_id", flat=True)
        program_id = program_ids.first()
        if program_id is None:
            raise RecordNotFoundError
        program = lock_program(site_id, program_id)
        with changing(
            AuditRecord,
            site_id,
            record_id,
            operation=operation,
            skip=["audit_program", "completed_by"],
            **options,
        ) as record:
            record.audit_program = program
            was = (record.record_status, record.due_date)
            yield record
        if record.record_status == COMPLETED != was[0]:
            due = next_due_date(program, record)
        elif not record.is_extra and record.due_date != was[1] and was[1] == program.next_due_date:
            due = min(filter(None, (record.due_date, next_due_date(program))), default=None)
        else:
            return
        if due != program.next_due_date:
            options.pop("precondition", None)
            update_audit_program(site_id, program_id, {"next_due_date": due}, operation=operation, **options)


def _move(record: AuditRecord, statuses: Sequence[RecordStatus], to: RecordStatus) -> None:
    if record.is_archived:
        raise refuse(gettext("The audit is archived; restore it first."))
    if record.record_status not in statuses:
        names = gettext(" or ").join(str(status.label) for status in statuses)
        text = gettext("The audit is %(record_status)s; only one that is %(wanted)s becomes %(label)s.") % {
            "record_status": record.get_record_status_display(),
            "wanted": names,
            "label": to.label,
        }
        raise refuse(text)
    record.record_status = to


def update_audit_record(
    site_id: uuid.UUID,
    record_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "UpdateAudit",
    **options: Unpack[WriteArgs],
) -> AuditRecord:
    """Change an open audit's dates, people, checklists, rating scale, notes or findings.

    In review, the audit is rated again, and every finding must keep a response. Findings can be changed while the audit
    is In Progress and, with a reason, while it is Awaiting Review. For a completed or cancelled audit, only the folder
    can be changed. If the program has the due date of this regular audit, both due dates change together.
    """
    with _auditing(site_id, record_id, operation=operation, **options) as record:
        before = snapshot(record)
        if "findings" in values:
            _check_findings(record, values, options.get("reason", ""))
        apply(record, values)
        changed = {name for name, value in snapshot(record).items() if value != before[name]}
        if changed - {"entity_folder"} and not record.is_open:
            raise _closed_error(record)
        if "rating_scale" in changed and _answers_another_scale(record):
            text = gettext("Some findings already have a response from this rating, so it cannot be changed.")
            raise fault_at("rating_scale", text, "InvalidTransition")
        if record.due_date is None:
            raise fault_at("due_date", gettext("Enter the due date of the audit."), "RequiredField")
        if changed & {"findings", "rating_scale"}:
            if record.record_status == AWAITING_REVIEW:
                _refuse_unanswered(record)
            _rate(record)
    return record


def _answers_another_scale(record: AuditRecord) -> bool:
    responses = record.findings.exclude(rating_response=None).values_list("rating_response__rating_id", flat=True)
    return any(scale != record.rating_scale_id for scale in responses)


def _closed_error(record: AuditRecord) -> ValidationError:
    text = gettext("The audit is %(record_status)s and cannot be changed any more.") % {
        "record_status": record.get_record_status_display()
    }
    return refuse(text)


def start_audit_record(
    site_id: uuid.UUID,
    record_id: uuid.UUID,
    *,
    start_date: datetime.datetime | None = None,
    **options: Unpack[WriteArgs],
) -> AuditRecord:
    """Start a scheduled audit, now or at a given time, and create one finding for each question of its checklists.

    A checklist without questions gives one finding with the checklist's name. Existing findings are kept.
    """
    with _auditing(site_id, record_id, operation="StartAudit", **options) as record:
        _move(record, (SCHEDULED,), IN_PROGRESS)
        record.start_date = start_date or now()
        if not record.findings.exists():
            replace_children(record, "findings", [{"question": question} for question in _questions(record)])
    return record


def _questions(record: AuditRecord) -> list[str]:
    """Return the questions of the audit's checklists in order; two queries."""
    questions: list[str] = []
    for checklist in record.checklists.prefetch_related("questions"):
        questions += [row.question for row in checklist.questions.all()] or [checklist.name]
    return questions


def save_findings(
    site_id: uuid.UUID,
    record_id: uuid.UUID,
    rows: Sequence[Values],
    *,
    values: Values | None = None,
    **options: Unpack[WriteArgs],
) -> AuditRecord:
    """Make rows (id, question, rating_response, comment, nonconformance) the audit's findings; see update_audit_record.

    `values` may hold other changes that belong to the same write, such as `notes`. Raises RecordNotFoundError or
    ValidationError.
    """
    changes = {**(values or {}), "findings": rows}
    return update_audit_record(site_id, record_id, changes, operation="SaveFindings", **options)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a question of an audit: the id of a response of its rating, or None, and a comment."""

    response: uuid.UUID | None
    comment: str


class AnsweredMeanwhileError(Exception):
    """Raised when a question no longer has the answer that the author of a new answer saw."""

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.finding = finding


def answer_question(
    site_id: uuid.UUID, record_id: uuid.UUID, finding_id: uuid.UUID, answer: Answer, *, seen: Answer, author: Author
) -> AuditRecord:
    """Answer one question of an audit that is In Progress, if its present answer is still the one in `seen`.

    Sending the present answer again changes nothing, so that an answer that arrives twice is stored once. Raises
    AnsweredMeanwhileError, RecordNotFoundError or ValidationError.
    """
    with _auditing(site_id, record_id, author=author, operation="AnswerQuestion") as record:
        findings = {finding.pk: finding for finding in record.findings.all()}
        finding = findings.get(finding_id)
        if finding is None:
            raise refuse(gettext("This question was removed from the audit."))
        present = Answer(finding.rating_response_id, finding.comment)
        if present == answer:
            return record
        if record.record_status != IN_PROGRESS or record.is_archived:
            status = gettext("Archived") if record.is_archived else record.get_record_status_display()
            text = gettext("The audit is %(status)s; questions are answered while it is In Progress.") % {
                "status": status
            }
            raise refuse(text)
        if present != seen:
            raise AnsweredMeanwhileError(finding)
        columns = {"rating_response": _response(record, answer.response), "comment": answer.comment}
        rows = [{"id": key, **(columns if key == finding_id else {})} for key in findings]
        apply(record, {"findings": rows})
        _rate(record)
    return record


def _response(record: AuditRecord, key: uuid.UUID | None) -> RatingResponse | None:
    """Return one of the responses of the audit's rating; raises ValidationError for any other response."""
    choices = record.rating_scale.responses.all() if record.rating_scale is not None else RatingResponse.objects.none()
    response = choices.filter(pk=key).first() if key else None
    if key and response is None:
        raise fault_at("rating_response", gettext("This is not a response of the audit's rating."), "InvalidReference")
    return response


def _check_findings(record: AuditRecord, values: Values, reason: str) -> None:
    """Raise ValidationError if findings cannot be changed now, or for each row with another scale's response."""
    if record.record_status not in (IN_PROGRESS, AWAITING_REVIEW) or record.is_archived:
        text = gettext("Findings are written while an audit is In Progress; this one is %(record_status)s.") % {
            "record_status": record.get_record_status_display()
        }
        raise refuse(text)
    if record.record_status == AWAITING_REVIEW:
        required_reason(reason, gettext("Say why the findings are changed during the review."))
    scale = values.get("rating_scale", record.rating_scale)
    faults = [
        ValidationError(
            gettext("This is not a response of the audit's rating."),
            code="InvalidReference",
            params={"relation": "findings", "idx": idx, "name": "rating_response"},
        )
        for idx, row in enumerate(values["findings"])
        if (response := row.get("rating_response")) is not None and (scale is None or response.rating_id != scale.pk)
    ]
    if faults:
        raise ValidationError(faults)


def _refuse_unanswered(record: AuditRecord) -> None:
    """Raise ValidationError for an audit without findings, and for each finding that lacks a response of the rating.

    An audit therefore has a score, a rating and a result only after every question has been answered.
    """
    findings = list(record.findings.all())
    if not findings:
        raise fault_at("findings", gettext("Write at least one finding."), "RequiredField")
    faults = [
        ValidationError(
            gettext("“%(question)s” has no response yet.") % {"question": finding.question},
            code="RequiredField",
            params={"relation": "findings", "idx": idx, "name": "rating_response"},
        )
        for idx, finding in enumerate(findings)
        if finding.rating_response_id is None
    ]
    if faults and record.rating_scale_id is not None:
        raise ValidationError(faults)


def _rate(record: AuditRecord) -> None:
    """Set the score, rating and result from the findings if the audit is in review or completed; else clear them."""
    outcome = Outcome()
    if record.record_status in RATED_STATUSES:
        outcome = outcome_of(record.findings.select_related("rating_response"), record.rating_scale)
    record.score, record.rating, record.result = outcome.score, outcome.rating, outcome.result


def submit_audit_record(site_id: uuid.UUID, record_id: uuid.UUID, **options: Unpack[WriteArgs]) -> AuditRecord:
    """Submit an audit for review; it needs findings and, if it has a rating scale, a response for each of them.

    The finish date is set to now unless it was entered. The score, rating and result are calculated.
    """
    with _auditing(site_id, record_id, operation="SubmitAudit", **options) as record:
        _move(record, (IN_PROGRESS,), AWAITING_REVIEW)
        _refuse_unanswered(record)
        record.finish_date = record.finish_date or max(now(), record.start_date or now())
        _rate(record)
    return record


def complete_audit_record(site_id: uuid.UUID, record_id: uuid.UUID, **options: Unpack[WriteArgs]) -> AuditRecord:
    """Complete a reviewed audit; this records by whom and when, and sets the program's next due date."""
    with _auditing(site_id, record_id, operation="CompleteAudit", **options) as record:
        _move(record, (AWAITING_REVIEW,), COMPLETED)
        record.completed_date = now()
        record.completed_by_id = options["author"].id
    return record


def cancel_audit_record(site_id: uuid.UUID, record_id: uuid.UUID, **options: Unpack[WriteArgs]) -> AuditRecord:
    """Cancel an open audit, with a reason; it then has no score.

    The program keeps its due date, so that the audit can be planned again.
    """
    with _auditing(site_id, record_id, operation="CancelAudit", **options) as record:
        required_reason(options.get("reason", ""), gettext("Say why the audit is cancelled."))
        _move(record, (SCHEDULED, IN_PROGRESS, AWAITING_REVIEW), CANCELLED)
        _rate(record)
    return record


def archive_audit_record(
    site_id: uuid.UUID, record_id: uuid.UUID, *, archived: bool, author: Author, reason: str
) -> AuditRecord:
    """Archive or restore an audit, with a reason; repeating it changes nothing.

    An archived audit is no longer due. An open audit cannot be restored while its program is archived, because an
    archived program has no open audits.
    """
    with recording():
        record = AuditRecord.objects.at(site_id).filter(pk=record_id).first()
        if record is None:
            raise RecordNotFoundError
        program = lock_program(site_id, record.audit_program_id)
        record.refresh_from_db(fields=["record_status", "is_archived"])
        if not archived and record.is_archived and record.is_open:
            refuse_archived(program)
        return archive_record(
            AuditRecord,
            site_id,
            record_id,
            archived=archived,
            author=author,
            reason=reason,
            operation="ArchiveAudit" if archived else "RestoreAudit",
        )
