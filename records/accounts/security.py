"""The only writer of the security log: its rows, the history's Changes of the channel System, and log lines."""

import logging
import uuid
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

from django.db import transaction

from records.accounts.models import SecurityEvent, SecurityKind, User
from records.accounts.security_mails import MAILED_KINDS, queue_notice
from records.history.digests import FieldChange
from records.history.english import stored_text
from records.history.origin import origin_id
from records.history.sets import insertion
from records.history.statements import Statement
from records.history.trail import Author, Channel, now, recording

logger = logging.getLogger("larder.security")

REQUEST_ADDRESS: ContextVar[str] = ContextVar("REQUEST_ADDRESS", default="")
"""The network address of the current request, '' outside a request. `RequestMiddleware` sets it."""

ONLY_LOGGED = frozenset({SecurityKind.SIGN_IN_FAILED, SecurityKind.REFUSED})
"""Kinds that leave only a log line: a caller who is not signed in writes nothing to the database (DECISIONS 13.3)."""

WITHOUT_CHANGE = frozenset(
    {
        SecurityKind.SIGNED_IN,
        SecurityKind.SIGNED_OUT,
        SecurityKind.LOCKED_OUT,
        SecurityKind.SESSIONS_ENDED,
        SecurityKind.FACTOR_ADDED,
        SecurityKind.FACTOR_REMOVED,
        SecurityKind.PROVIDER_LINKED,
        SecurityKind.PROVIDER_UNLINKED,
        SecurityKind.KEY_FIRST_USED,
        SecurityKind.CLIENT_FIRST_USED,
        SecurityKind.TOKEN_FIRST_USED,
    }
)
"""Kinds for which no other write leaves a Change; it is written here, with the channel System."""


def security_event(
    kind: SecurityKind,
    *,
    account: User | None = None,
    author: Author | None = None,
    address: str = "",
    detail: str = "",
    site_id: uuid.UUID | None = None,
) -> None:
    """Record an event of an account or a credential in the security log, the history and the log (DECISIONS 9.9).

    The person gets a mail if the kind is one of MAILED_KINDS. Runs in the writing transaction; nothing is recorded if
    that fails. `author` is who did it (default: the account's own person), `address` the network address it came from
    (default: the request's), `detail` a few plain words, such as the name of a key, a factor or a role. Kinds of
    ONLY_LOGGED write no row. The address is stored as it is given. Callers never pass a name that somebody typed unless
    it is an account's name.
    """
    security_events(kind, [account], author=author, address=address, detail=detail, site_id=site_id)


def security_events(
    kind: SecurityKind,
    accounts: Iterable[User | None],
    *,
    author: Author | None = None,
    address: str = "",
    detail: str = "",
    site_id: uuid.UUID | None = None,
) -> None:
    """Record the same event for several accounts; one statement for all their rows."""
    accounts = list(accounts)
    events = [_event(kind, account, author, address, detail, site_id) for account in accounts]
    if not events:
        return
    if kind not in ONLY_LOGGED:
        with recording() if kind in WITHOUT_CHANGE else nullcontext() as trail:
            SecurityEvent.objects.bulk_create(events, batch_size=500)
            if kind in MAILED_KINDS:
                for account in accounts:
                    if account is not None:
                        by = author.name if author is not None and author.id != account.pk else ""
                        queue_notice(account, kind, account.recovery_address, detail, by=by)
            if trail is not None:
                for account, event in zip(accounts, events, strict=True):
                    if account is not None:
                        facts = (("address", event.address), ("detail", event.detail))
                        writer = Author(event.author_id, event.author_name, Channel.SYSTEM, "", event.request_id)
                        fields: list[FieldChange] = [
                            {"field": name, "old": "", "new": value} for name, value in facts if value
                        ]
                        trail.add(
                            account,
                            fields or [{"field": "event", "old": "", "new": stored_text(kind.label)}],
                            author=writer,
                            operation=kind.value,
                            site_id=event.site_id,
                        )
    transaction.on_commit(lambda: _log(events))


def _event(
    kind: SecurityKind,
    account: User | None,
    author: Author | None,
    address: str,
    detail: str,
    site_id: uuid.UUID | None,
) -> SecurityEvent:
    by = author
    if by is None and account is not None:
        by = Author(account.pk, account.printed_name, Channel.SYSTEM)
    return SecurityEvent(
        at=now(),
        kind=kind,
        account_id=account.pk if account else None,
        account_name=account.user_name[:255] if account else "",
        address=(address or REQUEST_ADDRESS.get())[:45],
        author_id=by.id if by else None,
        author_name=by.name[:255] if by else "",
        channel=by.channel if by else Channel.SYSTEM,
        detail=detail[:500],
        site_id=site_id or (account.home_site_id if account else None),
        request_id=((by.request_id if by else "") or origin_id())[:64],
    )


def noting_people(
    kind: SecurityKind, people: Mapping[uuid.UUID, str], *, author: Author, detail: str, site_id: uuid.UUID
) -> list[Statement]:
    """Return the statement that records the same event for many people, given by id and name; empty for nobody.

    It is for a kind that is not mailed and whose Change another write records. It uses one statement and no model
    instances, because a directory can give ten thousand people a role at once. The log gets its lines when the open
    transaction is committed.
    """
    if not people:
        return []
    common_values: dict[str, Any] = {
        "at": now(),
        "kind": str(kind),
        "address": REQUEST_ADDRESS.get()[:45],
        "author_id": author.id,
        "author_name": author.name[:255],
        "channel": str(author.channel),
        "detail": detail[:500],
        "site": site_id,
        "request_id": author.request_id[:64],
    }
    rows = [(key, people[key][:255]) for key in people]
    statement = insertion(SecurityEvent, common_values, ("account_id", "account_name"), rows)
    if logger.isEnabledFor(logging.INFO):
        event = SecurityEvent(site_id=common_values.pop("site"), **common_values)
        transaction.on_commit(lambda: _log_each(event, people))
    return [statement]


def _log_each(event: SecurityEvent, people: Mapping[uuid.UUID, str]) -> None:
    for event.account_id, event.account_name in people.items():
        _log([event])


def _log(events: list[SecurityEvent]) -> None:
    for event in events:
        facts = {
            "request_id": event.request_id or None,
            "account": str(event.account_id) if event.account_id else None,
            "account_name": event.account_name or None,
            "address": event.address or None,
            "caller": str(event.author_id) if event.author_id else None,
            "detail": event.detail or None,
            "operation": event.kind,
        }
        logger.info(event.what, extra=facts)
