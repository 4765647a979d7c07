"""What every answer carries, whichever door it comes from: request id, interface version, and one line in the log."""

import logging
import time
import uuid
from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

from records.operations import error_handlers
from records.operations.calls import buffer as recent_calls

access = logging.getLogger("larder.access")
VERSION = "1"


INTERFACES = frozenset(
    {
        "employee",
        "complaint",
        "document",
        "item",
        "customer",
        "audit",
        "materials",
        "category",
        "scim",
        "prodscim",
        "oauth",
        "healthz",
        "readyz",
    }
)
"""First parts of the paths that programs call: no session, form, message or page lies behind them."""

Handler = Callable[[HttpRequest], HttpResponse]


class RequestMiddleware:
    """Gives the request its id, refuses a Host that is not ours, and logs who did what, how it ended and how long.

    Requests of the interfaces go straight to their views, past the middleware that serves browsers: none of it
    concerns them, and it would cost each of them a third of its time.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self.view = view_behind(get_response)
        self.security_headers = {"X-Content-Type-Options": "nosniff"}
        if settings.SECURE_HSTS_SECONDS:
            self.security_headers["Strict-Transport-Security"] = f"max-age={settings.SECURE_HSTS_SECONDS}"

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        started = time.perf_counter()
        request.request_id = str(uuid.uuid4())  # type: ignore[attr-defined]
        try:
            request.get_host()
        except DisallowedHost:
            response = error_handlers.refuse(request, 400, "UnknownHost", "This host name is not served here.")
        else:
            response = self.answer(request)
        headers = response.headers
        headers["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        headers["X-Api-Version"] = VERSION
        if not response.streaming:
            if response.status_code not in (204, 304):
                headers.setdefault("Content-Length", str(len(response.content)))
            if request.method == "HEAD":
                response.content = b""
        self.note(request, response, round((time.perf_counter() - started) * 1000, 1))
        return response

    def note(self, request: HttpRequest, response: HttpResponse, duration_ms: float) -> None:
        """Log the request, and note it among the recent calls of its key."""
        request_id: str = request.request_id  # type: ignore[attr-defined]
        operation = getattr(request, "larder_operation", "") or f"{request.method} {_endpoint(request.path)}"
        access.info(
            "request",
            extra={
                "request_id": request_id,
                "caller": _caller(request),
                "operation": operation,
                "status": response.status_code,
                "duration_ms": duration_ms,
            },
        )
        key_id = _key(request)
        if key_id is not None:
            recent_calls.note(key_id, operation, response.status_code, duration_ms, request_id)

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Let the request's view answer: directly for an interface, through the browsers' middleware for a page."""
        if request.path_info[1:].partition("/")[0] not in INTERFACES:
            return self.get_response(request)
        response = self.view(request)
        for name, value in self.security_headers.items():
            response.headers.setdefault(name, value)
        return response


def view_behind(get_response: Handler) -> Handler:
    """Return the innermost handler of the chain: the one that finds the view and turns its exceptions into answers."""
    step: Any = get_response
    while (middleware := getattr(step, "__wrapped__", None)) is not None and hasattr(middleware, "get_response"):
        step = middleware.get_response
    return cast(Handler, step)


def _endpoint(path: str) -> str:
    """Return the path's first part: the rest may name a person or a record."""
    return "/" + path.lstrip("/").partition("/")[0][:50]


def _key(request: HttpRequest) -> uuid.UUID | None:
    """Return the subscription key of the request: its caller's, or one that opened nothing."""
    return getattr(request, "larder_key", None) or getattr(getattr(request, "larder_caller", None), "key_id", None)


def _caller(request: HttpRequest) -> str:
    caller = getattr(request, "larder_caller", None)
    if caller is not None:
        return str(getattr(caller, "key_id", caller))
    user = request.__dict__.get("_cached_user")
    return str(user.pk) if user is not None and user.is_authenticated else ""
