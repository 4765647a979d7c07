"""What people do above a list: save a filter, look at it as charts, choose columns, and change several records."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole
from records.complaints.models import Complaint
from records.dashboard.figures.periods import months_on
from records.items.admin import ItemAdmin
from records.items.models import Item
from records.reference.models import Product
from tests import make
from tests.browser.test_looks import NARROW, faults_shown, with_axe
from tests.browser.waiting import choose, follow
from tests.make.backoffice import list_address
from tests.make.complaints import make_complaint, make_draft, make_entry, make_units_sold
from tests.make.items import make_item

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]


def test_a_filter_is_saved_shared_opened_and_removed(site: Any, page_of: PageOf) -> None:
    product = make_entry(Product, site, "Rye loaf")
    make_complaint(site, product=product)
    make_complaint(site)
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site))
    page.goto(list_address(Complaint))
    page.get_by_text("Filter", exact=True).click()
    choose(page, "Product", product.name)
    dates = page.get_by_role("group", name="Date", exact=True)
    dates.get_by_label("From").fill("2020-01-01")
    dates.get_by_label("Date, period").select_option("Last 30 days")
    expect(dates.get_by_label("From")).to_have_value("")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("list", name="Active filters")).to_contain_text("Date: Last 30 days")
    page.locator("summary", has_text="Saved filters").click()
    page.get_by_label("Save this filter as").fill("Rye this month")
    page.get_by_label("Share with everybody").check()
    page.get_by_role("button", name="Save the filter").click()
    expect(page.get_by_text("The filter “Rye this month” was saved.")).to_be_visible()
    page.locator("summary", has_text="Saved filters").click()
    assert faults_shown(page, "list with saved filters") == []
    page.screenshot(path="build/saved-filters.png", full_page=True)
    other = page_of(make.make_user(site=site, role=DefaultRole.READER), site, "phone")
    other.goto(list_address(Complaint))
    other.locator("summary", has_text="Saved filters (1)").click()
    other.get_by_role("link", name="Rye this month").click()
    expect(other.locator("#result_list tbody tr")).to_have_count(1)
    follow(page.get_by_role("link", name="Rename or remove saved filters"))
    assert faults_shown(page, "saved filters") == []
    page.get_by_role("button", name="Remove Rye this month").click()
    expect(page.get_by_text("The saved filter “Rye this month” was removed.")).to_be_visible()


def test_the_list_is_shown_as_charts_whose_bars_lead_back_to_it(site: Any, page_of: PageOf) -> None:
    product = make_entry(Product, site, "Rye loaf")
    for _ in range(2):
        make_complaint(site, product=product, date=datetime.datetime.now(datetime.UTC))
    make_complaint(site, date=datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=70))
    this_month = datetime.datetime.now(datetime.UTC).date().replace(day=1)
    for ago, sold in ((0, 500_000), (1, 2_000_000), (3, 400_000)):
        make_units_sold(site, f"{months_on(this_month, -ago):%Y-%m}", sold)
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.READER), site))
    page.goto(f"{list_address(Complaint)}?product__id__exact={product.pk}")
    follow(page.get_by_role("link", name="Show as charts"))
    expect(page.get_by_role("list", name="Active filters")).to_contain_text("Product: Rye loaf")
    assert faults_shown(page, "charts of complaints") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.screenshot(path="build/charts.png", full_page=True)
    expect(page.get_by_role("img", name="Complaints per million units sold")).to_be_visible()
    page.locator(".chart-per-million summary").click()
    page.locator(".chart-per-million").screenshot(path="build/per-million.png")
    assert faults_shown(page, "table of rates") == []
    page.locator(".chart-by-product summary").click()
    page.locator(".chart-by-product").get_by_role("link", name="Rye loaf").last.click()
    expect(page.locator("#result_list tbody tr")).to_have_count(2)


def test_columns_are_chosen_and_several_records_archived(site: Any, page_of: PageOf) -> None:
    for place in range(3):
        make_item(site, name=f"Oven {place}")
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site))
    page.goto(list_address(Item))
    page.locator("summary", has_text="Columns").click()
    page.get_by_label("Column Created by").check()
    assert faults_shown(page, "columns") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Show these columns").click()
    expect(page.get_by_role("columnheader", name="Created by")).to_be_visible()
    page.get_by_label("Select all objects on this page for an action").check()
    page.get_by_label("Choose Oven 1").uncheck()
    expect(page.get_by_text("2 chosen")).to_be_visible()
    page.screenshot(path="build/list.png", full_page=True)
    page.get_by_label("For the chosen records").select_option("Archive")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Archive: 2 items")).to_be_visible()
    assert faults_shown(page, "together") == []
    page.get_by_label("Reason for change").fill("Sold")
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("Archive: 2 of 2 done.")).to_be_visible()
    assert list(Item.objects.filter(is_archived=False).values_list("name", flat=True)) == ["Oven 1"]


def test_at_375_pixels_the_header_is_one_row_and_the_quick_complaint_stands_first(site: Any, page_of: PageOf) -> None:
    make_complaint(site)
    page = page_of(make.make_user(site=site, role=DefaultRole.STANDARD), site, "phone")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    for where in ("/admin/", list_address(Complaint), reverse("admin:quick_complaint")):
        page.goto(where)
        assert page.evaluate("document.querySelector('main').getBoundingClientRect().top") <= 56, where
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, where
    page.goto(list_address(Complaint))
    tops = page.evaluate(
        "['.link-quick', '.addlink, .object-tools .default'].map((one) => document.querySelector(one).offsetTop)"
    )
    assert tops[0] <= tops[1]
    page.screenshot(path="build/list-phone.png", full_page=True)


def test_all_records_that_match_are_chosen_on_every_page(
    site: Any, page_of: PageOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ItemAdmin, "list_per_page", 2)
    for place in range(5):
        make_item(site, name=f"Oven {place}")
    make_item(site, name="Mixer")
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site))
    page.goto(f"{list_address(Item)}?q=oven")
    page.get_by_label("All items that match, on every page").check()
    expect(page.get_by_text("All that match are chosen")).to_be_visible()
    expect(page.get_by_label("Choose Oven 4")).to_be_disabled()
    assert faults_shown(page, "list, all chosen") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_label("For the chosen records").select_option("Archive")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Archive: 5 items")).to_be_visible()
    page.get_by_label("Reason for change").fill("Sold")
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("Archive: 5 of 5 done.")).to_be_visible()
    assert list(Item.objects.filter(is_archived=False).values_list("name", flat=True)) == ["Mixer"]


def test_what_was_left_as_it_was_is_named_with_the_reason(site: Any, page_of: PageOf) -> None:
    make_draft(site)
    make_complaint(site, trace_number="L1")
    manager = make.make_user(site=site, role=DefaultRole.MANAGER, given_name="Mira", family_name="Quill")
    page = with_axe(page_of(manager, site))
    page.goto(list_address(Complaint))
    page.get_by_label("Select all objects on this page for an action").check()
    page.get_by_label("For the chosen records").select_option("Assign to an owner")
    page.get_by_role("button", name="Continue").click()
    choose(page, "Owner", "mira", "Mira Quill")
    page.get_by_label("Reason for change").fill("Shared out")
    page.get_by_role("button", name="Assign to an owner").click()
    expect(page.get_by_role("heading", name="Assign to an owner: 1 of 2 done")).to_be_visible()
    expect(page.get_by_role("row", name="Draft complaint This field cannot be changed now.")).to_be_visible()
    assert faults_shown(page, "result") == []
    page.get_by_role("link", name="Back to the list").click()
    expect(page.locator("#result_list")).to_be_visible()
