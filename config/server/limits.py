"""The maximum size of a body, judged by the request's head before the body is read (DECISIONS 10.1, 10.2)."""

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

PAGE_LIMIT = 5 * 1024 * 1024 // 2
"""The maximum size, in bytes, of a form that people send from a page; forms with a file may be larger."""
BESIDE_THE_FILE = 1024 * 1024
FILE_ENDPOINTS = frozenset({"document", "attachment"})
SEVERAL_FILES = ("/admin/attachments/on/", "/admin/complaints/complaint/quick/")
"""The beginnings of the paths of forms with several files, of which one that is too large must not cost the others."""


def largest_body(path: str, environ: Mapping[str, Any]) -> int:
    """Return the maximum size, in bytes, of the body of a request to the path.

    The endpoints that take files allow the largest file as base64. A page accepts a file only in a form of the right
    media type and with a session cookie, so that nobody can fill the disk without signing in.
    """
    from django.conf import settings

    from records.operations.bodies import BODY_LIMIT
    from records.operations.error_handlers import is_page

    if not is_page(path):
        first = path.strip("/").partition("/")[0].lower()
        return settings.FILE_SIZE_LIMIT * 3 // 2 + BESIDE_THE_FILE if first in FILE_ENDPOINTS else BODY_LIMIT
    takes_file = path.startswith("/admin/") and "login" not in path
    is_form_with_file = "multipart/form-data" in environ.get("CONTENT_TYPE", "").lower()
    if takes_file and is_form_with_file and _has_cookie(environ, settings.SESSION_COOKIE_NAME):
        files = settings.FORM_FILES_LIMIT if path.startswith(SEVERAL_FILES) else settings.FILE_SIZE_LIMIT
        return int(files) + BESIDE_THE_FILE
    return PAGE_LIMIT


def _has_cookie(environ: Mapping[str, Any], name: str) -> bool:
    try:
        return name in SimpleCookie(environ.get("HTTP_COOKIE", ""))
    except CookieError:
        return False
