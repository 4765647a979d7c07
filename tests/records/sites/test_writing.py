"""The way of every write: what lists keep."""

from typing import Any

import pytest

from records.employees import actions
from records.history.models import Change
from records.history.verification import verify
from records.sites.models import Site
from records.sites.values import listed_keys
from records.sites.writing import apply, changing
from tests import make


def test_a_list_keeps_the_order_in_which_it_was_given(site: Site) -> None:
    people = [make.make_employee(site) for _ in range(6)]
    order = [people[index] for index in (3, 0, 5, 1)]
    job = make.make_job_description(site, employees=order)
    assert stored_order(job) == [person.pk for person in order]
    again = [people[index] for index in (4, 2, 0)]
    actions.update_job_description(site.pk, job.pk, {"employees": again}, author=make.SYSTEM)
    assert stored_order(job) == [person.pk for person in again]


def test_a_list_that_is_changed_is_what_the_rest_of_the_write_reads(site: Site) -> None:
    ann, bob = make.make_employee(site, first_name="Ann"), make.make_employee(site, first_name="Bob")
    job = make.make_job_description(site, employees=[ann])
    with changing(type(job), site.pk, job.pk, author=make.SYSTEM, operation="Test") as record:
        apply(record, {"employees": [bob]})
        assert listed_keys(record, "employees") == [bob.pk]
        assert stored_order(job) == [bob.pk]
        record.name = "Baker"
        apply(record, {"employees": [bob, ann]})
    assert stored_order(job) == [bob.pk, ann.pk]
    change = Change.objects.filter(record_id=job.pk).latest("number")
    entry = next(entry for entry in change.fields if entry["field"] == "employees")
    assert {one["name"] for one in entry["new"]} == {str(ann), str(bob)}
    assert [one["name"] for one in entry["old"]] == [str(ann)]
    assert not verify().faults


def test_a_list_of_a_change_that_fails_stays_as_it_was(site: Site) -> None:
    ann, bob = make.make_employee(site), make.make_employee(site)
    job = make.make_job_description(site, employees=[ann])

    def failing() -> None:
        with changing(type(job), site.pk, job.pk, author=make.SYSTEM, operation="Test") as record:
            apply(record, {"employees": [bob]})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert stored_order(job) == [ann.pk]


def stored_order(job: Any) -> list[Any]:
    rows = type(job).employees.through.objects.filter(jobdescription=job).order_by("pk")
    return list(rows.values_list("employee_id", flat=True))
