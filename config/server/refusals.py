"""Errors that the server answers before the application sees the request, in the interfaces' format (DECISIONS 6)."""

import logging
import uuid
from typing import NamedTuple

from gunicorn.http import errors

from config.server.incoming import BodyTooLargeError

logger = logging.getLogger("larder.access")


class Refusal(NamedTuple):
    """A status with its reason phrase, the code and message of the error body, and seconds until the next attempt."""

    status: int
    reason: str
    code: str
    message: str
    retry_after: int = 0


_REFUSALS: dict[type[Exception], Refusal] = {
    errors.LimitRequestLine: Refusal(414, "URI Too Long", "UriTooLong", "The address is too long."),
    errors.LimitRequestHeaders: Refusal(
        431, "Request Header Fields Too Large", "HeadersTooLarge", "The headers are too large."
    ),
    errors.ExpectationFailed: Refusal(
        417, "Expectation Failed", "ExpectationFailed", "Only 100-continue can be expected."
    ),
    errors.UnsupportedTransferCoding: Refusal(
        501, "Not Implemented", "NotImplemented", "Only chunked transfer coding is supported."
    ),
    errors.ForbiddenProxyRequest: Refusal(403, "Forbidden", "Forbidden", "This is not allowed."),
}
_UNREADABLE = Refusal(400, "Bad Request", "MalformedRequest", "The request cannot be understood.")
UNREADABLE: tuple[type[Exception], ...] = (errors.ParseException,)
"""Errors that mean that the received bytes are not a valid request."""
TOO_SLOW = Refusal(408, "Request Timeout", "RequestTimeout", "The request did not arrive in time.")
TOO_BUSY = Refusal(503, "Service Unavailable", "Unavailable", "The server is too busy. Try again.", retry_after=5)
NO_SPACE = Refusal(
    503, "Service Unavailable", "Unavailable", "The server has no space for the body. Try again later.", retry_after=30
)
FAULT = Refusal(
    500, "Internal Server Error", "InternalError", "Something went wrong on our side. Quote the request id."
)


def refusal_of(error: Exception) -> Refusal:
    """Return the refusal for an error that occurred while a request was read."""
    if isinstance(error, BodyTooLargeError):
        size = f"{error.limit / 1024**2:.1f}".removesuffix(".0")
        return Refusal(413, "Content Too Large", "PayloadTooLarge", f"The body is larger than {size} MiB.")
    if isinstance(error, OSError):
        return NO_SPACE
    return next((refusal for kind, refusal in _REFUSALS.items() if isinstance(error, kind)), _UNREADABLE)


def answer(path: str, refusal: Refusal, languages: str = "") -> bytes:
    """Return the whole answer, in the format of the path, and log it; a page is in one of the preferred languages.

    The log line does not quote the request, since the faulty header may be the one with the credential.
    """
    # The server loads this module before Django is set up.
    from django.http import HttpRequest
    from django.utils import translation

    from records.operations.error_handlers import refuse
    from records.operations.middleware import HARDENING, VERSION

    request_id = str(uuid.uuid4())
    extra = {"request_id": request_id, "operation": refusal.code, "status": refusal.status}
    logger.info("refused", extra=extra)
    request = HttpRequest()
    request.path = request.path_info = path
    request.request_id = request_id  # type: ignore[attr-defined]
    request.META["HTTP_ACCEPT_LANGUAGE"] = languages
    with translation.override(translation.get_language_from_request(request)):
        response = refuse(request, refusal.status, refusal.code, refusal.message)
    headers = {
        **HARDENING,
        **response.headers,
        "Content-Length": str(len(response.content)),
        "Connection": "close",
        "X-Request-Id": request_id,
        "X-Api-Version": VERSION,
        **({"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {refusal.status} {refusal.reason}\r\n{head}\r\n".encode("latin-1", "replace") + response.content
