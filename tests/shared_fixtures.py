"""Records that most tests begin with, made once for the tests of a module that follow each other.

A fixture marked with `shared_fixture` is made within a transaction that stays open from one test to the next. Each
test runs in a savepoint of it, which is rolled back as the test's own transaction would be, and gets copies of what was
made. So each finds what it would find if the records were made for it alone. Before a test that asks for fewer of these
fixtures, or for others, what it does not ask for is rolled back. A test that commits has them made for itself.

A shared fixture may only ask for shared ones, write into the database, and return what can be copied.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

Make = Callable[..., Any]
_order = itertools.count()


def shared_fixture(make: Make) -> Any:
    """Mark a function as a fixture that is made once for several tests."""

    def fixture(shared_values: dict[Make, Any], db: None, **arguments: Any) -> Any:
        return shared_values[make] if make in shared_values else make(**arguments)

    own = list(inspect.signature(fixture).parameters.values())[:2]
    parameters = [*own, *inspect.signature(make).parameters.values()]
    fixture.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    fixture.__doc__ = make.__doc__
    fixture.made_by = make, next(_order)  # type: ignore[attr-defined]
    return pytest.fixture(fixture, name=make.__name__)


class SharedFixtures:
    """The shared fixtures whose rows are in the database."""

    def __init__(self, blocker: Any) -> None:
        self.blocker = blocker
        self.open: list[tuple[Make, ExitStack]] = []
        """What made them, in order, with what rolls each back."""
        self.values: dict[Make, Any] = {}
        self.module: Path | None = None

    def begin(self, module: Path) -> None:
        """Take everything back before the first test of another module."""
        if module != self.module:
            self.close()
        self.module = module

    def values_for(self, request: pytest.FixtureRequest) -> dict[Make, Any]:
        """Bring the database to what the test asks for; return copies of what was made, by what made it."""
        makers = {} if _commits(request) else _makers(request)
        matches = [one == other for (one, _), other in zip(self.open, makers, strict=False)]
        self.close(0 if connection.closed_in_transaction else [*matches, False].index(False))
        with self.blocker.unblock():
            for make in list(makers)[len(self.open) :]:
                self._add(make, makers[make])
        return deepcopy({make: self.values[make] for make in makers})

    def close(self, count: int = 0) -> None:
        """Roll back the rows of all shared fixtures but the first `count`."""
        with self.blocker.unblock():
            while len(self.open) > count:
                make, stack = self.open.pop()
                del self.values[make]
                stack.close()

    def _add(self, make: Make, arguments: dict[str, Make]) -> None:
        with ExitStack() as stack:
            stack.enter_context(_roll_back())
            self.values[make] = make(**{name: self.values[other] for name, other in arguments.items()})
            self.open.append((make, stack.pop_all()))


@contextmanager
def _roll_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _commits(request: pytest.FixtureRequest) -> bool:
    marker = request.node.get_closest_marker("django_db")
    commits = marker is not None and marker.kwargs.get("transaction", False)
    return commits or not {"live_server", "transactional_db"}.isdisjoint(request.fixturenames)


@cache
def _arguments_of(make: Make) -> Sequence[str]:
    """Return the names of the fixtures that a shared fixture asks for."""
    return tuple(inspect.signature(make).parameters)


def _makers(request: pytest.FixtureRequest) -> dict[Make, dict[str, Make]]:
    """Return what makes the shared fixtures of the test, in their order, with what makes the arguments of each."""
    makers_by_name = {
        name: definitions[-1].func.made_by
        for name, definitions in request.node._fixtureinfo.name2fixturedefs.items()
        if hasattr(definitions[-1].func, "made_by")
    }
    makers: dict[Make, dict[str, Make]] = {}

    def add(name: str) -> bool:
        make, _ = makers_by_name[name]
        arguments = _arguments_of(make)
        if make not in makers and all(other in makers_by_name and add(other) for other in arguments):
            makers[make] = {other: makers_by_name[other][0] for other in arguments}
        return make in makers

    for name in sorted(makers_by_name, key=lambda name: makers_by_name[name][1]):
        add(name)
    return makers
