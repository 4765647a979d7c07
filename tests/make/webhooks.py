"""Plain functions that make webhooks for tests, and a receiver that answers as it is told."""

import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from records.sites.models import Site
from records.webhooks import actions, signing
from records.webhooks.models import Subscription
from tests import make


def make_webhook(site: Site, address: str, entities: list[str] | None = None, name: str = "Warehouse") -> Subscription:
    """Make a subscription of the site."""
    values = {"name": name, "address": address, "entities": entities or []}
    return actions.add_subscription(site.pk, values, author=make.SYSTEM)


def secret_of(webhook: Subscription) -> str:
    """Return the present secret."""
    webhook.refresh_from_db()
    return signing.decrypt(webhook.secret)


@dataclass
class Message:
    """One request that a receiver got."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A server on this machine that keeps what it gets, and answers what `answer` says."""

    address: str = ""
    got: list[Message] = field(default_factory=list)
    status: int = 204
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    before_answer: Callable[[], Any] = lambda: None
    connections: int = 0
    closes_silently: bool = False
    """Whether it closes the connection behind each answer without saying so."""

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the changes, in the order in which they came."""
        import orjson

        return [orjson.loads(message.body)["data"]["Number"] for message in self.got]


@contextmanager
def receiving(tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Run a receiver for the block, which speaks https with a context for it."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            receiver.connections += 1
            super().setup()

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Message(self.path, headers, content))
            receiver.before_answer()
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)
            self.close_connection = self.close_connection or receiver.closes_silently

        def log_message(self, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: Any) -> None:
            """Say nothing: some callers cut the connection off, or refuse the certificate."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.address = f"http://127.0.0.1:{server.server_port}/larder?from=test"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate for a name, signed by itself."""
    key, file = folder / "key.pem", folder / "certificate.pem"
    kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    command = ["openssl", *kind, *subject, "-keyout", str(key), "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return key, file
