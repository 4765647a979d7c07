"""One POST to a receiver: to an address that was judged, without redirects, within 15 seconds, reading 1 kB at most."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from urllib.parse import SplitResult

from django.core.exceptions import ValidationError

from records.webhooks import destinations

CONNECT_SECONDS = 5.0
WHOLE_SECONDS = 15.0
"""How long an attempt takes at most, behind the resolving of the name."""
MOST_ADDRESSES = 3
LARGEST_ANSWER = 1024
LONGEST_WAIT = 24 * 60 * 60
TOO_SLOW = "There was no whole answer within 15 seconds."


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of an attempt: the answer's status and the beginning of its body, or why there is none."""

    status: int | None
    fault: str
    body: str = ""
    duration_ms: int = 0
    retry_after: int = 0
    """How many seconds the receiver asks to wait; 0 where it does not ask."""

    @property
    def is_success(self) -> bool:
        """Return whether the receiver took the message."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """Return whether the receiver asks to send nothing any more."""
        return self.status == http.HTTPStatus.GONE


def post(address: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send a message and return what came of it; raises nothing for what a receiver or the network does."""
    started = time.monotonic()
    try:
        status, text, wait = _exchange(address, body, headers)
        fault = "" if 200 <= status < 300 else _meaning(status)
    except (OSError, http.client.HTTPException, ValidationError, destinations.RefusedError, ValueError) as error:
        status, text, wait, fault = None, "", 0, _words(error, time.monotonic() - started)
    return Answer(status, fault[:255], text, round((time.monotonic() - started) * 1000), wait)


def _exchange(address: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, str, int]:
    parts = destinations.checked(address)
    with _connection(parts, destinations.resolved(parts)) as connection:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        given = {"Host": parts.netloc, "User-Agent": "Larder-Webhooks/1", "Content-Type": "application/json"}
        connection.request("POST", path, body, {**given, "Connection": "close", **headers})
        response = connection.getresponse()
        wait = response.headers.get("Retry-After", "").strip()
        text = b""
        # The status is known: whatever happens to the rest of the answer changes nothing.
        with suppress(OSError, http.client.HTTPException, ValueError):
            text = response.read(LARGEST_ANSWER)
        return response.status, _printable(text), min(int(wait), LONGEST_WAIT) if wait.isdecimal() else 0


@contextmanager
def _connection(parts: SplitResult, addresses: list[str]) -> Iterator[http.client.HTTPConnection]:
    """Open a connection to one of the judged addresses; TLS checks the certificate of the name. Ends it in time."""
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    plain = _connected(addresses[:MOST_ADDRESSES], port)
    # A second handle on the same connection: a slow receiver is cut off while the first one is being read.
    handle = plain.dup()
    timer = threading.Timer(WHOLE_SECONDS, _cut_off, (handle,))
    timer.daemon = True
    timer.start()
    connection = http.client.HTTPConnection(host, port)
    try:
        plain.settimeout(WHOLE_SECONDS)
        connection.sock = tls().wrap_socket(plain, server_hostname=host) if parts.scheme == "https" else plain
        yield connection
    finally:
        timer.cancel()
        connection.close()
        plain.close()
        handle.close()


def _connected(addresses: list[str], port: int) -> socket.socket:
    """Return a connection to the first of the addresses that takes one; no name is resolved any more."""
    problem: OSError = ConnectionError("The name has no address.")
    for address in addresses:
        plain = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        plain.settimeout(CONNECT_SECONDS)
        try:
            plain.connect((address, port))
        except OSError as error:
            plain.close()
            problem = error
        else:
            return plain
    raise problem


def _cut_off(handle: socket.socket) -> None:
    with suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)


@cache
def tls() -> ssl.SSLContext:
    """Return what certificates are checked with: the authorities that this machine trusts."""
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
