"""The server's worker: what cannot be read as a request is answered in the interfaces' error shape (DECISIONS 6)."""

import logging
import socket
import uuid
from contextlib import suppress
from typing import Any

from gunicorn.http import errors
from gunicorn.workers.gthread import ThreadWorker

logger = logging.getLogger("larder.access")

_REFUSALS: dict[type[Exception], tuple[int, str, str, str]] = {
    errors.LimitRequestLine: (414, "URI Too Long", "UriTooLong", "The address is too long."),
    errors.LimitRequestHeaders: (
        431,
        "Request Header Fields Too Large",
        "HeadersTooLarge",
        "The headers are too large.",
    ),
    errors.ExpectationFailed: (417, "Expectation Failed", "ExpectationFailed", "Only 100-continue can be expected."),
    errors.UnsupportedTransferCoding: (501, "Not Implemented", "NotImplemented", "Only chunked coding is read."),
    errors.ForbiddenProxyRequest: (403, "Forbidden", "Forbidden", "This is not allowed."),
}
_UNREADABLE = (400, "Bad Request", "MalformedRequest", "The request cannot be understood.")
DRAINED = 1024 * 1024
DRAINING_SECONDS = 1.0


class Worker(ThreadWorker):
    """Serves by threads, and refuses what is no request in our words instead of the server's HTML."""

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Answer and log a request that could not be read; faults of other kinds are left to gunicorn.

        Its own log line would quote the faulty header, which may be the one with the credential.
        """
        ours = isinstance(exc, errors.ParseException) and not isinstance(
            exc, errors.ConfigurationProblem | errors.InvalidResponseHeader | errors.InvalidResponseHeaderName
        )
        if not ours:
            super().handle_error(req, client, addr, exc)
            return
        status, reason, code, message = next(
            (found for kind, found in _REFUSALS.items() if isinstance(exc, kind)), _UNREADABLE
        )
        request_id = str(uuid.uuid4())
        logger.info("unreadable", extra={"request_id": request_id, "operation": type(exc).__name__, "status": status})
        path = getattr(req or getattr(exc, "req", None), "path", None) or "/"
        with suppress(OSError):
            client.sendall(_answer(path, status, reason, code, message, request_id))
            _drain(client)


def _answer(path: str, status: int, reason: str, code: str, message: str, request_id: str) -> bytes:
    """Return the whole answer, in the shape of the path as far as that could be read."""
    # The server loads this module before Django is set up.
    from django.http import HttpRequest

    from records.operations.error_handlers import refuse
    from records.operations.middleware import VERSION

    request = HttpRequest()
    request.path = request.path_info = path
    request.request_id = request_id  # type: ignore[attr-defined]
    response = refuse(request, status, code, message)
    headers = {
        **response.headers,
        "Content-Length": str(len(response.content)),
        "Connection": "close",
        "X-Content-Type-Options": "nosniff",
        "X-Request-Id": request_id,
        "X-Api-Version": VERSION,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {reason}\r\n{head}\r\n".encode("latin-1", "replace") + response.content


def _drain(client: Any) -> None:
    """Read what still comes for a moment: closed before, the connection would be reset and the answer lost."""
    client.shutdown(socket.SHUT_WR)
    client.settimeout(DRAINING_SECONDS)
    left = DRAINED
    while left > 0 and (piece := client.recv(min(left, 65_536))):
        left -= len(piece)
