"""The charts of complaints: of all complaints of a site, or of those that the filtered list shows."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.about import list_of
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.date_filters import SINCE, SPAN, UNTIL, DaysFilter, address_part
from records.backoffice.datetimes import NOTHING
from records.backoffice.lists import RecordList
from records.complaints.filters import RESPONSES
from records.complaints.models import Complaint, RecordStatus, UnitsSold
from records.dashboard.charts import draw_delays
from records.dashboard.figures import complaints
from records.dashboard.figures.drawing import (
    Cell,
    Chart,
    Column,
    Row,
    Table,
    bar,
    draw_bars,
    draw_columns,
    draw_rows,
    percent,
)
from records.dashboard.figures.periods import Period, long_name, month_letters, short_name
from records.history.counting import UNCACHED, Counting
from records.sites.models import Site
from records.sites.months import last_day

SUBMITTED_STATUSES = ",".join((RecordStatus.AWAITING_REVIEW.value, RecordStatus.COMPLETED.value))
PARETO = (
    ("nonconformance", _("Complaints by nonconformance")),
    ("product", _("Complaints by product")),
    ("customer", _("Complaints by customer")),
)
Days = tuple[datetime.date | None, datetime.date | None]
NO_DAYS: Days = (None, None)
MOST_NAMES = 6
"""The number of months without units that a note names; the others are only counted."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which complaints the charts count, and the address of the list that shows some of them."""

    everything: QuerySet[Complaint]
    """All of the site's complaints that charts count."""
    rows: QuerySet[Complaint]
    site: Site
    query: QueryDict = field(default_factory=QueryDict)
    """The filters in the list's address that select the rows."""
    days: Mapping[str, Days] = field(default_factory=dict)
    """The first and the last day to which the list is filtered, by the name of the date."""
    count: Counting = UNCACHED
    """Runs a query that counts complaints of the site, or returns its cached result; see `records.history.counting`."""

    def list_of(self, name: str, first: datetime.date | None, last: datetime.date | None, **parameters: str) -> str:
        """Return the address of the list that shows the rows of these days, with further filters.

        The list's own filters stay: it shows only days and statuses that both allow.
        """
        query = self.query.copy()
        for part in (
            PAGE_VAR,
            ORDER_VAR,
            ArchivedFilter.parameter_name,
            *(f"{name}__{end}" for end in (SINCE, UNTIL, SPAN)),
        ):
            query.pop(part, None)
        since, until = self.days.get(name, NO_DAYS)
        first = max(first, since) if first and since else first or since
        last = min(last, until) if last and until else last or until
        for part, value in {**parameters, **address_part(name, first, last)}.items():
            statuses = query.get(part, "").split(",") if part.endswith("__in") and part in query else None
            query[part] = ",".join(status for status in value.split(",") if status in statuses) if statuses else value
        address = list_of(Complaint)
        return f"{address}?{query.urlencode()}" if address else ""


def scope_of_site(site: Site) -> Scope:
    """Return the scope of all complaints of a site."""
    rows = complaints.counted_complaints(site.pk)
    return Scope(rows, rows, site, count=Counting(site.pk))


def scope_of_list(site: Site, changelist: RecordList, query: QueryDict) -> Scope:
    """Return the scope of the complaints that the query selects in the list; only submitted, active ones count."""
    rows = changelist.queryset.filter(is_archived=False, site_sequence_id__isnull=False).order_by()
    days = {
        spec.field.name: (spec.first, spec.last) for spec in changelist.filter_specs if isinstance(spec, DaysFilter)
    }
    # A filter may depend on rows whose changes are not in this site's history, such as the name of an owner.
    count = UNCACHED if query else Counting(site.pk)
    return Scope(complaints.counted_complaints(site.pk), rows, site, query, days, count)


