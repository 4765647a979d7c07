"""Plain functions that make webhooks for tests, and a receiver that answers as it is told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
    return signing.opened(webhook.secret)


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

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the changes, in the order in which they came."""
        import orjson

        return [orjson.loads(message.body)["data"]["Number"] for message in self.got]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver for the block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
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

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.address = f"http://127.0.0.1:{server.server_port}/larder?from=test"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
