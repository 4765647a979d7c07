"""The part of the profile page on which people make and revoke their calendar link."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext

from records.accounts.calendar_links import issue_link, live_link, revoke_links
from records.backoffice.current import author_of, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.extension_points import RecordPanel
from records.backoffice.once import process_once
from records.backoffice.responses import page_response
from records.backoffice.shown_once import prevent_storing, redirect_with_secret, secret_of


def profile_panels(request: HttpRequest) -> Sequence[RecordPanel]:
    """Return the part of one's own profile page; one query."""
    link = live_link(user_of(request))
    context: dict[str, Any] = {"link": link}
    if link is not None:
        context |= {"made": format_datetime(link.created), "used": format_datetime(link.last_used)}
    return (RecordPanel("reminders/calendar_panel.html", context),)


def calendar_link(request: HttpRequest) -> HttpResponse:
    """Make a link, which the next page shows once, or revoke the present one."""
    if request.method != "POST":
        return _show(request)
    user, action = user_of(request), request.POST.get("do", "")
    if action == "revoke":
        if revoke_links(user, author=author_of(request)):
            messages.success(
                request, gettext("The calendar link was revoked. Calendar programs can no longer read it.")
            )
        return redirect("profile")
    if action != "make":
        raise PermissionDenied
    try:
        with process_once(request, reverse("profile")):
            _, secret = issue_link(user, author=author_of(request))
    except ValidationError as fault:
        messages.error(request, " ".join(fault.messages))
        return redirect("profile")
    return redirect_with_secret(request, {"secret": secret})


def _show(request: HttpRequest) -> HttpResponse:
    secret = secret_of(request)
    if secret is None:
        messages.warning(request, gettext("A calendar link is shown only once. If you have lost it, make a new one."))
        return redirect("profile")
    return prevent_storing(
        request,
        page_response(
            request,
            "reminders/calendar_link.html",
            gettext("Your calendar link"),
            address=settings.BASE_URL + reverse("calendar", args=(secret["secret"],)),
        ),
    )


urlpatterns = [path("calendar-link/", calendar_link, name="calendar_link")]
