"""Unsaved input is stored in the user's browser (static/backoffice/typed.js); this is the server's part of it.

Every page contains the account and the end of the session. The response to a saved form names the form in a cookie,
which the page's script reads and deletes.
"""

import re
from collections.abc import Callable

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from records.accounts.models import User
from records.backoffice.once import SAVED_ALREADY, DoneAlreadyError
from records.backoffice.sign_in.events import SIGNED_IN

COOKIE = "__Host-larder-saved" if settings.HTTPS else "larder-saved"
SIGNED_OUT = "signed-out"
MOST_EARLIER = 10
_TOKEN = re.compile(r"[0-9-]{1,64}", re.ASCII)


def unsaved_input_context(request: HttpRequest) -> dict[str, object]:
    """Return for whom the page's script stores input, and until when: the session's absolute end, in ms."""
    began = request.session.get(SIGNED_IN)
    if began is None or not isinstance(request.user, User):
        return {}
    return {"typed_by": str(request.user.pk), "typed_until": (int(began) + settings.SESSION_HOURS * 3600) * 1000}


class UnsavedInputMiddleware:
    """Tells the browser which of its forms was saved, and when the user signed out.

    An accepted form is answered by a redirect, a refused one by its page; without a session no form is accepted.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        # The page of the second factor also posts here, to start again under another name: nobody signs out then.
        signs_out = request.path == reverse("account_logout") and bool(unsaved_input_context(request))
        response = self.get_response(request)
        if request.method != "POST" or response.status_code not in (302, 303):
            return response
        if signs_out or request.path == reverse("admin:logout"):
            _set(response, SIGNED_OUT)
            # The end of the session also invalidates pages that the browser kept for going back.
            response["Clear-Site-Data"] = '"cache"'
        elif request.path.startswith(("/admin/", reverse("profile"))) and isinstance(request.user, User):
            token = request.POST.get("larder_typed", "")
            if _TOKEN.fullmatch(token):
                earlier = [one for one in request.COOKIES.get(COOKIE, "").split(".") if _TOKEN.fullmatch(one)]
                _set(response, ".".join([*earlier[-MOST_EARLIER:], token]))
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Redirect from a form that was saved before to the page that says so; None for any other error."""
        if not isinstance(exception, DoneAlreadyError):
            return None
        messages.warning(request, SAVED_ALREADY)
        return redirect(exception.back)


def _set(response: HttpResponse, value: str) -> None:
    """Set the cookie for the next page of the browser; it is not HttpOnly, because the page's script reads it."""
    response.set_cookie(COOKIE, value, max_age=600, secure=settings.SESSION_COOKIE_SECURE, samesite="Lax")
