"""The head of a request, read strictly: what the server has to know of it, and the environment of WSGI (PEP 3333).

Whatever two servers could read differently is refused (RFC 9112), so that a proxy in front sees the same requests as
the application.
"""

import re
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from gunicorn.http import errors
from gunicorn.http.wsgi import FileWrapper

LONGEST_LINE = 8190
"""The maximum size, in bytes, of a request line: the URLs of lists can contain many ids, and SCIM filters are long."""
MOST_FIELDS = 100
LONGEST_FIELD = 16_380
"""The maximum size of a header with its name, in bytes."""

_LINE = re.compile(rb"([!$%&'*+.^_`|~0-9A-Z-]{3,20}) ([\x21-\x7e]+) HTTP/1\.([0-9])")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]++):([\t\x20-\x7e\x80-\xff]*+)")
_ONCE = frozenset({"HTTP_HOST", "CONTENT_TYPE", "CONTENT_LENGTH", "HTTP_TRANSFER_ENCODING"})
"""Headers of which a second one would make it unclear what is meant."""
_FIXED: dict[str, Any] = {
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "gunicorn",
    "wsgi.version": (1, 0),
    "wsgi.url_scheme": "http",
    "wsgi.errors": sys.stderr,
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
    "wsgi.file_wrapper": FileWrapper,
    "wsgi.input_terminated": True,
}


def environment_of(peer: Any, server: Any) -> dict[str, Any]:
    """Return what is the same for all requests of a connection; the addresses of a socket file are texts."""
    host, port = server[:2] if isinstance(server, tuple) else ("localhost", 80)
    found = {**_FIXED, "SERVER_NAME": host, "SERVER_PORT": str(port)}
    if isinstance(peer, tuple):
        return {**found, "REMOTE_ADDR": peer[0], "REMOTE_PORT": str(peer[1])}
    return {**found, "REMOTE_ADDR": ""}


class Head:
    """A request without its body."""

    __slots__ = (
        "environ",
        "expects_continue",
        "has_body",
        "is_chunked",
        "is_newer_than_1_0",
        "keeps_alive",
        "length",
        "method",
        "path",
    )

    def __init__(self, text: bytes, shared: Mapping[str, Any]) -> None:
        """Read a head without its last, empty line; `shared` is what `environment_of` returns.

        Raises ParseException of gunicorn.
        """
        first, *lines = text.split(b"\r\n")
        if len(first) > LONGEST_LINE:
            raise errors.LimitRequestLine(len(first), LONGEST_LINE)
        line = _LINE.fullmatch(first)
        if line is None:
            raise errors.InvalidRequestLine("")
        self.method, target, version = (part.decode() for part in line.groups())
        self.is_newer_than_1_0 = version != "0"
        self.path, query = self._split(target)
        self.environ: dict[str, Any] = {
            **shared,
            "REQUEST_METHOD": self.method,
            "RAW_URI": target,
            "PATH_INFO": unquote_to_bytes(self.path).decode("latin-1") if "%" in self.path else self.path,
            "QUERY_STRING": query,
            "SERVER_PROTOCOL": f"HTTP/1.{version}",
        }
        self._read_fields(lines)
        self._read_framing()

    def _split(self, target: str) -> tuple[str, str]:
        """Return the path and the query of a request's target."""
        if target.startswith("/"):
            path, _, query = target.partition("#")[0].partition("?")
            return path, query
        if target == "*" and self.method == "OPTIONS":
            return target, ""
        try:
            parts = urlsplit(target)
        except ValueError:
            parts = None
        if parts is None or "://" not in target:
            raise errors.InvalidRequestLine("")
        return parts.path, parts.query

    def _read_fields(self, lines: list[bytes]) -> None:
        if len(lines) > MOST_FIELDS:
            raise errors.LimitRequestHeaders("There are too many headers.")
        environ = self.environ
        for line in lines:
            if len(line) + 2 > LONGEST_FIELD:
                raise errors.LimitRequestHeaders("A header is too long.")
            field = _FIELD.fullmatch(line)
            if field is None:
                raise errors.InvalidHeader("")
            name, value = field[1].decode().upper(), field[2].decode("latin-1").strip(" \t")
            if "_" in name:
                continue  # In the environment it would be taken for the header that is spelt with hyphens.
            key = name.replace("-", "_")
            if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
                key = f"HTTP_{key}"
            if key not in environ:
                environ[key] = value
            elif key in _ONCE:
                raise errors.InvalidHeader(name)
            else:
                environ[key] += f",{value}"

    def _read_framing(self) -> None:
        """Read how long the body is and whether the connection is kept (RFC 9112, sections 6 and 9)."""
        environ = self.environ
        length, coding = environ.get("CONTENT_LENGTH"), environ.get("HTTP_TRANSFER_ENCODING")
        self.is_chunked = coding is not None
        if coding is not None:
            if coding.lower() != "chunked":
                raise errors.UnsupportedTransferCoding(coding)
            if length is not None or not self.is_newer_than_1_0:
                raise errors.InvalidHeader("TRANSFER-ENCODING")
        if length is not None and not (length.isascii() and length.isdigit() and len(length) <= 18):
            raise errors.InvalidHeader("CONTENT-LENGTH")
        self.length = int(length or 0)
        self.has_body = self.is_chunked or self.length > 0
        wishes = {wish.strip().lower() for wish in environ.get("HTTP_CONNECTION", "").split(",")}
        self.keeps_alive = "close" not in wishes and (self.is_newer_than_1_0 or "keep-alive" in wishes)
        expected = environ.get("HTTP_EXPECT")
        if expected is not None and expected.lower() != "100-continue":
            raise errors.ExpectationFailed(expected)
        self.expects_continue = expected is not None and self.is_newer_than_1_0
