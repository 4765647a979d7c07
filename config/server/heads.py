"""The head of a request, read strictly: what the server has to know of it, and the environment of WSGI (PEP 3333).

httptools parses it. Whatever two servers could read differently is refused (RFC 9112), so that a proxy in front sees
the same requests as the application.
"""

import re
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from gunicorn.http import errors
from gunicorn.http.wsgi import FileWrapper
from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

LONGEST_LINE = 8190
"""The maximum size, in bytes, of a request line: the URLs of lists can contain many ids, and SCIM filters are long."""
MOST_FIELDS = 100
LONGEST_FIELD = 16_380
"""The maximum size of a header with its name, in bytes."""

_METHOD = re.compile(rb"[A-Z][A-Z0-9-]{2,19}")
_ONCE = frozenset({"HTTP_HOST", "CONTENT_TYPE", "HTTP_TRANSFER_ENCODING"})
"""Headers of which a second one would make it unclear what is meant; httptools refuses a second Content-Length."""
_CONSTANT_ENVIRON: dict[str, object] = {
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


def environment_of(peer: object, server: object) -> dict[str, object]:
    """Return what is the same for all requests of a connection; the addresses of a socket file are texts."""
    host, port = server[:2] if isinstance(server, tuple) else ("localhost", 80)
    environ = {**_CONSTANT_ENVIRON, "SERVER_NAME": host, "SERVER_PORT": str(port)}
    if isinstance(peer, tuple):
        return {**environ, "REMOTE_ADDR": peer[0], "REMOTE_PORT": str(peer[1])}
    return {**environ, "REMOTE_ADDR": ""}


class _Parts:
    """Collects what httptools finds in a head."""

    __slots__ = ("fields", "is_complete", "target")

    def __init__(self) -> None:
        self.target = b""
        self.fields: list[tuple[bytes, bytes]] = []
        self.is_complete = False

    def on_url(self, part: bytes) -> None:
        """Take the target of the request."""
        self.target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self.fields.append((name, value))

    def on_headers_complete(self) -> None:
        """Take note that the head has ended as it should."""
        self.is_complete = True


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

    def __init__(self, text: bytes, shared: Mapping[str, object]) -> None:
        """Read a head with its last, empty line; `shared` is what `environment_of` returns.

        Raises ParseException of gunicorn.
        """
        first = text[: text.find(b"\r\n")]
        if len(first) > LONGEST_LINE:
            raise errors.LimitRequestLine(len(first), LONGEST_LINE)
        method = first.partition(b" ")[0]
        if not _METHOD.fullmatch(method):
            raise errors.InvalidRequestMethod("")
        parts = _Parts()
        parser = HttpRequestParser(parts)
        try:
            # httptools knows some methods only; which of them an address has is decided there.
            parser.feed_data(b"POST" + text[len(method) :])
        except HttpParserUpgrade:
            pass  # Nothing here is upgraded; the request is answered as it is.
        except HttpParserError as error:
            raise errors.ParseException("httptools refuses the head.") from error
        version = parser.get_http_version()
        # httptools also reads other versions and protocols, and several blanks between the parts of the line.
        if not parts.is_complete or first != b"%b %b HTTP/1.%b" % (method, parts.target, version[-1:].encode()):
            raise errors.InvalidRequestLine("")
        self.method, target = method.decode(), parts.target.decode()
        self.is_newer_than_1_0 = version != "1.0"
        self.path, query, host = self._split(target)
        self.environ: dict[str, Any] = {
            **shared,
            "REQUEST_METHOD": self.method,
            "RAW_URI": target,
            "PATH_INFO": unquote_to_bytes(self.path).decode("latin-1") if "%" in self.path else self.path,
            "QUERY_STRING": query,
            "SERVER_PROTOCOL": f"HTTP/{version}",
        }
        self._take(parts.fields)
        if host:
            self.environ["HTTP_HOST"] = host
        self._read_framing()

    def _split(self, target: str) -> tuple[str, str, str]:
        """Return the path and the query of a request's target, and the host if the target names one (RFC 9112, 3.2).

        Raises ParseException for a target that is neither a path nor a whole address of this scheme.
        """
        if target.startswith("/"):
            path, _, query = target.partition("#")[0].partition("?")
            return path, query, ""
        if target == "*" and self.method == "OPTIONS":
            return target, "", ""
        try:
            parts = urlsplit(target)
        except ValueError:
            parts = None
        if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
            raise errors.InvalidRequestLine("")
        return parts.path or "/", parts.query, parts.netloc

    def _take(self, fields: list[tuple[bytes, bytes]]) -> None:
        if len(fields) > MOST_FIELDS:
            raise errors.LimitRequestHeaders("There are too many headers.")
        environ = self.environ
        for raw_name, content in fields:
            if len(raw_name) + len(content) + 4 > LONGEST_FIELD:
                raise errors.LimitRequestHeaders("A header is too long.")
            name, value = raw_name.decode().upper(), content.decode("latin-1").strip(" \t")
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
        if self.is_newer_than_1_0 and "HTTP_HOST" not in environ:
            raise errors.InvalidHeader("HOST")

    def _read_framing(self) -> None:
        """Read how long the body is and whether the connection is kept (RFC 9112, sections 6 and 9)."""
        environ = self.environ
        coding = environ.get("HTTP_TRANSFER_ENCODING")
        self.is_chunked = coding is not None
        if coding is not None:
            if coding.lower() != "chunked":
                raise errors.UnsupportedTransferCoding(coding)
            if not self.is_newer_than_1_0:
                raise errors.InvalidHeader("TRANSFER-ENCODING")
        self.length = int(environ.get("CONTENT_LENGTH", "0").lstrip("0") or 0)
        self.has_body = self.is_chunked or self.length > 0
        options = {option.strip().lower() for option in environ.get("HTTP_CONNECTION", "").split(",")}
        self.keeps_alive = "close" not in options and (self.is_newer_than_1_0 or "keep-alive" in options)
        expectation = environ.get("HTTP_EXPECT")
        if expectation is not None and expectation.lower() != "100-continue":
            raise errors.ExpectationFailed(expectation)
        self.expects_continue = expectation is not None and self.is_newer_than_1_0
