"""The workflow of an audit: every step, every wrong step, and what each leaves behind."""

import datetime

import pytest
from django.core.exceptions import ValidationError

from records.accounts.models import DefaultRole
from records.audits import actions, workflow
from records.audits.models import AuditProgram, AuditRecord, RecordStatus
from records.history.models import Change
from records.history.trail import now
from records.sites.models import Entity
from records.sites.sequences import totals
from records.sites.writing import RecordNotFoundError
from tests import make
from tests.make.audits import (
    cancel,
    complete,
    find,
    make_audit,
    make_checklist,
    make_completed,
    make_nonconformance,
    make_program,
    make_rating,
    response,
    start,
    submit,
)


def code_of(caught):
    error = caught.value
    return (next(iter(error.error_dict.values())) if hasattr(error, "error_dict") else error.error_list)[0].code


def last_change(record):
    return Change.objects.filter(record_id=record.pk).latest("number")


def archive(record, archived=True, reason="Kept elsewhere"):
    return workflow.archive_audit_record(
        record.site_id, record.pk, archived=archived, author=make.SYSTEM, reason=reason
    )


def test_starting_lays_out_a_finding_for_each_question(site):
    questions = ("Are hands washed?", "Is hair covered?")
    gmp, glass = make_checklist(site, "GMP walk", questions), make_checklist(site, "Glass")
    record = start(make_audit(make_program(site, checklists=[glass, gmp])))
    assert [finding.question for finding in record.findings.all()] == [*questions, "Glass"]
    assert record.record_status == "In Progress"
    assert abs(record.start_date - now()) < datetime.timedelta(minutes=1)
    change = last_change(record)
    assert change.operation == "StartAudit"
    assert [entry["field"] for entry in change.fields].count("findings") == 3


def test_an_audit_can_be_said_to_have_started_earlier(site):
    earlier = now() - datetime.timedelta(days=2)
    assert start(make_audit(make_program(site)), start_date=earlier).start_date == earlier


def test_findings_keep_their_ids_and_order_and_every_change_of_them_is_kept(site):
    rating, foreign_body = make_rating(site), make_nonconformance(site)
    record = find(start(make_audit(make_program(site, rating=rating))), response(rating, "Yes"), None)
    first, second = record.findings.all()
    rows = [
        {
            "id": second.pk,
            "question": "Second",
            "rating_response": response(rating, "No"),
            "comment": "Loose bolt\nfound",
        },
        {"id": first.pk, "question": first.question, "rating_response": first.rating_response},
        {"question": "Third", "nonconformance": foreign_body},
    ]
    workflow.save_findings(site.pk, record.pk, rows, values={"notes": "Nearly done"}, author=make.SYSTEM)
    findings = list(AuditRecord.objects.get().findings.all())
    assert [row.pk for row in findings][:2] == [second.pk, first.pk]
    assert [(row.question, row.comment) for row in findings] == [
        ("Second", "Loose bolt\nfound"),
        ("Question 1", ""),
        ("Third", ""),
    ]
    change = last_change(record)
    fields = {entry["field"] for entry in change.fields}
    assert {"findings", "findings.question", "findings.rating_response", "findings.comment", "notes"} <= fields
    revision = AuditRecord.objects.get().revision
    again = [
        {"id": row.pk, "question": row.question, "comment": row.comment, "rating_response": row.rating_response}
        for row in findings
    ]
    workflow.save_findings(site.pk, record.pk, again, author=make.SYSTEM)
    assert AuditRecord.objects.get().revision == revision


@pytest.mark.parametrize("fault", ["response", "nonconformance", "id", "question"])
def test_findings_that_point_elsewhere_or_say_nothing_are_refused_whole(site, other_site, fault):
    rating = make_rating(site)
    record = find(start(make_audit(make_program(site, rating=rating))), response(rating, "Yes"))
    other = find(start(make_audit(make_program(site))), None)
    wrong = {
        "response": {"rating_response": response(make_rating(site, name="Another"), "Yes")},
        "nonconformance": {"nonconformance": make_nonconformance(other_site)},
        "id": {"id": other.findings.get().pk},
        "question": {"question": ""},
    }[fault]
    count = Change.objects.count()
    with pytest.raises(ValidationError) as caught:
        workflow.save_findings(
            site.pk, record.pk, [{"question": "Fine"}, {"question": "Wrong", **wrong}], author=make.SYSTEM
        )
    fault_found = caught.value.error_list[0]
    assert (fault_found.params["relation"], fault_found.params["idx"]) == ("findings", 1)
    assert [row.question for row in record.findings.all()] == ["Question 1"]
    assert Change.objects.count() == count


def test_submitting_needs_an_answer_to_every_question(site):
    rating = make_rating(site)
    record = start(make_audit(make_program(site, rating=rating)))
    with pytest.raises(ValidationError) as caught:
        submit(record)
    assert "findings" in caught.value.error_dict
    find(record, response(rating, "Not applicable"), None)
    with pytest.raises(ValidationError) as caught:
        submit(record)
    assert caught.value.error_list[0].params["idx"] == 1
    find(record, response(rating, "Not applicable"), response(rating, "Yes"))
    audit = submit(record)
    assert audit.record_status == "Awaiting Review"
    assert audit.finish_date >= audit.start_date


