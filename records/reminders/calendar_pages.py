"""The part of the profile page on which people make and revoke their calendar link."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext

from records.accounts.calendar_links import issue_link, live_link, revoke_links
from records.backoffice.current import author_of, user_of
from records.backoffice.datetimes import shown
from records.backoffice.extension_points import RecordPanel
from records.backoffice.shown_once import redirect_with_secret, secret_of, showing_once


def addresses(admin_site: AdminSite) -> Sequence[Any]:
    """Return the address, below /admin/, to which the buttons of the part are sent, and which shows a new link."""
    return [path("calendar-link/", admin_site.admin_view(partial(calendar_link, admin_site)), name="calendar_link")]


def panels(request: HttpRequest) -> Sequence[RecordPanel]:
    """Return the part of one's own profile page; one query."""
    link = live_link(user_of(request))
    context: dict[str, Any] = {"link": link}
    if link is not None:
        context |= {"made": shown(link.created), "used": shown(link.last_used)}
    return (RecordPanel("reminders/calendar_panel.html", context),)


def calendar_link(admin_site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Make a link, which the next page shows once, or revoke the present one."""
    if request.method != "POST":
        return _shown(admin_site, request)
    user, asked = user_of(request), request.POST.get("do", "")
    if asked == "revoke":
        if revoke_links(user, author=author_of(request)):
            messages.success(
                request, gettext("The calendar link was revoked. Calendar programs get nothing from it now.")
            )
        return redirect("profile")
    if asked != "make":
        raise PermissionDenied
    try:
        _, secret = issue_link(user, author=author_of(request))
    except ValidationError as fault:
        messages.error(request, " ".join(fault.messages))
        return redirect("profile")
    return redirect_with_secret(request, {"secret": secret})


def _shown(admin_site: AdminSite, request: HttpRequest) -> HttpResponse:
    secret = secret_of(request)
    if secret is None:
        messages.warning(request, gettext("A calendar link is shown only once. If you have lost it, make a new one."))
        return redirect("profile")
    context = {
        **admin_site.each_context(request),
        "title": gettext("Your calendar link"),
        "address": settings.BASE_URL.rstrip("/") + reverse("calendar", args=(secret["secret"],)),
    }
    return showing_once(request, TemplateResponse(request, "reminders/calendar_link.html", context))
