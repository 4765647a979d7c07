"""The start page's charts for one site and period, with their tables and what stands behind each bar."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import QuerySet

from records.accounts import access
from records.accounts.models import User
from records.actions.models import UNFINISHED, Action, Status
from records.audits.models import OPEN, AuditRecord
from records.backoffice.date_filters import address_part
from records.complaints.filters import RESPONSES
from records.complaints.models import Complaint, RecordStatus
from records.dashboard.addresses import list_of, page_of
from records.dashboard.figures import actions, audits, complaints
from records.dashboard.figures.delays import delays
from records.dashboard.figures.drawing import (
    Cell,
    Chart,
    Column,
    Dot,
    Row,
    Table,
    draw_columns,
    draw_dots,
    draw_rows,
    percent,
)
from records.dashboard.figures.periods import Period, last_day
from records.sites.models import Site

SUBMITTED = ",".join((RecordStatus.AWAITING_REVIEW.value, RecordStatus.COMPLETED.value))
PARETO = (
    ("nonconformance", "Complaints by nonconformance"),
    ("product", "Complaints by product"),
    ("customer", "Complaints by customer"),
)


def charts_for(admin_site: AdminSite, user: User, site: Site, period: Period) -> list[Chart]:
    """Return the charts that the user may see at the site; seventeen queries at most, whatever is stored."""
    found: list[Chart] = []
    if access.may(user, site, "complaints.view_complaint"):
        found += complaint_charts(admin_site, site.pk, period)
    if access.may(user, site, "actions.view_action"):
        found += [ageing_chart(admin_site, site.pk, period), effectiveness_chart(admin_site, site.pk, period)]
    if access.may(user, site, "audits.view_auditrecord"):
        found += [score_chart(admin_site, site.pk, period), overdue_chart(admin_site, site.pk, period)]
    return found


def complaint_charts(admin_site: AdminSite, site_id: uuid.UUID, period: Period) -> list[Chart]:
    """Return complaints by month, the Pareto charts, and how complaints are answered."""
    months, limits = complaints.by_month(site_id, period)
    total = sum(month.count for month in months)
    found = [month_chart(admin_site, months, limits, period)]
    for relation, title in PARETO:
        shares = complaints.pareto(site_id, period, relation, total)
        found.append(pareto_chart(admin_site, relation, title, shares, period))
    causes = complaints.pareto(site_id, period, "cause", complaints.with_cause(site_id, period))
    cause_chart = pareto_chart(admin_site, "cause", "Complaints by cause", causes, period)
    cause_chart.empty = cause_chart.empty and f"No complaint in {period.name} names its cause yet."
    return [
        *found,
        cause_chart,
        waiting_chart(admin_site, site_id, period),
        response_chart(admin_site, site_id, period),
    ]


def waiting_chart(admin_site: AdminSite, site_id: uuid.UUID, period: Period) -> Chart:
    """Return how long complaints wait for their answer beyond their target dates, as of today."""
    chart = Chart("waiting", "Ageing of complaints")
    chart.empty = "No complaint without an answer is overdue or due within 30 days."
    rows, statuses = complaints.waiting_for_answer(site_id), (RecordStatus.AWAITING_REVIEW,)
    draw_delays(admin_site, chart, Complaint, statuses, rows, period, field="target_date", answered_on__isnull="True")
    return chart


def response_chart(admin_site: AdminSite, site_id: uuid.UUID, period: Period) -> Chart:
    """Return how many complaints were answered in the period within how many days, and how many in time."""
    chart = Chart("responses", "Response times")
    found = complaints.responses(site_id, period)
    total = sum(found.spans)
    if not total:
        chart.empty = f"No complaint was answered in {period.name}."
        return chart
    span, bars = address_part("answered_on", period.first, period.last), []
    for (value, name, days), count in zip(RESPONSES, found.spans, strict=True):
        url = list_of(admin_site, Complaint, record_status__in=SUBMITTED, response=value, **span) if count else ""
        bars.append(Row(name, count, f"{name}: {count}", url, "" if days else "late"))
    draw_rows(chart, bars)
    chart.description = f"{total} complaints were answered in {period.name}."
    if found.with_target:
        rate = percent(found.by_target / found.with_target)
        chart.description += f" {found.by_target} of {found.with_target} with a target date were in time: {rate}."
    chart.notes.append(chart.description)
    chart.table = Table(("Answered", "Complaints"), [(Cell(bar.name, bar.url), Cell(str(bar.value))) for bar in bars])
    return chart


def _complaints_on(admin_site: AdminSite, first: datetime.date, last: datetime.date, **more: str) -> str:
    return list_of(admin_site, Complaint, record_status__in=SUBMITTED, **address_part("date", first, last), **more)


def month_chart(
    admin_site: AdminSite, months: list[complaints.Month], limits: complaints.Limits | None, period: Period
) -> Chart:
    """Return the c-chart of complaints by month."""
    chart = Chart("by-month", "Complaints by month")
    total = sum(month.count for month in months)
    if not total:
        chart.empty = f"No complaints in {period.name}. Choose another period, or record a complaint."
        return chart
    columns, rows = [], []
    for month in months:
        said = []
        if month.is_beyond:
            said.append("above the limit")
        if not month.is_over:
            said.append("so far")
        remark = ", ".join(said)
        url = _complaints_on(admin_site, month.first, last_day(month.first)) if month.count else ""
        name = f"{month.first:%B} {month.first.year:04}"
        columns.append(
            Column(
                f"{month.first:%b}",
                f"{month.first.year:04}",
                month.count,
                f"{name}: {month.count}{f' ({remark})' if remark else ''}",
                url,
                " ".join(
                    kind for kind, holds in (("beyond", month.is_beyond), ("running", not month.is_over)) if holds
                ),
            )
        )
        rows.append((Cell(name, url), Cell(str(month.count)), Cell(remark)))
    levels = []
    if limits is not None:
        levels = [
            (f"upper limit {limits.upper:.1f}", limits.upper, "limit"),
            (f"mean {limits.mean:.1f}", limits.mean, "mean"),
        ]
        averaged = [month for month in months if month.is_averaged]
        chart.notes.append(
            f"Mean {limits.mean:.2f} over {len(averaged)} whole month{'s' if len(averaged) != 1 else ''};"
            f" upper control limit {limits.upper:.2f} (c-chart: mean + 3 √mean)."
        )
    beyond = [month for month in months if month.is_beyond]
    if beyond:
        names = ", ".join(f"{month.first:%b} {month.first.year:04}" for month in beyond)
        chart.notes.append(f"▲ Above the limit: {names}. Look for a cause that is not chance.")
    draw_columns(chart, columns, levels)
    chart.description = (
        f"{total} complaints in {period.name}; most in one month: {max(month.count for month in months)}. "
        + " ".join(chart.notes)
    )
    chart.table = Table(("Month", "Complaints", "Remark"), rows)
    return chart


def pareto_chart(
    admin_site: AdminSite, relation: str, title: str, shares: list[complaints.Share], period: Period
) -> Chart:
    """Return a Pareto chart: bars from the most frequent down, and the line of cumulative shares."""
    chart = Chart(f"by-{relation}", title)
    if not shares:
        chart.empty = f"No complaints in {period.name}."
        return chart
    bars, rows = [], []
    for share in shares:
        more = {f"{relation}__id__exact": str(share.key)}
        url = _complaints_on(admin_site, period.first, period.last, **more) if share.key else ""
        said = f"{share.name}: {share.count}, together {percent(share.cumulative)}"
        bars.append(Row(share.name, share.count, said, url, "" if share.key else "others", share.cumulative))
        rows.append((Cell(share.name, url), Cell(str(share.count)), Cell(percent(share.cumulative))))
    draw_rows(chart, bars)
    chart.description = f"{shares[0].name} leads with {shares[0].count}. The line adds up the shares."
    chart.table = Table((title.removeprefix("Complaints by ").capitalize(), "Complaints", "Cumulative share"), rows)
    return chart


def score_chart(admin_site: AdminSite, site_id: uuid.UUID, period: Period) -> Chart:
    """Return the scores of the period's audits over time."""
    chart = Chart("scores", "Audit scores over time")
    found, has_more = audits.scores(site_id, period)
    if not found:
        chart.empty = f"No scored audit was completed in {period.name}. A score comes from a program with a rating."
        return chart
    dots, rows = [], []
    for score in found:
        url = page_of(admin_site, AuditRecord, score.key)
        outcome = " · ".join(part for part in (score.rating, score.result) if part)
        said = f"{score.name}, {score.day}: {score.score:g}{f' ({outcome})' if outcome else ''}"
        dots.append(Dot(score.day, score.score, said, url))
        rows.append((Cell(score.name, url), Cell(score.day.isoformat()), Cell(f"{score.score:g}"), Cell(outcome)))
    draw_dots(chart, dots, period.first, period.last)
    mean = sum(score.score for score in found) / len(found)
    chart.description = f"{len(found)} audits scored {mean:.1f} of 100 on average. The line joins the monthly means."
    chart.notes.append(chart.description)
    if has_more:
        chart.notes.append(f"Only the newest {len(found)} are shown; choose a shorter period for the others.")
    chart.table = Table(("Audit", "Finished", "Score", "Outcome"), rows)
    return chart