def test_completing_stamps_who_and_when(site):
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    record = submit(find(start(make_audit(make_program(site))), None))
    audit = complete(record, make.author_of(manager))
    assert (audit.record_status, audit.completed_by_id) == ("Completed", manager.pk)
    change = last_change(record)
    assert change.operation == "CompleteAudit"
    assert {entry["field"] for entry in change.fields} == {"record_status", "completed_date", "completed_by"}


def test_during_the_review_findings_change_with_a_reason_only(site):
    record = submit(find(start(make_audit(make_program(site))), None))
    with pytest.raises(ValidationError) as caught:
        find(record, None, None)
    assert code_of(caught) == "RequiredField"
    find(record, None, None, reason="One was forgotten")
    assert last_change(record).reason == "One was forgotten"


def test_during_the_review_no_answer_goes_missing(site):
    rating = make_rating(site)
    record = submit(find(start(make_audit(make_program(site, rating=rating))), response(rating, "Yes")))
    before = (record.score, record.rating, record.result)
    for answers in ((None,), (response(rating, "Yes"), None), ()):
        with pytest.raises(ValidationError) as caught:
            find(record, *answers, reason="Forgotten")
        assert code_of(caught) == "RequiredField"
    record.refresh_from_db()
    assert (record.score, record.rating, record.result) == before
    assert find(record, response(rating, "No"), reason="Wrong").result == "Fail"


def test_a_rating_that_is_chosen_during_the_review_gives_no_verdict_without_answers(site):
    record = submit(find(start(make_audit(make_program(site))), None))
    with pytest.raises(ValidationError) as caught:
        workflow.update_audit_record(record.site_id, record.pk, {"rating_scale": make_rating(site)}, author=make.SYSTEM)
    assert code_of(caught) == "RequiredField"


def audit_in_status(site, status):
    program = make_program(site)
    record = make_audit(program)
    if status == RecordStatus.CANCELLED:
        return cancel(record)
    for step in (start, lambda one: submit(find(one, None)), complete):
        if record.record_status == status:
            break
        record = step(record)
    return record


