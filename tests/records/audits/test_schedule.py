"""When audits are due: months that keep the day, scheduling by frequency, and the date after an audit is completed."""

import datetime
import zoneinfo

import pytest
from django.core.exceptions import ValidationError

from records.audits import actions, workflow
from records.audits.models import AuditProgram, AuditRecord
from records.audits.schedule import due_dates, months_later
from records.history.models import Change
from records.sites.writing import RecordNotFoundError
from tests import make
from tests.make.audits import (
    cancel,
    complete,
    find,
    make_audit,
    make_checklist,
    make_completed,
    make_program,
    make_rating,
    start,
    submit,
)
from tests.records.audits.test_workflow import code_of

UTC = datetime.UTC
NEW_YORK = zoneinfo.ZoneInfo("America/New_York")


def day(text):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "months", "later"),
    [
        ("2024-01-31", 1, "2024-02-29"),
        ("2023-01-31", 1, "2023-02-28"),
        ("2024-02-29", 12, "2025-02-28"),
        ("2024-11-30", 3, "2025-02-28"),
        ("2024-12-15", 1, "2025-01-15"),
        ("2024-05-31", 0, "2024-05-31"),
    ],
)
def test_a_month_later_is_the_same_day_or_the_last_one(first, months, later):
    assert months_later(day(first), months, NEW_YORK) == day(later)


def test_a_time_keeps_its_place_on_the_sites_clock():
    summer = datetime.datetime(2024, 9, 10, 4, 0, tzinfo=UTC)  # midnight in New York
    assert months_later(summer, 3, NEW_YORK) == datetime.datetime(2024, 12, 10, 5, 0, tzinfo=UTC)


def test_there_is_no_date_beyond_the_calendar():
    assert months_later(day("9999-12-01"), 1, UTC) is None
    assert months_later(datetime.datetime(9999, 11, 30, 23, 0, tzinfo=UTC), 1, NEW_YORK) is not None


def test_dates_are_counted_from_the_first_so_that_the_31st_comes_back():
    dates = due_dates(day("2024-01-31"), 1, UTC)
    assert [next(dates).date().isoformat() for _ in range(4)] == [
        "2024-01-31",
        "2024-02-29",
        "2024-03-31",
        "2024-04-30",
    ]


def schedule(program, count=1):
    return actions.schedule_next_audit_records(program.site_id, program.pk, count=count, author=make.SYSTEM)


def test_the_next_audits_are_scheduled_by_frequency_and_take_over_from_the_program(site):
    auditor, auditee, checklist, rating = (
        make.make_employee(site),
        make.make_employee(site),
        make_checklist(site),
        make_rating(site),
    )
    program = make_program(
        site,
        auditors=[auditor],
        auditees=[auditee],
        checklists=[checklist],
        rating=rating,
        frequency_months=3,
        next_due_date=day("2030-01-31"),
    )
    first, second = schedule(program, 2)
    assert [first.due_date, second.due_date] == [day("2030-01-31"), day("2030-04-30")]
    assert (first.date, first.record_status, first.site_sequence_id) == (first.due_date, "Scheduled", 1)
    assert [list(first.auditors.all()), list(first.auditees.all())] == [[auditor], [auditee]]
    assert [list(first.checklists.all()), first.rating_scale] == [[checklist], rating]
    third = schedule(program)
    assert [one.due_date for one in third] == [day("2030-07-31")]
    program.refresh_from_db()
    assert program.next_due_date == day("2030-01-31")
    assert Change.objects.filter(operation="ScheduleAudit").count() == 3


def test_a_cancelled_audit_is_scheduled_anew(site):
    program = make_program(site, frequency_months=6, next_due_date=day("2030-01-10"))
    cancel(schedule(program)[0])
    assert schedule(program)[0].due_date == day("2030-01-10")


def test_a_program_without_frequency_is_scheduled_once(site):
    program = make_program(site, next_due_date=day("2030-01-10"))
    assert len(schedule(program, 5)) == 1
    with pytest.raises(ValidationError) as caught:
        schedule(program)
    assert code_of(caught) == "InvalidTransition"


@pytest.mark.parametrize("count", [0, -1, actions.MOST_AT_ONCE + 1])
def test_so_many_audits_at_once_are_refused(site, count):
    program = make_program(site, frequency_months=1, next_due_date=day("2030-01-10"))
    with pytest.raises(ValidationError):
        schedule(program, count)
    assert not AuditRecord.objects.exists()


