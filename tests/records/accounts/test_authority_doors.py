"""Identity acts and grants through every door of people: each case of one table of actors and targets by itself.

The accounts are made once for all cases; each case is taken back at its end.
"""

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from records.accounts.authority import IDENTITY_ACTS, Act, Actor, may_act
from records.accounts.models import Directory, Role, RoleMembership, User
from records.employees.models import Employee
from tests import make
from tests.make.authority import ACTORS, ALONE, ROLES, TARGETS, World
from tests.make.backoffice import form_of, save
from tests.make.transfer import bring_in
from tests.scim import people
from tests.scim.conftest import Scim

pytestmark = pytest.mark.django_db

REACHABLE_TARGETS = {
    "superuser": set(TARGETS),
    "site_administrator": {"no role", "reader", "standard", "manager", "service account", "owned", "equal custom role"},
    "accounts.change_user": {"no role"},
}
"""The expected answer for every identity act: whom each actor reaches; who is not named reaches nobody.

Never an equal or a higher account, never one with a role at a site where the actor holds less, never a superuser.
"""


def reaches(actor: str, target: str) -> bool:
    """Return the expected answer of the table."""
    return target in REACHABLE_TARGETS.get(actor, set())


each_pair = pytest.mark.parametrize(("actor", "target"), list(itertools.product(ACTORS, TARGETS)))


@pytest.mark.parametrize(("actor", "target"), list(itertools.product((*ACTORS, *ALONE), TARGETS)))
def test_the_one_question_answers_as_the_table_says(world: World, actor: str, target: str) -> None:
    asker = Actor(user=world.actors[actor])
    answers = {act: may_act(asker, act, world.targets[target]) for act in IDENTITY_ACTS}
    assert answers == dict.fromkeys(IDENTITY_ACTS, reaches(actor, target))


# --- The back-office pages of accounts ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Door:
    """One identity act in the back-office: how it is asked for, what shows that it was done, where it applies."""

    act: Act
    path: str
    data: dict[str, str]
    was_done: Callable[[User], bool]
    applies: Callable[[str], bool] = lambda target: True
    prepare: Callable[[User], Any] = lambda user: None


def _of_people(target: str) -> bool:
    return target != "service account"


def _not_owned(target: str) -> bool:
    return target != "owned"


def _give_factor(user: User) -> None:
    Authenticator.objects.create(user=user, type="totp", data={"secret": "x"})


