"""What happens to every request, of an interface or a page: its id, the check of its Host, its log line.

A request to an interface then goes straight to its view.
"""

import logging
import random
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse

from records.accounts.security import REQUEST_ADDRESS
from records.history.english import in_english
from records.history.origin import Origin, working_for
from records.operations import error_handlers
from records.operations.calls import buffer as recent_calls
from records.operations.own_headers import pairs, put
from records.operations.paths import first_part, is_interface, view_at

access = logging.getLogger("larder.access")
VERSION = "1"
HARDENING = {
    "X-Content-Type-Options": "nosniff",
    # A response to a program is not a page: if a browser opens it, it loads nothing and cannot be framed.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers of every response of an interface that does not set them itself."""

_TRACE_HEADERS = {"traceparent": "HTTP_TRACEPARENT", "tracestate": "HTTP_TRACESTATE"}
"""The headers by which a caller continues its trace here (W3C Trace Context)."""

Handler = Callable[[HttpRequest], HttpResponse]


class RequestMiddleware:
    """Gives the request its id, refuses an unknown Host, and logs caller, operation, status and duration.

    Paths of the interfaces are answered here, without the middleware for browsers, which does not apply to them. The
    server answers them even before Django's own handler (`config/wsgi.py`), through the same function.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        return answer_interface(request) if is_interface(request.path_info) else answer(request, self.get_response)


class InterfaceHandler(WSGIHandler):
    """Django's WSGI handler without middleware, for the paths of the interfaces."""

    def load_middleware(self, is_async: bool = False) -> None:
        """Route requests straight to `answer_interface`."""
        self._middleware_chain = answer_interface

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Answer a request (PEP 3333).

        Django's own handler sends two signals, whose receivers take a tenth of a read's time. Of all that they do, a
        program's request needs one thing: what it left open in the database is closed. The answers of interfaces set no
        cookie and contain no address of a page. All but files are whole; a file is sent from its place or in
        pieces, and the server closes it and the request when it was sent or interrupted.
        """
        try:
            request = self.request_class(environ)
            response: Any = self.get_response(request)
            start_response(f"{response.status_code} {response.reason_phrase}", pairs(response))
            if response.streaming:
                file, wrap = getattr(response, "file_to_stream", None), environ.get("wsgi.file_wrapper")
                if file is None or wrap is None:
                    return response
                file.close = response.close
                return wrap(file, response.block_size)
            request.close()
            return [response.content]
        finally:
            close_old_connections()


def answer_interface(request: HttpRequest) -> HttpResponse:
    """Answer a request to an interface: from the path to the view, without any middleware."""
    with in_english():
        response = answer(request, _answer_of_path)
    if response.status_code in (204, 304):
        # There is no body whose media type could be named; the framework would name that of a page.
        response.headers.pop("Content-Type", None)
    put(response, HARDENING, unless_set=True)
    if settings.SECURE_HSTS_SECONDS:
        scope = "; includeSubDomains" if settings.SECURE_HSTS_INCLUDE_SUBDOMAINS else ""
        response.headers.setdefault("Strict-Transport-Security", f"max-age={settings.SECURE_HSTS_SECONDS}{scope}")
    return response


def _view_of_path(request: HttpRequest) -> HttpResponse:
    """Call the view of the path; the handlers that `config/urls.py` names answer exceptions."""
    view, args, kwargs = view_at(request.path_info)
    response = view(request, *args, **kwargs)
    if callable(getattr(response, "render", None)):
        response = response.render()  # type: ignore[attr-defined]
    return response


_answer_of_path = cast(Handler, convert_exception_to_response(_view_of_path))


def answer(request: HttpRequest, respond: Handler) -> HttpResponse:
    """Do what every request needs: its id, the check of its Host, the headers of its response, and its log line."""
    start = time.perf_counter()
    # The id is not a secret, and to ask the system for random bytes would let another thread go first.
    request_id = uuid.UUID(int=random.getrandbits(128), version=4)
    request.request_id = str(request_id)  # type: ignore[attr-defined]
    address = REQUEST_ADDRESS.set(str(request.META.get("REMOTE_ADDR", "")))
    try:
        _check_host(request)
        with _working_for(request) as origin:
            response = respond(request)
            origin.status = response.status_code
    except DisallowedHost:
        response = error_handlers.refuse(request, 400, "UnknownHost", "This host name is not served here.")
    finally:
        REQUEST_ADDRESS.reset(address)
    put(response, {"X-Request-Id": request.request_id, "X-Api-Version": VERSION})  # type: ignore[attr-defined]
    if not response.streaming:
        if response.status_code not in (204, 304):
            put(response, {"Content-Length": str(len(response.content))}, unless_set=True)
        if request.method == "HEAD":
            response.content = b""
    note(request, response, round((time.perf_counter() - start) * 1000, 1))
    return response


_known_hosts: set[tuple[str, ...]] = set()
"""The hosts that were found among the allowed ones."""
MOST_HOSTS = 1_000


def _check_host(request: HttpRequest) -> None:
    """Raise DisallowedHost unless the host that the request names is served."""
    host_key = (request.META.get("HTTP_HOST", ""), *settings.ALLOWED_HOSTS)
    if host_key not in _known_hosts:
        request.get_host()
        if len(_known_hosts) < MOST_HOSTS and "HTTP_HOST" in request.META:
            _known_hosts.add(host_key)


def _working_for(request: HttpRequest) -> AbstractContextManager[Origin]:
    """Return the block in which everything is done for the request."""
    request_id: str = request.request_id  # type: ignore[attr-defined]
    headers = {name: request.META[key] for name, key in _TRACE_HEADERS.items() if key in request.META}
    return working_for(request_id, lambda: operation_of(request), headers)


def note(request: HttpRequest, response: HttpResponse, duration_ms: float) -> None:
    """Log the request, and add it to the recent calls of its key."""
    request_id: str = request.request_id  # type: ignore[attr-defined]
    caller, key_id, operation = _caller(request), _key(request), operation_of(request)
    if access.isEnabledFor(logging.INFO):
        access.info(
            "request",
            extra={
                "request_id": request_id,
                "caller": caller,
                "operation": operation,
                "record": getattr(request, "larder_record", None) if response.status_code < 300 else None,
                "status": response.status_code,
                "duration_ms": duration_ms,
            },
        )
    if key_id is not None:
        recent_calls.note(key_id, operation, response.status_code, duration_ms, request_id)


def operation_of(request: HttpRequest) -> str:
    """Return the name of the request's operation; before it is known, the method and the first part of the path."""
    return getattr(request, "larder_operation", "") or f"{request.method} /{first_part(request.path)[:50]}"


def _key(request: HttpRequest) -> uuid.UUID | None:
    """Return the request's subscription key: the caller's, or one that was not accepted."""
    return getattr(request, "larder_key", None) or getattr(getattr(request, "larder_caller", None), "key_id", None)


def _caller(request: HttpRequest) -> str:
    caller = getattr(request, "larder_caller", None)
    if caller is not None:
        return str(getattr(caller, "key_id", caller))
    user = request.__dict__.get("_cached_user")
    return str(user.pk) if user is not None and user.is_authenticated else ""
