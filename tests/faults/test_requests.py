"""Rare but allowed requests, and floods of bytes that are none: each is answered, and none holds up others.

The server handles all of this before it asks the database, so it is tried with SQLite only.
"""

import http.client
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.faults.browser import FORM, fields_of
from tests.faults.processes import ON_SQLITE, Server, allowed, wait_for
from tests.make.signing_in import LOGIN

pytestmark = ON_SQLITE

HOST = b"Host: 127.0.0.1\r\n"


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), 60)


def read_answers(client: socket.socket, number: int) -> list[int]:
    """Read so many answers with a body from a connection and return their status codes."""
    statuses = []
    with client.makefile("rb") as stream:
        for _ in range(number):
            statuses.append(int(stream.readline().split()[1]))
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            assert len(stream.read(length)) == length
    return statuses


@pytest.mark.parametrize(("path", "number"), [("/healthz", 5_000), ("/item/GetItemList?limit=1", 100)])
def test_many_requests_sent_at_once_are_all_answered_and_hold_up_nobody(server: Server, path: str, number: int) -> None:
    before = server.workers()
    key = server.credentials["subscription_key"].encode()
    request = b"GET %s HTTP/1.1\r\n%sOcp-Apim-Subscription-Key: %s\r\n\r\n" % (path.encode(), HOST, key)
    answers: list[int] = []
    with connect(server) as client:
        reading = threading.Thread(target=lambda: answers.extend(read_answers(client, number)))
        reading.start()
        client.sendall(request * number)
        slowest = 0.0
        while reading.is_alive():
            slowest = max(slowest, server.get("/healthz").seconds)
            time.sleep(0.05)
    assert answers == [200] * number
    assert slowest < allowed(1)
    assert server.workers() == before


def test_a_client_of_http_1_0_keeps_its_connection_only_if_it_asks_for_it(server: Server) -> None:
    request = b"GET /healthz HTTP/1.0\r\n%sConnection: keep-alive\r\n\r\n" % HOST
    with connect(server) as client:
        for _ in range(2):
            client.sendall(request)
            answer = http.client.HTTPResponse(client)
            answer.begin()
            assert answer.status == 200
            assert answer.getheader("Connection", "").lower() == "keep-alive"
            answer.read()
    with connect(server) as client:
        client.sendall(request.replace(b"Connection: keep-alive\r\n", b""))
        data = b""
        while piece := client.recv(4096):
            data += piece
        assert data.split()[1] == b"200"


def test_a_body_that_arrives_byte_by_byte_is_answered_at_every_door(server: Server) -> None:
    oauth, key = server.credentials["oauth"], server.credentials["subscription_key"]
    page = server.get(LOGIN)
    cookies: Any = page.headers
    sign_in = fields_of(page) | {"username": "nobody", "password": "wrong"}
    client = {"client_id": oauth["client_id"], "client_secret": oauth["client_secret"]}
    doors = {
        "/item/AddItem": (200, f"Ocp-Apim-Subscription-Key: {key}", '{"Name": "Thermometer"}'),
        "/scim/Users": (400, f"Authorization: Bearer {server.credentials['scim_rfc_token']}", '{"schemas": ["x"]}'),
        "/oauth/token": (200, f"Content-Type: {FORM}", urlencode({"grant_type": "client_credentials", **client})),
        LOGIN: (
            200,
            f"Content-Type: {FORM}\r\nCookie: {cookies['Set-Cookie'].partition(';')[0]}",
            urlencode(sign_in),
        ),
    }
    statuses: dict[str, int] = {}

    def drip(path: str, headers: str, body: str) -> None:
        with connect(server) as drop:
            drop.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\nContent-Length: {len(body)}\r\n\r\n"
            for byte in (head + body).encode():
                drop.sendall(bytes([byte]))
                time.sleep(0.001)
            statuses[path] = int(drop.recv(4096).split()[1])

    threads = [threading.Thread(target=drip, args=(path, *door[1:])) for path, door in doors.items()]
    for thread in threads:
        thread.start()
    slowest = max(server.get("/healthz").seconds for _ in range(10))
    for thread in threads:
        thread.join()
    assert statuses == {path: door[0] for path, door in doors.items()}
    assert slowest < allowed(1)


def test_a_client_that_only_ends_its_sending_still_gets_the_answer(server: Server) -> None:
    with connect(server) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n%s\r\n" % HOST)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(4096).startswith(b"HTTP/1.1 200")


def test_uploads_that_are_reset_in_the_middle_leave_nothing_open(server: Server) -> None:
    key = server.credentials["subscription_key"].encode()
    head = b"POST /document/AddDocument HTTP/1.1\r\n%sOcp-Apim-Subscription-Key: %s\r\n" % (HOST, key)
    server.read()
    before = open_files(server)
    for number in range(200):
        with connect(server) as client:
            if number % 2:
                client.sendall(head + b"Content-Length: 1000000\r\n\r\n" + b"x" * 100_000)
            else:
                client.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n20000\r\n" + b"x" * 100_000)
            # The connection is reset instead of closed.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_for(lambda: open_files(server) <= before + 8, 20)
    assert server.read().status == 200


