"""Divides the history into parts by the ids of its records, so that several processes can read it at the same time.

A new process imports this module before Django is set up, so it imports no models.
"""

import multiprocessing
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import wait
from typing import Any, TypeVar

T = TypeVar("T")

WORTH_PROCESSES = 50_000
"""The number of changes from which several processes are faster than one; each takes a second or two to start."""
MOST_PROCESSES = 8
PARTS_OF_EACH = 4
"""The number of parts for each process, so that no process waits long for the last one."""
IDS = 2**128


@dataclass(frozen=True, slots=True)
class Part:
    """The changes of the records whose id is at least `first` and below `end`; None means no bound."""

    first: uuid.UUID | None = None
    end: uuid.UUID | None = None
    snapshot: str = ""
    """PostgreSQL's name of the snapshot that all parts read."""


def processes_for(changes: int) -> int:
    """Return how many processes are to read this number of changes."""
    return min(len(os.sched_getaffinity(0)), MOST_PROCESSES) if changes >= WORTH_PROCESSES else 1


@contextmanager
def reading(read_part: Callable[[Part], T], processes: int) -> Iterator[Iterator[T]]:
    """Yield what `read_part` returns for each part of the history; several processes begin to read at once.

    Call this within the transaction whose snapshot the parts read. `read_part` must be importable.
    """
    if processes < 2:
        yield map(read_part, [Part()])
        return
    from django.db import connection

    snapshot = ""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_export_snapshot()")
            snapshot = cursor.fetchone()[0]
    number = processes * PARTS_OF_EACH
    bounds = [None, *(uuid.UUID(int=IDS * idx // number) for idx in range(1, number)), None]
    parts = [Part(first, end, snapshot) for first, end in pairwise(bounds)]
    context = multiprocessing.get_context("spawn")
    start: tuple[Any, ...] = (connection.settings_dict["NAME"],)
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_start, initargs=start) as pool:
        yield pool.map(read_part, parts)


def _start(database: object) -> None:
    """Set up Django in a new process, for the database that the other one uses."""
    import django

    threading.Thread(target=_end_with_parent, daemon=True).start()
    django.setup()
    from django.db import connection

    connection.settings_dict["NAME"] = database


def _end_with_parent() -> None:
    """End the process when the one that started it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
