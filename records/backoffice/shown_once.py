"""Secrets that a page shows once. The POST that makes one redirects, so that reloading the page makes no second one.

Between the two requests the secret is in a signed cookie of the user's own browser, which no script can read. The
signature expires after a minute, and the page that shows the secret deletes the cookie. The database never holds it.
"""

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from records.backoffice.current import user_of

COOKIE = "__Secure-larder-secret" if settings.HTTPS else "larder-secret"
SALT = "larder.shown-once"
SECONDS = 60


def redirect_with_secret(request: HttpRequest, secret: dict[str, str]) -> HttpResponse:
    """Redirect to the same page, which then gets the secret from `secret_of`."""
    page = request.get_full_path()
    content = {"user": str(user_of(request).pk), "page": page, "secret": secret}
    response = redirect(page)
    response.set_cookie(
        COOKIE,
        signing.dumps(content, salt=SALT),
        max_age=SECONDS,
        path=request.path,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )
    return response


def secret_of(request: HttpRequest) -> dict[str, str] | None:
    """Return the secret that the page has to show, or None."""
    try:
        content = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return None
    is_for_page = content["user"] == str(user_of(request).pk) and content["page"] == request.get_full_path()
    secret: dict[str, str] = content["secret"]
    return secret if is_for_page else None


def prevent_storing(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Let the browser store neither the page nor, from now on, the secret that the page shows."""
    response["Cache-Control"] = "no-store"
    if COOKIE in request.COOKIES:
        response.delete_cookie(COOKIE, path=request.path, samesite="Strict")
    return response
