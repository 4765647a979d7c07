"""Servers, load and the table of the measurements."""

import gc
import importlib.util
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
SECONDS = float(os.environ.get("BENCH_SECONDS", "1"))
"""How long one turn of load takes."""
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
WARM = 0.3

Body = bytes | Callable[[int], bytes]


# --- The table -------------------------------------------------------------------------------------------------------


@dataclass
class Table:
    """The measured rows, printed as they come and written as Markdown at the end."""

    rows: list[tuple[str, ...]] = field(default_factory=list)

    HEAD = ("Work", "Larder", "Compared with", "Ratio", "Spread", "Aim", "Load")

    def add(self, work: str, product: str, other: str, ratios: list[float], aim: str) -> None:
        """Add a row; `ratios` are ours by the other's, one a round. The load is the machine's in the last minute."""
        ratio = f"{statistics.median(ratios):.2f}" if ratios else "-"
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-"
        self.rows.append((work, product, other, ratio, spread, aim, f"{os.getloadavg()[0]:.1f}"))
        print(" | ".join(self.rows[-1]), flush=True)

    def rates(self, work: str, rounds: list[tuple[float, float]], other: str, aim: str) -> None:
        """Add a row of requests a second: a higher ratio is better."""
        product, peer = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratios = [mine / its for mine, its in rounds]
        self.add(work, f"{product:.0f}/s", f"{other}: {peer:.0f}/s", ratios, aim)

    def times(self, work: str, rounds: list[tuple[float, float]], other: str, aim: str) -> None:
        """Add a row of milliseconds: a lower ratio is better."""
        product, peer = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratios = [mine / its for mine, its in rounds]
        self.add(work, f"{product:.1f} ms", f"{other}: {peer:.1f} ms", ratios, aim)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.HEAD, ("---",) * len(self.HEAD), *self.rows]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


# --- Servers ---------------------------------------------------------------------------------------------------------


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(module: str, *, is_at_rest: bool = True, **environment: str) -> Iterator[str]:
    """Serve a WSGI module by gunicorn as it is configured for the product or for the floor, and yield its address.

    It is at rest when its workers have loaded what they load in the background after the start.
    """
    folder = module.partition(".")[0]
    with _server([sys.executable, "-m", "gunicorn", module, "-c", f"{folder}/gunicorn.py"], environment) as base:
        if is_at_rest:
            _await_rest()
        yield base


def has_peer(*packages: str) -> bool:
    """Return whether the packages of a peer and uvicorn are installed; says so if they are not."""
    if all(importlib.util.find_spec(name) for name in ("fastapi", "uvicorn", *packages)):
        return True
    print(
        f"FastAPI + {' + '.join(packages)} is not installed: python -m pip install -r bench/requirements.txt",
        flush=True,
    )
    return False


@contextmanager
def serving_asgi(module: str, **environment: str) -> Iterator[str]:
    """Serve an ASGI module by uvicorn with two processes and yield its address."""
    command = [sys.executable, "-m", "uvicorn", module, "--workers", "2", "--no-access-log", "--port"]
    with _server(command, environment, port_last=True) as base:
        yield base


