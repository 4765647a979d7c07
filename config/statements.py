"""Watches the statements of the database: the log of slow ones, and the spans of traces."""

import logging
import re
import time
from collections.abc import Callable, MutableSet
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.conf import settings
from django.db import Error

from records.history.origin import origin

logger = logging.getLogger("larder.database")

LONGEST = 1_000
"""The number of characters of a statement that is shown."""
_LITERAL = re.compile(r"'[^']*'")
_around: list[Callable[[object], AbstractContextManager[None]]] = []


def surround_by(around: Callable[[object], AbstractContextManager[None]] | None) -> None:
    """Run each statement inside `around`; None ends that. Traces use it."""
    _around[:] = [] if around is None else [around]


def without_values(sql: object) -> str:
    """Return a statement without any value: parameters are placeholders, and quoted texts are left out."""
    if not isinstance(sql, str):
        return type(sql).__name__
    return _LITERAL.sub("'…'", " ".join(sql[: LONGEST * 4].split()))[:LONGEST]


def sqlstate_of(error: BaseException) -> str | None:
    """Return PostgreSQL's code of a database error, or None."""
    return getattr(error.__cause__, "sqlstate", None)


def observing(
    execute: Callable[..., object],
    sql: object,
    params: object,
    many: bool,
    context: dict[str, Any],
    *,
    cursors: MutableSet[Any] | None = None,
) -> Any:
    """Run a statement; log it if it takes SLOW_STATEMENT_MS or longer while a request or a task is being answered.

    A wrapper as `connection.execute_wrappers` takes them. `cursors` collects the cursors that are used, and that of a
    statement that fails is closed; the backend for SQLite says why it needs this.
    """
    start, sqlstate = time.perf_counter(), None
    if cursors is not None:
        cursors.add(context["cursor"].cursor)
    try:
        with _around[0](sql) if _around else nullcontext():
            return execute(sql, params, many, context)
    except Error as error:
        sqlstate = sqlstate_of(error)
        if cursors is not None:
            context["cursor"].close()
        raise
    finally:
        milliseconds = (time.perf_counter() - start) * 1000
        if 0 < settings.SLOW_STATEMENT_MS <= milliseconds:
            _log_slow(sql, milliseconds, sqlstate)


def _log_slow(sql: object, milliseconds: float, sqlstate: str | None) -> None:
    cause = origin()
    if cause is None:
        return  # A command may take its time.
    extra = {
        "request_id": cause.id,
        "operation": cause.operation(),
        "duration_ms": round(milliseconds, 1),
        "sqlstate": sqlstate,
        "statement": without_values(sql),
    }
    logger.warning("A statement was slow.", extra=extra)
