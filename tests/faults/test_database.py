"""A database that is stopped, frozen, cut off, locked, full, read-only or not migrated."""

import os
import signal
import sqlite3
import sys
import threading
import time
import uuid
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from records.operations import outages
from tests.faults.processes import Answer, Installation, Postgres, Process, Server, allowed, wait_for

pytestmark = pytest.mark.both_databases


def together(number: int, ask: "threading.Thread | object", answers: list[Answer]) -> None:
    """Send a number of requests at the same time and collect the answers."""
    threads = [threading.Thread(target=lambda: answers.append(ask())) for _ in range(number)]  # type: ignore[operator]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# A longer outage is tried by `make faults LONG=1`.
OUTAGES = [10, 40, 75] if os.environ.get("LONG") else [10, 40]


@pytest.mark.parametrize("seconds", OUTAGES)
def test_a_stopped_database_is_503_at_once_and_back_within_five_seconds(
    pg: Postgres, server: Server, seconds: int
) -> None:
    pg.stop()
    until = time.monotonic() + seconds
    server.read()
    time.sleep(1)
    answers: list[Answer] = []
    while time.monotonic() < until:
        together(4, server.read, answers)
        answers.append(server.provisioned())
        health = server.get("/healthz")
        assert health.status == 200
        assert health.seconds < allowed(1)
        time.sleep(0.3)
    assert {answer.status for answer in answers} == {503}
    assert all(answer.headers["Retry-After"] for answer in answers)
    assert max(answer.seconds for answer in answers) < allowed(2)
    assert server.get("/readyz").json()["database"] == "away"
    pg.start()
    wait_for(pg.answers, 30)
    took = wait_for(lambda: server.read().status == 200, 20)
    assert took < allowed(5)
    # Each worker and each of its threads is back, not just the first.
    time.sleep(2)
    answers = []
    together(16, server.read, answers)
    assert {answer.status for answer in answers} == {200}
    assert not [line for line in server.lines() if line["level"] == "ERROR"]


def test_no_reader_meets_a_connection_that_was_cut(pg: Postgres, server: Server, shared: Installation) -> None:
    answers: list[Answer] = []
    together(16, server.read, answers)
    for pid in pg.backends(shared.name):
        with pg.connect() as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    time.sleep(1)
    together(16, server.read, answers)
    assert {answer.status for answer in answers} == {200}


def test_connections_that_are_cut_under_load_lose_and_double_nothing(
    pg: Postgres, server: Server, shared: Installation
) -> None:
    before = shared.rows("SELECT count(*) FROM items_item")[0][0]
    read: list[Answer] = []
    added: list[Answer] = []
    until = time.monotonic() + 6

    def add() -> None:
        while time.monotonic() < until:
            key = {"Idempotency-Key": str(uuid.uuid4())}
            while (answer := server.add(key)).status != 200:
                assert answer.status == 503, answer.body
                added.append(answer)
            added.append(answer)

    def look() -> None:
        while time.monotonic() < until:
            read.append(server.read())

    threads = [threading.Thread(target=work) for work in (add, look) for _ in range(4)]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        time.sleep(0.5)
        with pg.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [shared.name]
            )
    for thread in threads:
        thread.join()
    assert {answer.status for answer in read} == {200}
    acknowledged = [answer.json()["Id"] for answer in added if answer.status == 200]
    assert len(acknowledged) > 20
    assert shared.rows("SELECT count(*) FROM items_item")[0][0] == before + len(set(acknowledged))
    assert not [line for line in server.lines() if line["level"] == "ERROR"]


def test_a_database_without_a_free_connection_is_503_that_says_so(pg: Postgres, own_server: Server) -> None:
    taken: list[psycopg.Connection[Any]] = []
    try:
        with suppress(psycopg.OperationalError):
            while len(taken) < 1000:
                taken.append(pg.connect())
        answers: list[Answer] = []
        together(8, own_server.read, answers)
        assert {answer.status for answer in answers} == {503}
        assert {answer.json()["Message"] for answer in answers} == {outages.CROWDED.message}
        assert own_server.get("/healthz").seconds < allowed(1)
        assert own_server.get("/readyz").json()["database"] == "away"
    finally:
        for connection in taken:
            connection.close()
    assert wait_for(lambda: own_server.read().status == 200, 20) < allowed(5)
    assert any("too many clients" in line["message"] for line in own_server.lines())


