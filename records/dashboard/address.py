"""The page that a mailed link opens: confirming the address to which links for a new password go (DECISIONS 9.3)."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from records.accounts.recovery import confirm_address
from records.accounts.security_mails import address_in
from records.backoffice.current import author_of, user_of
from records.backoffice.responses import page_response


@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Ask whether to use the address, and use it after a POST. A GET changes nothing, because anybody can send a link.

    A person who is not signed in signs in first and then returns. The page says if the link is too old, was already
    used, or belongs to another account.
    """
    user = user_of(request)
    user.refresh_from_db(fields=["pending_address", "recovery_address"])
    address = address_in(token, user)
    if request.method == "POST" and address:
        if confirm_address(user, token, author=author_of(request)):
            messages.success(
                request, gettext("Links for a new password go to %(address)s from now on.") % {"address": address}
            )
            return redirect("profile")
        address = ""
    title, status = gettext("Confirm your address"), 200 if address else 410
    response = page_response(
        request, "dashboard/confirm_address.html", title, http_status=status, address=address, account=user
    )
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
