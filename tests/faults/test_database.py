"""A database that is stopped, frozen, cut off, locked, full, read-only or not migrated."""

import http.client
import os
import shutil
import signal
import sqlite3
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from records.operations import outages
from tests.faults.pools import Pool
from tests.faults.processes import (
    ON_POSTGRESQL,
    Answer,
    Installation,
    Postgres,
    Process,
    Server,
    allowed,
    wait_for,
    wait_until_back,
)

LEAN = {"WEB_WORKERS": "1"}
"""For tests in which the server is only asked, so that it starts faster."""


def together(number: int, ask: Callable[[], Answer], answers: list[Answer]) -> None:
    """Send a number of requests at the same time and collect the answers."""
    threads = [threading.Thread(target=lambda: answers.append(ask())) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# Further outages are tried by `make faults LONG=1`.
OUTAGES = [10, 40, 75] if os.environ.get("LONG") else [40]


@ON_POSTGRESQL
@pytest.mark.parametrize("seconds", OUTAGES)
def test_a_stopped_database_is_503_at_once_and_back_within_five_seconds(
    pg: Postgres, server: Server, seconds: int, request: pytest.FixtureRequest
) -> None:
    clients = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=60) for _ in range(8)]
    for client in clients:
        request.addfinalizer(client.close)
    assert {read_on(client, server) for client in clients} == {200}
    assert server.read_user().status == 200
    pg.stop()
    until = time.monotonic() + seconds
    server.read()
    time.sleep(1)
    answers: list[Answer] = []
    while time.monotonic() < until:
        together(4, server.read, answers)
        answers.append(server.read_user())
        health = server.get("/healthz")
        assert health.status == 200
        assert health.seconds < allowed(1)
        time.sleep(0.3)
    reasons = server.get("/readyz").json()
    pg.start()
    wait_for(pg.answers, 30)
    wait_until_back(server.read)
    assert {answer.status for answer in answers} == {503}
    assert all(answer.headers["Retry-After"] for answer in answers)
    assert max(answer.seconds for answer in answers) < allowed(2)
    assert reasons["database"] == "away"
    # Each worker and each of its threads is back, not just the first.
    time.sleep(2)
    answers = []
    together(16, server.read, answers)
    assert {answer.status for answer in answers} == {200}
    # So are clients that kept their connection, unless the server has closed it because it was idle for 75 seconds.
    assert seconds > 60 or {read_on(client, server) for client in clients} == {200}
    assert not [line for line in server.lines() if line["level"] == "ERROR"]


def read_on(client: http.client.HTTPConnection, server: Server) -> int:
    """Read on a connection that is kept, and return the status."""
    client.auto_open = client.sock is None
    client.request("GET", "/item/GetItemList?limit=2", headers=server.key)
    answer = client.getresponse()
    answer.read()
    return answer.status


@ON_POSTGRESQL
def test_a_database_that_answers_slowly_is_503_that_says_so_and_holds_up_no_reader(
    pg: Postgres, server: Server, shared: Installation
) -> None:
    before = shared.count_items()
    body = "BEGIN PERFORM pg_sleep(60); RETURN NEW; END"
    shared.rows(f"CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS '{body}'")
    shared.rows("CREATE TRIGGER slow BEFORE INSERT ON items_item FOR EACH ROW EXECUTE FUNCTION slow()")
    answers: list[Answer] = []
    try:
        writing = threading.Thread(target=together, args=(1, server.add, answers))
        writing.start()
        for _ in range(20):
            assert server.get("/healthz").seconds < allowed(1)
            read = server.read()
            assert read.status == 200
            assert read.seconds < allowed(2)
            time.sleep(0.2)
        writing.join()
    finally:
        shared.rows("DROP FUNCTION slow() CASCADE")
    assert {answer.status for answer in answers} == {503}
    assert all(19 < answer.seconds < 22 + allowed(3) for answer in answers), [answer.seconds for answer in answers]
    assert {answer.json()["Message"] for answer in answers} == {outages.SLOW.message}
    assert shared.count_items() == before
    assert server.add().status == 200


@ON_POSTGRESQL
def test_no_reader_meets_a_connection_that_was_cut(pg: Postgres, server: Server, shared: Installation) -> None:
    answers: list[Answer] = []
    together(16, server.read, answers)
    for pid in pg.backends(shared.name):
        with pg.connect() as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    time.sleep(1)
    together(16, server.read, answers)
    assert {answer.status for answer in answers} == {200}


