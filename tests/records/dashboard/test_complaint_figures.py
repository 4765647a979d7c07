"""The charts follow the filter of the complaints' list, and every bar leads to just the complaints that it counts."""

import datetime
import functools
import zoneinfo
from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice.datetimes import NOTHING
from records.complaints.models import Complaint
from records.dashboard.figures.periods import MOST_MONTHS, months_on, read_period, spanning
from records.reference.models import Nonconformance, Product
from records.sites.models import Site
from tests import make
from tests.make.backoffice import browser, list_address, sign_in
from tests.make.complaints import make_complaint, make_draft, make_entry, make_units_sold
from tests.make.figures import make_complaints, noon

pytestmark = pytest.mark.django_db

CHARTS = reverse("admin:complaint_charts")
SPRING = "from=2026-03&to=2026-05"


def charts(response: Any) -> dict[str, Any]:
    assert response.status_code == 200
    return {chart.key: chart for chart in response.context["charts"]}


def counted_by(client: Any, url: str) -> int:
    page = client.get(url)
    assert page.status_code == 200
    return len(page.context["cl"].result_list)


def test_every_bar_leads_to_as_many_complaints_as_it_counts(site: Site) -> None:
    rye, oat = make_entry(Product, site, "Rye loaf"), make_entry(Product, site, "Oat loaf")
    metal = make_entry(Nonconformance, site, "Metal")
    for day, product in (("2026-03-05", rye), ("2026-04-02", rye), ("2026-04-20", rye), ("2026-04-21", oat)):
        make_complaint(site, date=noon(day), product=product, nonconformance=metal)
    make_complaint(site, date=noon("2026-04-22"), product=rye, trace_number="L1")
    make_draft(site, product=rye)
    make_units_sold(site, "2026-04", 2_000_000)
    client = browser(site)
    # Most charts lead to some of the same lists, and nothing changes between them.
    counted = functools.cache(functools.partial(counted_by, client))
    for query in (
        f"product__id__exact={rye.pk}",
        f"product__id__exact={rye.pk}&product__id__exact={oat.pk}",
        "date__since=2026-04-10",
        "q=L1",
        "archived=all",
        "record_status__in=Completed",
        "record_status__exact=Awaiting+Review&severity__exact=",
    ):
        charts_by_key = charts(client.get(f"{CHARTS}?{query}&{SPRING}"))
        for chart in charts_by_key.values():
            for name, count, *_ in chart.table.rows if chart.table else ():
                if name.url:
                    assert counted(name.url) == int(count.text), (query, chart.key, name)
    charts_by_key = charts(client.get(f"{CHARTS}?product__id__exact={rye.pk}&{SPRING}"))
    assert [row[1].text for row in charts_by_key["by-month"].table.rows] == ["1", "3", "0"]
    assert [row[0].text for row in charts_by_key["by-product"].table.rows] == ["Rye loaf"]


def test_the_list_leads_to_its_charts_and_back_with_its_filter(site: Site) -> None:
    rye = make_entry(Product, site, "Rye loaf")
    make_complaint(site, product=rye)
    client, query = browser(site), f"product__id__exact={rye.pk}&q=x"
    page = client.get(f"{list_address(Complaint)}?{query}")
    assert f'href="{CHARTS}?{query.replace("&", "&amp;")}"' in page.content.decode()
    page = client.get(f"{CHARTS}?{query}&months=6")
    text = page.content.decode()
    assert f'href="{list_address(Complaint)}?{query.replace("&", "&amp;")}"' in text
    assert "Product: Rye loaf" in text
    assert len(page.context["period"].months) == 6
    assert f'<input type="hidden" name="product__id__exact" value="{rye.pk}">' in text


def test_without_a_period_the_charts_show_the_days_that_the_list_is_narrowed_to(site: Site) -> None:
    make_complaint(site, date=noon("2025-02-10"))
    page = browser(site).get(f"{CHARTS}?date__since=2025-02-05&date__until=2025-03-09")
    assert page.context["period"].name == "February 2025 to March 2025"
    months = charts(page)["by-month"]
    assert not any("Mean" in note for note in months.notes), "No month lies wholly within the days."


def test_a_span_that_is_too_long_shows_its_newest_months() -> None:
    default, _ = read_period({}, zoneinfo.ZoneInfo("UTC"))
    period = spanning(datetime.date(1990, 1, 1), None, default)
    assert period is not None
    assert (period.first, period.final_month) == (months_on(default.final_month, 1 - MOST_MONTHS), default.final_month)
    later = spanning(datetime.date(2999, 5, 3), datetime.date(2999, 6, 1), default)
    assert later is not None
    assert len(later.months) == 1


@pytest.mark.parametrize("query", ["archived=maybe", "date__since=yesterday", "nonsense=1"])
def test_a_filter_that_cannot_be_read_is_named(site: Site, query: str) -> None:
    answer = browser(site).get(f"{CHARTS}?{query}")
    assert answer.status_code == 400
    assert f"“{query}”" in answer.content.decode()


def test_a_period_that_cannot_be_read_says_so(site: Site) -> None:
    assert "Write a month as year and month" in browser(site).get(f"{CHARTS}?from=soon").content.decode()


