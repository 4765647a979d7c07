"""What the start page counts among a site's audits: scores over time, and which are overdue the longest."""

import datetime
import uuid
from dataclasses import dataclass

from django.db.models import QuerySet

from records.audits.models import OPEN, AuditRecord, RecordStatus, audit_name
from records.backoffice.date_filters import CALENDAR, before, day_of
from records.dashboard.figures.periods import Period
from records.history.counting import UNCACHED, Counting

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


def scores(site_id: uuid.UUID, period: Period, count: Counting = UNCACHED) -> tuple[list[Score], bool]:
    """Return the scores of the audits finished in the period, oldest first, and whether older ones were left out."""
    rows = AuditRecord.objects.at(site_id).filter(
        period.covers("finish_date"), is_archived=False, score__isnull=False, record_status=RecordStatus.COMPLETED
    )
    # Values and not objects: three hundred audits with programs would take longer than all else on the start page.
    columns = ("pk", "audit_program__name", "site_sequence_id", "finish_date", "score", "rating", "result")
    values = count(rows.order_by("-finish_date", "-id").values_list(*columns)[: MOST_SCORES + 1])
    scored = [
        Score(pk, audit_name(program, number), day_of(finish_date, period.zone), float(score), rating, result)
        for pk, program, number, finish_date, score, rating, result in reversed(values[:MOST_SCORES])
        if finish_date is not None and score is not None
    ]
    return scored, len(values) > MOST_SCORES


def open_audits(site_id: uuid.UUID) -> QuerySet[AuditRecord]:
    """Return the site's audits that are still to be finished."""
    return AuditRecord.objects.at(site_id).filter(is_archived=False, record_status__in=OPEN)


def longest_overdue(site_id: uuid.UUID, period: Period, count: Counting = UNCACHED) -> list[AuditRecord]:
    """Return the open audits that are overdue the longest, with their programs; one query."""
    rows = open_audits(site_id).filter(before("due_date", period.today, CALENDAR))
    return count(rows.select_related("audit_program").order_by("due_date", "id")[:MOST_OVERDUE])
