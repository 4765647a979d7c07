"""On which database a test runs in `make test`, and a proof that each runs on at least one.

`tests/README.md` has the rule. `python -m tests.division [PATH…]` collects the tests as both runs of `make test` would,
says how many each of them runs, and fails when a test is run by neither.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BOTH = frozenset(("sqlite", "postgresql"))
COMMITS = frozenset(("transactional_db", "live_server"))
"""The fixtures of tests that commit."""
USES_A_DATABASE = COMMITS | {"db", "django_db_setup"}
"""The fixtures that give a test the database of the run."""

TESTS = Path(__file__).resolve().parent
ON_POSTGRESQL = {
    "documents": "add_document approvals files get_document update_document",
    "records/accounts": "addresses_that_look_alike authority authority_doors authority_own_account",
    "records/audits": "get_audit_program scores",
    "records/backoffice": "autocomplete bulk once past_imports transfer_people unreadable_addresses used_by",
    "records/complaints": "add_complaint_detail erase_consumer update_complaint_detail workflow",
    "records/customers": "add_customer erase_contact",
    "records/employees": "add_employee add_job_description erase_private_facts give_account",
    "records/files": "names",
    "records/webhooks": "connections destinations",
    "scim/clients": "collections conformance entra_cases field_cases forms guides",
    "scim/directories": "authority credentials dry_run log ownership revocation",
}
"""The files, by their folder, whose tests run on PostgreSQL only, unless a test commits or counts its queries.

They test rules that Python applies, through the same writer and the same reads as the tests that run on both databases:
a statement that differs between the databases is also run by a test of both.
"""
FILES = {TESTS / folder / f"test_{name}.py" for folder, names in ON_POSTGRESQL.items() for name in names.split()}
CAN_DIFFER = {*COMMITS, "django_assert_num_queries", "django_assert_max_num_queries"}
"""The fixtures of tests that have both databases whatever their file."""

URLS = {"sqlite": "", "postgresql": "postgresql://nobody@127.0.0.1:9/none"}
"""Collecting asks the database nothing, so there need not be one."""


def databases_of(item: pytest.Item) -> frozenset[str]:
    """Return the databases that a test has in a divided run: the nearest of its two marks decides, then its file."""
    for mark in item.iter_markers():
        if mark.name == "both_databases":
            return BOTH
        if mark.name == "one_database":
            if len(mark.args) != 1 or mark.args[0] not in BOTH:
                raise pytest.UsageError(
                    f"{item.nodeid}: one_database{mark.args} names none of {', '.join(sorted(BOTH))}."
                )
            return frozenset(mark.args)
    fixtures, with_one = set(getattr(item, "fixturenames", ())), item.get_closest_marker("django_db")
    if with_one is None and not fixtures & USES_A_DATABASE:
        return frozenset(("sqlite",))
    if item.path not in FILES or fixtures & CAN_DIFFER or (with_one and with_one.kwargs.get("transaction")):
        return BOTH
    return frozenset(("postgresql",))


def divide(items: list[pytest.Item], vendor: str) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return what a run of `make test` on this database tests, and what it leaves to the other run."""
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (kept if vendor in databases_of(item) else left_out).append(item)
    return kept, left_out


def collected(vendor: str, *arguments: str) -> set[str]:
    """Return the ids of the tests that a run on a database would have."""
    options = ["--collect-only", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        env={**os.environ, "DATABASE_URL": URLS[vendor], "EXPECTED_DATABASE_VENDOR": vendor},
        capture_output=True,
        text=True,
        check=False,
    )
    # 5: this run has none of them.
    if done.returncode not in (0, 5):
        raise SystemExit(done.stdout + done.stderr)
    return {line for line in done.stdout.splitlines() if "::" in line}


def divided(*paths: str) -> tuple[set[str], dict[str, set[str]]]:
    """Return the ids of all tests, and those that each run of `make test` has."""
    return collected("sqlite", *paths), {name: collected(name, "--divided", *paths) for name in sorted(BOTH)}


def main(*paths: str) -> int:
    """Say how many tests each run of `make test` has, and name those that neither has."""
    every, on = divided(*paths)
    both, left_out = set.intersection(*on.values()), every.difference(*on.values())
    only = ", ".join(f"{len(run - both)} on {name} only" for name, run in on.items())
    sys.stdout.write(f"{len(every)} tests: {len(both)} run on both databases, {only}.\n")
    sys.stdout.writelines(f"Neither run has {name}.\n" for name in sorted(left_out))
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
