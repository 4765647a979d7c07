"""What the browser prints of a page: the record or the list, without controls, and dark text on white paper."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from records.accounts.models import DefaultRole
from records.complaints.models import Complaint
from tests import make
from tests.make.audits import make_audit, make_checklist, make_program, make_rating, start
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint
from tests.make.documents import make_document

pytestmark = pytest.mark.django_db(transaction=True)

CONTROLS = """() => [...document.querySelectorAll('input, select, textarea, button, summary, nav, .object-tools')]
  .filter((one) => one.type !== 'hidden' && one.checkVisibility() && one.getClientRects().length)
  .map((one) => one.outerHTML.slice(0, 90))"""
PALE = """() => [...document.querySelectorAll('main h1, main dt, main dd, main th, main td')]
  .filter((one) => getComputedStyle(one).color.match(/\\d+/g).slice(0, 3).some((part) => Number(part) > 130))
  .map((one) => one.textContent.slice(0, 40))"""


def pages(site: Any) -> list[str]:
    complaint = make_complaint(site, trace_number="L1")
    program = make_program(site, checklists=[make_checklist(site, questions=("Dry?",))], rating=make_rating(site))
    audit, document, employee = start(make_audit(program)), make_document(site), make.make_employee(site)
    records = [complaint, complaint.product, complaint.customer, program, audit, document, employee]
    return [
        list_address(Complaint),
        f"{list_address(Complaint)}?q=L1",
        *(address(record, "read") for record in records),
        address(complaint, "history"),
        reverse("admin:documents_document_versions", args=(document.pk,)),
        "/admin/search/?q=L1",
        "/admin/trace/?lots=L1",
    ]


def test_lists_and_records_are_printed_without_controls_and_readably_from_a_dark_page(
    site: Any, page_of: Callable[..., Page]
) -> None:
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site)
    page.context.add_init_script("localStorage.setItem('larder-theme', 'dark')")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1047})  # A4 within the margins that browsers print with.
    for where in pages(site):
        page.goto(where)
        assert page.evaluate(CONTROLS) == [], where
        assert page.evaluate(PALE) == [], where
        assert page.evaluate("document.documentElement.scrollWidth") <= 718, where
    page.screenshot(path="build/paper.png", full_page=True)


def test_a_form_is_printed_as_text_without_hints_and_buttons(site: Any, page_of: Callable[..., Page]) -> None:
    page = page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site)
    page.emulate_media(media="print")
    page.goto(address(make_complaint(site, complaint_description="Line\n" * 40)))
    boxes = """() => [...document.querySelectorAll('.change-form input, .change-form select, .change-form textarea')]
      .filter((one) => one.checkVisibility() && !['checkbox', 'radio', 'hidden'].includes(one.type))
      .filter((one) => getComputedStyle(one).borderTopWidth !== '0px').map((one) => one.name)"""
    assert page.evaluate(boxes) == []
    assert not page.get_by_role("button").locator("visible=true").count()
    assert page.locator("#id_complaint_description").evaluate("(text) => text.scrollHeight - text.clientHeight") <= 2
    hint = "() => getComputedStyle(document.querySelector('[role=combobox]'), '::placeholder').color"
    assert page.evaluate(hint) == "rgba(0, 0, 0, 0)"
    page.screenshot(path="build/paper-form.png", full_page=True)
