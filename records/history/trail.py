"""Writing the trail: `recording` opens the one transaction of a write and flushes its changes at the end."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection, models, transaction

from records.history.digests import VERSION, digest, new_salts, values_of
from records.history.inserts import insert_rows
from records.history.models import INSTALLATION, ChainHead, Change, Channel
from records.history.moments import now, start_stamping, stop_stamping
from records.history.snapshots import FieldChange
from records.history.visibility import lowest_role


@dataclass(frozen=True, slots=True)
class Author:
    """Whoever a change is written down to: a user, and the door and credential that were used."""

    id: uuid.UUID | None
    name: str
    channel: Channel
    credential: str = ""
    request_id: str = ""


@dataclass(slots=True)
class Trail:
    """The changes of one open transaction, in the order in which they were made."""

    pending: list[Change] = field(default_factory=list)
    is_rehearsal: bool = False
    """Whether everything is rolled back at the end of the transaction."""

    def add(
        self,
        record: models.Model,
        changed: list[FieldChange],
        *,
        author: Author,
        operation: str,
        reason: str = "",
        site_id: uuid.UUID | None = None,
    ) -> None:
        """Note one record's changed fields; a record without any leaves no entry. Runs no query."""
        if not changed:
            return
        site = site_id or getattr(record, "site_id", None)
        change = Change(
            site_id=site,
            chain=site or INSTALLATION,
            at=now(),
            author_id=author.id,
            author_name=author.name[:255],
            channel=author.channel,
            credential=author.credential[:255],
            operation=operation,
            reason=reason,
            model=record._meta.label,
            record_id=record.pk,
            record_name=str(record)[:512],
            fields=changed,
            request_id=author.request_id[:64],
            lowest_role=lowest_role(record, changed),
            digest_version=VERSION,
        )
        change.salts = new_salts(values_of(change))
        self.pending.append(change)


@contextmanager
def recording() -> Iterator[Trail]:
    """Open the transaction of a write and yield its Trail; the changes are stored when the outermost block ends.

    Nested blocks are savepoints: an inner block that fails takes its own changes with it. The chain's row is locked
    last, so that a site's writers wait for each other as briefly as possible and never in a circle.
    """
    outer: Trail | None = getattr(connection, "larder_trail", None)
    if outer is not None:
        mark = len(outer.pending)
        try:
            with transaction.atomic():
                yield outer
        except BaseException:
            del outer.pending[mark:]
            raise
        return
    trail = Trail()
    with transaction.atomic():
        start_stamping()
        connection.larder_trail = trail  # type: ignore[attr-defined]
        try:
            yield trail
        finally:
            connection.larder_trail = None  # type: ignore[attr-defined]
            stop_stamping()
        _flush(trail.pending)


class _RollBackError(Exception):
    """Ends the transaction of a rehearsal."""


@contextmanager
def rehearsing() -> Iterator[None]:
    """Let the block write as it always does, then roll everything back: rows, changes, numbers and mails."""
    try:
        with recording() as trail:
            trail.is_rehearsal = True
            yield
            raise _RollBackError
    except _RollBackError:
        pass


def is_rehearsal() -> bool:
    """Return whether the open transaction will be rolled back at its end."""
    trail: Trail | None = getattr(connection, "larder_trail", None)
    return trail is not None and trail.is_rehearsal


def _flush(pending: Iterable[Change]) -> None:
    chains: dict[uuid.UUID, list[Change]] = {}
    for change in pending:
        chains.setdefault(change.chain, []).append(change)
    for chain in sorted(chains):
        _append(chain, chains[chain])


def _append(chain: uuid.UUID, changes: list[Change]) -> None:
    number, previous = _advance(chain, len(changes))
    number -= len(changes)
    for change in changes:
        number += 1
        change.number = number
        change.previous_hash = previous
        change.hash = previous = digest(change)
    _store(chain, changes, previous)


def _store(chain: uuid.UUID, changes: list[Change], last_hash: str) -> None:
    """Store numbered changes and write their last hash to the chain's head: one statement, on SQLite two."""
    table = connection.ops.quote_name(ChainHead._meta.db_table)
    update = f"UPDATE {table} SET hash = %s WHERE chain = %s"  # noqa: S608 (no outside text)
    if connection.vendor == "postgresql":
        insert_rows(changes, before=f"WITH head AS ({update}) ", parameters=(last_hash, chain))
        return
    insert_rows(changes)
    with connection.cursor() as cursor:
        cursor.execute(update, (last_hash, chain.hex))


def _advance(chain: uuid.UUID, count: int) -> tuple[int, str]:
    """Lock the chain's head and move it on by count; returns the new last number and the hash before it."""
    table = connection.ops.quote_name(ChainHead._meta.db_table)
    key = chain if connection.vendor == "postgresql" else chain.hex
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (chain, number, hash) VALUES (%s, %s, '') "  # noqa: S608 (no outside text)
            f"ON CONFLICT (chain) DO UPDATE SET number = {table}.number + excluded.number RETURNING number, hash",
            (key, count),
        )
        number, previous = cursor.fetchone()
    return number, previous


def broken_links(chain: uuid.UUID) -> Iterator[Change]:
    """Yield each change of a chain whose number, previous hash or own hash does not follow; reads in steps."""
    expected, previous = 1, ""
    for change in Change.objects.filter(chain=chain).order_by("number").iterator(chunk_size=1000):
        if change.number != expected or change.previous_hash != previous or change.hash != digest(change):
            yield change
        expected, previous = change.number + 1, change.hash
