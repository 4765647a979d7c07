"""The demo's audit programs and their audits of a site, in every state, some of them overdue."""

import datetime
from typing import Any

from records.audits import actions, workflow
from records.audits.models import AuditProgram, AuditRecord, Finding
from records.audits.schedule import months_later
from records.dashboard.demo.place import Place
from records.reference.models import Rating, RatingResponse
from records.sites.models import Entity

INTERNAL, SITE, SELF = "Internal Audit", "Site Audit", "Site Self-assessment"
PROGRAMS = (
    # Name, type, department, risk, checklists, every so many months, completed audits, how the latest one stands
    ("GMP and hygiene walk", INTERNAL, "Production", "Medium", ("GMP walk",), 1, 5, "due"),
    ("Glass and hard plastic", INTERNAL, "Production", "High", ("Glass and hard plastic",), 3, 3, "In Progress"),
    ("Allergen management", INTERNAL, "Quality", "High", ("Allergen control",), 3, 3, "Awaiting Review"),
    ("Cleaning validation", INTERNAL, "Hygiene", "High", ("Cleaning and disinfection",), 6, 2, "overdue"),
    ("Pest control", SITE, "Hygiene", "Medium", ("Pest control",), 3, 3, "due"),
    ("HACCP plan review", INTERNAL, "Quality", "High", ("HACCP plan review",), 12, 1, "overdue"),
    ("Warehouse and dispatch", SELF, "Warehouse", "Low", ("GMP walk", "Pest control"), 6, 2, "Cancelled"),
    ("Maintenance and calibration", SELF, "Engineering", "Low", (), 6, 1, "due"),
    ("Ingredient intake", INTERNAL, "Warehouse", "Medium", ("Allergen control",), 6, 2, "overdue in progress"),
    ("Staff facilities", SELF, "Production", "None", ("GMP walk",), 12, 1, "none"),
    ("Certification body", SITE, "Quality", "High", ("HACCP plan review", "GMP walk"), 12, 1, "due"),
    ("Key customer visit", SITE, "Quality", "", ("GMP walk",), None, 0, "due"),
)
REMARKS = (
    "Seen on both shifts.",
    "One instance, put right at once.",
    "Second time this year; retraining agreed.",
    "Record for Tuesday is not signed.",
    "Discussed with the shift supervisor.",
)


def fill(place: Place) -> None:
    """Add twelve programs, each with the audits that have led to where it stands."""
    for idx, row in enumerate(PROGRAMS):
        name, kind, department, risk, checklists, months, completed, stands = row
        program = actions.add_audit_program(
            place.site.pk,
            {
                "name": name,
                "type": kind,
                "department": department,
                "risk": risk,
                "auditors": _people(place, idx, 1 + idx % 2),
                "auditees": _people(place, idx + 20, 1),
                "procedures": place.records.get("Document", [])[idx : idx + 1],
                "checklists": [entry for entry in place.lists["Checklist"] if entry.name in checklists],
                "rating": place.lists["Rating"][idx % 2] if checklists else None,
                "frequency_months": months,
                "entity_folder": place.folder(Entity.AUDIT_PROGRAM, "External" if kind == SITE else "Internal"),
            },
            author=place.author(),
        )
        due = _last_due(place, idx, stands)
        for step in range(completed, 0, -1):
            _complete(place, program, months_later(due, -step * (months or 12), datetime.UTC) or due)
        _stand(place, program, due, stands)


def _people(place: Place, start: int, count: int) -> list[Any]:
    return [place.employees[(start + step * 7) % len(place.employees)] for step in range(count)]


def _last_due(place: Place, idx: int, stands: str) -> datetime.datetime:
    """Return the day on which the program's latest audit is due: gone by where it is overdue, else to come."""
    today = place.today.replace(hour=0, minute=0, second=0, microsecond=0)
    days = -(6 + 3 * idx) if stands.startswith("overdue") else 4 + 5 * idx
    return today + datetime.timedelta(days=days)


def _schedule(place: Place, program: AuditProgram, due: datetime.datetime) -> AuditRecord:
    return actions.schedule_audit_record(place.site.pk, program.pk, {"date": due}, author=place.author())


def _complete(place: Place, program: AuditProgram, due: datetime.datetime) -> None:
    record = _schedule(place, program, due)
    _start(place, record, due)
    _answer(place, record, finish=due + datetime.timedelta(hours=15))
    workflow.submit_audit_record(place.site.pk, record.pk, author=place.author())
    reviewer = place.author(place.users.get("reviewer"))
    workflow.complete_audit_record(place.site.pk, record.pk, author=reviewer)


def _stand(place: Place, program: AuditProgram, due: datetime.datetime, stands: str) -> None:
    """Bring the latest audit to where it stands."""
    if stands == "none":
        values = {"next_due_date": due}
        actions.update_audit_program(place.site.pk, program.pk, values, author=place.author())
        return
    record = _schedule(place, program, due)
    author = place.author()
    if stands == "Cancelled":
        workflow.cancel_audit_record(
            place.site.pk, record.pk, author=author, reason="The warehouse is being rebuilt until the spring."
        )
    if stands not in ("In Progress", "Awaiting Review", "overdue in progress"):
        return
    _start(place, record, min(due, place.today) - datetime.timedelta(days=1))
    whole = stands == "Awaiting Review"
    _answer(place, record, finish=place.today - datetime.timedelta(hours=2) if whole else None, whole=whole)
    if whole:
        workflow.submit_audit_record(place.site.pk, record.pk, author=author)


def _start(place: Place, record: AuditRecord, day: datetime.datetime) -> None:
    moment = day.replace(hour=8, minute=30, second=0, microsecond=0)
    workflow.start_audit_record(place.site.pk, record.pk, start_date=moment, author=place.author())


def _answer(place: Place, record: AuditRecord, *, finish: datetime.datetime | None = None, whole: bool = True) -> None:
    """Answer the audit's questions, all of them or the first half; good answers are more likely than bad ones."""
    findings: list[Finding | None] = [*record.findings.all()] or [None]
    answered = len(findings) if whole else max(1, len(findings) // 2)
    responses = _responses(record.rating_scale)
    rows: list[dict[str, Any]] = []
    for idx, finding in enumerate(findings):
        row: dict[str, Any] = (
            {"question": "Are instruments calibrated and their labels in date?"}
            if finding is None
            else {"id": finding.pk}
        )
        if idx < answered:
            poor = place.chance.random() < 0.25
            row["rating_response"] = (
                place.chance.choice(responses[1:] if poor else responses[:1]) if responses else None
            )
            row["comment"] = place.chance.choice(REMARKS) if poor or idx == 0 else ""
            row["nonconformance"] = place.chance.choice(place.lists["Nonconformance"]) if poor else None
        rows.append(row)
    values = {} if finish is None else {"finish_date": finish, "notes": "Opening and closing meeting held."}
    workflow.save_findings(place.site.pk, record.pk, rows, values=values, author=place.author())


def _responses(scale: Rating | None) -> list[RatingResponse]:
    return [] if scale is None else list(scale.responses.filter(is_archived=False))
