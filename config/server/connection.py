"""One connection: what it waits for, until when, and the bytes received and still to be sent."""

import enum
import socket
import time

from config.server import incoming
from config.server.heads import Head, environment_of
from config.server.limits import largest_body
from config.server.outgoing import Outlet, send_now
from config.server.threads import Task

HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
BYTES_A_SECOND = 64 * 1024
"""Each time this many bytes of a body or an answer have passed, the client gets one more second."""
LINGER_SECONDS = 10.0
"""How long data is read after a refusal, so that the client reads the answer instead of a connection reset."""
LINGER_BYTES = 128 * 1024 * 1024
PIECE = 256 * 1024
LONGEST_GUESS = 100
"""In how many bytes of a head that cannot be read its path is looked for; it decides the format of the refusal."""


class State(enum.Enum):
    """What a connection is waiting for."""

    READING = enum.auto()
    ANSWERING = enum.auto()
    SENDING = enum.auto()
    LINGERING = enum.auto()


class Connection:
    """A client's connection as the poller sees it."""

    def __init__(self, client: socket.socket, peer: object, server: object) -> None:
        client.setblocking(False)
        self.socket = client
        self.environ = environment_of(peer, server)
        self.sock = Outlet(client)
        self.state = State.READING
        self.buffer = bytearray()
        self.head: Head | None = None
        self.body: incoming.Body | None = None
        self.task: Task | None = None
        self.events = 0
        """The events for which the poller waits."""
        self.keep = False
        self.discarded_bytes = 0
        self.deadline = time.monotonic() + HEAD_SECONDS
        self.since = time.monotonic()

    @property
    def path(self) -> str:
        """Return the path of the request, of a head that cannot be read as far as it looks like one, or else `/`."""
        if self.head is not None:
            return self.head.path or "/"
        parts = bytes(self.buffer[:LONGEST_GUESS]).split(b" ", 2)
        is_path = len(parts) > 1 and parts[1].startswith(b"/")
        return parts[1].partition(b"?")[0].decode("latin-1") if is_path else "/"

    @property
    def languages(self) -> str:
        """Return the languages that the client prefers, as its request says it; empty if the head cannot be read."""
        return "" if self.head is None else str(self.head.environ.get("HTTP_ACCEPT_LANGUAGE", ""))

    @property
    def idle(self) -> bool:
        """Return whether nothing of a request has arrived."""
        return self.state is State.READING and not self.buffer and self.head is None

    def receive(self) -> bool:
        """Read what the client sent; False if it has closed. Raises OSError for a broken connection."""
        try:
            data = self.socket.recv(PIECE)
        except (BlockingIOError, InterruptedError):
            return True
        if self.idle and data:
            self.deadline = time.monotonic() + HEAD_SECONDS
        self.buffer += data
        return bool(data)

    def is_complete(self) -> bool:
        """Parse more of the received bytes; True if a whole request is there.

        Raises ParseException, BodyTooLargeError, or OSError if the body cannot be stored on the disk.
        """
        if self.head is None:
            head = self.head = incoming.read_head(self.buffer, self.environ)
            if head is None:
                return False
            self.body = incoming.body_of(head, largest_body(head.path, head.environ) if head.has_body else 0)
            self.deadline = time.monotonic() + BODY_SECONDS + self.body.remaining / BYTES_A_SECOND
            if head.expects_continue and not self.body.complete:
                send_now(self.socket, b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self.body
        if body is not None and not body.complete:
            before = body.size
            body.take(self.buffer)
            if isinstance(body, incoming.ChunkedBody):
                self.deadline += (body.size - before) / BYTES_A_SECOND
        return body is not None and body.complete

    def next_request(self, keep_alive: float) -> None:
        """Wait for the next request of a connection that is kept alive."""
        self.close_request()
        self.state = State.READING
        self.deadline = time.monotonic() + (HEAD_SECONDS if self.buffer else keep_alive)

    def wait_for_client(self) -> None:
        """Give the client enough time to receive the rest of the answer."""
        self.state = State.SENDING
        self.deadline = time.monotonic() + BODY_SECONDS + self.sock.remaining / BYTES_A_SECOND

    def linger(self) -> None:
        """Signal that nothing more will be sent, and wait for the client to close."""
        self.state = State.LINGERING
        self.close_request()
        self.buffer.clear()
        self.deadline = time.monotonic() + LINGER_SECONDS
        self.socket.shutdown(socket.SHUT_WR)

    def discard(self) -> bool:
        """Read and discard what a refused client still sends; False at its end."""
        try:
            size = len(self.socket.recv(PIECE))
        except (BlockingIOError, InterruptedError):
            return True
        self.discarded_bytes += size
        return size > 0 and self.discarded_bytes < LINGER_BYTES

    def close_request(self) -> None:
        """Discard the request and its body."""
        if self.body is not None:
            self.body.file.close()
        self.head = self.body = self.task = None

    def close(self) -> None:
        """Close everything that the connection has open."""
        self.close_request()
        self.sock.close()
        self.socket.close()
