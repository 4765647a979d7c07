"""Putting a value of the history back in a real browser, by keyboard, and in every look."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole
from records.employees.models import Employee
from tests import make
from tests.browser.test_looks import faults_at, faults_shown, with_axe
from tests.make.backoffice import address, save, sign_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_manager_puts_an_address_back_by_keyboard(site: Any, page_of: Callable[..., Page]) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    employee = make.make_employee(site, address="1 Mill Lane\nHillside")
    wrong = "2 Mill Lane\n" + "Long" * 40
    save(sign_in(manager, site), employee, address=wrong, position="Baker", change_reason="Moved")
    page = with_axe(page_of(manager, site))
    history = address(employee, "history")
    faults = faults_at(page, history)
    page.get_by_role("link", name="Put this value back (Address, before No.").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Put a value back")).to_be_visible()
    expect(page.get_by_role("row", name="1 Mill Lane")).to_contain_text("Long")
    faults += faults_shown(page, "the confirmation")
    page.get_by_role("button", name="Put this value back").click()
    expect(page.get_by_role("alert")).to_contain_text("This field is required.")
    faults += faults_shown(page, "the confirmation without a reason")
    page.get_by_label("Reason for change").fill("She did not move")
    page.get_by_label("Reason for change").press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".messages")).to_contain_text("Address: the earlier value was put back.")
    expect(page.get_by_text("“She did not move”")).to_be_visible()
    assert Employee.objects.get(pk=employee.pk).address == "1 Mill Lane\nHillside"
    faults += faults_shown(page, "the history afterwards")
    assert faults == []
    page.emulate_media(media="print")
    expect(page.get_by_text("“She did not move”")).to_be_visible()
    expect(page.get_by_role("link", name="Put this value back")).to_have_count(0)
