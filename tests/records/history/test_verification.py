"""Proving the history: what somebody with SQL does to it is found and named."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import CheckMessage, run_checks
from django.core.management import CommandError, call_command
from django.db import connection, models

from records.accounts.actions import update_user
from records.accounts.directories import add_directory
from records.accounts.models import Directory, Role, SecurityKind, User
from records.accounts.security import security_event
from records.customers.models import Customer
from records.employees import actions
from records.employees.models import Employee
from records.history import proofs, seals
from records.history.digests import digest
from records.history.models import ChainHead, Change, Proof
from records.history.tasks import prove_history
from records.history.verification import verify
from records.items.models import Item
from records.sites.models import Site
from records.sites.writing import add_record
from records.webhooks.models import Subscription
from tests import make
from tests.make.complaints import make_completed
from tests.make.customers import make_customer
from tests.make.documents import make_document, make_signer, sign, version_of
from tests.make.webhooks import make_webhook


@pytest.fixture(autouse=True)
def _own_seals(settings: Any, tmp_path: Path) -> None:
    settings.SEAL_KEY_FILE = str(tmp_path / "seal_key.pem")
    settings.SEALS_DIR = str(tmp_path / "seals")


@pytest.fixture
def employees(site: Site) -> list[Employee]:
    """Return five employees, whose changes are the last five of the site's chain, and one change of the first."""
    found = [make.make_employee(site, first_name=f"Ada{n}", phone=str(n)) for n in range(5)]
    actions.update_employee(site.pk, found[0].pk, {"phone": "77"}, author=make.SYSTEM, reason="Moved")
    assert not texts()
    return found


def texts() -> list[str]:
    return [fault.text for fault in verify().faults]


def rows(**conditions: Any) -> Any:
    """Return changes with everything that the product's own manager refuses."""
    return models.QuerySet(Change).filter(**conditions)


def test_an_account_role_directory_or_webhook_that_was_altered_directly_is_named(site: Site, other_site: Site) -> None:
    user, role = make.make_user(site=site), make.make_role(site, [])
    webhook = make_webhook(site, "https://warehouse.example.com/larder")
    directory = add_directory("People", site, author=make.SYSTEM)
    update_user(user, {"is_active": False}, author=make.SYSTEM, reason="Left")
    update_user(user, {"home_site": other_site}, author=make.SYSTEM, reason="Moved")
    update_user(user, {"is_active": True}, author=make.SYSTEM, reason="Back")
    assert not texts()
    for model, key, name, value in (
        (User, user.pk, "is_superuser", True),
        (User, user.pk, "user_name", "somebody"),
        (Role, role.pk, "name", "Readers"),
        (Role, role.pk, "is_archived", True),
        (Directory, directory.pk, "may_administer", True),
        (Directory, directory.pk, "may_set_passwords", True),
        (Subscription, webhook.pk, "address", "https://elsewhere.example.com/"),
    ):
        rows_of = model._base_manager.filter(pk=key)
        before = rows_of.values_list(name, flat=True).get()
        rows_of.update(**{name: value})
        [text] = texts()
        assert text.endswith(f"altered past its history: {model._meta.label} {key}: {name}")
        rows_of.update(**{name: before})
    assert not texts()


def last(site: Site) -> int:
    number = rows(chain=site.pk).aggregate(models.Max("number"))["number__max"]
    assert isinstance(number, int)
    return number


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


def test_a_deleted_tail_with_its_head_turned_back_shows_in_the_records_and_in_the_seal(
    site: Site, employees: list[Employee], tmp_path: Path
) -> None:
    seals.write_seal(tmp_path / "seal.json")
    end = last(site)
    rows(chain=site.pk, number=end).delete()
    ChainHead.objects.filter(chain=site.pk).update(number=end - 1, hash=rows(chain=site.pk, number=end - 1).get().hash)
    assert [text.partition(" the record")[2] for text in texts()] == [
        f" was altered past its history: employees.Employee {employees[0].pk}: phone"
    ]
    sealed = seals.read_seal(tmp_path / "seal.json")
    report = verify()
    seals.compare(report, sealed)
    assert report.faults[-1].text == f"change {end}, which was sealed on {sealed['sealed']}, is missing"


