"""The demo's audit programs and their audits of a site, in every state, some of them overdue."""

import datetime
from typing import Any

from records.audits import actions, workflow
from records.audits.models import AuditRecord, Finding
from records.audits.schedule import months_later
from records.dashboard.demo.demo_site import DemoSite, content
from records.sites.models import Entity


def fill(place: DemoSite) -> None:
    """Add twelve programs, each with the audits that have led to its present state."""
    for idx, row in enumerate(content("audits")["programs"]):
        months, latest = row.get("months"), row["latest"]
        program = actions.add_audit_program(
            place.site.pk,
            {
                **{name: row[name] for name in ("name", "type", "department", "risk")},
                "auditors": _people(place, idx, 1 + idx % 2),
                "auditees": _people(place, idx + 20, 1),
                "procedures": place.records.get("Document", [])[idx : idx + 1],
                "checklists": [entry for entry in place.lists["Checklist"] if entry.name in row["checklists"]],
                "rating": place.lists["Rating"][idx % 2] if row["checklists"] else None,
                "frequency_months": months,
                "entity_folder": place.folder(
                    Entity.AUDIT_PROGRAM, "External" if row["type"] == "Site Audit" else "Internal"
                ),
            },
            author=place.author(),
        )
        due = _last_due(place, idx, latest)
        # All audits are planned before the first is completed, since that moves the program on past today otherwise.
        audits = [
            (actions.schedule_audit_record(place.site.pk, program.pk, {"date": day}, author=place.author()), day)
            for step in range(row["completed"], -1 if latest != "none" else 0, -1)
            if (day := months_later(due, -step * (months or 12), datetime.UTC))
        ]
        for record, day in audits[: row["completed"]]:
            _complete(place, record, day)
        if latest == "none":
            actions.update_audit_program(place.site.pk, program.pk, {"next_due_date": due}, author=place.author())
        else:
            _bring_to(place, *audits[-1], latest)


def _people(place: DemoSite, start: int, count: int) -> list[Any]:
    return [place.employees[(start + step * 7) % len(place.employees)] for step in range(count)]


def _last_due(place: DemoSite, idx: int, latest: str) -> datetime.datetime:
    """Return the day on which the program's latest audit is due: in the past if it is overdue, else in the future."""
    today = place.today.replace(hour=0, minute=0, second=0, microsecond=0)
    days = -(6 + 3 * idx) if latest.startswith("overdue") else 4 + 5 * idx
    return today + datetime.timedelta(days=days)


def _complete(place: DemoSite, record: AuditRecord, due: datetime.datetime) -> None:
    _start(place, record, due)
    _answer(place, record, finish=due + datetime.timedelta(hours=15))
    workflow.submit_audit_record(place.site.pk, record.pk, author=place.author())
    reviewer = place.author(place.users.get("reviewer"))
    workflow.complete_audit_record(place.site.pk, record.pk, author=reviewer)


def _bring_to(place: DemoSite, record: AuditRecord, due: datetime.datetime, latest: str) -> None:
    """Bring the latest audit to its present state."""
    author = place.author()
    if latest == "Cancelled":
        workflow.cancel_audit_record(
            place.site.pk, record.pk, author=author, reason="The warehouse is being rebuilt until the spring."
        )
    if latest not in ("In Progress", "Awaiting Review", "overdue in progress"):
        return
    _start(place, record, min(due, place.today) - datetime.timedelta(days=1))
    is_complete = latest == "Awaiting Review"
    _answer(
        place,
        record,
        finish=place.today - datetime.timedelta(hours=2) if is_complete else None,
        is_complete=is_complete,
    )
    if is_complete:
        workflow.submit_audit_record(place.site.pk, record.pk, author=author)


def _start(place: DemoSite, record: AuditRecord, day: datetime.datetime) -> None:
    moment = day.replace(hour=8, minute=30, second=0, microsecond=0)
    workflow.start_audit_record(place.site.pk, record.pk, start_date=moment, author=place.author())


def _answer(
    place: DemoSite, record: AuditRecord, *, finish: datetime.datetime | None = None, is_complete: bool = True
) -> None:
    """Answer the audit's questions, all of them or the first half; good answers are more likely than bad ones."""
    findings: list[Finding | None] = [*record.findings.all()] or [None]
    answer_count = len(findings) if is_complete else max(1, len(findings) // 2)
    scale = record.rating_scale
    responses = [] if scale is None else list(scale.responses.filter(is_archived=False))
    rows: list[dict[str, object]] = []
    for idx, finding in enumerate(findings):
        row: dict[str, Any] = (
            {"question": "Are instruments calibrated and their labels in date?"}
            if finding is None
            else {"id": finding.pk}
        )
        if idx < answer_count:
            poor = place.chance.random() < 0.25
            row["rating_response"] = (
                place.chance.choice(responses[1:] if poor else responses[:1]) if responses else None
            )
            row["comment"] = place.chance.choice(content("audits")["remarks"]) if poor or idx == 0 else ""
            row["nonconformance"] = place.chance.choice(place.lists["Nonconformance"]) if poor else None
        rows.append(row)
    values = {} if finish is None else {"finish_date": finish, "notes": "Opening and closing meeting held."}
    workflow.save_findings(place.site.pk, record.pk, rows, values=values, author=place.author())
