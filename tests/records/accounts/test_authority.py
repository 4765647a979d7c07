"""Who may act on whom: identity acts, grants, keys and directories against one table of expected answers.

Here the one question is asked itself; the files beside this one ask it through the doors.
"""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from records.accounts import actions
from records.accounts.authority import (
    ADMINISTRATIVE,
    IDENTITY_ACTS,
    TAKE_OVER,
    Act,
    Actor,
    NotAllowedError,
    actor_of,
    may_act,
)
from records.accounts.default_roles import permissions_of
from records.accounts.models import DefaultRole, Directory, Role, User
from records.history.models import Channel
from records.history.trail import Author
from records.sites.models import Site
from tests import make
from tests.make.authority import ACTORS, ALONE, ROLES, TARGETS, World

pytestmark = pytest.mark.django_db

EVERYBODY = (*ACTORS, *ALONE)
GIVERS = {("site_administrator", "site"), ("superuser", "site"), ("superuser", "elsewhere")}
"""Who gives the default roles of which site: only those who hold everything that they permit there."""


@pytest.mark.parametrize("act", sorted(IDENTITY_ACTS))
@pytest.mark.parametrize("name", ["reader", "manager", "superuser", "accounts.change_user"])
def test_people_act_on_their_own_account_after_proving_who_they_are(world: World, name: str, act: Act) -> None:
    user = world.actors[name]
    assert may_act(Actor(user=user), act, user) == (name == "superuser" and act not in TAKE_OVER)
    assert may_act(Actor(user=user, is_reauthenticated=True), act, user)


@pytest.mark.parametrize("channel", [Channel.JSON, Channel.IMPORT, Channel.BACKOFFICE])
@pytest.mark.parametrize(("name", "answer"), [("site_administrator", True), ("manager", False)])
def test_the_key_and_the_import_of_a_person_may_what_the_person_may(
    world: World, channel: Channel, name: str, answer: bool
) -> None:
    actor = actor_of(Author(world.actors[name].pk, "Uma", channel))
    assert may_act(actor, Act.SET_RECOVERY_ADDRESS, world.targets["reader"]) == answer


@pytest.mark.parametrize("act", sorted(IDENTITY_ACTS))
def test_an_account_that_ended_may_nothing(world: World, act: Act) -> None:
    keeper = world.actors["site_administrator"]
    User.objects.filter(pk=keeper.pk).update(is_active=False)
    assert not may_act(actor_of(make.author_of(keeper)), act, world.targets["no role"])


@pytest.mark.parametrize("act", sorted(IDENTITY_ACTS))
def test_a_role_at_an_archived_site_comes_back_with_it_and_so_protects_its_account(world: World, act: Act) -> None:
    target, keeper = world.targets["reader elsewhere"], world.actors["site_administrator"]
    make.give_role(keeper, world.elsewhere, DefaultRole.SITE_ADMINISTRATOR)
    assert may_act(Actor(user=keeper), act, target)
    Site.objects.filter(pk=world.elsewhere.pk).update(is_archived=True)
    assert not may_act(Actor(user=keeper), act, target)
    assert not may_act(Actor(directory=directory_of(world.site)), Act.ADOPT, target)
    assert may_act(Actor(user=world.actors["superuser"]), act, target)


@pytest.mark.parametrize("at", ["site", "elsewhere"])
@pytest.mark.parametrize(("name", "role"), list(itertools.product(EVERYBODY, ROLES)))
def test_roles_are_given_by_those_who_hold_all_that_they_permit(world: World, name: str, role: str, at: str) -> None:
    target = Role.objects.get(site=getattr(world, at), default_role=ROLES[role])
    assert may_act(Actor(user=world.actors[name]), Act.GIVE_ROLE, target) == ((name, at) in GIVERS)


@pytest.mark.parametrize("what", ["add oneself", "add a permission", "nest the own role"])
def test_change_role_alone_adds_nobody_and_no_permission(world: World, what: str) -> None:
    user = world.actors["accounts.change_role"]
    author = make.author_of(user)
    administrators = Role.objects.get(site=world.site, default_role=DefaultRole.SITE_ADMINISTRATOR)
    own = Role.objects.get(memberships__user=user)
    permissions = Permission.objects.filter(codename="change_user")
    ways: dict[str, Callable[[], Any]] = {
        "add oneself": lambda: actions.set_members(administrators, add=[user], author=author),
        "add a permission": lambda: actions.update_role(own, permissions=permissions, author=author, reason="x"),
        "nest the own role": lambda: actions.set_members(administrators, add=[own], author=author),
    }
    with pytest.raises(NotAllowedError):
        ways[what]()
    assert set(own.permissions.values_list("codename", flat=True)) == {"change_role", "view_role"}
    assert not administrators.memberships.filter(user=user).exists()


