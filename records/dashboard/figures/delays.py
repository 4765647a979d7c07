"""How long open records of a kind are overdue, as of today: the ageing of audits and of actions."""

import datetime
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext

from records.backoffice.date_filters import CALENDAR, before, on_days
from records.history.counting import UNCACHED, Counting


@dataclass(frozen=True, slots=True)
class Delay:
    """How many open records are due within a span of days."""

    name: str
    first: datetime.date | None
    last: datetime.date
    count: int
    is_overdue: bool


def delays(
    rows: QuerySet[Any], today: datetime.date, field: str = "due_date", count: Counting = UNCACHED
) -> list[Delay]:
    """Return how many rows are overdue for how long by the field, and due within the next 30 days; one query."""
    day = datetime.timedelta(days=1)
    spans: tuple[tuple[str, datetime.date | None, datetime.date], ...] = (
        (gettext("Overdue for more than 90 days"), None, today - 91 * day),
        (gettext("Overdue for 31 to 90 days"), today - 90 * day, today - 31 * day),
        (gettext("Overdue for 1 to 30 days"), today - 30 * day, today - day),
        (gettext("Due within 30 days"), today, today + 30 * day),
    )
    conditions: dict[str, Q] = {
        f"span{index}": on_days(field, first, last, CALENDAR) if first else before(field, last + day, CALENDAR)
        for index, (_, first, last) in enumerate(spans)
    }
    candidates = rows.filter(before(field, spans[-1][2] + day, CALENDAR))
    sums = {name: Count("pk", filter=condition) for name, condition in conditions.items()}
    counts = next(iter(count.sums(candidates, **sums)), (0,) * len(spans))
    return [
        Delay(name, first, last, number, last < today)
        for (name, first, last), number in zip(spans, counts, strict=True)
    ]
