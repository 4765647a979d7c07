"""What safe following by time costs: the statement before a list, and the lock before the first stamp of a write.

Run by hand: `python -m bench.moments` (SQLite in a folder of its own), or
`python -m tests.postgres python -m bench.moments`. Prints the median and the spread of 2,000 runs of each statement,
together with `SELECT 1` on the same connection, which is the cost of a round trip. On PostgreSQL the first statement is
measured again while 50 other transactions stamp.
"""

import contextlib
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="larder-bench-"))
os.environ.update(LOG_LEVEL="warning", STATIC_COLLECTED="off")

RUNS = 2_000
WRITERS = 50


def measure(name: str, act: Callable[[], object]) -> None:
    """Print the median of the runs in microseconds, with the fifth and the ninety-fifth percentile."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        act()
        times.append((time.perf_counter() - start) * 1e6)
    parts = statistics.quantiles(times, n=20)
    print(f"{name}: {statistics.median(times):.0f} µs ({parts[0]:.0f} to {parts[-1]:.0f})")


def main() -> None:
    """Migrate, measure, and print."""
    django.setup()
    from django.core.management import call_command
    from django.db import connection, transaction

    from records.history import moments

    call_command("migrate", verbosity=0)
    column, values = moments.until_column(uuid.uuid4())
    print(connection.vendor)

    def ask(statement: str, parameters: tuple[Any, ...] = ()) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            cursor.fetchall()

    measure("SELECT 1", lambda: ask("SELECT 1"))
    measure("the time up to which a list is whole", lambda: ask(f"SELECT {column}", values))
    if connection.vendor != "postgresql":
        return
    with transaction.atomic():
        measure("the lock and the clock of a write", moments.start_stamping)
    connection.larder_clock = None  # type: ignore[attr-defined]
    with contextlib.ExitStack() as writers:
        for _ in range(WRITERS):
            other = connection.copy()
            writers.callback(other.close)
            other.set_autocommit(False)
            with other.cursor() as cursor:
                cursor.execute(moments._ENTER)
        measure(f"the time up to which a list is whole, beside {WRITERS} writers", lambda: ask(f"SELECT {column}"))


if __name__ == "__main__":
    main()
