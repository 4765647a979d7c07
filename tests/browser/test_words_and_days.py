"""Words that are seen are words that are told, landmarks have names of their own, and days are written in one form."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole
from records.history.models import Change
from records.items.models import Item
from records.sites.models import Entity, EntityFolder
from tests import make
from tests.browser.test_looks import violations, with_axe
from tests.browser.waiting import follow
from tests.make.actions import make_action
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint
from tests.make.items import make_item

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]
RULES = ["landmark-unique", "label-content-name-mismatch", "region", "heading-order"]


def test_lists_with_a_search_and_folders_have_distinct_landmarks_and_names_that_say_what_is_seen(
    site: Any, page_of: PageOf
) -> None:
    make_item(site, name="Oven")
    upper = make.make_folder(site, Entity.ITEM, "Upper")
    make.make_folder(site, Entity.ITEM, "Lower")
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), site))
    folders = f"{list_address(EntityFolder)}?entity=item"
    for where in (f"{list_address(Item)}?q=oven", folders, f"{list_address(EntityFolder)}?move={upper.pk}"):
        page.goto(where)
        assert violations(page, RULES) == [], where


def test_days_and_times_are_written_as_in_lists_and_the_calendar_fills_them_in(site: Any, page_of: PageOf) -> None:
    complaint = make_complaint(site)
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site)
    page.goto(address(complaint))
    page.get_by_label("Date", exact=True).fill("2026-11-27 09:41")
    page.get_by_label("Target date").fill("2026-12-06")
    page.get_by_label("Reason for change").fill("Dated")
    follow(page.get_by_role("button", name="Save and stay"))
    expect(page.get_by_label("Date", exact=True)).to_have_value("2026-11-27 09:41")
    expect(page.get_by_label("Target date")).to_have_value("2026-12-06")
    expect(page.locator(".field-date")).to_contain_text("Times are those of")
    # The browser's own calendar cannot be pressed from here: its field is filled in, as choosing a day does.
    page.locator(".field-target_date .with-picker input + input").evaluate(
        "(picker) => { picker.value = '2026-12-24'; picker.dispatchEvent(new Event('change')); }"
    )
    expect(page.get_by_label("Target date")).to_have_value("2026-12-24")
    page.get_by_label("Target date").fill("24.12.2026")
    page.get_by_label("Reason for change").fill("Dated")
    page.get_by_role("button", name="Save and stay").click()
    fault = page.locator(".field-target_date")
    expect(fault).to_contain_text("Enter a date as year-month-day.")
    tops = fault.evaluate("(row) => ['input', '.errorlist'].map((one) => row.querySelector(one).offsetTop)")
    assert tops[0] < tops[1]
    complaint.refresh_from_db()
    assert f"{complaint.target_date:%Y-%m-%d}" == "2026-12-06"


def test_on_a_phone_days_are_chosen_with_its_own_calendar(site: Any, chromium: Any, live_server: Any) -> None:
    context = chromium.new_context(base_url=live_server.url, has_touch=True, is_mobile=True)
    try:
        page = context.new_page()
        page.goto("/admin/login/")
        page.get_by_label("User name").fill(make.make_user("mira", site=site, role=DefaultRole.MANAGER).user_name)
        page.get_by_label("Password").fill(make.PASSWORD)
        follow(page.get_by_role("button", name="Sign in"))
        page.goto("/admin/actions/action/add/")
        expect(page.get_by_label("Due")).to_have_attribute("type", "date")
    finally:
        context.close()


def test_enter_in_a_line_saves_no_half_filled_record_and_the_history_says_what_was_done(
    site: Any, page_of: PageOf
) -> None:
    action = make_action(site)
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site)
    page.goto("/admin/customers/customer/add/")
    page.get_by_label("Name", exact=True).fill("Corner shop")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Add customer")).to_be_visible()
    assert not Change.objects.filter(operation="AddCustomer").exists()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messages")).to_contain_text("was added successfully")
    page.goto(address(action, "history"))
    expect(page.locator(".trail-head").last).to_contain_text("Added")
    expect(page.locator(".trail-head").last).not_to_contain_text("AddAction")
