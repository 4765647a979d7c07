"""Browsers that have signed in to an account before; a signed cookie identifies them (DECISIONS 9.8).

A known browser has its own counter of attempts, so that nobody can lock a person out by guessing elsewhere.
"""

import hashlib
import secrets

from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest, HttpResponse

from records.accounts.models import User

COOKIE = "__Host-known" if settings.HTTPS else "known"
DAYS = 180
MOST_ACCOUNTS = 20
_signer = TimestampSigner(salt="larder.known-browser")


def browser_known_to(request: HttpRequest, account: User | None) -> str:
    """Return the name of a browser that has signed in to the account or has a session of the account open; else ""."""
    if account is None:
        return ""
    name, accounts = _read(request)
    if str(account.pk) in accounts:
        return name
    user = getattr(request, "user", None)
    session_key = getattr(getattr(request, "session", None), "session_key", None)
    if session_key and user is not None and user.is_authenticated and user.pk == account.pk:
        return hashlib.sha256(session_key.encode()).hexdigest()
    return ""


def remember_browser(request: HttpRequest, response: HttpResponse, account: User) -> None:
    """Record in the response's cookie that this browser has signed in to the account."""
    name, accounts = _read(request)
    other_keys = [key for key in accounts if key != str(account.pk)][-MOST_ACCOUNTS + 1 :]
    value = _signer.sign_object(
        {"browser": name or secrets.token_urlsafe(16), "accounts": [*other_keys, str(account.pk)]}
    )
    response.set_cookie(
        COOKIE, value, max_age=DAYS * 24 * 60 * 60, secure=settings.HTTPS, httponly=True, samesite="Lax"
    )


def _read(request: HttpRequest) -> tuple[str, list[str]]:
    """Return the browser's name and the accounts that it has signed in to; both are empty without a valid cookie."""
    try:
        cookie = _signer.unsign_object(request.COOKIES.get(COOKIE, ""), max_age=DAYS * 24 * 60 * 60)
        return str(cookie["browser"]), [str(key) for key in cookie["accounts"]]
    except (BadSignature, KeyError, TypeError, ValueError):
        return "", []
