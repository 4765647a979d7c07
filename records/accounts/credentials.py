"""What every kind of credential has in common: it is issued with a secret that is shown once, and ended."""

import uuid
from typing import TypeVar

from records.accounts import peppers
from records.accounts.models import SecurityKind, User
from records.accounts.models.credentials import Credential
from records.accounts.security import security_event
from records.history.snapshots import differences, snapshot
from records.history.trail import Author, Channel, now, recording

C = TypeVar("C", bound=Credential)

AT_ONCE = 500
"""How many credentials one run of a regular job notes as ended."""
EXPIRY = Author(None, "Expiry", Channel.SYSTEM)

_KINDS = {
    "IssueKey": SecurityKind.KEY_ISSUED,
    "RevokeKey": SecurityKind.KEY_ENDED,
    "IssueClient": SecurityKind.CLIENT_ISSUED,
    "RotateClient": SecurityKind.CLIENT_ISSUED,
    "RevokeClient": SecurityKind.CLIENT_ENDED,
    "IssueToken": SecurityKind.TOKEN_ISSUED,
    "RevokeToken": SecurityKind.TOKEN_ENDED,
}


def note_event(credential: Credential, operation: str, *, author: Author, site_id: uuid.UUID | None) -> None:
    """Note in the security log what was done to a credential, with its account or its directory's."""
    directory = getattr(credential, "directory", None)
    account: User | None = directory.service_account if directory else getattr(credential, "user", None)
    security_event(_KINDS[operation], account=account, author=author, detail=credential.name, site_id=site_id)


def issue(credential: C, prefix: str, *, author: Author, operation: str, site_id: uuid.UUID | None) -> tuple[C, str]:
    """Store a new credential and return it with its secret, of which only a digest is kept.

    The caller holds a lock on whose it is, and has seen to it that one more is allowed. Raises ValidationError.
    """
    secret = peppers.new_secret(prefix)
    with recording() as trail:
        credential.digest, credential.hint = peppers.digest(secret), secret[-4:]
        credential.created_by_id = author.id
        credential.full_clean(validate_unique=False)
        credential.save(force_insert=True)
        changed = differences(credential, {}, snapshot(credential))
        trail.add(credential, changed, author=author, operation=operation, site_id=site_id)
        note_event(credential, operation, author=author, site_id=site_id)
    return credential, secret


def end_expired(kind: type[C], *, operation: str) -> int:
    """Note the end of every live credential of a kind whose date has come, once each; returns how many there were.

    It opened nothing since that date; now it is revoked as of it, and the security log and the history say so.
    """
    ended = 0
    overdue = kind._default_manager.filter(revoked__isnull=True, expires__lte=now())
    for key in list(overdue.order_by("expires", "pk").values_list("pk", flat=True)[:AT_ONCE]):
        with recording() as trail:
            locked = overdue.select_for_update(of=("self",), no_key=True).filter(pk=key).first()
            if locked is None:
                continue
            before = snapshot(locked)
            locked.revoked = locked.expires
            locked.save(update_fields=["revoked"])
            owner = getattr(locked, "directory", None)
            site_id = owner.home_site_id if owner else getattr(locked, "site_id", None)
            note_event(locked, operation, author=EXPIRY, site_id=site_id)
            changed = differences(locked, before, snapshot(locked))
            trail.add(locked, changed, author=EXPIRY, operation=operation, site_id=site_id)
            ended += 1
    return ended


def revoke(credential: C, *, author: Author, operation: str, site_id: uuid.UUID | None, reason: str = "") -> C:
    """End a credential at once, in every process; repeating it changes nothing. Locks its row."""
    with recording() as trail:
        locked = type(credential)._default_manager.select_for_update(of=("self",), no_key=True).get(pk=credential.pk)
        before = snapshot(locked)
        if locked.revoked is None:
            locked.revoked = now()
            locked.save(update_fields=["revoked"])
            note_event(locked, operation, author=author, site_id=site_id)
        changed = differences(locked, before, snapshot(locked))
        trail.add(locked, changed, author=author, operation=operation, reason=reason, site_id=site_id)
    return locked
