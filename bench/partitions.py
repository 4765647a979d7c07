"""Try the history as one table and in native partitions by site and time.

    python -m tests.postgres --durable .venv/bin/python -m bench.partitions [--changes 2000000] [--sites 50]

The partitions are ranges of (chain, number): a chain is one site's history, and its numbers rise with time, so that a
range of numbers is a span of time. The unique constraint of the history already consists of these two columns, which
PostgreSQL demands of the key of a partitioned table. docs/scale.md holds the plan and the figures.
"""

import argparse
import os
import statistics
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import django
import psycopg

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
ONE, PARTS = "changes_one", "changes_parts"
RECORDS_PER_SITE_SHARE = 10
"""Changes for each record: an add and nine updates."""
PARTS_PER_SITE = 4
READS, WRITES = 200, 2_000

_FILL = """
INSERT INTO {table} (id, site_id, chain, number, at, author_id, author_name, channel, credential, operation, reason,
                     model, record_id, record_name, fields, salts, lowest_role, request_id, digest_version,
                     previous_hash, hash)
SELECT gen_random_uuid(), %(site)s, %(site)s, n, timestamptz '2024-01-01' + n * interval '30 seconds',
       md5((n %% 97)::text)::uuid, 'Nora Miller', 'API', 'ERP', 'UpdateComplaintDetail', 'Corrected after a call',
       'complaints.Complaint', md5(%(site)s::text || (n %% {records}))::uuid, 'Complaint ' || n %% {records},
       jsonb_build_array(jsonb_build_object('field', 'description', 'old', md5(n::text), 'new', md5((n + 1)::text)),
                         jsonb_build_object('field', 'quantity', 'old', n, 'new', n + 1)),
       jsonb_build_array(md5(n::text), md5((n + 2)::text), md5((n + 3)::text)), 'reader', gen_random_uuid()::text, 2,
       repeat(md5(n::text), 2), repeat(md5((n + 1)::text), 2)
  FROM generate_series({first}, {last}) n
"""


