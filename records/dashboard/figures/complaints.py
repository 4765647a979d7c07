"""The figures of a site's complaints: by month with control limits, and the most frequent products, causes and so on.

Active complaints that were submitted are counted. The index `complaint_for_charts` serves all of these queries.
"""

import datetime
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet
from django.utils.translation import gettext

from records.backoffice.date_filters import CALENDAR, day_of, on_days
from records.complaints.filters import BY_TARGET, RESPONSES, WAITS_FOR_ANSWER, response_range, responses_in
from records.complaints.models import Complaint, UnitsSold
from records.dashboard.figures.periods import Period, month_index
from records.history.counting import UNCACHED, Counting
from records.history.statements import read_together
from records.sites.months import last_day

TOP = 10
"""The number of bars of a Pareto chart; the others are added up in one bar."""
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """The centre line of a control chart and its control limits."""

    mean: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Month:
    """The number of complaints in one month. The present month is compared with the limits, but not averaged."""

    first: datetime.date
    count: int
    is_over: bool
    is_averaged: bool
    is_beyond: bool


@dataclass(frozen=True, slots=True)
class Rate:
    """One month's complaints per million units sold, with the limits that result from its units.

    A month without units, or a month of which only some days are counted, has no rate.
    """

    month: Month
    units: int | None
    limits: Limits | None

    @property
    def value(self) -> float | None:
        """Return the complaints per million units, or None if there is no rate."""
        return self.month.count * MILLION / self.units if self.units else None

    @property
    def is_beyond(self) -> bool:
        """Return whether the rate is above the month's upper limit."""
        return self.value is not None and self.limits is not None and self.value > self.limits.upper


@dataclass(frozen=True, slots=True)
class Share:
    """One bar of a Pareto chart: a name, its number of complaints, and the cumulative share down to this bar."""

    key: uuid.UUID | None
    name: str
    count: int
    cumulative: float


@dataclass(frozen=True, slots=True)
class Responses:
    """The numbers of complaints that were answered within each span of RESPONSES, and by their target dates."""

    spans: Sequence[int]
    with_target: int
    by_target: int


def counted_complaints(site_id: uuid.UUID) -> QuerySet[Complaint]:
    """Return the site's complaints that charts count. A draft has no number (a constraint says so)."""
    return Complaint.objects.at(site_id).filter(is_archived=False, site_sequence_id__isnull=False).order_by()


def control_limits(counts: Sequence[int]) -> Limits | None:
    """Return mean and control limits of counts of events in equal spans of time, or None if nothing was counted.

    A c-chart: events that happen independently at a steady rate are Poisson distributed, whose variance is its mean,
    so the limits lie three standard deviations around it: UCL = c̄ + 3·√c̄, LCL = max(0, c̄ - 3·√c̄).
    Source: NIST/SEMATECH e-Handbook of Statistical Methods, section 6.3.3.1, "Counts Control Charts"
    (https://www.itl.nist.gov/div898/handbook/pmc/section3/pmc331.htm).
    """
    return _around(sum(counts) / len(counts)) if any(counts) else None


def _around(mean: float, size: float = 1) -> Limits:
    """Return the limits around a mean rate for this size; the variance of a rate is its mean divided by the size."""
    reach = 3 * math.sqrt(mean / size)
    return Limits(mean, max(0.0, mean - reach), mean + reach)


def by_month(
    rows: QuerySet[Complaint],
    period: Period,
    everything: QuerySet[Complaint],
    days: tuple[datetime.date | None, datetime.date | None] = (None, None),
    count: Counting = UNCACHED,
) -> tuple[list[Month], Limits | None]:
    """Return the number of rows in each month and the control limits; two queries.

    The mean is that of the months that have ended, beginning with the month of the site's first complaint
    (`everything`), because the site kept no records before it. If the rows are limited to `days`, only months that are
    wholly within these days are part of the mean.
    """
    first = count(everything.filter(date__isnull=False).order_by("date").values_list("date", flat=True)[:1])
    start = day_of(first[0], period.zone).replace(day=1) if first else None
    months = period.months
    which = month_index("date", period, period.zone)
    in_period = rows.filter(period.covers("date")).annotate(month=which)
    counts = dict(count.sums(in_period, "month", count=Count("*")))
    begin, end = days[0] or datetime.date.min, days[1] or datetime.date.max
    is_averaged = [
        period.is_over(month) and start is not None and month >= start and begin <= month and last_day(month) <= end
        for month in months
    ]
    limits = control_limits([counts.get(index, 0) for index, used in enumerate(is_averaged) if used])
    return [
        Month(
            month,
            counts.get(index, 0),
            period.is_over(month),
            is_averaged[index],
            limits is not None and counts.get(index, 0) > limits.upper,
        )
        for index, month in enumerate(months)
    ], limits


