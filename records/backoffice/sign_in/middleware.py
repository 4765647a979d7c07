"""What happens at each request of a browser: sessions expire, factors are required, browsers are remembered."""

import time
from collections.abc import Callable
from contextlib import suppress

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.utils import is_mfa_enabled
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.messages.storage.base import BaseStorage
from django.contrib.sessions.backends.base import UpdateError
from django.db import InternalError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext

from records.accounts import guesses
from records.accounts.browsers import remember_browser
from records.accounts.keys import PATIENCE
from records.accounts.models import SecurityKind, User
from records.backoffice.sign_in.adapters import factor_demanded
from records.backoffice.sign_in.events import LAST_USED, SIGNED_IN, note

NOTED_EVERY = 60
"""Seconds between two updates of a session's last use, so that not every page needs a write."""

SESSIONS_OF_STRANGERS = 1_000
"""How many sessions one address can begin per hour without anybody signing in."""


class AnonymousSessionMiddleware:
    """Limits the sessions that begin without anybody signing in: each is a row that anybody on the internet can make.

    They hold the challenge for a passkey, the state of a sign-in at the company's provider, or a message.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request; with 429, and without a session, if its address has begun too many."""
        response = self.get_response(request)
        session = request.session
        begins = session.modified and session.session_key is None and not session.is_empty()
        if begins and not request.user.is_authenticated:
            try:
                address = guesses.counted_address(request.META.get("REMOTE_ADDR", ""))
                guesses.spend("sessions", address, SESSIONS_OF_STRANGERS)
            except guesses.TooManyGuessesError as refusal:
                session.flush()
                with translation.override(translation.get_language_from_request(request)):
                    context = {
                        "heading": gettext("Too many attempts"),
                        "text": gettext("Too many sign-ins were begun from your network. Try again in an hour."),
                    }
                    page = render_to_string("refused.html", context)
                # The refusal keeps the content security policy of the page that it replaces.
                headers = {name: response[name] for name in ("Content-Security-Policy",) if name in response}
                return HttpResponse(page, status=429, headers={**headers, "Retry-After": str(refusal.wait)})
        return response


class SignInMiddleware:
    """Ends expired sessions, asks for required factors, and remembers the browsers of each account."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        user = request.user
        if isinstance(user, User):
            _end_or_note(request, user)
        response = _demand_factor(request) or self.get_response(request)
        signed_in = getattr(request, "signed_in_account", None)
        if signed_in is not None:
            remember_browser(request, response, signed_in)
        refusal = getattr(request, "guess_refusal", None)
        if refusal is not None and response.status_code == 200:
            response.status_code = 429
            response.headers["Retry-After"] = str(refusal.wait)
        return response


def _end_or_note(request: HttpRequest, user: User) -> None:
    now, session = int(time.time()), request.session
    began, last_used = session.get(SIGNED_IN), session.get(LAST_USED)
    if began is None or last_used is None:
        session[SIGNED_IN], session[LAST_USED] = now, now
        return
    if now - last_used > settings.SESSION_IDLE_MINUTES * 60 or now - began > settings.SESSION_HOURS * 60 * 60:
        note(SecurityKind.SESSIONS_ENDED, request, user, "too long unused or too old")
        logout(request)
        messages.info(request, gettext("Your session has ended. Sign in again to go on."))
    elif now - last_used >= NOTED_EVERY:
        _record_use(request, now)


def _record_use(request: HttpRequest, moment: int) -> None:
    """Record that the session is used now. If the database is busy or read-only, the next page tries again."""
    with suppress(OperationalError, InternalError, UpdateError), connection.briefly(PATIENCE):  # type: ignore[attr-defined]
        request.session[LAST_USED] = moment
        note_use(request)
        request.session.save()
    # What is stored need not be stored again after the page, and what could not be stored must not make it fail.
    request.session.modified = False


def note_use(request: HttpRequest) -> None:
    """Record that the session is used, and from which address, for the user's page of sessions."""
    values = {"last_seen_at": timezone.now(), "ip": request.META.get("REMOTE_ADDR") or "0.0.0.0"}  # noqa: S104
    if not UserSession.objects.filter(session_key=request.session.session_key).update(**values):
        UserSession.objects.create_from_request(request)


def _demand_factor(request: HttpRequest) -> HttpResponse | None:
    """Return a redirect to the page of factors if a required factor is neither set up nor used; otherwise None."""
    user = request.user
    if settings.SECOND_FACTOR == "optional" or not isinstance(user, User) or not user.is_active:
        return None
    if not request.path.startswith(("/admin/", "/profile/")) or request.path == reverse("admin:logout"):
        return None
    records = get_authentication_records(request, user)
    if any(record.get("method") in ("mfa", "socialaccount") for record in records):
        return None
    if not factor_demanded(user) or is_mfa_enabled(user, ["totp", "webauthn"]):
        return None
    demand = gettext("You need a second factor here. Set up an authenticator app or a passkey to go on.")
    waiting_messages = messages.get_messages(request)
    # A page in another tab or a request in the background may have been sent here before: the message is shown once.
    if demand not in map(str, waiting_messages):
        messages.warning(request, demand)
    if isinstance(waiting_messages, BaseStorage):
        waiting_messages.used = False  # The messages were only read here, so the next page still shows them.
    return redirect("mfa_index")