def complaint_charts(scope: Scope, period: Period, may: Callable[[str], bool]) -> list[Chart]:
    """Return complaints by month, the Pareto charts, and how complaints are answered.

    `may` returns whether the reader has a permission at the site, because not everybody may see the units sold.
    """
    months, limits = complaints.by_month(
        scope.rows, period, scope.everything, scope.days.get("date", NO_DAYS), scope.count
    )
    total = sum(month.count for month in months)
    charts = [month_chart(scope, months, limits, period)]
    if may("complaints.view_unitssold"):
        charts.append(rate_chart(scope, months, period, may_enter=may("complaints.add_unitssold")))
    totals = {relation: total for relation, _ in PARETO}
    totals["cause"] = complaints.with_cause(scope.rows, period, scope.count)
    shares = complaints.paretos(scope.rows, period, totals, scope.count)
    charts += [pareto_chart(scope, relation, str(title), shares[relation], period) for relation, title in PARETO]
    cause_chart = pareto_chart(scope, "cause", gettext("Complaints by cause"), shares["cause"], period)
    cause_chart.empty = cause_chart.empty and gettext("No complaint in %(name)s names its cause yet.") % {
        "name": period.name
    }
    return [
        *charts,
        cause_chart,
        waiting_chart(scope, period),
        response_chart(scope, period),
    ]


def waiting_chart(scope: Scope, period: Period) -> Chart:
    """Return how long complaints wait for their answer beyond their target dates, as of today."""
    chart = Chart("waiting", gettext("Ageing of complaints"))
    chart.empty = gettext("No complaint without an answer is overdue or due within 30 days.")
    waiting_parameters = {"record_status__in": RecordStatus.AWAITING_REVIEW.value, "answered_on__isnull": "True"}

    def link(first: datetime.date | None, last: datetime.date | None) -> str:
        return scope.list_of("target_date", first, last, **waiting_parameters)

    draw_delays(chart, complaints.waiting_for_answer(scope.rows), period, link, "target_date", scope.count)
    return chart


def response_chart(scope: Scope, period: Period) -> Chart:
    """Return how many of the period's answers took how many days, and how many came by their target dates."""
    chart = Chart("responses", gettext("Response times"))
    responses = complaints.responses(scope.rows, period, scope.count)
    total = sum(responses.spans)
    if not total:
        chart.empty = gettext("No complaint was answered in %(name)s.") % {"name": period.name}
        return chart
    bars = []
    for (value, name, days), count in zip(RESPONSES, responses.spans, strict=True):
        url = scope.list_of(
            "answered_on", period.first, period.last, record_status__in=SUBMITTED_STATUSES, response=value
        )
        bars.append(bar(str(name), count, url, "" if days else "late"))
    draw_bars(chart, bars, gettext("Answered"), gettext("Complaints"))
    text = ngettext(
        "%(total)s complaint was answered in %(name)s.", "%(total)s complaints were answered in %(name)s.", total
    ) % {"total": total, "name": period.name}
    if responses.with_target:
        facts = {
            "by_target": responses.by_target,
            "with_target": responses.with_target,
            "rate": percent(responses.by_target / responses.with_target),
        }
        in_time = gettext("%(by_target)s of %(with_target)s with a target date were in time: %(rate)s.") % facts
        text = f"{text} {in_time}"
    chart.say(text)
    return chart


def _complaints_on(scope: Scope, first: datetime.date, last: datetime.date, **parameters: str) -> str:
    return scope.list_of("date", first, last, record_status__in=SUBMITTED_STATUSES, **parameters)