def units_sold(site_id: uuid.UUID, period: Period, count: Counting = UNCACHED) -> dict[datetime.date, int]:
    """Return the units that the site sold in the period's months, by the first day of each; one query."""
    rows = UnitsSold.objects.at(site_id).filter(
        on_days("month", period.first, period.last, CALENDAR), is_archived=False
    )
    return {day_of(month, CALENDAR): units for month, units in count(rows.values_list("month", "units"))}


def per_million(months: Sequence[Month], units: Mapping[datetime.date, int]) -> list[Rate]:
    """Return each month's complaints per million units sold, with its control limits.

    A u-chart: where complaints are Poisson distributed with a rate u for each million units, the rate of a month with
    n million units has the variance u / n. So the mean is all complaints by all units of the months that are averaged,
    and each month has limits of its own: UCL = ū + 3·√(ū/n), LCL = max(0, ū - 3·√(ū/n)).
    """
    averaged_months = [month for month in months if month.is_averaged and month.first in units]
    size = sum(units[month.first] for month in averaged_months) / MILLION
    # Without a complaint in these months nothing can be said about the next one; each would be above the limit.
    mean = (sum(month.count for month in averaged_months) / size if size else None) or None
    return [
        Rate(
            month,
            sold,
            _around(mean, sold / MILLION) if sold is not None and mean is not None else None,
        )
        for month, sold in ((month, units.get(month.first)) for month in months)
    ]


def paretos(
    rows: QuerySet[Complaint], period: Period, totals: Mapping[str, int], count: Counting = UNCACHED
) -> dict[str, list[Share]]:
    """Return the most frequent values in the period's complaints by relation, most frequent first, the rest added up.

    `totals` has for each relation the number of complaints in the period that have a value. Two queries for each of
    them; those for the names are read together.
    """
    most, name_queries = {}, {}
    for relation in totals:
        key = f"{relation}_id"
        naming_rows = rows.filter(period.covers("date"), **{f"{key}__isnull": False})
        most[relation] = count.most(naming_rows, key, TOP)
        target: Any = Complaint._meta.get_field(relation).related_model
        name_queries[relation] = target.objects.filter(pk__in=[pk for pk, _ in most[relation]]).values_list(
            "pk", "name"
        )
    read_together(*name_queries.values())
    return {
        relation: _shares(most[relation], dict(name_queries[relation]), total) for relation, total in totals.items()
    }


def _shares(counts: list[tuple[uuid.UUID, int]], names: Mapping[uuid.UUID, str], total: int) -> list[Share]:
    shares, so_far = [], 0
    for pk, number in sorted(counts, key=lambda pair: (-pair[1], names.get(pair[0], ""))):
        so_far += number
        shares.append(Share(pk, names.get(pk, ""), number, so_far / total))
    if so_far < total:
        shares.append(Share(None, gettext("All others"), total - so_far, 1.0))
    return shares


def with_cause(rows: QuerySet[Complaint], period: Period, count: Counting = UNCACHED) -> int:
    """Return how many of the period's rows have a cause; one query."""
    rows_with_cause = rows.filter(period.covers("date"), cause__isnull=False)
    return sum(number for (number,) in count.sums(rows_with_cause, count=Count("*")))


def waiting_for_answer(rows: QuerySet[Complaint]) -> QuerySet[Complaint]:
    """Return the complaints among the rows that await their review and that nobody has answered."""
    return rows.filter(WAITS_FOR_ANSWER)


ANSWERS: Mapping[str, object] = {
    "answers": Count("*"),
    "with_target": Count("target_date"),
    "by_target": Count("answered_on", filter=responses_in(BY_TARGET)),
}
"""What is counted among answered complaints: all of them, those with a target date, and those answered by it."""


def responses(rows: QuerySet[Complaint], period: Period, count: Counting = UNCACHED) -> Responses:
    """Return how fast the complaints were answered that were answered in the period; one query."""
    in_period = rows.filter(on_days("answered_on", period.first, period.last, CALENDAR))
    counts = count.sums(in_period.annotate(range=response_range()), "range", **ANSWERS)
    answers = {span: number for span, number, *_ in counts}
    return Responses(
        [answers.get(value, 0) for value, *_ in RESPONSES],
        sum(with_target for *_, with_target, _ in counts),
        sum(by_target for *_, by_target in counts),
    )
