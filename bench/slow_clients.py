"""A thousand slow clients in front of nginx and of Caddy: what everybody else notices, and what reaches the server.

Run by hand: `python -m bench.slow_clients [--clients 1000]`. Behind each proxy is a server that only answers. nginx is
configured as deploy/nginx does it, Caddy with the same limits. Half of the slow clients send the head of a request drop
by drop, half a body. Meanwhile one client reads on new connections. What the same clients do to Larder without a proxy
is measured by tests/faults. The result is in docs/decisions/0023-the-proxy.md.
"""

import argparse
import asyncio
import http.client
import os
import shutil
import socket
import ssl
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deploy.drill.services import ADDRESS, Proxy, Services, free_port, wait_for

DROP_SECONDS = 0.5
"""The time between two drops of a slow client."""
MEASURED_SECONDS = 8.0
_CADDYFILE = """
{{
    admin off
    auto_https off
    servers {{
        timeouts {{
            read_header 10s
            read_body 30s
        }}
    }}
}}
https://{address}:{port} {{
    tls {certificate} {key}
    encode gzip
    request_body {{
        max_size 40MB
    }}
    reverse_proxy {address}:{upstream} {{
        buffer_requests
        max_buffer_size 1MB
    }}
}}
"""


@dataclass
class Front:
    """A proxy that speaks TLS: its name, its port and its processes."""

    name: str
    port: int
    processes: list[int]

    def connect(self) -> socket.socket:
        """Return a new connection."""
        plain = socket.create_connection((ADDRESS, self.port), 20)
        context = ssl._create_unverified_context()  # noqa: S323 (a certificate that this measurement made)
        return context.wrap_socket(plain, server_hostname=ADDRESS)

    def memory(self) -> int:
        """Return the resident memory of the proxy's processes in bytes."""
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.processes]
        return sum(pages) * os.sysconf("SC_PAGESIZE")


class SlowClients:
    """Many clients that send one byte now and then."""

    def __init__(self, front: Front, count: int) -> None:
        self.front, self.count = front, count
        self.open: list[socket.socket] = []
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._drop, daemon=True)

    def __enter__(self) -> "SlowClients":
        head = f"POST /item/AddItem HTTP/1.1\r\nHost: {ADDRESS}\r\n".encode()
        for number in range(self.count):
            client = self.front.connect()
            client.sendall(head)
            if number % 2:
                client.sendall(b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{")
            self.open.append(client)
        self.thread.start()
        return self

    def _drop(self) -> None:
        while not self.stop.wait(DROP_SECONDS):
            for client in self.open:
                with suppress(OSError):
                    client.send(b"a")

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()
        for client in self.open:
            with suppress(OSError):
                client.close()


def read(front: Front) -> float:
    """Read once on a new connection and return the milliseconds; raises AssertionError unless it is answered."""
    start = time.perf_counter()
    client = http.client.HTTPConnection(ADDRESS, front.port, timeout=20)
    client.sock = front.connect()
    client.request("GET", "/")
    answer = client.getresponse()
    answer.read()
    client.close()
    assert answer.status == 200, answer.status
    return (time.perf_counter() - start) * 1000


async def serve(port: int) -> None:
    """Answer every request with two bytes, once its head and its body are complete."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        await reader.readexactly(int(line.partition(b":")[2]))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, ADDRESS, port)
    await server.serve_forever()


def connections_to(port: int) -> int:
    """Return how many connections to a port of this machine are open, seen from their clients."""
    address = f"0100007F:{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(1 for line in lines if line.split()[2] == address and line.split()[3] == "01")


def children(pid: int) -> list[int]:
    """Return a process and its children."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


@contextmanager
def fronts(services: Services, server: int) -> Iterator[list[Front]]:
    """Start each proxy that is installed in front of the server's port, and yield them."""
    proxy = Proxy(services)
    proxy.configure([server])
    proxy.start()
    running = [Front("nginx", proxy.port, children(services.running["nginx"].pid))]
    if shutil.which("caddy"):
        port, tls = free_port(), proxy.folder / "tls"
        file = services.folder / "Caddyfile"
        names = {"certificate": tls / "tls.crt", "key": tls / "tls.key"}
        file.write_text(_CADDYFILE.format(address=ADDRESS, port=port, upstream=server, **names))
        services.start("caddy", ["caddy", "run", "--adapter", "caddyfile", "--config", file], HOME=str(services.folder))
        wait_for("caddy", port)
        running.append(Front("Caddy", port, children(services.running["caddy"].pid)))
    yield running


def main() -> None:
    """Measure each proxy with and without slow clients, and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve(arguments.serve))
        return
    with tempfile.TemporaryDirectory(prefix="larder-slow-") as name:
        services, server = Services(Path(name)), free_port()
        services.start("server", [sys.executable, "-m", "bench.slow_clients", "--serve", str(server)])
        wait_for("server", server)
        try:
            with fronts(services, server) as running:
                heads = (
                    "Proxy",
                    "Slow clients",
                    "Read (ms, median)",
                    "Slowest",
                    "Server's connections",
                    "Memory (MiB)",
                )
                print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
                for front in running:
                    for clients in (0, arguments.clients):
                        print(f"| {' | '.join(map(str, measure(front, clients, server)))} |", flush=True)
        finally:
            services.end_all()


def measure(front: Front, clients: int, server: int) -> list[object]:
    """Return a row of the table."""
    with SlowClients(front, clients):
        times, ends = [], time.monotonic() + MEASURED_SECONDS
        while time.monotonic() < ends:
            times.append(read(front))
        open_connections = connections_to(server)
        memory = f"{front.memory() / 2**20:.0f}"
    return [front.name, clients, f"{statistics.median(times):.1f}", f"{max(times):.0f}", open_connections, memory]


if __name__ == "__main__":
    main()
