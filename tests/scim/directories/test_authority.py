"""What a directory may do to accounts and roles: adopt, rename, set passwords, give roles (DECISIONS 9.2 to 9.5)."""

import pytest
from django.contrib.auth.hashers import get_hasher
from django.db import connection

from records.accounts.actions import set_password
from records.accounts.models import DefaultRole, Directory, Role, SecurityEvent, User
from records.employees.actions import give_account
from scim.models import ProvisioningCall
from tests import make
from tests.make.backoffice import sign_in
from tests.scim import people
from tests.scim.conftest import last_outcome


def account(site, name, *roles):
    """Make an employee at the site with an account that no directory owns, and give it roles."""
    employee = make.make_employee(site, email_address=f"{name}@old.example")
    user = give_account(site.pk, employee.pk, name, author=make.SYSTEM, reason="Works here")
    User.objects.filter(pk=user.pk).update(password=make.make_user().password)
    for role in roles:
        role_of = role if isinstance(role, Role) else Role.objects.get(site=site, default_role=role)
        make.account_actions.set_members(role_of, add=[user], author=make.SYSTEM)
    return user


def replace(**values):
    """Return an operation that replaces these attributes."""
    return {"op": "replace", "value": values}


def hold(user, site, role):
    make.give_role(User.objects.get(pk=user), site, role)


@pytest.mark.parametrize("change", [{"active": False}, {"password": "quite-unlike-a-word"}, {"locale": "de"}])
def test_an_account_with_a_role_at_another_site_is_not_adopted(scim, site, other_site, change):
    user = account(site, "elsewhere", DefaultRole.READER)
    hold(user.pk, other_site, DefaultRole.MANAGER)
    answer = scim.patch(f"/Users/{user.pk}", replace(**change))
    assert answer.status_code == 403, answer.content
    assert scim.delete(f"/Users/{user.pk}").status_code == 403
    user.refresh_from_db()
    assert (user.directory, user.is_active, user.check_password(make.PASSWORD)) == (None, True, True)
    assert user.memberships.count() == 2
    assert "at a site that it does not see" in ProvisioningCall.objects.filter(status=403).latest("pk").outcome


def test_an_account_with_administrative_permissions_is_adopted_only_where_a_superuser_lets_the_directory(scim, site):
    role = make.make_role(site, ["accounts.change_role"])
    user = account(site, "keeper", role)
    assert scim.patch(f"/Users/{user.pk}", replace(locale="de")).status_code == 403
    Directory.objects.update(may_administer=True)
    assert scim.patch(f"/Users/{user.pk}", replace(locale="de")).status_code == 200


def test_passwords_are_ignored_unless_the_directory_may_set_them_and_then_obey_the_policy(scim):
    user = scim.add_user("mira", password="whatever-it-was-4711")["id"]
    assert not User.objects.get(pk=user).has_usable_password()
    assert "password was ignored" in last_outcome()
    Directory.objects.update(may_set_passwords=True)
    for weak in ("1", "password", "1234567890"):
        answer = scim.patch(f"/Users/{user}", replace(password=weak))
        assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    assert scim.patch(f"/Users/{user}", replace(password="quite-unlike-a-word")).status_code == 200
    assert User.objects.get(pk=user).check_password("quite-unlike-a-word")
    assert SecurityEvent.objects.filter(kind="SetPassword", account_id=user).count() == 1


def test_a_password_that_the_account_has_already_changes_nothing_and_ends_no_session(scim, site):
    Directory.objects.update(may_set_passwords=True)
    user = scim.add_user("mira", password="quite-unlike-a-word")
    hold(user["id"], site, DefaultRole.READER)
    browser = sign_in(User.objects.get(pk=user["id"]), site)
    body = {**scim.user(user["id"]), "password": "quite-unlike-a-word"}
    assert scim.put(f"/Users/{user['id']}", body).json()["meta"]["version"] == body["meta"]["version"]
    assert last_outcome().startswith("Nothing changed")
    assert scim.put(f"/Users/{user['id']}", {**body, "title": "Lead"}).status_code == 200
    assert last_outcome() == "Changed: title."
    assert not SecurityEvent.objects.filter(kind="SetPassword", account_id=user["id"]).exists()
    assert browser.get("/admin/").status_code == 200
    assert scim.patch(f"/Users/{user['id']}", replace(password="another-of-them-4711")).status_code == 200
    assert browser.get("/admin/").status_code == 302


@pytest.mark.parametrize("password", ["1", "quite-unlike-a-word"])
def test_access_ends_whatever_password_comes_with_it(scim, password):
    Directory.objects.update(may_set_passwords=True)
    for change in (
        lambda user: scim.patch(f"/Users/{user['id']}", replace(active=False, password=password)),
        lambda user: scim.put(f"/Users/{user['id']}", {**user, "active": False, "password": password}),
    ):
        user = scim.add_user(f"mira {change}")
        answer = change(user)
        assert (answer.status_code, answer.json()["active"]) == (200, False)
        outcome = last_outcome()
        assert outcome == "Changed: active. The password was ignored: the account is switched off."
        assert not User.objects.get(pk=user["id"]).has_usable_password()


