"""How the application's answer becomes the bytes of a response (PEP 3333, RFC 9112)."""

import io
import re
import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from functools import lru_cache
from typing import IO, Any

from gunicorn.http.wsgi import FileWrapper

from config.server.heads import Head
from config.server.outgoing import MEMORY_LIMIT, Outlet

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_SENDABLE = re.compile(
    r"[1-5][0-9]{2} [\t\x20-\x7e\x80-\xff]*+\r\n"
    r"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]++: [\t\x20-\x7e\x80-\xff]*+\r\n)*+"
)
"""A status with its headers, each on a line."""
_OWN_HEADERS = frozenset(
    {"connection", "date", "keep-alive", "server", "te", "trailer", "trailers", "transfer-encoding", "upgrade"}
)
"""Headers about the connection, which the server alone sends."""


class Answer:
    """The answer to one request, sent as the application makes it."""

    def __init__(self, head: Head, outlet: Outlet, *, may_keep: bool) -> None:
        self.head, self.outlet = head, outlet
        self.keeps_alive = may_keep and head.keeps_alive
        self.is_begun = False
        """Whether some of it has been sent."""
        self._first = b""
        """The head of the response, which is sent together with the beginning of its body."""
        self._has_body = self._is_chunked = False
        self._remaining: int | None = None
        """How many bytes Content-Length still announces."""

    def by(self, application: Application, body: IO[bytes]) -> bool:
        """Let the application answer and send the answer; return whether the connection is kept.

        Raises OSError if the client has gone, and whatever the application raises.
        """
        self.head.environ["wsgi.input"] = body
        parts = application(self.head.environ, self.start)
        try:
            if not (isinstance(parts, FileWrapper) and self._send_file(parts.filelike)):
                for part in parts:
                    self.write(part)
            self._end()
        finally:
            if hasattr(parts, "close"):
                parts.close()
        return self.keeps_alive

    def start(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        """Take the status and the headers (`start_response`); raises ValueError for a header that cannot be sent."""
        if exc_info is not None and self.is_begun:
            raise exc_info[1].with_traceback(exc_info[2])
        code, lines, self._remaining = status[:3], [f"{status}\r\n"], None
        for name, value in headers:
            kind = name.lower()
            if kind == "content-length":
                self._remaining = int(value)
                if code == "204":
                    continue
            if kind not in _OWN_HEADERS:
                lines.append(f"{name}: {value}\r\n")
        self._has_body = self.head.method != "HEAD" and code not in ("204", "304")
        self._is_chunked = self._has_body and self._remaining is None and self.head.is_newer_than_1_0
        if self._has_body and self._remaining is None and not self._is_chunked:
            self.keeps_alive = False  # The end of the connection is the end of the body.
        text = "".join(lines)
        if not _SENDABLE.fullmatch(text) or text.count("\n") != len(lines):
            raise ValueError("A header contains a character that cannot be sent.")
        own_headers = "Transfer-Encoding: chunked\r\n" if self._is_chunked else ""
        own_headers += "Connection: keep-alive\r\n" if self.keeps_alive else "Connection: close\r\n"
        self._first = f"HTTP/1.1 {text}Server: gunicorn\r\nDate: {_date(int(time.time()))}\r\n{own_headers}\r\n".encode(
            "latin-1"
        )
        return self.write

    def write(self, part: bytes) -> None:
        """Send a part of the body; what goes beyond the Content-Length is left out."""
        if not self._has_body or not part:
            return
        if self._remaining is not None:
            part = part[: self._remaining]
            self._remaining -= len(part)
        self._send(b"%x\r\n%b\r\n" % (len(part), part) if self._is_chunked else part)

    def _send_file(self, file: IO[bytes]) -> bool:
        """Send a file of the disk from its place; return False if it is not one or its length is not known."""
        if not self._has_body:
            return True
        try:
            file.fileno()
            offset = file.tell()
        except (AttributeError, io.UnsupportedOperation):
            return False
        if self._remaining is None:
            return False
        self._send(b"")
        self.outlet.sendfile(file, offset, self._remaining)
        self._remaining = 0
        return True

    def _end(self) -> None:
        if self._has_body and self._remaining:
            self.keeps_alive = False  # The body is shorter than announced, so the client still waits for the rest.
        self._send(b"0\r\n\r\n" if self._is_chunked else b"")

    def _send(self, data: bytes) -> None:
        first, self._first, self.is_begun = self._first, b"", True
        if first and len(data) > MEMORY_LIMIT:
            self.outlet.sendall(first)
            first = b""
        if first or data:
            self.outlet.sendall(first + data)


@lru_cache(maxsize=2)
def _date(second: int) -> str:
    """Return the time as the header Date has it."""
    return formatdate(second, usegmt=True)