def _switch_off(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


NEW = "new@corp.example"
DOORS = (
    Door(Act.RENAME, "change/", {"user_name": "renamed"}, lambda user: user.user_name == "renamed", _not_owned),
    Door(
        Act.SET_RECOVERY_ADDRESS,
        "do/recovery-address/",
        {"recovery_address": NEW},
        lambda user: user.recovery_address == NEW,
        _of_people,
    ),
    Door(Act.END_SESSIONS, "do/end-sessions/", {}, lambda user: user.session_epoch > 0, _of_people),
    Door(
        Act.SET_FACTOR,
        "do/remove-factors/",
        {},
        lambda user: not Authenticator.objects.filter(user=user).exists(),
        _of_people,
        _give_factor,
    ),
    Door(Act.END_ACCESS, "do/end-access/", {}, lambda user: not user.is_active),
    Door(Act.GIVE_ACCESS, "do/give-access/", {}, lambda user: user.is_active, prepare=_switch_off),
)


@pytest.fixture(scope="module")
def forms() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the forms that were opened, by the actor and the address: each is opened once for all cases."""
    return {}


@each_pair
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.act.name)
def test_the_pages_of_accounts_do_what_the_table_says(
    world: World, forms: dict[tuple[str, str], dict[str, Any]], door: Door, actor: str, target: str
) -> None:
    user, expected = world.targets[target], reaches(actor, target) and door.applies(target)
    door.prepare(user)
    # Whoever is refused the page can still send what it shows to others.
    shown = actor if expected else "superuser", f"/admin/accounts/user/{user.pk}/{door.path}"
    if shown not in forms:
        forms[shown] = _form(world.browser_of(world.actors[shown[0]]), shown[1])
    client = world.browser_of(world.actors[actor])
    client.post(shown[1], {**forms[shown], **door.data, "change_reason": "Asked for"})
    assert door.was_done(User.objects.get(pk=user.pk)) == expected


def _form(client: Client, place: str) -> dict[str, Any]:
    answer = client.get(place)
    return form_of(answer) if answer.status_code == 200 else {}


# --- The recovery address by the doors of employees -----------------------------------------------------------------

WITH_EMPLOYEES = tuple(name for name in TARGETS if name != "service account")
EDITORS = {"manager", "site_administrator", "superuser"}
"""Who may change employees: each changes the e-mail address, and the recovery address only as the table says."""


def by_key(world: World, actor: User, employee: Employee) -> None:
    """Change the address by the JSON interface."""
    headers = make.make_key(world.site, user=actor).headers
    client = Client()
    body = client.get(f"/employee/GetEmployee/{employee.pk}", headers=headers).json()
    path = f"/employee/UpdateEmployee/{employee.pk}"
    client.put(path, {**body, "EmailAddress": NEW}, content_type="application/json", headers=headers)


def by_form(world: World, actor: User, employee: Employee) -> None:
    """Change the address on the employee's page."""
    client = world.browser_of(actor)
    save(client, employee, email_address=NEW, change_reason="Asked for")


def by_import(world: World, actor: User, employee: Employee) -> None:
    """Change the address by a file."""
    client = world.browser_of(actor)
    client.post("/admin/site/", {"site": str(world.site.pk)})
    bring_in(client, Employee, [{"Id": str(employee.pk), "EmailAddress": NEW}])


@pytest.mark.parametrize(("actor", "target"), list(itertools.product(sorted(EDITORS), WITH_EMPLOYEES)))
@pytest.mark.parametrize("door", [by_key, by_form, by_import])
def test_the_recovery_address_follows_the_fact_as_the_table_says(
    world: World, door: Callable[..., None], actor: str, target: str
) -> None:
    user = world.targets[target]
    door(world, world.actors[actor], Employee.objects.get(user=user))
    account = User.objects.get(pk=user.pk)
    assert account.email == NEW
    assert (account.recovery_address == NEW) == reaches(actor, target)


@pytest.mark.parametrize("actor", sorted(set(ACTORS) - EDITORS))
@pytest.mark.parametrize("door", [by_key, by_form, by_import])
def test_whoever_may_not_change_employees_changes_no_address(
    world: World, door: Callable[..., None], actor: str
) -> None:
    user = world.targets["reader"]
    # The pages that the door goes through are closed to this actor.
    with suppress(AssertionError, AttributeError, KeyError, TypeError):
        door(world, world.actors[actor], Employee.objects.get(user=user))
    account = User.objects.get(pk=user.pk)
    assert NEW not in (account.email, account.recovery_address)


# --- Roles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("actor", "role"), list(itertools.product(ACTORS, ROLES)))
@pytest.mark.parametrize("at", ["site", "elsewhere"])
def test_a_role_is_given_by_the_page_of_its_members_as_the_table_says(
    world: World, actor: str, role: str, at: str
) -> None:
    target = Role.objects.get(site=getattr(world, at), default_role=ROLES[role])
    client, member = world.browser_of(world.actors[actor]), world.targets["no role"]
    client.post(f"/admin/accounts/role/{target.pk}/members/", {"users": [str(member.pk)], "change_reason": "Asked for"})
    expected = actor == "superuser" or (actor == "site_administrator" and at == "site")
    assert RoleMembership.objects.filter(role=target, user=member).exists() == expected


# --- Directories ----------------------------------------------------------------------------------------------------

PROVISIONED_TARGETS = ("no role", "reader", "manager", "site_administrator", "reader elsewhere", "superuser")
OWNERS = ("made", "adopted", "unowned", "another's")
INSIDE = {"no role", "reader", "manager"}
"""Whom a directory that administers nothing can hold: accounts with roles of its site that are not administrative."""


@dataclass(frozen=True)
class Provision:
    """One act of a directory: the SCIM call, what shows that it was done, and for whom the table allows it."""

    name: str
    body: Any
    was_done: Callable[[User], bool]
    owners: frozenset[str]
    any_rank: bool = False
    """Whether the directory may do it to an account of its own that was given a higher role later."""
    prepare: Callable[[User], Any] = lambda user: None


def _replace(**values: Any) -> Any:
    return {"op": "replace", "value": values}


NOT_ANOTHERS = frozenset({"made", "adopted", "unowned"})
EMAILS = [{"value": NEW, "type": "work", "primary": True}]
PASSWORD = "quite-unlike-a-word"
PROVISIONS = (
    Provision("rename", _replace(userName="renamed"), lambda user: user.user_name == "renamed", NOT_ANOTHERS),
    Provision("password", _replace(password=PASSWORD), lambda user: user.check_password(PASSWORD), frozenset({"made"})),
    Provision(
        "recovery address", _replace(emails=EMAILS), lambda user: user.recovery_address == NEW, frozenset({"made"})
    ),
    Provision("end access", _replace(active=False), lambda user: not user.is_active, NOT_ANOTHERS, any_rank=True),
    Provision("give access", _replace(active=True), lambda user: user.is_active, NOT_ANOTHERS, prepare=_switch_off),
    Provision("remove", None, lambda user: user.removed is not None, NOT_ANOTHERS),
)


def is_allowed(act: Provision, owner: str, target: str) -> bool:
    """Return the expected answer of the table of directories."""
    if owner not in act.owners or target == "superuser":
        return False
    return target in INSIDE or (act.any_rank and owner != "unowned")


BY_RULE = [
    *itertools.product([""], OWNERS, PROVISIONED_TARGETS),
    *itertools.product(["read_only", "dry_run"], ["made"], ["reader"]),
    *itertools.product(["read_only", "dry_run"], ["unowned"], ["no role"]),
]
"""The rule of the token, the owner of the account, and the role that the account holds."""


BULK = "urn:ietf:params:scim:api:messages:2.0:BulkRequest"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


def _by_patch(scim: Scim, path: str, operation: Any) -> None:
    scim.patch(path, operation)


def _by_put(scim: Scim, path: str, operation: Any) -> None:
    """Replace the user by what is read of it, with the values of the operation."""
    response = scim.get(path)
    body = response.json() if response.status_code == 200 else people.user_body("anybody")
    scim.put(path, {**body, **operation["value"]})


def _by_bulk(scim: Scim, path: str, operation: Any) -> None:
    data = {"schemas": [PATCH], "Operations": [operation]}
    scim.post("/Bulk", {"schemas": [BULK], "Operations": [{"method": "PATCH", "path": path, "data": data}]})


@pytest.fixture(scope="module")
def directories(world: World, django_db_blocker: Any) -> list[Directory]:
    """Make two directories of the site beside the accounts, once for all cases."""
    with django_db_blocker.unblock():
        return [people.make_directory(world.site, may_set_passwords=True) for _ in range(2)]


def _do(
    world: World,
    directories: list[Directory],
    act: Provision,
    rule: str,
    owner: str,
    target: str,
    by: Callable[[Scim, str, Any], None] = _by_patch,
) -> User:
    """Let a directory do the act with a token of this rule, and return the account as it is then."""
    directory, other_directory = directories
    user = world.targets[target]
    act.prepare(user)
    owners = {"unowned": None, "another's": other_directory}
    User.objects.filter(pk=user.pk).update(directory=owners.get(owner, directory), made_by_directory=owner == "made")
    rules: dict[str, Any] = {rule: True} if rule else {}
    scim = Scim(people.make_token(directory, **rules))
    if act.body is None:
        scim.delete(f"/Users/{user.pk}")
    else:
        by(scim, f"/Users/{user.pk}", act.body)
    return User.objects.get(pk=user.pk)


@pytest.mark.parametrize(("rule", "owner", "target"), BY_RULE)
@pytest.mark.parametrize("act", PROVISIONS, ids=lambda act: act.name)
def test_a_directory_does_what_the_table_says_and_nothing_with_a_token_that_only_reads_or_tries(
    world: World, directories: list[Directory], act: Provision, rule: str, owner: str, target: str
) -> None:
    assert act.was_done(_do(world, directories, act, rule, owner, target)) == (
        is_allowed(act, owner, target) and not rule
    )


@pytest.mark.parametrize(
    ("owner", "target"),
    [*itertools.product(OWNERS, ["reader", "site_administrator"]), ("made", "superuser"), ("made", "reader elsewhere")],
)
@pytest.mark.parametrize("by", [_by_put, _by_bulk])
@pytest.mark.parametrize("act", [act for act in PROVISIONS if act.body], ids=lambda act: act.name)
def test_a_put_and_an_operation_of_bulk_do_no_more_than_a_patch(
    world: World,
    directories: list[Directory],
    act: Provision,
    by: Callable[[Scim, str, Any], None],
    owner: str,
    target: str,
) -> None:
    assert act.was_done(_do(world, directories, act, "", owner, target, by)) == is_allowed(act, owner, target)


@pytest.mark.parametrize("rule", ["read_only", "dry_run"])
@pytest.mark.parametrize("by", [_by_put, _by_bulk])
@pytest.mark.parametrize("act", [act for act in PROVISIONS if act.body], ids=lambda act: act.name)
def test_a_token_that_only_reads_or_tries_does_nothing_by_put_and_bulk(
    world: World,
    directories: list[Directory],
    act: Provision,
    by: Callable[[Scim, str, Any], None],
    rule: str,
) -> None:
    assert not act.was_done(_do(world, directories, act, rule, "made", "reader", by))