@pytest.mark.django_db(transaction=True)
def test_several_processes_find_what_one_finds(site: Site, employees: list[Employee], signed_in: Employee) -> None:
    known = rows(chain=site.pk).exclude(record_id=signed_in.pk).order_by("number")
    assert parts_agree() == []
    edited, gone, *_, swapped, other = known
    rows(pk=edited.pk).update(reason="Forged")
    rows(pk=gone.pk).delete()
    rows(pk=swapped.pk).update(number=10**6)
    rows(pk=other.pk).update(number=swapped.number)
    rows(pk=swapped.pk).update(number=other.number)
    Employee.objects.filter(pk__in=[employees[1].pk, signed_in.pk]).update(position="Owner")
    found = parts_agree()
    assert f"change {edited.number} was altered: its hash is not that of its content" in found
    assert f"change {gone.number} is missing" in found
    assert f"change {swapped.number} was moved: it was written as change {other.number}" in found
    for one in (employees[1], signed_in):
        assert any(text.endswith(f"{one.pk}: position") for text in found)


def parts_agree() -> list[str]:
    """Verify by one process and by two, compare what they report, and return the faults."""
    alone, together = verify(1), verify(2)
    assert (alone.changes, alone.records) == (together.changes, together.records)
    assert alone.faults == together.faults
    return [fault.text for fault in alone.faults]


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
    found = texts()
    assert f"changes 1 to {end} are missing at the end of the chain" in found
    assert {f"no change mentions employees.Employee {one.pk}" for one in employees} <= set(found)
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
    found = texts()
    assert f"change {number} is missing" in found
    assert f"change {last(other_site)} is added after the head" in found
    assert any("at another site now" in text for text in found)


def test_two_swapped_changes_are_named_with_their_former_places(site: Site, employees: list[Employee]) -> None:
    first, second = (rows(record_id=one.pk).earliest("number") for one in employees[1:3])
    rows(pk=first.pk).update(number=10**6)
    rows(pk=second.pk).update(number=first.number)
    rows(pk=first.pk).update(number=second.number)
    found = texts()
    assert f"change {first.number} was moved: it was written as change {second.number}" in found
    assert f"change {second.number} was moved: it was written as change {first.number}" in found


def test_an_added_change_is_named(site: Site, employees: list[Employee]) -> None:
    change = rows(chain=site.pk, number=last(site)).get()
    change.pk, change.number, change.previous_hash = make.uuid.uuid4(), change.number + 1, change.hash
    change.hash = digest(change)
    models.QuerySet(Change).bulk_create([change])
    assert texts() == [f"change {change.number} is added after the head"]


def hash_anew(site: Site) -> None:
    """Make a chain whole again, as somebody would who knows how the hashes are made."""
    previous, number = "", 0
    for change in rows(chain=site.pk).order_by("number"):
        number += 1
        change.number, change.previous_hash = number, previous
        change.hash = previous = digest(change)
        rows(pk=change.pk).update(number=number, previous_hash=change.previous_hash, hash=change.hash)
    ChainHead.objects.filter(chain=site.pk).update(number=number, hash=previous)


def test_a_chain_hashed_anew_shows_against_the_seal(site: Site, employees: list[Employee], tmp_path: Path) -> None:
    path = tmp_path / "seal.json"
    call_command("seal_history", path, stdout=StringIO())
    make.make_employee(site)
    rows(chain=site.pk, reason="Moved").update(reason="Forged")
    hash_anew(site)
    assert not texts()
    said = StringIO()
    with pytest.raises(CommandError, match=r"1 fault\(s\)"):
        call_command("verify_history", seal=path, stdout=said)
    assert said.getvalue().startswith(f"{site}: the changes up to {last(site) - 1} were rewritten since the seal of ")


