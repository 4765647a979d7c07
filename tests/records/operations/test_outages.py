"""What callers are told when the database does not serve them, and what `/readyz` says about it."""

import errno
import logging
import sqlite3
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.cache import caches
from django.db import DatabaseError, InternalError, OperationalError, ProgrammingError, connection
from django.test import Client

from records.files.addresses import FileAddresses
from records.operations import errors, health, heartbeats, outages
from records.operations.logs import JsonFormatter
from tests import make


@pytest.fixture(autouse=True)
def _clear_outage_state(monkeypatch: pytest.MonkeyPatch) -> None:
    health.forget()
    monkeypatch.setattr(outages, "_writes_stopped_at", float("-inf"))


def failure(kind: type[Exception], cause: Exception, text: str = "text that quotes a value", **facts: Any) -> Exception:
    """Return an error of Django's with the driver's behind it."""
    for name, value in facts.items():
        setattr(cause, name, value)
    error = kind(text)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (failure(OperationalError, psycopg.OperationalError()), "cannot be reached"),
        (
            failure(OperationalError, psycopg.OperationalError(), text="FATAL:  sorry, too many clients already"),
            "no connection",
        ),
        (failure(OperationalError, psycopg.errors.TooManyConnections()), "no connection left"),
        (failure(InternalError, psycopg.errors.DataCorrupted()), "damaged"),
        (failure(DatabaseError, sqlite3.DatabaseError(), sqlite_errorcode=sqlite3.SQLITE_CORRUPT), "damaged"),
        (failure(DatabaseError, sqlite3.DatabaseError(), sqlite_errorcode=sqlite3.SQLITE_NOTADB), "damaged"),
        (failure(OperationalError, psycopg.errors.DiskFull()), "no space left"),
        (failure(InternalError, psycopg.errors.ReadOnlySqlTransaction()), "cannot be written"),
        (failure(OperationalError, psycopg.errors.LockNotAvailable()), "Another change has locked"),
        (failure(OperationalError, psycopg.errors.QueryCanceled()), "did not answer in time"),
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on its disk"),
        (failure(OperationalError, sqlite3.OperationalError(), sqlite_errorcode=sqlite3.SQLITE_FULL), "no space left"),
        (
            failure(OperationalError, sqlite3.OperationalError(), sqlite_errorcode=sqlite3.SQLITE_BUSY),
            "Another change",
        ),
        (
            failure(OperationalError, sqlite3.OperationalError(), sqlite_errorcode=sqlite3.SQLITE_READONLY),
            "cannot be written",
        ),
    ],
)
def test_the_503_names_the_cause_and_when_to_try_again(error: Exception, words: str) -> None:
    refusal = errors.refusal_of(error)
    assert (refusal.status, refusal.code) == (503, "Unavailable")
    assert words in refusal.message
    assert int(refusal.headers["Retry-After"]) >= 5


def test_the_log_names_the_sqlstate_and_no_value(caplog: pytest.LogCaptureFixture) -> None:
    errors.refusal_of(failure(OperationalError, psycopg.errors.DiskFull()))
    line = JsonFormatter().format(caplog.records[-1])
    assert '"sqlstate":"53100"' in line
    assert "quotes a value" not in line


