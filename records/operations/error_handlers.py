"""Responses to requests that reach no operation: unknown paths and hosts, errors outside a view (DECISIONS 1.12)."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.contrib.sessions.exceptions import SessionInterrupted
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.views import defaults

from records.operations.errors import ApiError, answer, refusal_of
from records.operations.near_misses import suggestion
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
_MISUNDERSTOOD = (
    _("The request cannot be understood"),
    _("Nothing was stored. Go back in your browser, and try again."),
)
_PAGE_TEXTS = {
    413: (
        _("Too large"),
        format_lazy(
            _(
                "What you sent is too large, so nothing of it was stored. A file may have {mib} MiB at most, several "
                "files together {together} MiB, and all texts of a page 2.5 MiB. Go back in your browser, shorten the "
                "text or choose smaller or fewer files, and send it again."
            ),
            mib=settings.FILE_SIZE_LIMIT // 1024**2,
            together=settings.FORM_FILES_LIMIT // 1024**2,
        ),
    ),
    503: (
        _("Not possible at the moment"),
        _("Nothing was stored. Wait a moment, go back in your browser, and try again."),
    ),
}
"""Heading and text of the page of a refusal, by its status."""
_LATER = (_("Not possible at the moment"), _("Wait a moment, and open the page again."))
_DAMAGED_FILE = (
    _("The file cannot be opened"),
    _("It is missing in the storage, or was altered there. Tell your administrator, who can restore it from a backup."),
)


def answer_below(start: str, shape: Shape) -> None:
    """Give error responses for paths that start with this part (such as `scim`) their own format."""
    _shapes[start] = shape


def refuse(request: HttpRequest, status: int, code: str, message: str) -> HttpResponse:
    """Return an error response in the format of the requested path."""
    return refusal_response(request, ApiError(status, code, message))


def refusal_response(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    """Return the response to a refusal, with its headers, in the format of the requested path."""
    response = _formatted_response(request, refusal)
    for name, value in refusal.headers.items():
        response[name] = value
    return response


def _formatted_response(request: HttpRequest, refusal: ApiError) -> HttpResponse:
    shape = _shapes.get(first_part(request.path))
    if shape is not None:
        return shape(request, refusal)
    if is_page(request.path):
        heading, text = _PAGE_TEXTS.get(refusal.status, _MISUNDERSTOOD)
        if refusal.status == 503 and request.method in ("GET", "HEAD"):
            # Only what may work later says when.
            heading, text = _LATER if "Retry-After" in refusal.headers else _DAMAGED_FILE
        page = render_to_string("refused.html", {"heading": heading, "text": text, "message": refusal.message})
        return HttpResponse(page, status=refusal.status, headers=PAGE_POLICY)
    return answer(request, refusal)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 400, or 413 if a form is too large, or 503 if the session cannot be stored (Django's handler400)."""
    if isinstance(exception, RequestDataTooBig):
        return refuse(request, 413, "PayloadTooLarge", "The form is larger than 2.5 MiB.")
    if isinstance(exception, SessionInterrupted) and exception.__context__ is not None:
        # Django takes any error of the database at this point for a session that was deleted meanwhile.
        cause = refusal_of(exception.__context__.__context__ or exception)
        if cause.status == 503:
            return refusal_response(request, cause)
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
    hint = suggestion(request.method or "", request.path_info)
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
    return refusal_response(request, refusal)
