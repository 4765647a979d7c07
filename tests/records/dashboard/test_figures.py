"""The numbers of the start page's charts, worked by hand."""

import datetime
import math
import zoneinfo
from typing import Any

import pytest
from django.template.loader import render_to_string

from records.accounts.models import DefaultRole
from records.actions.models import Status
from records.complaints.models import Complaint
from records.dashboard.figures import actions, audits, complaints
from records.dashboard.figures.delays import delays
from records.dashboard.figures.drawing import (
    Cell,
    Chart,
    Column,
    Mark,
    Row,
    Table,
    draw_columns,
    draw_rows,
    percent,
    shorten,
    steps,
)
from records.dashboard.figures.periods import Period, read_period
from records.history.trail import now
from records.reference.models import Nonconformance
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action, move
from tests.make.complaints import make_complaint, make_draft, make_entry, make_units_sold
from tests.make.documents import make_document, make_signer
from tests.make.figures import make_complaints, noon

UTC = zoneinfo.ZoneInfo("UTC")
HALF_YEAR = Period(datetime.date(2026, 1, 1), datetime.date(2026, 6, 1), UTC, datetime.date(2026, 6, 15))


def rows_at(site: Site) -> Any:
    return complaints.counted_complaints(site.pk)


def test_lines_across_columns_are_named_above_the_highest_column_at_different_ends() -> None:
    chart = Chart("x", "X")
    columns = [Column("Jan", "2026", 2, "January: 2"), Column("Feb", "2026", 9, "February: 9", kind="beyond")]
    draw_columns(chart, columns, [("upper limit 8.0", 8, "limit"), ("mean 5.5", 5.5, "mean")])
    room_for_an_arrow = 14
    assert chart.legend <= min(float(mark.y) for mark in chart.marks) - room_for_an_arrow
    labels = {line.label: (line.label_x, line.anchor) for line in chart.lines if line.kind != "grid"}
    assert labels == {
        "- - upper limit 8.0": (str(chart.right), "end"),
        "— mean 5.5": (str(chart.left), "start"),
    }


def test_cumulative_shares_are_dots_on_their_bars_and_no_line_crosses_the_names() -> None:
    chart = Chart("x", "X")
    draw_rows(chart, [Row("Metal", 6, "Metal: 6", cumulative=0.6), Row("Glass", 4, "Glass: 4", cumulative=1)])
    assert chart.path == ""
    for dot, mark in zip(chart.dots, chart.marks, strict=True):
        assert float(mark.y) < float(dot.y) < float(mark.y) + float(mark.height)
    svg = render_to_string(chart.template, {"chart": chart})
    assert svg.count("trend-dot") == 2
    assert "polyline" not in svg


def test_control_limits_are_three_roots_of_the_mean_around_it() -> None:
    limits = complaints.control_limits([4, 9, 2, 5])
    assert limits is not None
    assert limits.mean == 5
    assert limits.upper == pytest.approx(11.7082, abs=1e-4)  # 5 + 3 x 2.23607
    assert limits.lower == 0  # 5 - 6.70820 lies below zero
    many = complaints.control_limits([100, 90, 110])
    assert many is not None
    assert (many.lower, many.mean, many.upper) == (70, 100, 130)
    assert complaints.control_limits([]) is None
    assert complaints.control_limits([0, 0]) is None


def test_the_handbooks_wafer_example_gives_its_limits() -> None:
    """The e-Handbook's 25 wafers carry 400 defects: c = 16, UCL = 28, LCL = 4."""
    wafers = [16, 14, 28, 16, 12, 20, 10, 12, 10, 17, 19, 17, 14, 16, 15, 13, 14, 16, 11, 20, 11, 19, 16, 31, 13]
    limits = complaints.control_limits(wafers)
    assert limits == complaints.Limits(16, 4, 28)


