"""Import and export of people, jobs, audit programs and documents: round trips, private columns, references."""

import datetime
import uuid
from typing import Any

import pytest

from documents.models import Document
from records.accounts.models import DefaultRole
from records.audits.models import AuditProgram, AuditRecord
from records.employees.models import Employee, JobDescription
from records.history.models import Change
from records.reference.models import Checklist
from records.sites.models import Site
from tests import make
from tests.make.audits import make_audit, make_program
from tests.make.backoffice import browser
from tests.make.complaints import make_entry
from tests.make.documents import make_document
from tests.make.transfer import bring_in, check, confirm, export, faults, page, table, text_of

DAY = datetime.datetime(2024, 5, 17, tzinfo=datetime.UTC)
MOMENT = datetime.datetime(2024, 5, 17, 8, 30, 15, 123000, tzinfo=datetime.UTC)

pytestmark = pytest.mark.django_db


def people(site: Site) -> Any:
    """Make employees with values of each kind that a file could lose."""
    boss = make.make_employee(site, first_name="Ida", last_name="Moss", code="007")
    make.make_employee(
        site,
        code="00042",
        address=" 1 Mill Lane\nHillside \n",
        date_of_birth=DAY,
        commencement_date=MOMENT,
        reporting_to=boss,
        entity_folder=make.make_folder(site),
        education_training=[{"title": "Hygiene", "year": "2019", "education_result": make.education_result()}],
        employment_history=[{"company": "Mill; Co", "start_date": DAY}, {"company": 'The "Mill"'}],
    )
    return Employee


def jobs(site: Site) -> Any:
    """Make job descriptions that point at each other and at people."""
    first = make.make_job_description(site, name="Baker", employees=[make.make_employee(site, last_name="A;B")])
    make.make_job_description(site, name="Line lead", reports_to=first, review_date=DAY)
    return JobDescription


def programs(site: Site) -> Any:
    """Make audit programs with people and checklists."""
    twins = [make.make_employee(site, first_name="Kim", last_name="Lee") for _ in range(2)]
    lists = [make_entry(Checklist, site, name) for name in ("Hygiene", "Glass; plastic")]
    make_program(site, auditors=twins, checklists=lists, next_due_date=DAY, frequency_months=12)
    return AuditProgram


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("fill", [people, jobs, programs])
def test_an_exported_file_imported_again_changes_nothing(site: Site, fill: Any, kind: str) -> None:
    model = fill(site)
    client = browser(site)
    before = Change.objects.count()
    report = check(client, model, export(client, model, kind), f"file.{kind}")
    assert report.status_code == 200
    assert "There is nothing to import" in text_of(report), faults(report)
    assert report.context["unchanged"] == model.objects.filter(site=site).count()
    assert Change.objects.count() == before


def test_private_columns_are_neither_exported_nor_overwritten_without_the_permission(site: Site) -> None:
    employee = make.make_employee(site, phone="112", notes="secret")
    role = make.make_role(site, ["employees.view_employee", "employees.change_employee", "employees.add_employee"])
    user = make.make_user(site=site)
    make.account_actions.set_members(role, add=[user], author=make.SYSTEM)
    client = browser(site, user=user)
    row = table(export(client, Employee))[0]
    assert not {"Phone", "Notes", "DateOfBirth", "Address", "Mobile", "NationalityId"} & row.keys()
    data = [{"Id": str(employee.pk), "Position": "Baker", "Phone": "999", "Notes": ""}]
    report = check(client, Employee, data)
    assert "Not imported: Phone, Notes." in text_of(report)
    assert confirm(client, Employee, report).status_code == 302
    after = Employee.objects.get(pk=employee.pk)
    assert (after.position, after.phone, after.notes) == ("Baker", "112", "secret")
    assert "Phone" in table(export(browser(site), Employee))[0]


def test_people_are_named_in_full_or_by_code_in_any_case(site: Site) -> None:
    boss = make.make_employee(site, first_name="Ida", last_name="Moss", code="B7")
    client = browser(site)
    row = {"FirstName": "Bo", "LastName": "Li", "NatureOfEmploymentId": "employee", "Position": "Baker"}
    data = [
        {**row, "ReportingToId": "ida moss"},
        {**row, "ReportingToId": "b7"},
        {**row, "ReportingToId": str(boss.pk)},
    ]
    bring_in(client, Employee, data)
    assert list(Employee.objects.exclude(pk=boss.pk).values_list("reporting_to", flat=True)) == [boss.pk] * 3
    changes = Change.objects.filter(channel="Import")
    assert [(change.reason, change.operation) for change in changes] == [("Yearly review", "AddEmployee")] * 3
    make.make_employee(site, first_name="Ida", last_name="Moss", code="C1")
    report = check(client, Employee, data[:1])
    names = "Ida Moss (B7) and Ida Moss (C1)"
    assert faults(report) == {
        2: [f"ReportingToId: 2 employees are called ida moss: {names}. Write the code or the Id instead."]
    }


@pytest.mark.parametrize("position", ["Baker", ""])
def test_the_id_of_another_sites_record_is_told_as_one_that_nobody_has(
    site: Site, other_site: Site, position: str
) -> None:
    client = browser(site)
    foreign_id, unknown_id = str(make.make_employee(other_site).pk), str(uuid.uuid4())
    row = {"FirstName": "Ada", "LastName": "B", "Position": position, "NatureOfEmploymentId": "Employee"}
    messages = [
        str(faults(check(client, Employee, [{**row, "ReportingToId": key}]))).replace(key, "Id")
        for key in (foreign_id, unknown_id)
    ]
    assert "No such employee at this site (Id)." in messages[0]
    assert messages[0] == messages[1]


def test_an_employee_is_not_made_to_report_in_a_circle(site: Site) -> None:
    boss = make.make_employee(site, code="B7")
    worker = make.make_employee(site, reporting_to=boss)
    report = check(browser(site), Employee, [{"Id": str(boss.pk), "ReportingToId": str(worker.pk)}])
    assert f"because {worker} already reports to {boss}, directly" in faults(report)[2][0]
    assert faults(report)[2][0].startswith("ReportingToId: ")


def test_documents_and_audits_are_exported_without_a_way_to_import_them(site: Site) -> None:
    document = make_document(site, name="=Plan")
    client = browser(site)
    row = table(export(client, Document))[0]
    assert (row["Id"], row["Name"]) == (str(document.pk), "'=Plan")
    assert not {"FileContent", "FileURL"} & row.keys()
    assert table(export(client, AuditRecord)) == []
    make_audit(program := make_program(site, next_due_date=DAY), date=DAY)
    make_audit(program, date=DAY, is_extra=True)
    extra = {row["SiteSequenceId"]: row["IsExtra"] for row in table(export(client, AuditRecord))}
    assert extra == {"1": "false", "2": "true"}
    for model in (Document, AuditRecord):
        assert client.get(page(model, "import")).status_code == 404
        assert page(model, "export", "csv") in client.get(page(model, "changelist")).content.decode()
        assert page(model, "import") not in client.get(page(model, "changelist")).content.decode()


def test_the_list_offers_import_to_those_who_may_write(site: Site) -> None:
    assert page(Employee, "import") in browser(site).get(page(Employee, "changelist")).content.decode()
    assert (
        page(Employee, "import")
        not in browser(site, DefaultRole.READER).get(page(Employee, "changelist")).content.decode()
    )
    form = browser(site).get(page(Employee, "import"))
    assert "NatureOfEmploymentId" in text_of(form)