@contextmanager
def _server(command: list[str], environment: dict[str, str], *, port_last: bool = False) -> Iterator[str]:
    port = free_port()
    limits = {"RATE_LIMIT": "100000000", "SCIM_RATE_LIMIT": "100000000", "LOG_LEVEL": "warning"}
    env = os.environ | {"PORT": str(port), **limits, **environment}
    command = [*command, str(port)] if port_last else command
    server = subprocess.Popen(command, cwd=ROOT, env=env, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        _await(port, server)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


def _await(port: int, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(1200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None:
            break
        time.sleep(0.05)
    raise TimeoutError("The server did not start.")


def _await_rest() -> None:
    """Wait until no process that serves works any more."""
    spent = -1.0
    for _ in range(120):
        before, spent = spent, sum(processor_time(pid) for pid in workers())
        if spent == before:
            return
        time.sleep(0.5)
    raise TimeoutError("The server did not come to rest.")


def start_to_answer(module: str, path: str, **environment: str) -> float:
    """Return the seconds from the start of a server with one worker to its first good answer."""
    start = time.perf_counter()
    with serving(module, is_at_rest=False, WEB_WORKERS="1", **environment) as base:
        for _ in range(1200):
            try:
                if get(f"{base}{path}")[0] < 500:
                    return time.perf_counter() - start
            except OSError:
                time.sleep(0.02)
    raise TimeoutError("The server did not answer.")


def workers() -> list[int]:
    """Return the processes that serve: children of a gunicorn that this run started."""
    return [pid for parent in _children(os.getpid()) for pid in _children(parent)]


def _children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in threads for child in file.read_text().split()]


def processor_time(pid: int) -> float:
    """Return the seconds for which the process has run."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def get(url: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    """Fetch a URL once."""
    request = urllib.request.Request(url, headers=headers or {})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status, answer.read()


def prepare_demo(**environment: str) -> dict[str, Any]:
    """Migrate and fill the measured database, and return the demo's credentials."""
    manage, env = [sys.executable, "manage.py"], os.environ | environment
    subprocess.run([*manage, "migrate", "-v0"], cwd=ROOT, check=True, env=env)
    printed = subprocess.run([*manage, "demo", "--json"], cwd=ROOT, check=True, capture_output=True, text=True, env=env)
    demo: dict[str, Any] = json.loads(printed.stdout)
    return demo


# --- Load ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Load:
    """What a turn of load reached."""

    rate: float
    """Answers a second."""
    p99: float
    """Milliseconds within which 99 of 100 requests were answered."""


class _Line:
    """One kept connection that sends its next request as soon as the last is answered."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""
        self.sent_at = 0.0

    def send(self, request: bytes) -> None:
        self.data, self.sent_at = b"", time.perf_counter()
        self.socket.sendall(request)

    def is_answered(self) -> bool:
        """Read what has come and return whether the answer is complete; raises AssertionError for a refusal."""
        piece = self.socket.recv(1 << 20)
        assert piece, "The server closed the connection."
        self.data += piece
        head, end, body = self.data.partition(b"\r\n\r\n")
        if not end:
            return False
        assert head[9:10] == b"2", self.data[:500]
        length = next((line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b"0")
        return len(body) >= int(length)


def load(
    url: str,
    headers: dict[str, str] | None = None,
    *,
    connections: int = 8,
    seconds: float = SECONDS,
    method: str = "GET",
    body: Body = b"",
) -> Load:
    """Load a URL of the loopback over kept connections; fails on any refusal. A body may differ by request."""
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    head = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    if body:
        head += "Content-Type: application/json\r\n"
    start = f"{method} {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n{head}".encode()
    count = 0

    def request() -> bytes:
        nonlocal count
        count += 1
        content = body(count) if callable(body) else body
        return start + (b"Content-Length: %d\r\n\r\n" % len(content) if content else b"\r\n") + content

    waiting = selectors.DefaultSelector()
    for _ in range(connections):
        line = _Line((parts.hostname or "", parts.port or 80))
        waiting.register(line.socket, selectors.EVENT_READ, line)
        line.send(request())
    times: list[float] = []
    answers, warm_until = 0, time.perf_counter() + WARM
    ends = float("inf")
    while waiting.get_map():
        for key, _ in waiting.select(60):
            line = key.data
            if not line.is_answered():
                continue
            moment = time.perf_counter()
            answers += 1
            if moment < ends < float("inf"):
                times.append((moment - line.sent_at) * 1000)
            elif answers >= 2 * connections and moment >= warm_until and ends == float("inf"):
                ends = moment + seconds
            if moment < ends:
                line.send(request())
            else:
                waiting.unregister(line.socket)
                line.socket.close()
    assert times, "Nothing was answered in time."
    return Load(len(times) / seconds, sorted(times)[int(len(times) * 0.99)])


def rate(
    url: str,
    headers: dict[str, str] | None = None,
    *,
    connections: int = 8,
    method: str = "GET",
    body: Body = b"",
) -> Callable[[], float]:
    """Return a function that loads a URL and returns the answers a second."""
    return lambda: load(url, headers, connections=connections, method=method, body=body).rate


def pace(url: str, headers: dict[str, str] | None = None) -> Callable[[], float]:
    """Return a function that loads a URL and returns the milliseconds from one answer to the next."""
    measure = rate(url, headers)
    return lambda: 1000 / measure()


def compare(product: Callable[[], float], peer: Callable[[], float], rounds: int = ROUNDS) -> list[tuple[float, float]]:
    """Run both in turn, each round in the other order, and return the figures of each round."""
    figures = []
    for number in range(rounds):
        if number % 2:
            its = peer()
            figures.append((product(), its))
        else:
            figures.append((product(), peer()))
    return figures


def timer(act: Callable[[int], Any], turns: int = 5, *, first: int = 1) -> Callable[[], float]:
    """Return a function that acts so many times, and returns the median in ms.

    The `first` acts do not count. The garbage collector then leaves alone what is loaded, as it does in the server.
    """
    number = iter(range(10**9))
    for _ in range(first):
        act(next(number))
    gc.freeze()

    def measure() -> float:
        times = []
        for _ in range(turns):
            this = next(number)
            start = time.perf_counter()
            act(this)
            times.append((time.perf_counter() - start) * 1000)
        return statistics.median(times)

    return measure
