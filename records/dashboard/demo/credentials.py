"""Fresh demo credentials; each call ends the ones before (DECISIONS 8.3)."""

import datetime
import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db.models import QuerySet

from records.accounts import clients, directories, keys
from records.accounts.models import (
    Dialect,
    Directory,
    OAuthClient,
    ProvisioningToken,
    SubscriptionKey,
    User,
)
from records.dashboard.demo.demo_site import content
from records.dashboard.demo.filling import ADMIN, SITES, alone
from records.history.models import Change
from records.history.trail import Author, Channel
from records.sites.models import Site

KEY = "Demo key"
FILLING = datetime.timedelta(hours=1)
"""Filling the demo takes less than that; an account that is made later is not the demo's."""
CLIENT = "Demo client"
DIRECTORY = "Demo directory"


class DemoGoneError(Exception):
    """Raised with the name of an account that the demo made and that was removed or is no longer active."""


TOKENS = {"scim_token": Dialect.DOCUMENTED, "scim_rfc_token": Dialect.RFC, "scim_entra_token": Dialect.ENTRA}


@alone()
def issue() -> dict[str, Any]:
    """Return new credentials of every kind, as the demo command prints them."""
    admin = _made_by_demo(User.objects.filter(user_name=ADMIN), ADMIN)
    author = Author(admin.pk, admin.printed_name, Channel.BACKOFFICE)
    site, other_site = (Site.objects.get(code=code) for _, code, _ in SITES)
    _end_earlier(author)
    manager, reader = _member(site, "manager"), _member(site, "reader")
    return {
        "base_url": settings.BASE_URL,
        "admin": {"username": ADMIN, "password": _new_password(admin)},
        "site": {"id": str(site.pk), "name": site.name},
        "subscription_key": _new_key(manager, site, author),
        "reader_key": _new_key(reader, site, author),
        "reader": {"id": str(reader.pk), "userName": reader.user_name},
        "other_site": {
            "id": str(other_site.pk),
            "subscription_key": _new_key(_member(other_site, f"manager.{other_site.code.lower()}"), other_site, author),
        },
        "oauth": _new_client(manager, author),
        **_new_tokens(site, author),
        "people": _new_people(site, other_site),
    }


def _member(site: Site, name: str) -> User:
    return _made_by_demo(User.objects.filter(user_name=name, home_site=site), name)


def _made_by_demo(accounts: QuerySet[User], name: str) -> User:
    """Return the account with that name that the demo made; raises DemoGoneError if there is none or another one."""
    user = accounts.filter(is_active=True, removed__isnull=True).first()
    filling_change = Change.objects.get(operation="FillDemo")
    accounts_added = Change.objects.filter(operation="AddUser", model=User._meta.label)
    additions = accounts_added.filter(author_id=filling_change.record_id, at__lt=filling_change.at + FILLING)
    if user is None or (user.pk != filling_change.record_id and not additions.filter(record_id=user.pk).exists()):
        raise DemoGoneError(name)
    return user


def _new_people(*sites: Site) -> dict[str, dict[str, str]]:
    """Give the leading people of the sites one new password; return names and password of the first site's by duty.

    One hash for all, because hashing is slow on purpose.
    """
    password = secrets.token_urlsafe(12)
    names = [leading_person["user_name"] for leading_person in content("people")["leading"]]
    main = {name: _member(sites[0], name) for name in names}
    other_users = [_member(site, f"{name}.{site.code.lower()}") for site in sites[1:] for name in names]
    keys_of_people = [user.pk for user in (*main.values(), *other_users)]
    User.objects.filter(pk__in=keys_of_people).update(password=make_password(password))
    return {name: {"username": user.user_name, "password": password} for name, user in main.items()}


def _end_earlier(author: Author) -> None:
    for key in SubscriptionKey.objects.filter(name=KEY, revoked__isnull=True):
        keys.revoke_key(key.pk, author=author, reason="New demo credentials")
    for client in OAuthClient.objects.filter(name=CLIENT, revoked__isnull=True):
        clients.revoke_client(client.pk, author=author, reason="New demo credentials")
    for token in ProvisioningToken.objects.filter(directory__name=DIRECTORY, revoked__isnull=True):
        directories.revoke_token(token.pk, author=author, reason="New demo credentials")


def _new_password(user: User) -> str:
    password = secrets.token_urlsafe(12)
    user.set_password(password)
    user.save(update_fields=["password"])
    return password


def _new_key(user: User, site: Site, author: Author) -> str:
    return keys.issue_key(user, site, KEY, author=author)[1]


def _new_client(user: User, author: Author) -> dict[str, str]:
    client, secret = clients.issue_client(user, CLIENT, author=author)
    token_url = f"{settings.BASE_URL}/oauth/token"
    return {"token_url": token_url, "client_id": client.client_id, "client_secret": secret}


def _new_tokens(site: Site, author: Author) -> dict[str, str]:
    directory = Directory.objects.filter(name=DIRECTORY).first() or directories.add_directory(
        DIRECTORY, site, author=author
    )
    return {
        name: directories.issue_token(directory, f"Demo {dialect.label}", author=author, dialect=dialect)[1]
        for name, dialect in TOKENS.items()
    }
