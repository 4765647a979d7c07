"""How the application's answer becomes a response."""

import re
import socket
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from gunicorn.http.wsgi import FileWrapper

from config.server.answering import Answer
from config.server.heads import Head, environment_of
from config.server.outgoing import MEMORY_LIMIT, Outlet

PEER = ("127.0.0.1", 1)
Pair = tuple[socket.socket, Outlet]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Return a client's socket and the outlet to it."""
    client, server = socket.socketpair()
    server.setblocking(False)
    with client, server:
        outlet = Outlet(server)
        yield client, outlet
        outlet.close()


def answer_of(
    pair: Pair, parts: Any, *headers: tuple[str, str], status: str = "200 OK", first: bytes = b"GET / HTTP/1.1"
) -> tuple[list[bytes], bytes, bool]:
    """Return the lines of the head of a response, its body, and whether the connection is kept."""
    answer = Answer(Head(first + b"\r\nHost: a\r\n\r\n", environment_of(PEER, PEER)), pair[1], may_keep=True)

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        start_response(status, list(headers))
        return parts

    keeps = answer.by(application, BytesIO())
    pair[0].setblocking(False)
    data = b""
    while True:
        pair[1].flush()
        try:
            data += pair[0].recv(1_000_000)
        except BlockingIOError:
            break
    head, _, body = data.partition(b"\r\n\r\n")
    return head.split(b"\r\n"), body, keeps


def test_a_whole_answer_is_sent_as_it_is(pair: Pair) -> None:
    lines, body, keeps = answer_of(pair, [b"ab", b"", b"c"], ("Content-Length", "3"), ("X-A", "\xe4"))
    assert lines[:4] == [b"HTTP/1.1 200 OK", b"Content-Length: 3", b"X-A: \xe4", b"Server: gunicorn"]
    assert re.fullmatch(rb"Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", lines[4])
    assert (lines[5:], body, keeps) == ([b"Connection: keep-alive"], b"abc", True)


def test_an_answer_without_a_length_is_sent_in_chunks(pair: Pair) -> None:
    lines, body, keeps = answer_of(pair, [b"x" * 26, b"", b"c"])
    assert b"Transfer-Encoding: chunked" in lines
    assert (body, keeps) == (b"1a\r\n" + b"x" * 26 + b"\r\n1\r\nc\r\n0\r\n\r\n", True)


def test_an_old_client_knows_by_the_end_of_the_connection_where_such_an_answer_ends(pair: Pair) -> None:
    request = b"GET / HTTP/1.0\r\nConnection: keep-alive"
    lines, body, keeps = answer_of(pair, [b"abc"], first=request)
    assert (b"Connection: close" in lines, body, keeps) == (True, b"abc", False)
    assert answer_of(pair, [b"abc"], ("Content-Length", "3"), first=request)[2]


def test_a_body_never_differs_from_its_announced_length(pair: Pair) -> None:
    assert answer_of(pair, [b"abcdef"], ("Content-Length", "3"))[1:] == (b"abc", True)
    # The client still waits for the rest; only the end of the connection tells it that nothing follows.
    assert answer_of(pair, [b"a"], ("Content-Length", "3"))[1:] == (b"a", False)


def test_some_answers_have_no_body(pair: Pair) -> None:
    length = ("Content-Length", "3")
    lines, body, keeps = answer_of(pair, [b"abc"], length, first=b"HEAD / HTTP/1.1")
    assert (b"Content-Length: 3" in lines, body, keeps) == (True, b"", True)
    lines, body, keeps = answer_of(pair, [], length, status="304 Not Modified")
    assert (b"Content-Length: 3" in lines, body, keeps) == (True, b"", True)
    lines, body, keeps = answer_of(pair, [b"abc"], length, status="204 No Content")
    assert (b"Content-Length: 3" in lines, body, keeps) == (False, b"", True)
    lines, body, keeps = answer_of(pair, [b"abc"], first=b"HEAD / HTTP/1.1")
    assert (b"Transfer-Encoding: chunked" in lines, body, keeps) == (False, b"", True)


@pytest.mark.parametrize(
    "header",
    [
        ("X-A", "b\r\nX-C: d"),
        ("X-A", "b\nX-C: d"),
        ("X-A\r\nX-C: d\r\nX-E", "f"),
        ("X A", "b"),
        ("X-A", "\u20ac"),
        ("", "b"),
    ],
)
def test_no_value_begins_another_header(pair: Pair, header: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        answer_of(pair, [], header)
    pair[0].setblocking(False)
    with pytest.raises(BlockingIOError):
        pair[0].recv(100)


def test_only_the_server_speaks_about_the_connection(pair: Pair) -> None:
    headers = [(name, "x") for name in ("Connection", "Date", "Keep-Alive", "Server", "Transfer-Encoding", "Upgrade")]
    lines, _, keeps = answer_of(pair, [], ("Content-Length", "0"), *headers)
    assert keeps
    assert not any(line.endswith(b" x") for line in lines)


@pytest.mark.parametrize("size", [10, MEMORY_LIMIT + 1, 3_000_000])
def test_a_file_is_sent_from_its_place_and_closed(pair: Pair, tmp_path: Path, size: int) -> None:
    stored = tmp_path / "file"
    stored.write_bytes(b"head" + b"f" * size)
    file = stored.open("rb")
    file.seek(4)
    lines, body, keeps = answer_of(pair, FileWrapper(file), ("Content-Length", str(size)))
    assert (b"Content-Length: %d" % size in lines, body, keeps) == (True, b"f" * size, True)
    assert file.closed
    buffer = BytesIO(b"f" * size)
    assert answer_of(pair, FileWrapper(buffer), ("Content-Length", str(size)))[1:] == (b"f" * size, True)
    file = stored.open("rb")
    assert answer_of(pair, FileWrapper(file), ("Content-Length", "4"), first=b"HEAD / HTTP/1.1")[1:] == (b"", True)
    assert file.closed


def test_an_answer_is_closed_when_the_application_fails_within_it(pair: Pair) -> None:
    class Parts:
        is_closed = False

        def __iter__(self) -> Iterator[bytes]:
            yield b"abc"
            raise ZeroDivisionError

        def close(self) -> None:
            self.is_closed = True

    parts = Parts()
    with pytest.raises(ZeroDivisionError):
        answer_of(pair, parts)
    assert parts.is_closed
