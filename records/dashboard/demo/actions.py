"""The demo's actions: in every status, about complaints, audits, documents and items, or without a record."""

import datetime
from typing import Any

from records.actions import actions
from records.actions.models import Status
from records.actions.workflow import Mover
from records.dashboard.demo.demo_site import DemoSite, content
from records.history.trail import recording
from records.sites.about import kinds
from records.sites.models import Entity

OPEN, DONE, CLOSED, CANCELLED = Status


def fill(place: DemoSite) -> None:
    """Add the site's actions, and let their owners and other people take each one to its present status."""
    people = [user for name, user in place.users.items() if name != "administrator"]
    owner, judge = place.users.get("standard") or place.admin, place.users.get("manager") or place.admin
    place.records["Action"] = []
    with recording():
        for number, story in enumerate(content("actions")["actions"]):
            owner = people[number % len(people)] if people else owner
            record, finding = _about(place, story.get("about"))
            action = actions.add_action(
                place.site.pk,
                {
                    **{name: story[name] for name in ("name", "description", "kind", "priority")},
                    "owner": owner,
                    "due_date": _day(place, story["due_in_days"]),
                    "finding_id": finding,
                },
                author=place.author(),
                on=record,
            )
            for step, values in _steps(Status(story["status"]), story.get("effective")):
                by = owner if step == DONE else place.admin if judge == owner else judge
                reason = "Another way was found." if step == CANCELLED else ""
                mover = Mover(place.author(by), lambda permission: True, reason, values.get("effective"))
                changes = {"record_status": step, **values}
                action = actions.update_action(place.site.pk, action.pk, changes, mover=mover)
            place.records["Action"].append(action)


def _about(place: DemoSite, entity: str | None) -> tuple[Any, Any]:
    """Return one of the site's records of the kind, with one of its findings if it has any."""
    if entity is None:
        return None, None
    model: Any = kinds()[Entity(entity)]
    rows = model._base_manager.filter(site=place.site, is_archived=False, site_sequence_id__isnull=False)
    if entity == Entity.AUDIT_RECORD:
        rows = rows.filter(findings__isnull=False).distinct()
    newest = list(rows.order_by("-site_sequence_id")[:20])
    record: Any = place.chance.choice(newest) if newest else None
    findings = list(record.findings.all()) if entity == Entity.AUDIT_RECORD and record is not None else []
    return record, place.chance.choice(findings).pk if findings else None


def _steps(status: Status, effective: bool | None) -> list[tuple[Status, dict[str, Any]]]:
    """Return the steps that lead to a status, with the values that each of them sets."""
    done: tuple[Status, dict[str, Any]] = (DONE, {"result": "Carried out and checked on the line."})
    steps: dict[Status, list[tuple[Status, dict[str, Any]]]] = {
        OPEN: [],
        DONE: [done],
        CLOSED: [done, (CLOSED, {"effective": effective})],
        CANCELLED: [(CANCELLED, {})],
    }
    return steps[status]


def _day(place: DemoSite, days: int) -> datetime.datetime:
    moment = place.today + datetime.timedelta(days=days)
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
