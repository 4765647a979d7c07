"""GetAuditProgramRecordList: the audits of one program."""

import datetime

from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.accounts.models import DefaultRole
from records.audits import workflow
from tests import make
from tests.make.audits import (
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


def day(number):
    return datetime.datetime(2030, 1, number, tzinfo=datetime.UTC)


def test_a_completed_audit_reads_whole(api):
    site = api.key.site
    auditor, checklist, rating = make.make_employee(site), make_checklist(site), make_rating(site)
    program = make_program(site, auditors=[auditor], auditees=[auditor], checklists=[checklist], rating=rating)
    record = start(make_audit(program, date=day(1), due_date=day(9), notes="Night shift"), start_date=day(2))
    rows = [
        {"question": "Clean?", "rating_response": response(rating, "Yes")},
        {
            "question": "Whole?",
            "rating_response": response(rating, "Partly"),
            "comment": "Chipped",
            "nonconformance": make_nonconformance(site),
        },
        {"question": "Fenced?", "rating_response": response(rating, "Yes")},
    ]
    values = {"finish_date": day(3)}
    workflow.save_findings(site.pk, record.pk, rows, values=values, author=make.SYSTEM)
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    complete(submit(record), make.author_of(manager))
    answer = api.get(f"/audit/GetAuditProgramRecordList/{str(program.pk).upper()}")
    assert answer.status_code == 200, answer.content
    assert answer["X-Total-Count"] == "1"
    (shape,) = answer.json()
    findings = list(record.findings.all())
    assert shape == {
        "Id": str(record.pk),
        "SiteSequenceId": 1,
        "AuditProgramId": str(program.pk),
        "RecordStatus": "Completed",
        "Date": "2030-01-01T00:00:00.000Z",
        "StartDate": "2030-01-02T00:00:00.000Z",
        "FinishDate": "2030-01-03T00:00:00.000Z",
        "DueDate": "2030-01-09T00:00:00.000Z",
        "Auditor": [{"Id": str(auditor.pk)}],
        "Auditee": [{"Id": str(auditor.pk)}],
        "Checklist": [{"Id": str(checklist.pk)}],
        "RatingId": str(rating.pk),
        "Score": 83.33,
        "Rating": "B",
        "Result": "Pass",
        "Finding": [
            {
                "Id": str(row.pk),
                "Question": row.question,
                "RatingResponseId": str(row.rating_response_id),
                "Comment": row.comment,
                "NonconformanceId": row.nonconformance_id and str(row.nonconformance_id),
            }
            for row in findings
        ],
        "Notes": "Night shift",
        "CompletedDate": shape["CompletedDate"],
        "CompletedBy": str(manager.pk),
        "Created": shape["Created"],
        "CreatedBy": None,
        "LastModified": shape["LastModified"],
        "LastModifiedBy": str(manager.pk),
    }
    assert shape["Created"] <= shape["CompletedDate"] <= shape["LastModified"]
    assert [row["Question"] for row in shape["Finding"]] == ["Clean?", "Whole?", "Fenced?"]


def test_a_scheduled_audit_reads_with_every_field(api):
    program = make_program(api.key.site)
    make_audit(program, date=day(1))
    (shape,) = api.get(f"/audit/GetAuditProgramRecordList/{program.pk}").json()
    assert {name for name, value in shape.items() if value is None} == {
        "StartDate",
        "FinishDate",
        "RatingId",
        "Score",
        "CompletedDate",
        "CompletedBy",
        "CreatedBy",
        "LastModifiedBy",
    }
    assert (shape["Finding"], shape["Rating"], shape["Result"], shape["Notes"]) == ([], "", "", "")


def test_only_the_programs_own_audits_are_listed_and_counted(api):
    one, other = make_program(api.key.site, name="One"), make_program(api.key.site, name="Other")
    mine = [make_audit(one, date=day(number)) for number in (1, 2, 3)]
    make_audit(other, date=day(1))
    answer = api.get(f"/audit/GetAuditProgramRecordList/{one.pk}", {"limit": 2, "sort": "Date", "order": "desc"})
    assert answer["X-Total-Count"] == "3"
    assert [row["Id"] for row in answer.json()] == [str(mine[2].pk), str(mine[1].pk)]
    link = answer["Link"].partition(">")[0].removeprefix("<http://127.0.0.1:8000")
    assert link.startswith(f"/audit/GetAuditProgramRecordList/{one.pk}?")
    rest = api.get(link)
    assert [row["Id"] for row in rest.json()] == [str(mine[0].pk)]
    assert "Link" not in rest.headers


def test_audits_are_filtered_by_status_and_date(api):
    program = make_program(api.key.site)
    for number in (1, 2, 3):
        make_audit(program, date=day(number))
    make_completed(program, date=day(4))

    def days(**query):
        answer = api.get(f"/audit/GetAuditProgramRecordList/{program.pk}", query)
        assert answer.status_code == 200, answer.content
        return [int(row["Date"][8:10]) for row in answer.json()]

    assert days() == [1, 2, 3, 4]
    assert days(recordStatus="completed") == [4]
    assert days(recordStatus="Scheduled,Completed", dateFrom="2030-01-03") == [3, 4]
    assert days(dateFrom="2030-01-02T00:00:00Z", dateTo="2030-01-03T00:00:00.000Z") == [2, 3]
    assert days(isArchived="true") == []
    for query in ("recordStatus=Done", "dateFrom=yesterday", "dateTo=2030-01-01T00:00:00", "datefron=2030-01-01"):
        assert api.get(f"/audit/GetAuditProgramRecordList/{program.pk}?{query}").status_code == 400


def test_an_archived_audit_is_listed_among_the_archived(api):
    program = make_program(api.key.site)
    record = make_completed(program)
    workflow.archive_audit_record(program.site_id, record.pk, archived=True, author=make.SYSTEM, reason="Old")
    assert api.get(f"/audit/GetAuditProgramRecordList/{program.pk}").json() == []
    answer = api.get(f"/audit/GetAuditProgramRecordList/{program.pk}?isArchived=true")
    assert [row["Id"] for row in answer.json()] == [str(record.pk)]
    assert answer["X-Total-Count"] == "1"


def test_a_program_that_is_none_of_the_sites_is_not_found(api, api_of, other_site):
    program = make_program(other_site)
    make_audit(program)
    unknown = make.make_site().pk
    for key in (program.pk, unknown):
        answer = api.get(f"/audit/GetAuditProgramRecordList/{key}")
        assert (answer.status_code, answer.json()["Error"]) == (404, "NotFound")
    assert api.get("/audit/GetAuditProgramRecordList/abc").json()["Error"] == "InvalidId"
    assert api.get("/audit/GetAuditProgramRecordList").status_code == 404
    assert len(api_of(DefaultRole.READER, other_site).get(f"/audit/GetAuditProgramRecordList/{program.pk}").json()) == 1


def test_the_list_costs_the_same_for_three_audits_and_for_thirty(api):
    rating = make_rating(api.key.site)
    program = make_program(api.key.site, rating=rating)

    def cost():
        path = f"/audit/GetAuditProgramRecordList/{program.pk}"
        with CaptureQueriesContext(connection) as queries:
            assert api.get(path).status_code == 200
        return len(queries)

    for number in range(3):
        find(start(make_audit(program, date=day(number + 1))), response(rating, "Yes"), None)
    cost()
    few = cost()
    for number in range(27):
        find(start(make_audit(program, date=day(number + 1))), response(rating, "Yes"), None)
    assert cost() == few
