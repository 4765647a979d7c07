"""Begins a transaction again that PostgreSQL ended because it and another one waited for each other."""

from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError

T = TypeVar("T")

ATTEMPTS = 3
"""How often a write begins if it always loses a deadlock."""
LOST_DEADLOCK, NO_LOCK = "40P01", "55P03"


def sqlstate_of(error: BaseException) -> str | None:
    """Return PostgreSQL's error code, or None."""
    state = getattr(error.__cause__, "sqlstate", None)
    return str(state) if state else None


def lost_deadlock(error: BaseException) -> bool:
    """Return whether PostgreSQL canceled the transaction because it and another one waited for each other."""
    return isinstance(error, DatabaseError) and sqlstate_of(error) == LOST_DEADLOCK


def waited_too_long(error: BaseException) -> bool:
    """Return whether PostgreSQL did not give a lock within the time for which the transaction waits."""
    return isinstance(error, DatabaseError) and sqlstate_of(error) == NO_LOCK


def retry_transaction(act: Callable[[], T], should_retry: Callable[[Exception], bool] = lost_deadlock) -> T:
    """Call a function and return its result; call it again if it lost a deadlock, since nothing was stored then."""
    for _ in range(1, ATTEMPTS):
        try:
            return act()
        except Exception as error:
            if not should_retry(error):
                raise
    return act()
