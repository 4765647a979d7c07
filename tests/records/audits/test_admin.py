"""The audit pages as quality staff work: program → schedule → start → fill findings → submit → complete."""

import datetime
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.audits.models import AuditProgram, AuditRecord
from records.history.models import Change
from records.history.trail import now
from records.reference.models import Checklist
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
    response,
    start,
    submit,
)
from tests.make.backoffice import address, browser, form_of, list_address, press


def step(client, record, name, **data):
    url = reverse(f"admin:{record._meta.app_label}_{record._meta.model_name}_step", args=(record.pk, name))
    return press(client, url, data)


def save(client, record, **changes):
    data = form_of(client.get(address(record)))
    return client.post(address(record), {**data, "change_reason": "Seen", **changes})


def ok(answer):
    assert answer.status_code == 302, [str(answer.context["errors"]), answer.content.decode()[-3000:]]


def days(number):
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    return today + datetime.timedelta(days=number)


def test_an_audit_goes_its_whole_way_through_the_pages(site):
    client = browser(site)
    rating, auditor = make_rating(site), make.make_employee(site)
    checklist = make_checklist(site, questions=("Are hands washed?", "Is hair covered?"))
    ok(
        client.post(
            reverse("admin:audits_auditprogram_add"),
            {
                **form_of(client.get(reverse("admin:audits_auditprogram_add"))),
                "name": "GMP audit",
                "type": "Internal Audit",
                "risk": "High",
                "frequency_months": "3",
                "next_due_date": days(-10).date().isoformat(),
                "auditors": [str(auditor.pk)],
                "checklists": [str(checklist.pk)],
                "rating": str(rating.pk),
            },
        )
    )
    program = AuditProgram.objects.get()
    assert (program.risk, list(program.auditors.all()), program.next_due_date) == ("High", [auditor], days(-10))
    ok(step(client, program, "schedule-next", count="1"))
    record = AuditRecord.objects.get()
    assert "Overdue" in client.get(list_address(AuditRecord)).content.decode()
    assert "Overdue" in client.get(address(program)).content.decode()
    ok(step(client, record, "start", start_date=days(-1).date().isoformat()))
    page = client.get(address(record))
    data = form_of(page)
    assert [data[f"findings-{idx}-question"] for idx in (0, 1)] == [["Are hands washed?"], ["Is hair covered?"]]
    ok(
        save(
            client,
            record,
            **{
                "findings-0-rating_response": str(response(rating, "Yes").pk),
                "findings-1-rating_response": str(response(rating, "Partly").pk),
                "findings-1-comment": "One net missing\r\nin packing",
                "notes": "Day shift",
            },
        )
    )
    record.refresh_from_db()
    assert (record.score, record.rating, record.notes) == (None, "", "Day shift")
    assert record.findings.all()[1].comment == "One net missing\nin packing"
    assert Change.objects.filter(record_id=record.pk).latest("number").channel == "Back-office"
    ok(step(client, record, "submit"))
    ok(step(client, record, "complete"))
    record.refresh_from_db()
    program.refresh_from_db()
    assert (record.record_status, record.completed_by_id is not None) == ("Completed", True)
    assert (record.score, record.rating) == (Decimal("75.00"), "B")
    assert program.next_due_date > days(0)
    assert 'class="tag overdue"' not in client.get(list_address(AuditRecord)).content.decode()


def test_saving_an_untouched_audit_changes_nothing(site):
    rating = make_rating(site)
    record = find(start(make_audit(make_program(site, rating=rating))), response(rating, "Yes"), None)
    client = browser(site)
    before = AuditRecord.objects.values().get()
    ok(save(client, record, change_reason=""))
    assert AuditRecord.objects.values().get() == before
    assert Change.objects.filter(record_id=record.pk).count() == 3


def test_a_response_archived_meanwhile_stays_where_it_was_given(site):
    rating = make_rating(site)
    record = find(start(make_audit(make_program(site, rating=rating))), response(rating, "Yes"), None)
    rating.responses.filter(name="Yes").update(is_archived=True)
    client = browser(site)
    ok(save(client, record, **{"findings-0-comment": "Seen twice"}))
    assert record.findings.all()[0].rating_response.name == "Yes"
    answer = save(client, record, **{"findings-1-rating_response": str(response(rating, "Yes").pk)})
    assert answer.status_code == 200
    assert record.findings.all()[1].rating_response is None


def test_a_response_of_another_scale_is_no_choice(site):
    record = find(start(make_audit(make_program(site, rating=make_rating(site)))), None)
    other = response(make_rating(site, name="Another"), "Yes")
    assert save(browser(site), record, **{"findings-0-rating_response": str(other.pk)}).status_code == 200
    assert record.findings.get().rating_response is None


def test_rows_are_added_and_taken_out_on_the_page(site):
    record = find(start(make_audit(make_program(site))), None, None)
    changes = {
        "findings-0-DELETE": "on",
        "findings-TOTAL_FORMS": "3",
        "findings-2-question": "Is the floor dry?",
    }
    ok(save(browser(site), record, **changes))
    assert [row.question for row in record.findings.all()] == ["Question 2", "Is the floor dry?"]


def test_a_fault_is_shown_at_its_row_with_the_input_kept(site):
    record = start(make_audit(make_program(site, rating=make_rating(site), checklists=[make_checklist(site)])))
    client = browser(site)
    answer = step(client, record, "submit")
    assert answer.status_code == 200
    assert "has no response yet" in answer.content.decode()
    answer = save(client, record, **{"findings-0-question": "  ", "findings-0-comment": "Kept"})
    assert answer.status_code == 200
    assert "Kept" in answer.content.decode()


