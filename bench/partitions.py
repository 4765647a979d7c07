"""Try the plan for a large history: measure it as one table, take it over into native partitions, and measure again.

    python -m tests.postgres --durable .venv/bin/python -m bench.partitions [--changes 2000000] [--sites 50]

The partitions are ranges of (chain, number): a chain is one site's history, and its numbers rise with time, so that a
range of numbers is a span of time. The plan's statements are functions of this module; a test of the product runs on a
history that they have taken over. Needs about 1.1 kB of disk for each change. docs/scale.md holds the plan and the
figures.
"""

import argparse
import os
import statistics
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import django
import psycopg

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

TABLE, REST = "history_change", "history_change_rest"
Run = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement and returns its rows."""

RECORDS_PER_SITE_SHARE = 10
"""Changes for each record: an add and nine updates."""
SITES_MOVED = 5
"""How many sites are moved out of the table of before; the reads are measured on these."""
READS, WRITES = 200, 2_000
MARGIN = 5_000
"""How many further changes of a site the table of before takes, until the site's partition is there."""


# --- The plan --------------------------------------------------------------------------------------------------------


def definitions(run: Run) -> tuple[list[str], list[str]]:
    """Return the statements that make the history's indexes and those that make its constraints, without its key."""
    constraints = run(
        f"SELECT format('ALTER TABLE {TABLE} ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) "  # noqa: S608
        f"FROM pg_constraint WHERE conrelid = '{TABLE}'::regclass AND contype IN ('u', 'f')"
    )
    indexes = run(
        f"SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '{TABLE}'::regclass "  # noqa: S608
        "AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('u', 'p'))"
    )
    return [text for (text,) in indexes], [text for (text,) in constraints]


def take_over(run: Run) -> None:
    """Make the history the default partition of a new table with its name; call it in a transaction.

    Reads no row: the indexes and constraints of the new table are those that the old one has.
    """
    indexes, constraints = definitions(run)
    run(f"ALTER TABLE {TABLE} RENAME TO {REST}")
    for (name,) in run(f"SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = '{REST}'::regclass"):  # noqa: S608
        run(f"ALTER INDEX {name} RENAME TO {name[:58]}_rest")
    run(
        f"CREATE TABLE {TABLE} (LIKE {REST} INCLUDING DEFAULTS INCLUDING CONSTRAINTS) "
        "PARTITION BY RANGE (chain, number)"
    )
    for statement in (*indexes, *constraints):
        run(statement)
    run(f"ALTER TABLE {TABLE} ATTACH PARTITION {REST} DEFAULT")


def name_of(chain: uuid.UUID, first: int) -> str:
    """Return the name of the partition that begins with this number."""
    return f"{TABLE}_{chain.hex[:12]}_{first}"


def promise(run: Run, starts: Mapping[uuid.UUID, tuple[int, int | None]], name: str) -> None:
    """Let the default partition take no further change in these ranges of numbers (the end is left out; None: none)."""
    bounds = [
        f"NOT (chain IS NOT NULL AND number IS NOT NULL AND chain = '{chain}'::uuid AND number >= '{first}'::bigint"
        + (")" if end is None else f" AND number < '{end}'::bigint)")
        for chain, (first, end) in starts.items()
    ]
    run(f"ALTER TABLE {REST} ADD CONSTRAINT {name} CHECK ({' AND '.join(bounds)}) NOT VALID")


def prove(run: Run, name: str) -> None:
    """Read the default partition to prove a promise; writers go on."""
    run(f"ALTER TABLE {REST} VALIDATE CONSTRAINT {name}")


def begin(run: Run, chain: uuid.UUID, first: int) -> None:
    """Add the partition of a site from this number on; the default partition has proven that it has none of them."""
    name = name_of(chain, first)
    run(f"CREATE TABLE {name} PARTITION OF {TABLE} FOR VALUES FROM ('{chain}', {first}) TO ('{chain}', MAXVALUE)")
    run(f"ALTER TABLE {name} ADD PRIMARY KEY (id)")


