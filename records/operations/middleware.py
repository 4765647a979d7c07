"""What every answer carries, whichever door it comes from: request id, interface version, and one line in the log."""

import logging
import time
import uuid
from collections.abc import Callable

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

from records.operations import outside

access = logging.getLogger("larder.access")
VERSION = "1"


class RequestMiddleware:
    """Gives the request its id, refuses a Host that is not ours, and logs who did what, how it ended and how long."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        started = time.perf_counter()
        request.request_id = str(uuid.uuid4())  # type: ignore[attr-defined]
        try:
            request.get_host()
        except DisallowedHost:
            response = outside.refuse(request, 400, "UnknownHost", "This host name is not served here.")
        else:
            response = self.get_response(request)
        headers = response.headers
        headers["X-Request-Id"] = request.request_id  # type: ignore[attr-defined]
        headers["X-Api-Version"] = VERSION
        if request.method == "HEAD" and not response.streaming:
            headers.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        access.info(
            "request",
            extra={
                "request_id": request.request_id,  # type: ignore[attr-defined]
                "caller": _caller(request),
                "operation": getattr(request, "larder_operation", "") or f"{request.method} {_endpoint(request.path)}",
                "status": response.status_code,
                "duration_ms": round((time.perf_counter() - started) * 1000, 1),
            },
        )
        return response


def _endpoint(path: str) -> str:
    """Return the path's first part: the rest may name a person or a record."""
    return "/" + path.lstrip("/").partition("/")[0][:50]


def _caller(request: HttpRequest) -> str:
    caller = getattr(request, "larder_caller", None)
    if caller is not None:
        return str(getattr(caller, "key_id", caller))
    user = request.__dict__.get("_cached_user")
    return str(user.pk) if user is not None and user.is_authenticated else ""
