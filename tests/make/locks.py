"""Locks that another writer holds on what a test wants to write."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections


@contextmanager
def lock_tables(*tables: str) -> Iterator[None]:
    """Let another connection lock the tables for the block; on SQLite it locks the whole database."""
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            if other.vendor == "sqlite":
                cursor.execute("BEGIN IMMEDIATE")
            else:
                cursor.execute("BEGIN")
                cursor.execute(f"LOCK TABLE {', '.join(tables)} IN EXCLUSIVE MODE")
            yield
            cursor.execute("ROLLBACK")
    finally:
        other.close()
