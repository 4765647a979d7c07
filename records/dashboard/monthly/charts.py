"""The charts of the monthly report, and its first table: the month's figures beside those of the month before.

Every number is linked to the list of the records behind it. A reader sees the parts that their role may see.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext

from documents.approvals import overdue_signatures
from documents.models import Document
from documents.reading import progress
from documents.visibility import SEE_PENDING, documents_for
from records.accounts import access
from records.accounts.models import User
from records.actions.models import UNFINISHED, Action, Status
from records.audits.models import OPEN, AuditRecord, RecordStatus
from records.backoffice.about import list_of
from records.backoffice.date_filters import address_part
from records.backoffice.datetimes import NOTHING
from records.complaints.filters import BY_TARGET, RESPONSES
from records.complaints.models import RecordStatus as ComplaintStatus
from records.dashboard.charts import due_in
from records.dashboard.complaint_charts import SUBMITTED_STATUSES, Scope, month_chart, rate_chart, scope_of_site
from records.dashboard.figures import actions, audits, complaints
from records.dashboard.figures.drawing import Cell, Chart, Column, Table, bar, draw_columns, draw_rows, percent
from records.dashboard.figures.periods import Period, long_name, month_letters
from records.dashboard.monthly import figures
from records.dashboard.monthly.shares import Share, draw_shares, mean_of, remark_of
from records.history.counting import Counting
from records.sites.models import Site
from records.sites.months import last_day

Link = Callable[[datetime.date | None, datetime.date | None], str]
DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of the month beside that of the month before."""

    name: str
    current: Cell
    previous: Cell
    remark: str = ""


@dataclass
class Report:
    """A site's management figures of a month and the eleven months before it."""

    site: Site
    period: Period
    count: Counting
    lines: list[Line] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)

    @property
    def month(self) -> datetime.date:
        """Return the first day of the report's month."""
        return self.period.final_month


@dataclass(frozen=True, slots=True)
class OverdueKind:
    """One kind of record that can be overdue, with the address of the list that shows those due on some days."""

    name: str
    counts: figures.Overdue
    link: Link
    has_months: bool = True


def report_of(user: User, site: Site, period: Period) -> Report:
    """Return the report as far as the user may see it; a fixed number of queries, whatever is stored."""
    scope, may = scope_of_site(site), access.asking(user, site)
    report = Report(site, period, scope.count)
    kinds: list[OverdueKind] = []
    if may("complaints.view_complaint"):
        kinds.append(_complaints(report, scope, may))
    if may("actions.view_action"):
        kinds.append(_actions(report, user))
    if may("audits.view_auditrecord"):
        kinds.append(_audits(report))
    if may("documents.view_document"):
        kinds += _documents(report, user, may)
    if may("documents.view_reading"):
        kinds.append(_readings(report))
    if kinds:
        report.charts.append(overdue_chart(kinds, period))
        report.lines += [_overdue_line(kind, period) for kind in kinds]
    return report


def _complaints(report: Report, scope: Scope, may: Callable[[str], bool]) -> OverdueKind:
    period = report.period
    months, limits = complaints.by_month(scope.rows, period, scope.everything, count=scope.count)
    report.charts.append(month_chart(scope, months, limits, period))
    cells = [_cell(month.count, _url_of_submitted(scope, "date", month.first)) for month in months]
    report.lines.append(_line(gettext("Complaints"), cells, gettext("above the limit") if months[-1].is_beyond else ""))
    if may("complaints.view_unitssold"):
        report.charts.append(rate_chart(scope, months, period, may_enter=may("complaints.add_unitssold")))
        rates = complaints.per_million(months, complaints.units_sold(report.site.pk, period, scope.count))
        cells = [
            Cell(
                f"{rate.value:,.2f}" if rate.value is not None else NOTHING,
                _url_of_submitted(scope, "date", month.first),
            )
            for rate, month in zip(rates, months, strict=True)
        ]
        remark = (
            gettext("above the limit")
            if rates[-1].is_beyond
            else ""
            if rates[-1].units
            else gettext("no units entered")
        )
        report.lines.append(_line(gettext("Complaints per million units sold"), cells, remark))
    responses = figures.responses(scope.rows, period, scope.count)
    report.charts.append(_response_chart(report, scope, responses))
    waiting_parameters = {"record_status__in": ComplaintStatus.AWAITING_REVIEW.value, "answered_on__isnull": "True"}
    return OverdueKind(
        gettext("Complaints to answer"),
        figures.overdue(complaints.waiting_for_answer(scope.rows), "target_date", period, scope.count),
        lambda first, last: scope.list_of("target_date", first, last, **waiting_parameters),
    )


