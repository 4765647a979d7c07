"""Watches the statements of the database: the log of slow ones, and the spans of traces."""

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from django.conf import settings
from django.db import Error

from records.history.origin import origin

logger = logging.getLogger("larder.database")

LONGEST = 1_000
"""The number of characters of a statement that is shown."""
_LITERAL = re.compile(r"'[^']*'")
_around: list[Callable[[Any], AbstractContextManager[None]]] = []


def surround_by(around: Callable[[Any], AbstractContextManager[None]] | None) -> None:
    """Run each statement inside `around`; None ends that. Traces use it."""
    _around[:] = [] if around is None else [around]


def shown(sql: Any) -> str:
    """Return a statement without any value: parameters are placeholders, and quoted texts are left out."""
    if not isinstance(sql, str):
        return type(sql).__name__
    return _LITERAL.sub("'…'", " ".join(sql[: LONGEST * 4].split()))[:LONGEST]


def sqlstate_of(error: BaseException) -> str | None:
    """Return PostgreSQL's code of a database error, or None."""
    return getattr(error.__cause__, "sqlstate", None)


@contextmanager
def observed(sql: Any) -> Iterator[None]:
    """Run a statement; log it if it takes SLOW_STATEMENT_MS or longer while a request or a task is being answered."""
    started = time.perf_counter()
    sqlstate = None
    try:
        with _around[0](sql) if _around else nullcontext():
            yield
    except Error as error:
        sqlstate = sqlstate_of(error)
        raise
    finally:
        _note((time.perf_counter() - started) * 1000, sql, sqlstate)


def _note(milliseconds: float, sql: Any, sqlstate: str | None) -> None:
    if not 0 < settings.SLOW_STATEMENT_MS <= milliseconds:
        return
    cause = origin()
    if cause is None:
        return  # A command may take its time.
    extra = {
        "request_id": cause.id,
        "operation": cause.operation(),
        "duration_ms": round(milliseconds, 1),
        "sqlstate": sqlstate,
        "statement": shown(sql),
    }
    logger.warning("A statement was slow.", extra=extra)


def observing(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Run a statement under observation; a wrapper as `connection.execute_wrappers` takes them."""
    with observed(sql):
        return execute(sql, params, many, context)
