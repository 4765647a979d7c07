"""What people type survives a lost session, a lost cookie and a wrong click, and is gone after signing out."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole, SubscriptionKey
from records.backoffice.models import SavedFilter
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.employees.models import Employee
from records.history.models import Change
from records.items.models import Item
from records.sites.models import Site
from tests import make
from tests.browser.test_looks import faults_shown, with_axe
from tests.browser.waiting import choose, chooser, expect_count, follow
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint
from tests.make.items import make_item

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]
STORED_TEXTS = "Object.keys(localStorage).filter((key) => key.startsWith('larder-typed:')).length"
OFFER = "You typed something here that was not saved"


@pytest.fixture
def manager(site: Any) -> Any:
    return make.make_user(site=site, role=DefaultRole.MANAGER)


def sign_in_on(page: Page, user: Any) -> None:
    page.get_by_label("User name").fill(user.user_name)
    page.get_by_label("Password").fill(make.PASSWORD)
    follow(page.get_by_role("button", name="Sign in"))


def test_text_is_offered_again_after_the_session_was_lost_and_saving_clears_it(
    site: Any, manager: Any, page_of: PageOf
) -> None:
    employee = make.make_employee(site, employment_history=[{"company": "Mill"}])
    chief = make.make_employee(site, first_name="Zora", last_name="Chief")
    page = page_of(manager, site)
    page.goto(address(employee))
    page.locator("#id_position").fill("Baker")
    choose(page, "Reporting to", "zora", "Zora Chief")
    page.get_by_role("button", name="Add education or training").click()
    page.locator("[name=education_training-0-title]").fill("Hygiene")
    page.get_by_label("Reason for change").fill("Promoted")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Save", exact=True).click()
    sign_in_on(page, manager)
    expect(page.get_by_role("heading", name=OFFER)).to_be_visible()
    expect(page.locator("#id_position")).not_to_have_value("Baker")
    page.get_by_role("button", name="Put it back").click()
    expect(page.locator("#id_position")).to_have_value("Baker")
    expect(chooser(page, "Reporting to")).to_have_value(re.compile("Zora Chief"))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messages")).to_contain_text("was changed successfully")
    stored = Employee.objects.get(pk=employee.pk)
    assert (stored.position, stored.reporting_to_id) == ("Baker", chief.pk)
    assert [row.title for row in stored.education_training.all()] == ["Hygiene"]
    assert [row.company for row in stored.employment_history.all()] == ["Mill"]
    expect_count(page, STORED_TEXTS, 0)
    page.goto(address(employee))
    expect(page.get_by_role("heading", name=OFFER)).to_have_count(0)


def test_text_is_offered_again_after_the_form_s_cookie_was_lost(site: Any, manager: Any, page_of: PageOf) -> None:
    page = page_of(manager, site)
    page.goto(reverse("admin:complaints_complaint_add"))
    page.locator("#id_complaint_description").fill("A splinter in the loaf")
    page.context.clear_cookies(name="csrftoken")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_role("heading", name="Page out of date")).to_be_visible()
    page.get_by_role("link", name="Open the page again").click()
    page.get_by_role("button", name="Put it back").click()
    page.get_by_role("button", name="Save as draft").click()
    expect(page.locator(".messages")).to_contain_text("was added successfully")
    assert Complaint.objects.get().complaint_description == "A splinter in the loaf"
    expect_count(page, STORED_TEXTS, 0)


def test_leaving_a_form_with_typed_text_warns_and_discarding_forgets_it(
    site: Any, manager: Any, page_of: PageOf
) -> None:
    page = page_of(manager, site)
    page.goto(reverse("admin:customers_customer_add"))
    dialogs: list[str] = []

    def leave(dialog: Any) -> None:
        dialogs.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    page.get_by_role("link", name="Items", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("Items"))).to_be_visible()
    assert dialogs == []
    page.goto(reverse("admin:customers_customer_add"))
    page.get_by_label("Name", exact=True).press_sequentially("Corner shop")
    page.get_by_role("link", name="Items", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("Items"))).to_be_visible()
    assert dialogs == ["beforeunload"]
    page.goto(reverse("admin:customers_customer_add"))
    page.get_by_role("button", name="Discard it").click()
    expect_count(page, STORED_TEXTS, 0)
    expect(page.get_by_label("Name", exact=True)).to_have_value("")


def test_nothing_is_kept_after_signing_out_or_beyond_the_session_or_shown_to_others(
    site: Any, manager: Any, page_of: PageOf
) -> None:
    page = page_of()
    page.goto("/admin/")
    sign_in_on(page, manager)
    add = reverse("admin:customers_customer_add")
    page.goto(add)
    page.get_by_label("Name", exact=True).fill("Corner shop")
    expect_count(page, STORED_TEXTS, 1)
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Sign in to Larder")).to_be_visible()
    expect_count(page, STORED_TEXTS, 0)
    sign_in_on(page, manager)
    page.goto(add)
    page.get_by_label("Name", exact=True).fill("Corner shop")
    expect_count(page, STORED_TEXTS, 1)
    page.context.clear_cookies()
    page.goto(add)
    other = make.make_user("other", site=site, role=DefaultRole.MANAGER)
    sign_in_on(page, other)
    page.goto(add)
    expect(page.get_by_role("heading", name=OFFER)).to_have_count(0)
    page.evaluate(
        "for (const [key, text] of Object.entries(localStorage)) if (key.startsWith('larder-typed:'))"
        " localStorage.setItem(key, JSON.stringify({...JSON.parse(text), end: Date.now() - 1}))"
    )
    page.goto("/admin/")
    expect_count(page, STORED_TEXTS, 0)


def test_a_refused_save_puts_the_focus_on_a_summary_that_leads_to_the_field(
    site: Any, manager: Any, page_of: PageOf
) -> None:
    complaint = make_complaint(site)
    page = page_of(manager, site)
    page.goto(address(complaint))
    page.locator("#id_complaint_description").fill("Too salty")
    page.get_by_role("button", name="Save", exact=True).click()
    summary = page.get_by_role("alert", name="Nothing was saved: please correct one thing")
    expect(summary).to_be_focused()
    summary.get_by_role("link", name="Reason for change").click()
    expect(page.get_by_label("Reason for change")).to_be_focused()
    page.goto(reverse("admin:complaints_complaint_step", args=(complaint.pk, "archive")))
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_role("alert", name=re.compile("Nothing was saved"))).to_be_focused()


def test_a_look_up_without_a_match_says_so_and_keeps_the_text(site: Any, manager: Any, page_of: PageOf) -> None:
    page = page_of(manager, site)
    page.goto(reverse("admin:complaints_complaint_add"))
    field = chooser(page, "Customer")
    field.click()
    page.keyboard.type("Nowhere Ltd")
    expect(page.get_by_text("Nothing matches “Nowhere Ltd”.")).to_be_visible()
    page.keyboard.press("Tab")
    expect(field).to_have_value("Nowhere Ltd")
    expect(page.get_by_text("“Nowhere Ltd” is not chosen")).to_be_visible()
    page.get_by_role("button", name="Save as draft").click()
    expect(field).to_be_focused()
    assert not Complaint.objects.exists()


def test_text_on_the_profile_survives_a_lost_session_and_a_key_is_made_once(
    site: Any, manager: Any, page_of: PageOf
) -> None:
    page = page_of(manager, site)
    page.goto("/profile/")
    page.locator("#make-key").get_by_label("Name").fill("ERP sync")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Make a key").click()
    sign_in_on(page, manager)
    expect(page.get_by_role("heading", name=OFFER)).to_be_visible()
    page.get_by_role("button", name="Put it back").click()
    page.get_by_role("button", name="Make a key").click()
    expect(page.get_by_label("Key", exact=True)).to_have_value(re.compile("^lk_"))
    expect_count(page, STORED_TEXTS, 0)
    page.reload()
    expect(page.get_by_label("Key", exact=True)).to_have_count(0)
    expect(page.get_by_role("heading", name=OFFER)).to_have_count(0)
    assert [key.name for key in SubscriptionKey.objects.all()] == ["ERP sync"]


def test_the_reason_for_several_records_survives_a_lost_session(site: Any, manager: Any, page_of: PageOf) -> None:
    make_item(site, name="Oven")
    page = page_of(manager, site)

    def choose() -> None:
        page.get_by_label("Choose Oven").check()
        page.get_by_label("For the chosen records").select_option("Archive")
        page.get_by_role("button", name="Continue").click()

    page.goto(list_address(Item))
    choose()
    page.get_by_label("Reason for change").fill("Sold to the harbour site")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Archive").click()
    sign_in_on(page, manager)
    choose()
    page.get_by_role("button", name="Put it back").click()
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("Archive: 1 of 1 done.")).to_be_visible()
    assert Change.objects.get(operation="ArchiveItem").reason == "Sold to the harbour site"
    expect_count(page, STORED_TEXTS, 0)


def test_a_double_click_on_save_sends_the_form_once(site: Any, manager: Any, page_of: PageOf) -> None:
    page = page_of(manager, site)
    page.goto(reverse("admin:items_item_add"))
    page.get_by_label("Name", exact=True).fill("Oven")
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url) if request.method == "POST" else None)
    page.get_by_role("button", name="Save", exact=True).dblclick()
    expect(page.locator(".messages")).to_contain_text("was added successfully")
    assert len(addresses) == 1
    assert Item.objects.get().name == "Oven"
    page.go_back()
    expect(page.get_by_label("Name", exact=True)).to_be_visible()
    page.get_by_label("Name", exact=True).fill("Mixer")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messages")).to_contain_text("was added successfully")
    assert sorted(Item.objects.values_list("name", flat=True)) == ["Mixer", "Oven"]


def test_going_back_after_saving_shows_a_fresh_form_and_not_what_was_sent(
    site: Any, manager: Any, page_of: PageOf
) -> None:
    page = page_of(manager, site)
    page.goto(f"{list_address(Item)}add/")
    page.get_by_label("Name").fill("Slicer")
    follow(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_role("heading", name="Slicer")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Add item")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("")

    item = Item.objects.get()
    page.goto(address(item))
    page.get_by_label("Notes").fill("Dull")
    page.get_by_label("Reason for change").fill("Looked at")
    follow(page.get_by_role("button", name="Save", exact=True))
    Item.objects.update(notes="Sharp")
    page.go_back()
    expect(page.get_by_role("heading", name="Edit Slicer")).to_be_visible()
    expect(page.get_by_label("Notes")).to_have_value("Sharp")
    expect(page.get_by_label("Reason for change")).to_have_value("")


def test_a_refused_name_of_a_filter_stays_in_its_field_below_a_summary_with_the_focus(
    site: Any, manager: Any, page_of: PageOf
) -> None:
    page = with_axe(page_of(manager, site))
    page.goto(f"{list_address(Item)}?archived=yes")
    page.locator("summary", has_text="Saved filters").click()
    page.get_by_label("Save this filter as").fill("   ")
    page.get_by_label("Share with everybody").check()
    page.get_by_role("button", name="Save the filter").click()
    summary = page.get_by_role("alert", name="Nothing was saved: please correct one thing")
    expect(summary).to_be_focused()
    assert faults_shown(page, "a refused filter") == []
    summary.get_by_role("link", name="Name").click()
    name = page.get_by_label("Name", exact=True)
    expect(name).to_be_focused()
    expect(page.get_by_label("Share with everybody")).to_be_checked()
    name.fill("Archived ovens")
    page.get_by_role("button", name="Save the filter").click()
    expect(page.get_by_text("The filter “Archived ovens” was saved.")).to_be_visible()
    assert SavedFilter.objects.get().is_shared


def test_text_on_an_open_page_outlives_the_end_of_the_session_without_being_kept(
    site: Site, manager: Any, page_of: PageOf
) -> None:
    page = with_axe(page_of(manager, site))
    page.clock.install()
    page.goto(reverse("admin:customers_customer_add"))
    page.get_by_label("Name", exact=True).press_sequentially("Corner shop")
    page.clock.run_for(1000)
    expect_count(page, STORED_TEXTS, 1)
    page.context.clear_cookies()
    page.clock.fast_forward("12:30:00")
    notice = page.get_by_role("alert").filter(has_text="Your session has ended")
    expect(notice).to_be_visible()
    expect_count(page, STORED_TEXTS, 0)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(notice.get_by_role("link", name="Sign in again in another tab")).to_be_focused()
    assert faults_shown(page, "the end of a session") == []
    assert not Customer.objects.exists()
    other = page.context.new_page()
    other.goto("/admin/")
    sign_in_on(other, manager)
    expect(other.get_by_role("button", name="Log out")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messages")).to_contain_text("was added successfully")
    assert Customer.objects.get().name == "Corner shop"