def test_months_before_the_first_complaint_and_the_running_month_are_not_averaged(site: Site) -> None:
    # February 1, March 1, April 1, May 9; June, which still runs, 2. January lies before the first complaint.
    days = ["2026-02-10", "2026-03-10", "2026-04-10", *["2026-05-10"] * 9, "2026-06-01", "2026-06-14"]
    make_complaints(site, [noon(day) for day in days])
    months, limits = complaints.by_month(rows_at(site), HALF_YEAR, rows_at(site))
    assert [month.count for month in months] == [0, 1, 1, 1, 9, 2]
    assert [month.is_averaged for month in months] == [False, True, True, True, True, False]
    assert limits is not None
    assert limits.mean == 3
    assert limits.upper == pytest.approx(3 + 3 * math.sqrt(3))  # 8.196
    assert [month.is_beyond for month in months] == [False, False, False, False, True, False]


def test_complaints_per_million_units_have_limits_by_the_units_of_their_month(site: Site, other_site: Site) -> None:
    # February 4 complaints of 4 million units, March 20 without units, April 4 of 4 million, May 12 of 2 million;
    # June, which still runs, 1 of half a million. Averaged: 20 of 10 million, so the mean is 2.
    for day, count in (("02-10", 4), ("03-10", 20), ("04-10", 4), ("05-10", 12), ("06-01", 1)):
        make_complaints(site, [noon(f"2026-{day}")] * count)
    for month, sold in (("02", 4_000_000), ("04", 4_000_000), ("05", 2_000_000), ("06", 500_000)):
        make_units_sold(site, f"2026-{month}", sold)
    make_units_sold(site, "2025-12", 9_000_000)
    make_units_sold(site, "2026-07", 9_000_000)
    make_units_sold(other_site, "2026-03", 9_000_000)
    months, _ = complaints.by_month(rows_at(site), HALF_YEAR, rows_at(site))
    rates = complaints.per_million(months, complaints.units_sold(site.pk, HALF_YEAR))
    assert [rate.value for rate in rates] == [None, 1, None, 1, 6, 2]
    assert {rate.limits.mean for rate in rates if rate.limits} == {2}
    upper = [rate.limits.upper if rate.limits else 0 for rate in rates]
    # 2 + 3 x root of 2/4 = 4.1213, of 2/2 = 5, of 2/0.5 = 8.
    assert upper == pytest.approx([0, 4.1213, 0, 4.1213, 5, 8], abs=1e-4)
    assert [rate.is_beyond for rate in rates] == [False, False, False, False, True, False]


def test_units_of_no_averaged_month_give_rates_without_limits(site: Site) -> None:
    make_complaints(site, [noon("2026-06-02")] * 3)
    make_units_sold(site, "2026-06", 1_500_000)
    months, _ = complaints.by_month(rows_at(site), HALF_YEAR, rows_at(site))
    rates = complaints.per_million(months, complaints.units_sold(site.pk, HALF_YEAR))
    assert (rates[-1].value, rates[-1].limits, rates[-1].is_beyond) == (2, None, False)
    assert complaints.per_million(months, {})[-1].value is None


def test_drafts_archived_complaints_and_other_sites_are_not_counted(site: Site, other_site: Site) -> None:
    [present, archived] = make_complaints(site, [noon("2026-03-10"), noon("2026-03-11")])
    make.archive(archived, reason="Entered twice")
    make_draft(site, date=noon("2026-03-12"))
    make_complaints(other_site, [noon("2026-03-10")] * 3)
    months, _ = complaints.by_month(rows_at(site), HALF_YEAR, rows_at(site))
    assert [month.count for month in months] == [0, 0, 1, 0, 0, 0]
    assert [share.key for share in complaints.paretos(rows_at(site), HALF_YEAR, {"customer": 1})["customer"]] == [
        present.customer_id
    ]


