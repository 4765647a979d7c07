"""Which kind of outage an error of the database or of the disk is, and the message that names it (DECISIONS 10.3)."""

import errno
import logging
import sqlite3
import time
from dataclasses import dataclass
from functools import cache

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from records.history.retrying import LOST_DEADLOCK, NO_LOCK, sqlstate_of

logger = logging.getLogger("larder.errors")


@dataclass(frozen=True, slots=True)
class Outage:
    """Why the database did not serve a request, the message to the caller, and the seconds until the next attempt."""

    name: str
    message: str
    retry_after: int = 5
    stops_writes: bool = False


AWAY = Outage("away", "The database cannot be reached. Try again.")
CROWDED = Outage("crowded", "The database has no connection left for this request. Try again.")
BUSY = Outage("busy", "Another change has locked what this request needs. Try again.")
SLOW = Outage("slow", "The database did not answer in time. Try again, or ask for less at once.")
FULL = Outage("full", "The database cannot store anything: it has no space left. Reading works.", 30, stops_writes=True)
READ_ONLY = Outage("read-only", "The database cannot be written at the moment. Reading works.", 30, stops_writes=True)
DAMAGED = Outage("damaged", "The database is damaged. The operator of Larder has to repair or restore it.", 60)
DISK_FULL = Outage("disk full", "The server has no space left on its disk. Try again later.", 30)
UNMIGRATED = Outage("unmigrated", "The database is not prepared for this version yet. Try again later.", 30)

_OF_SQLSTATE = {
    "53100": FULL,
    "53200": SLOW,
    "53300": CROWDED,
    "XX001": DAMAGED,
    "XX002": DAMAGED,
    "25006": READ_ONLY,
    NO_LOCK: BUSY,
    "40001": BUSY,
    LOST_DEADLOCK: BUSY,
    "57014": SLOW,
    "0A000": UNMIGRATED,  # A migration has just changed the columns of a prepared statement.
}
_QUERY_CANCELED = "57014"
"""A statement that was canceled; its transaction can only be rolled back."""
_SCHEMA_STATES = frozenset({"42P01", "42703", "3F000"})
_OF_SQLITE = {
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_FULL: FULL,
    sqlite3.SQLITE_IOERR: FULL,
    sqlite3.SQLITE_READONLY: READ_ONLY,
    sqlite3.SQLITE_CORRUPT: DAMAGED,
    sqlite3.SQLITE_NOTADB: DAMAGED,
}
_CROWDED_WORDS = ("too many clients", "too many connections", "remaining connection slots")
"""What PostgreSQL says, in English, instead of opening a connection; the driver gives no sqlstate for it."""
_FAULTS_OF_OURS = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_RANGE})

_writes_stopped_at = float("-inf")


def outage_of(error: BaseException) -> Outage | None:
    """Return the outage that an error of the database or of the disk indicates, and log it; None if the error is ours.

    SQLite reports a faulty statement as operational too, and PostgreSQL reports a read-only transaction as an internal
    error, so the error codes of the drivers decide.
    """
    global _writes_stopped_at
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        logger.warning("A request could not be served: the disk is full.")
        return DISK_FULL
    if not isinstance(error, DatabaseError | InterfaceError):
        return None
    state, code = sqlstate_of(error), getattr(error.__cause__, "sqlite_errorcode", None)
    outage = _of_state(error, state) if code is None else _of_code(error, code & 0xFF)
    if outage is not None:
        if outage.stops_writes:
            _writes_stopped_at = time.monotonic()
        extra = {"sqlstate": state or getattr(error.__cause__, "sqlite_errorname", None)}
        logger.warning("The database could not serve a request: %s.", outage.name, extra=extra)
    return outage


def writes_were_refused(seconds: float) -> bool:
    """Return whether the database refused, within the last `seconds`, to store something for this process."""
    return time.monotonic() - _writes_stopped_at < seconds


def is_refusal(error: BaseException) -> bool:
    """Return whether the database itself reported the refusal, so that nothing was committed.

    If the connection broke, a commit may have succeeded.
    """
    state, code = sqlstate_of(error), getattr(error.__cause__, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF != sqlite3.SQLITE_IOERR
    return state == _QUERY_CANCELED or (state is not None and state[:2] not in ("08", "57", "XX", "58"))


def _of_state(error: BaseException, state: str | None) -> Outage | None:
    if state in _SCHEMA_STATES:
        return UNMIGRATED if _lacks_migrations() else None
    outage = _OF_SQLSTATE.get(state or "")
    if outage is not None:
        return outage
    if state is None and any(words in str(error) for words in _CROWDED_WORDS):
        return CROWDED
    return AWAY if isinstance(error, OperationalError | InterfaceError) else None


def _of_code(error: BaseException, code: int) -> Outage | None:
    if code in _OF_SQLITE:
        return _OF_SQLITE[code]
    if code == sqlite3.SQLITE_ERROR and str(error).startswith(("no such table", "no such column")):
        return UNMIGRATED if _lacks_migrations() else None
    return None if code in _FAULTS_OF_OURS or not isinstance(error, OperationalError | InterfaceError) else AWAY


def _lacks_migrations() -> bool:
    try:
        return bool(missing_migrations())
    except DatabaseError:
        return False


def missing_migrations() -> set[tuple[str, str]]:
    """Return the migrations that are not applied yet; raises DatabaseError if the database does not answer."""
    return _known_migrations() - MigrationRecorder(connection).applied_migrations().keys()


@cache
def _known_migrations() -> set[tuple[str, str]]:
    """Return all migrations of the code; read from the disk once."""
    return set(MigrationLoader(None).graph.nodes)
