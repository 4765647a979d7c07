"""No interface and no page stores an e-mail address that only looks like an ordinary one."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole, User
from records.employees.models import Employee
from records.sites.models import Site
from tests import make
from tests.make.backoffice import form_of, press, save, sign_in
from tests.make.transfer import bring_in
from tests.scim import people
from tests.scim.conftest import Scim

pytestmark = pytest.mark.django_db

OLD = "mira@corp.example"
ODD = {
    "zero width space": "mira@co\u200brp.example",
    "soft hyphen": "mira@co\u00adrp.example",
    "right-to-left override": "mira@\u202ecorp.example",
    "Cyrillic o": "mira@c\u043erp.example",
    "Greek rho": "mira@co\u03c1p.example",
}
PLAIN = ["mira@bäckerei.example", "mira@пекарня.example", "mira@xn--bckerei-5wa.example", "o'brien+qa@corp.example"]


def by_key(site: Site, user: User, address: str) -> None:
    """Change the address by the JSON interface."""
    headers = make.make_key(site, DefaultRole.SITE_ADMINISTRATOR).headers
    body = Client().get(f"/employee/GetEmployee/{user.pk}", headers=headers).json()
    path = f"/employee/UpdateEmployee/{user.pk}"
    Client().put(path, {**body, "EmailAddress": address}, content_type="application/json", headers=headers)


def by_form(site: Site, user: User, address: str) -> None:
    """Change the address on the employee's page."""
    save(_administrator(site), Employee.objects.get(user=user), email_address=address, change_reason="Asked for")


def by_import(site: Site, user: User, address: str) -> None:
    """Change the address by a file."""
    # Where the report refuses the row, there is nothing to confirm.
    with suppress(AssertionError, TypeError):
        bring_in(_administrator(site), Employee, [{"Id": str(user.pk), "EmailAddress": address}])


def by_account(site: Site, user: User, address: str) -> None:
    """Change the recovery address on the account's page."""
    path = reverse("admin:accounts_user_step", args=(user.pk, "recovery-address"))
    press(_administrator(site), path, {"recovery_address": address, "change_reason": "Asked for"})


def by_directory(site: Site, user: User, address: str, *, put: bool = False) -> None:
    """Change the address by provisioning."""
    directory = people.make_directory(site)
    User.objects.filter(pk=user.pk).update(directory=directory, made_by_directory=True)
    scim = Scim(people.make_token(directory))
    emails = [{"value": address, "type": "work", "primary": True}]
    if put:
        scim.put(f"/Users/{user.pk}", {**scim.user(str(user.pk)), "emails": emails})
    else:
        scim.patch(f"/Users/{user.pk}", {"op": "replace", "path": "emails", "value": emails})


def by_directory_as_a_whole(site: Site, user: User, address: str) -> None:
    """Replace the user by provisioning."""
    by_directory(site, user, address, put=True)


def _administrator(site: Site) -> Client:
    return sign_in(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), site)


DOORS = (by_key, by_form, by_import, by_account, by_directory, by_directory_as_a_whole)


@pytest.fixture
def mira(site: Site) -> User:
    """Return somebody with an account whose addresses are the old one."""
    user = make.make_user("mira", site=site, role=DefaultRole.READER, email=OLD)
    make.make_employee(site, id=user.pk, user=user, email_address=OLD)
    return user


@pytest.mark.parametrize("address", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_an_address_that_only_looks_like_another(
    site: Site, mira: User, door: Callable[..., None], address: str
) -> None:
    door(site, mira, address)
    mira.refresh_from_db()
    assert {mira.email, mira.recovery_address} == {OLD}
    assert mira.pending_address == ""
    assert mira.employee.email_address == OLD


@pytest.mark.parametrize("address", PLAIN)
@pytest.mark.parametrize("door", DOORS)
def test_an_address_in_one_script_for_each_word_is_taken(
    site: Site, mira: User, door: Callable[..., None], address: str
) -> None:
    door(site, mira, address)
    mira.refresh_from_db()
    assert mira.recovery_address == address


@pytest.mark.parametrize("address", ODD.values(), ids=ODD.keys())
def test_nobody_new_gets_such_an_address(site: Site, address: str) -> None:
    scim = Scim(people.make_token(people.make_directory(site)))
    response = scim.post("/Users", people.user_body("new", emails=[{"value": address, "type": "work"}]))
    assert (response.status_code, response.json()["scimType"]) == (400, "invalidValue")
    headers = make.make_key(site).headers
    body = make.employee_body(EmailAddress=address)
    answer: Any = Client().post("/employee/AddEmployee", body, content_type="application/json", headers=headers)
    assert answer.status_code == 400
    assert [fault["Field"] for fault in answer.json()["Fields"]] == ["EmailAddress"]
    client, page = _administrator(site), reverse("admin:accounts_user_add")
    before = User.objects.count()
    client.post(page, {**form_of(client.get(page)), "user_name": "new", "email": address})
    assert User.objects.count() == before


def test_an_address_that_was_stored_before_blocks_no_other_change(site: Site, mira: User) -> None:
    odd = ODD["Cyrillic o"]
    Employee.objects.filter(user=mira).update(email_address=odd)
    User.objects.filter(pk=mira.pk).update(email=odd, recovery_address=odd)
    save(_administrator(site), Employee.objects.get(user=mira), position="Baker", change_reason="New job")
    assert Employee.objects.get(user=mira).position == "Baker"