def test_nesting_counts_as_giving(world: World) -> None:
    inner = make.make_role(world.site, [])
    outer = make.make_role(world.site, ["items.add_item"])
    actions.set_members(outer, add=[inner], author=make.SYSTEM)
    assert not may_act(Actor(user=world.actors["accounts.change_role"]), Act.GIVE_ROLE, inner)


def directory_of(site: Site, *more: Site, **fields: bool) -> Directory:
    """Make a directory of the site that also sees other sites."""
    account = make.make_user(site=site, is_service_account=True)
    directory = Directory.objects.create(name=f"D {account.pk}", home_site=site, service_account=account, **fields)
    directory.sites.add(site, *more)
    return directory


OWNERS = ("made", "adopted", "unowned", "another's")
PROVISIONED_TARGETS = [name for name in TARGETS if name not in ("service account", "owned", "equal custom role")]


@pytest.mark.parametrize("may_administer", [False, True], ids=["plain", "administers"])
@pytest.mark.parametrize(("ownership", "name"), list(itertools.product(OWNERS, PROVISIONED_TARGETS)))
def test_identity_acts_of_directories(world: World, ownership: str, name: str, may_administer: bool) -> None:
    directory = directory_of(world.site, may_administer=may_administer)
    owner = {"unowned": None, "another's": directory_of(world.site)}.get(ownership, directory)
    target = User.objects.get(pk=world.targets[name].pk)
    target.directory, target.made_by_directory = owner, ownership == "made"
    inside = {"no role", "reader", "standard", "manager"} | ({"site_administrator"} if may_administer else set())
    is_manageable, is_inside = owner in (None, directory), name in inside
    expected = {
        Act.ADOPT: is_manageable and name != "superuser" and (is_inside or owner is not None),
        Act.END_ACCESS: is_manageable and name != "superuser" and (is_inside or owner is not None),
        Act.RENAME: is_manageable and is_inside,
        Act.GIVE_ACCESS: is_manageable and is_inside,
        Act.REMOVE: is_manageable and is_inside,
        Act.SET_PASSWORD: ownership == "made" and is_inside,
        Act.SET_RECOVERY_ADDRESS: ownership == "made" and is_inside,
        Act.SET_FACTOR: False,
    }
    assert {act: may_act(Actor(directory=directory), act, target) for act in expected} == expected


@pytest.mark.parametrize("wide", [False, True], ids=["one site", "two sites"])
@pytest.mark.parametrize("name", EVERYBODY)
def test_tokens_of_a_directory_are_made_by_those_who_hold_what_it_may_give(world: World, name: str, wide: bool) -> None:
    directory = directory_of(world.site, *([world.elsewhere] if wide else []))
    answer = name == "superuser" or (name == "site_administrator" and not wide)
    assert may_act(Actor(user=world.actors[name]), Act.PROVISION, directory) == answer


@pytest.mark.parametrize("name", [name for name in EVERYBODY if name != "superuser"])
def test_a_persons_keys_are_made_by_the_person(world: World, name: str) -> None:
    user = world.actors[name]
    assert may_act(Actor(user=user), Act.ISSUE_CREDENTIAL, user)
    assert not may_act(Actor(user=user), Act.ISSUE_CREDENTIAL, world.targets["reader"])


@pytest.mark.parametrize(("name", "role"), list(itertools.product(EVERYBODY, ROLES)))
def test_keys_of_a_service_account_are_made_by_those_who_hold_what_it_holds(world: World, name: str, role: str) -> None:
    service = make.make_user(site=world.site, role=ROLES[role], is_service_account=True)
    answer = name in ("site_administrator", "superuser")
    assert may_act(Actor(user=world.actors[name]), Act.ISSUE_CREDENTIAL, service) == answer


@pytest.mark.parametrize("role", DefaultRole)
def test_only_site_administrators_hold_administrative_permissions(role: DefaultRole) -> None:
    assert bool(permissions_of(role) & ADMINISTRATIVE) == (role == DefaultRole.SITE_ADMINISTRATOR)
