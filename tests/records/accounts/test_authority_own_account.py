"""Identity acts on the own account through their pages: with a proof of who asks, and for nobody else."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.usersessions.models import UserSession
from django.test import Client

from records.accounts.models import User
from records.accounts.security_mails import confirmation_link
from tests import make
from tests.make.authority import ACTORS, World
from tests.make.signing_in import SECRET, give_app
from tests.scim import people

pytestmark = pytest.mark.django_db

NEW = "new@corp.example"
OWN = (*ACTORS, "service account", "ended")
"""Everybody who could ask; the last two have no way to sign in, so that even a session of theirs opens nothing."""
NEW_PASSWORD = "salt and flour and 77"


@dataclass(frozen=True)
class OwnAct:
    """One identity act on the profile pages: how it is done, with a proof of who asks or without, and what shows it."""

    name: str
    do: Callable[[Client, User, bool], Any]
    was_done: Callable[[User], bool]
    prepare: Callable[[User], Any] = lambda user: None


def _prove_identity(client: Client) -> None:
    """Confirm the identity of whoever is signed in, as the page before each of these acts asks."""
    client.post("/accounts/confirm/password/", {"password": make.PASSWORD})


def _change_password(client: Client, user: User, is_proven: bool) -> None:
    old = make.PASSWORD if is_proven else "not the password"
    data = {"old_password": old, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    client.post("/admin/password_change/", data)


def _set_up_app(client: Client, user: User, is_proven: bool) -> None:
    if is_proven:
        _prove_identity(client)
    page = client.get("/accounts/security/app/")
    secret = page.context["form"].secret if page.status_code == 200 else SECRET
    code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
    client.post("/accounts/security/app/", {"code": code})


def _remove_app(client: Client, user: User, is_proven: bool) -> None:
    if is_proven:
        _prove_identity(client)
    client.post("/accounts/security/app/remove/")


def _end_other_sessions(client: Client, user: User, is_proven: bool) -> None:
    if is_proven:
        _prove_identity(client)
    client.post("/accounts/security/sessions/", {"others": "1"})


def _confirm_address(client: Client, user: User, is_proven: bool) -> None:
    link = confirmation_link(user)
    client.post(urlsplit(link).path if is_proven else f"{urlsplit(link).path[:-3]}abc")


def _sign_in_elsewhere(user: User) -> None:
    """Let the person be signed in in another browser too."""
    other = Client()
    other.force_login(user, backend="records.accounts.sign_in.AccountBackend")
    UserSession.objects.create(user=user, session_key=other.session.session_key, ip="192.0.2.1", user_agent="other")


def _request_address(user: User) -> None:
    User.objects.filter(pk=user.pk).update(pending_address=NEW)
    user.refresh_from_db()


OWN_ACTS = (
    OwnAct("password", _change_password, lambda user: user.check_password(NEW_PASSWORD)),
    OwnAct("set up a factor", _set_up_app, lambda user: Authenticator.objects.filter(user=user, type="totp").exists()),
    OwnAct("remove a factor", _remove_app, lambda user: not Authenticator.objects.filter(user=user).exists(), give_app),
    OwnAct(
        "end sessions",
        _end_other_sessions,
        lambda user: not UserSession.objects.filter(user=user, user_agent="other").exists(),
        _sign_in_elsewhere,
    ),
    OwnAct("recovery address", _confirm_address, lambda user: user.recovery_address == NEW, _request_address),
)


def _owner(world: World, name: str) -> User:
    """Return the account with a password that this test's hasher knows; `ended` has no access any more."""
    user = world.targets[name] if name == "service account" else world.actors["reader" if name == "ended" else name]
    user = User.objects.get(pk=user.pk)
    user.set_password(make.PASSWORD)
    user.is_active = name != "ended"
    user.save()
    return user


@pytest.mark.parametrize("is_proven", [True, False], ids=["proven", "not proven"])
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("act", OWN_ACTS, ids=lambda act: act.name)
def test_people_act_on_their_own_account_with_a_proof_of_who_they_are_alone(
    world: World, act: OwnAct, name: str, is_proven: bool
) -> None:
    user = _owner(world, name)
    act.prepare(user)
    client = Client()
    client.force_login(user, backend="records.accounts.sign_in.AccountBackend")
    act.do(client, user, is_proven)
    assert act.was_done(User.objects.get(pk=user.pk)) == (is_proven and name in ACTORS)


@pytest.mark.parametrize("credential", ["key", "provisioning token", "another's session"])
@pytest.mark.parametrize("act", OWN_ACTS, ids=lambda act: act.name)
def test_no_key_no_token_and_no_other_person_does_it_for_them(world: World, act: OwnAct, credential: str) -> None:
    user = _owner(world, "manager")
    act.prepare(user)
    client = Client()
    if credential == "key":
        client = Client(headers=make.make_key(world.site, user=user).headers)
    elif credential == "provisioning token":
        client = Client(headers={"Authorization": f"Bearer {people.make_token(people.make_directory(world.site))}"})
    else:
        client.force_login(_owner(world, "superuser"), backend="records.accounts.sign_in.AccountBackend")
    act.do(client, user, True)
    assert not act.was_done(User.objects.get(pk=user.pk))
