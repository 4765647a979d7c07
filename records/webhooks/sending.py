"""POST messages to a receiver.

`destinations` has checked the address, redirects are not followed, and at most 1 kB of an answer is read.
The connection is kept from one message to the next, so that many messages need only one TLS handshake.
"""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from urllib.parse import SplitResult

from django.core.exceptions import ValidationError

from records.webhooks import destinations

CONNECT_SECONDS = 5.0
WHOLE_SECONDS = 15.0
"""The maximum time of an attempt, from the lookup of the host name to the end of the answer."""
MOST_ADDRESSES = 3
LARGEST_ANSWER = 1024
LONGEST_WAIT = 24 * 60 * 60
TOO_SLOW = "There was no whole answer within 15 seconds."


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of an attempt: the answer's status and the beginning of its body, or why there is no answer."""

    status: int | None
    fault: str
    body: str = ""
    duration_ms: int = 0
    retry_after: int = 0
    """The number of seconds that the receiver asks us to wait; 0 if it does not ask."""

    @property
    def is_success(self) -> bool:
        """Return whether the receiver accepted the message."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """Return whether the receiver asks for no more messages."""
        return self.status == http.HTTPStatus.GONE


class Connection:
    """A connection to a receiver that is kept between messages, until somebody closes it.

    The host name is resolved and checked once for each connection, and all messages go to that one network address. A
    new connection is opened for another address, and after the receiver has closed the old one.
    """

    def __init__(self) -> None:
        self._connection: http.client.HTTPConnection | None = None
        self._handle: socket.socket | None = None
        self._place = ""

    def close(self) -> None:
        """Close the connection, if there is one."""
        for one in (self._connection, self._handle):
            if one is not None:
                one.close()
        self._connection = self._handle = None

    def post(self, address: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send a message and return the outcome; faults of the receiver or the network raise no exception."""
        start = time.monotonic()
        try:
            parts = destinations.checked_parts(address)
            status, text, wait = self._exchange(parts, body, headers, start + WHOLE_SECONDS)
            fault = "" if 200 <= status < 300 else _meaning(status)
        except (OSError, http.client.HTTPException, ValidationError, destinations.RefusedError, ValueError) as error:
            self.close()
            status, text, wait, fault = None, "", 0, _words(error, time.monotonic() - start)
        return Answer(status, fault[:255], text, round((time.monotonic() - start) * 1000), wait)

    def _exchange(
        self, parts: SplitResult, body: bytes, headers: Mapping[str, str], until: float
    ) -> tuple[int, str, int]:
        """Send on the present connection, or on a new one if the receiver has closed it meanwhile."""
        place = f"{parts.scheme}://{parts.netloc}"
        if place == self._place and self._connection is not None:
            try:
                return self._send(self._connection, parts, body, headers, until)
            except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
                # The receiver may get the message twice, under the same id. After the time limit it is not sent again.
                if time.monotonic() >= until:
                    raise
        self.close()
        connection, self._place = self._open(parts, until), place
        return self._send(connection, parts, body, headers, until)

    def _open(self, parts: SplitResult, until: float) -> http.client.HTTPConnection:
        """Open a connection to one of the checked addresses; TLS verifies the certificate of the host name."""
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        tcp_socket = _connect(destinations.resolve(parts)[:MOST_ADDRESSES], port, until)
        # A second handle on the same connection, to cut off a slow receiver while the first one is being read.
        self._handle = tcp_socket.dup()
        self._connection = connection = http.client.HTTPConnection(host, port)
        # Otherwise the library would reconnect and look the name up again, which could lead to a forbidden address.
        connection.auto_open = 0
        connection.sock = tcp_socket
        if parts.scheme == "https":
            timer = self._timer(until)
            try:
                tcp_socket.settimeout(_seconds_left(until))
                connection.sock = tls().wrap_socket(tcp_socket, server_hostname=host)
            finally:
                timer.cancel()
        return connection

    def _send(
        self,
        connection: http.client.HTTPConnection,
        parts: SplitResult,
        body: bytes,
        headers: Mapping[str, str],
        until: float,
    ) -> tuple[int, str, int]:
        """Send one request; return the answer's status, the beginning of its body, and how long it asks us to wait."""
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        own_headers = {"Host": parts.netloc, "User-Agent": "Larder-Webhooks/1", "Content-Type": "application/json"}
        timer = self._timer(until)
        try:
            connection.sock.settimeout(_seconds_left(until))
            connection.request("POST", path, body, {**own_headers, **headers})
            response = connection.getresponse()
            wait = response.headers.get("Retry-After", "").strip()
            text = b""
            # The status is known: whatever happens to the rest of the answer changes nothing.
            with suppress(OSError, http.client.HTTPException, ValueError):
                text = response.read(LARGEST_ANSWER)
        finally:
            timer.cancel()
        if not response.isclosed() or response.will_close:
            # The bytes that were not read would be taken for the next answer.
            self.close()
        # The digits end somewhere: Python refuses to read thousands of them.
        return response.status, _printable(text), min(int(wait[:20]), LONGEST_WAIT) if wait.isdecimal() else 0

    def _timer(self, until: float) -> threading.Timer:
        """Start a timer that cuts the connection off at a moment; cancel it when there is an answer."""
        timer = threading.Timer(max(until - time.monotonic(), 0), _cut_off, (self._handle,))
        timer.daemon = True
        timer.start()
        return timer


def _seconds_left(until: float) -> float:
    """Return how many seconds are left; raises TimeoutError if none are."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _connect(addresses: list[str], port: int, until: float) -> socket.socket:
    """Return a connection to the first of the addresses that accepts one; the host name is not resolved again."""
    problem: OSError = ConnectionError("The name has no address.")
    for address in addresses:
        tcp_socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            tcp_socket.settimeout(min(CONNECT_SECONDS, _seconds_left(until)))
            tcp_socket.connect((address, port))
        except OSError as error:
            tcp_socket.close()
            problem = error
        else:
            return tcp_socket
    raise problem


def _cut_off(handle: socket.socket) -> None:
    with suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)


@cache
def tls() -> ssl.SSLContext:
    """Return the TLS settings, which verify certificates with the authorities that this machine trusts."""
    return ssl.create_default_context()


def _words(error: Exception, seconds: float) -> str:
    """Return in plain words why there is no answer."""
    if isinstance(error, ValidationError):
        return " ".join(error.messages)
    if isinstance(error, destinations.RefusedError):
        return str(error)
    if isinstance(error, socket.gaierror):
        return "The name of the address could not be resolved."
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The certificate is not valid for this address: {error.verify_message}."
    if isinstance(error, TimeoutError) or seconds >= WHOLE_SECONDS:
        return "No connection could be made in time." if seconds < WHOLE_SECONDS else TOO_SLOW
    if isinstance(error, ssl.SSLError):
        return "No secure connection (TLS) could be agreed on."
    if isinstance(error, ConnectionRefusedError):
        return "The connection was refused: nothing listens there."
    if isinstance(error, http.client.HTTPException | ConnectionError):
        return "The receiver closed the connection without an answer that can be read."
    return f"No connection could be made ({type(error).__name__})."


def _meaning(status: int) -> str:
    if 300 <= status < 400:
        return f"The receiver answered {status}; redirects are not followed. Enter the final address."
    try:
        return f"The receiver answered {status} {http.HTTPStatus(status).phrase}."
    except ValueError:
        return f"The receiver answered {status}."


def _printable(content: bytes) -> str:
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    return "".join(character if character.isprintable() or character in "\n\t" else "�" for character in text)
