"""A body's faults are named together, whichever check finds them: reading, references, the model or the action."""

from typing import Any

import pytest

from records.attachments.models import Attachment
from records.employees.models import Employee
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action
from tests.make.documents import document_body, make_document, make_signer
from tests.make.items import make_item

pytestmark = pytest.mark.django_db

NO_ID = "a3c1b2d4-0000-4000-8000-000000000000"
BIDI_NAME = "invoice\u202efdp.exe"
ACTION = {"Name": "Train line 2", "DueDate": "2031-05-01"}
FILE = {"FileName": "a.txt", "FileType": "text/plain", "FileContent": "TGFyZGVy"}


def codes(answer: Any) -> list[tuple[str, str]]:
    """Return field and code of each fault of a refused body."""
    assert answer.status_code == 400, answer.content
    return sorted((fault["Field"], fault["Code"]) for fault in answer.json()["Fields"])


@pytest.mark.parametrize("update", [False, True])
def test_an_action_names_the_record_with_the_other_faults(site: Site, api: Any, *, update: bool) -> None:
    action = make_action(site)

    def faults(**changes: Any) -> list[tuple[str, str]]:
        body = {**ACTION, "OwnerId": str(action.owner_id), **changes}
        return codes(
            api.put(f"/action/UpdateAction/{action.pk}", body) if update else api.post("/action/AddAction", body)
        )

    record = ("RecordId", "InvalidReference")
    assert faults(Name="", RecordId=NO_ID) == [("Name", "RequiredField"), record]
    assert faults(OwnerId=NO_ID, CauseId=NO_ID, RecordId=NO_ID, Effective=True) == [
        ("CauseId", "InvalidReference"),
        ("Effective", "InvalidValue"),
        ("OwnerId", "InvalidReference"),
        record,
    ]
    about_item = {"RecordId": str(make_item(site).pk), "FindingId": NO_ID}
    assert faults(Kind="None", **about_item) == [("FindingId", "InvalidReference"), ("Kind", "InvalidValue")]
    assert faults(RecordId="no Id", FindingId=NO_ID) == [record]


def test_a_stored_record_of_an_action_is_not_judged_again(site: Site, api: Any) -> None:
    item = make_item(site)
    action = make_action(site, record_id=item.pk)
    type(item).objects.filter(pk=item.pk).update(is_archived=True)
    body = api.get(f"/action/GetAction/{action.pk}").json()
    assert codes(api.put(f"/action/UpdateAction/{action.pk}", {**body, "Name": ""})) == [("Name", "RequiredField")]


def test_an_attachment_names_the_record_with_the_other_faults(site: Site, api: Any) -> None:
    def faults(**changes: Any) -> list[tuple[str, str]]:
        return codes(api.post("/attachment/AddAttachment", {**FILE, **changes}))

    record = ("RecordId", "InvalidReference")
    assert faults(FileName="", RecordId=NO_ID) == [("FileName", "RequiredField"), record]
    assert faults(FileName=BIDI_NAME, RecordId=NO_ID) == [("FileName", "InvalidValue"), record]
    assert faults(FileName=BIDI_NAME, FindingId=NO_ID) == [("FileName", "InvalidValue"), ("RecordId", "RequiredField")]
    assert not Attachment.objects.exists()


@pytest.mark.parametrize("update", [False, True])
def test_a_document_names_approvers_and_the_file_with_the_other_faults(site: Site, api: Any, *, update: bool) -> None:
    approver, document = make_signer(site), make_document(site)
    type(site).objects.filter(pk=site.pk).update(demands_approver=True)

    def faults(**changes: Any) -> list[tuple[str, str]]:
        body = document_body(**changes)
        path = f"/document/UpdateDocument/{document.pk}"
        return codes(api.put(path, body) if update else api.post("/document/AddDocument", body))

    nobody = ("UserToApprove", "RequiredField")
    assert faults(Name="", UserToApprove=[]) == [("Name", "RequiredField"), nobody]
    assert faults(FileName=BIDI_NAME) == [("FileName", "InvalidValue"), nobody]
    approvers = [{"Id": str(approver.pk)}]
    assert faults(Name="", UserToApprove=approvers) == [("Name", "RequiredField")]
    for unknown in (NO_ID, "no Id"):
        [(_, _), (place, _)] = faults(Name="", UserToApprove=[*approvers, {"Id": unknown}])
        assert place == "UserToApprove[1].Id"


def test_an_employee_names_address_and_superior_with_the_other_faults(site: Site, api: Any) -> None:
    boss = make.make_employee(site)
    report = make.make_employee(site, reporting_to=boss)
    address = "p\u0430y@example.com"
    body = make.employee_body(FirstName="", ReportingToId=str(report.pk), EmailAddress=address)
    assert codes(api.put(f"/employee/UpdateEmployee/{boss.pk}", body)) == [
        ("EmailAddress", "InvalidValue"),
        ("FirstName", "RequiredField"),
        ("ReportingToId", "InvalidReference"),
    ]
    Employee.objects.filter(pk=report.pk).update(is_archived=True)
    assert codes(api.post("/employee/AddEmployee", body)) == [
        ("EmailAddress", "InvalidValue"),
        ("FirstName", "RequiredField"),
        ("ReportingToId", "InvalidReference"),
    ]
