"""GetEmployee without child rows against the bare floor doing the same query: five alternating rounds, median."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from bench import harness  # noqa: E402
from records.employees.models import Employee  # noqa: E402


def main() -> None:
    """Measure and print."""
    demo = harness.prepare_demo()
    employee = Employee.objects.filter(
        site_id=demo["site"]["id"], employment_history__isnull=True, education_training__isnull=True
    ).first()
    assert employee is not None
    columns = ", ".join(f'"{field.column}"' for field in Employee._meta.concrete_fields)
    query = f"SELECT {columns} FROM employees_employee WHERE id = %s"  # noqa: S608
    rounds = []
    with (
        harness.serving("config.wsgi") as product,
        harness.serving("bench.floor:application", FLOOR_QUERY=query) as floor,
    ):
        url = f"{product}/employee/GetEmployee/{employee.pk}"
        key = demo["subscription_key"]
        assert harness.get(url, Ocp_Apim_Subscription_Key=key)[0] == 200
        for _ in range(harness.ROUNDS):
            rounds.append((harness.wrk(url, Ocp_Apim_Subscription_Key=key), harness.wrk(f"{floor}/read/{employee.pk}")))
    harness.compare("GetEmployee without child rows", rounds)


if __name__ == "__main__":
    main()
