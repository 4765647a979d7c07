"""What keeps a database that is away or frozen from holding up the threads of the server."""

import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from django.db import OperationalError

RETRY_SECONDS = 1.0


class Breaker:
    """Refuses connections at once while the last attempt failed; one attempt a second is made in between."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failing = False
        self._next_attempt = 0.0

    def check(self) -> None:
        """Raise OperationalError while the database is known to be away and it is not time for the next attempt."""
        if not self._failing:
            return
        with self._lock:
            moment = time.monotonic()
            if self._failing and moment < self._next_attempt:
                raise OperationalError("The database was away a moment ago.")
            self._next_attempt = moment + RETRY_SECONDS

    @property
    def is_open(self) -> bool:
        """Return whether the last attempt to connect failed."""
        return self._failing

    def failed(self) -> None:
        """Note that an attempt to connect failed."""
        with self._lock:
            self._failing = True
            self._next_attempt = time.monotonic() + RETRY_SECONDS

    def worked(self) -> None:
        """Note that a connection was made."""
        self._failing = False


class Watchdog:
    """Cuts connections whose statement outlives its limit by far.

    The server's own `statement_timeout` does not help when the server is frozen or the network has gone.
    """

    def __init__(self) -> None:
        self._running: dict[int, tuple[Any, float]] = {}
        self._cut: set[int] = set()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def begin(self, connection: Any, seconds: float) -> None:
        """Watch a statement that begins now on a connection."""
        self._running[id(connection)] = (connection, time.monotonic() + seconds)
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._watch, name="database watchdog", daemon=True)
                    self._thread.start()

    def end(self, connection: Any) -> bool:
        """Stop watching; return whether the connection was cut."""
        self._running.pop(id(connection), None)
        was_cut = id(connection) in self._cut
        self._cut.discard(id(connection))
        return was_cut

    def _watch(self) -> None:
        while True:
            time.sleep(RETRY_SECONDS)
            moment = time.monotonic()
            for key, (connection, deadline) in list(self._running.items()):
                if moment > deadline and key not in self._cut:
                    self._cut.add(key)
                    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as line:
                        line.shutdown(socket.SHUT_RDWR)


breaker = Breaker()
watchdog = Watchdog()
