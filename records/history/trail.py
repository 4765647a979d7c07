"""Writes the history: `recording` opens the one transaction of a write and stores its changes at the end."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from operator import attrgetter

from django.db import connection, models, transaction

from records.history.appending import appending, complete, printed_name
from records.history.digests import VERSION, FieldChange, digest, lines_of, new_salts, values_of
from records.history.inserts import insertions
from records.history.models import INSTALLATION, ChainHead, Change, Channel
from records.history.moments import now, start_stamping
from records.history.origin import origin_id
from records.history.statements import Rows, Statement, parameter, row_of, together, vendor
from records.history.visibility import lowest_role


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a change: a user, with the interface and the credential that were used."""

    id: uuid.UUID | None
    name: str
    channel: Channel
    credential: str = ""
    request_id: str = ""


RowsCallback = Callable[[Rows], None]
LateStatements = Callable[[], Sequence[Statement]]
"""Returns statements; it is called within the transaction, because a query that locks can only be compiled there."""


@dataclass(slots=True)
class Trail:
    """The changes of one open transaction, in the order in which they were made."""

    pending: list[Change] = field(default_factory=list)
    is_rehearsal: bool = False
    """Whether everything is rolled back at the end of the transaction."""
    is_wrapper: bool = False
    """Whether the outermost block encloses one write and reads nothing of it: the write is then stored at its end."""
    depth: int = 0
    """How many blocks of `recording` are open."""
    has_begun: bool = False
    """Whether a statement has run in the transaction."""
    answers_for_next_block: tuple[Sequence[Statement], Sequence[Rows]] = ((), ())
    """The statements with which the next block of `recording` would begin and that ran already, and their rows."""
    answers: list[Rows] = field(default_factory=list)
    """The rows of the statements with which the innermost block began."""
    final_statements: list[tuple[Statement, RowsCallback | None]] = field(default_factory=list)
    """The statements that run at the end of the transaction, before its changes are stored."""
    late_additions: list[Callable[[], None]] = field(default_factory=list)
    """The functions that add the changes of many rows; they are called at the end of the transaction."""
    unnumbered_changes: list[tuple[Change, models.Model]] = field(default_factory=list)
    """The changes of new records whose numbers the database sets at the end."""

    def begin(
        self, statements: Sequence[Statement], statements_for_next_block: LateStatements | None = None
    ) -> list[Rows]:
        """Run statements, as the first ones of the transaction or in it; returns the rows of each.

        The statements that `statements_for_next_block` returns run with them; the next block begins with those.
        """
        run = together if self.has_begun else start_stamping
        self.has_begun = True
        next_statements = statements_for_next_block() if statements_for_next_block else ()
        answers = run([*statements, *next_statements])
        self.answers_for_next_block = next_statements, answers[len(statements) :]
        return answers[: len(statements)]

    @property
    def ends_next(self) -> bool:
        """Return whether the transaction ends with the innermost open block, so that nothing reads in between."""
        return self.depth == 1

    @contextmanager
    def storing_at_once(self) -> Iterator[None]:
        """Store everything immediately while the block runs, because the block reads what was written."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    @contextmanager
    def storing_at_end(self) -> Iterator[None]:
        """Store at the end of the transaction what the block writes, because nothing reads it before.

        Within another write, which may read it, the block stores everything immediately.
        """
        depth = self.depth
        self.depth -= depth == 1
        try:
            yield
        finally:
            self.depth = depth

    def at_end(self, statements: Iterable[Statement], callback: RowsCallback | None = None) -> None:
        """Run statements at the end of the transaction, in one round trip with the changes and the COMMIT.

        `callback` is called with the rows of each. Use it only if nothing else reads what they write: see `ends_next`.
        """
        self.final_statements += [(statement, callback) for statement in statements]

    def store(self, statements: Sequence[Statement]) -> None:
        """Run statements that store rows: at the end if nothing reads the rows before, otherwise now."""
        if self.ends_next:
            self.at_end(statements)
        else:
            together(statements)

    def note(self, add_changes: Callable[[], None]) -> None:
        """Call a function that adds the changes of many rows and must not run a query.

        If nothing reads the rows before, it is called while PostgreSQL stores them.
        """
        if self.ends_next:
            self.late_additions.append(add_changes)
        else:
            add_changes()

    def end(self) -> None:
        """Run the statements for the end and store the changes.

        That is one round trip on PostgreSQL if no chain gets several changes and `late_additions` is empty. Otherwise
        the rows are stored first. While the database stores them, everything of the digests is computed that does not
        depend on the changes' numbers. Only then the heads of the chains are locked.
        """
        final_statements = [statement for statement, _ in self.final_statements]
        chains = self._chains()
        if vendor() == "postgresql" and len(chains) == len(self.pending) and not self.late_additions:
            if statements := [*final_statements, *(appending(changes[0]) for changes in chains.values())]:
                connection.commit_with(statements, self._answer)  # type: ignore[attr-defined]
            return

        def advance() -> list[Statement]:
            for add_changes in self.late_additions:
                add_changes()
            if self.late_additions:
                chains.update(self._chains())
            for change in self.pending:
                change.lines = "" if change.counts else lines_of(change)
            return [_advance(chain, len(changes)) for chain, changes in chains.items()]

        answers = together(final_statements, advance)
        self._answer(answers[: len(final_statements)])
        for change, record in self.unnumbered_changes:
            complete(change, record)
        heads = zip(chains.items(), answers[len(final_statements) :], strict=True)
        if statements := [one for (chain, changes), rows in heads for one in _append(chain, changes, *rows[0])]:
            connection.commit_with(statements)  # type: ignore[attr-defined]

    def _chains(self) -> dict[object, list[Change]]:
        """Return the changes of each chain, by its id as a parameter, in the order in which every writer locks them."""
        chains: dict[uuid.UUID, list[Change]] = {}
        for change in sorted(self.pending, key=attrgetter("chain")):
            chains.setdefault(change.chain, []).append(change)
        return {parameter(chain): changes for chain, changes in chains.items()}

    def _answer(self, answers: Sequence[Rows]) -> None:
        for (_, callback), rows in zip(self.final_statements, answers, strict=False):
            if callback is not None:
                callback(rows)

    def add(
        self,
        record: models.Model,
        entries: list[FieldChange],
        *,
        author: Author,
        operation: str,
        reason: str = "",
        site_id: uuid.UUID | None = None,
        counts: str = "",
    ) -> None:
        """Add the Change of one record's changed fields; without changed fields nothing is added. Runs no query.

        If the database numbers a new record when it stores it, at the end of the transaction, `counts` is the name of
        the field with the number, which is the first of the changed fields. Until then its value is MARK.
        """
        if not entries:
            return
        self.answers_for_next_block = (), ()  # The next block reads what this one has written.
        site = site_id or getattr(record, "history_site_id", None) or getattr(record, "site_id", None)
        values: dict[str, object] = {
            "id": uuid.uuid4(),
            "site_id": site,
            "chain": site or INSTALLATION,
            "number": None,
            "at": now(),
            "author_id": author.id,
            "author_name": author.name[:255],
            "channel": str(author.channel),
            "credential": author.credential[:255],
            "operation": operation,
            "reason": reason,
            "model": record._meta.label,
            "record_id": record.pk,
            "record_name": printed_name(record),
            "fields": entries,
            "request_id": (author.request_id or origin_id())[:64],
            "lowest_role": lowest_role(record, entries),
            "digest_version": VERSION,
            "previous_hash": "",
            "hash": "",
        }
        change = row_of(Change, values)
        change.salts = new_salts(values_of(change))
        change.counts = counts
        self.pending.append(change)
        if counts:
            self.unnumbered_changes.append((change, record))


@contextmanager
def beginning() -> Iterator[None]:
    """Open the transaction of the block's write early, with what `run_at_begin` reads in the same round trip.

    The block does one write, in one block of `recording`, and reads nothing after that: the write is stored when the
    block ends. If a block of `recording` around it encloses nothing else (`Trail.is_wrapper`, which
    `records.operations.idempotency` sets), the write is stored when that one ends. Within another write, and on SQLite,
    where a statement costs no round trip and a transaction keeps all other writers waiting, this does nothing.
    """
    outer = _trail()
    if vendor() != "postgresql" or outer is not None:
        with outer.storing_at_end() if outer is not None and outer.is_wrapper else nullcontext():
            yield
        return
    with _transaction():
        yield


def run_at_begin(
    statements: Sequence[Statement], *, statements_for_next_block: LateStatements | None = None
) -> list[Rows]:
    """Run statements, in the round trip that begins the transaction if a block of `beginning` waits for its write.

    Returns the rows of each. In a transaction the statements that `statements_for_next_block` returns run too: the
    write begins with those, and then does not run them again.
    """
    trail = _trail()
    return together(statements) if trail is None else trail.begin(statements, statements_for_next_block)


def store(statements: Sequence[Statement]) -> None:
    """Run statements that store rows, as `Trail.store` does if a write is under way."""
    (_trail() or Trail()).store(statements)


def _trail() -> Trail | None:
    return getattr(connection, "larder_trail", None)


@contextmanager
def _transaction() -> Iterator[Trail]:
    """Open the transaction of a write, which begins with its first statement, and store the changes at its end."""
    trail = Trail()
    with transaction.atomic():
        connection.larder_trail = trail  # type: ignore[attr-defined]
        try:
            yield trail
            connection.larder_trail = None  # type: ignore[attr-defined]
            trail.end()
        finally:
            connection.larder_trail = connection.larder_clock = None  # type: ignore[attr-defined]


@contextmanager
def recording(
    reading: LateStatements | None = None,
    *,
    statements_for_next_block: LateStatements | None = None,
    savepoint: bool = True,
) -> Iterator[Trail]:
    """Open the transaction of a write and yield its Trail; the changes are stored when the outermost block ends.

    The statements that `reading` returns are sent together with the BEGIN; their rows are in `Trail.answers`. With them
    run the statements that `statements_for_next_block` returns. They are those of the `reading` of a nested block,
    which gets their rows without running them again, unless a Change was added in the meantime.

    A nested block is a savepoint: if it fails, only its own changes are lost. Without a savepoint it costs two round
    trips less, but if it fails, everything since the enclosing savepoint is lost. The write of a block of `beginning`
    or `storing_at_end` never has a savepoint. The chain's row is locked last, so that the writers of a site wait for
    each other as briefly as possible and never in a cycle.
    """
    outer = _trail()
    if outer is None:
        with _transaction() as trail:
            trail.depth = 1
            trail.answers = trail.begin(reading() if reading else (), statements_for_next_block)
            yield trail
        return
    mark = len(outer.pending)
    outer.depth += 1
    try:
        with transaction.atomic(savepoint=savepoint) if outer.depth > 1 else nullcontext():
            statements = reading() if reading else ()
            next_statements, rows = outer.answers_for_next_block
            if statements and statements == next_statements:
                outer.answers, outer.answers_for_next_block = list(rows), ((), ())
            else:
                outer.answers = (
                    outer.begin(statements, statements_for_next_block) if statements or not outer.has_begun else []
                )
            yield outer
    except BaseException:
        del outer.pending[mark:]
        raise
    finally:
        outer.depth -= 1


class RollBackError(Exception):
    """Raised in a block of `recording` to roll it back; whoever raises it also suppresses it."""


@contextmanager
def rehearsing() -> Iterator[None]:
    """Let the block write as usual, then roll everything back: rows, changes, numbers and mails."""
    with suppress(RollBackError), recording() as trail:
        trail.is_rehearsal = True
        yield
        raise RollBackError


def is_rehearsal() -> bool:
    """Return whether the open transaction will be rolled back at its end."""
    trail = _trail()
    return trail is not None and trail.is_rehearsal


def _advance(chain: object, count: int) -> Statement:
    """Return the statement that locks and advances a chain's head; it returns the last number and the previous hash."""
    table = connection.ops.quote_name(ChainHead._meta.db_table)
    sql = (
        f"INSERT INTO {table} (chain, number, previous, hash) VALUES (%s, %s, '', '') "  # noqa: S608 (no outside text)
        f"ON CONFLICT (chain) DO UPDATE SET number = {table}.number + excluded.number RETURNING number, hash"
    )
    return sql, (chain, count)


def _append(chain: object, changes: list[Change], last: int, previous: str) -> list[Statement]:
    """Set the numbers and hashes of changes; returns the statements that store them and the last hash."""
    for number, change in enumerate(changes, last - len(changes) + 1):
        change.number = number
        change.previous_hash = previous
        change.hash = previous = digest(change, change.lines)
    table = connection.ops.quote_name(ChainHead._meta.db_table)
    update = f"UPDATE {table} SET previous = %s, hash = %s WHERE chain = %s"  # noqa: S608 (no outside text)
    return [*insertions(changes), (update, (changes[-1].previous_hash, previous, chain))]
