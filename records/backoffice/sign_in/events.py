"""The entries of the security log about sign-ins, factors and sessions (DECISIONS 9.9)."""

import time
from typing import Any

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa import signals as factor_signals
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.http import HttpRequest

from records.accounts.models import SecurityKind, User
from records.accounts.security import security_event
from records.history.trail import Author, Channel

SIGNED_IN, LAST_USED = "signed_in_at", "seen_at"
"""The session keys for when it began and when it was last used, in seconds since 1970."""

FACTORS = {"totp": "authenticator app", "webauthn": "passkey", "recovery_codes": "recovery codes"}
METHODS = {**FACTORS, "password": "password", "socialaccount": "identity provider"}


def note(kind: SecurityKind, request: HttpRequest, account: User | None, detail: str = "") -> None:
    """Write what happened to the account in this request to the security log."""
    address = str(request.META.get("REMOTE_ADDR", ""))
    author = None
    if account is not None:
        request_id = getattr(request, "request_id", "")
        author = Author(account.pk, account.printed_name, Channel.SYSTEM, "", request_id)
    security_event(kind, account=account, author=author, address=address, detail=detail)


def listen() -> None:
    """Connect the events of Django and of django-allauth to the log."""
    user_logged_in.connect(_signed_in, dispatch_uid="larder: signed in")
    user_logged_out.connect(_signed_out, dispatch_uid="larder: signed out")
    factor_signals.authenticator_added.connect(_factor_added, dispatch_uid="larder: factor added")
    factor_signals.authenticator_reset.connect(_factor_added, dispatch_uid="larder: factor renewed")
    factor_signals.authenticator_removed.connect(_factor_removed, dispatch_uid="larder: factor removed")


def _signed_in(sender: object, request: HttpRequest, user: Any, **kwargs: object) -> None:
    now = int(time.time())
    request.session[SIGNED_IN], request.session[LAST_USED] = now, now
    request.signed_in_account = user  # type: ignore[attr-defined]
    methods = [str(record.get("type") or record["method"]) for record in get_authentication_records(request, user)]
    note(SecurityKind.SIGNED_IN, request, user, ", ".join(METHODS.get(way, way) for way in methods))


def _signed_out(sender: object, request: HttpRequest, user: object, **kwargs: object) -> None:
    if isinstance(user, User):
        note(SecurityKind.SIGNED_OUT, request, user)


def _factor_added(sender: object, request: HttpRequest, user: Any, authenticator: Any, **kwargs: object) -> None:
    note(SecurityKind.FACTOR_ADDED, request, user, FACTORS[str(authenticator.type)])


def _factor_removed(sender: object, request: HttpRequest, user: Any, authenticator: Any, **kwargs: object) -> None:
    note(SecurityKind.FACTOR_REMOVED, request, user, FACTORS[str(authenticator.type)])