def test_a_database_that_is_not_migrated_is_503_and_a_table_that_is_missing_otherwise_is_our_fault(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = failure(ProgrammingError, psycopg.errors.UndefinedTable())
    assert errors.refusal_of(error).status == 500
    monkeypatch.setattr(outages, "missing_migrations", lambda: {("sites", "0001_initial")})
    assert "not prepared for this version" in errors.refusal_of(error).message


@pytest.mark.parametrize(
    ("error", "is_refusal"),
    [
        (failure(OperationalError, psycopg.errors.DiskFull()), True),
        (failure(OperationalError, psycopg.OperationalError()), False),
        (failure(OperationalError, psycopg.errors.AdminShutdown()), False),
        (failure(OperationalError, psycopg.errors.QueryCanceled()), True),
        (failure(OperationalError, sqlite3.OperationalError(), sqlite_errorcode=sqlite3.SQLITE_FULL), True),
    ],
)
def test_only_an_answer_of_the_database_proves_that_nothing_was_committed(error: Exception, is_refusal: bool) -> None:
    assert outages.is_refusal(error) is is_refusal


def test_a_path_in_django_s_own_line_is_cut_to_its_first_part() -> None:
    record = logging.LogRecord("django.request", logging.ERROR, "", 0, "%s: %s", ("Error", "/document/file/x?y"), None)
    record.request = type("Request", (), {"path": "/document/file/x?y"})()
    assert "/document" in JsonFormatter().format(record)
    assert "/file/x" not in JsonFormatter().format(record)


OPENS_SOMETHING = "dG9rZW4tdGhhdC1vcGVucy1zb21ldGhpbmc"
OPENED_BY = (
    *("/document/File/{}", "/attachment/File/{}", "/calendar/{}.ics"),
    *("/accounts/password/NQ/{}/", "/profile/address/{}/"),
)


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OperationalError("away"), RuntimeError("a fault of ours")], ids=["503", "500"])
@pytest.mark.parametrize(
    "path",
    [
        "/document/File/{}",
        "/attachment/File/{}",
        "/calendar/{}.ics",
        "/accounts/password/NQ/{}/",
        "/profile/address/{}/",
    ],
)
def test_no_log_line_holds_an_address_that_opens_something_when_it_cannot_be_answered(
    path: str, error: Exception, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    # A file's address names a row only if it is signed by us.
    monkeypatch.setattr(FileAddresses, "row_behind", fail)
    client = Client(raise_request_exception=False)
    client.force_login(make.make_user(site=make.make_site()), backend="records.accounts.sign_in.AccountBackend")
    with caplog.at_level(logging.DEBUG), connection.execute_wrapper(fail):
        answer = client.get(path.format(OPENS_SOMETHING), headers={"Accept": "text/html"})
    assert answer.status_code in (500, 503)
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert any(record.levelno >= logging.WARNING for record in caplog.records)
    assert not [line for line in lines if OPENS_SOMETHING in line]


PARTS = {"database": "ok", "writes": "ok", "cache": "ok", "worker": "ok", "files": "ok"}


def ready() -> Any:
    health.forget()
    return Client().get("/readyz")


def test_readyz_names_each_part_in_one_word(db: None) -> None:
    heartbeats.beat(heartbeats.WORKER + "one")
    answer = ready()
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", **PARTS})


def test_readyz_is_degraded_without_a_worker(db: None) -> None:
    answer = ready()
    assert (answer.status_code, answer.json()) == (200, {"status": "degraded", **PARTS, "worker": "missing"})


def test_readyz_is_degraded_while_nothing_can_be_written(db: None) -> None:
    heartbeats.beat(heartbeats.WORKER + "one")
    errors.refusal_of(failure(OperationalError, psycopg.errors.DiskFull()))
    assert ready().json() == {"status": "degraded", **PARTS, "writes": "failing"}


def test_readyz_is_degraded_while_redis_is_away(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeats.beat(heartbeats.WORKER + "one")
    monkeypatch.setattr(caches["default"], "is_away", True, raising=False)
    assert ready().json() == {"status": "degraded", **PARTS, "cache": "away"}


def test_readyz_is_degraded_while_files_cannot_be_stored(db: None, settings: Any, tmp_path: Path) -> None:
    heartbeats.beat(heartbeats.WORKER + "one")
    (tmp_path / "file").touch()
    options = {"location": str(tmp_path / "file" / "folder")}
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    assert ready().json() == {"status": "degraded", **PARTS, "files": "failing"}


@pytest.mark.parametrize(("state", "word"), [({("sites", "0001_initial")}, "unmigrated"), (OperationalError(), "away")])
def test_readyz_is_503_without_the_database_or_its_migrations(
    db: None, monkeypatch: pytest.MonkeyPatch, state: Any, word: str
) -> None:
    def look() -> Any:
        if isinstance(state, Exception):
            raise state
        return state

    monkeypatch.setattr(outages, "missing_migrations", look)
    answer = ready()
    assert (answer.status_code, answer.json()["status"], answer.json()["database"]) == (503, "unavailable", word)
    assert answer["Retry-After"]


@pytest.mark.parametrize(("hangs", "status", "word"), [("_database", 503, "away"), ("_files", 200, "ok")])
def test_readyz_does_not_wait_for_a_check_that_hangs(
    db: None, monkeypatch: pytest.MonkeyPatch, hangs: str, status: int, word: str
) -> None:
    """A frozen database serves nobody; storage that hangs says nothing about the records."""
    assert ready().status_code == 200
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.1)
    entered, end = threading.Event(), threading.Event()

    def hang() -> str:
        entered.set()
        end.wait(30)
        return "ok"

    for part in ("_database", "_writes", "_worker", "_files"):
        monkeypatch.setattr(health, part, hang if part == hangs else lambda: "ok")
    health.forget()
    first = threading.Thread(target=health._cached_state.get)
    first.start()
    try:
        assert entered.wait(30)
        answer = Client().get("/readyz")
    finally:
        end.set()
        first.join()
    assert (answer.status_code, answer.json()["database"]) == (status, word)