def test_a_month_is_that_of_the_sites_clocks_and_a_bare_date_keeps_its_own(site: Site) -> None:
    zone = zoneinfo.ZoneInfo("America/New_York")
    period = Period(datetime.date(2026, 2, 1), datetime.date(2026, 3, 1), zone, datetime.date(2026, 6, 1))
    bare, evening = "2026-03-01T00:00:00+00:00", "2026-03-01T03:30:00+00:00"
    make_complaints(site, [datetime.datetime.fromisoformat(text) for text in (bare, evening)])
    months, _ = complaints.by_month(rows_at(site), period, rows_at(site))
    assert [month.count for month in months] == [1, 1]
    after = datetime.datetime.fromisoformat("2026-04-01T03:30:00+00:00")
    make_complaints(site, [after])
    assert [month.count for month in complaints.by_month(rows_at(site), period, rows_at(site))[0]] == [1, 2]


def test_a_complaint_without_a_date_stands_in_no_month(site: Site) -> None:
    complaint = make_complaint(site)
    Complaint.objects.filter(pk=complaint.pk).update(date=None)
    assert sum(month.count for month in complaints.by_month(rows_at(site), HALF_YEAR, rows_at(site))[0]) == 0


def test_pareto_puts_the_most_frequent_first_and_adds_up_the_shares(site: Site) -> None:
    kinds = {name: make_entry(Nonconformance, site, name) for name in ("Glass", "Mould", "Weight")}
    for name, count in (("Glass", 3), ("Mould", 5), ("Weight", 2)):
        make_complaints(site, [noon("2026-03-10")] * count, nonconformance=kinds[name])
    shares = complaints.paretos(rows_at(site), HALF_YEAR, {"nonconformance": 10})["nonconformance"]
    assert [(share.name, share.count, share.cumulative) for share in shares] == [
        ("Mould", 5, 0.5),
        ("Glass", 3, 0.8),
        ("Weight", 2, 1.0),
    ]


def test_pareto_sums_up_what_lies_beyond_the_first_ten(site: Site) -> None:
    for index in range(12):
        kind = make_entry(Nonconformance, site, f"Kind {index:02}")
        make_complaints(site, [noon("2026-03-10")] * (2 if index < 10 else 1), nonconformance=kind)
    shares = complaints.paretos(rows_at(site), HALF_YEAR, {"nonconformance": 22})["nonconformance"]
    assert [share.name for share in shares[:10]] == [f"Kind {index:02}" for index in range(10)]
    assert [(share.name, share.key, share.count, share.cumulative) for share in shares[10:]] == [
        ("All others", None, 2, 1.0)
    ]


def test_open_audits_are_counted_by_how_long_they_are_overdue(site: Site) -> None:
    program = make_audits.make_program(site)
    today = HALF_YEAR.today
    for days in (-91, -90, -31, -30, -1, 0, 30, 31):
        due = datetime.datetime.combine(today + datetime.timedelta(days=days), datetime.time(), datetime.UTC)
        make_audits.make_audit(program, due_date=due)
    make_audits.cancel(make_audits.make_audit(program, due_date=noon("2026-01-01")))
    assert [delay.count for delay in delays(audits.open_audits(site.pk), HALF_YEAR.today)] == [1, 2, 2, 2]
    dates = [audit.due_date for audit in audits.longest_overdue(site.pk, HALF_YEAR) if audit.due_date]
    assert len(dates) == 5
    assert dates == sorted(dates)


def test_scores_are_those_of_completed_audits_finished_in_the_period(site: Site) -> None:
    rating = make_audits.make_rating(site)
    program = make_audits.make_program(site, rating=rating)
    for day in ("2026-02-03", "2025-12-31"):
        audit = make_audits.start(make_audits.make_audit(program, due_date=noon(day)), start_date=noon(day))
        responses = [make_audits.response(rating, name) for name in ("Yes", "Partly")]
        audit = make_audits.find(audit, *responses, values={"finish_date": noon(day)})
        make_audits.complete(make_audits.submit(audit))
    scores, has_more = audits.scores(site.pk, HALF_YEAR)
    assert [(score.day.isoformat(), score.score, score.rating) for score in scores] == [("2026-02-03", 75.0, "B")]
    assert not has_more