def answers_during(server: Server, seconds: float, hurt: Callable[[], object]) -> tuple[list[Answer], list[Answer]]:
    """Let four readers and four writers work while something is hurt again and again; return what they were answered.

    It is hurt twice a second, or less often on a busy machine, where one request would be hit twice otherwise. The
    writers repeat what was 503 with the same Idempotency-Key until it is done.
    """
    read: list[Answer] = []
    writes: list[Answer] = []
    until = time.monotonic() + seconds

    def add() -> None:
        while time.monotonic() < until:
            key = {"Idempotency-Key": str(uuid.uuid4())}
            while (answer := server.add(key)).status != 200:
                assert answer.status == 503, answer.body
                writes.append(answer)
                time.sleep(0.02)
            writes.append(answer)

    def look() -> None:
        while time.monotonic() < until:
            read.append(server.read())

    threads = [threading.Thread(target=work) for work in (add, look) for _ in range(4)]
    for thread in threads:
        thread.start()
    while time.monotonic() < until:
        time.sleep(allowed(0.5))
        hurt()
    for thread in threads:
        thread.join()
    return read, writes


@ON_POSTGRESQL
def test_connections_that_are_cut_under_load_lose_and_double_nothing(
    pg: Postgres, server: Server, shared: Installation
) -> None:
    before = shared.count_items()

    def cut() -> None:
        # Callers have to be looked up again, on connections that are cut now.
        shared.rows("UPDATE accounts_accesschange SET stamp = stamp + 1")
        with pg.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [shared.name]
            )

    read, writes = answers_during(server, 6, cut)
    assert {answer.status for answer in read} == {200}
    ids = {answer.json()["Id"] for answer in writes if answer.status == 200}
    assert len(ids) > 20 / allowed(1)
    assert shared.count_items() == before + len(ids)
    assert not [line for line in server.lines() if line["level"] == "ERROR"]


@pytest.fixture
def pool(pg: Postgres, shared: Installation, tmp_path: Path) -> Iterator[Pool]:
    """Return a pgbouncer in transaction mode in front of PostgreSQL, configured as the shipped one is."""
    if shutil.which("pgbouncer") is None:
        pytest.skip("pgbouncer is not installed.")
    pool = Pool(pg, shared.name)
    pool.start()
    yield pool
    pool.kill()


@ON_POSTGRESQL
def test_a_pool_that_is_killed_and_started_again_loses_and_doubles_nothing(pool: Pool, shared: Installation) -> None:
    before = shared.count_items()
    variables = {"DATABASE_URL": pool.url, "DATABASE_PREPARED_STATEMENTS": "off"}
    with shared.server(variables) as server:
        for _ in range(8):
            assert server.read().status == 200
        strokes = iter([pool.kill, pool.start, lambda: None] * 2)
        read, writes = answers_during(server, 6, lambda: next(strokes, lambda: None)())
        pool.start()
        wait_until_back(server.read)
        assert {answer.status for answer in read} == {200, 503}
        ids = {answer.json()["Id"] for answer in writes if answer.status == 200}
        assert ids
        assert shared.count_items() == before + len(ids)
        assert server.get("/readyz").json()["database"] == "ok"
        assert not [line for line in server.lines() if line["level"] == "ERROR"]


@ON_POSTGRESQL
def test_a_database_without_a_free_connection_is_503_that_says_so(pg: Postgres, own_server: Server) -> None:
    connections: list[psycopg.Connection[Any]] = []
    try:
        with suppress(psycopg.OperationalError):
            while len(connections) < 1000:
                connections.append(pg.connect())
        answers: list[Answer] = []
        together(8, own_server.read, answers)
        assert {answer.status for answer in answers} == {503}
        assert {answer.json()["Message"] for answer in answers} == {outages.CROWDED.message}
        assert own_server.get("/healthz").seconds < allowed(1)
        assert own_server.get("/readyz").json()["database"] == "away"
    finally:
        for connection in connections:
            connection.close()
    wait_until_back(own_server.read)
    assert any("too many clients" in line["message"] for line in own_server.lines())


