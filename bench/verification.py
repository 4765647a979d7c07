"""How long `verify_history` takes, and how much memory.

Run by hand: `python -m bench.verification` (SQLite in a folder of its own), or
`python -m tests.postgres python -m bench.verification`. The history is that of items and employees, of which each was
added and then changed four times. `BENCH_CHANGES` says how many changes there are (100,000), `BENCH_PROCESSES` how many
processes verify them (as many as there are cores).
"""

import os
import resource
import sys
import tempfile
import time
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="larder-bench-"))
os.environ.update(LOG_LEVEL="warning", STATIC_COLLECTED="off")

BATCH = 1000
TIMES = 4
"""How often each record was changed after it had been added."""


def fill(changes: int) -> None:
    """Migrate, and store a site with so many changes."""
    from django.core.management import call_command

    from records.employees.models import Employee
    from records.history.models import Channel
    from records.history.trail import Author
    from records.items.models import Item
    from records.sites.models import Site
    from tests import make

    call_command("migrate", verbosity=0)
    author = Author(None, "Ada Baker", Channel.JSON, "Key of the line", "6f0d7a52-93f5-4f8e-a6a5-40d6d29f4f11")
    site = Site.objects.create(name="Bench Mill")
    nature = make.nature()

    def item(number: int) -> Item:
        texts = {"code": f"I{number}", "serial_number": f"{number:09}", "notes": "Calibrated by the maker."}
        return Item(site=site, name=f"Thermometer {number}", location="Room 0", **texts)

    def employee(number: int) -> Employee:
        texts = {"code": f"E{number}", "position": "Line lead", "phone": "555-0100", "address": "1 Mill Lane"}
        return Employee(
            site=site, first_name="Ada", last_name=f"Baker {number}", nature_of_employment=nature, notes="0", **texts
        )

    for start in range(0, changes // (TIMES + 1), BATCH):
        _store(item if start // BATCH % 2 else employee, range(start, start + BATCH), author)
        print(f"\r{(start + BATCH) * (TIMES + 1):9} changes", end="", file=sys.stderr)
    print(file=sys.stderr)


def _store(make_record: Any, numbers: range, author: Any) -> None:
    """Add records and change a field of each several times."""
    from records.history.trail import recording
    from records.sites.writing import add_records

    records = add_records([make_record(number) for number in numbers], author=author, operation="AddItem")
    model: Any = type(records[0])
    name, text = ("location", "Room {}") if hasattr(records[0], "location") else ("notes", "{}")
    for turn in range(TIMES):
        fields = [{"field": name, "old": text.format(turn), "new": text.format(turn + 1)}]
        with recording() as trail:
            for record in records:
                trail.add(record, [*fields], author=author, operation="UpdateItem", reason="Moved")
            for record in records:
                setattr(record, name, text.format(turn + 1))
            model.objects.bulk_update(records, [name], batch_size=BATCH)


def main() -> None:
    """Fill, verify, and print the figures."""
    django.setup()
    from django.db import connection

    from records.history import verification

    changes = int(os.environ.get("BENCH_CHANGES", "100000"))
    fill(changes)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    started, used = time.perf_counter(), _processor_time()
    report = verification.verify(int(os.environ.get("BENCH_PROCESSES", "0")) or None)
    seconds, used = time.perf_counter() - started, _processor_time() - used
    assert not report.faults, report.faults[:3]
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(
        f"{connection.vendor}: {report.changes} changes of {report.records} records in {seconds:.1f} s "
        f"({used:.1f} s of our processes' processor time), {report.changes / seconds:.0f} a second, "
        f"largest process {peak:.0f} MiB"
    )


def _processor_time() -> float:
    found = os.times()
    return found.user + found.system + found.children_user + found.children_system


if __name__ == "__main__":
    main()
