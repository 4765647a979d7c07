"""A form that is refused says what is wrong where the person is: a summary or the faulty field takes the focus."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from records.accounts import directories
from records.accounts.models import DefaultRole, User
from records.customers.models import Customer
from records.employees.models import Course
from records.items.models import Item
from records.reference.models import Checklist, Product, Rating
from records.sites.models import Site
from records.webhooks.models import Subscription
from tests import make
from tests.browser.test_looks import step
from tests.browser.waiting import follow
from tests.make.audits import make_audit, make_program, start
from tests.make.backoffice import address, list_address, save, sign_in
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.transfer import as_csv

pytestmark = pytest.mark.django_db(transaction=True)

FOCUS = """() => {
  const one = document.activeElement;
  return one.matches('[data-focus], [aria-invalid=true]') ? '' : one.outerHTML.slice(0, 90);
}"""
IS_FOCUSED = "(selector) => document.activeElement?.matches(selector)"


def forms(site: Site) -> Iterator[str]:
    """Yield the address of each page whose form is refused while it is empty."""
    complaint, document = make_complaint(site), make_document(site)
    audit = start(make_audit(make_program(site)))
    for model in (Customer, Item, Course, Product, Rating, Checklist, User, Site, Subscription):
        yield reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
    yield from (reverse("admin:actions_action_add"), reverse("admin:documents_document_add"))
    yield from (step(complaint, "archive"), step(document, "upload"), step(audit, "cancel"))
    yield from (reverse("admin:items_item_import"), reverse("admin:password_change"))
    yield reverse("admin:retention_hold", args=("set", "complaint", complaint.pk))
    directory = directories.add_directory("Entra", site, author=make.SYSTEM)
    yield reverse("admin:accounts_directory_connection", args=(directory.pk,))
    yield "/profile/"


def test_what_is_wrong_takes_the_focus_on_every_form(site: Site, page_of: Callable[..., Page]) -> None:
    page = page_of(make.make_user("root", site=site, is_superuser=True), site)
    page.on("dialog", lambda dialog: dialog.accept())
    elsewhere: dict[str, Any] = {}
    for where in forms(site):
        page.goto(where)
        follow(page.locator("#content-main, main").first.locator("form button.default").first)
        if focus := page.evaluate(FOCUS):
            elsewhere[where] = focus
    assert elsewhere == {}, elsewhere


def fails(page: Page, message: str) -> None:
    """Expect the page to be refused with this text, and what is wrong to have the focus and lead to its field."""
    expect(page.get_by_role("main")).to_contain_text(message)
    page.wait_for_function(IS_FOCUSED, arg="[data-focus], [aria-invalid=true]")
    link = page.locator("[data-focus] a").first
    if link.count():
        link.click()
        page.wait_for_function(IS_FOCUSED, arg="input, select, textarea")


def test_what_is_wrong_takes_the_focus_in_rows_and_on_pages_behind_a_list(
    site: Site, page_of: Callable[..., Page]
) -> None:
    employee = make.make_employee(site, education_training=[{"title": "Hygiene"}])
    customer = make_customer(site, name="Oakfield Stores", code="C1")
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    page = page_of(manager, site)
    page.on("dialog", lambda dialog: dialog.accept())
    page.goto(address(employee))
    page.locator("[data-prefix=employment_history] [data-add-row]").click()
    page.locator("[name=employment_history-0-start_date]").fill("soon")
    page.get_by_label("Reason for change").fill("Seen")
    page.get_by_role("button", name="Save", exact=True).click()
    fails(page, "Earlier employment 1")
    page.goto(list_address(Customer))
    page.get_by_label("Choose Oakfield Stores").check()
    page.get_by_label("For the chosen records").select_option("Archive")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Archive").click()
    fails(page, "This field is required.")
    page.goto(reverse("admin:customers_customer_import"))
    book = as_csv([{"Name": "Mill Shop"}])
    page.set_input_files("input[name=file]", {"name": "a.csv", "mimeType": "text/csv", "buffer": book})
    page.get_by_role("button", name="Check the file").click()
    page.get_by_role("button", name="Import", exact=True).click()
    fails(page, "This field is required.")
    save(sign_in(manager, site), customer, telephone="1", change_reason="Called")
    page.goto(address(customer, "history"))
    page.get_by_role("link", name="Put this value back").click()
    page.get_by_role("button", name="Put this value back").click()
    fails(page, "This field is required.")
    page.goto(reverse("admin:quick_complaint"))
    page.get_by_role("button", name="Send").click()
    fails(page, "This field is required.")
    out = page_of()
    out.goto("/admin/")
    out.get_by_label("User name").fill("nobody")
    out.get_by_label("Password").fill("wrong")
    out.get_by_role("button", name="Sign in", exact=True).click()
    expect(out.get_by_role("alert")).to_contain_text("This user name or password is not right.")
    expect(out.get_by_label("User name")).to_be_focused()


def test_a_month_that_cannot_be_read_is_named_at_its_field(site: Site, page_of: Callable[..., Page]) -> None:
    page = page_of(make.make_user("root", site=site, is_superuser=True), site)
    page.goto(reverse("admin:monthly"))
    month = page.get_by_label("Month", exact=True)
    picker = page.locator(".with-picker input + input")
    picker.evaluate("(one) => { one.value = '2026-03'; one.dispatchEvent(new Event('change')); }")
    assert month.input_value() == "2026-03"
    follow(page.get_by_role("button", name="Show"))
    expect(page.get_by_label("Month", exact=True)).to_have_value("2026-03")
    page.get_by_label("Month", exact=True).fill("March")
    follow(page.get_by_role("button", name="Show"))
    page.wait_for_function(IS_FOCUSED, arg="[data-focus], [aria-invalid=true]")
    expect(page.get_by_label("Month", exact=True)).to_have_value("March")
