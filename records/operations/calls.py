"""The calls that keys made: collected in memory while requests are answered, and written together by a thread.

A request only appends to a list. The thread writes at most once a second and in one statement, so that a read stays at
its two queries, and an unavailable or busy database does not delay callers: the newest calls wait in memory, the others
are dropped. A process that is killed loses the last second. Once an hour the thread also deletes old stored answers.
"""

import atexit
import datetime
import logging
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from django.db import InterfaceError, OperationalError, connection
from django.db.models import Model

from records.accounts.calls import NEWEST, CallKeeper
from records.accounts.models import KeyCall
from records.operations.idempotency import forget_old_answers
from records.operations.outages import outage_of

logger = logging.getLogger("larder.calls")

WRITE_EVERY = 1.0
RETRY_AFTER = 5.0
SWEEP_EVERY = 3_600.0
"""How often expired answers, stored for an Idempotency-Key, are deleted."""
LAST_WRITE = 3.0
"""How long a process that ends waits for its last calls to be written."""
MOST_KEYS = 1000
MOST_ASIDE = 10_000
"""How many lines of another log wait at most while the database is unavailable; the oldest are dropped."""

Writer = Callable[[Sequence[Any]], None]


class Call(NamedTuple):
    """One call as it is collected: complete, and cheap to create."""

    at: float
    operation: str
    status: int
    duration_ms: float
    request_id: str


class CallBuffer:
    """The calls of one process that are not written yet: the newest of each key."""

    def __init__(self) -> None:
        self._is_enabled = False
        self.forget()

    def forget(self) -> None:
        """Start empty, as a newly forked process does."""
        self._lock = threading.Lock()
        self._calls: dict[uuid.UUID, deque[Call]] = {}
        self._aside: dict[Writer, deque[Any]] = {}
        self._new_calls = threading.Event()
        self._end_event = threading.Event()
        self._keeper = CallKeeper()
        self._sweep_at = 0.0
        self._writer: threading.Thread | None = None

    def note(self, key_id: uuid.UUID, operation: str, status: int, duration_ms: float, request_id: str) -> None:
        """Collect a call that was answered; never accesses the database."""
        call = Call(time.time(), operation, status, duration_ms, request_id)
        with self._lock:
            queue = self._calls.get(key_id)
            if queue is None:
                if len(self._calls) >= MOST_KEYS:
                    return
                queue = self._calls[key_id] = deque(maxlen=NEWEST)
            queue.append(call)
            self._start_writer()
        if not self._new_calls.is_set():
            self._new_calls.set()

    def put_aside(self, row: Model, write: Writer) -> bool:
        """Collect a line of another log until the thread calls `write` with all of them; never accesses the database.

        `write` stores all of them or none, and raises DatabaseError then; it may be called again with the same ones.

        Returns False in a process without such a thread; the caller then writes the line itself.
        """
        if not self._is_enabled:
            return False
        with self._lock:
            self._aside.setdefault(write, deque(maxlen=MOST_ASIDE)).append(row)
            self._start_writer()
        self._new_calls.set()
        return True

    def _start_writer(self) -> None:
        """Start the thread at the first call, or later if the system has none left; the caller holds the lock."""
        if self._is_enabled and self._writer is None:
            writer = threading.Thread(target=self._write_on, name="recent calls", daemon=True)
            with suppress(RuntimeError, MemoryError):
                writer.start()
                self._writer = writer

    def write_by_itself(self) -> None:
        """Allow a thread to write from the first call on, one per process, since threads do not survive a fork."""
        self._is_enabled = True
        os.register_at_fork(after_in_child=self.forget)
        atexit.register(self.end)

    def flush(self) -> int:
        """Write the collected calls and lines and return the number of calls; raises DatabaseError.

        What an outage prevents is kept for the next time; what the database refuses otherwise is dropped.
        """
        with self._lock:
            calls_by_key, self._calls = self._calls, {}
            aside, self._aside = self._aside, {}
        calls = [_row(key, call) for key, of_key in calls_by_key.items() for call in of_key]
        try:
            for write in list(aside):
                write(list(aside[write]))
                del aside[write]
            if calls:
                self._keeper.keep(calls)
        except (OperationalError, InterfaceError):
            with self._lock:
                for key, of_key in calls_by_key.items():
                    self._calls[key] = deque(chain(of_key, self._calls.get(key, ())), maxlen=NEWEST)
                for write, rows in aside.items():
                    self._aside[write] = deque(chain(rows, self._aside.get(write, ())), maxlen=MOST_ASIDE)
            raise
        return len(calls)

    def end(self) -> None:
        """Write the rest before the process ends, without delaying it for long."""
        self._end_event.set()
        self._new_calls.set()
        if self._writer is not None:
            self._writer.join(LAST_WRITE)

    def _write_on(self) -> None:
        faulty = False
        while not self._end_event.is_set():
            self._new_calls.wait()
            self._end_event.wait(RETRY_AFTER if faulty else WRITE_EVERY)
            self._new_calls.clear()
            try:
                self._flush_apart()
                faulty = False
            except Exception as error:
                if not faulty:
                    cause = None if outage_of(error) else error
                    logger.warning("Recent calls of keys cannot be written.", exc_info=cause)
                faulty = True
                self._new_calls.set()

    def _flush_apart(self) -> None:
        """Write on the thread's own connection, which yields to those of the requests."""
        try:
            if connection.vendor == "sqlite":
                with connection.cursor() as cursor:
                    # Writers of records come first, and a call that a power cut loses is not evidence.
                    cursor.execute("PRAGMA busy_timeout = 100")
                    cursor.execute("PRAGMA synchronous = NORMAL")
            self.flush()
            if time.monotonic() >= self._sweep_at:
                self._sweep_at = time.monotonic() + SWEEP_EVERY
                forget_old_answers()
        finally:
            connection.close()


def _row(key_id: uuid.UUID, call: Call) -> KeyCall:
    at = datetime.datetime.fromtimestamp(call.at, datetime.UTC)
    return KeyCall(
        key_id=key_id,
        at=at.replace(microsecond=at.microsecond // 1000 * 1000),
        operation=call.operation[:100],
        status=call.status,
        duration_ms=call.duration_ms,
        request_id=call.request_id,
    )


buffer = CallBuffer()
"""The calls of this process."""