@pytest.mark.parametrize("name", ["start", "submit", "complete", "cancel"])
def test_a_step_that_does_not_apply_is_told_and_changes_nothing(site, name):
    record = make_completed(make_program(site))
    client = browser(site)
    before = AuditRecord.objects.values().get()
    answer = client.get(reverse("admin:audits_auditrecord_step", args=(record.pk, name)), follow=True)
    assert "is no longer possible" in answer.content.decode()
    step(client, record, name, change_reason="Why")
    assert AuditRecord.objects.values().get() == before


def test_an_audit_planned_for_a_day_is_due_then_unless_told_otherwise(site):
    client, program = browser(site), make_program(site)
    ok(step(client, program, "plan", date=days(5).date().isoformat()))
    ok(step(client, program, "plan", date=days(5).date().isoformat(), due_date=days(9).date().isoformat()))
    assert [record.due_date for record in AuditRecord.objects.order_by("due_date")] == [days(5), days(9)]
    assert step(client, program, "plan").status_code == 200


def test_an_audit_is_planned_as_an_extra_one_unless_its_mark_is_removed(site):
    client, program = browser(site), make_program(site, next_due_date=days(-3))
    url = reverse("admin:audits_auditprogram_step", args=(program.pk, "plan"))
    data = {**form_of(client.get(url)), "date": days(5).date().isoformat()}
    assert data["is_extra"] == ["on"]
    ok(client.post(url, data))
    extra = AuditRecord.objects.get()
    assert extra.is_extra
    audits = client.get(list_address(AuditRecord) + "?is_extra__exact=1")
    assert [row.pk for row in audits.context["cl"].result_list] == [extra.pk]
    assert f"Extra audit {extra.site_sequence_id}" in client.get(address(program, "read")).text
    first = make_program(site, name="Ordered by the customer")
    url = reverse("admin:audits_auditprogram_step", args=(first.pk, "plan"))
    assert "is_extra" not in form_of(client.get(url))


def test_a_closed_audit_can_only_be_filed(site):
    record = make_completed(make_program(site), notes="As found")
    folder = make.make_folder(site, AuditRecord.ENTITY)
    client = browser(site)
    data = form_of(client.get(address(record)))
    assert not {"notes", "due_date", "findings-0-question"} & data.keys()
    ok(save(client, record, entity_folder=str(folder.pk)))
    # The form was open when somebody closed the audit: it is shown again, and nothing is stored.
    assert save(client, record, notes="Late", entity_folder="").status_code == 200
    record.refresh_from_db()
    assert (record.notes, record.entity_folder_id) == ("As found", folder.pk)


def test_the_due_filters_find_what_is_overdue_and_what_comes(site):
    program = make_program(site, next_due_date=days(-3))
    overdue, soon, _later = (make_audit(program, date=days(number)) for number in (-2, 10, 60))
    today = make_audit(program, date=days(1))
    cancel(make_audit(program, date=days(-2)))
    complete(submit(find(start(make_audit(program, date=days(-2))), None)))
    client = browser(site)

    def numbers(query):
        return {row.site_sequence_id for row in client.get(list_address(AuditRecord) + query).context["cl"].result_list}

    assert numbers("?due=overdue") == {overdue.site_sequence_id}
    assert numbers("?due=soon") == {soon.site_sequence_id, today.site_sequence_id}
    assert len(numbers("")) == 6
    assert len(numbers(f"?audit_program__id__exact={program.pk}")) == 6
    programs = client.get(list_address(AuditProgram) + "?due=overdue").context["cl"].result_list
    assert [one.pk for one in programs] == [program.pk]


def test_readers_see_audits_and_change_nothing(site):
    program = make_program(site, next_due_date=days(3))
    record = find(start(make_audit(program)), None)
    client = browser(site, DefaultRole.READER)
    for page in (address(program), address(record), list_address(AuditProgram), list_address(AuditRecord)):
        assert client.get(page).status_code == 200
    assert step(client, record, "submit").status_code == 403
    assert step(client, program, "schedule-next", count="1").status_code == 403
    assert client.post(address(record), {"notes": "x"}).status_code == 403


def test_pages_of_another_site_do_not_exist(site, other_site):
    program = make_program(other_site)
    record = make_audit(program)
    client = browser(site)
    for one in (program, record):
        assert client.get(address(one)).status_code == 404
    assert step(client, record, "start").status_code == 404
    assert client.get(reverse("admin:audits_auditrecord_add")).status_code == 403


def test_the_list_and_the_page_cost_the_same_for_few_rows_and_for_many(site):
    rating = make_rating(site)
    program, client = make_program(site, rating=rating), browser(site)

    def cost(page):
        client.get(page)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(page).status_code == 200
        return len(queries)

    record = start(make_audit(program))
    find(record, *[response(rating, "Yes")] * 2)
    few = [cost(list_address(AuditRecord)), cost(address(record)), cost(address(program))]
    for _ in range(5):
        make_audit(program)
    find(record, *[response(rating, "Yes")] * 12)
    assert [cost(list_address(AuditRecord)), cost(address(record)), cost(address(program))] == few


def test_a_checklists_questions_are_written_on_its_page(site):
    checklist = make_checklist(site, questions=("One?",))
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    ok(save(client, checklist, **{"questions-TOTAL_FORMS": "2", "questions-1-question": "Two?"}))
    assert [row.question for row in Checklist.objects.get().questions.all()] == ["One?", "Two?"]
