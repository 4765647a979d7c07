"""The way of every write: what lists keep."""

from typing import Any

from records.employees import actions
from records.sites.models import Site
from tests import make


def test_a_list_keeps_the_order_in_which_it_was_given(site: Site) -> None:
    people = [make.make_employee(site) for _ in range(6)]
    given = [people[index] for index in (3, 0, 5, 1)]
    job = make.make_job_description(site, employees=given)
    assert stored_order(job) == [person.pk for person in given]
    again = [people[index] for index in (4, 2, 0)]
    actions.update_job_description(site.pk, job.pk, {"employees": again}, author=make.SYSTEM)
    assert stored_order(job) == [person.pk for person in again]


def stored_order(job: Any) -> list[Any]:
    rows = type(job).employees.through.objects.filter(jobdescription=job).order_by("pk")
    return list(rows.values_list("employee_id", flat=True))
