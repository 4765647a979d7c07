"""What the start page counts among a site's audits: scores over time, and how long audits are overdue."""

import datetime
import uuid
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from records.audits.models import OPEN, AuditRecord, RecordStatus
from records.backoffice.date_filters import CALENDAR, before, day_of, on_days
from records.dashboard.figures.periods import Period

MOST_SCORES = 300
MOST_OVERDUE = 10


@dataclass(frozen=True, slots=True)
class Score:
    """What one completed audit scored, and when it was finished."""

    key: uuid.UUID
    name: str
    day: datetime.date
    score: float
    rating: str
    result: str


@dataclass(frozen=True, slots=True)
class Delay:
    """How many open audits are due within a span of days."""

    name: str
    first: datetime.date | None
    last: datetime.date
    count: int
    is_overdue: bool


def scores(site_id: uuid.UUID, period: Period) -> tuple[list[Score], bool]:
    """Return the scores of the audits finished in the period, oldest first, and whether older ones were left out."""
    rows = AuditRecord.objects.filter(
        period.covers("finish_date"),
        site_id=site_id,
        is_archived=False,
        score__isnull=False,
        record_status=RecordStatus.COMPLETED,
    ).select_related("audit_program")
    found = list(rows.order_by("-finish_date", "-id")[: MOST_SCORES + 1])
    shown = [
        Score(row.pk, str(row), day_of(row.finish_date, period.zone), float(row.score), row.rating, row.result)
        for row in reversed(found[:MOST_SCORES])
        if row.finish_date is not None and row.score is not None
    ]
    return shown, len(found) > MOST_SCORES


def open_audits(site_id: uuid.UUID) -> QuerySet[AuditRecord]:
    """Return the site's audits that are still to be finished."""
    return AuditRecord.objects.filter(site_id=site_id, is_archived=False, record_status__in=OPEN)


def delays(site_id: uuid.UUID, period: Period) -> list[Delay]:
    """Return how many open audits are overdue for how long, and due within the next 30 days; one query.

    This looks at today, whatever the period is.
    """
    day = datetime.timedelta(days=1)
    today = period.today
    spans: tuple[tuple[str, datetime.date | None, datetime.date], ...] = (
        ("Overdue for more than 90 days", None, today - 91 * day),
        ("Overdue for 31 to 90 days", today - 90 * day, today - 31 * day),
        ("Overdue for 1 to 30 days", today - 30 * day, today - day),
        ("Due within 30 days", today, today + 30 * day),
    )
    conditions: dict[str, Q] = {
        f"span{index}": on_days("due_date", first, last, CALENDAR)
        if first
        else before("due_date", last + day, CALENDAR)
        for index, (_, first, last) in enumerate(spans)
    }
    counts = open_audits(site_id).aggregate(
        **{name: Count("pk", filter=condition) for name, condition in conditions.items()}
    )
    return [
        Delay(name, first, last, counts[f"span{index}"], last < today)
        for index, (name, first, last) in enumerate(spans)
    ]


def longest_overdue(site_id: uuid.UUID, period: Period) -> list[AuditRecord]:
    """Return the open audits that are overdue the longest, with their programs; one query."""
    rows = open_audits(site_id).filter(before("due_date", period.today, CALENDAR))
    return list(rows.select_related("audit_program").order_by("due_date", "id")[:MOST_OVERDUE])
