"""The backend: it creates the database file and its companions so that only their owner can read them."""

import os
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from django.db import Error, connections, transaction
from django.db.backends.sqlite3 import base

from config.statements import observing


class DatabaseWrapper(base.DatabaseWrapper):
    """Creates files that nobody else can read, whatever the folder allows, and leaves no read open after a request."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Run every statement under observation, and close the cursor of one that fails.

        An error often refers to itself through the frames of its traceback, which also refer to the cursor, so that
        only the garbage collector frees both. The collector may run in a thread that has locked the file. For an open
        cursor it would then wait for the cursor's connection, whose thread waits for the lock, until the waiting time
        is over.
        """
        super().__init__(*args, **kwargs)
        self._cursors: weakref.WeakSet[Any] = weakref.WeakSet()
        """The cursors of this connection that were used; the end of the request closes them."""
        self.execute_wrappers.append(partial(observing, cursors=self._cursors))

    def connect(self) -> None:
        """Connect; files that are created meanwhile are private."""
        earlier = os.umask(0o077)
        try:
            super().connect()
        finally:
            os.umask(earlier)
        _wrappers.add(self)

    def close_if_unusable_or_obsolete(self) -> None:
        """Do what is needed between two requests of a thread: end unfinished reads, and reconnect after an error.

        A read of which not every row was fetched would keep its connection at the state of the database that it saw
        first. Later reads would then be out of date, and the first write would be refused.
        """
        if not self.in_atomic_block:
            for cursor in list(self._cursors):
                # A cursor of a connection that is closed already cannot be closed, and need not be.
                with suppress(sqlite3.ProgrammingError):
                    cursor.close()
            if self.errors_occurred:
                self.close()
        super().close_if_unusable_or_obsolete()

    def together(
        self,
        statements: Sequence[tuple[str, Sequence[Any]]],
        meanwhile: Callable[[], Sequence[tuple[str, Sequence[Any]]]] | None = None,
    ) -> list[list[tuple[Any, ...]]]:
        """Run statements in their order, and those that `meanwhile` returns; returns the rows of each.

        On SQLite no statement costs a round trip.
        """
        results = []
        for sql, parameters in statements:
            with self.cursor() as cursor:
                cursor.execute(sql, parameters)
                results.append(cursor.fetchall() if cursor.description else [])
        return results if meanwhile is None else [*results, *self.together(meanwhile())]

    def commit_with(
        self,
        statements: Sequence[tuple[str, Sequence[object]]],
        on_answers: Callable[[list[list[tuple[object, ...]]]], None] | None = None,
    ) -> None:
        """Run the last statements of a transaction before its COMMIT, which does not cost a round trip either."""
        rows = self.together(statements)
        if on_answers is not None:
            on_answers(rows)

    @contextmanager
    def briefly(self, milliseconds: int) -> Iterator[None]:
        """Open a transaction that waits for another writer no longer than this; raises OperationalError otherwise."""
        self._wait_for_locks(milliseconds)
        try:
            with transaction.atomic(self.alias):
                yield
        finally:
            if self.connection is not None:
                self._wait_for_locks(round(self.settings_dict["OPTIONS"]["timeout"] * 1000))

    def _wait_for_locks(self, milliseconds: int) -> None:
        with self.cursor() as cursor:
            cursor.execute(f"PRAGMA busy_timeout = {milliseconds:d}")


_wrappers: weakref.WeakSet[DatabaseWrapper] = weakref.WeakSet()
"""The connections of all threads of the process, and some that are closed already."""
_open_connections: list[object] = []


def keep_open() -> None:
    """Keep a connection of this process open that nobody else uses.

    When the last connection closes, SQLite removes the two files beside the database (`-wal` and `-shm`), and creates
    them again for the next reader. A full disk has no space for them, so that nothing could be read.
    """
    connection = connections.create_connection("default")
    with suppress(Error), connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM sqlite_master")
        cursor.fetchone()
        _open_connections.append(connection)


def let_go() -> None:
    """Close the connections of all threads; the last one to close writes everything into the database file."""
    for wrapper in list(_wrappers):
        if wrapper.connection is not None and not wrapper.in_atomic_block:
            wrapper.connection.close()
    _open_connections.clear()
