"""Fresh demo credentials; each call ends the ones before (DECISIONS 8.3)."""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction

from records.accounts import clients, directories, keys
from records.accounts.models import (
    DefaultRole,
    Dialect,
    Directory,
    OAuthClient,
    ProvisioningToken,
    Role,
    SubscriptionKey,
    User,
)
from records.dashboard.demo.story import ADMIN, SITES
from records.history.trail import Author, Channel
from records.sites.models import Site

PEOPLE_PASSWORD = "larder-demo-people"  # noqa: S105 (of made-up people, in a demo)
KEY = "Demo key"
CLIENT = "Demo client"
DIRECTORY = "Demo directory"
TOKENS = {"scim_token": Dialect.DOCUMENTED, "scim_rfc_token": Dialect.RFC, "scim_entra_token": Dialect.ENTRA}


@transaction.atomic
def issue() -> dict[str, Any]:
    """Return new credentials of every kind, as the demo command prints them."""
    admin = User.objects.get(user_name=ADMIN)
    author = Author(admin.pk, admin.printed_name, Channel.BACKOFFICE)
    site, other = (Site.objects.get(code=code) for _, code, _ in SITES)
    _end_earlier(author)
    manager, reader = _member(site, "manager"), _member(site, "reader")
    return {
        "base_url": settings.BASE_URL.rstrip("/"),
        "admin": {"username": ADMIN, "password": _new_password(admin)},
        "site": {"id": str(site.pk), "name": site.name},
        "subscription_key": _new_key(manager, site, author),
        "reader_key": _new_key(reader, site, author),
        "reader": {"id": str(reader.pk), "userName": reader.user_name},
        "other_site": {"id": str(other.pk), "subscription_key": _new_key(_manager_of(other), other, author)},
        "oauth": _new_client(manager, author),
        **_new_tokens(site, author),
    }


def _member(site: Site, name: str) -> User:
    return User.objects.get(user_name=name, home_site=site)


def _manager_of(site: Site) -> User:
    role = Role.objects.get(site=site, default_role=DefaultRole.MANAGER)
    return User.objects.filter(memberships__role=role, user_name__startswith="manager").get()


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
    token_url = f"{settings.BASE_URL.rstrip('/')}/oauth/token"
    return {"token_url": token_url, "client_id": client.client_id, "client_secret": secret}


def _new_tokens(site: Site, author: Author) -> dict[str, str]:
    directory = Directory.objects.filter(name=DIRECTORY).first() or directories.add_directory(
        DIRECTORY, site, author=author
    )
    return {
        name: directories.issue_token(directory, f"Demo {dialect.label}", author=author, dialect=dialect)[1]
        for name, dialect in TOKENS.items()
    }


def set_passwords() -> None:
    """Give the demo's people the password that the command prints for them, so that they can sign in and sign."""
    people = [
        user
        for user in User.objects.filter(is_service_account=False).exclude(user_name=ADMIN)
        if not user.has_usable_password()
    ]
    if people:
        # One hash for all: it is one password, printed for everybody, and hashing is slow on purpose.
        User.objects.filter(pk__in=[user.pk for user in people]).update(password=make_password(PEOPLE_PASSWORD))
