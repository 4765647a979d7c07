"""What all kinds of credential share: they are issued with a secret that is shown once, and they are revoked."""

import datetime
from typing import TypeVar

from records.accounts import peppers
from records.accounts.models import SecurityKind, User
from records.accounts.models.credentials import Credential
from records.accounts.security import security_event
from records.history.trail import Author, Channel, now, recording
from records.sites.writing import add_record, changing

C = TypeVar("C", bound=Credential)

AT_ONCE = 500
"""How many credentials one run of a regular job records as ended."""
EXPIRY = Author(None, "Expiry", Channel.SYSTEM)

_KINDS = {
    "IssueKey": SecurityKind.KEY_ISSUED,
    "RevokeKey": SecurityKind.KEY_ENDED,
    "IssueClient": SecurityKind.CLIENT_ISSUED,
    "RotateClient": SecurityKind.CLIENT_ISSUED,
    "RevokeClient": SecurityKind.CLIENT_ENDED,
    "IssueCalendarLink": SecurityKind.KEY_ISSUED,
    "RevokeCalendarLink": SecurityKind.KEY_ENDED,
    "IssueToken": SecurityKind.TOKEN_ISSUED,
    "RevokeToken": SecurityKind.TOKEN_ENDED,
}


def note_event(credential: Credential, operation: str, *, author: Author) -> None:
    """Record in the security log what was done to a credential, with the account or the directory's account."""
    site_id = getattr(credential, "history_site_id", None) or getattr(credential, "site_id", None)
    directory = getattr(credential, "directory", None)
    account: User | None = directory.service_account if directory else getattr(credential, "user", None)
    security_event(_KINDS[operation], account=account, author=author, detail=credential.name, site_id=site_id)


def issue(credential: C, prefix: str, *, author: Author, operation: str) -> tuple[C, str]:
    """Store a new credential and return it with its secret, of which only a digest is stored.

    The caller holds a lock on the owner and has checked that one more is allowed. Raises ValidationError.
    """
    secret = peppers.new_secret(prefix)
    with recording():
        credential.digest, credential.hint = peppers.digest(secret), secret[-4:]
        credential.created_by_id = author.id
        add_record(credential, author=author, operation=operation)
        note_event(credential, operation, author=author)
    return credential, secret


def end_expired(kind: type[C], *, operation: str) -> int:
    """Record, once each, the end of every live credential of a kind that has expired; returns how many there were.

    The credential has not worked since that date. It is now marked as revoked at that date, and the security log and
    the history record it.
    """
    count = 0
    overdue = kind._default_manager.filter(revoked__isnull=True, expires__lte=now())
    for key in list(overdue.order_by("expires", "pk").values_list("pk", flat=True)[:AT_ONCE]):
        with changing(kind, None, key, author=EXPIRY, operation=operation) as locked_credential:
            if (
                locked_credential.revoked is None
                and locked_credential.expires is not None
                and locked_credential.expires <= now()
            ):
                _end(locked_credential, locked_credential.expires, operation, author=EXPIRY)
                count += 1
    return count


def revoke(credential: C, *, author: Author, operation: str, reason: str = "") -> C:
    """End a credential at once, in every process; repeating it changes nothing. Locks the credential's row."""
    kind = type(credential)
    with changing(kind, None, credential.pk, author=author, operation=operation, reason=reason) as locked_credential:
        if locked_credential.revoked is None:
            _end(locked_credential, now(), operation, author=author)
    return locked_credential


def _end(credential: Credential, moment: datetime.datetime, operation: str, *, author: Author) -> None:
    credential.revoked = moment
    note_event(credential, operation, author=author)