@dataclass
class Trial:
    """The tables, their sites, and the connection."""

    db: psycopg.Connection[Any]
    sites: list[uuid.UUID]
    per_site: int
    per_part: int

    @property
    def records(self) -> int:
        """Return how many records a site has."""
        return max(1, self.per_site // RECORDS_PER_SITE_SHARE)

    def run(self, sql: str, given: Any = None) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        cursor = self.db.execute(sql.encode(), given)
        return cursor.fetchall() if cursor.description else []

    def make(self) -> None:
        """Make both tables without rows: with the columns and the indexes of the history."""
        from django.db import connection

        from records.history.models import Change

        fields = Change._meta.local_concrete_fields
        columns = ", ".join(f'"{field.column}" {field.db_type(connection)} NOT NULL' for field in fields)
        self.run(f"CREATE TABLE history_change ({columns})")
        self.run(f"CREATE TABLE {ONE} (LIKE history_change INCLUDING DEFAULTS)")
        self.run(f"CREATE TABLE {PARTS} (LIKE history_change INCLUDING DEFAULTS) PARTITION BY RANGE (chain, number)")
        for table, key in ((ONE, "id"), (PARTS, "chain, number, id")):
            self.run(f"ALTER TABLE {table} ADD PRIMARY KEY ({key})")
            self.run(f"CREATE UNIQUE INDEX ON {table} (chain, number)")
            self.run(f"CREATE INDEX ON {table} (record_id, number DESC)")
            self.run(f"CREATE INDEX ON {table} (author_id, at DESC)")
            self.run(f"CREATE INDEX ON {table} (site_id, at DESC)")

    def add_part(self, site: uuid.UUID, number: int) -> str:
        """Make the partition of a site that holds this number, and return its name."""
        part = number // self.per_part
        name = f"{PARTS}_{site.hex[:12]}_{part}"
        low, high = part * self.per_part, (part + 1) * self.per_part
        self.run(f"CREATE TABLE {name} PARTITION OF {PARTS} FOR VALUES FROM ('{site}', {low}) TO ('{site}', {high})")
        return name

    def fill(self) -> None:
        """Fill both tables, site by site."""
        for site in self.sites:
            for number in range(0, self.per_site + WRITES + 1, self.per_part):
                self.add_part(site, number)
            for table in (ONE, PARTS):
                sql = _FILL.format(table=table, records=self.records, first=1, last=self.per_site)
                self.run(sql, {"site": site})
        for table in (ONE, PARTS):
            self.run(f"VACUUM (ANALYZE) {table}")


@contextmanager
def timed(found: list[float]) -> Any:
    """Add the milliseconds of the block to the list."""
    started = time.perf_counter()
    yield
    found.append((time.perf_counter() - started) * 1000)


def median_of(read: Callable[[int], Any], times: int = READS) -> float:
    """Return the median of the milliseconds of many calls."""
    found: list[float] = []
    for number in range(times):
        with timed(found):
            read(number)
    return statistics.median(found)


def reads(trial: Trial) -> list[tuple[str, Sequence[float]]]:
    """Return the milliseconds of the product's reads of the history on both tables."""

    def of_record(table: str, also: str) -> Callable[[int], Any]:
        def read(number: int) -> Any:
            site = trial.sites[number % len(trial.sites)]
            sql = f"SELECT * FROM {table} WHERE record_id = md5(%(site)s::text || %(number)s)::uuid {also} "  # noqa: S608
            return trial.run(sql + "ORDER BY number DESC LIMIT 50", {"site": site, "number": number % trial.records})

        return read

    def of_site(table: str, where: str, order: str) -> Callable[[int], Any]:
        def read(number: int) -> Any:
            given = {"site": trial.sites[number % len(trial.sites)], "after": trial.per_site // 2}
            sql = f"SELECT * FROM {table} WHERE {where} ORDER BY {order} LIMIT 100"  # noqa: S608
            return trial.run(sql, given)

        return read

    both = "site_id = %(site)s AND chain = %(site)s"
    kinds: list[tuple[str, Callable[[str], Callable[[int], Any]]]] = [
        ("history of a record, by its id alone (ms)", lambda table: of_record(table, "")),
        ("history of a record, with its site (ms)", lambda table: of_record(table, "AND chain = %(site)s")),
        ("newest changes of a site (ms)", lambda table: of_site(table, "site_id = %(site)s", "at DESC")),
        ("newest changes of a site, with its chain (ms)", lambda table: of_site(table, both, "at DESC")),
        ("feed of a site (ms)", lambda table: of_site(table, "chain = %(site)s AND number > %(after)s", "number")),
    ]
    return [(name, [median_of(kind(table)) for table in (ONE, PARTS)]) for name, kind in kinds]


def appends(trial: Trial) -> list[float]:
    """Return how many changes a second one writer appends to each table, each in a transaction of its own."""
    found = []
    for table in (ONE, PARTS):
        sql = _FILL.format(table=table, records=trial.records, first="%(n)s::int", last="%(n)s::int")
        started = time.perf_counter()
        for number in range(WRITES):
            site = trial.sites[number % len(trial.sites)]
            trial.run(sql, {"site": site, "n": trial.per_site + 1 + number // len(trial.sites)})
        found.append(WRITES / (time.perf_counter() - started))
    return found


def chain_read(trial: Trial) -> list[float]:
    """Return how many changes a second are read in the order of one chain, as verifying does."""
    found = []
    for table in (ONE, PARTS):
        started = time.perf_counter()
        sql = f"SELECT * FROM {table} WHERE chain = %(site)s ORDER BY number"  # noqa: S608
        rows = len(trial.run(sql, {"site": trial.sites[0]}))
        found.append(rows / (time.perf_counter() - started))
    return found


def changes_of_the_schema(trial: Trial) -> list[tuple[str, float]]:
    """Return the milliseconds of adding, taking out and putting back a partition, and of taking over a whole table."""
    steps: list[tuple[str, float]] = []

    def step(name: str, sql: str) -> None:
        found: list[float] = []
        with timed(found):
            trial.run(sql)
        steps.append((name, found[0]))

    found: list[float] = []
    with timed(found):
        name = trial.add_part(trial.sites[0], trial.per_site * 100)
    steps.append(("add an empty partition (ms)", found[0]))
    step(
        "take out a partition (DETACH … CONCURRENTLY) (ms)", f"ALTER TABLE {PARTS} DETACH PARTITION {name} CONCURRENTLY"
    )
    # How the table of today becomes a partition: its check is validated first, while everybody writes.
    sites = ", ".join(f"'{site}'" for site in trial.sites)
    bounds = f"chain IN ({sites})"
    step(
        "promise what the table holds (NOT VALID) (ms)",
        f"ALTER TABLE {ONE} ADD CONSTRAINT held CHECK ({bounds}) NOT VALID",
    )
    step("prove it (VALIDATE, writers go on) (ms)", f"ALTER TABLE {ONE} VALIDATE CONSTRAINT held")
    trial.run(f"CREATE TABLE outer_parts (LIKE {ONE}) PARTITION BY LIST (chain)")
    attach = f"ALTER TABLE outer_parts ATTACH PARTITION {ONE} FOR VALUES IN ({sites})"
    step("make it a partition (ATTACH) (ms)", attach)
    return steps


def main() -> None:
    """Fill the tables, measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=2_000_000)
    parser.add_argument("--sites", type=int, default=50)
    asked = parser.parse_args()
    django.setup()
    from django.db import connection

    per_site = asked.changes // asked.sites
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as db:
        trial = Trial(db, [uuid.uuid4() for _ in range(asked.sites)], per_site, -(-per_site // PARTS_PER_SITE))
        trial.make()
        started = time.perf_counter()
        trial.fill()
        print(f"Filled twice {asked.changes} changes in {time.perf_counter() - started:.0f} s.\n", flush=True)
        print("| Work | One table | Partitions |\n|---|---|---|")
        count = len(trial.run("SELECT 1 FROM pg_inherits WHERE inhparent = %s::regclass", [PARTS]))
        print(f"| tables | 1 | {count} |")
        sizes = [
            trial.run("SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree(%s) WHERE isleaf", [PARTS])[0][
                0
            ],
            trial.run("SELECT pg_total_relation_size(%s)", [ONE])[0][0],
        ]
        print(f"| bytes for each change, with indexes | {sizes[1] // asked.changes} | {sizes[0] // asked.changes} |")
        for name, (one, parts) in reads(trial):
            print(f"| {name} | {one:.2f} | {parts:.2f} |", flush=True)
        for name, (one, parts) in (
            ("changes read in the order of a chain (1/s)", chain_read(trial)),
            ("changes appended by one writer (1/s)", appends(trial)),
        ):
            print(f"| {name} | {one:.0f} | {parts:.0f} |", flush=True)
        for name, took in changes_of_the_schema(trial):
            print(f"| {name} | | {took:.1f} |", flush=True)


if __name__ == "__main__":
    main()