def month_chart(
    scope: Scope, months: list[complaints.Month], limits: complaints.Limits | None, period: Period
) -> Chart:
    """Return the c-chart of complaints by month."""
    chart = Chart("by-month", gettext("Complaints by month"))
    total = sum(month.count for month in months)
    if not total:
        chart.empty = gettext("No complaints in %(name)s. Choose another period, or record a complaint.") % {
            "name": period.name
        }
        return chart
    columns, rows = [], []
    for month in months:
        remark = _remark(month, month.is_beyond)
        url = _address_of_month(scope, month)
        name = long_name(month.first)
        columns.append(
            Column(
                month_letters(month.first),
                f"{month.first.year:04}",
                month.count,
                f"{name}: {month.count}{f' ({remark})' if remark else ''}",
                url,
                _kind(month, month.is_beyond),
            )
        )
        rows.append((Cell(name, url), Cell(str(month.count)), Cell(remark)))
    levels = []
    if limits is not None:
        levels = [
            (gettext("upper limit %(upper)s") % {"upper": f"{limits.upper:.1f}"}, limits.upper, "limit"),
            (gettext("mean %(mean)s") % {"mean": f"{limits.mean:.1f}"}, limits.mean, "mean"),
        ]
        averaged_months = [month for month in months if month.is_averaged]
        chart.notes.append(
            ngettext(
                "Mean %(mean)s over %(count)s whole month; upper control limit %(upper)s (c-chart: mean + 3 √mean).",
                "Mean %(mean)s over %(count)s whole months; upper control limit %(upper)s (c-chart: mean + 3 √mean).",
                len(averaged_months),
            )
            % {"mean": f"{limits.mean:.2f}", "count": len(averaged_months), "upper": f"{limits.upper:.2f}"}
        )
    _note_months_above_limit(chart, [month for month in months if month.is_beyond])
    draw_columns(chart, columns, levels)
    text = ngettext(
        "%(total)s complaint in %(name)s; most in one month: %(max)s.",
        "%(total)s complaints in %(name)s; most in one month: %(max)s.",
        total,
    )
    chart.description = text % {
        "total": total,
        "name": period.name,
        "max": max(month.count for month in months),
    } + "".join(f" {note}" for note in chart.notes)
    chart.table = Table((gettext("Month"), gettext("Complaints"), gettext("Remark")), rows)
    return chart


def rate_chart(scope: Scope, months: list[complaints.Month], period: Period, *, may_enter: bool) -> Chart:
    """Return the u-chart of complaints per million units sold by month; months without a rate are gaps."""
    chart = Chart("per-million", gettext("Complaints per million units sold"))
    label = gettext("Enter or import units sold") if may_enter else gettext("Show the units sold")
    chart.source = Cell(label, list_of(UnitsSold))
    sold = complaints.units_sold(scope.site.pk, period, scope.count)
    since, until = scope.days.get("date", NO_DAYS)
    whole_months = {
        first: units
        for first, units in sold.items()
        if (since is None or since <= first) and (until is None or last_day(first) <= until)
    }
    rates = complaints.per_million(months, whole_months)
    if not whole_months:
        chart.empty = (
            gettext(
                "Units sold are entered only for months of which the list shows some days, so there "
                "is nothing to compare."
            )
            if sold
            else gettext(
                "No units sold are entered for %(name)s. A Manager enters or imports them, one number a month."
            )
            % {"name": period.name}
        )
        return chart
    columns, rows = [], []
    for rate in rates:
        month, name, url = rate.month, long_name(rate.month.first), _address_of_month(scope, rate.month)
        if rate.value is None:
            remark = gettext("only some days are shown") if month.first in sold else gettext("no units entered")
            title, kind = f"{name}: {remark}", "gap"
        else:
            remark, kind = _remark(month, rate.is_beyond), _kind(month, rate.is_beyond)
            title = gettext("%(name)s: %(number)s per million") % {"name": name, "number": _number(rate.value)}
            title = f"{title} ({remark})" if remark else title
        upper = rate.limits.upper if rate.limits is not None else None
        label, second = month_letters(month.first), f"{month.first.year:04}"
        columns.append(Column(label, second, rate.value or 0, title, url, kind, upper))
        numbers = (
            str(month.count),
            f"{rate.units:,}" if rate.units is not None else NOTHING,
            _number(rate.value),
            _number(upper),
        )
        rows.append((Cell(name, url), *map(Cell, numbers), Cell(remark)))
    used = [rate for rate in rates if rate.limits is not None and rate.month.is_averaged]
    levels = []
    if used and used[0].limits is not None:
        mean = used[0].limits.mean
        levels = [(gettext("mean %(number)s") % {"number": _number(mean)}, mean, "mean")]
        chart.notes.append(
            ngettext(
                "Mean %(number)s over %(count)s whole month with units. The upper control limit of each month comes "
                "from its own units n, in millions (u-chart: mean + 3 √(mean / n)).",
                "Mean %(number)s over %(count)s whole months with units. The upper control limit of each month comes "
                "from its own units n, in millions (u-chart: mean + 3 √(mean / n)).",
                len(used),
            )
            % {"number": _number(mean), "count": len(used)}
        )
    _note_months_above_limit(chart, [rate.month for rate in rates if rate.is_beyond])
    gaps = [rate.month for rate in rates if rate.month.first not in sold]
    if gaps:
        names = ", ".join(short_name(month.first) for month in gaps[:MOST_NAMES])
        further_count = len(gaps) - MOST_NAMES
        text = (
            gettext("No units are entered for %(names)s and %(more)s more.") % {"names": names, "more": further_count}
            if further_count > 0
            else gettext("No units are entered for %(names)s.") % {"names": names}
        )
        chart.notes.append(f"{NOTHING} {text}")
    if scope.query:
        chart.notes.append(gettext("The units are all that the site sold, whatever filters the list has."))
    draw_columns(chart, columns, levels)
    values = [rate.value for rate in rates if rate.value is not None]
    chart.description = gettext("Highest in one month of %(name)s: %(number)s per million units.") % {
        "name": period.name,
        "number": _number(max(values)),
    } + "".join(f" {note}" for note in chart.notes)
    chart.table = Table(
        (
            gettext("Month"),
            gettext("Complaints"),
            gettext("Units"),
            gettext("Per million"),
            gettext("Limit"),
            gettext("Remark"),
        ),
        rows,
    )
    return chart


