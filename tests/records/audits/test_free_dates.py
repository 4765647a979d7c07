"""Which audit stands for which due date of its program: the start page, the year and the next audits say the same."""

import datetime
import zoneinfo
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.audits import actions, workflow, year
from records.audits.models import AuditProgram, AuditRecord
from records.audits.schedule import free_due_dates
from records.audits.to_do import to_schedule
from records.backoffice import to_do
from records.sites.models import Site
from tests import make
from tests.make.audits import cancel, complete, find, make_audit, make_program, start, submit
from tests.make.backoffice import browser

pytestmark = pytest.mark.django_db

UTC, ZONE = datetime.UTC, zoneinfo.ZoneInfo("UTC")
TODAY = datetime.date(2098, 11, 25)
DECEMBER, MARCH, JUNE = "2098-12-02", "2099-03-02", "2099-06-02"


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (year, to_do):
        monkeypatch.setattr(module, "today_at", lambda zone: TODAY)


def day(text: str) -> datetime.datetime:
    """Return a day as it is stored: midnight in UTC."""
    return datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def program(site: Site) -> AuditProgram:
    """Return a program with a due date within a month, and one every three months after it."""
    return make_program(site, name="GMP", frequency_months=3, next_due_date=day(DECEMBER))


def schedule(program: AuditProgram, count: int) -> list[AuditRecord]:
    """Schedule the next audits."""
    return actions.schedule_next_audit_records(program.site_id, program.pk, count=count, author=make.SYSTEM)


def carry_out(record: AuditRecord) -> None:
    """Take an audit from Scheduled to Completed."""
    complete(submit(find(start(record), None)))


def free_dates(program: AuditProgram) -> list[str]:
    """Return the first two due dates without an audit, which all pages have to agree on; the next one is listed."""
    program.refresh_from_db()
    dates = [one.date().isoformat() for one in free_due_dates(program, 2)]
    dates_of_year_view = [
        entry.day.isoformat()
        for of_year in (2098, 2099, 2100)
        for line in year.year_lines(program.site_id, of_year, TODAY, ZONE)[0]
        for month in line.months
        for entry in month.entries
        if entry.label == "no audit scheduled yet"
    ]
    assert dates_of_year_view[:2] == dates
    waiting = browser(program.site).get(reverse("admin:index")).context["waiting"]
    names = [row.name for section in waiting if section.key == "schedule" for row in section.rows]
    assert names == (["GMP"] if dates[0] == DECEMBER else [])
    return dates


def _archive(record: AuditRecord) -> None:
    workflow.archive_audit_record(record.site_id, record.pk, archived=True, author=make.SYSTEM, reason="Mistaken")


def _mark(record: AuditRecord) -> None:
    workflow.update_audit_record(record.site_id, record.pk, {"is_extra": True}, author=make.SYSTEM)


@pytest.mark.parametrize("drop", [cancel, _archive, _mark])
def test_a_due_date_whose_audit_is_dropped_is_free_again_although_later_audits_are_planned(
    program: AuditProgram, drop: Any
) -> None:
    first, second = schedule(program, 2)
    assert free_dates(program) == [JUNE, "2099-09-02"]
    drop(first)
    assert free_dates(program) == [DECEMBER, JUNE]
    carry_out(second)
    assert free_dates(program) == [DECEMBER, JUNE]
    [again] = schedule(program, 1)
    assert again.due_date == day(DECEMBER)
    carry_out(again)
    assert free_dates(program) == [JUNE, "2099-09-02"]
    assert program.next_due_date == day(JUNE)


def test_an_audit_that_is_due_later_stands_for_the_date_before_it(program: AuditProgram) -> None:
    audit = make_audit(program, date=day("2098-12-05"))
    assert free_dates(program) == [MARCH, JUNE]
    carry_out(audit)
    assert free_dates(program) == [MARCH, JUNE]
    assert program.next_due_date == day(MARCH)


@pytest.mark.parametrize(("due", "expected"), [("2099-03-01", [MARCH, JUNE]), (MARCH, [DECEMBER, JUNE])])
def test_an_audit_stands_for_a_date_until_the_following_one(
    program: AuditProgram, due: str, expected: list[str]
) -> None:
    make_audit(program, date=day(due))
    assert free_dates(program) == expected


def test_a_program_without_a_frequency_has_one_date_for_which_every_later_audit_stands(site: Site) -> None:
    program = make_program(site, name="GMP", next_due_date=day(DECEMBER))
    assert year.year_lines(site.pk, 2098, TODAY, ZONE)[0][0].months[11].entries[0].label
    make_audit(program, date=day("2100-01-05"))
    assert not year.year_lines(site.pk, 2098, TODAY, ZONE)[0][0].months[11].entries
    assert free_due_dates(program, 2) == []


def test_completing_the_due_audit_leads_to_the_date_of_the_next_one_also_if_its_audit_is_due_later(
    program: AuditProgram,
) -> None:
    [first] = schedule(program, 1)
    make_audit(program, date=day("2099-03-20"))
    carry_out(first)
    assert free_dates(program) == [JUNE, "2099-09-02"]
    assert program.next_due_date == day(MARCH)


def test_a_date_that_staff_set_back_is_due_although_an_audit_after_it_is_completed(program: AuditProgram) -> None:
    carry_out(schedule(program, 1)[0])
    values = {"next_due_date": day(DECEMBER)}
    actions.update_audit_program(program.site_id, program.pk, values, author=make.SYSTEM, reason="Again")
    assert free_dates(program) == [DECEMBER, MARCH]


def test_the_programs_to_schedule_are_found_in_a_fixed_number_of_queries(program: AuditProgram) -> None:
    viewer = to_do.Viewer(browser(program.site).get(reverse("admin:index")).wsgi_request)
    cancel(schedule(program, 2)[0])

    def total() -> int:
        section = to_schedule(viewer)
        to_do.fill([section])
        return section.total

    with CaptureQueriesContext(connection) as few:
        assert total() == 1
    for number in range(3):
        more = make_program(program.site, name=f"P{number}", frequency_months=1, next_due_date=day(DECEMBER))
        make_audit(more, date=day(MARCH))
    with CaptureQueriesContext(connection) as many:
        assert total() == 4
    assert len(few) == len(many) == 2
