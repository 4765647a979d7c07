"""AddEmployee with 8 writers against the bare floor, which takes a number and inserts the row in one statement."""

import json
import os
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from bench import harness  # noqa: E402
from records.employees.models import Employee  # noqa: E402
from records.history.trail import broken_links  # noqa: E402
from records.sites.models import SiteSequence  # noqa: E402

WRITERS = 8


def post_script(body: dict[str, Any]) -> str:
    """Return the load script that posts a body."""
    head = "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\n"
    return f"{head}wrk.body = [==[{json.dumps(body)}]==]\n"


def floor_insert(model: Any, template: Any) -> str:
    """Return the statement that copies the template row under a fresh key and the next number of its site."""
    table = model._meta.db_table
    columns = [field.column for field in model._meta.concrete_fields]
    copied = {"id": "%(key)s::uuid", "site_sequence_id": "taken.last"}
    chosen = ", ".join(copied.get(column, f"t.{column}") for column in columns)
    taken = f"UPDATE sites_sitesequence SET last = last + 1 WHERE site_id = '{template.site_id}'"  # noqa: S608
    taken += f" AND entity = '{model.ENTITY}' RETURNING last"
    copy = f"SELECT {chosen} FROM {table} t, taken WHERE t.id = '{template.pk}'"  # noqa: S608
    return f"WITH taken AS ({taken}) INSERT INTO {table} ({', '.join(columns)}) {copy}"


def main() -> None:
    """Measure and print."""
    demo = harness.prepare_demo()
    site_id = demo["site"]["id"]
    template = Employee.objects.filter(site_id=site_id).latest("site_sequence_id")
    body = {
        "FirstName": "Ada",
        "LastName": "Baker",
        "NatureOfEmploymentId": str(template.nature_of_employment_id),
        "Position": "Line lead",
        "Code": "E-1",
        "Address": "1 Mill Lane\nHillside",
    }
    rounds = []
    with (
        harness.serving("config.wsgi") as product,
        harness.serving("bench.floor:application", FLOOR_INSERT=floor_insert(Employee, template)) as floor,
    ):
        for _ in range(harness.ROUNDS):
            ours = harness.wrk(
                f"{product}/employee/AddEmployee",
                connections=WRITERS,
                script=post_script(body),
                Ocp_Apim_Subscription_Key=demo["subscription_key"],
            )
            bare = harness.wrk(f"{floor}/write", connections=WRITERS, script=post_script(body))
            rounds.append((ours, bare))
    harness.compare(f"AddEmployee, {WRITERS} writers", rounds)
    added = Employee.objects.filter(site_id=site_id).count()
    assert added == SiteSequence.objects.get(site_id=site_id, entity="employee").last, "a number was lost or doubled"
    assert not list(broken_links(template.site_id)), "the trail has a broken link"


if __name__ == "__main__":
    main()
