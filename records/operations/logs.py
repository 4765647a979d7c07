"""The format of a log line: one JSON object that contains nothing secret or personal."""

import json
import logging
import traceback
from datetime import UTC, datetime
from types import TracebackType

import orjson

from records.history.origin import origin_id

# What `extra={…}` may add to a line. Everything else is left out, so that no body, key or name reaches a log.
EXTRA_FIELDS = (
    "request_id",
    "caller",
    "site",
    "method",
    "operation",
    "record",
    "status",
    "duration_ms",
    "task",
    "sqlstate",
    "statement",
)
# What lines of the security log may add: the only exception to "no personal data" (DECISIONS 9.9).
SECURITY_FIELDS = ("account", "account_name", "address", "detail")


class WithoutOutages(logging.Filter):
    """Removes Django's line about a 503, whose cause another line has, and about a 501, which is a decided answer."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        return getattr(record, "status_code", 0) not in (501, 503)


class JsonFormatter(logging.Formatter):
    """Format a record as one line: time, level, logger, message, extra fields, and type and places of an exception.

    A line that names no request has the id of the request or task during whose work it is written.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON object for a record, without a line break."""
        line: dict[str, object] = {
            "time": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": message_of(record),
        }
        for name in (*EXTRA_FIELDS, *(SECURITY_FIELDS if record.name == "larder.security" else ())):
            value = getattr(record, name, None)
            if value is None and name == "request_id":
                value = origin_id() or None
            if value is not None:
                line[name] = value
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = describe_exception(record.exc_info[1], record.exc_info[2])
        try:
            return orjson.dumps(line, default=str).decode()
        except orjson.JSONEncodeError:
            # Such as a lone surrogate: the standard library escapes what orjson refuses.
            return json.dumps(line, default=str)


def message_of(record: logging.LogRecord) -> str:
    """Return the message without paths: Django's lines contain a path, which may name a person or be a signed link."""
    message = record.getMessage()
    path = getattr(getattr(record, "request", None), "path", "")
    return message.replace(path, "/" + path.lstrip("/").partition("/")[0][:50]) if len(path) > 1 else message


def describe_exception(error: BaseException, trace: TracebackType | None) -> list[dict[str, object]]:
    """Return the types and places of an exception and of its causes, outermost first.

    Messages are left out: those of the database quote the row's values, which may be personal data.
    """
    entries = []
    visited: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        frames = traceback.extract_tb(trace if current is error else current.__traceback__)
        entry: dict[str, object] = {
            "type": f"{type(current).__module__}.{type(current).__qualname__}",
            "at": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        }
        # PostgreSQL's error code and the constraint's name say what is wrong without quoting a value.
        if code := getattr(current, "sqlstate", None):
            entry["sqlstate"] = code
        if constraint := getattr(getattr(current, "diag", None), "constraint_name", None):
            entry["constraint"] = constraint
        entries.append(entry)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return entries
