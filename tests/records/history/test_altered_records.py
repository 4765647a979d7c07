"""Proving the history: a record, account or role that somebody altered with SQL is named."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from records.accounts.actions import update_user
from records.accounts.directories import add_directory
from records.accounts.models import DefaultRole, Directory, Role, RoleMembership, SecurityKind, User
from records.accounts.security import security_event
from records.actions.models import Action, Status
from records.customers.models import Customer
from records.employees import actions
from records.employees.models import Employee
from records.history.models import Change
from records.history.tasks import prove_history
from records.history.verification import verify
from records.items.models import Item
from records.retention.actions import set_hold
from records.sites.models import Site
from records.sites.writing import add_record
from records.webhooks.models import Subscription
from tests import make
from tests.make.actions import make_action, move
from tests.make.chains import last, rows, texts
from tests.make.customers import make_customer
from tests.make.documents import add_version, make_document, version_of
from tests.make.items import make_item
from tests.make.webhooks import make_webhook

pytestmark = pytest.mark.usefixtures("own_seals")


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


def test_a_member_added_directly_to_a_role_that_nobody_changed_is_named(site: Site) -> None:
    role, user = Role.objects.get(site=site, default_role=DefaultRole.MANAGER), make.make_user(site=site)
    RoleMembership.objects.create(role=role, user=user)
    assert texts() == [f"another row contradicts accounts.Role {role.pk}: members"]


def test_stamps_that_no_change_of_the_record_itself_explains_give_no_fault(site: Site) -> None:
    people = [make.author_of(make.make_user(site=site)) for _ in range(3)]
    former, holder = make.make_employee(site), make.make_employee(site)
    job = make.make_job_description(site, employees=[former])
    actions.update_job_description(site.pk, job.pk, {"employees": [holder]}, author=people[0], reason="Swap")
    assert {one.last_modified_by_id for one in Employee.objects.filter(pk__in=[former.pk, holder.pk])} == {people[0].id}
    for model, key in ((Employee, holder.pk), (Item, make_item(site).pk)):
        set_hold(model, site.pk, key, author=people[1], reason="A dispute")
    assert not texts()
    Employee.objects.filter(pk=holder.pk).update(last_modified_by=people[2].id)
    [text] = texts()
    assert text.endswith(f"employees.Employee {holder.pk}: last_modified_by")


def test_who_took_a_step_is_that_of_the_last_time(site: Site) -> None:
    first, second = (make.make_user(site=site) for _ in range(2))
    action = make_action(site)
    move(action, Status.DONE, first)
    move(action, Status.OPEN, second)
    assert not texts()
    move(action, Status.DONE, second)
    move(action, Status.CANCELLED, first)
    assert not texts()
    Action.objects.filter(pk=action.pk).update(done_by=first)
    [text] = texts()
    assert text.endswith(f"actions.Action {action.pk}: done_by")


def test_who_uploaded_a_version_is_the_author_of_its_change(site: Site) -> None:
    first, second = (make.make_user(site=site) for _ in range(2))
    document = add_version(make_document(site, author=make.author_of(first)), author=make.author_of(second))
    assert not texts()
    version_of(document, 1).document.versions.update(created_by=second)
    [text] = texts()
    assert text.endswith(f"documents.Document {document.pk}: versions.created_by")


@pytest.mark.parametrize(
    ("alter", "fault"),
    [
        (lambda one: Employee.objects.filter(pk=one.pk).update(position="Owner"), "position"),
        (lambda one: Employee.objects.filter(pk=one.pk).update(is_archived=True), "is_archived"),
        (lambda one: one.employment_history.update(company="Mall"), "employment_history.company"),
        (lambda one: one.employment_history.all().delete(), "employment_history"),
    ],
)
def test_a_record_altered_past_its_history_is_named(site: Site, alter: Callable[[Employee], Any], fault: str) -> None:
    employee = make.make_employee(site, employment_history=[{"company": "Mill", "position_held": "Miller"}])
    alter(employee)
    assert [text.rpartition(": ")[2] for text in texts()] == [fault]


def test_a_record_that_was_deleted_or_moved_to_another_site_is_named(site: Site, other_site: Site) -> None:
    missing, elsewhere = make_customer(site), make_customer(site)
    Customer.objects.filter(pk=missing.pk).delete()
    Customer.objects.filter(pk=elsewhere.pk).update(site=other_site, site_sequence_id=None)
    faults = texts()
    assert any("is missing" in text and str(missing.pk) in text for text in faults)
    assert any("is at another site now" in text and str(elsewhere.pk) in text for text in faults)


@pytest.mark.parametrize(
    ("alter", "fault"),
    [
        (lambda one: Employee.objects.filter(pk=one.pk).update(position="Owner"), "position"),
        (lambda one: Employee.objects.filter(pk=one.pk).update(address="203.0.113.7"), "address"),
        (lambda one: Employee.objects.filter(pk=one.pk).delete(), ""),
    ],
)
def test_an_employee_altered_past_their_history_is_named_although_the_account_changed_later(
    signed_in: Employee, alter: Callable[[Employee], Any], fault: str
) -> None:
    number = rows(record_id=signed_in.pk, model="employees.Employee").latest("number").number
    alter(signed_in)
    name = f"employees.Employee {signed_in.pk}"
    assert texts() == [
        f"after change {number} the record was altered past its history: {name}: {fault}"
        if fault
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
    security_event(SecurityKind.SIGNED_IN, account=User.objects.get(pk=signed_in.pk), address="203.0.113.7")
    actions.update_employee(site.pk, signed_in.pk, {"address": "2 Mill Lane"}, author=make.SYSTEM, reason="Moved")
    after = verify()
    assert not after.faults
    assert after.records == report.records
    assert after.changes == Change.objects.count()


def test_an_altered_change_of_an_account_is_named_beside_those_of_the_employee(signed_in: Employee) -> None:
    change = rows(record_id=signed_in.pk, operation="SignIn").get()
    rows(pk=change.pk).update(fields=[{"field": "address", "old": "", "new": "198.51.100.1"}])
    assert texts() == [f"change {change.number} was altered: its hash is not that of its content"]


def test_records_of_two_kinds_with_one_id_are_named_until_one_is_archived(
    site: Site, employees: list[Employee], caplog: pytest.LogCaptureFixture
) -> None:
    employee = employees[0]
    actions.give_account(site.pk, employee.pk, "ada", author=make.SYSTEM, reason="Joined")
    assert not verify().notices
    item = add_record(Item(id=employee.pk, site_id=site.pk), {"name": "Scale"}, author=make.SYSTEM, operation="AddItem")
    output = StringIO()
    call_command("verify_history", stdout=output)
    line = (
        f"Hillside Bakery: change {last(site)} added items.Item {item.pk} with an Id that employees.Employee had "
        "already: enter it anew, then archive it"
    )
    assert line in output.getvalue().splitlines()
    assert prove_history.func() == 0
    assert f"Records of two kinds have one Id. {line}" in caplog.messages
    make.archive(item)
    assert not verify().notices
