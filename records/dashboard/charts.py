"""The charts of actions and audits for a site and period, with their tables and a link from each bar to its records."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.translation import gettext, ngettext

from records.actions.models import UNFINISHED, Action, Status
from records.audits.models import OPEN, AuditRecord
from records.backoffice.about import list_of, page_of
from records.backoffice.date_filters import address_part
from records.backoffice.datetimes import format_datetime
from records.dashboard.figures import actions, audits
from records.dashboard.figures.delays import delays
from records.dashboard.figures.drawing import (
    Cell,
    Chart,
    Dot,
    Row,
    Table,
    bar,
    draw_bars,
    draw_dots,
    percent,
)
from records.dashboard.figures.periods import Period
from records.history.counting import UNCACHED, Counting


def score_chart(site_id: uuid.UUID, period: Period, count: Counting = UNCACHED) -> Chart:
    """Return the scores of the period's audits over time."""
    chart = Chart("scores", gettext("Audit scores over time"))
    scores, has_more = audits.scores(site_id, period, count)
    if not scores:
        chart.empty = gettext(
            "No scored audit was completed in %(name)s. A score comes from a program with a rating."
        ) % {"name": period.name}
        return chart
    dots, rows = [], []
    for score in scores:
        url = page_of(AuditRecord, score.key)
        outcome = " · ".join(part for part in (score.rating, score.result) if part)
        label = f"{score.name}, {score.day}: {score.score:g}{f' ({outcome})' if outcome else ''}"
        dots.append(Dot(score.day, score.score, label, url))
        rows.append((Cell(score.name, url), Cell(score.day.isoformat()), Cell(f"{score.score:g}"), Cell(outcome)))
    draw_dots(chart, dots, period.first, period.last)
    mean = sum(score.score for score in scores) / len(scores)
    facts = {"count": len(scores), "mean": f"{mean:.1f}"}
    text = ngettext(
        "%(count)s audit scored %(mean)s of 100.",
        "%(count)s audits scored %(mean)s of 100 on average. The line joins the monthly means.",
        len(scores),
    )
    chart.say(text % facts)
    if has_more:
        chart.notes.append(
            gettext("Only the newest %(count)s are shown; choose a shorter period for the others.")
            % {"count": len(scores)}
        )
    chart.table = Table((gettext("Audit"), gettext("Finished"), gettext("Score"), gettext("Outcome")), rows)
    return chart


def overdue_chart(site_id: uuid.UUID, period: Period, count: Counting = UNCACHED) -> Chart:
    """Return how many open audits are overdue, and for how long, as of today."""
    chart = Chart("overdue", gettext("Overdue audits"))
    chart.empty = gettext("No open audit is overdue or due within 30 days.")
    bars = draw_delays(chart, audits.open_audits(site_id), period, due_in(AuditRecord, OPEN), count=count)
    if bars and chart.table is not None:
        overdue_audits = audits.longest_overdue(site_id, period, count)
        rows = [
            (
                Cell(str(audit), page_of(AuditRecord, audit.pk)),
                Cell(
                    gettext("due %(day)s, %(record_status)s")
                    % {
                        "day": format_datetime(audit.due_date, day=True),
                        "record_status": audit.get_record_status_display(),
                    }
                ),
            )
            for audit in overdue_audits
        ]
        chart.table = Table((gettext("Audits"), gettext("Number, or when it was due")), [*chart.table.rows, *rows])
    return chart


def draw_delays(
    chart: Chart,
    rows: QuerySet[Any],
    period: Period,
    link: Callable[[datetime.date | None, datetime.date | None], str],
    field: str = "due_date",
    count: Counting = UNCACHED,
) -> list[Row]:
    """Draw how long the rows are overdue as of today, with their table; return the bars, or none if nothing is due.

    `link` returns the address of the list that shows the rows which are due from one day to another.
    """
    spans = delays(rows, period.today, field, count)
    if not any(delay.count for delay in spans):
        return []
    chart.empty = ""
    bars = [
        bar(delay.name, delay.count, link(delay.first, delay.last), "late" if delay.is_overdue else "")
        for delay in spans
    ]
    draw_bars(chart, bars, gettext("Due"), gettext("Number"))
    overdue = sum(delay.count for delay in spans if delay.is_overdue)
    text = gettext("%(overdue)s overdue today, %(count)s due within 30 days, whatever the period is.")
    chart.say(text % {"overdue": overdue, "count": spans[-1].count})
    return bars


def due_in(model: type[Model], statuses: Sequence[str]) -> Callable[..., str]:
    """Return the function that links to the rows of the model in these statuses that are due on certain days."""
    status_list = ",".join(statuses)
    return lambda first, last: list_of(model, record_status__in=status_list, **address_part("due_date", first, last))


def ageing_chart(rows: QuerySet[Action], period: Period, count: Counting = UNCACHED) -> Chart:
    """Return how long those of the actions that are not closed yet are overdue, as of today."""
    chart = Chart("ageing", gettext("Ageing of actions"))
    chart.empty = gettext("No unfinished action is overdue or due within 30 days.")
    draw_delays(chart, actions.unfinished(rows), period, due_in(Action, UNFINISHED), count=count)
    return chart


def effectiveness_chart(rows: QuerySet[Action], period: Period, count: Counting = UNCACHED) -> Chart:
    """Return how many of the actions closed in the period worked."""
    chart = Chart("effectiveness", gettext("Effectiveness of actions"))
    worked_count, failed_count = actions.effectiveness(rows, period, count)
    if not worked_count + failed_count:
        chart.empty = gettext("No action was closed in %(name)s.") % {"name": period.name}
        return chart
    span = address_part("closed_date", period.first, period.last)
    bars = []
    for name, number, value, kind in (
        (gettext("It worked"), worked_count, "1", ""),
        (gettext("It did not work"), failed_count, "0", "late"),
    ):
        parameters = {"record_status__exact": Status.CLOSED.value, "effective__exact": value, **span}
        bars.append(bar(name, number, list_of(Action, **parameters), kind))
    draw_bars(chart, bars, gettext("Judgement"), gettext("Actions"))
    facts = {
        "worked": worked_count,
        "value": worked_count + failed_count,
        "name": period.name,
        "rate": percent(worked_count / (worked_count + failed_count)),
    }
    chart.say(gettext("%(worked)s of %(value)s actions closed in %(name)s worked: %(rate)s.") % facts)
    return chart