def test_a_chain_hashed_anew_with_other_values_shows_against_the_records(site: Site, employees: list[Employee]) -> None:
    change = rows(chain=site.pk, number=last(site)).get()
    rows(pk=change.pk).update(fields=[{"field": "phone", "old": "0", "new": "78"}])
    hash_anew(site)
    assert [text.rpartition(": ")[2] for text in texts()] == ["phone"]


@pytest.mark.parametrize(
    ("alter", "named"),
    [
        (lambda one: Employee.objects.filter(pk=one.pk).update(position="Owner"), "position"),
        (lambda one: Employee.objects.filter(pk=one.pk).update(is_archived=True), "is_archived"),
        (lambda one: one.employment_history.update(company="Mall"), "employment_history.company"),
        (lambda one: one.employment_history.all().delete(), "employment_history"),
    ],
)
def test_a_record_altered_past_its_history_is_named(site: Site, alter: Callable[[Employee], Any], named: str) -> None:
    employee = make.make_employee(site, employment_history=[{"company": "Mill", "position_held": "Miller"}])
    alter(employee)
    assert [text.rpartition(": ")[2] for text in texts()] == [named]


def test_a_record_that_was_deleted_or_moved_to_another_site_is_named(site: Site, other_site: Site) -> None:
    gone, moved = make_customer(site), make_customer(site)
    Customer.objects.filter(pk=gone.pk).delete()
    Customer.objects.filter(pk=moved.pk).update(site=other_site, site_sequence_id=None)
    found = texts()
    assert any("is missing" in text and str(gone.pk) in text for text in found)
    assert any("is at another site now" in text and str(moved.pk) in text for text in found)


@pytest.fixture
def signed_in(site: Site) -> Employee:
    """Return an employee who has an account, whose Id is the same, and whose newest change is a sign-in."""
    employee = make.make_employee(site, address="1 Mill Lane")
    actions.give_account(site.pk, employee.pk, "ada", author=make.SYSTEM, reason="Starts")
    sign_in(employee)
    return employee


def sign_in(employee: Employee) -> None:
    security_event(SecurityKind.SIGNED_IN, account=User.objects.get(pk=employee.pk), address="203.0.113.7")


@pytest.mark.parametrize(
    ("alter", "named"),
    [
        (lambda one: Employee.objects.filter(pk=one.pk).update(position="Owner"), "position"),
        (lambda one: Employee.objects.filter(pk=one.pk).update(address="203.0.113.7"), "address"),
        (lambda one: Employee.objects.filter(pk=one.pk).delete(), ""),
    ],
)
def test_an_employee_altered_past_their_history_is_named_although_the_account_changed_later(
    signed_in: Employee, alter: Callable[[Employee], Any], named: str
) -> None:
    number = rows(record_id=signed_in.pk, model="employees.Employee").latest("number").number
    alter(signed_in)
    name = f"employees.Employee {signed_in.pk}"
    assert texts() == [
        f"after change {number} the record was altered past its history: {name}: {named}"
        if named
        else f"the record of change {number} is missing: {name}"
    ]


def test_changes_of_an_employee_and_of_the_account_with_the_same_id_give_no_fault(
    site: Site, signed_in: Employee
) -> None:
    assert not texts()
    report = verify()
    actions.update_employee(site.pk, signed_in.pk, {"phone": "77"}, author=make.SYSTEM, reason="Moved")
    assert not texts()
    update_user(User.objects.get(pk=signed_in.pk), {"given_name": "Eva"}, author=make.SYSTEM)
    sign_in(signed_in)
    actions.update_employee(site.pk, signed_in.pk, {"address": "2 Mill Lane"}, author=make.SYSTEM, reason="Moved")
    after = verify()
    assert not after.faults
    assert after.records == report.records
    assert after.changes == Change.objects.count()


def test_an_altered_change_of_an_account_is_named_beside_those_of_the_employee(signed_in: Employee) -> None:
    change = rows(record_id=signed_in.pk, operation="SignIn").get()
    rows(pk=change.pk).update(fields=[{"field": "address", "old": "", "new": "198.51.100.1"}])
    assert texts() == [f"change {change.number} was altered: its hash is not that of its content"]