def test_charts_are_for_those_who_see_complaints_and_of_their_site(site: Site, other_site: Site) -> None:
    make_complaint(other_site, date=noon("2026-04-02"))
    assert charts(browser(site, DefaultRole.READER).get(f"{CHARTS}?{SPRING}"))["by-month"].empty
    stranger = make.make_user(site=site)
    make.make_role(site, ["items.view_item"], [stranger])
    assert sign_in(stranger, site).get(CHARTS).status_code == 403


def test_the_page_costs_the_same_for_few_and_for_many_complaints(
    site: Site, django_assert_max_num_queries: Any
) -> None:
    client, costs = browser(site), []
    for year in (2025, 2026):
        make_units_sold(site, f"{year}-04", 1_000_000)
        for day in ("2026-03-05", "2026-04-02"):
            make_complaint(site, date=noon(day))
        with django_assert_max_num_queries(40) as queries:
            client.get(f"{CHARTS}?{SPRING}&archived=all")
        costs.append(len(queries))
    assert costs[0] == costs[1]


def test_complaints_per_million_units_are_drawn_and_months_without_units_are_gaps(site: Site) -> None:
    # March 1 of 1 million, April 4 without units, May 9 of 1 million: the mean is 10 of 2 million, 5; the upper limit
    # is 5 + 3 x root of 5 = 11.71 in both months.
    for day, count in (("2026-03-05", 1), ("2026-04-05", 4), ("2026-05-05", 9)):
        make_complaints(site, [noon(day)] * count)
    make_units_sold(site, "2026-03", 1_000_000)
    make_units_sold(site, "2026-05", 1_000_000)
    client = browser(site)
    chart = charts(client.get(f"{CHARTS}?{SPRING}"))["per-million"]
    assert [[cell.text for cell in row] for row in chart.table.rows] == [
        ["March 2026", "1", "1,000,000", "1.00", "11.71", ""],
        ["April 2026", "4", NOTHING, NOTHING, NOTHING, "no units entered"],
        ["May 2026", "9", "1,000,000", "9.00", "11.71", ""],
    ]
    assert [mark.height for mark in chart.marks][1] == "0"
    assert [mark.note for mark in chart.marks] == ["", NOTHING, ""]
    assert chart.notes[0].startswith("Mean 5.00 over 2 whole months with units.")
    assert chart.notes[-1] == f"{NOTHING} No units are entered for Apr 2026."
    assert len([line for line in chart.lines if line.kind == "limit"]) == 2
    for mark, row in zip(chart.marks, chart.table.rows, strict=True):
        assert counted_by(client, mark.url) == int(row[1].text)


def test_a_month_above_its_limit_is_marked_in_the_rates_too(site: Site) -> None:
    # Nine months with 1 of 1 million and one with 11: the mean is 2, the limit 2 + 3 x root of 2 = 6.24.
    for month in range(1, 11):
        make_complaints(site, [noon(f"2025-{month:02}-05")] * (11 if month == 7 else 1))
        make_units_sold(site, f"2025-{month:02}", 1_000_000)
    chart = charts(browser(site).get(f"{CHARTS}?from=2025-01&to=2025-10"))["per-million"]
    assert [mark.note for mark in chart.marks].index("▲") == 6
    assert chart.table.rows[6][5].text == "above the limit"
    assert "▲ Above the limit: Jul 2025. Look for a cause that is not chance." in chart.notes


def test_without_units_the_chart_tells_where_to_enter_them(site: Site) -> None:
    make_complaint(site, date=noon("2026-04-02"))
    for role, label in (
        (DefaultRole.MANAGER, "Enter or import units sold"),
        (DefaultRole.READER, "Show the units sold"),
    ):
        page = browser(site, role).get(f"{CHARTS}?{SPRING}")
        chart = charts(page)["per-million"]
        assert chart.empty.startswith("No units sold are entered for March 2026 to May 2026.")
        assert chart.source.text == label
        assert f'<a href="{chart.source.url}">{label}</a>' in page.content.decode()


def test_a_month_of_which_only_some_days_are_listed_has_no_rate(site: Site) -> None:
    make_complaints(site, [noon("2026-03-20"), noon("2026-04-02")])
    make_units_sold(site, "2026-03", 1_000_000)
    make_units_sold(site, "2026-04", 1_000_000)
    client = browser(site)
    chart = charts(client.get(f"{CHARTS}?date__since=2026-03-10&date__until=2026-04-30"))["per-million"]
    assert [row[3].text for row in chart.table.rows] == [NOTHING, "1.00"]
    assert chart.table.rows[0][5].text == "only some days are shown"
    assert chart.notes[-1] == "The units are all that the site sold, whatever filters the list has."
    chart = charts(client.get(f"{CHARTS}?date__since=2026-03-10&date__until=2026-03-12"))["per-million"]
    assert chart.empty.startswith("Units sold are entered only for months of which the list shows some days")


def test_who_may_not_see_the_units_sees_no_rates(site: Site) -> None:
    make_complaint(site, date=noon("2026-04-02"))
    make_units_sold(site, "2026-04", 1_000_000)
    clerk = make.make_user(site=site)
    make.make_role(site, ["complaints.view_complaint"], [clerk])
    charts_by_key = charts(sign_in(clerk, site).get(f"{CHARTS}?{SPRING}"))
    assert "per-million" not in charts_by_key
    assert "by-month" in charts_by_key