def move_rows(run: Run, chain: uuid.UUID, end: int) -> None:
    """Move a site's changes below a number out of the default partition into a table of their own.

    Call it in the transaction that also proves the promise about them and calls `attach`: until it ends, everybody
    reads the rows where they were.
    """
    name = name_of(chain, 0)
    run(f"CREATE TABLE {name} (LIKE {TABLE} INCLUDING ALL)")
    run(
        f"WITH gone AS (DELETE FROM {REST} WHERE chain = '{chain}' AND number < {end} RETURNING *) "  # noqa: S608
        f"INSERT INTO {name} SELECT * FROM gone ORDER BY number"
    )
    run(f"ALTER TABLE {name} ADD PRIMARY KEY (id), ADD CHECK (chain = '{chain}' AND number >= 0 AND number < {end})")
    for (foreign,) in run(
        f"SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = '{TABLE}'::regclass AND contype = 'f'"  # noqa: S608
    ):
        run(f"ALTER TABLE {name} ADD {foreign}")


def attach(run: Run, chain: uuid.UUID, end: int) -> None:
    """Make the table of a site's moved changes a partition."""
    run(
        f"ALTER TABLE {TABLE} ATTACH PARTITION {name_of(chain, 0)} FOR VALUES FROM ('{chain}', 0) TO ('{chain}', {end})"
    )


def close(run: Run, chain: uuid.UUID, first: int, end: int) -> None:
    """End a site's last partition below a number that it has not reached, and begin the next; call it in a transaction.

    A promise that was proven says that the partition holds no number from `end` on.
    """
    name = name_of(chain, first)
    run(f"ALTER TABLE {TABLE} DETACH PARTITION {name}")
    run(f"ALTER TABLE {TABLE} ATTACH PARTITION {name} FOR VALUES FROM ('{chain}', {first}) TO ('{chain}', {end})")
    begin(run, chain, end)


# --- The trial -------------------------------------------------------------------------------------------------------

_PATTERN = """
CREATE UNLOGGED TABLE pattern AS
SELECT n AS k, md5((n % 97)::text)::uuid AS author,
       jsonb_build_array(jsonb_build_object('field', 'description', 'old', md5(n::text), 'new', md5((n + 1)::text)),
                         jsonb_build_object('field', 'quantity', 'old', n, 'new', n + 1)) AS fields,
       jsonb_build_array(md5(n::text), md5((n + 2)::text), md5((n + 3)::text), md5((n + 4)::text)) AS salts,
       gen_random_uuid()::text AS request, repeat(md5(n::text), 2) AS previous, repeat(md5((n + 1)::text), 2) AS hash
  FROM generate_series(0, 999) n
"""
"""A thousand contents of changes, which the rows repeat: to compute each would take most of the time."""

_FILL = """
INSERT INTO history_change (id, site_id, chain, number, at, author_id, author_name, channel, credential, operation,
                            reason, model, record_id, record_name, fields, salts, lowest_role, request_id,
                            digest_version, previous_hash, hash)
SELECT gen_random_uuid(), site, site, n, timestamptz '2024-01-01' + n * interval '30 seconds',
       author, 'Nora Miller', 'API', 'ERP', 'UpdateComplaintDetail', 'Corrected after a call',
       'complaints.Complaint', md5(site::text || (n % {records}))::uuid, 'Complaint ' || n % {records},
       fields, salts, 'reader', request, 2, previous, hash
  FROM (SELECT ({sites})[1 + i % {count}] AS site, 1 + i / {count} AS n, i
          FROM (SELECT generate_series({first}::bigint, {last}) AS i) counted) numbered
  JOIN pattern ON k = i % 1000
"""
"""The changes of all sites, mixed as they come in."""