def test_a_program_without_a_due_date_says_so(site):
    with pytest.raises(ValidationError) as caught:
        schedule(make_program(site, frequency_months=1))
    assert "next_due_date" in caught.value.error_dict


def test_an_archived_program_and_one_of_another_site_are_not_scheduled(site, other_site):
    program = make_program(site, frequency_months=1, next_due_date=day("2030-01-10"))
    with pytest.raises(RecordNotFoundError):
        actions.schedule_next_audit_records(other_site.pk, program.pk, author=make.SYSTEM)
    actions.archive_audit_program(site.pk, program.pk, archived=True, author=make.SYSTEM, reason="Over")
    with pytest.raises(ValidationError) as caught:
        schedule(program)
    assert code_of(caught) == "InvalidTransition"


def test_what_was_archived_since_is_not_taken_over(site):
    stays, leaves = make.make_employee(site), make.make_employee(site)
    current, archived = make_checklist(site, "Kept"), make_checklist(site, "Gone")
    program = make_program(
        site, auditors=[stays, leaves], checklists=[current, archived], next_due_date=day("2030-01-10")
    )
    type(leaves).objects.filter(pk=leaves.pk).update(is_archived=True)
    make.archive(archived)
    record = schedule(program)[0]
    assert [list(record.auditors.all()), list(record.checklists.all())] == [[stays], [current]]


def due_of(program):
    program.refresh_from_db()
    return program.next_due_date


def test_an_extra_audit_leaves_the_program_due_when_it_was(site):
    program = make_program(site, frequency_months=6, next_due_date=day("2099-06-01"))
    make_audit(program, date=day("2099-12-01"))
    early = [make_audit(program, date=day("2099-03-01")) for _ in range(2)]
    assert (due_of(program), early[0].due_date) == (day("2099-06-01"), day("2099-03-01"))
    workflow.update_audit_record(site.pk, early[0].pk, {"due_date": day("2099-02-01")}, author=make.SYSTEM)
    assert due_of(program) == day("2099-06-01")
    cancel(early[0])
    assert due_of(program) == day("2099-06-01")
    complete(submit(find(start(early[1]), None)))
    assert due_of(program) == day("2099-06-01")
    [regular] = schedule(program)
    assert regular.due_date == day("2099-06-01")
    workflow.update_audit_record(site.pk, regular.pk, {"due_date": day("2099-05-15")}, author=make.SYSTEM)
    assert due_of(program) == day("2099-05-15")
    complete(submit(find(start(regular), None)))
    assert due_of(program) == day("2099-11-15")
    assert Change.objects.filter(record_id=program.pk).count() == 3


def test_an_extra_audit_after_the_due_date_leaves_the_regular_one_to_be_planned(site):
    program = make_program(site, frequency_months=6, next_due_date=day("2099-06-01"))
    extra = make_audit(program, date=day("2099-06-01"), is_extra=True)
    [regular] = schedule(program)
    assert (extra.is_extra, regular.is_extra, regular.due_date) == (True, False, day("2099-06-01"))
    workflow.update_audit_record(site.pk, extra.pk, {"due_date": day("2099-07-15")}, author=make.SYSTEM)
    assert due_of(program) == day("2099-06-01")
    complete(submit(find(start(regular), None)))
    assert due_of(program) == day("2099-12-01")
    complete(submit(find(start(extra), None)))
    assert due_of(program) == day("2099-12-01")
    assert [one.due_date for one in schedule(program)] == [day("2099-12-01")]


def test_an_audit_that_turns_out_to_be_an_extra_one_is_marked_and_the_regular_one_is_planned(site):
    program = make_program(site, frequency_months=6, next_due_date=day("2099-06-01"))
    [audit] = schedule(program)
    workflow.update_audit_record(site.pk, audit.pk, {"is_extra": True}, author=make.SYSTEM)
    assert Change.objects.latest("at").fields == [{"field": "is_extra", "old": False, "new": True}]
    assert [one.due_date for one in schedule(program)] == [due_of(program)] == [day("2099-06-01")]


def test_the_first_regular_audit_of_a_program_without_a_due_date_makes_it_due(site):
    program = make_program(site, frequency_months=6)
    make_audit(program, date=day("2099-02-01"), is_extra=True)
    assert due_of(program) is None
    cancel(make_audit(program, date=day("2099-03-01")))
    assert due_of(program) == day("2099-03-01")


def test_an_audit_without_any_date_is_refused(site):
    with pytest.raises(ValidationError) as caught:
        make_audit(make_program(site), date=None)
    assert "date" in caught.value.error_dict


