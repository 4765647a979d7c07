"""Lists are read from a replica of the database, where there is one and it has everything that the primary had.

The statement that comes before a list's rows goes to the primary in any case: it proves the caller's access. It also
reads the numbers of the newest changes of the site and of the installation. The replica may answer if it has replayed
the history up to these numbers: changes are numbered in the order in which they are committed, and each write is one
transaction with its change. So the answer is the one that the primary would give, for every caller, and nobody has to
remember what a caller wrote last.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connection, connections
from django.db.models import Model

from records.history.models import INSTALLATION, ChainHead
from records.history.statements import Rows, Statement, parameter, together

R = TypeVar("R")
Heads = tuple[uuid.UUID, int, int]
"""A site, and the numbers of the newest changes of the site and of the installation."""

ALIAS = "replica"
PATIENCE = 1.0
"""Seconds for which a replica may be silent before its connection is cut; the primary then answers."""
LOG_SECONDS = 60.0
TOO_SLOW = "57014"
"""PostgreSQL's code for a statement that took longer than its limit."""

logger = logging.getLogger("larder.database")
reads = logging.getLogger("larder.replica")

_reading: ContextVar[bool] = ContextVar("reading from the replica", default=False)
_logged_at = float("-inf")


class Router:
    """Sends the reads of a block to the replica and everything else to the primary."""

    def db_for_read(self, model: type[Model], **hints: object) -> str | None:
        """Return the replica within `reading_from_replica`; otherwise leave the choice to Django."""
        return ALIAS if _reading.get() else None

    def db_for_write(self, model: type[Model], **hints: object) -> str:
        """Return the primary."""
        return DEFAULT_DB_ALIAS

    def allow_migrate(self, db: str, app_label: str, **hints: object) -> bool:
        """Return False for the replica, which gets its tables from the primary."""
        return db != ALIAS


def is_configured() -> bool:
    """Return whether there is a replica (DATABASE_REPLICA_URL)."""
    return ALIAS in connections.settings


@contextmanager
def reading_from_replica() -> Iterator[None]:
    """Let the queries of the block read from the replica."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


def rows_of(statement: Statement) -> Rows:
    """Return the rows of a statement, which the replica answers within `reading_from_replica`."""
    database: Any = connections[ALIAS if _reading.get() else DEFAULT_DB_ALIAS]
    results: list[Rows] = database.together([statement])
    return results[0]


def head_columns(site_id: uuid.UUID) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the numbers of the newest changes of the site and of the installation as columns, with their parameters.

    Null stands for a chain without a change.
    """
    table = connection.ops.quote_name(ChainHead._meta.db_table)
    sql = f"(SELECT number FROM {table} WHERE chain = %s)"  # noqa: S608 (no outside text)
    return [(sql, (parameter(chain),)) for chain in (site_id, INSTALLATION)]


def heads_of(site_id: uuid.UUID) -> Heads | None:
    """Return how far a replica must have replayed the history to answer for the site; None if there is no replica.

    One statement on the primary. Ask before the rows are read.
    """
    if not is_configured():
        return None
    columns = head_columns(site_id)
    sql = f"SELECT {', '.join(column for column, _ in columns)}"
    ((of_site, of_installation),) = together([(sql, [value for _, parameters in columns for value in parameters])])[0]
    return site_id, of_site or 0, of_installation or 0


def read(heads: Heads | None, query: Callable[[], R]) -> R:
    """Return what `query` reads: from the replica if it has replayed the history up to the heads, else the primary.

    Without heads, and within a transaction, the primary answers. A replica that fails is replaced by the primary at
    once; a statement that takes too long there would take too long here, so that error is raised.
    """
    if heads is None or connection.in_atomic_block:
        return query()
    try:
        if _has_replayed(heads):
            with reading_from_replica():
                result = query()
            _count("replica")
            return result
        _count("behind")
    except (DatabaseError, InterfaceError) as error:
        if getattr(error.__cause__, "sqlstate", None) == TOO_SLOW:
            raise
        _note_away(error)
        with suppress(DatabaseError, InterfaceError):
            connections[ALIAS].close()
        _count("away")
    return query()


def _has_replayed(heads: Heads) -> bool:
    """Return whether the replica follows another server, and knows the changes with these numbers."""
    site_id, of_site, of_installation = heads
    replica: Any = connections[ALIAS]
    columns = head_columns(site_id)
    sql = f"SELECT pg_is_in_recovery(), {', '.join(column for column, _ in columns)}"
    replica.patience = PATIENCE
    try:
        with replica.cursor() as cursor:
            cursor.execute(sql, [value for _, parameters in columns for value in parameters])
            follows, site, installation = cursor.fetchone()
    finally:
        replica.patience = None
    # A server that was promoted has a history of its own from then on.
    return bool(follows) and (site or 0) >= of_site and (installation or 0) >= of_installation


def _note_away(error: BaseException) -> None:
    """Log that the replica does not answer, once a minute."""
    global _logged_at
    if time.monotonic() - _logged_at >= LOG_SECONDS:
        _logged_at = time.monotonic()
        extra = {"sqlstate": getattr(error.__cause__, "sqlstate", None)}
        logger.warning("The replica does not answer; the primary answers instead.", extra=extra)


def _count(outcome: str) -> None:
    """Count for the metrics who answered a list, or why the replica did not."""
    reads.debug("A list was read.", extra={"outcome": outcome})
