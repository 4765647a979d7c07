"""The back-office on a phone: the header is one row, lists are cards, and the filter bar works with a thumb."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole
from records.complaints.models import Complaint
from records.reference.models import Product
from tests import make
from tests.browser.test_looks import faults_shown, with_axe
from tests.browser.waiting import choose
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint, make_entry

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]


def test_header_and_menu_take_one_row_and_a_list_shows_every_column(site: Any, page_of: PageOf) -> None:
    complaint = make_complaint(site, trace_number="L-2611-0042")
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site, "phone")
    page.goto(list_address(Complaint))
    assert page.evaluate("document.querySelector('main').getBoundingClientRect().top") <= 56
    expect(page.get_by_text("L-2611-0042")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Log out")).to_be_hidden()
    page.locator(".menu > summary").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    expect(page.get_by_role("link", name="Audits", exact=True)).to_be_visible()
    page.locator(".menu > summary").click()
    page.get_by_role("link", name=str(complaint.site_sequence_id), exact=True).click()
    expect(page).to_have_url(f"{page.url.split('/admin/')[0]}{address(complaint, 'read')}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_long_words_wrap_on_lists_records_and_history(site: Any, page_of: PageOf) -> None:
    complaint = make_complaint(site, trace_number="L" * 189, complaint_description="x" * 60)
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site, "phone")
    for where in (
        list_address(Complaint),
        address(complaint, "read"),
        address(complaint),
        address(complaint, "history"),
    ):
        page.goto(where)
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, where


def test_filters_are_chosen_together_and_taken_away_one_by_one(site: Any, page_of: PageOf) -> None:
    product = make_entry(Product, site, "Rye loaf")
    make_complaint(site, product=product)
    make_complaint(site)
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site))
    page.goto(list_address(Complaint))
    page.locator("details.filters > summary").click()
    page.get_by_label("Status", exact=True).select_option("Awaiting Review")
    choose(page, "Product", product.name)
    page.get_by_role("button", name="Show", exact=True).click()
    chips = page.get_by_role("list", name="Active filters")
    expect(chips.get_by_role("listitem")).to_have_count(3)
    expect(page.locator("#result_list tbody tr")).to_have_count(1)
    page.locator("details.filters > summary").click()
    assert faults_shown(page, "list with filters") == []
    chips.get_by_role("link", name="Remove Status: Awaiting Review").click()
    expect(page.get_by_role("list", name="Active filters")).to_contain_text(f"Product: {product.name}")
    expect(page.get_by_role("list", name="Active filters")).not_to_contain_text("Status")
