"""The times that writes are stamped with, and the time up to which every write is visible (DECISIONS 11.1).

A write is stamped before its transaction ends, so a reader could see a later stamp before an earlier one. On
PostgreSQL each write therefore takes a shared advisory lock before its first stamp. The lock's key is the time; nobody
waits for such a lock, and it ends with the transaction. A reader that lists records first asks which of these locks
exist: no record that becomes visible later has a stamp before the oldest of them or before the time of the question.
Looking at all locks takes most of the time of that question, so the reader does it only if a transaction that writes is
under way: a write has its transaction id before its first stamp, and the ids tell whether one has not ended.
All these times come from the database's clock, so the clocks of several servers need not agree.

On SQLite writers wait for each other, and each is stamped while it has locked the file. Therefore every later write has
a later stamp than the newest visible one.
"""

import datetime
import time
import uuid
from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections

from records.history.statements import Rows, Statement, together

MOMENT_BITS = 41
"""The number of bits for the milliseconds since 1970; they are enough until the year 2039."""
NAMESPACE = 0x1ADDE5
"""The value of the higher bits, which distinguishes these locks from others."""
LONG_AGO = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

_STATEMENT_TIME = "floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint"

_ENTER = f"""
SELECT pg_advisory_xact_lock_shared(({NAMESPACE}::bigint << {MOMENT_BITS}) | {_STATEMENT_TIME}),
       pg_current_xact_id(), clock_timestamp(), set_config('plan_cache_mode', 'force_generic_plan', true)
"""
"""Takes the lock, a transaction id, and then the time. It also lets PostgreSQL plan each prepared statement of the
transaction once, instead of anew for its first five runs: a write has a dozen of them, which read and store by key."""

_NOBODY_WRITES = """
(SELECT pg_snapshot_xmin(current) = pg_snapshot_xmax(current) AND age(pg_snapshot_xmax(current)::xid) = 0
        AND pg_current_xact_id_if_assigned() IS NULL
   FROM pg_current_snapshot() AS current)
"""
"""Whether every transaction that has an id has ended: none that the snapshot knows is under way, and none is too new
for the snapshot, whose upper end is the next id to be given. `age` counts from that id, unless the transaction itself
has one."""

_OLDEST = f"""
SELECT least({_STATEMENT_TIME}, min(key & ((1::bigint << {MOMENT_BITS}) - 1)))
  FROM (SELECT (classid::bigint << 32) | objid::bigint AS key FROM pg_locks
         WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ShareLock'
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS locks
 WHERE key >> {MOMENT_BITS} = {NAMESPACE}
"""  # noqa: S608 (no outside text)


def now() -> datetime.datetime:
    """Return the present time in UTC, in milliseconds (DECISIONS 1.8); within a write, by the database's clock."""
    database = connections[DEFAULT_DB_ALIAS]  # not its proxy, because a call with many records asks for each
    clock = getattr(database, "larder_clock", None)
    if clock is None:
        moment = datetime.datetime.now(datetime.UTC)
    else:
        moment = clock[0] + datetime.timedelta(seconds=time.monotonic() - clock[1])
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def start_stamping(statements: Sequence[Statement] = ()) -> list[Rows]:
    """Announce that the transaction writes, and stamps rows from now on; call this before the first stamp.

    The statements run after that, on PostgreSQL in the same round trip; returns the rows of each of them. The lock ends
    with the transaction; its end sets `larder_clock` to None, so that this machine's clock is used again.
    """
    if connection.vendor != "postgresql":
        return together(statements)
    rows, *answers = together([(_ENTER, ()), *statements])
    connection.larder_clock = (rows[0][2], time.monotonic())  # type: ignore[attr-defined]
    return answers


def until_column(site_id: uuid.UUID) -> tuple[str, tuple[Any, ...]]:
    """Return a column, with its parameters, for a statement that runs before the rows of a site are read.

    `until_of` reads its value as the time before which all stamps of the site's records are visible to everybody who
    reads afterwards. No record that becomes visible later has an earlier stamp.
    """
    if connection.vendor == "postgresql":
        return f"CASE WHEN {_NOBODY_WRITES} THEN {_STATEMENT_TIME} ELSE ({_OLDEST}) END", ()
    newest = "(SELECT c.at FROM history_change c WHERE c.site_id = %s ORDER BY c.at DESC LIMIT 1)"
    return newest, (site_id.hex,)


def until_of(value: Any) -> datetime.datetime:
    """Return the time in the value of that column."""
    if isinstance(value, int):
        return LONG_AGO + datetime.timedelta(milliseconds=value)
    if value is None:
        return LONG_AGO
    moment = datetime.datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.replace(tzinfo=datetime.UTC)