def _response_chart(report: Report, scope: Scope, responses: Sequence[figures.Counts]) -> Chart:
    chart, shares = Chart("responses-by-month", gettext("Complaints answered by their target dates, in %")), []
    for month, counts in zip(report.period.months, responses, strict=True):
        link = partial(_url_of_submitted, scope, "answered_on", month)
        spans = [_cell(counts[f"span{value}"], link(response=value)) for value, *_ in RESPONSES]
        in_time, url = counts["by_target"], link(response=BY_TARGET)
        cells = [
            _cell(counts["rows"], link()),
            *spans,
            _cell(counts["with_target"], link(target_date__isnull="False")),
            _cell(in_time, url),
        ]
        shares.append(Share(month, in_time, counts["with_target"], cells, url if in_time else ""))
    report.lines.append(_line(gettext("Complaints answered"), [share.cells[0] for share in shares]))
    report.lines.append(_share_line(gettext("Answered by the target date"), shares, report.period))
    if not any(counts["rows"] for counts in responses):
        chart.empty = gettext("No complaint was answered in %(name)s.") % {"name": report.period.name}
    elif not any(share.whole for share in shares):
        chart.empty = gettext("No complaint that was answered in %(name)s had a target date.") % {
            "name": report.period.name
        }
    else:
        names = (
            gettext("Answered"),
            *(str(name) for _, name, _ in RESPONSES),
            gettext("With a target date"),
            gettext("In time"),
        )
        draw_shares(
            chart,
            shares,
            report.period,
            names,
            gettext(
                "%(part)s of %(whole)s answers to complaints with a target date were in time in %(name)s: %(percent)s."
            ),
        )
    return chart


def _actions(report: Report, user: User) -> OverdueKind:
    period = report.period
    rows, shares = actions.visible_actions(report.site.pk, user), []
    count = actions.counting_for(user, report.site.pk, report.count)
    for month, counts in zip(period.months, figures.effectiveness(rows, period, count), strict=True):
        days = address_part("closed_date", month, last_day(month))
        link = partial(list_of, Action, record_status__exact=Status.CLOSED.value, **days)
        worked_cell = _cell(counts["worked"], link(effective__exact="1"))
        cells = (
            _cell(counts["rows"], link()),
            worked_cell,
            _cell(counts["rows"] - counts["worked"], link(effective__exact="0")),
        )
        shares.append(Share(month, counts["worked"], counts["rows"], cells, cells[0].url))
    report.lines.append(_line(gettext("Actions closed"), [share.cells[0] for share in shares]))
    report.lines.append(_share_line(gettext("Actions that worked"), shares, period))
    chart = Chart("effectiveness-by-month", gettext("Effectiveness of actions, in %"))
    if any(share.whole for share in shares):
        names = (gettext("Closed"), gettext("It worked"), gettext("It did not work"))
        draw_shares(
            chart,
            shares,
            period,
            names,
            gettext("%(part)s of %(whole)s actions closed worked in %(name)s: %(percent)s."),
        )
    else:
        chart.empty = gettext("No action was closed in %(name)s.") % {"name": period.name}
    report.charts.append(chart)
    open_actions = actions.unfinished(rows)
    return OverdueKind(
        gettext("Actions"), figures.overdue(open_actions, "due_date", period, count), due_in(Action, UNFINISHED)
    )


