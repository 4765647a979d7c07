"""Erasing what is private to an employee who left: record, history, account; the name stays, and the chain proves."""

import datetime
import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import models
from django.urls import reverse

from records.accounts.models import DefaultRole, SecurityKind, User, UserAttribute
from records.accounts.security import security_event
from records.employees import actions
from records.employees.erasure import PRIVATE, erase_private_facts
from records.employees.models import Employee
from records.history.models import Change
from records.history.verification import verify
from records.reference.models import Nationality
from records.retention.actions import set_hold
from records.sites.models import Site
from records.sites.writing import RecordNotFoundError
from tests import make
from tests.make.backoffice import address, browser, press
from tests.scim import people
from tests.scim.conftest import Scim

BIRTHDAY = datetime.datetime(1984, 3, 9, tzinfo=datetime.UTC)
SECRETS = ("1984-03-09", "elm street 12", "oak street 3", "555-0100", "555-0199", "a bad back")


@pytest.fixture
def employee(site: Site) -> Employee:
    """Return an employee with an account, who moved."""
    record = make.make_employee(
        site,
        last_name="Przybylski",
        address="Elm Street 12",
        phone="555-0100",
        mobile="555-0199",
        date_of_birth=BIRTHDAY,
        nationality=Nationality.objects.order_by("name").first(),
        notes="Has a bad back",
    )
    actions.give_account(site.pk, record.pk, "wilhelmina", author=make.SYSTEM, reason="Starts")
    values = {"address": "Oak Street 3"}
    actions.update_employee(site.pk, record.pk, values, author=make.SYSTEM, reason="Moved away from Elm Street 12")
    return record


def leave(employee: Employee) -> None:
    """Archive the employee."""
    actions.archive_employee(employee.site_id, employee.pk, archived=True, author=make.SYSTEM, reason="Left")


def erase(employee: Employee, reason: str = "Asked by letter") -> Employee:
    """Erase the employee's private facts."""
    return erase_private_facts(employee.site_id, employee.pk, author=make.SYSTEM, reason=reason)


def everything() -> str:
    """Return all that the database holds of employees, accounts and changes."""
    rows = [list(model._base_manager.values()) for model in (Employee, User, UserAttribute, Change)]
    return json.dumps(rows, default=str, ensure_ascii=False).casefold()


def test_nothing_private_is_left_and_the_chain_verifies(employee: Employee) -> None:
    leave(employee)
    assert all(secret in everything() for secret in SECRETS)
    erase(employee)
    assert not any(secret in everything() for secret in SECRETS)
    assert not verify().faults
    employee.refresh_from_db()
    assert (employee.date_of_birth, employee.nationality, employee.last_name) == (None, None, "Przybylski")
    employee.clean_fields()
    change = Change.objects.filter(record_id=employee.pk, model="employees.Employee").latest("number")
    assert (change.operation, change.reason) == ("ErasePrivateFacts", "Asked by letter")
    nationalities = [
        entry
        for fields in Change.objects.filter(record_id=employee.pk).values_list("fields", flat=True)
        for entry in fields
        if entry["field"] == "nationality"
    ]
    assert nationalities
    assert all(entry["new"] is None or "erased" in entry["new"] for entry in nationalities)


def test_what_a_directory_sent_is_erased_from_the_history_of_the_account_too(site: Site) -> None:
    scim = Scim(people.make_token(people.make_directory(site)))
    attributes = {
        "phoneNumbers": [{"value": "555-0100", "type": "work"}, {"value": "555-0199", "type": "mobile"}],
        "addresses": [{"formatted": "Elm Street 12", "type": "home"}],
    }
    user = scim.add_user("wilhelmina", **attributes)
    addresses = [{"formatted": "Oak Street 3", "type": "work"}]
    assert scim.patch(f"/Users/{user['id']}", {"op": "replace", "value": {"addresses": addresses}}).status_code == 200
    secrets = ("elm street 12", "oak street 3", "555-0100", "555-0199")
    assert all(secret in everything() for secret in secrets)
    assert scim.delete(f"/Users/{user['id']}").status_code == 204
    employee = Employee.objects.get(pk=user["id"])
    erase(employee)
    assert [secret for secret in secrets if secret in everything()] == []
    assert not verify().faults
    assert "Street" not in browser(site).get(reverse("admin:accounts_user_history", args=(employee.pk,))).text
    before = Change.objects.count()
    with pytest.raises(ValidationError, match="There is nothing to erase"):
        erase(employee)
    assert Change.objects.count() == before


