"""Confirming one's identity for one act, such as a signature: by password, passkey, or the company's provider.

There is a way for every kind of account: with a password, with passkeys only, or with the provider only (DECISIONS
9.7).
"""

from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal import auth as passkeys
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext

from records.accounts.confirmations import Confirmation
from records.accounts.guesses import TooManyGuessesError
from records.accounts.models import User
from records.accounts.sign_in import own_password
from records.backoffice.sign_in import provider
from records.backoffice.sign_in.forms import ConfirmPasskeyForm
from records.sites.text import fault_at


def ways_of(user: User) -> set[Confirmation]:
    """Return the ways in which this person can confirm their identity."""
    ways = set()
    if settings.PASSWORD_SIGN_IN and user.has_usable_password():
        ways.add(Confirmation.PASSWORD)
    if Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN).exists():
        ways.add(Confirmation.PASSKEY)
    if provider.identity_of(user) is not None:
        ways.add(Confirmation.PROVIDER)
    return ways


def passkey_challenge(user: User) -> dict[str, object]:
    """Return the request for the browser's passkeys, which the page's script sends; valid once, in this session."""
    return {"request_options": passkeys.begin_authentication(user)}


def confirm(request: HttpRequest, user: User, *, purpose: str, password: str = "", passkey: str = "") -> Confirmation:
    """Return how the person confirmed their identity: by passkey, a recent sign-in at the provider, or password.

    A passkey's answer is right only once. The request remembers it, because a page that lost a deadlock begins again.
    Raises ValidationError, on `password` or without a field, if it is wrong or refused for a while.
    """
    if passkey:
        if getattr(request, "larder_passkey", "") != passkey:
            form = ConfirmPasskeyForm(user=user, data={"credential": passkey})
            if not form.is_valid():
                raise ValidationError(gettext("This passkey is not right. Try again."), code="InvalidValue")
            form.cleaned_data["credential"].record_usage()
            request.larder_passkey = passkey  # type: ignore[attr-defined]
        return Confirmation.PASSKEY
    if provider.confirmed_recently(request, purpose) and provider.identity_of(user) is not None:
        return Confirmation.PROVIDER
    try:
        right = own_password(request, user, password)
    except TooManyGuessesError as refusal:
        raise ValidationError({"password": refusal}) from refusal
    if not right:
        raise fault_at("password", gettext("This is not your password."), "InvalidValue")
    return Confirmation.PASSWORD