def test_completing_moves_the_due_date_on_by_the_frequency_past_today(site):
    today = make_completed(make_program(site)).completed_date
    recent = today - datetime.timedelta(days=20)
    program = make_program(site, frequency_months=3, next_due_date=recent)
    complete(submit(find(start(schedule(program)[0]), None)))
    program.refresh_from_db()
    assert program.next_due_date == months_later(recent, 3, UTC)
    long_ago = months_later(recent, -13, UTC)
    overdue_program = make_program(site, frequency_months=3, next_due_date=long_ago)
    complete(submit(find(start(schedule(overdue_program)[0]), None)))
    overdue_program.refresh_from_db()
    assert overdue_program.next_due_date == months_later(long_ago, 15, UTC)
    change = Change.objects.filter(record_id=overdue_program.pk).latest("number")
    assert (change.operation, [entry["field"] for entry in change.fields]) == ("CompleteAudit", ["next_due_date"])


def test_completing_before_the_date_counts_from_the_date(site):
    program = make_program(site, frequency_months=12, next_due_date=day("2099-05-31"))
    complete(submit(find(start(schedule(program)[0]), None)))
    program.refresh_from_db()
    assert program.next_due_date == day("2100-05-31")


def test_completing_with_another_audit_open_makes_that_the_next(site):
    program = make_program(site, frequency_months=1, next_due_date=day("2099-01-31"))
    first, _second = schedule(program, 2)
    complete(submit(find(start(first), None)))
    program.refresh_from_db()
    assert program.next_due_date == day("2099-02-28")


def test_two_audits_that_stand_for_one_date_leave_no_later_date_without_an_audit(site):
    program = make_program(site, frequency_months=3, next_due_date=day("2099-01-31"))
    first = schedule(program)[0]
    second = make_audit(program, date=day("2099-03-10"))
    assert [one.due_date for one in schedule(program)] == [day("2099-04-30")]
    complete(submit(find(start(first), None)))
    assert due_of(program) == day("2099-03-10")
    complete(submit(find(start(second), None)))
    assert due_of(program) == day("2099-04-30")
    alone = make_program(site, frequency_months=3, next_due_date=day("2099-01-31"))
    for due in ("2099-01-31", "2099-03-10"):
        complete(submit(find(start(make_audit(alone, date=day(due))), None)))
    assert [due_of(alone)] == [one.due_date for one in schedule(alone)] == [day("2099-04-30")]


def test_completing_without_a_frequency_leaves_nothing_due(site):
    program = make_program(site, next_due_date=day("2099-01-31"))
    complete(submit(find(start(schedule(program)[0]), None)))
    program.refresh_from_db()
    assert program.next_due_date is None


def test_a_due_date_that_moves_takes_the_programs_with_it(site):
    program = make_program(site, frequency_months=1, next_due_date=day("2030-01-31"))
    record = schedule(program)[0]
    workflow.update_audit_record(site.pk, record.pk, {"due_date": day("2030-02-10")}, author=make.SYSTEM)
    program.refresh_from_db()
    assert program.next_due_date == day("2030-02-10")
    with pytest.raises(ValidationError):
        workflow.update_audit_record(site.pk, record.pk, {"due_date": None}, author=make.SYSTEM)


@pytest.mark.django_db(transaction=True)
def test_simultaneous_scheduling_never_plans_one_date_twice():
    site = make.make_site()
    program = make_program(site, frequency_months=1, next_due_date=day("2030-01-31"))
    make.at_once(*[lambda: schedule(program, 2)] * 4)
    records = list(AuditRecord.objects.order_by("site_sequence_id"))
    assert [record.site_sequence_id for record in records] == list(range(1, 9))
    assert len({record.due_date for record in records}) == 8


@pytest.mark.django_db(transaction=True)
def test_an_audit_is_completed_once_and_its_program_never_archived_beneath_it():
    site = make.make_site()
    program = make_program(site, frequency_months=1, next_due_date=day("2099-01-31"))
    record = submit(find(start(schedule(program)[0]), None))
    results = make.at_once(*[lambda: complete(record)] * 3)
    assert sorted(type(result).__name__ for result in results) == ["AuditRecord", "ValidationError", "ValidationError"]
    assert AuditProgram.objects.get().next_due_date == day("2099-02-28")

    def archive():
        return actions.archive_audit_program(site.pk, program.pk, archived=True, author=make.SYSTEM, reason="Over")

    scheduling_result, archiving_result = make.at_once(lambda: schedule(program), archive)
    assert isinstance(scheduling_result, ValidationError) != isinstance(archiving_result, ValidationError)