@dataclass
class Trial:
    """The sites and the connection of a trial."""

    db: psycopg.Connection[Any]
    sites: list[uuid.UUID]
    per_site: int
    changes_added: int = 0
    """How many changes were appended to each site after the fill."""
    reads: int = 0
    """How many records were read: each is read once, so that no measurement finds what the one before has loaded."""

    @property
    def records(self) -> int:
        """Return how many records a site has."""
        return max(1, self.per_site // RECORDS_PER_SITE_SHARE)

    @property
    def read_sites(self) -> list[uuid.UUID]:
        """Return the sites whose changes are read."""
        return self.sites[:SITES_MOVED]

    def run(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        cursor = self.db.execute(sql.encode(), parameters)
        return cursor.fetchall() if cursor.description else []

    def make_sites(self) -> None:
        """Store the sites."""
        from records.sites.models import Site

        Site.objects.bulk_create(Site(id=key, name=f"Site {number}") for number, key in enumerate(self.sites))

    def fill_sql(self, first: int, last: int) -> str:
        """Return the statement that stores changes; `first` and `last` count over all sites from 0."""
        sites = f"ARRAY[{', '.join(repr(str(site)) for site in self.sites)}]::uuid[]"
        return _FILL.format(sites=sites, count=len(self.sites), records=self.records, first=first, last=last)

    def fill(self) -> None:
        """Fill the table, without its indexes and constraints while it is filled."""
        indexes, constraints = definitions(self.run)
        key = f"ALTER TABLE {TABLE} ADD PRIMARY KEY (id)"
        with self.db.transaction():
            for (name,) in self.run(
                f"SELECT conname FROM pg_constraint WHERE conrelid = '{TABLE}'::regclass AND contype IN ('u', 'f', 'p')"  # noqa: S608
            ):
                self.run(f"ALTER TABLE {TABLE} DROP CONSTRAINT {name}")
            for index in indexes:
                self.run(f"DROP INDEX {index.split()[2]}")
            # In the transaction that empties it, a table is filled without WAL if `wal_level` is minimal.
            self.run(f"TRUNCATE {TABLE}")
            self.run(self.fill_sql(0, self.per_site * len(self.sites) - 1))
        self.note("filled")

        def build(statement: str) -> None:
            with psycopg.connect(self.db.info.dsn, autocommit=True) as another:
                another.execute("SET statement_timeout = 0")
                another.execute("SET maintenance_work_mem = '512MB'")
                another.execute(statement.encode())

        # Indexes that are built at the same time share one reading of the table.
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(build, indexes))
        self.note("indexes built")
        for statement in (key, *constraints):
            build(statement)
        self.note("constraints added")
        self.run(f"VACUUM (ANALYZE) {TABLE}")
        self.note("vacuumed")

    def append(self, db: psycopg.Connection[Any]) -> None:
        """Append one change to the next site, in a transaction of its own."""
        place = self.per_site * len(self.sites) + self.changes_added
        self.changes_added += 1
        db.execute(self.fill_sql(place, place).encode())

    def note(self, what: str) -> None:
        """Print what was done, when, and how busy the machine is."""
        print(f"  {time.strftime('%H:%M:%S')} {what} (load {os.getloadavg()[0]:.1f})", flush=True)


@contextmanager
def beside(trial: Trial) -> Iterator[list[float]]:
    """Append changes without a pause during the block, as a writer would, and yield their milliseconds."""
    took: list[float] = []
    end = threading.Event()

    def write() -> None:
        with psycopg.connect(trial.db.info.dsn, autocommit=True) as db:
            while not end.is_set():
                with record_time(took):
                    trial.append(db)
                end.wait(0.005)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while not took:
            time.sleep(0.001)
        yield took
    finally:
        end.set()
        thread.join()


@contextmanager
def record_time(times: list[float]) -> Iterator[None]:
    """Add the milliseconds of the block to the list."""
    start = time.perf_counter()
    yield
    times.append((time.perf_counter() - start) * 1000)


def median_of(read: Callable[[], Any], times: int = READS) -> float:
    """Return the median of the milliseconds of many calls."""
    durations: list[float] = []
    for _ in range(times):
        with record_time(durations):
            read()
    return statistics.median(durations)


def measure(trial: Trial) -> dict[str, float]:
    """Return the figures of the product's reads of the history, and of appending to it."""

    def of_record(also: str) -> Callable[[], Any]:
        def read() -> Any:
            trial.reads += 1
            site = trial.read_sites[trial.reads % SITES_MOVED]
            sql = f"SELECT * FROM {TABLE} WHERE record_id = md5(%(site)s::text || %(number)s)::uuid {also} "  # noqa: S608
            return trial.run(
                f"{sql} ORDER BY number DESC LIMIT 50", {"site": site, "number": trial.reads % trial.records}
            )

        return read

    def of_site(where: str, order: str, limit: int = 100) -> Callable[[], Any]:
        def read() -> Any:
            trial.reads += 1
            parameters = {
                "site": trial.read_sites[trial.reads % SITES_MOVED],
                "after": trial.reads * 997 % (trial.per_site - limit),
            }
            return trial.run(f"SELECT * FROM {TABLE} WHERE {where} ORDER BY {order} LIMIT {limit}", parameters)  # noqa: S608

        return read

    after = "chain = %(site)s AND number > %(after)s"
    figures = {
        "history of a record, by its id alone (ms)": median_of(of_record("")),
        "history of a record, with its site (ms)": median_of(of_record("AND chain = %(site)s")),
        "newest 100 changes of a site (ms)": median_of(of_site("site_id = %(site)s", "at DESC")),
        "newest 100 changes of a site, with its chain (ms)": median_of(
            of_site("site_id = %(site)s AND chain = %(site)s", "at DESC")
        ),
        "feed of a site, 100 changes (ms)": median_of(of_site(after, "number")),
    }
    rows = min(50_000, trial.per_site // 2)
    figures["changes read in the order of one chain (1/s)"] = rows / median_of(of_site(after, "number", rows), 3) * 1000
    figures["changes appended by one writer, each committed (1/s)"] = 1000 / median_of(
        lambda: trial.append(trial.db), WRITES
    )
    return figures


def carry_out(trial: Trial) -> Iterator[tuple[str, float, float]]:
    """Carry out the plan beside a writer; yield each step, its milliseconds, and those of the writer's slowest write.

    Yields `("", 0, 0)` when the figures are to be measured.
    """

    def step(name: str, *acts: Callable[[], Any]) -> tuple[str, float, float]:
        times: list[float] = []
        with beside(trial) as write_times, record_time(times), trial.db.transaction():
            for act in acts:
                act()
        trial.note(name)
        return name, times[0], max(write_times)

    run = trial.run
    yield step("take over the table", lambda: take_over(run))
    last_number = trial.per_site + trial.changes_added // len(trial.sites) + 1
    first = last_number + MARGIN
    starts = dict.fromkeys(trial.sites, (first, None))
    yield step("promise which numbers it takes no more (`NOT VALID`)", lambda: promise(run, starts, "ends"))
    yield step("prove it (`VALIDATE`)", lambda: prove(run, "ends"))
    for site in trial.sites[1:]:
        begin(run, site, first)
    yield step("begin the partition of a site", lambda: begin(run, trial.sites[0], first))
    # From here on, the changes go into the partitions of the sites.
    trial.changes_added = MARGIN * len(trial.sites) + trial.changes_added
    yield "", 0, 0
    ranges = dict.fromkeys(trial.read_sites, (0, first))
    yield step("promise that the changes of some sites leave (`NOT VALID`)", lambda: promise(run, ranges, "leave"))
    yield step(
        f"move the changes of {SITES_MOVED} sites, prove it, and attach them",
        *(lambda site=site: move_rows(run, site, first) for site in ranges),
        lambda: prove(run, "leave"),
        *(lambda site=site: attach(run, site, first) for site in ranges),
    )
    run(f"VACUUM (ANALYZE) {TABLE}")
    trial.note("vacuumed")
    yield "", 0, 0
    name, end = name_of(trial.sites[0], first), first + 2 * MARGIN
    constraint = f"ALTER TABLE {name} ADD CONSTRAINT full_at CHECK (number < {end}) NOT VALID"
    yield step("promise the end of a full partition (`NOT VALID`)", lambda: run(constraint))
    yield step("prove it", lambda: run(f"ALTER TABLE {name} VALIDATE CONSTRAINT full_at"))
    yield step("close it and begin the next", lambda: close(run, trial.sites[0], first, end))


def main() -> None:
    """Fill, measure, carry out the plan, and print two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=2_000_000)
    parser.add_argument("--sites", type=int, default=50)
    arguments = parser.parse_args()
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as db:
        trial = Trial(db, [uuid.uuid4() for _ in range(arguments.sites)], arguments.changes // arguments.sites)
        trial.run("SET statement_timeout = 0")
        trial.run(_PATTERN)
        trial.run("ALTER TABLE pattern ADD PRIMARY KEY (k)")
        trial.run("ANALYZE pattern")
        trial.make_sites()
        trial.note("begun")
        trial.fill()
        size = trial.run("SELECT pg_total_relation_size(%s)", [TABLE])[0][0]
        figures = [measure(trial)]
        trial.note("measured")
        steps = []
        for name, took, slowest in carry_out(trial):
            if name:
                steps.append((name, took, slowest))
            else:
                figures.append(measure(trial))
                trial.note("measured")
    print(f"\nBytes for each change, with indexes: {size // arguments.changes}\n")
    print("| Work | One table | Taken over | Site moved |\n|---|---|---|---|")
    for name in figures[0]:
        print(f"| {name} | {' | '.join(f'{column[name]:,.1f}' for column in figures)} |")
    print("\n| Step | Took | Slowest write beside it |\n|---|---|---|")
    for name, took, slowest in steps:
        print(f"| {name} | {took:,.0f} ms | {slowest:,.0f} ms |")


if __name__ == "__main__":
    main()
