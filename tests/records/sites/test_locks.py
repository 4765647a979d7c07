"""Writers who meet at the same rows wait for each other in one order: none is ended by the database as a deadlock."""

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError

from records.accounts.models import DefaultRole
from records.backoffice.transfer import files
from records.employees import actions as employees
from records.employees.models import Employee
from records.employees.resources import EmployeeResource
from records.sites.models import EntityFolder
from tests import make
from tests.conftest import Api
from tests.make.complaints import complaint_body
from tests.make.transfer import as_csv

TURNS = 12
ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("records", "documents", "materials", "scim")


@pytest.mark.django_db(transaction=True)
def test_what_a_new_record_points_at_can_be_edited_at_the_same_time() -> None:
    site = make.make_site()
    key = make.make_key(site)
    complaint = complaint_body(site)
    customer = f"/customer/UpdateCustomer/{complaint['CustomerId']}"
    superior, employee = make.make_employee(site), make.make_employee(site)
    reporting = f"/employee/UpdateEmployee/{employee.pk}"

    def complain() -> set[int]:
        return {Api(key).post("/complaint/AddComplaintDetail", complaint).status_code for _ in range(TURNS)}

    def edit(name: str) -> set[int]:
        return {Api(key).put(customer, {"Name": f"{name} {turn}"}).status_code for turn in range(TURNS)}

    def move() -> set[int]:
        statuses = set()
        for turn in range(TURNS):
            body = make.employee_body(ReportingToId=str(superior.pk) if turn % 2 else None)
            statuses.add(Api(key).put(reporting, body).status_code)
        return statuses

    def rename_author() -> set[int]:
        for turn in range(TURNS):
            employees.update_employee(
                site.pk, superior.pk, {"first_name": f"Ada {turn}"}, author=make.author_of(key.user), reason=""
            )
        return {200}

    answers = make.at_once(complain, complain, complain, lambda: edit("A"), lambda: edit("B"), move, rename_author)
    assert answers == [{200}] * 7


@pytest.mark.django_db(transaction=True)
def test_an_import_and_single_changes_of_who_reports_to_whom_never_wait_in_a_circle() -> None:
    site = make.make_site()
    superiors = [make.make_employee(site) for _ in range(2)]
    people = [make.make_employee(site) for _ in range(6)]

    def bring_in(rows: list[dict[str, str]]) -> bool:
        facts: dict[str, Any] = {"site_id": site.pk, "author": make.SYSTEM, "may": lambda permission: True}
        resource = EmployeeResource(**facts, reason="Reorganised")
        resource.import_sheet(files.read(as_csv(rows)), dry_run=False)
        return resource.is_applied

    def move_all() -> set[bool]:
        return {
            bring_in([{"Id": str(one.pk), "ReportingToId": str(superiors[turn % 2].pk)} for one in people])
            for turn in range(4)
        }

    def hire_all() -> set[bool]:
        new = {"FirstName": "Ada", "LastName": "B", "Position": "Baker", "NatureOfEmploymentId": "Employee"}
        reporting = ["", "", str(superiors[0].pk)] * 2
        return {bring_in([{**new, "ReportingToId": superior} for superior in reporting]) for _ in range(4)}

    def move() -> set[bool]:
        for turn in range(TURNS * 2):
            values = {"reporting_to": superiors[turn % 2]}
            employees.update_employee(site.pk, people[-turn % 6].pk, values, author=make.SYSTEM)
        return {True}

    def hire() -> set[bool]:
        values = {"first_name": "Bo", "position": "Baker", "nature_of_employment": make.nature()}
        for _ in range(TURNS * 2):
            employees.add_employee(site.pk, {**values, "reporting_to": superiors[1]}, author=make.SYSTEM)
        return {True}

    assert make.at_once(move_all, hire_all, move, hire) == [{True}] * 4


@pytest.mark.django_db(transaction=True)
def test_two_who_become_each_others_superior_at_two_sites_at_once_close_no_circle() -> None:
    sites = [make.make_site(), make.make_site()]
    people = [make.make_employee(site) for site in sites]
    for number, (employee, elsewhere) in enumerate(zip(people, reversed(sites), strict=True)):
        user = employees.give_account(
            employee.site_id, employee.pk, f"guest {number}", author=make.SYSTEM, reason="Works at both"
        )
        make.give_role(user, elsewhere, DefaultRole.READER)
    people = list(Employee.objects.order_by("site__name"))

    def put_below(employee: Employee, superior: Employee) -> bool:
        values = {"reporting_to": superior}
        try:
            employees.update_employee(employee.site_id, employee.pk, values, author=make.SYSTEM)
        except ValidationError:
            return False
        return True

    for _ in range(5):
        assert sorted(make.at_once(lambda: put_below(*people), lambda: put_below(*people[::-1]))) == [False, True]
        for employee in people:
            employees.update_employee(employee.site_id, employee.pk, {"reporting_to": None}, author=make.SYSTEM)


def test_row_locks_leave_room_for_foreign_keys() -> None:
    """Foreign keys are checked at commit, when the writer holds the chain: a full row lock would close a circle."""
    locks = [
        (str(file.relative_to(ROOT)), line.strip())
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        for line in file.read_text().splitlines()
        if "select_for_update(" in line
    ]
    assert len(locks) > 10
    assert [file for file, line in locks if "no_key=True" not in line] == ["records/sites/writing.py"]
    kinds = [model for model in apps.get_models() if getattr(model, "LOCKED_WHOLE", False)]
    assert kinds == [EntityFolder], "only a folder is locked against those who file into it, and before the chain"
