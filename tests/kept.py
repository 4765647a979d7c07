"""Records that most tests begin with, made once for the tests of a module that follow each other.

A fixture marked with `kept` is made within a transaction that stays open from one test to the next. Each test runs in a
savepoint of it, which is rolled back as the test's own transaction would be, and gets copies of what was made. So each
finds what it would find if the records were made for it alone. Before a test that asks for fewer of these fixtures,
or for others, what it does not ask for is rolled back. A test that commits has them made for itself.

A kept fixture may only ask for kept ones, write into the database, and return what can be copied.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

Make = Callable[..., Any]
_order = itertools.count()


def kept(make: Make) -> Any:
    """Mark a function as a fixture that is made once for several tests."""

    def given(kept_rows: dict[Make, Any], db: None, **asked: Any) -> Any:
        return kept_rows[make] if make in kept_rows else make(**asked)

    parameters = [*list(inspect.signature(given).parameters.values())[:2], *inspect.signature(make).parameters.values()]
    given.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    given.__doc__ = make.__doc__
    given.made_by = make, next(_order)  # type: ignore[attr-defined]
    return pytest.fixture(given, name=make.__name__)


class Kept:
    """The kept fixtures whose rows are in the database."""

    def __init__(self, blocker: Any) -> None:
        self.blocker = blocker
        self.open: list[tuple[Make, ExitStack]] = []
        """What made them, in order, with what rolls each back."""
        self.made: dict[Make, Any] = {}
        self.module: Path | None = None

    def begin(self, module: Path) -> None:
        """Take everything back before the first test of another module."""
        if module != self.module:
            self.close()
        self.module = module

    def rows_for(self, request: pytest.FixtureRequest) -> dict[Make, Any]:
        """Bring the database to what the test asks for; return copies of what was made, by what made it."""
        wanted = {} if _commits(request) else _wanted(request)
        same = [ours == theirs for (ours, _), theirs in zip(self.open, wanted, strict=False)]
        self.close(0 if connection.closed_in_transaction else [*same, False].index(False))
        with self.blocker.unblock():
            for make in list(wanted)[len(self.open) :]:
                self._add(make, wanted[make])
        return deepcopy({make: self.made[make] for make in wanted})

    def close(self, left: int = 0) -> None:
        """Roll back the rows of all kept fixtures but the first ones."""
        with self.blocker.unblock():
            while len(self.open) > left:
                make, stack = self.open.pop()
                del self.made[make]
                stack.close()

    def _add(self, make: Make, asked: dict[str, Make]) -> None:
        with ExitStack() as stack:
            stack.enter_context(_taken_back())
            self.made[make] = make(**{name: self.made[other] for name, other in asked.items()})
            self.open.append((make, stack.pop_all()))


@contextmanager
def _taken_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _commits(request: pytest.FixtureRequest) -> bool:
    marker = request.node.get_closest_marker("django_db")
    commits = marker is not None and marker.kwargs.get("transaction", False)
    return commits or not {"live_server", "transactional_db"}.isdisjoint(request.fixturenames)


def _wanted(request: pytest.FixtureRequest) -> dict[Make, dict[str, Make]]:
    """Return what makes the kept fixtures of the test, in the order in which they are made, with what each asks for."""
    known = {
        name: definitions[-1].func.made_by
        for name, definitions in request.node._fixtureinfo.name2fixturedefs.items()
        if hasattr(definitions[-1].func, "made_by")
    }
    wanted: dict[Make, dict[str, Make]] = {}

    def add(name: str) -> bool:
        make, _ = known[name]
        asked = inspect.signature(make).parameters
        if make not in wanted and all(other in known and add(other) for other in asked):
            wanted[make] = {other: known[other][0] for other in asked}
        return make in wanted

    for name in sorted(known, key=lambda name: known[name][1]):
        add(name)
    return wanted
