"""The page of the user's own sessions: where the user is signed in, and ending any session (DECISIONS 9.7)."""

import datetime
import re

from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.decorators import login_required
from django.contrib.sessions.models import Session
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext

from records.accounts.models import SecurityKind, User
from records.backoffice.current import current_site, show_times_of, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.responses import page_response
from records.backoffice.sign_in.events import note
from records.backoffice.sign_in.middleware import note_use

MOST_SESSIONS = 100
BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
BROWSER_NAMES = {"Edg": "Edge", "OPR": "Opera"}
SYSTEMS = {"Windows": "Windows", "Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Mac OS": "Mac"}


def open_sessions(user: User) -> list[UserSession]:
    """Return the account's sessions that are still valid, the last used first; two queries."""
    since = timezone.now() - datetime.timedelta(minutes=settings.SESSION_IDLE_MINUTES)
    rows = list(
        UserSession.objects.filter(user=user, last_seen_at__gt=since).order_by("-last_seen_at", "-pk")[:MOST_SESSIONS]
    )
    keys = [row.session_key for row in rows]
    session_rows = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    session_hash = user.get_session_auth_hash()
    alive = {
        session.session_key
        for session in session_rows
        if constant_time_compare(str(session.get_decoded().get(HASH_SESSION_KEY, "")), session_hash)
    }
    return [row for row in rows if row.session_key in alive]


def browser_and_system(agent: str) -> str:
    """Return a readable name of the browser, such as "Firefox on Windows"."""
    browser = next(
        (BROWSER_NAMES.get(name, name) for name in BROWSERS if f"{name}/" in agent), gettext("Another browser")
    )
    system = next((label for mark, label in SYSTEMS.items() if mark in agent), "")
    system = system or ("Linux" if re.search(r"\bLinux\b", agent) else "")
    return gettext("%(browser)s on %(system)s") % {"browser": browser, "system": system} if system else browser


@login_required
def sessions(request: HttpRequest) -> HttpResponse:
    """Show the user's own sessions; a POST ends one of them (`id`) or all others (`others`).

    Somebody who sits down at an open session must not be able to lock the person out elsewhere, so ending a session
    asks the person to confirm their identity first.
    """
    user = user_of(request)
    session_key = request.session.session_key
    if request.method == "POST":
        raise_if_reauthentication_required(request, app="allauth.usersessions")
        count = _end(request, user, session_key)
        note(SecurityKind.SESSIONS_ENDED, request, user, f"{count} by the person")
        messages.success(
            request,
            gettext("The session has ended.")
            if count == 1
            else gettext("%(ended)s sessions have ended.") % {"ended": count},
        )
        return redirect("usersessions_list")
    note_use(request)
    show_times_of(current_site(request))
    return page_response(
        request,
        "usersessions/usersession_list.html",
        gettext("Where you are signed in"),
        sessions=[
            {
                "row": row,
                "here": row.session_key == session_key,
                "browser": browser_and_system(row.user_agent),
                "since": format_datetime(row.created_at),
                "seen": format_datetime(row.last_seen_at),
            }
            for row in open_sessions(user)
        ],
        idle=settings.SESSION_IDLE_MINUTES,
        hours=settings.SESSION_HOURS,
    )


def _end(request: HttpRequest, user: User, session_key: str | None) -> int:
    """End the requested sessions and return how many there were; the current one is ended by logging out."""
    rows = UserSession.objects.filter(user=user).exclude(session_key=session_key or "")
    if "others" not in request.POST:
        session_id = request.POST.get("id", "")
        rows = rows.filter(pk=int(session_id)) if session_id.isdecimal() and len(session_id) < 18 else rows.none()
    keys = list(rows.values_list("session_key", flat=True))
    Session.objects.filter(session_key__in=keys).delete()
    rows.filter(session_key__in=keys).delete()
    return len(keys)
