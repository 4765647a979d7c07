"""The accounts of one table of who may act on whom: an account of each actor and of each target, at two sites."""

import itertools
from dataclasses import dataclass, field

from django.conf import settings
from django.test import Client

from records.accounts.models import DefaultRole, User
from records.sites.models import Site
from tests import make
from tests.make.backoffice import sign_in
from tests.scim import people

ROLES = {role.value: role for role in DefaultRole}
ACTORS = (*ROLES, "accounts.change_user", "accounts.change_role", "superuser")
"""Who asks: somebody with a default role, with one permission alone, or a superuser."""
ALONE = ("accounts.add_user", "accounts.change_directory")
"""Further permissions with which somebody asks who holds nothing else."""
TARGETS = ("no role", *ROLES, "reader elsewhere", "superuser", "service account", "owned", "equal custom role")
"""Whom it is about."""
_numbers = itertools.count(1)


@dataclass
class World:
    """Two sites with an account of each actor and each target; the targets are employees with an address."""

    site: Site
    elsewhere: Site
    actors: dict[str, User] = field(default_factory=dict)
    targets: dict[str, User] = field(default_factory=dict)
    sessions: dict[User, str] = field(default_factory=dict)
    """The key of a session of each actor, so that a case need not sign in."""

    def browser_of(self, actor: User) -> Client:
        """Return a browser in which the actor is signed in."""
        client = Client()
        client.cookies[settings.SESSION_COOKIE_NAME] = self.sessions[actor]
        return client


def make_world() -> World:
    """Make the two sites and all accounts."""
    world = World(make.make_site("Hill"), make.make_site("Harbour"))
    for name in (*ACTORS, *ALONE):
        actor = world.actors[name] = _actor(name, world.site)
        world.sessions[actor] = sign_in(actor).cookies[settings.SESSION_COOKIE_NAME].value
    for name in TARGETS:
        world.targets[name] = _target(name, world)
    return world


def _actor(name: str, site: Site) -> User:
    if name == "superuser":
        return make.make_user(site=site, is_superuser=True)
    if name in ROLES:
        return make.make_user(site=site, role=ROLES[name])
    user = make.make_user(site=site)
    make.make_role(site, {name, name.replace("change", "view")}, [user])
    return user


def _target(name: str, world: World) -> User:
    if name == "service account":
        return make.make_user(site=world.site, role=DefaultRole.READER, is_service_account=True)
    address = f"person{next(_numbers)}@old.example"
    user = make.make_user(site=world.site, role=ROLES.get(name), email=address, is_superuser=name == "superuser")
    make.make_employee(world.site, id=user.pk, user=user, email_address=address)
    if name == "reader elsewhere":
        make.give_role(user, world.elsewhere, DefaultRole.READER)
    if name == "equal custom role":
        make.make_role(world.site, ["accounts.change_user", "accounts.view_user"], [user])
    if name == "owned":
        make.give_role(user, world.site, DefaultRole.READER)
        User.objects.filter(pk=user.pk).update(directory=people.make_directory(world.site), made_by_directory=True)
        user.refresh_from_db()
    return user
