"""The back-office on a phone: the header is one row, lists are cards, and the filter bar works with a thumb."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from documents.models import Document
from records.accounts.models import DefaultRole
from records.actions.models import Action
from records.complaints.models import Complaint
from records.history.models import Change
from records.items.models import Item
from records.reference.models import Product
from records.sites.models import Entity, EntityFolder
from tests import make
from tests.browser.test_looks import NARROW, faults_shown, step, with_axe
from tests.browser.waiting import choose
from tests.make import audits as make_audits
from tests.make.actions import make_action
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint, make_entry
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]
ASTRAY = """() => [...document.querySelectorAll(':is(.results, .cards) [data-label]')].filter((cell) => {
  const box = cell.getBoundingClientRect(), range = document.createRange();
  range.selectNodeContents(cell);
  const parts = [...range.getClientRects()].filter((part) => part.width);
  return parts.some((part) => part.left < box.left + 128 || part.right > box.right + 1);
}).map((cell) => cell.textContent.slice(0, 60))"""
"""The values of cards that reach below the names of their columns or out of the card."""


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


def test_a_record_s_further_steps_wait_behind_one_button_and_the_search_says_what_it_is(
    site: Any, page_of: PageOf
) -> None:
    complaint = make_complaint(site)
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site, "phone"))
    page.goto(address(complaint, "read"))
    expect(page.get_by_label("Search all records")).to_have_attribute("placeholder", "Search")
    expect(page.get_by_role("link", name="Edit")).to_be_visible()
    expect(page.get_by_role("link", name="History", exact=True)).to_be_hidden()
    more = page.get_by_role("button", name="More", exact=True)
    expect(more).to_have_attribute("aria-expanded", "false")
    more.click()
    expect(more).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("link", name="History", exact=True)).to_be_visible()
    assert faults_shown(page, "record on a phone") == []
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(more).to_be_hidden()


def test_on_a_card_every_part_of_a_value_stands_beside_its_name(site: Any, page_of: PageOf) -> None:
    complaint = make_complaint(site, trace_number="L" * 80)
    due = datetime.datetime(2020, 5, 1, tzinfo=datetime.UTC)
    make_action(site, about=complaint, due_date=due, name="W" * 80)
    program = make_audits.make_program(
        site, checklists=[make_audits.make_checklist(site, questions=("Q" * 120, "Dry?"))]
    )
    audit = make_audits.start(make_audits.make_audit(program))
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site, "phone")
    for where in (
        list_address(Action),
        list_address(Complaint),
        reverse("admin:reminders"),
        reverse("admin:monthly"),
        f"{reverse('admin:trace')}?lots={'L' * 80}",
        address(audit, "read"),
        *(address(complaint, name) for name in ("read", "history")),
    ):
        page.goto(where)
        astray = page.evaluate(ASTRAY)
        assert astray == [], where
    page.goto(address(audit, "read"))
    expect(page.locator(".cards [data-label=Question]").first).to_contain_text("QQQ")


def test_the_rows_of_a_form_stand_below_each_other_with_their_labels(site: Any, page_of: PageOf) -> None:
    customer = make_customer(site, party_contacts=[{"last_name": "Quill"}])
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site, "phone")
    page.goto(address(customer, "change"))
    contacts = page.locator(".tabular")
    contacts.get_by_role("button", name="Add contact").click()
    expect(contacts.locator("label", has_text="Last name")).to_have_count(2)
    for number in (0, 1):
        label = contacts.locator("label", has_text="Last name").nth(number)
        assert label.evaluate("label => label.getBoundingClientRect().width") > 100
    assert contacts.locator(".wide").evaluate("frame => frame.scrollWidth - frame.clientWidth") == 0


def test_a_german_form_and_an_address_fit_in_320_pixels(site: Any, page_of: PageOf) -> None:
    type(site).objects.filter(pk=site.pk).update(time_zone="Pacific/Auckland")
    names = {"given_name": "Morgan", "family_name": "Fielding", "email": "morgan.fielding-lindqvist@larder.example"}
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER, language="de", **names), site, "phone")
    page.set_viewport_size({"width": 320, "height": 640})
    for where in (f"{list_address(Complaint)}add/", "/profile/"):
        page.goto(where)
        expect(page.locator("html")).to_have_attribute("lang", "de")
        expect(page.locator("input[type='datetime-local'] + button")).to_have_count(1 if "add" in where else 0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, where


def test_long_words_wrap_on_every_page_that_shows_them(site: Any, page_of: PageOf) -> None:
    manager = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR, family_name="Q" * 60)
    product = make_entry(Product, site, "P" * 120)
    complaint = make_complaint(site, trace_number="L" * 189, complaint_description="x" * 60, product=product)
    folder = make.make_folder(site, Entity.ITEM, "F" * 120)
    item = make_item(site, name="I" * 189, location="O" * 80, entity_folder=folder)
    action = make_action(
        site,
        about=complaint,
        name="A" * 150,
        owner=manager,
        due_date=datetime.datetime(2020, 5, 1, tzinfo=datetime.UTC),
    )
    document = make_document(site, name="D" * 120, file_name=f"{'d' * 90}.pdf")
    program = make_audits.make_program(site, checklists=[make_audits.make_checklist(site, questions=("Q" * 150,))])
    audit = make_audits.start(make_audits.make_audit(program))
    page = page_of(manager, site, "phone")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    wide = {}
    for where in (
        "/admin/",
        "/admin/search/?q=IIII",
        "/admin/trace/?lots=LLL",
        *(list_address(model) for model in (Complaint, Item, Action, Document, EntityFolder, Change)),
        f"{list_address(EntityFolder)}?entity=item",
        f"{list_address(Complaint)}?product__id__exact={product.pk}&q={'y' * 80}",
        *(address(record, "read") for record in (complaint, product, item, action, document, audit)),
        *(address(record, "change") for record in (complaint, item, action)),
        *(address(record, "history") for record in (complaint, item)),
        reverse("admin:documents_document_versions", args=(document.pk,)),
        step(item, "archive"),
        reverse("admin:reminders"),
        "/profile/",
    ):
        page.goto(where)
        if over := page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"):
            wide[where] = over
    assert wide == {}


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
