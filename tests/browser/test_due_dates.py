"""Where people see what is due: the year of the audit programs, and the link for their calendar."""

import datetime
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from records.accounts.models import CalendarLink, DefaultRole
from records.audits.models import AuditProgram
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.browser.test_looks import faults_shown, wide_and_light, with_axe
from tests.browser.waiting import follow
from tests.make.actions import make_action
from tests.make.audits import cancel, make_audit, make_completed, make_program
from tests.make.backoffice import list_address

pytestmark = pytest.mark.django_db(transaction=True)

PageOf = Callable[..., Page]


def test_the_year_of_the_programs_is_read_with_the_keyboard_and_on_a_phone(site: Site, page_of: PageOf) -> None:
    year = now().year

    def day(month: int, number: int = 5, of_year: int = year) -> datetime.datetime:
        return datetime.datetime(of_year, month, number, tzinfo=datetime.UTC)

    program = make_program(site, name="GMP walk", department="Quality", frequency_months=1, next_due_date=day(12, 20))
    make_completed(program, due_date=day(1))
    cancel(make_audit(program, due_date=day(2)))
    make_audit(program, due_date=day(12, 31))
    make_audit(make_program(site, name="Supplier audit"), due_date=day(1, 2, year - 1))
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.READER), site))
    page.goto(list_address(AuditProgram))
    page.get_by_role("link", name="Year view").click()
    expect(page.get_by_role("heading", name=f"Audits in {year}")).to_be_visible()
    row = page.get_by_role("row", name=re.compile("GMP walk"))
    for state in ("Done", "Cancelled", "Due"):
        expect(row.get_by_text(state, exact=True).first).to_be_visible()
    expect(
        row.get_by_role("link", name=re.compile(r"Done 5 January, GMP walk, extra audit \d+, Completed"))
    ).to_have_count(1)
    assert faults_shown(page, "year") == []
    # On a phone each program is a card that names its months.
    assert page.evaluate("getComputedStyle(document.querySelector('table.year tbody tr')).display") == "block"
    wide_and_light(page)
    page.get_by_role("link", name=str(year - 1)).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Audits in {year - 1}")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Supplier audit")).get_by_text("Overdue")).to_be_visible()
    follow(page.get_by_role("link", name="This year"))
    page.emulate_media(media="print")
    expect(page.get_by_role("row", name=re.compile("GMP walk"))).to_be_visible()
    expect(page.get_by_role("navigation", name="Years")).to_be_hidden()


def test_a_calendar_link_is_made_copied_and_revoked_on_the_profile_page(site: Site, page_of: PageOf) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER)
    make_action(site, owner=ada, name="Fix the door", due_date=now())
    page = with_axe(page_of(ada, site))
    page.goto("/profile/")
    assert faults_shown(page, "profile without a link") == []
    wide_and_light(page)
    follow(page.get_by_role("button", name="Make a calendar link"))
    link = page.get_by_label("Link", exact=True).input_value()
    assert faults_shown(page, "the link") == []
    wide_and_light(page)
    path = "/calendar/" + link.rpartition("/")[2]
    assert "SUMMARY:Action 1: Fix the door" in page.request.get(path).text()
    # A page that is loaded again makes no second link.
    page.reload()
    expect(page.locator(".messages")).to_contain_text("is shown only once")
    assert CalendarLink.objects.count() == 1
    assert faults_shown(page, "profile with a link") == []
    wide_and_light(page)
    page.get_by_role("button", name="Revoke the link").click()
    expect(page.locator(".messages")).to_contain_text("The calendar link was revoked")
    assert page.request.get(path).status == 404