@pytest.mark.django_db(transaction=True)
def test_a_password_is_hashed_once_while_no_transaction_is_open_and_after_the_policy_was_checked(scim, monkeypatch):
    Directory.objects.update(may_set_passwords=True)
    hasher = type(get_hasher())
    encode, hashings = hasher.encode, []

    def record(self, password, *rest, **options):
        hashings.append((password, connection.in_atomic_block))
        return encode(self, password, *rest, **options)

    monkeypatch.setattr(hasher, "encode", record)
    user = scim.add_user("mira", password="first-of-them-4711")["id"]
    body = {"password": "second-of-them-4711", "hat": "red"}
    assert scim.put(f"/Users/{user}", {**scim.user(user), **body}).status_code == 200
    assert last_outcome().count("hat") == 1
    assert scim.patch(f"/Users/{user}", replace(password="third-of-them-4711")).status_code == 200
    message = "urn:ietf:params:scim:api:messages:2.0"
    data = {"schemas": [f"{message}:PatchOp"], "Operations": [replace(password="fourth-one-4711")]}
    calls = [{"method": "PATCH", "path": f"/Users/{user}", "data": data}]
    answer = scim.post("/Bulk", {"schemas": [f"{message}:BulkRequest"], "Operations": calls}).json()
    assert answer["Operations"][0]["status"] == "200"
    set_password(User.objects.get(pk=user), "fifth-of-them-4711", author=make.SYSTEM)
    # One that may be the present password is compared with it first.
    words = ["first-of-them", *["second-of-them"] * 2, *["third-of-them"] * 2, *["fourth-one"] * 2, "fifth-of-them"]
    assert hashings == [(f"{word}-4711", False) for word in words]
    assert scim.patch(f"/Users/{user}", replace(password="1")).status_code == 400
    assert scim.patch(f"/Users/{user}", replace(password="sixth-of-them-4711"), If_Match='W/"0"').status_code == 412
    assert len(hashings) == len(words)
    monkeypatch.undo()
    assert User.objects.get(pk=user).check_password("fifth-of-them-4711")
    assert SecurityEvent.objects.filter(kind="SetPassword", account_id=user).count() == 4


def test_a_directory_sets_no_password_and_no_recovery_address_of_an_adopted_account(scim, site):
    Directory.objects.update(may_set_passwords=True)
    user = account(site, "adopted", DefaultRole.READER)
    assert scim.patch(f"/Users/{user.pk}", replace(userName="renamed")).status_code == 200
    assert scim.patch(f"/Users/{user.pk}", replace(password="quite-unlike-a-word")).status_code == 200
    assert "password was ignored: this directory did not make" in last_outcome()
    emails = [{"value": "new@example.com", "type": "work", "primary": True}]
    assert scim.put(f"/Users/{user.pk}", {"userName": "renamed", "emails": emails, "password": "1"}).status_code == 200
    user.refresh_from_db()
    assert user.check_password(make.PASSWORD)
    assert (user.user_name, user.directory_id) == ("renamed", Directory.objects.get().pk)
    assert (user.email, user.recovery_address) == ("new@example.com", "adopted@old.example")


def test_the_recovery_address_of_an_account_that_the_directory_made_follows(scim):
    user = scim.add_user("mira", emails=[{"value": "old@example.com", "type": "work", "primary": True}])["id"]
    emails = [{"value": "new@example.com", "type": "work", "primary": True}]
    assert scim.patch(f"/Users/{user}", replace(emails=emails)).status_code == 200
    assert User.objects.get(pk=user).recovery_address == "new@example.com"


def test_an_account_that_came_to_hold_more_is_only_switched_off_and_keeps_its_facts(scim, site):
    user = scim.add_user("mira")["id"]
    hold(user, site, DefaultRole.SITE_ADMINISTRATOR)
    assert scim.patch(f"/Users/{user}", replace(userName="mallory")).status_code == 403
    assert scim.patch(f"/Users/{user}", replace(locale="de")).status_code == 200
    assert scim.delete(f"/Users/{user}").status_code == 403
    answer = scim.patch(f"/Users/{user}", replace(userName="mallory", locale="fr", active=False))
    assert answer.status_code == 200, answer.content
    stored = User.objects.get(pk=user)
    assert (stored.user_name, stored.locale, stored.is_active) == ("mira", "fr", False)
    assert "change the user name" in last_outcome()
    assert scim.patch(f"/Users/{user}", replace(active=True)).status_code == 403


def test_no_directory_touches_a_superuser(scim):
    user = scim.add_user("mira")["id"]
    User.objects.filter(pk=user).update(is_superuser=True)
    Directory.objects.update(may_administer=True)
    assert scim.patch(f"/Users/{user}", replace(active=False)).status_code == 403
    assert scim.delete(f"/Users/{user}").status_code == 403


@pytest.mark.parametrize("permission", ["accounts.change_role", "accounts.change_user", "sites.change_site"])
def test_a_role_with_an_administrative_permission_is_not_given(scim, site, permission):
    role = make.make_role(site, [permission], name="Helpers")
    user = scim.add_user("mira")["id"]
    member = {"members": [{"value": user}]}
    assert scim.patch(f"/Groups/{role.pk}", replace(**member)).status_code == 403
    assert scim.post("/Groups", {"schemas": [people.GROUP], "displayName": "Helpers"}).status_code == 403
    role.refresh_from_db()
    assert (role.directory, role.memberships.count()) == (None, 0)


def test_nesting_does_not_let_a_directory_give_more(scim, site):
    user = scim.add_user("mira")["id"]
    group = scim.add_group("Team")["id"]
    outer = make.make_role(site, ["accounts.change_user"])
    make.account_actions.set_members(outer, add=[Role.objects.get(pk=group)], author=make.SYSTEM)
    assert scim.patch(f"/Groups/{group}", replace(members=[{"value": user}])).status_code == 403
    assert scim.patch(f"/Groups/{group}", replace(displayName="Other")).status_code == 200


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER])
def test_the_roles_below_site_administrator_can_be_given(scim, site, role):
    user = scim.add_user("mira")["id"]
    key = Role.objects.get(site=site, default_role=role).pk
    assert scim.patch(f"/Groups/{key}", replace(members=[{"value": user}])).status_code == 200
    assert SecurityEvent.objects.filter(kind="GiveRole", account_id=user).count() == 1