STEPS = {
    "start": (start, {"Scheduled"}),
    "find": (lambda record: find(record, None, reason="Why"), {"In Progress", "Awaiting Review"}),
    "submit": (submit, {"In Progress"}),
    "complete": (complete, {"Awaiting Review"}),
    "cancel": (cancel, {"Scheduled", "In Progress", "Awaiting Review"}),
    "update": (
        lambda record: workflow.update_audit_record(record.site_id, record.pk, {"notes": "More"}, author=make.SYSTEM),
        {"Scheduled", "In Progress", "Awaiting Review"},
    ),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("status", RecordStatus.values)
def test_each_step_is_taken_from_its_own_states_and_refused_from_all_others(site, step, status):
    record = audit_in_status(site, status)
    assert record.record_status == status
    take, statuses = STEPS[step]
    if step == "submit" and status in statuses:
        find(record, None)
    before, count = AuditRecord.objects.values().get(), Change.objects.count()
    change_count = Change.objects.filter(record_id=record.pk).count()
    if status in statuses:
        take(record)
        assert Change.objects.filter(record_id=record.pk).count() == change_count + 1
        return
    with pytest.raises(ValidationError) as caught:
        take(record)
    assert code_of(caught) == "InvalidTransition"
    assert (AuditRecord.objects.values().get(), Change.objects.count()) == (before, count)


def test_cancelling_asks_why_and_the_program_stays_due(site):
    program = make_program(site, frequency_months=1, next_due_date=now())
    record = make_audit(program, date=program.next_due_date)
    with pytest.raises(ValidationError) as caught:
        cancel(record, reason=" ")
    assert "reason" in caught.value.error_dict
    assert cancel(record).record_status == "Cancelled"
    assert last_change(record).reason == "Line stands still"
    assert AuditProgram.objects.get().next_due_date == program.next_due_date


def test_an_audit_does_not_finish_before_it_starts(site):
    record = start(make_audit(make_program(site)))
    values = {"finish_date": record.start_date - datetime.timedelta(minutes=1)}
    with pytest.raises(ValidationError, match="before the start date") as caught:
        workflow.update_audit_record(site.pk, record.pk, values, author=make.SYSTEM)
    assert list(caught.value.error_dict) == ["finish_date"]


def test_a_finished_audit_can_still_be_filed(site):
    record = make_completed(make_program(site))
    folder = make.make_folder(site, Entity.AUDIT_RECORD)
    workflow.update_audit_record(site.pk, record.pk, {"entity_folder": folder}, author=make.SYSTEM)
    assert AuditRecord.objects.get().entity_folder == folder


def test_a_rating_scale_that_findings_answer_to_stays(site):
    rating = make_rating(site)
    record = start(make_audit(make_program(site, rating=rating)))
    other = {"rating_scale": make_rating(site, name="Another")}
    workflow.update_audit_record(site.pk, record.pk, other, author=make.SYSTEM)
    workflow.update_audit_record(site.pk, record.pk, {"rating_scale": rating}, author=make.SYSTEM)
    find(record, response(rating, "Yes"))
    with pytest.raises(ValidationError) as caught:
        workflow.update_audit_record(site.pk, record.pk, other, author=make.SYSTEM)
    assert "rating_scale" in caught.value.error_dict


def test_an_audit_of_another_site_is_not_found(site, other_site):
    record = make_audit(make_program(site))
    with pytest.raises(RecordNotFoundError):
        workflow.start_audit_record(other_site.pk, record.pk, author=make.SYSTEM)
    with pytest.raises(RecordNotFoundError):
        workflow.archive_audit_record(other_site.pk, record.pk, archived=True, author=make.SYSTEM, reason="x")


def test_an_audit_is_archived_and_restored_with_a_reason_and_stands_still_meanwhile(site):
    record = make_audit(make_program(site))
    with pytest.raises(ValidationError):
        archive(record, reason="")
    assert archive(record).is_archived
    assert totals(site.pk, Entity.AUDIT_RECORD) == (1, 1)
    for step in (start, cancel):
        with pytest.raises(ValidationError) as caught:
            step(record)
        assert code_of(caught) == "InvalidTransition"
    assert not archive(record, archived=False).is_archived
    assert start(record).record_status == "In Progress"
    operations = Change.objects.filter(record_id=record.pk).order_by("number").values_list("operation", flat=True)
    assert list(operations) == ["ScheduleAudit", "ArchiveAudit", "RestoreAudit", "StartAudit"]


def test_a_program_with_open_audits_names_them_and_stays(site):
    program = make_program(site)
    make_completed(program)
    waiting = make_audit(program)

    def archive_program(archived=True):
        return actions.archive_audit_program(
            site.pk, program.pk, archived=archived, author=make.SYSTEM, reason="Line closed"
        )

    with pytest.raises(ValidationError) as caught:
        archive_program()
    assert code_of(caught) == "InUse"
    assert caught.value.messages == ["These audits of the program are still open: 2. Complete or cancel them first."]
    cancel(waiting)
    assert archive_program().is_archived
    assert not archive_program(archived=False).is_archived


def test_people_of_other_sites_audit_where_their_account_holds_a_role(site, other_site):
    holder = make.make_user(site=site, role=DefaultRole.READER)
    stranger = make.make_user(site=other_site, role=DefaultRole.READER)
    visitor = make.make_employee(other_site, id=holder.pk, user_id=holder.pk)
    foreign = make.make_employee(other_site, id=stranger.pk, user_id=stranger.pk)
    nobody = make.make_employee(other_site)
    program = make_program(site, auditors=[visitor])
    assert list(make_audit(program).auditors.all()) == [visitor]
    with pytest.raises(ValidationError) as caught:
        make_program(site, auditors=[visitor, foreign], auditees=[nobody])
    assert [(one.params["relation"], one.params["idx"], one.code) for one in caught.value.error_list] == [
        ("auditors", 1, "InvalidReference"),
        ("auditees", 0, "InvalidReference"),
    ]
    assert AuditProgram.objects.count() == 1


def test_lists_and_rating_of_a_program_are_the_sites_own(site, other_site):
    rating, other = make_rating(site), make_rating(site, name="Another")
    for wrong in (
        {"checklists": [make_checklist(other_site)]},
        {"rating": make_rating(other_site)},
        {"rating": rating, "rating_response": response(other, "Yes")},
        {"rating_response": response(rating, "Yes")},
        {"type": "Visit"},
        {"type": ""},
        {"risk": "Huge"},
        {"name": " "},
        {"frequency_months": 0},
    ):
        with pytest.raises(ValidationError):
            make_program(site, **wrong)
    assert not AuditProgram.objects.exists()
    make_program(site, rating=rating, rating_response=response(rating, "Yes"), risk="High")


def test_what_a_program_lists_already_stays_valid(site):
    leaver, stays = make.make_employee(site), make.make_employee(site)
    program = make_program(site, auditors=[leaver])
    type(leaver).objects.filter(pk=leaver.pk).update(is_archived=True)
    leaver.refresh_from_db()

    def change(people):
        return actions.update_audit_program(site.pk, program.pk, {"auditors": people}, author=make.SYSTEM)

    change([leaver, stays])
    entry = last_change(program).fields[0]
    assert (entry["field"], len(entry["old"]), len(entry["new"])) == ("auditors", 1, 2)
    change([stays])
    with pytest.raises(ValidationError):
        change([leaver])


def test_an_open_audit_does_not_come_back_to_a_program_that_is_archived(site):
    record = make_audit(make_program(site))
    options = {"author": make.SYSTEM, "reason": "Site closes"}
    archive(record)
    actions.archive_audit_program(site.pk, record.audit_program_id, archived=True, **options)
    with pytest.raises(ValidationError, match="The program is archived") as caught:
        archive(record, archived=False)
    assert code_of(caught) == "InvalidTransition"
    actions.archive_audit_program(site.pk, record.audit_program_id, archived=False, **options)
    assert not archive(record, archived=False).is_archived