def open_files(server: Server) -> int:
    """Return how many files and connections the workers have open."""
    return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in server.workers())


def adding(server: Server) -> bytes:
    """Return the head of a request that adds an item, without its framing."""
    key = server.credentials["subscription_key"].encode()
    return b"POST /item/AddItem HTTP/1.1\r\n%sOcp-Apim-Subscription-Key: %s\r\n" % (HOST, key)


BODY = b'{"Name": "Thermometer"}'


def number_of_items(server: Server) -> int:
    return int(server.get("/item/GetItemList?limit=1", server.key).headers["X-Total-Count"])


@pytest.mark.parametrize(
    "framing",
    [
        b"Transfer-Encoding: chunked\r\n\r\n17;a=b\r\n%s\r\n0\r\n\r\n" % BODY,
        b"Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n17\r\n%s\r\n0\r\nX-Sum: 1\r\n\r\n" % BODY,
        b"Transfer-Encoding: chunked\r\n\r\n16\r\n%s\r\n1\r\n}\r\n0\r\n\r\n" % BODY[:-1],
        b"Expect: 100-continue\r\nContent-Length: 23\r\n\r\n" + BODY,
    ],
    ids=["an extension", "a trailer", "two chunks", "without waiting for 100"],
)
def test_a_body_in_any_allowed_framing_is_stored_once(server: Server, framing: bytes) -> None:
    before = number_of_items(server)
    with connect(server) as client:
        client.sendall(adding(server) + framing)
        answer = http.client.HTTPResponse(client)
        answer.begin()
        assert answer.status == 200
    assert number_of_items(server) == before + 1


def test_who_waits_for_100_continue_is_told_to_go_on(server: Server) -> None:
    with connect(server) as client:
        client.sendall(adding(server) + b"Expect: 100-continue\r\nContent-Length: 23\r\n\r\n")
        assert client.recv(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(BODY)
        assert read_answers(client, 1) == [200]


@pytest.mark.parametrize("framing", [b"Content-Length: 500\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n17\r\n"])
def test_a_body_that_ends_too_early_is_not_taken_for_a_whole_one(server: Server, framing: bytes) -> None:
    before = number_of_items(server)
    with connect(server) as client:
        client.sendall(adding(server) + framing + BODY)
        client.shutdown(socket.SHUT_WR)
        data = client.recv(4096)
    assert data == b"" or data.split()[1] == b"400"
    assert number_of_items(server) == before


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n" + HOST + b"X-A: b\r\n" * 100_000, 431),
        (
            b"GET /healthz HTTP/1.1\r\n"
            + HOST
            + b"".join(b"X-%d: b\r\n" % number for number in range(10_000))
            + b"\r\n",
            431,
        ),
        (b"GET /item/GetItemList?" + b"a" * 1_000_000 + b" HTTP/1.1\r\n" + HOST, 414),
        (
            b"POST /item/AddItem HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 200_000,
            400,
        ),
        (
            b"POST /item/AddItem HTTP/1.1\r\n"
            + HOST
            + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
            + b"A: b\r\n" * 200_000,
            400,
        ),
        (
            b"POST /item/AddItem HTTP/1.1\r\n"
            + HOST
            + b"Transfer-Encoding: chunked\r\n\r\n"
            + b"2\r\nxx\r\n" * 50_000
            + b"0\r\n\r\n",
            401,
        ),
    ],
    ids=["headers", "names of headers", "address", "chunks of one byte", "trailers", "chunks of two bytes"],
)
def test_a_flood_of_framing_is_refused_and_holds_up_nobody(server: Server, data: bytes, status: int) -> None:
    answers: list[int] = []

    def flood() -> None:
        with connect(server) as client:
            client.sendall(data)
            answers.append(int(client.recv(4096).split()[1]))

    threads = [threading.Thread(target=flood) for _ in range(20)]
    for thread in threads:
        thread.start()
    slowest = max(server.get("/healthz").seconds for _ in range(10))
    for thread in threads:
        thread.join()
    assert answers == [status] * 20
    assert slowest < allowed(1)


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://127.0.0.1/healthz", 200),
        ("/healthz?%", 200),
        ("/%", 404),
        ("/%ff%fe", 404),
        ("/item/GetItem/%00", 401),
        ("//healthz", 404),
        ("/item/../healthz", 404),
        ("*", 400),
    ],
)
def test_no_form_of_address_is_an_error_of_ours(server: Server, target: str, status: int) -> None:
    with connect(server) as client:
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        assert read_answers(client, 1) == [status]