def test_every_door_is_503_until_a_migration_that_broke_off_twice_is_completed(installation: Installation) -> None:
    if installation.pg:
        with installation.pg.connect(installation.name) as connection:
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")
    else:
        (installation.folder / "larder.sqlite3").unlink()

    def applied_count() -> int:
        try:
            return int(installation.rows("SELECT count(*) FROM django_migrations")[0][0])
        except (psycopg.Error, sqlite3.Error):
            return 0

    with installation.server(LEAN) as server:
        answers = answers_of_every_door(server)
        assert {door: answer.status for door, answer in answers.items()} == dict.fromkeys(answers, 503)
        assert answers["readyz"].json()["database"] == "unmigrated"
        assert server.get("/healthz").status == 200
        for least in (5, 60):
            command = [sys.executable, "manage.py", "migrate", "--no-input"]
            migrating = Process(command, installation.environment, installation.logs / "migrate.log")
            wait_for(lambda: applied_count() >= least, 60, 0.01)  # noqa: B023
            if installation.pg and least == 60:
                # PostgreSQL starts again in the middle of it.
                installation.pg.stop()
                installation.pg.start()
                wait_for(installation.pg.answers, 60)
            else:
                migrating.signal(signal.SIGKILL)
            assert migrating.process.wait(60) != 0
            wait_for(lambda: server.get("/readyz").json()["database"] == "unmigrated", 20)
            # Without its table the key cannot be looked up; in an empty table there is no such key.
            assert server.read().status in (401, 503)
        installation.manage("migrate", "--no-input", "-v", "0")
        wait_for(lambda: server.get("/readyz").json()["database"] == "ok", 20)
        assert server.read().status == 401
        assert not [line for line in server.lines() if line["level"] == "ERROR"]


def answers_of_every_door(server: Server) -> dict[str, Answer]:
    """Ask at each door with credentials that were good before."""
    oauth = server.credentials["oauth"]
    client = f"client_id={oauth['client_id']}&client_secret={oauth['client_secret']}"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return {
        "json": server.read(),
        "category": server.get("/category/GetNatureOfEmploymentList", server.key),
        "scim": server.read_user(),
        "token": server.send("POST", "/oauth/token", f"grant_type=client_credentials&{client}".encode(), form),
        "page": server.get("/admin/", {"Cookie": "sessionid=0123456789abcdef0123456789abcdef"}),
        "readyz": server.get("/readyz"),
    }


@ON_POSTGRESQL
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
    wait_until_back(server.read)


def test_a_writer_that_waits_for_a_lock_is_503_after_ten_seconds(server: Server, shared: Installation) -> None:
    # The key is not remembered, and its use is to be noted, which must not wait as well.
    shared.let_notes_of_use_be_due()
    credentials = shared.credentials
    other, reader = (
        {"Ocp-Apim-Subscription-Key": key}
        for key in (credentials["other_site"]["subscription_key"], credentials["reader_key"])
    )
    answers: list[Answer] = []
    if shared.pg:
        blocker = shared.pg.connect(shared.name)
        blocker.autocommit = False
        blocker.execute("LOCK TABLE history_change, items_item, accounts_subscriptionkey IN EXCLUSIVE MODE")
    else:
        blocker = sqlite3.connect(shared.folder / "larder.sqlite3", isolation_level=None)  # type: ignore[assignment]
        blocker.execute("BEGIN IMMEDIATE")
    try:
        asks = (server.add, lambda: server.add(other), lambda: server.provision("nora"))
        asking = [threading.Thread(target=together, args=(1, ask, answers)) for ask in asks]
        for thread in asking:
            thread.start()
        for _ in range(10):
            assert server.get("/healthz").seconds < allowed(1)
            read = server.get("/item/GetItemList?limit=2", reader)
            assert read.status == 200
            assert read.seconds < allowed(2)
            time.sleep(0.3)
        for thread in asking:
            thread.join()
    finally:
        blocker.close()
    assert {answer.status for answer in answers} == {503}, [answer.body for answer in answers]
    assert all(9 < answer.seconds < 10 + allowed(3) for answer in answers), [answer.seconds for answer in answers]
    assert all(b"Another change has locked" in answer.body for answer in answers)
    assert server.add().status == 200


@ON_POSTGRESQL
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
        assert server.read_user().status == 200
        wait_for(lambda: server.get("/readyz").json()["writes"] == "failing", 10)
        assert server.get("/readyz").json()["status"] == "degraded"
        assert any(line.get("sqlstate") == "25006" for line in server.lines())
    finally:
        with pg.connect() as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER SYSTEM RESET default_transaction_read_only")
            connection.execute("SELECT pg_reload_conf()")
    wait_for(lambda: server.add().status == 200, 10)
