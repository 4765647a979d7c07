"""Responses to requests that reach no operation: unknown paths and hosts, errors outside a view (DECISIONS 1.12)."""

import logging
from collections.abc import Callable

from django.contrib.sessions.exceptions import SessionInterrupted
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from records.operations.errors import ApiError, answer, refusal_of
from records.operations.near_misses import meant
from records.operations.paths import first_part, is_page

logger = logging.getLogger("larder.errors")

Shape = Callable[[HttpRequest, ApiError], HttpResponse]
_shapes: dict[str, Shape] = {}
PAGE_POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; img-src 'self'; script-src 'self'; style-src 'self'; frame-ancestors 'none'"
    )
}
"""What the page of an error may load; the server sends it too where no middleware of the pages does."""


def answer_below(start: str, shape: Shape) -> None:
    """Give error responses for paths that start with this part (such as `scim`) their own format."""
    _shapes[start] = shape


def refuse(request: HttpRequest, status: int, code: str, message: str) -> HttpResponse:
    """Return an error response in the format of the requested path."""
    refusal = ApiError(status, code, message)
    shape = _shapes.get(first_part(request.path))
    if shape is not None:
        return shape(request, refusal)
    if is_page(request.path):
        page = render_to_string("refused.html", {"status": status, "message": message})
        return HttpResponse(page, status=status, headers=PAGE_POLICY)
    return answer(request, refusal)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 400, or 413 if a form is too large, or 503 if the session cannot be stored (Django's handler400)."""
    if isinstance(exception, RequestDataTooBig):
        return refuse(request, 413, "PayloadTooLarge", "The form is larger than 2.5 MiB.")
    if isinstance(exception, SessionInterrupted) and exception.__context__ is not None:
        # Django takes any error of the database at this point for a session that was deleted meanwhile.
        cause = refusal_of(exception.__context__.__context__ or exception)
        if cause.status == 503:
            return _refused(request, cause)
    return refuse(request, 400, "MalformedRequest", "The request cannot be understood.")


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 403 (Django's handler403)."""
    if is_page(request.path):
        return defaults.permission_denied(request, exception or Exception())
    return refuse(request, 403, "Forbidden", "This is not allowed.")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 404 (Django's handler404)."""
    if is_page(request.path):
        return defaults.page_not_found(request, exception or Exception())
    hint = meant(request.method or "", request.path_info)
    return refuse(request, 404, "NotFound", f"There is no such path. {hint}".strip())


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500, or 503 if the database is unavailable (Django's handler500)."""
    import sys

    error = sys.exc_info()[1]
    refusal = refusal_of(error) if error is not None else ApiError(500, "InternalError", "")
    if is_page(request.path) and refusal.status == 500:
        return defaults.server_error(request)
    if refusal.status != 503:
        refusal = ApiError(500, "InternalError", "Something went wrong on our side. Quote the request id.")
    return _refused(request, refusal)


def _refused(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    response = refuse(request, refusal.status, refusal.code, refusal.message)
    for name, value in refusal.headers.items():
        response[name] = value
    return response
