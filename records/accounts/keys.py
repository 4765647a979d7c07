"""Subscription keys: issuing, rotating, revoking, and authenticating a request (DECISIONS 2.2)."""

import datetime
import uuid
from contextlib import suppress
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.db import InternalError, OperationalError, connection
from django.utils.translation import gettext

from records.accounts import access
from records.accounts.authority import Act, actor_of, require
from records.accounts.credentials import issue, revoke
from records.accounts.models import ProvisioningToken, SecurityKind, SubscriptionKey, User
from records.accounts.opening import AccessProof, Kind, Opening, look_up, remember, remembered_opening
from records.accounts.security import security_event
from records.history.trail import Author, Channel, now, recording
from records.sites.models import Site
from records.sites.text import refuse

LIVE_KEYS = 2
LAST_USED_EVERY = datetime.timedelta(minutes=1)
PATIENCE = 100
"""How many milliseconds a call waits for other writers in order to record that its credential was used."""

KEY = Kind(
    "accounts_subscriptionkey t JOIN accounts_user u ON u.id = t.user_id JOIN sites_site s ON s.id = t.site_id",
    opens="u.is_active AND NOT s.is_archived",
)


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request with a valid key: the user, the key's site, and what the user may do there."""

    user_id: uuid.UUID
    user_name: str
    site_id: uuid.UUID
    key_id: uuid.UUID
    key_name: str
    permissions: access.Permissions
    opening: Opening
    proof: AccessProof | None = None
    """A check whether all of this is still true; it runs before a remembered caller gets an answer."""
    is_authenticated: bool = True

    @property
    def site_ids(self) -> list[uuid.UUID]:
        """Return the sites at which the caller holds a role; for a superuser, every site."""
        return list(self.opening.permissions)

    def may(self, permission: str) -> bool:
        """Return whether the caller may do this at the key's site."""
        return access.contains_any(self.permissions, permission)

    def author(self, request_id: str) -> Author:
        """Return the author to whom the caller's changes are attributed."""
        return Author(self.user_id, self.user_name, Channel.JSON, self.key_name, request_id)


class KeyEndedError(Exception):
    """Raised if the key is known but not valid: it was revoked or expired, or its account or site has ended."""

    def __init__(self, key_id: uuid.UUID) -> None:
        super().__init__()
        self.key_id = key_id


def caller_of(secret: str) -> Caller | None:
    """Return the caller with this key, or None if there is no such key; raises KeyEndedError.

    One query, and at most one small write per minute.
    """
    opening = open_key(secret)
    return None if opening is None else _caller(opening)


def open_key(secret: str) -> Opening | None:
    """Return what this key opens, and remember it; None if there is no such key. Raises KeyEndedError."""
    opening = look_up(KEY, secret)
    if opening is None:
        return None
    moment = now()
    if not opening.is_live(moment):
        raise KeyEndedError(opening.id)
    note_use(SubscriptionKey, opening.id, opening.last_used, moment)
    remember(KEY, secret, opening)
    return opening


def remembered_caller(secret: str) -> Caller | None:
    """Return who used this key within the last minute; the caller's proof must still be checked. Runs no query."""
    opening = remembered_opening(KEY, secret)
    if opening is None:
        return None
    if None not in opening.callers:
        opening.callers[None] = _caller(opening)
    caller: Caller = opening.callers[None]
    return caller


def _caller(opening: Opening) -> Caller:
    site_id = opening.site_id
    return Caller(
        opening.user_id,
        opening.user_name,
        site_id,
        opening.id,
        opening.name,
        opening.permissions.get(site_id, frozenset()),
        opening,
        opening.proof(site_id),
    )


def note_use(
    kind: type[SubscriptionKey] | type[ProvisioningToken],
    credential_id: uuid.UUID,
    last_used: datetime.datetime | None,
    moment: datetime.datetime,
) -> None:
    """Record that a credential was used, at most once a minute; its first use is recorded in the security log.

    A database that is read-only, whose disk is full or that another writer has locked can still be read. A call is
    therefore refused only if its credential's first use cannot be recorded. If a later use cannot be recorded, the next
    call tries again.
    """
    if last_used is None:
        _note_first_use(kind, credential_id, moment)
    elif moment - last_used >= LAST_USED_EVERY:
        with suppress(OperationalError, InternalError), connection.briefly(PATIENCE):  # type: ignore[attr-defined]
            kind._default_manager.filter(pk=credential_id).update(last_used=moment)


def _note_first_use(
    kind: type[SubscriptionKey] | type[ProvisioningToken], credential_id: uuid.UUID, moment: datetime.datetime
) -> None:
    with recording():
        rows = kind._default_manager.filter(pk=credential_id, last_used__isnull=True)
        if not rows.update(last_used=moment):
            return
        credential = kind._default_manager.get(pk=credential_id)
        if isinstance(credential, SubscriptionKey):
            used, account, site_id = SecurityKind.KEY_FIRST_USED, credential.user, credential.site_id
        else:
            directory = credential.directory
            used, account, site_id = SecurityKind.TOKEN_FIRST_USED, directory.service_account, directory.home_site_id
        security_event(used, account=account, detail=credential.name, site_id=site_id)


def live_keys(user: User, site: Site) -> list[SubscriptionKey]:
    """Return the user's keys for the site that are still valid, newest first."""
    keys = SubscriptionKey.objects.filter(user=user, site=site, revoked__isnull=True)
    return [key for key in keys if key.is_live]


def issue_key(
    user: User, site: Site, name: str, *, author: Author, expires: datetime.datetime | None = None
) -> tuple[SubscriptionKey, str]:
    """Make a key and return it with its secret, which is shown once; only a digest of it is stored.

    Raises ValidationError if the user already has two live keys for the site, holds no role there, or has no access any
    more, and NotAllowedError if the author may not make one for the account. Locks the user's row.
    """
    with recording():
        if not User.objects.select_for_update(no_key=True).get(pk=user.pk).is_active:
            raise ValidationError(gettext("The account has no access any more."), code="Forbidden")
        require(actor_of(author), Act.ISSUE_CREDENTIAL, user)
        if len(live_keys(user, site)) >= LIVE_KEYS:
            raise refuse(gettext("There are two valid keys for this site; revoke one first."))
        if not user.is_superuser and site.pk not in access.roles_held(user.pk):
            raise ValidationError(gettext("The account has no role at this site. Give it one first."), code="Forbidden")
        key = SubscriptionKey(user=user, site=site, name=name, expires=expires)
        return issue(key, "lk", author=author, operation="IssueKey")


def revoke_key(key_id: uuid.UUID, *, author: Author, reason: str = "") -> SubscriptionKey:
    """End a key at once, in every process; repeating it changes nothing. Locks the key's row."""
    key = SubscriptionKey.objects.get(pk=key_id)
    return revoke(key, author=author, operation="RevokeKey", reason=reason)


def rotate_key(key_id: uuid.UUID, *, author: Author) -> tuple[SubscriptionKey, str]:
    """Issue a successor with the same name, user and site; the old key remains valid until it is revoked.

    The successor of a key that expires is valid for as long as the key was when it was issued.
    """
    key = SubscriptionKey.objects.select_related("user", "site").get(pk=key_id)
    expires = now() + (key.expires - key.created) if key.expires else None
    return issue_key(key.user, key.site, key.name, author=author, expires=expires)