def test_a_period_is_read_from_the_address_and_nonsense_is_named() -> None:
    period, fault = read_period({"from": "2025-11", "to": "2026-02"}, UTC)
    assert (period.first, period.last, fault) == (datetime.date(2025, 11, 1), datetime.date(2026, 2, 28), "")
    assert [month.month for month in period.months] == [11, 12, 1, 2]
    assert period.name == "November 2025 to February 2026"
    assert len(read_period({"months": "24"}, UTC)[0].months) == 24
    assert len(read_period({}, UTC)[0].months) == 12
    for bad in (
        {"from": "2026-13"},
        {"from": "x"},
        {"from": "2026-05", "to": "2026-04"},
        {"from": "1990-01", "to": "2026-01"},
        {"from": "0001-01"},
        {"to": "9999-12"},
        {"months": "7"},
    ):
        period, fault = read_period(bad, UTC)
        assert fault, bad
        assert len(period.months) == 12


def test_axis_steps_are_whole_and_reach_the_highest_value() -> None:
    assert steps(0) == [0, 1]
    assert steps(4) == [0, 1, 2, 3, 4]
    assert steps(7) == [0, 2, 4, 6, 8]
    assert steps(103) == [0, 50, 100, 150]
    assert steps(1201)[-1] >= 1201


def test_a_share_reads_100_only_when_it_is_all_and_long_names_are_shortened() -> None:
    assert (percent(0.996), percent(1.0), percent(0.5)) == ("99 %", "100 %", "50 %")
    assert shorten("Glass") == "Glass"
    assert len(shorten("x" * 300)) == 52
    assert len(shorten("食" * 300)) < 30


def test_effectiveness_counts_what_was_closed_in_the_period_and_how_it_was_judged(site: Site, other_site: Site) -> None:
    for place, effective in ((site, True), (site, True), (site, False), (other_site, True)):
        action = move(make_action(place), Status.DONE, make.make_user(site=place))
        move(action, Status.CLOSED, make.make_user(site=place), effective=effective)
    make_action(site)
    month = now().date().replace(day=1)
    rows = actions.visible_actions(site.pk, make.make_user(site=site, role=DefaultRole.MANAGER))
    assert actions.effectiveness(rows, Period(month, month, UTC, month)) == (2, 1)
    assert actions.effectiveness(rows, HALF_YEAR) == (0, 0)


@pytest.mark.parametrize(
    ("role", "count"), [(DefaultRole.READER, 1), (DefaultRole.STANDARD, 1), (DefaultRole.MANAGER, 2)]
)
def test_actions_about_documents_that_do_not_exist_for_somebody_are_not_counted(
    site: Site, role: DefaultRole, count: int
) -> None:
    make_action(site)
    make_action(site, about=make_document(site, user_to_review=[make_signer(site)]))
    rows = actions.visible_actions(site.pk, make.make_user(site=site, role=role))
    assert actions.unfinished(rows).count() == count


def test_names_in_tables_and_in_links_of_dots_are_text() -> None:
    table = Table(("Name", "Number"), [(Cell("<b>'&", "/list/?a=1&b=2"), Cell("<i>"))])
    assert table.body == (
        '<tr><th scope="row"><a href="/list/?a=1&amp;b=2">&lt;b&gt;&#x27;&amp;</a></th><td>&lt;i&gt;</td></tr>'
    )
    chart = Chart(
        "scores", "Scores", marks=[Mark("1", "2", "", "", "<b>", "/x/?a=1&b=2"), Mark("3", "4", "", "", "no")]
    )
    assert chart.dot_links == (
        '<a href="/x/?a=1&amp;b=2" tabindex="-1" aria-hidden="true"><title>&lt;b&gt;</title>'
        '<circle class="hit" cx="1" cy="2" r="9"/></a>'
    )
