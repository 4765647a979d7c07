"""How threads keep their connections to SQLite between requests."""

import sqlite3
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import pytest
from django.db import OperationalError, connections, transaction

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connections['default'].vendor != 'sqlite'", reason="PostgreSQL has a backend of its own."),
]

COUNT = "SELECT COUNT(*) FROM django_content_type"
ADD = "INSERT INTO django_content_type (app_label, model) VALUES (%s, 'tried')"


@pytest.fixture
def idle_connection(monkeypatch: Any) -> Iterator[Any]:
    """Return a connection such as another thread has."""
    from config.sqlite import base

    monkeypatch.setattr(base, "_wrappers", WeakSet())
    wrapper = connections.create_connection("default")
    wrapper.ensure_connection()
    yield wrapper
    wrapper.connection = None


def value(wrapper: Any, sql: str) -> Any:
    """Return the only value of a statement."""
    with wrapper.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def add(wrapper: Any, name: str) -> None:
    """Add a row in a transaction."""
    with transaction.atomic(), wrapper.cursor() as cursor:
        cursor.execute(ADD, [name])


def test_a_thread_keeps_its_connection_between_requests(idle_connection: Any) -> None:
    before = idle_connection.connection
    idle_connection.close_if_unusable_or_obsolete()
    assert idle_connection.connection is before


def test_a_read_that_was_not_finished_ends_with_its_request(idle_connection: Any) -> None:
    open_cursor = idle_connection.cursor()
    open_cursor.execute("SELECT id FROM django_content_type")
    open_cursor.fetchone()
    before = value(idle_connection, COUNT)
    add(connections["default"], "other")
    assert value(idle_connection, COUNT) == before, "An open read keeps its connection at the state that it saw first."
    idle_connection.close_if_unusable_or_obsolete()
    assert value(idle_connection, COUNT) == before + 1
    with idle_connection.cursor() as cursor:
        cursor.execute(ADD, ["own"])
    assert value(connections["default"], COUNT) == before + 2


def test_a_thread_connects_anew_after_an_error(idle_connection: Any) -> None:
    with pytest.raises(OperationalError):
        value(idle_connection, "SELECT missing FROM django_content_type")
    idle_connection.close_if_unusable_or_obsolete()
    assert idle_connection.connection is None


def test_a_server_that_ends_closes_the_connections_of_all_threads_that_are_idle(idle_connection: Any) -> None:
    from config.sqlite.base import let_go

    busy = connections.create_connection("default")
    busy.ensure_connection()
    busy.in_atomic_block = True
    let_go()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        idle_connection.connection.execute(COUNT)
    assert busy.connection.execute(COUNT).fetchone()
    busy.in_atomic_block = False
    busy.close()


def test_a_cursor_of_a_connection_that_is_closed_does_not_fail_the_next_request(idle_connection: Any) -> None:
    cursor = idle_connection.cursor()
    idle_connection.connection.close()
    idle_connection.close_if_unusable_or_obsolete()
    with pytest.raises(sqlite3.ProgrammingError):
        cursor.cursor.close()
