"""When a thread that has answered wakes the poller, and what continues without that."""

import selectors
import socket
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from config.server.connection import Connection, State
from config.server.threads import Task
from config.server.worker import Worker

PEER = ("127.0.0.1", 1)
REQUEST = b"GET /item/GetItemList HTTP/1.1\r\nHost: a\r\n\r\n"


class Exchange:
    """A worker without a process, whose one connection is being answered."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.client, server = socket.socketpair()
        self.worker: Any = object.__new__(Worker)
        self.worker.alive, self.worker.is_stopping, self.worker.age = True, True, 1
        self.worker.cfg = SimpleNamespace(keepalive=75, threads=1)
        self.worker.poller = selectors.DefaultSelector()
        self.worker.method_queue = SimpleNamespace(defer=lambda *call: self.calls.append(call))
        self.connection = Connection(server, PEER, PEER)
        self.worker.connections = {self.connection}
        self.worker.watch(self.connection, selectors.EVENT_READ)
        self.connection.buffer += REQUEST
        assert self.connection.is_complete()
        self.connection.state = State.ANSWERING
        self.keep = True
        after = partial(self.worker.after_answer, self.connection)
        self.task = self.connection.task = Task(lambda: self.keep, after)

    def end(self, *, keep: bool = True) -> None:
        """End the thread's work."""
        self.keep = keep
        self.task.run()


@pytest.fixture
def exchange() -> Iterator[Exchange]:
    """Return a connection that is being answered."""
    exchange = Exchange()
    with exchange.client:
        yield exchange
    exchange.connection.close()
    exchange.worker.poller.close()


def test_the_next_request_of_a_kept_connection_wakes_the_poller(exchange: Exchange) -> None:
    exchange.end()
    assert exchange.calls == []
    assert not exchange.connection.idle
    assert exchange.worker.may_go_on(exchange.connection)
    assert exchange.connection.idle


def test_the_sweep_continues_with_a_connection_whose_client_is_silent(exchange: Exchange) -> None:
    exchange.end()
    exchange.worker.sweep()
    assert exchange.connection.state is State.READING
    assert exchange.connection.head is None


@pytest.mark.parametrize("why", ["closed", "more has arrived", "not watched", "not all was sent", "stopping"])
def test_the_thread_wakes_the_poller_where_something_is_left_to_do(exchange: Exchange, why: str) -> None:
    connection = exchange.connection
    match why:
        case "more has arrived":
            connection.buffer += REQUEST
        case "not watched":
            assert not exchange.worker.may_go_on(connection)
            assert exchange.calls == []
        case "not all was sent":
            connection.sock.sendall(b"x" * 5_000_000)
        case "stopping":
            exchange.worker.alive = False
    exchange.end(keep=why != "closed")
    assert exchange.calls == [(exchange.worker.on_answered, connection, exchange.task)]


def test_an_answer_that_ends_while_an_event_is_ignored_is_not_forgotten(exchange: Exchange) -> None:
    """The thread still sees the connection watched, and the poller stops watching it at the same moment."""
    watch = exchange.worker.watch

    def watch_late(connection: Connection, events: int) -> None:
        exchange.end()
        watch(connection, events)

    exchange.worker.watch = watch_late
    assert not exchange.worker.may_go_on(exchange.connection)
    assert exchange.calls == [(exchange.worker.on_answered, exchange.connection, exchange.task)]
