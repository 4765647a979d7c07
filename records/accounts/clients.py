"""OAuth clients: issuing, rotating, revoking, and authenticating a client (DECISIONS 2.3)."""

import datetime
import uuid

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.accounts import peppers
from records.accounts.authority import Act, actor_of, require
from records.accounts.credentials import issue, note_event, revoke
from records.accounts.models import SCOPES, AccessToken, OAuthClient, User
from records.history.digests import FieldChange
from records.history.trail import Author, now, recording
from records.sites.text import read_uuid, refuse
from records.sites.writing import changing

LIVE_CLIENTS = 5


def live_clients(user: User) -> list[OAuthClient]:
    """Return the user's clients that can still fetch tokens, newest first."""
    return [client for client in OAuthClient.objects.filter(user=user, revoked__isnull=True) if client.is_live]


def issue_client(
    user: User,
    name: str,
    *,
    author: Author,
    scopes: str = " ".join(SCOPES),
    expires: datetime.datetime | None = None,
) -> tuple[OAuthClient, str]:
    """Make a client and return it with its secret, which is shown once; only a digest of it is stored.

    Raises ValidationError if the user already has five live clients or has no access any more, and NotAllowedError if
    the author may not make one for the account. Locks the user's row.
    """
    with recording():
        if not User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk).is_active:
            raise ValidationError(gettext("The account has no access any more."), code="Forbidden")
        require(actor_of(author), Act.ISSUE_CREDENTIAL, user)
        if len(live_clients(user)) >= LIVE_CLIENTS:
            fault = gettext("There are %(live_clients)s valid clients; revoke one first.") % {
                "live_clients": LIVE_CLIENTS
            }
            raise refuse(fault)
        client = OAuthClient(user=user, name=name, scopes=scopes, expires=expires)
        return issue(client, "ls", author=author, operation="IssueClient")


def rotate_client(client_id: uuid.UUID, *, author: Author) -> tuple[OAuthClient, str]:
    """Give a live client a new secret; the old secret and every token fetched with it end at once.

    Locks the client's row. Somebody who needs an overlap issues a second client first. Raises ValidationError if the
    client has ended.
    """
    secret = peppers.new_secret("ls")
    notes: list[FieldChange] = [{"field": "secret", "old": "", "new": "rotated"}]
    with changing(OAuthClient, None, client_id, author=author, operation="RotateClient", notes=notes) as client:
        if not client.is_live:
            raise refuse(gettext("This client has ended; issue a new one."))
        require(actor_of(author), Act.ISSUE_CREDENTIAL, client.user)
        client.digest, client.hint = peppers.digest(secret), secret[-4:]
        _end_tokens(client)
        note_event(client, "RotateClient", author=author)
    return client, secret


def revoke_client(client_id: uuid.UUID, *, author: Author, reason: str = "") -> OAuthClient:
    """End a client and its tokens at once, in every process; repeating it changes nothing. Locks the client's row."""
    client = OAuthClient.objects.get(pk=client_id)
    with recording():
        client = revoke(client, author=author, operation="RevokeClient", reason=reason)
        _end_tokens(client)
    return client


def _end_tokens(client: OAuthClient) -> None:
    AccessToken.objects.filter(client=client, revoked__isnull=True).update(revoked=now())


def client_of(client_id: str, secret: str) -> OAuthClient | None:
    """Return the live client of an active user that has this secret, or None; one query.

    A wrong secret and an unknown id cost the same work, so that nobody can find out which clients exist.
    """
    key, digests = read_uuid(client_id), peppers.digests(secret)
    if key is None:
        return None
    rows = OAuthClient.objects.filter(pk=key, digest__in=digests, revoked__isnull=True, user__is_active=True)
    client = rows.first()
    return client if client is not None and client.is_live else None
