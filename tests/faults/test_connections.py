"""Clients that send slowly, send too much, read slowly or do nothing, and servers that stop or reload under load.

What the server does before it asks the database is tried with SQLite only.
"""

import http.client
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.browser import FORM
from tests.faults.processes import ON_SQLITE, ROOT, Answer, Installation, Server, allowed, wait_for

MANY = 1_000
LISTENS = "0A"
"""The state of a listener in Linux's table of connections."""


def slow_head(server: Server, client: socket.socket) -> None:
    client.sendall(b"GET /item/GetItemList HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: ")


def slow_body(server: Server, client: socket.socket) -> None:
    key = server.credentials["subscription_key"].encode()
    head = b"POST /item/AddItem HTTP/1.1\r\nHost: 127.0.0.1\r\nOcp-Apim-Subscription-Key: %s\r\n" % key
    client.sendall(head + b'Content-Length: 500\r\n\r\n{"Name": "')


def slow_body_without_key(server: Server, client: socket.socket) -> None:
    client.sendall(b"POST /item/AddItem HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\n")


def silent(server: Server, client: socket.socket) -> None:
    pass


def not_reading(server: Server, client: socket.socket) -> None:
    client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


def slow_chunks(server: Server, client: socket.socket) -> None:
    client.sendall(b"POST /item/AddItem HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{")


def endless_trailers(server: Server, client: socket.socket) -> None:
    client.sendall(b"POST /item/AddItem HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n")


def half_of_two(server: Server, client: socket.socket) -> None:
    client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /healthz HTTP/1.1\r\nX-Half: ")


def every_kind(server: Server, client: socket.socket) -> None:
    unfinished = (slow_chunks, endless_trailers, half_of_two)
    kinds = (slow_head, slow_body, slow_body_without_key, silent, not_reading, *unfinished)
    kinds[client.fileno() % len(kinds)](server, client)


ALONE = (slow_head, slow_body, slow_body_without_key, silent, not_reading)


@pytest.mark.parametrize("kind", ALONE)
@ON_SQLITE
def test_a_thousand_bad_connections_hold_up_nobody(
    server: Server, kind: Callable[[Server, socket.socket], None]
) -> None:
    hold_up(server, kind)


def test_a_thousand_bad_connections_of_every_kind_hold_up_nobody(server: Server) -> None:
    hold_up(server, every_kind)


def hold_up(server: Server, kind: Callable[[Server, socket.socket], None]) -> None:
    """Open a thousand connections of a kind, and ask meanwhile."""
    server.read()
    clients = []
    try:
        for _ in range(MANY):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", server.port))
            kind(server, client)
            clients.append(client)
        answers = answers_meanwhile(server)
    finally:
        for client in clients:
            client.close()
    assert {answer.status for answer in answers} == {200}
    assert max(answer.seconds for answer in answers) < allowed(1)


def answers_meanwhile(server: Server) -> list[Answer]:
    """Ask ten times for `/healthz` and for a list; once more where one was slow and less than five seconds went by.

    The bad connections are all there for ten seconds. What they hold up is slow both times, what other work on the
    machine held up is not.
    """
    start = time.monotonic()
    while True:
        answers = [ask() for _ in range(10) for ask in (lambda: server.get("/healthz"), server.read)]
        if max(answer.seconds for answer in answers) < 1 or time.monotonic() - start > 5:
            return answers


@ON_SQLITE
def test_a_head_that_does_not_end_is_refused_after_ten_seconds(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 20) as client:
        slow_head(server, client)
        start = time.monotonic()
        assert b" 408 " in client.recv(1000)
        assert 9 < time.monotonic() - start < 10 + allowed(2)


@ON_SQLITE
@pytest.mark.parametrize(
    "head",
    [
        b"POST /item/AddItem HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10000000000\r\n\r\n",
        b"POST /item/AddItem HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 524288000\r\n\r\n",
        b"POST /scim/Users HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 524288000\r\n\r\n",
        b"POST /admin/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 83886080\r\n\r\n",
    ],
)
def test_a_body_that_says_it_is_too_large_is_refused_at_once(server: Server, head: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 5) as client:
        start = time.monotonic()
        client.sendall(head)
        assert client.recv(10_000).startswith(b"HTTP/1.1 413 ")
        assert time.monotonic() - start < allowed(1)