def test_an_altered_value_that_pretends_to_be_erased_is_named(site: Site, employees: list[Employee]) -> None:
    change = rows(chain=site.pk, number=last(site)).get()
    change.fields[0]["old"], change.salts[2] = {"erased": "0" * 16}, "=" + "0" * 64
    rows(pk=change.pk).update(fields=change.fields, salts=change.salts)
    assert f"change {change.number} lost values that no erasure names" in texts()


def test_a_whole_history_prints_its_heads_and_is_noted_as_proven(site: Site, employees: list[Employee]) -> None:
    said = StringIO()
    call_command("verify_history", stdout=said)
    head = ChainHead.objects.get(chain=site.pk)
    assert f"{site}: change {head.number}, {head.hash}" in said.getvalue()
    proof = proofs.last_proof()
    assert proof is not None
    assert (proof.changes, proof.faults) == (Change.objects.count(), 0)


def test_a_seal_that_was_altered_or_signed_by_another_key_proves_nothing(
    site: Site, tmp_path: Path, settings: Any
) -> None:
    path = tmp_path / "seal.json"
    call_command("seal_history", path, public_key=tmp_path / "public.pem", stdout=StringIO())
    assert seals.read_seal(path, public_key=tmp_path / "public.pem")["heads"]
    whole = path.read_text()
    path.write_text(whole.replace('"number": ', '"number": 1'))
    with pytest.raises(CommandError, match="altered after it was signed"):
        call_command("verify_history", seal=path)
    path.write_text(whole[:-20])
    with pytest.raises(CommandError, match="cannot be read as a seal"):
        call_command("verify_history", seal=path)
    path.write_text(whole)
    settings.SEAL_KEY_FILE = str(tmp_path / "other.pem")
    seals.write_seal(tmp_path / "other.json")
    with pytest.raises(CommandError, match="another key"):
        call_command("verify_history", seal=path)
    assert (tmp_path / "other.pem").stat().st_mode & 0o777 == 0o600


