"""The recent calls of keys: the newest calls of all keys on the profile page, and a page for each key."""

import uuid
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from records.accounts.authority import Act, Actor, may_act
from records.accounts.calls import NEWEST, RETENTION, recent_calls
from records.accounts.models import SubscriptionKey, User
from records.backoffice.current import current_site, show_times_of, user_of
from records.backoffice.datetimes import wall_clock
from records.backoffice.responses import page_response

ON_PROFILE = 10


def administers(request: HttpRequest, account: User) -> bool:
    """Return whether the user manages the keys of the account: a service account of a site that it administers."""
    usable = account.is_service_account and account.is_active
    return usable and may_act(Actor(user=user_of(request)), Act.ISSUE_CREDENTIAL, account)


def calls_of_key(request: HttpRequest, key_id: uuid.UUID) -> HttpResponse:
    """Show the recent calls of one of the user's keys, or of a service account's that the user administers."""
    key = SubscriptionKey.objects.select_related("user", "site").filter(pk=key_id).first()
    if key is None or (key.user_id != user_of(request).pk and not administers(request, key.user)):
        raise Http404
    is_own = key.user_id == user_of(request).pk
    show_times_of(current_site(request))
    only_failures = request.GET.get("outcome") == "failed"
    return page_response(
        request,
        "dashboard/calls.html",
        gettext("Recent calls of “%(name)s”") % {"name": key.name},
        key=key,
        account=key.user,
        own=is_own,
        back=reverse("profile") + ("" if is_own else f"?account={key.user_id}"),
        calls=[line for line in lines([key.pk]) if line["failed"] or not only_failures],
        failed=only_failures,
        newest=NEWEST,
        days=RETENTION.days,
    )


def lines(key_ids: Iterable[uuid.UUID], newest: int = NEWEST) -> list[dict[str, Any]]:
    """Return the newest calls of the keys as texts for a table; one query."""
    return [
        {
            "row": call,
            "at": f"{wall_clock(call.at)[0]:%Y-%m-%d %H:%M:%S}",
            "failed": call.status >= 400,
            "meaning": _meaning(call.status),
            "duration": f"{call.duration_ms:.1f} ms" if call.duration_ms < 1000 else f"{call.duration_ms / 1000:.1f} s",
        }
        for call in recent_calls(key_ids, newest)
    ]


def _meaning(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
