"""Writers who meet at the same rows wait for each other in one order: none is ended by the database as a deadlock."""

from pathlib import Path

import pytest

from records.employees import actions as employees
from tests import make
from tests.conftest import Api
from tests.make_complaints import complaint_body

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
        found = set()
        for turn in range(TURNS):
            body = make.employee_body(ReportingToId=str(superior.pk) if turn % 2 else None)
            found.add(Api(key).put(reporting, body).status_code)
        return found

    def rename_author() -> set[int]:
        for turn in range(TURNS):
            employees.update_employee(
                site.pk, superior.pk, {"first_name": f"Ada {turn}"}, author=make.author_of(key.user), reason=""
            )
        return {200}

    answers = make.at_once(complain, complain, complain, lambda: edit("A"), lambda: edit("B"), move, rename_author)
    assert answers == [{200}] * 7


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
    assert [file for file, line in locks if "no_key=True" not in line] == ["records/sites/actions.py"], (
        "only a folder is locked against those who file into it, and before the chain"
    )