def test_the_daily_task_seals_what_it_proved_and_keeps_the_last_seal_when_it_finds_a_fault(
    site: Site, employees: list[Employee], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert prove_history.func() == 0
    (first,) = (tmp_path / "seals").iterdir()
    sealed = first.read_text()
    rows(chain=site.pk, number=last(site)).update(reason="Forged")
    assert prove_history.func() == 1
    assert first.read_text() == sealed
    assert f"{site}: change {last(site)} was altered" in caplog.text
    assert [proof.faults for proof in Proof.objects.all()] == [1, 0]


def _cut(site: Site) -> None:
    """Take the last change away with its traces in the database, as somebody does who has SQL and knows of hashes."""
    number = last(site)
    change = rows(chain=site.pk, number=number).get()
    ChainHead.objects.filter(chain=site.pk).update(number=number - 1, hash=change.previous_hash)
    rows(pk=change.pk).delete()


@pytest.mark.parametrize(("made", "said"), [(True, "was signed with another key."), (False, "There is no key here.")])
def test_the_daily_task_goes_on_with_a_new_key_and_says_that_the_old_seal_was_not_used(
    employees: list[Employee], tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture, made: bool, said: str
) -> None:
    seals.write_seal(tmp_path / "seals" / "history-2020-01-01.json")
    settings.SEAL_KEY_FILE = str(tmp_path / "new_key.pem")
    if made:
        seals.public_pem()
    assert prove_history.func() == 0
    assert "The history was not compared with its newest seal: " in caplog.text
    assert said in caplog.text
    caplog.clear()
    assert prove_history.func() == 0
    assert "not compared" not in caplog.text
    assert Proof.objects.count() == 2


def test_a_new_key_keeps_the_seal_that_the_former_one_made_on_the_same_day(
    employees: list[Employee], tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert prove_history.func() == 0
    former, key = next((tmp_path / "seals").iterdir()).read_text(), tmp_path / "former.pem"
    key.write_bytes(seals.public_pem())
    settings.SEAL_KEY_FILE = str(tmp_path / "new_key.pem")
    for _ in range(2):
        assert prove_history.func() == 0
    kept, present = sorted((tmp_path / "seals").iterdir())
    assert (kept.read_text(), seals.read_seal(kept, public_key=key)["heads"]) == (
        former,
        seals.read_seal(present)["heads"],
    )
    assert caplog.text.count("not compared") == 1


def test_a_damaged_seal_leaves_the_proof_to_the_one_before_it(
    site: Site, employees: list[Employee], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seals.write_seal(tmp_path / "seals" / "history-2020-01-01.json")
    (tmp_path / "seals" / "history-2020-01-02.json").write_text("")
    number = last(site)
    _cut(site)
    prove_history.func()
    assert "history-2020-01-02.json cannot be read as a seal." in caplog.text
    assert f"change {number}, which was sealed" in caplog.text


def test_a_seal_that_a_wrong_clock_left_does_not_stand_for_those_made_later(
    site: Site, employees: list[Employee], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    seals.write_seal(tmp_path / "seals" / "history-2199-01-01.json")
    actions.update_employee(site.pk, employees[0].pk, {"phone": "78"}, author=make.SYSTEM, reason="Moved")
    assert prove_history.func() == 0
    number = last(site)
    _cut(site)
    assert prove_history.func() > 0
    assert f"change {number}, which was sealed" in caplog.text


def test_records_of_two_kinds_with_one_id_are_named_until_one_is_archived(
    site: Site, employees: list[Employee], caplog: pytest.LogCaptureFixture
) -> None:
    employee = employees[0]
    actions.give_account(site.pk, employee.pk, "ada", author=make.SYSTEM, reason="Joined")
    assert not verify().notices
    item = add_record(Item(id=employee.pk, site_id=site.pk), {"name": "Scale"}, author=make.SYSTEM, operation="AddItem")
    said = StringIO()
    call_command("verify_history", stdout=said)
    line = (
        f"Hillside Bakery: change {last(site)} added items.Item {item.pk} with an Id that employees.Employee had "
        "already: enter it anew, then archive it"
    )
    assert line in said.getvalue().splitlines()
    assert prove_history.func() == 0
    assert f"Records of two kinds have one Id. {line}" in caplog.messages
    make.archive(item)
    assert not verify().notices


def test_the_worker_proves_the_history_once_a_day(settings: Any) -> None:
    assert settings.REGULAR_JOBS[prove_history.module_path].total_seconds() == 24 * 60 * 60


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


def warnings_of_the_key() -> list[CheckMessage]:
    """Return what the deployment's checks say of the key; the other settings have tests of their own."""
    return [one for one in run_checks(tags=["larder"], include_deployment_checks=True) if one.id == "larder.W001"]


def test_a_production_says_that_its_key_lies_beside_the_data_and_makes_none_there_silently(
    db: None, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    settings.SEAL_KEY_FILE = str(tmp_path / "data" / "seal_key.pem")
    assert not warnings_of_the_key()
    settings.PRODUCTION = True
    (warning,) = warnings_of_the_key()
    assert "SEAL_KEY_FILE" in str(warning)
    seals.write_seal(tmp_path / "seal.json")
    assert "was made in DATA_DIR" in caplog.text
    settings.SEAL_KEY_FILE = str(tmp_path / "keys" / "seal_key.pem")
    caplog.clear()
    seals.write_seal(tmp_path / "seal.json")
    assert not warnings_of_the_key()
    assert not caplog.text


def test_a_seal_that_cannot_be_written_leaves_no_piece_of_it(db: None, settings: Any, tmp_path: Path) -> None:
    settings.SEAL_KEY_FILE = str(tmp_path / "keys" / "seal_key.pem")
    path = tmp_path / "seals" / "history.json"
    path.mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        seals.write_seal(path)
    assert list(path.parent.iterdir()) == [path]
