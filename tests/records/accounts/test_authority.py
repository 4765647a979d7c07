"""Who may act on whom: identity acts, grants, keys and directories against one table of expected answers."""

import pytest
from django.contrib.auth.models import Permission

from records.accounts import actions
from records.accounts.authority import (
    ADMINISTRATIVE,
    IDENTITY_ACTS,
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

ROLES = {role.value: role for role in DefaultRole}
CUSTOM = ("accounts.change_user", "accounts.change_role", "accounts.add_user", "accounts.change_directory")
TARGETS = ("no role", *ROLES, "reader elsewhere", "superuser", "service account")
REACHED = {"no role", "reader", "standard", "manager", "service account"}


@pytest.fixture
def site(db: None) -> Site:
    return make.make_site("Hill")


@pytest.fixture
def elsewhere(db: None) -> Site:
    return make.make_site("Harbour")


def actor_named(name: str, site: Site) -> User:
    """Make the account of an actor: of a default role, or with one custom permission alone."""
    if name == "superuser":
        return make.make_user(site=site, is_superuser=True)
    if name in ROLES:
        return make.make_user(site=site, role=ROLES[name])
    user = make.make_user(site=site)
    make.make_role(site, [name], [user])
    return user


def target_named(name: str, site: Site, elsewhere: Site) -> User:
    """Make the account that is acted upon."""
    if name == "superuser":
        return make.make_user(site=site, is_superuser=True)
    if name == "service account":
        return make.make_user(site=site, role=DefaultRole.READER, is_service_account=True)
    user = make.make_user(site=site, role=ROLES.get(name))
    if name == "reader elsewhere":
        make.give_role(user, elsewhere, DefaultRole.READER)
    return user


def reached(actor: str, target: str) -> bool:
    """Return the expected answer for every identity act."""
    if actor == "superuser":
        return True
    if actor == "site_administrator":
        return target in REACHED
    return actor == "accounts.change_user" and target == "no role"


@pytest.mark.parametrize("name", [*ROLES, *CUSTOM, "superuser"])
def test_identity_acts_of_people(name: str, site: Site, elsewhere: Site) -> None:
    actor = Actor(user=actor_named(name, site))
    for target_name in TARGETS:
        target = target_named(target_name, site, elsewhere)
        for act in IDENTITY_ACTS:
            assert may_act(actor, act, target) == reached(name, target_name), (act, target_name)


def test_people_act_on_their_own_account_after_proving_who_they_are(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    for act in IDENTITY_ACTS:
        assert not may_act(Actor(user=user), act, user)
        assert may_act(Actor(user=user, reauthenticated=True), act, user)


def test_the_key_and_the_import_of_a_person_may_what_the_person_may(site: Site) -> None:
    keeper, manager = actor_named("site_administrator", site), actor_named("manager", site)
    target = make.make_user(site=site, role=DefaultRole.READER)
    for channel in (Channel.JSON, Channel.IMPORT, Channel.BACKOFFICE):
        by = {user: actor_of(Author(user.pk, "Uma", channel)) for user in (keeper, manager)}
        assert may_act(by[keeper], Act.SET_RECOVERY_ADDRESS, target)
        assert not may_act(by[manager], Act.SET_RECOVERY_ADDRESS, target)


def test_an_account_that_ended_may_nothing(site: Site) -> None:
    keeper = actor_named("site_administrator", site)
    User.objects.filter(pk=keeper.pk).update(is_active=False)
    assert not may_act(actor_of(make.author_of(keeper)), Act.RENAME, make.make_user(site=site))


@pytest.mark.parametrize("name", [*ROLES, *CUSTOM, "superuser"])
def test_roles_are_given_by_those_who_hold_all_that_they_permit(name: str, site: Site, elsewhere: Site) -> None:
    actor = Actor(user=actor_named(name, site))
    for default in DefaultRole:
        role = Role.objects.get(site=site, default_role=default)
        assert may_act(actor, Act.GIVE_ROLE, role) == (name in ("site_administrator", "superuser"))
        away = Role.objects.get(site=elsewhere, default_role=default)
        assert may_act(actor, Act.GIVE_ROLE, away) == (name == "superuser")


def test_change_role_alone_adds_nobody_and_no_permission(site: Site) -> None:
    user = actor_named("accounts.change_role", site)
    author = make.author_of(user)
    administrators = Role.objects.get(site=site, default_role=DefaultRole.SITE_ADMINISTRATOR)
    own = Role.objects.exclude(permissions=None).get(memberships__user=user)
    with pytest.raises(NotAllowedError):
        actions.set_members(administrators, add=[user], author=author)
    with pytest.raises(NotAllowedError):
        actions.update_role(
            own, permissions=Permission.objects.filter(codename="change_user"), author=author, reason="x"
        )
    with pytest.raises(NotAllowedError):
        actions.set_members(administrators, add=[own], author=author)
    assert list(own.permissions.values_list("codename", flat=True)) == ["change_role"]


def test_nesting_counts_as_giving(site: Site) -> None:
    inner = make.make_role(site, [])
    outer = make.make_role(site, ["items.add_item"])
    actions.set_members(outer, add=[inner], author=make.SYSTEM)
    assert not may_act(Actor(user=actor_named("accounts.change_role", site)), Act.GIVE_ROLE, inner)


def directory_of(site: Site, **fields: bool) -> Directory:
    account = make.make_user(site=site, is_service_account=True)
    directory = Directory.objects.create(name=f"D {account.pk}", home_site=site, service_account=account, **fields)
    directory.sites.add(site)
    return directory


@pytest.mark.parametrize("may_administer", [False, True])
@pytest.mark.parametrize("owned", ["made", "adopted", "unowned", "another's"])
def test_identity_acts_of_directories(owned: str, may_administer: bool, site: Site, elsewhere: Site) -> None:
    directory = directory_of(site, may_administer=may_administer)
    owner = {"unowned": None, "another's": directory_of(site)}.get(owned, directory)
    inside = {"no role", "reader", "standard", "manager"} | ({"site_administrator"} if may_administer else set())
    for name in (*[name for name in TARGETS if name != "service account"],):
        target = target_named(name, site, elsewhere)
        target.directory, target.made_by_directory = owner, owned == "made"
        ours, within = owner in (None, directory), name in inside
        expected = {
            Act.ADOPT: ours and name != "superuser" and (within or owner is not None),
            Act.END_ACCESS: ours and name != "superuser" and (within or owner is not None),
            Act.RENAME: ours and within,
            Act.GIVE_ACCESS: ours and within,
            Act.REMOVE: ours and within,
            Act.SET_PASSWORD: owned == "made" and within,
            Act.SET_RECOVERY_ADDRESS: owned == "made" and within,
            Act.SET_FACTOR: False,
        }
        for act, answer in expected.items():
            assert may_act(Actor(directory=directory), act, target) == answer, (name, act)


@pytest.mark.parametrize("name", [*ROLES, *CUSTOM, "superuser"])
def test_tokens_of_a_directory_are_made_by_those_who_hold_what_it_may_give(
    name: str, site: Site, elsewhere: Site
) -> None:
    actor = Actor(user=actor_named(name, site))
    assert may_act(actor, Act.PROVISION, directory_of(site)) == (name in ("site_administrator", "superuser"))
    wide = directory_of(site)
    wide.sites.add(elsewhere)
    assert may_act(actor, Act.PROVISION, wide) == (name == "superuser")


@pytest.mark.parametrize("name", [*ROLES, *CUSTOM])
def test_keys_are_made_by_the_person_or_for_a_service_account_by_those_who_hold_what_it_holds(
    name: str, site: Site
) -> None:
    user = actor_named(name, site)
    actor = Actor(user=user)
    assert may_act(actor, Act.ISSUE_CREDENTIAL, user)
    assert not may_act(actor, Act.ISSUE_CREDENTIAL, make.make_user(site=site, role=DefaultRole.READER))
    for role in DefaultRole:
        service = make.make_user(site=site, role=role, is_service_account=True)
        assert may_act(actor, Act.ISSUE_CREDENTIAL, service) == (name == "site_administrator")


def test_the_roles_below_site_administrator_hold_no_administrative_permission() -> None:
    for role in (DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER):
        assert not permissions_of(role) & ADMINISTRATIVE
    assert permissions_of(DefaultRole.SITE_ADMINISTRATOR) & ADMINISTRATIVE
