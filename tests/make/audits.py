"""Plain functions that make audit programs, audits and what they are rated by, for tests."""

import datetime
from decimal import Decimal
from typing import Any

from records.accounts.models import DefaultRole, User
from records.audits import actions, workflow
from records.audits.models import AuditProgram, AuditRecord
from records.history.trail import now
from records.reference.actions import add_entry
from records.reference.models import Checklist, Nonconformance, Rating, RatingResponse
from records.sites.models import Site
from tests import make

RESPONSES: tuple[tuple[str, str | None], ...] = (("Yes", "2"), ("Partly", "1"), ("No", "0"), ("Not applicable", None))
BANDS = (("0", "59.99", "C", "Fail"), ("60", "84.99", "B", "Pass"), ("85", "100", "A", "Pass"))


def make_rating(
    site: Site,
    responses: tuple[tuple[str, str | None], ...] = RESPONSES,
    bands: tuple[tuple[str, str, str, str], ...] = BANDS,
    name: str = "Yes or no",
    fails: tuple[str, ...] = (),
) -> Rating:
    """Make a rating of the site with its responses, those named in `fails` failing the audit, and score bands."""
    values = {
        "name": name,
        "responses": [
            {"name": text, "score": score and Decimal(score), "fails": text in fails} for text, score in responses
        ],
        "bands": [
            {"from_score": Decimal(low), "to_score": Decimal(high), "rating": rating, "result": result}
            for low, high, rating, result in bands
        ],
    }
    return add_entry(Rating, values, author=make.SYSTEM, site_id=site.pk)


def response(rating: Rating, name: str) -> RatingResponse:
    """Return the rating's response of that name."""
    return rating.responses.get(name=name)


def make_checklist(site: Site, name: str = "GMP walk", questions: tuple[str, ...] = ()) -> Checklist:
    """Make a checklist of the site with its questions."""
    values = {"name": name, "questions": [{"question": question} for question in questions]}
    return add_entry(Checklist, values, author=make.SYSTEM, site_id=site.pk)


def make_nonconformance(site: Site, name: str = "Foreign body") -> Nonconformance:
    """Make a kind of nonconformance of the site."""
    return add_entry(Nonconformance, {"name": name}, author=make.SYSTEM, site_id=site.pk)


def make_program(site: Site, **fields: Any) -> AuditProgram:
    """Make an audit program at the site."""
    values = {"name": "GMP audit", "type": "Internal Audit", **fields}
    return actions.add_audit_program(site.pk, values, author=make.SYSTEM)


def make_audit(program: AuditProgram, **fields: Any) -> AuditRecord:
    """Schedule an audit of the program."""
    values = {"date": now(), **fields}
    return actions.schedule_audit_record(program.site_id, program.pk, values, author=make.SYSTEM)


def start(record: AuditRecord, **more: Any) -> AuditRecord:
    """Start a scheduled audit."""
    return workflow.start_audit_record(record.site_id, record.pk, author=make.SYSTEM, **more)


def find(record: AuditRecord, *responses: RatingResponse | None, **more: Any) -> AuditRecord:
    """Make the audit's findings: one question for each response."""
    rows = [{"question": f"Question {idx}", "rating_response": response} for idx, response in enumerate(responses, 1)]
    return workflow.save_findings(record.site_id, record.pk, rows, author=make.SYSTEM, **more)


def submit(record: AuditRecord) -> AuditRecord:
    """Hand the audit in for review."""
    return workflow.submit_audit_record(record.site_id, record.pk, author=make.SYSTEM)


def complete(record: AuditRecord, author: Any = make.SYSTEM) -> AuditRecord:
    """Complete the reviewed audit."""
    return workflow.complete_audit_record(record.site_id, record.pk, author=author)


def cancel(record: AuditRecord, reason: str = "Line stands still") -> AuditRecord:
    """Cancel the open audit."""
    return workflow.cancel_audit_record(record.site_id, record.pk, author=make.SYSTEM, reason=reason)


def make_completed(program: AuditProgram, **fields: Any) -> AuditRecord:
    """Take an audit of a program without rating all the way."""
    return complete(submit(find(start(make_audit(program, **fields)), None)))


def make_worked_program(site: Site, name: str) -> AuditProgram:
    """Make the program of the worked examples, with one completed audit (records/audits/examples.py).

    Its people belong to another site, so that the site's own employees are those of the other examples.
    """
    rating, checklist = (
        Rating.objects.get(site=site, name="Conformity"),
        Checklist.objects.get(site=site, name="Allergen control"),
    )
    nonconformance = Nonconformance.objects.get(site=site, name="Allergen cross-contact")
    caller = make.author_of(User.objects.filter(memberships__role__site=site).earliest("created"))
    elsewhere = make.make_site()
    users = [make.make_user(site=site, role=DefaultRole.READER) for _ in range(2)]
    auditor, auditee = (make.make_employee(elsewhere, id=user.pk, user_id=user.pk) for user in users)
    values = {
        "name": name,
        "type": "Internal Audit",
        "department": "Quality",
        "risk": "High",
        "auditors": [auditor],
        "auditees": [auditee],
        "checklists": [checklist],
        "rating": rating,
        "frequency_months": 6,
    }
    program = actions.add_audit_program(site.pk, values, author=caller)

    def day(number: int, hour: int = 0, minute: int = 0) -> datetime.datetime:
        return datetime.datetime(2026, 2, number, hour, minute, tzinfo=datetime.UTC)

    dates = {"date": day(10), "due_date": day(28)}
    record = actions.schedule_audit_record(site.pk, program.pk, dates, author=caller)
    workflow.start_audit_record(site.pk, record.pk, start_date=day(10, 8, 30), author=caller)
    rows = [
        {"question": "Are allergens stored apart and labelled?", "rating_response": response(rating, "Conforms")},
        {
            "question": "Is the changeover cleaning verified and signed?",
            "rating_response": response(rating, "Minor nonconformity"),
            "comment": "Tuesday's record is not signed.",
            "nonconformance": nonconformance,
        },
        {"question": "Can rework be traced by its allergens?", "rating_response": response(rating, "Not applicable")},
    ]
    workflow.save_findings(site.pk, record.pk, rows, values={"finish_date": day(10, 15)}, author=caller)
    workflow.submit_audit_record(site.pk, record.pk, author=caller)
    workflow.complete_audit_record(site.pk, record.pk, author=caller)
    return program
