"""The log of slow statements names the operation and shows no value."""

import json
import logging
from typing import Any

import pytest
from django.db import DataError, connection
from django.db.transaction import atomic

from config import statements
from records.history.origin import working_for
from records.operations.logs import JsonFormatter
from tests.conftest import Api


class Clock:
    """A clock that moves on by 500 ms whenever somebody looks at it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def perf_counter(self) -> float:
        """Return the time in seconds."""
        self.seconds += 0.5
        return self.seconds


@pytest.fixture
def slow(settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Let each statement take 500 ms, and log those from 500 ms on."""
    settings.SLOW_STATEMENT_MS = 500
    monkeypatch.setattr(statements, "time", Clock())
    caplog.set_level(logging.WARNING, "larder.database")
    return caplog


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the lines about slow statements as they are written."""
    records = [record for record in caplog.records if record.name == "larder.database"]
    return [json.loads(JsonFormatter().format(record)) for record in records]


def test_a_slow_statement_is_logged_with_its_operation_and_request_and_without_values(
    api: Api, slow: pytest.LogCaptureFixture
) -> None:
    answer = api.get("/item/GetItemList", {"search": "Needle in a haystack"})
    assert answer.status_code == 200
    log_lines = lines(slow)
    assert any("items_item" in line["statement"] for line in log_lines)
    for line in log_lines:
        assert line["operation"] == "GetItemList"
        assert line["duration_ms"] == 500
        assert line["level"] == "WARNING"
    assert "eedle" not in json.dumps(log_lines)
    assert api.key is not None
    assert api.key.secret not in json.dumps(log_lines)


def test_the_statements_of_a_write_are_logged_with_its_request(api: Api, slow: pytest.LogCaptureFixture) -> None:
    answer = api.post("/item/AddItem", {"Name": "Needle in a haystack"})
    log_lines = lines(slow)
    assert {line["request_id"] for line in log_lines} == {answer["X-Request-Id"]}
    assert any("INSERT INTO" in line["statement"] for line in log_lines)
    assert "eedle" not in json.dumps(log_lines)


def test_faster_statements_and_those_of_commands_are_not_logged(
    api: Api, slow: pytest.LogCaptureFixture, settings: Any
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    settings.SLOW_STATEMENT_MS = 501
    api.get("/item/GetItemList")
    settings.SLOW_STATEMENT_MS = 0
    api.get("/item/GetItemList")
    assert lines(slow) == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no codes of this kind.")
def test_a_slow_statement_that_failed_is_logged_with_its_code(db: None, slow: pytest.LogCaptureFixture) -> None:
    with working_for("r", lambda: "Divide"), pytest.raises(DataError), atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 / %s", [0])
    assert [(line["operation"], line["sqlstate"]) for line in lines(slow) if "sqlstate" in line] == [
        ("Divide", "22012")
    ]


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT  *\n FROM t WHERE a = %s", "SELECT * FROM t WHERE a = %s"),
        ("SELECT 'Ann O''Hara', 'b' FROM t", "SELECT '…''…', '…' FROM t"),
        ("x" * 5_000, "x" * 1_000),
        (object(), "object"),
    ],
)
def test_a_statement_is_shown_in_one_short_line_without_quoted_texts(sql: Any, text: str) -> None:
    assert statements.without_values(sql) == text