def _remark(month: complaints.Month, is_beyond: bool) -> str:
    remarks = ((gettext("above the limit"), is_beyond), (gettext("so far"), not month.is_over))
    return ", ".join(words for words, holds in remarks if holds)


def _kind(month: complaints.Month, is_beyond: bool) -> str:
    return " ".join(kind for kind, holds in (("beyond", is_beyond), ("running", not month.is_over)) if holds)


def _address_of_month(scope: Scope, month: complaints.Month) -> str:
    return _complaints_on(scope, month.first, last_day(month.first)) if month.count else ""


def _note_months_above_limit(chart: Chart, months: list[complaints.Month]) -> None:
    if months:
        names = ", ".join(short_name(month.first) for month in months)
        chart.notes.append(
            gettext("▲ Above the limit: %(names)s. Look for a cause that is not chance.") % {"names": names}
        )


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.2f}"


def pareto_chart(scope: Scope, relation: str, title: str, shares: list[complaints.Share], period: Period) -> Chart:
    """Return a Pareto chart: bars from the most frequent down, with dots at the cumulative shares."""
    column: Any = Complaint._meta.get_field(relation)
    chart = Chart(f"by-{relation}", title)
    if not shares:
        chart.empty = gettext("No complaints in %(name)s.") % {"name": period.name}
        return chart
    bars, rows = [], []
    for share in shares:
        parameters = {f"{relation}__id__exact": str(share.key)}
        url = _complaints_on(scope, period.first, period.last, **parameters) if share.key else ""
        label = gettext("%(name)s: %(count)s, together %(percent)s") % {
            "name": share.name,
            "count": share.count,
            "percent": percent(share.cumulative),
        }
        bars.append(Row(share.name, share.count, label, url, "" if share.key else "others", share.cumulative))
        rows.append((Cell(share.name, url), Cell(str(share.count)), Cell(percent(share.cumulative))))
    draw_rows(chart, bars)
    chart.notes.append(gettext("The dots and the percentages add up the shares from the top."))
    leads = gettext("%(name)s leads with %(count)s.") % {"name": shares[0].name, "count": shares[0].count}
    chart.description = f"{leads} {chart.notes[0]}"
    chart.table = Table(
        (
            capfirst(str(column.verbose_name)),
            gettext("Complaints"),
            gettext("Cumulative share"),
        ),
        rows,
    )
    return chart
