"""The year view of the audit programs: what is planned, due, done and overdue in each month."""

import datetime
import zoneinfo
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.audits import actions, year
from records.audits.models import AuditProgram
from records.sites.models import Site
from tests import make
from tests.make.audits import cancel, make_audit, make_completed, make_program, start
from tests.make.backoffice import browser, list_address
from tests.make.transfer import text_of

UTC = datetime.UTC
TODAY = datetime.date(2026, 6, 15)

pytestmark = pytest.mark.django_db


def day(month: int, number: int, of_year: int = 2026) -> datetime.datetime:
    """Return a day as it is stored: midnight in UTC."""
    return datetime.datetime(of_year, month, number, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(year, "today_at", lambda zone: TODAY)


def entries_of(site: Site, of_year: int = 2026, zone: str = "UTC") -> dict[str, dict[str, list[tuple[str, int]]]]:
    """Return by program and month the state and the day of each entry."""
    lines, _ = year.year_lines(site.pk, of_year, TODAY, zoneinfo.ZoneInfo(zone))
    return {
        line.program.name: {
            month.name: [(entry.state.value, entry.day.day) for entry in month.entries]
            for month in line.months
            if month.entries
        }
        for line in lines
    }


def test_each_state_stands_in_its_month(site: Site) -> None:
    program = make_program(site, name="GMP")
    make_completed(program, due_date=day(2, 3))
    make_audit(program, due_date=day(5, 4))
    start(make_audit(program, due_date=day(7, 1)))
    cancel(make_audit(program, due_date=day(9, 9)))
    assert entries_of(site) == {
        "GMP": {
            "February": [("Done", 3)],
            "May": [("Overdue", 4)],
            "July": [("Due", 1)],
            "September": [("Cancelled", 9)],
        }
    }


def test_the_frequency_plans_months_without_an_audit(site: Site) -> None:
    make_program(site, name="Quarterly", frequency_months=3, next_due_date=day(5, 31))
    assert entries_of(site) == {
        "Quarterly": {"May": [("Overdue", 31)], "August": [("Planned", 31)], "November": [("Planned", 30)]}
    }
    assert entries_of(site, 2030)["Quarterly"] == {
        "February": [("Planned", 28)],
        "May": [("Planned", 31)],
        "August": [("Planned", 31)],
        "November": [("Planned", 30)],
    }
    assert entries_of(site, 2025) == {"Quarterly": {}}


def test_a_planned_date_that_has_an_audit_is_shown_once(site: Site) -> None:
    program = make_program(site, name="Monthly", frequency_months=1, next_due_date=day(11, 1))
    actions.schedule_next_audit_records(site.pk, program.pk, count=1, author=make.SYSTEM)
    assert entries_of(site) == {"Monthly": {"November": [("Due", 1)], "December": [("Planned", 1)]}}


def test_an_extra_audit_takes_no_planned_date_and_is_named_as_one(site: Site) -> None:
    program = make_program(site, name="Yearly", frequency_months=12, next_due_date=day(11, 1))
    make_audit(program, due_date=day(11, 1), is_extra=True)
    assert entries_of(site) == {"Yearly": {"November": [("Due", 1), ("Planned", 1)]}}
    assert "Due 1 November, Yearly, extra audit 1, Scheduled" in text_of(page_of(browser(site))).replace("  ", " ")


def test_a_time_belongs_to_the_day_of_the_sites_clocks(site: Site) -> None:
    program = make_program(site, name="Night")
    make_audit(program, due_date=datetime.datetime(2025, 12, 31, 23, 30, tzinfo=UTC))
    assert entries_of(site, zone="Europe/Oslo") == {"Night": {"January": [("Overdue", 1)]}}
    assert entries_of(site, 2025, zone="Europe/Oslo") == {"Night": {}}


def test_an_archived_program_is_shown_in_the_years_of_its_audits_only(site: Site, other_site: Site) -> None:
    make_program(other_site, name="Theirs", frequency_months=1, next_due_date=day(1, 1))
    program = make_program(site, name="Old", frequency_months=1, next_due_date=day(1, 1))
    make_completed(program, due_date=day(2, 3))
    actions.archive_audit_program(site.pk, program.pk, archived=True, author=make.SYSTEM, reason="Closed")
    assert entries_of(site) == {"Old": {"February": [("Done", 3)]}}
    assert entries_of(site, 2027) == {}


def page_of(client: Any, query: str = "") -> Any:
    """Return the page."""
    return client.get(reverse("admin:audit_year") + query)


def test_the_page_says_each_state_in_words_and_leads_to_the_years_around(site: Site) -> None:
    program = make_program(site, name="GMP")
    audit = make_audit(program, due_date=day(5, 4))
    client = browser(site, DefaultRole.READER)
    page = page_of(client)
    assert "Overdue 4 May, GMP, audit 1, Scheduled" in text_of(page).replace("  ", " ")
    content = page.content.decode()
    assert reverse("admin:audits_auditrecord_read", args=(audit.pk,)) in content
    assert 'href="?year=2025"' in content
    assert 'href="?year=2027"' in content
    assert reverse("admin:audit_year") in client.get(list_address(AuditProgram)).content.decode()


@pytest.mark.parametrize("text", ["0", "99999", "x", "1899", "2200", "-1"])
def test_a_year_that_cannot_be_shown_is_not_found(site: Site, text: str) -> None:
    assert page_of(browser(site), f"?year={text}").status_code == 404


def test_the_page_needs_both_permissions_and_only_reads(site: Site) -> None:
    user = make.make_user(site=site)
    make.make_role(site, ["audits.view_auditprogram"], [user])
    assert page_of(browser(site, user=user)).status_code == 403
    assert browser(site).post(reverse("admin:audit_year")).status_code == 405


def test_programs_are_paged_in_a_fixed_number_of_queries(site: Site) -> None:
    client = browser(site)
    assert "There are no audit programs here yet" in text_of(page_of(client))
    make_completed(make_program(site, name="A", frequency_months=1, next_due_date=day(1, 1)), due_date=day(2, 3))
    page_of(client)
    with CaptureQueriesContext(connection) as few:
        page_of(client)
    for number in range(year.PAGE):
        make_audit(
            make_program(site, name=f"P{number:02}", frequency_months=1, next_due_date=day(1, 1)), due_date=day(3, 1)
        )
    with CaptureQueriesContext(connection) as many:
        page = page_of(client)
    assert len(few) == len(many)
    assert (len(page.context["lines"]), page.context["has_more"]) == (year.PAGE, True)
    assert [line.program.name for line in page_of(client, "?p=2").context["lines"]] == ["P49"]
    assert "There are no more programs" in text_of(page_of(client, "?p=7"))
