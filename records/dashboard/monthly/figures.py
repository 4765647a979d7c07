"""What the monthly report counts, month by month. Each function costs one query unless it says otherwise."""

import zoneinfo
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from documents.reading import Progress
from records.actions.models import Status
from records.audits.models import RecordStatus
from records.backoffice.date_filters import CALENDAR, before, day_of, on_days
from records.complaints.filters import response_range
from records.dashboard.figures.complaints import ANSWERS
from records.dashboard.figures.periods import Period, month_index
from records.history.counting import UNCACHED, Counting

Counts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Overdue:
    """How many records of a kind are overdue today, by the month in which they were due."""

    months: Sequence[int]
    earlier: int
    later: int

    @property
    def total(self) -> int:
        """Return how many are overdue today."""
        return self.earlier + sum(self.months) + self.later


@dataclass(frozen=True, slots=True)
class Readings:
    """How many readings were due in each month, and how many of them are done."""

    due: Sequence[int]
    read: Sequence[int]
    all_due: int
    all_read: int
    overdue: Overdue = field(default_factory=lambda: Overdue((), 0, 0))


def _by_month(
    rows: QuerySet[Any],
    name: str,
    period: Period,
    zone: zoneinfo.ZoneInfo,
    count: Counting = UNCACHED,
    **aggregates: Any,
) -> list[Counts]:
    """Return for each month of the period how many rows lie in it (`rows`), and what else is counted among them."""
    in_period = rows.filter(on_days(name, period.first, period.last, zone))
    by_month = in_period.annotate(month_of_report=month_index(name, period, zone))
    names = ("rows", *aggregates)
    sums = count.sums(by_month, "month_of_report", all_rows=Count("*"), **aggregates)
    by_index = {index: dict(zip(names, values, strict=True)) for index, *values in sums}
    return [by_index.get(index, dict.fromkeys(names, 0)) for index in range(len(period.months))]


def responses(rows: QuerySet[Any], period: Period, count: Counting = UNCACHED) -> list[Counts]:
    """Return how the complaints answered in each month were answered: by range of RESPONSES and by target date."""
    in_period = rows.filter(on_days("answered_on", period.first, period.last, CALENDAR)).order_by()
    by_month = in_period.annotate(month_of_report=month_index("answered_on", period, CALENDAR), range=response_range())
    months: list[Counter[str]] = [Counter() for _ in period.months]
    for month, span, answers, with_target, by_target in count.sums(by_month, "month_of_report", "range", **ANSWERS):
        months[month].update({"rows": answers, f"span{span}": answers})
        months[month].update({"with_target": with_target, "by_target": by_target})
    return [*months]


def scores(rows: QuerySet[Any], period: Period, count: Counting = UNCACHED) -> list[Counts]:
    """Return how many audits were finished in each month and completed since, how many have a score, and its sum."""
    completed_audits = rows.filter(record_status=RecordStatus.COMPLETED)
    total = Sum("score", default=0)
    return _by_month(completed_audits, "finish_date", period, period.zone, count, scored=Count("score"), total=total)


def effectiveness(rows: QuerySet[Any], period: Period, count: Counting = UNCACHED) -> list[Counts]:
    """Return how many actions were closed in each month, and how many of them worked."""
    closed_actions = rows.filter(record_status=Status.CLOSED)
    worked = Count("effective", filter=Q(effective=True))
    return _by_month(closed_actions, "closed_date", period, period.zone, count, worked=worked)


def overdue(rows: QuerySet[Any], name: str, period: Period, count: Counting = UNCACHED) -> Overdue:
    """Return how many of the unfinished rows are overdue today by a field that holds days."""
    overdue_rows = rows.filter(before(name, period.today, CALENDAR))
    by_month = overdue_rows.annotate(month_of_report=month_index(name, period, CALENDAR))
    return _overdue(dict(count.sums(by_month, "month_of_report", all_rows=Count("*"))), period)


def _overdue(by_index: Mapping[int, int], period: Period) -> Overdue:
    count = len(period.months)
    months = [by_index.get(index, 0) for index in range(count)]
    return Overdue(months, by_index.get(-1, 0), by_index.get(count, 0))


def readings(progress: Sequence[Progress], period: Period) -> Readings:
    """Return how many readings of versions in force were due in each month, and how many of them are done; no query."""
    index_of = {month: index for index, month in enumerate(period.months)}
    due, read_by_month, overdue_by_month = [0] * len(index_of), [0] * len(index_of), dict[int, int]()
    for entry in progress:
        day = day_of(entry.due, period.zone)
        index = index_of.get(day.replace(day=1), -1 if day < period.first else len(index_of))
        if 0 <= index < len(index_of):
            due[index] += len(entry.readers)
            read_by_month[index] += entry.read_count
        if day < period.today:
            overdue_by_month[index] = overdue_by_month.get(index, 0) + entry.missing_count
    return Readings(
        due,
        read_by_month,
        sum(len(entry.readers) for entry in progress),
        sum(entry.read_count for entry in progress),
        _overdue(overdue_by_month, period),
    )