@ON_SQLITE
@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/admin/login/", FORM),
        ("/accounts/password/", "multipart/form-data; boundary=x"),
    ],
)
def test_a_large_form_without_a_session_is_refused_and_memory_stays_flat(
    server: Server, path: str, content_type: str
) -> None:
    before = server.memory()
    headers = {"Content-Type": content_type, "Cookie": "csrftoken=" + "A" * 32}
    answer = server.send("POST", path, b"a=" + b"x" * 80 * 1024 * 1024, headers)
    assert answer.status == 413, answer.body
    assert server.memory() - before < 16 * 1024 * 1024


@ON_SQLITE
@pytest.mark.parametrize("at_once", [False, True], ids=["one after another", "at once"])
def test_eight_kept_connections_are_shared_evenly_by_two_workers(server: Server, at_once: bool) -> None:
    for _ in range(10):
        wait_for(lambda: not any(connections_of(pid, server.port) for pid in server.workers()))
        clients = [http.client.HTTPConnection("127.0.0.1", server.port) for _ in range(8)]
        for client in clients:
            client.request("GET", "/healthz")
            if not at_once:
                client.getresponse().read()
        if at_once:
            for client in clients:
                client.getresponse().read()
        shares = sorted(connections_of(pid, server.port) for pid in server.workers())
        for client in clients:
            client.close()
        assert sum(shares) == 8
        assert shares[0] >= 3, shares


def connections_of(pid: int, port: int) -> int:
    """Return how many connections to the port a process has open, also those that the client has closed."""
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    sockets = {f"socket:[{row[9]}]" for row in rows if row[1].endswith(f":{port:04X}") and row[3] != LISTENS}
    count = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += str(descriptor.readlink()) in sockets
        except OSError:
            continue
    return count


class Load:
    """Clients that read without pause, on fresh and on kept connections, and note what goes wrong."""

    def __init__(self, server: Server, clients: int = 8) -> None:
        self.server = server
        self.stop = threading.Event()
        self.answers = 0
        self.faults: list[str] = []
        self.threads = [threading.Thread(target=self.ask, args=(number % 2 == 0,)) for number in range(clients)]

    def ask(self, fresh: bool) -> None:
        """Read until told to end."""
        client = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        while not self.stop.is_set():
            try:
                if client.sock is None:
                    client.connect()
            except ConnectionRefusedError:
                time.sleep(0.01)
                continue
            except OSError as error:
                self.faults.append(f"connect: {error!r}")
                continue
            try:
                client.request("GET", "/item/GetItemList?limit=2", headers=self.server.key)
                response = client.getresponse()
                response.read()
                if response.status != 200:
                    self.faults.append(str(response.status))
                self.answers += 1
                if fresh or response.will_close:
                    client.close()
            except (OSError, http.client.HTTPException) as error:
                self.faults.append(repr(error))
                client.close()
        client.close()

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()


@ON_SQLITE
def test_stopping_under_load_resets_no_connection(shared: Installation) -> None:
    for workers in ("1", "4"):
        with shared.server({"WEB_WORKERS": workers}) as server, Load(server) as load:
            time.sleep(1.5)
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(20) == 0
        assert load.answers > 20
        assert load.faults == []


@ON_SQLITE
def test_new_code_is_loaded_under_load_without_an_error(shared: Installation, tmp_path: Path) -> None:
    code = tmp_path / "code"
    shutil.copytree(ROOT, code, ignore=shutil.ignore_patterns(".*", "build", "docs", "tests", "var", "staticfiles"))
    module = code / "records" / "operations" / "middleware.py"
    with shared.server(code=code) as server:
        before = set(server.workers())
        assert server.read().headers["X-Api-Version"] == "1"
        with Load(server, 4) as load:
            time.sleep(1)
            module.write_text(module.read_text().replace('VERSION = "1"', 'VERSION = "2 in a test"'))
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: len(server.workers()) == 2 and not before & set(server.workers()), 60)
            answers = [server.get("/healthz") for _ in range(5)]
        assert {server.read().headers["X-Api-Version"] for _ in range(8)} == {"2 in a test"}
    assert load.faults == []
    assert {answer.status for answer in answers} == {200}
    assert max(answer.seconds for answer in answers) < allowed(1)
