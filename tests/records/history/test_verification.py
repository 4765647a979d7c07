"""Proving the history: what somebody with SQL does to its changes is found and named."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, models

from records.employees.models import Employee
from records.history import proofs
from records.history.digests import digest
from records.history.models import ChainHead, Change
from records.history.verification import verify
from records.sites.models import Site
from tests import make
from tests.make.chains import last, rows, texts
from tests.make.complaints import make_completed
from tests.make.customers import make_customer
from tests.make.documents import make_document, make_signer, sign, version_of

pytestmark = pytest.mark.usefixtures("own_seals")


def test_a_history_of_every_kind_of_record_is_proven(site: Site, other_site: Site) -> None:
    signer = make_signer(site)
    sign(version_of(make_document(site, user_to_review=[signer])), signer)
    make_completed(site, consumer_last_name="Meyer", quantity="1.5")
    make_customer(other_site)
    employee = make.make_employee(site, employment_history=[{"company": "Mill", "position_held": "Miller"}])
    make.make_job_description(site, employees=[employee])
    report = verify()
    assert not report.faults
    assert report.changes == Change.objects.count()
    assert report.records >= 6


def test_an_edited_change_is_named(site: Site, employees: list[Employee]) -> None:
    rows(chain=site.pk, number=last(site)).update(reason="Forged")
    assert texts() == [f"change {last(site)} was altered: its hash is not that of its content"]


def test_an_edited_value_is_named_and_so_is_the_record_that_it_no_longer_agrees_with(
    site: Site, employees: list[Employee]
) -> None:
    change = rows(chain=site.pk, number=last(site)).get()
    rows(pk=change.pk).update(fields=[{"field": "phone", "old": "0", "new": "78"}])
    assert texts() == [
        f"after change {change.number} the record was altered past its history: "
        f"employees.Employee {employees[0].pk}: phone",
        f"change {change.number} was altered: its hash is not that of its content",
    ]


def test_a_change_deleted_in_the_middle_is_named(site: Site, employees: list[Employee]) -> None:
    change = rows(record_id=employees[2].pk).get()
    rows(pk=change.pk).delete()
    assert texts() == [f"no change mentions employees.Employee {employees[2].pk}", f"change {change.number} is missing"]


def test_a_deleted_tail_is_named(site: Site, employees: list[Employee]) -> None:
    end = last(site)
    rows(chain=site.pk, number__gt=end - 2).delete()
    assert f"changes {end - 1} to {end} are missing at the end of the chain" in texts()
    assert f"no change mentions employees.Employee {employees[4].pk}" in texts()


@pytest.mark.django_db(transaction=True)
def test_several_processes_find_what_one_finds(site: Site, employees: list[Employee], signed_in: Employee) -> None:
    changes = rows(chain=site.pk).exclude(record_id=signed_in.pk).order_by("number")
    assert parts_agree() == []
    to_edit, to_delete, *_, to_swap, other = changes
    rows(pk=to_edit.pk).update(reason="Forged")
    rows(pk=to_delete.pk).delete()
    rows(pk=to_swap.pk).update(number=10**6)
    rows(pk=other.pk).update(number=to_swap.number)
    rows(pk=to_swap.pk).update(number=other.number)
    Employee.objects.filter(pk__in=[employees[1].pk, signed_in.pk]).update(position="Owner")
    faults = parts_agree()
    assert f"change {to_edit.number} was altered: its hash is not that of its content" in faults
    assert f"change {to_delete.number} is missing" in faults
    assert f"change {to_swap.number} was moved: it was written as change {other.number}" in faults
    for one in (employees[1], signed_in):
        assert any(text.endswith(f"{one.pk}: position") for text in faults)


def parts_agree() -> list[str]:
    """Verify by one process and by two, compare what they report, and return the faults."""
    one_process, two_processes = verify(1), verify(2)
    assert (one_process.changes, one_process.records) == (two_processes.changes, two_processes.records)
    assert one_process.faults == two_processes.faults
    return [fault.text for fault in one_process.faults]


@pytest.mark.parametrize("value", [False, 0, [], {}])
def test_an_empty_value_cannot_be_replaced_by_another_without_a_salt(
    site: Site, employees: list[Employee], value: Any
) -> None:
    change = rows(record_id=employees[0].pk).earliest("number")
    assert change.fields[0]["old"] is None
    change.fields[0]["old"] = value
    rows(pk=change.pk).update(fields=change.fields)
    assert f"change {change.number} was altered: its hash is not that of its content" in texts()


def test_the_deletion_of_all_changes_is_named(site: Site, employees: list[Employee]) -> None:
    end = last(site)
    rows().delete()
    faults = texts()
    assert f"changes 1 to {end} are missing at the end of the chain" in faults
    assert {f"no change mentions employees.Employee {one.pk}" for one in employees} <= set(faults)
    ChainHead.objects.all().delete()
    assert {f"no change mentions employees.Employee {one.pk}" for one in employees} <= set(texts())


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_change_whose_site_was_altered_is_named(
    site: Site, other_site: Site, employees: list[Employee], elsewhere: bool
) -> None:
    number = last(site)
    rows(chain=site.pk, number=number).update(site=other_site if elsewhere else None)
    assert texts() == [
        f"change {number} names another site than its chain's",
        f"change {number} was altered: its hash is not that of its content",
    ]


def test_a_change_moved_to_another_sites_chain_is_named(
    site: Site, other_site: Site, employees: list[Employee]
) -> None:
    number = rows(record_id=employees[2].pk).get().number
    rows(record_id=employees[2].pk).update(chain=other_site.pk, site=other_site, number=last(other_site) + 1)
    faults = texts()
    assert f"change {number} is missing" in faults
    assert f"change {last(other_site)} is added after the head" in faults
    assert any("at another site now" in text for text in faults)


def test_two_swapped_changes_are_named_with_their_former_places(site: Site, employees: list[Employee]) -> None:
    first, second = (rows(record_id=one.pk).earliest("number") for one in employees[1:3])
    rows(pk=first.pk).update(number=10**6)
    rows(pk=second.pk).update(number=first.number)
    rows(pk=first.pk).update(number=second.number)
    faults = texts()
    assert f"change {first.number} was moved: it was written as change {second.number}" in faults
    assert f"change {second.number} was moved: it was written as change {first.number}" in faults


def test_an_added_change_is_named(site: Site, employees: list[Employee]) -> None:
    change = rows(chain=site.pk, number=last(site)).get()
    change.pk, change.number, change.previous_hash = make.uuid.uuid4(), change.number + 1, change.hash
    change.hash = digest(change)
    models.QuerySet(Change).bulk_create([change])
    assert texts() == [f"change {change.number} is added after the head"]


def test_an_altered_value_that_pretends_to_be_erased_is_named(site: Site, employees: list[Employee]) -> None:
    change = rows(chain=site.pk, number=last(site)).get()
    change.fields[0]["old"], change.salts[2] = {"erased": "0" * 16}, "=" + "0" * 64
    rows(pk=change.pk).update(fields=change.fields, salts=change.salts)
    assert f"change {change.number} lost values that no erasure names" in texts()


def test_a_whole_history_prints_its_heads_and_is_noted_as_proven(site: Site, employees: list[Employee]) -> None:
    output = StringIO()
    call_command("verify_history", stdout=output)
    head = ChainHead.objects.get(chain=site.pk)
    assert f"{site}: change {head.number}, {head.hash}" in output.getvalue()
    proof = proofs.last_proof()
    assert proof is not None
    assert (proof.changes, proof.faults) == (Change.objects.count(), 0)


def test_the_history_page_says_when_the_history_was_last_proven(site: Site, client: Any) -> None:
    client.force_login(make.make_user("root", is_superuser=True))
    assert "has not been verified yet" in client.get("/admin/history/change/").text
    proofs.prove()
    assert "no errors found" in client.get("/admin/history/change/").text
    rows(chain=site.pk, number=1).update(reason="Forged")
    proofs.prove()
    assert "1 error found" in client.get("/admin/history/change/").text


def test_verification_asks_the_database_the_same_number_of_times_for_more_records(
    site: Site, django_assert_max_num_queries: Any
) -> None:
    for _ in range(30):
        make.make_employee(site)
    with django_assert_max_num_queries(60):
        assert not verify().faults
    assert connection.in_atomic_block