def test_a_migration_that_was_killed_can_run_again_while_the_server_waits(installation: Installation) -> None:
    if installation.pg:
        with installation.pg.connect(installation.name) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    else:
        (installation.folder / "larder.sqlite3").unlink()

    def applied() -> int:
        try:
            return int(installation.rows("SELECT count(*) FROM django_migrations")[0][0])
        except (psycopg.Error, sqlite3.Error):
            return 0

    with installation.server() as server:
        for least in (5, 60):
            command = [sys.executable, "manage.py", "migrate", "--no-input"]
            migrating = Process(command, installation.environment, installation.logs / "migrate.log")
            wait_for(lambda: applied() >= least, 60, 0.01)  # noqa: B023
            migrating.signal(signal.SIGKILL)
            migrating.process.wait()
            assert server.get("/readyz").json()["database"] == "unmigrated"
            # Without its table the key cannot be looked up; in an empty table there is no such key.
            assert server.read().status in (401, 503)
        installation.manage("migrate", "--no-input", "-v", "0")
        wait_for(lambda: server.get("/readyz").json()["database"] == "ok", 20)
        assert server.read().status == 401
        assert not [line for line in server.lines() if line["level"] == "ERROR"]


def test_a_frozen_database_costs_bounded_time_and_healthz_none(pg: Postgres, server: Server) -> None:
    answers: list[Answer] = []
    pg.signal_all(signal.SIGSTOP)
    try:
        asking = threading.Thread(target=together, args=(12, server.read, answers))
        asking.start()
        for _ in range(10):
            health = server.get("/healthz")
            assert health.status == 200
            assert health.seconds < allowed(1)
            time.sleep(0.5)
        asking.join()
    finally:
        pg.signal_all(signal.SIGCONT)
    assert {answer.status for answer in answers} == {503}
    assert max(answer.seconds for answer in answers) < 24 + allowed(4)
    assert wait_for(lambda: server.read().status == 200, 20) < allowed(5)


def test_a_writer_that_waits_for_a_lock_is_503_after_ten_seconds(server: Server, shared: Installation) -> None:
    answers: list[Answer] = []
    if shared.pg:
        blocker = shared.pg.connect(shared.name)
        blocker.autocommit = False
        blocker.execute("LOCK TABLE history_change, items_item IN EXCLUSIVE MODE")
    else:
        blocker = sqlite3.connect(shared.folder / "larder.sqlite3", isolation_level=None)  # type: ignore[assignment]
        blocker.execute("BEGIN IMMEDIATE")
    try:
        asking = threading.Thread(target=together, args=(4, server.add, answers))
        asking.start()
        for _ in range(10):
            assert server.get("/healthz").seconds < allowed(1)
            time.sleep(0.5)
        asking.join()
    finally:
        blocker.close()
    assert {answer.status for answer in answers} == {503}, [answer.body for answer in answers]
    assert all(9 < answer.seconds < 10 + allowed(3) for answer in answers), [answer.seconds for answer in answers]
    assert "Another change holds" in answers[0].json()["Message"]
    assert server.add().status == 200


def test_a_database_that_cannot_be_written_is_named_and_read_on(
    pg: Postgres, server: Server, shared: Installation
) -> None:
    shared.let_notes_of_use_be_due()
    with pg.connect() as connection:
        connection.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        connection.execute("SELECT pg_reload_conf()")
    try:
        wait_for(lambda: server.add().status == 503, 10)
        assert "cannot be written" in server.add().json()["Message"]
        assert server.read().status == 200
        assert server.provisioned().status == 200
        wait_for(lambda: server.get("/readyz").json()["writes"] == "failing", 10)
        assert server.get("/readyz").json()["status"] == "degraded"
        assert any(line.get("sqlstate") == "25006" for line in server.lines())
    finally:
        with pg.connect() as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")
    wait_for(lambda: server.add().status == 200, 10)


def test_every_door_of_a_database_that_is_not_migrated_is_503(installation: Installation) -> None:
    if installation.pg:
        with installation.pg.connect(installation.name) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    else:
        (installation.folder / "larder.sqlite3").unlink()
    bearer = {"Authorization": f"Bearer {installation.credentials['scim_token']}"}
    oauth = installation.credentials["oauth"]
    client = f"client_id={oauth['client_id']}&client_secret={oauth['client_secret']}"
    with installation.server() as server:
        answers = {
            "json": server.read(),
            "category": server.get("/category/GetNatureOfEmploymentList", server.key),
            "scim": server.get("/scim/Users", bearer),
            "token": server.send(
                "POST",
                "/oauth/token",
                f"grant_type=client_credentials&{client}".encode(),
                {"Content-Type": "application/x-www-form-urlencoded"},
            ),
            "page": server.get("/admin/", {"Cookie": "sessionid=0123456789abcdef0123456789abcdef"}),
            "readyz": server.get("/readyz"),
        }
        assert {door: answer.status for door, answer in answers.items()} == dict.fromkeys(answers, 503)
        assert answers["readyz"].json()["database"] == "unmigrated"
        assert server.get("/healthz").status == 200
        assert "exception" not in server.log.read_text()
