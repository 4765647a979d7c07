"""How long `verify_history` takes, and how much memory.

Run by hand: `python -m bench.verification` (SQLite in a folder of its own), or
`python -m tests.postgres python -m bench.verification`. The history is that of items and employees, of which each was
added and then changed four times. `BENCH_CHANGES` says how many changes there are (100,000), `BENCH_PROCESSES` how many
processes verify them (as many as there are cores).
"""

import copy
import os
import resource
import sys
import tempfile
import time
import uuid
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="larder-bench-"))
os.environ.update(LOG_LEVEL="warning", STATIC_COLLECTED="off")

BATCH = 1000
TIMES = 4
"""How often each record was changed after it had been added."""


def fill(changes: int) -> None:
    """Migrate, and store a site with so many changes.

    The product writes the history of one item and of one employee. All others are copies with an id, a number and a
    place in the chain of their own, so that a million changes are stored within minutes.
    """
    from django.core.management import call_command

    from records.employees import actions as employee_actions
    from records.employees.models import Employee
    from records.history.models import ChainHead, Change
    from records.items import actions as item_actions
    from records.items.models import Item
    from records.sites.models import Site
    from tests import make
    from tests.make.items import make_item

    call_command("migrate", verbosity=0)
    site = Site.objects.create(name="Bench Mill")
    texts = {"code": "1", "serial_number": "000000001", "notes": "Calibrated by the maker."}
    item = make_item(site, name="Thermometer", location="Room 0", **texts)
    texts = {"code": "E1", "position": "Line lead", "phone": "555-0100", "address": "1 Mill Lane"}
    employee = make.make_employee(site, last_name="Baker", notes="0", **texts)
    for turn in range(TIMES):
        item_actions.update_item(site.pk, item.pk, {"location": f"Room {turn}."}, author=make.SYSTEM, reason="Moved")
        employee_actions.update_employee(site.pk, employee.pk, {"notes": f"{turn}."}, author=make.SYSTEM)
    histories: dict[Any, Any] = {
        model: (model.objects.get(pk=key), list(Change.objects.filter(record_id=key).order_by("number")))
        for model, key in ((Item, item.pk), (Employee, employee.pk))
    }
    head = ChainHead.objects.get(chain=site.pk)
    sequence = 1
    while head.number < changes:
        for model, (record, history) in histories.items():
            records, rows = [], []
            for _ in range(BATCH):
                sequence += 1
                record_copy = copy.copy(record)
                record_copy.pk, record_copy.site_sequence_id = uuid.uuid4(), sequence
                records.append(record_copy)
                rows += [_copy_change(change, record_copy, head) for change in history]
            model.objects.bulk_create(records)
            _insert(rows)
        head.save()
        print(f"\r{head.number:9} changes", end="", file=sys.stderr)
    print(file=sys.stderr)


def _copy_change(change: Any, record: Any, head: Any) -> Any:
    """Return a copy of a change that is about another record and follows the head of the chain, which moves on."""
    from records.history.digests import digest

    change_copy = copy.copy(change)
    change_copy.pk, change_copy.record_id = uuid.uuid4(), record.pk
    change_copy.number, change_copy.previous_hash = head.number + 1, head.hash
    change_copy.fields = [
        {**entry, "new": record.site_sequence_id} if entry["field"] == "site_sequence_id" else entry
        for entry in change.fields
    ]
    change_copy.hash = digest(change_copy)
    head.number, head.previous, head.hash = change_copy.number, change_copy.previous_hash, change_copy.hash
    return change_copy


def _insert(changes: list[Any]) -> None:
    """Store changes: on PostgreSQL with COPY, otherwise in one statement."""
    from django.db import connection, models

    if connection.vendor != "postgresql":
        models.QuerySet(type(changes[0])).bulk_create(changes)
        return
    fields = type(changes[0])._meta.concrete_fields
    names = ", ".join(f'"{field.column}"' for field in fields)
    with connection.cursor() as cursor, cursor.copy(f"COPY history_change ({names}) FROM STDIN") as out:
        for change in changes:
            out.write_row([field.get_db_prep_save(getattr(change, field.attname), connection) for field in fields])


def main() -> None:
    """Fill, verify, and print the figures."""
    django.setup()
    from django.db import connection

    from records.history import verification

    changes = int(os.environ.get("BENCH_CHANGES", "100000"))
    fill(changes)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    start, used = time.perf_counter(), _processor_time()
    report = verification.verify(int(os.environ.get("BENCH_PROCESSES", "0")) or None)
    seconds, used = time.perf_counter() - start, _processor_time() - used
    assert not report.faults, report.faults[:3]
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    print(
        f"{connection.vendor}: {report.changes} changes of {report.records} records in {seconds:.1f} s "
        f"({used:.1f} s of our processes' processor time), {report.changes / seconds:.0f} a second, "
        f"largest process {peak:.0f} MiB"
    )


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