def overdue_chart(admin_site: AdminSite, site_id: uuid.UUID, period: Period) -> Chart:
    """Return how many open audits are overdue, and for how long, as of today."""
    chart = Chart("overdue", "Overdue audits")
    chart.empty = "No open audit is overdue or due within 30 days."
    bars = draw_delays(admin_site, chart, AuditRecord, OPEN, audits.open_audits(site_id), period)
    if bars and chart.table is not None:
        late = audits.longest_overdue(site_id, period)
        rows = [
            (
                Cell(str(audit), page_of(admin_site, AuditRecord, audit.pk)),
                Cell(f"due {_day(audit.due_date)}, {audit.record_status}"),
            )
            for audit in late
        ]
        chart.table = Table(("Audits", "Number, or when it was due"), [*chart.table.rows, *rows])
    return chart


def draw_delays(
    admin_site: AdminSite,
    chart: Chart,
    model: Any,
    statuses: Sequence[str],
    rows: QuerySet[Any],
    period: Period,
    field: str = "due_date",
    **more: str,
) -> list[Row]:
    """Draw how long the rows are overdue as of today, with their table; return the bars, none where nothing is due."""
    found = delays(rows, period.today, field)
    if not any(delay.count for delay in found):
        return []
    chart.empty = ""
    bars = []
    for delay in found:
        span = {**more, **address_part(field, delay.first, delay.last)}
        url = list_of(admin_site, model, record_status__in=",".join(statuses), **span) if delay.count else ""
        kind = "late" if delay.is_overdue else ""
        bars.append(Row(delay.name, delay.count, f"{delay.name}: {delay.count}", url, kind))
    draw_rows(chart, bars)
    overdue = sum(delay.count for delay in found if delay.is_overdue)
    chart.description = f"{overdue} overdue today, {found[-1].count} due within 30 days, whatever the period is."
    chart.notes.append(chart.description)
    chart.table = Table(("Due", "Number"), [(Cell(bar.name, bar.url), Cell(str(bar.value))) for bar in bars])
    return bars


