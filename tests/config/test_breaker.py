"""What keeps requests from waiting for a database that is away."""

import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection, connections, transaction

from config.postgresql import breaker as module
from config.postgresql.breaker import Breaker, Watchdog


def test_requests_are_refused_at_once_until_the_breaker_itself_could_connect(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    is_back, attempts, third = threading.Event(), [], threading.Event()

    def attempt() -> None:
        attempts.append(threading.current_thread())
        if len(attempts) == 3:
            third.set()
        if not is_back.is_set():
            raise OperationalError("the database system is starting up")

    breaker = Breaker()
    breaker.check()
    caplog.set_level(logging.WARNING, "larder.database")
    breaker.note_failure(attempt, OperationalError("connection failed:\nsorry, too many clients already"))
    breaker.note_failure(attempt, OperationalError("another request says the same"))
    assert third.wait(10)
    with pytest.raises(OperationalError, match="starting up"):
        breaker.check()
    is_back.set()
    attempts[0].join(10)
    breaker.check()
    assert [record.getMessage() for record in caplog.records] == [
        "PostgreSQL cannot be used: connection failed: sorry, too many clients already",
        "PostgreSQL can be used again.",
    ]
    assert set(attempts) == {attempts[0]} != {threading.current_thread()}


def no_thread(thread: threading.Thread) -> None:
    """Refuse to start a thread, as a system does that has no memory or processes left."""
    raise RuntimeError("can't start new thread")


def test_a_system_without_threads_leaves_neither_a_breaker_open_nor_a_watchdog_asleep_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaker, watchdog, line = Breaker(), Watchdog(), object()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        breaker.note_failure(lambda: None, OperationalError("connection refused"))
        watchdog.begin(line, 60)
    breaker.check()
    threads: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: threads.append(thread))
    watchdog.begin(line, 60)
    assert [thread.name for thread in threads] == ["database watchdog"]


def ask_once(database: Any) -> None:
    with database.cursor() as cursor:
        cursor.execute("SELECT 1")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connection that could break.")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ask", [ask_once, lambda database: database.together([("SELECT 1", ()), ("SELECT 2", ())])])
def test_a_read_that_lost_its_connection_and_gets_no_new_one_is_an_outage(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[Any], Any]
) -> None:
    database: Any = connections.create_connection("default")
    ask(database)
    with socket.socket(fileno=os.dup(database.connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)

    def connect(parameters: Any) -> None:
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(database, "get_new_connection", connect)
    with pytest.raises(OperationalError, match="connection refused"):
        ask(database)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is asked for each statement by itself.")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_statement_that_cannot_be_sent_costs_no_more_than_its_connection(in_transaction: bool) -> None:
    database: Any = connection
    too_many = (f"SELECT {', '.join(['%s::int'] * 70_000)}", range(70_000))
    block = transaction.atomic() if in_transaction else nullcontext()
    with pytest.raises(OperationalError, match="number of parameters"), block:
        database.together([("SELECT 1", ()), too_many, ("SELECT 2", ())])
    assert database.together([("SELECT 1", ()), ("SELECT 2", ())]) == [[(1,)], [(2,)]]
    ask_once(database)
