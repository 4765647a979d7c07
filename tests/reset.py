"""How a test that commits leaves the database: as it was before the first test, within milliseconds.

Django empties every table after such a test and then sends `post_migrate`, which makes the permissions, the reference
lists and the triggers anew; that took about a second for each of these tests. Here the rows that were there when the
run began are kept in memory and put back.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from unittest.mock import patch

from django.db import connections, transaction
from django.test import TransactionTestCase

PutBack = Callable[[], None]


def keep() -> dict[str, PutBack]:
    """Keep the rows of each database that was set up; return what puts them back, by the database's alias."""
    databases = (connections[alias] for alias in connections if not connections[alias].settings_dict["TEST"]["MIRROR"])
    return {
        connection.alias: keep_sqlite(connection) if connection.vendor == "sqlite" else keep_postgresql(connection)
        for connection in databases
    }


@contextmanager
def put_back_after_commits(functions: dict[str, PutBack]) -> Iterator[None]:
    """Let each test that commits put back the kept rows when it ends, instead of emptying the tables."""

    def put_back(case: Any) -> None:
        for alias in case._databases_names(include_mirrors=False):
            functions[alias]()

    with patch.object(TransactionTestCase, "_fixture_teardown", put_back):
        yield


def keep_sqlite(connection: Any) -> PutBack:
    """Copy the whole database into memory; return the function that copies it back."""
    name = str(connection.settings_dict["NAME"])
    memory = sqlite3.connect(":memory:")
    with closing(sqlite3.connect(name)) as source:
        source.backup(memory)

    def put_back() -> None:
        with closing(sqlite3.connect(name)) as target:
            target.execute("PRAGMA synchronous=OFF")
            memory.backup(target)

    return put_back


def keep_postgresql(connection: Any) -> PutBack:
    """Copy the rows of all tables into memory; return the function that puts them in the place of later rows."""
    quote = connection.ops.quote_name
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    rows_by_table: dict[str, bytes] = {}
    with connection.cursor() as cursor:
        for table in tables:
            with cursor.copy(f"COPY {quote(table)} TO STDOUT") as copy:
                rows_by_table[table] = b"".join(copy)
    # A server that believes it is a replica runs no trigger, neither ours nor those that check references.
    deletions = [f"DELETE FROM {quote(table)}" for table in tables]  # noqa: S608
    emptying = "; ".join(["SET LOCAL session_replication_role = replica", *deletions])

    def put_back() -> None:
        # Not the connection from above: Playwright's loop can have given this thread another one since.
        with transaction.atomic(using=connection.alias), connections[connection.alias].cursor() as cursor:
            cursor.execute(emptying)
            for table in filter(rows_by_table.get, tables):
                with cursor.copy(f"COPY {quote(table)} FROM STDIN") as copy:
                    copy.write(rows_by_table[table])

    return put_back
