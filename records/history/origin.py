"""The request or background task that the running code works for, with its id and the name of its operation.

Log lines, mails, changes and tasks take the id from here, so that all traces of one request can be found together. A
task works under the id of the request that enqueued it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Origin:
    """A request or a task: its id, and a function that names the operation as soon as it is known."""

    id: str
    operation: Callable[[], str]
    headers: Mapping[str, str] | None = None
    """The headers of a request by which it continues a trace, by lower-case names; None for a task."""
    status: int | None = None
    """The status of the answer to a request, when it is known."""


Around = Callable[[Origin], AbstractContextManager[None]]

_origin: ContextVar[Origin | None] = ContextVar("origin", default=None)
_around: list[Around] = []


def origin() -> Origin | None:
    """Return the request or task that the running code works for, or None (a command, a thread of the server)."""
    return _origin.get()


def origin_id() -> str:
    """Return the id of the request or task that the running code works for, or an empty text."""
    current = _origin.get()
    return current.id if current else ""


def surround_by(around: Around | None) -> None:
    """Run everything that is done for a request or task inside `around`; None ends that. Traces use it."""
    _around[:] = [] if around is None else [around]


@contextmanager
def working_for(
    identifier: str, operation: Callable[[], str], headers: Mapping[str, str] | None = None
) -> Iterator[Origin]:
    """Run a block as the work of a request or a task."""
    current = Origin(identifier, operation, headers)
    token = _origin.set(current)
    try:
        with _around[0](current) if _around else nullcontext():
            yield current
    finally:
        _origin.reset(token)