def _audits(report: Report) -> OverdueKind:
    site_id, period = report.site.pk, report.period
    active_audits = AuditRecord.objects.at(site_id).filter(is_archived=False)
    counts_by_month = figures.scores(active_audits, period, report.count)
    columns, rows = [], []
    for month, counts in zip(period.months, counts_by_month, strict=True):
        status = {"record_status__exact": RecordStatus.COMPLETED.value}
        url = list_of(AuditRecord, **status, **address_part("finish_date", month, last_day(month)))
        mean = counts["total"] / counts["scored"] if counts["scored"] else None
        name, score = long_name(month), NOTHING if mean is None else f"{mean:.1f}"
        title = (
            gettext("%(name)s: %(shown)s, mean of %(scored)s")
            % {"name": name, "shown": score, "scored": counts["scored"]}
            if counts["scored"]
            else gettext("%(name)s: no score") % {"name": name}
        )
        kind = "gap" if mean is None else "" if period.is_over(month) else "running"
        label, second = month_letters(month), f"{month.year:04}"
        columns.append(Column(label, second, float(mean or 0), title, url if counts["rows"] else "", kind))
        rows.append(
            (Cell(name), _cell(counts["rows"], url), Cell(str(counts["scored"])), Cell(score, url if mean else ""))
        )
    report.lines.append(_line(gettext("Audits finished"), [row[1] for row in rows]))
    report.lines.append(_line(gettext("Mean audit score"), [row[3] for row in rows]))
    chart = Chart("scores-by-month", gettext("Mean audit score"))
    scored_count = sum(counts["scored"] for counts in counts_by_month)
    if scored_count:
        total = sum(float(counts["total"]) for counts in counts_by_month)
        draw_columns(
            chart,
            columns,
            [(gettext("mean %(value)s") % {"value": f"{total / scored_count:.1f}"}, total / scored_count, "mean")],
        )
        facts = {"scored": scored_count, "name": period.name, "value": f"{total / scored_count:.1f}"}
        text = ngettext(
            "%(scored)s audit finished in %(name)s scored %(value)s of 100.",
            "%(scored)s audits finished in %(name)s scored %(value)s of 100 on average.",
            scored_count,
        )
        chart.say(text % facts)
        chart.table = Table(
            (gettext("Month"), gettext("Audits finished"), gettext("With a score"), gettext("Mean score")), rows
        )
    else:
        chart.empty = gettext("No scored audit was finished in %(name)s.") % {"name": period.name}
    report.charts.append(chart)
    open_audits = audits.open_audits(site_id)
    return OverdueKind(
        gettext("Audits"), figures.overdue(open_audits, "due_date", period, report.count), due_in(AuditRecord, OPEN)
    )


def _documents(report: Report, user: User, may: Callable[[str], bool]) -> list[OverdueKind]:
    site, period = report.site, report.period
    rows: QuerySet[Any] = documents_for(user, Document.objects.at(site).filter(is_archived=False), [site.pk])
    reviews = OverdueKind(
        gettext("Document reviews"),
        figures.overdue(rows, "review_date", period),
        lambda first, last: list_of(Document, **address_part("review_date", first, last)),
    )
    if not may(SEE_PENDING):
        return [reviews]
    signatures = overdue_signatures(period.today).filter(version__site=site)
    count = signatures.values("version__document").distinct().count()
    url = list_of(Document, signatures="overdue")
    return [
        reviews,
        OverdueKind(gettext("Documents to sign"), figures.Overdue((), count, 0), lambda *_: url, has_months=False),
    ]


def _readings(report: Report) -> OverdueKind:
    period = report.period
    readings = figures.readings(progress([report.site.pk], report.count), period)
    page, shares = reverse("admin:documents_readings"), []
    for month, due, read_count in zip(period.months, readings.due, readings.read, strict=True):
        everybody = f"{page}?{urlencode(address_part('due', month, last_day(month)))}"
        missing_parameters = _missing_readings(month, last_day(month))
        cells = (_cell(due, everybody), _cell(read_count, everybody), _cell(due - read_count, missing_parameters))
        shares.append(Share(month, read_count, due, cells, cells[0].url))
    report.lines.append(_line(gettext("Readings due"), [share.cells[0] for share in shares]))
    report.lines.append(_share_line(gettext("Readings done"), shares, period))
    chart = Chart("readings-by-month", gettext("Reading completeness by the month in which readings were due, in %"))
    if any(share.whole for share in shares):
        draw_shares(
            chart,
            shares,
            period,
            (gettext("Due"), gettext("Done"), gettext("Missing")),
            gettext("%(part)s of %(whole)s readings due were done in %(name)s: %(percent)s."),
        )
    elif readings.all_due:
        chart.empty = gettext("No reading of a version in force was due in %(name)s.") % {"name": period.name}
    else:
        chart.empty = gettext("Nobody has to read a document. Name roles under “Must be read by” on a document's page.")
    if readings.all_due:
        share = percent(readings.all_read / readings.all_due)
        chart.notes.insert(
            0,
            gettext("Today %(all_read)s of %(all_asked)s readings are done: %(share)s.")
            % {"all_read": readings.all_read, "all_asked": readings.all_due, "share": share},
        )
        chart.source = Cell(gettext("Who has read what"), page)
    report.charts.append(chart)
    return OverdueKind(gettext("Readings"), readings.overdue, _missing_readings)


