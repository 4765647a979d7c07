"""Prevents an unavailable or frozen database from blocking the threads of the server."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import DEFAULT_DB_ALIAS, OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

logger = logging.getLogger("larder.database")

RETRY_SECONDS = 1.0


class Breaker:
    """Refuses connections at once while the database is unavailable; a separate thread tries to connect every second.

    No request waits for such an attempt, and a process that is idle meanwhile notices the return as well.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_failing = False
        self._reason = ""

    @property
    def is_open(self) -> bool:
        """Return whether the database is known to be unavailable."""
        return self._is_failing

    def check(self) -> None:
        """Raise OperationalError, with the reason, while the database is known to be unavailable."""
        if self._is_failing:
            raise OperationalError(self._reason)

    def note_failure(self, attempt: Callable[[], object], error: BaseException) -> None:
        """Record that the database is unavailable; `attempt` connects to it, and raises while that is not possible.

        The log gets the error of the driver once for each outage. It names the server and its reason, such as a refused
        password or too many connections, and no value of a record.
        """
        with self._lock:
            if self._is_failing:
                return
            self._is_failing, self._reason = True, str(error)
        logger.warning("PostgreSQL cannot be used: %s", " ".join(str(error).split()))
        retry_thread = threading.Thread(
            target=self._try_until_it_works, args=(attempt,), name="database breaker", daemon=True
        )
        try:
            retry_thread.start()
        except (RuntimeError, MemoryError):
            # Without a thread nobody would notice the return; the next request tries to connect itself.
            logger.exception("A thread could not be started.")
            self._is_failing = False

    def _try_until_it_works(self, attempt: Callable[[], object]) -> None:
        while True:
            time.sleep(RETRY_SECONDS)
            try:
                attempt()
                break
            except Exception as error:
                self._reason = str(error)
        with self._lock:
            self._is_failing = False
        logger.warning("PostgreSQL can be used again.")


class Watchdog:
    """Cuts connections whose statement takes far longer than its limit.

    The server's own `statement_timeout` does not help if the server is frozen or the network has failed.
    """

    def __init__(self) -> None:
        self._deadlines: dict[int, tuple[Any, float]] = {}
        self._cut: set[int] = set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def begin(self, connection: object, seconds: float) -> None:
        """Watch a statement that starts now on a connection."""
        self._deadlines[id(connection)] = (connection, time.monotonic() + seconds)
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    thread = threading.Thread(target=self._watch, name="database watchdog", daemon=True)
                    with suppress(RuntimeError, MemoryError):  # The next statement tries again.
                        thread.start()
                        self._thread = thread

    def end(self, connection: BaseDatabaseWrapper) -> bool:
        """Stop watching; return whether the connection was cut."""
        self._deadlines.pop(id(connection), None)
        was_cut = id(connection) in self._cut
        self._cut.discard(id(connection))
        return was_cut

    def _watch(self) -> None:
        while True:
            time.sleep(RETRY_SECONDS)
            moment = time.monotonic()
            for key, (connection, deadline) in list(self._deadlines.items()):
                if moment > deadline and key not in self._cut:
                    self._cut.add(key)
                    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as line:
                        line.shutdown(socket.SHUT_RDWR)


breaker = Breaker()
"""The breaker of the primary database."""
_breakers: dict[str, Breaker] = {}
watchdog = Watchdog()


def breaker_of(alias: str) -> Breaker:
    """Return the breaker of a database of the settings: a replica that is away must not stop the primary."""
    return breaker if alias == DEFAULT_DB_ALIAS else _breakers.setdefault(alias, Breaker())