def test_a_number_that_only_the_account_has_is_erased_although_the_employee_has_nothing_private(site: Site) -> None:
    scim = Scim(people.make_token(people.make_directory(site)))
    user = scim.add_user("wilhelmina", phoneNumbers=[{"value": "555-0142", "type": "fax"}])
    assert scim.delete(f"/Users/{user['id']}").status_code == 204
    employee = Employee.objects.get(pk=user["id"])
    assert employee.phone == employee.mobile == ""
    assert "555-0142" in everything()
    erase(employee)
    assert "555-0142" not in everything()
    assert not verify().faults


def test_a_change_of_the_account_at_another_site_with_the_same_number_gives_no_fault(
    site: Site, other_site: Site
) -> None:
    scim = Scim(people.make_token(people.make_directory(site)))
    user = scim.add_user("wilhelmina", phoneNumbers=[{"value": "555-0100", "type": "work"}])
    account = User.objects.get(pk=user["id"])
    number = Change.objects.filter(record_id=account.pk, model="accounts.User", chain=site.pk).latest("number").number
    elsewhere = Change.objects.filter(record_id=account.pk, chain=other_site.pk)
    while not elsewhere.filter(number=number).exists():
        assert Change.objects.filter(chain=other_site.pk).latest("number").number < number
        security_event(SecurityKind.KEY_FIRST_USED, account=account, detail="Scale", site_id=other_site.pk)
    assert scim.delete(f"/Users/{user['id']}").status_code == 204
    erase(Employee.objects.get(pk=user["id"]))
    assert "555-0100" not in everything()
    assert not verify().faults


def test_repeating_it_changes_nothing(employee: Employee) -> None:
    leave(employee)
    erase(employee)
    before = Change.objects.count()
    with pytest.raises(ValidationError, match="There is nothing to erase"):
        erase(employee)
    assert Change.objects.count() == before
    assert not verify().faults


def test_somebody_who_comes_back_can_be_written_on_and_erased_again(site: Site, employee: Employee) -> None:
    leave(employee)
    erase(employee)
    actions.archive_employee(site.pk, employee.pk, archived=False, author=make.SYSTEM, reason="Back")
    actions.update_employee(site.pk, employee.pk, {"phone": "555-7777"}, author=make.SYSTEM)
    leave(employee)
    erase(employee)
    assert "555-7777" not in everything()
    assert not verify().faults


def test_those_who_still_work_here_are_not_erased(employee: Employee) -> None:
    with pytest.raises(ValidationError, match="Archive the employee first"):
        erase(employee)
    assert "oak street 3" in everything()


def test_a_hold_another_site_and_a_telling_reason_refuse_it(site: Site, other_site: Site, employee: Employee) -> None:
    leave(employee)
    with pytest.raises(RecordNotFoundError):
        erase_private_facts(other_site.pk, employee.pk, author=make.SYSTEM, reason="Asked")
    with pytest.raises(ValidationError, match="must not say"):
        erase(employee, reason="Lives in OAK STREET 3 now")
    set_hold(Employee, site.pk, employee.pk, author=make.SYSTEM, reason="Court")
    with pytest.raises(ValidationError, match="on legal hold"):
        erase(employee)
    assert "oak street 3" in everything()


def test_only_a_site_administrator_has_the_button_and_only_for_those_who_left(site: Site, employee: Employee) -> None:
    path = reverse("admin:employees_employee_step", args=(employee.pk, "erase-private-facts"))
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert path not in client.get(address(employee, "read")).text
    leave(employee)
    assert path not in browser(site).get(address(employee, "read")).text
    assert browser(site).get(path).status_code == 403
    assert path in client.get(address(employee, "read")).text
    assert press(client, path, {"change_reason": "Asked"}).status_code == 302
    assert client.get(address(employee, "read")).status_code == 200
    assert "Oak Street" not in client.get(address(employee, "history")).text


def test_every_private_field_of_the_interface_is_erased() -> None:
    from records.employees.serializers import EmployeeSerializer

    fields: Any = {field.name: field for field in Employee._meta.get_fields()}
    assert set(PRIVATE) <= set(fields)
    interface_names = {"".join(part.title() for part in name.split("_")) for name in PRIVATE}
    assert {name.removesuffix("Id") for name in EmployeeSerializer.Meta.private} == interface_names


def test_the_history_does_not_verify_when_an_erased_fact_is_written_back(employee: Employee) -> None:
    leave(employee)
    erase(employee)
    Employee.objects.filter(pk=employee.pk).update(phone="555-0100")
    assert verify().faults
    models.QuerySet(Employee).filter(pk=employee.pk).update(phone="")
    assert verify().faults
