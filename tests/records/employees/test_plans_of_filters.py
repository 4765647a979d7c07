"""By which index employees are found, on PostgreSQL."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.employees.models import Employee
from tests import make


def add_others(employee: Employee, count: int) -> None:
    """Copy an employee many times with another number, code and address, in one statement."""
    table = connection.ops.quote_name(Employee._meta.db_table)
    own = {
        "id": "gen_random_uuid()",
        "site_sequence_id": "1000 + n",
        "code": "'N-' || n",
        "email_address": "'n' || n || '@example.org'",
    }
    columns = [str(field.column) for field in Employee._meta.concrete_fields]
    values = ", ".join(own.get(column, connection.ops.quote_name(column)) for column in columns)
    names = ", ".join(map(connection.ops.quote_name, columns))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({names}) SELECT {values} "  # noqa: S608 (no outside text)
            f"FROM {table}, generate_series(1, {count}) n WHERE id = %s",
            [employee.pk],
        )


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ({"code": "e-0007"}, "employee_by_code_any_case"),
        ({"code": ["e-0007", "E-0008"]}, "employee_by_code_any_case"),
        ({"emailAddress": "ANN@example.org"}, "employee_by_email_any_case"),
    ],
)
def test_an_employee_is_found_by_code_and_e_mail_without_reading_the_site(
    api: Any, query: dict[str, Any], index: str
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL's plans only.")
    employee = make.make_employee(api.key.site, code="E-0007", email_address="ann@example.org")
    add_others(employee, 36_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE employees_employee")
    api.get("/employee/GetEmployeeList", query)
    with CaptureQueriesContext(connection) as queries:
        answer = api.get("/employee/GetEmployeeList", query)
    assert [row["Id"] for row in answer.json()] == [str(employee.pk)]
    (sql,) = (one["sql"] for one in queries if re.search('FROM "employees_employee" ', one["sql"]))
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert index in plan, plan