def ageing_chart(admin_site: AdminSite, site_id: uuid.UUID, period: Period) -> Chart:
    """Return how long actions that are not closed yet are overdue, as of today."""
    chart = Chart("ageing", "Ageing of actions")
    chart.empty = "No unfinished action is overdue or due within 30 days."
    draw_delays(admin_site, chart, Action, UNFINISHED, actions.unfinished(site_id), period)
    return chart


def effectiveness_chart(admin_site: AdminSite, site_id: uuid.UUID, period: Period) -> Chart:
    """Return how many of the actions closed in the period worked."""
    chart = Chart("effectiveness", "Effectiveness of actions")
    worked, failed = actions.effectiveness(site_id, period)
    if not worked + failed:
        chart.empty = f"No action was closed in {period.name}."
        return chart
    span = address_part("closed_date", period.first, period.last)
    bars = []
    for name, count, value, kind in (("It worked", worked, "1", ""), ("It did not work", failed, "0", "late")):
        more = {"record_status__exact": Status.CLOSED.value, "effective__exact": value, **span}
        bars.append(Row(name, count, f"{name}: {count}", list_of(admin_site, Action, **more) if count else "", kind))
    draw_rows(chart, bars)
    rate = percent(worked / (worked + failed))
    chart.description = f"{worked} of {worked + failed} actions closed in {period.name} worked: {rate}."
    chart.notes.append(chart.description)
    chart.table = Table(("Judgement", "Actions"), [(Cell(bar.name, bar.url), Cell(str(bar.value))) for bar in bars])
    return chart


def _day(moment: datetime.datetime | None) -> str:
    return moment.astimezone(datetime.UTC).date().isoformat() if moment else ""
