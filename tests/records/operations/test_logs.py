"""What a log line holds, and what never gets into one."""

import json
import logging

import pytest
from django.db import IntegrityError

from records.operations.logs import JsonFormatter


def line(message="request", exception=None, **extra):
    record = logging.LogRecord("larder.access", logging.INFO, __file__, 1, message, None, None)
    record.__dict__.update(extra)
    if exception:
        record.exc_info = (type(exception), exception, exception.__traceback__)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    return json.loads(text)


def test_a_line_is_one_object_with_the_request_in_it():
    entry = line(request_id="r", caller="c", operation="GetEmployee", status=200, duration_ms=1.5)
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "level": "INFO",
        "logger": "larder.access",
        "message": "request",
        "request_id": "r",
        "caller": "c",
        "operation": "GetEmployee",
        "status": 200,
        "duration_ms": 1.5,
    }


def test_what_is_not_on_the_list_stays_out():
    assert "secret" not in json.dumps(line(body="secret", password="secret", request="secret"))


def test_a_line_break_or_a_lone_surrogate_does_not_break_the_line():
    assert line("two\nlines \ud800")["message"] == "two\nlines \ud800"


def fail():
    try:
        raise IntegrityError("Key (email)=(ann@example.com) already exists.")
    except IntegrityError as error:
        raise RuntimeError("secret") from error


def test_an_exception_is_told_by_type_and_place_without_its_message():
    with pytest.raises(RuntimeError) as error:
        fail()
    log = line(exception=error.value)
    types = [entry["type"] for entry in log["exception"]]
    assert types == ["builtins.RuntimeError", "django.db.utils.IntegrityError"]
    assert "test_logs.py" in log["exception"][0]["at"][-1]
    assert "ann@example.com" not in json.dumps(log)
    assert "secret" not in json.dumps(log)