def _missing_readings(first: datetime.date | None, last: datetime.date | None) -> str:
    query = {"show": "missing", **address_part("due", first, last)}
    return f"{reverse('admin:documents_readings')}?{urlencode(query)}"


def overdue_chart(kinds: Sequence[OverdueKind], period: Period) -> Chart:
    """Return how much of each kind is overdue today, with a table by the month in which it was due."""
    chart, yesterday = Chart("overdue-by-kind", gettext("Overdue today, by kind")), period.today - DAY
    total = sum(kind.counts.total for kind in kinds)
    if not total:
        chart.empty = gettext("Nothing is overdue today.")
        return chart
    bars = [bar(kind.name, kind.counts.total, kind.link(None, yesterday), "late") for kind in kinds]
    draw_rows(chart, bars)
    facts = {"total": total, "today": period.today}
    chart.say(gettext("%(total)s overdue on %(today)s, whatever the report's month is.") % facts)
    rows = [(Cell(gettext("Overdue today")), *(_cell(row.value, row.url) for row in bars))]

    def add(name: str, first: datetime.date | None, last: datetime.date, counts: Sequence[int]) -> None:
        cells = [
            _cell(count, kind.link(first, min(last, yesterday))) if kind.has_months else Cell(NOTHING)
            for kind, count in zip(kinds, counts, strict=True)
        ]
        rows.append((Cell(name), *cells))

    add(
        gettext("Due before %(name)s") % {"name": long_name(period.first)},
        None,
        period.first - DAY,
        [kind.counts.earlier for kind in kinds],
    )
    for index, month in enumerate(period.months):
        counts = [kind.counts.months[index] if kind.has_months else 0 for kind in kinds]
        add(gettext("Due in %(name)s") % {"name": long_name(month)}, month, last_day(month), counts)
    if any(kind.counts.later for kind in kinds):
        add(
            gettext("Due after %(name)s") % {"name": long_name(period.final_month)},
            period.last + DAY,
            yesterday,
            [kind.counts.later for kind in kinds],
        )
    chart.table = Table((gettext("Due"), *(kind.name for kind in kinds)), rows)
    return chart


def _overdue_line(kind: OverdueKind, period: Period) -> Line:
    cell = _cell(kind.counts.total, kind.link(None, period.today - DAY))
    return Line(gettext("%(name)s: overdue today") % {"name": kind.name}, cell, Cell(NOTHING))


def _line(name: str, cells: Sequence[Cell], remark: str = "") -> Line:
    return Line(name, cells[-1], cells[-2], remark)


def _share_line(name: str, shares: Sequence[Share], period: Period) -> Line:
    mean = mean_of(shares, period)
    current, previous = (
        Cell(NOTHING) if share.value is None else Cell(percent(share.value), share.url) for share in shares[:-3:-1]
    )
    return Line(name, current, previous, remark_of(shares[-1], period, mean) if shares[-1].whole else "")


def _url_of_submitted(scope: Scope, name: str, month: datetime.date, **parameters: str) -> str:
    filters: Mapping[str, str] = {"record_status__in": SUBMITTED_STATUSES, **parameters}
    return scope.list_of(name, month, last_day(month), **filters)


def _cell(count: int, url: str) -> Cell:
    return Cell(str(count), url if count else "")
