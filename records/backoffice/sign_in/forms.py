"""The forms for signing in and for factors, with our own texts and our own count of wrong guesses."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from allauth.account.forms import LoginForm
from allauth.core import context
from allauth.core.internal.cryptokit import normalize_user_code
from allauth.mfa import app_settings
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from allauth.mfa.webauthn.internal import auth as passkeys
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.guesses import TooManyGuessesError, spend
from records.accounts.models import User
from records.accounts.sign_in import begin_guess, note_wrong

NOT_A_PASSKEY = _("The passkey from the browser could not be read. Try again.")
WRONG_CODE = _("This code is not right, or it was used already.")


class SignInForm(LoginForm):
    """Asks for user name and password."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        attributes = {"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false", "maxlength": "255"}
        self.fields["login"] = forms.CharField(
            label=gettext("User name"), max_length=255, widget=forms.TextInput({**attributes, "autofocus": True})
        )
        password = self.fields["password"]
        password.label, password.help_text = gettext("Password"), ""
        password.widget.attrs.pop("placeholder", None)
        self.order_fields(("login", "password"))

    def add_prefix(self, field_name: str) -> str:
        """Name the first field as password managers expect it."""
        return "username" if field_name == "login" else field_name


def _check_code(form: Any, check: Callable[[], Any]) -> Any:
    """Check a code, which is counted together with the guessed passwords of the account."""
    attempt = begin_guess(context.request, form.user)
    try:
        code = check()
        if form.authenticator.type == Authenticator.Type.TOTP:
            _use_up(form.user, code)
    except ValidationError as fault:
        note_wrong(context.request, form.user, attempt, "code")
        raise ValidationError(WRONG_CODE, code="incorrect_code") from fault
    attempt.was_right()
    return code


def _use_up(user: User, code: str) -> None:
    """Use up a code of the app for every process; raises ValidationError if it was used already.

    The library notes used codes in the cache, which without Redis is the memory of one process. A recovery code is
    used up in the database by the library.
    """
    seconds = app_settings.TOTP_PERIOD * (2 * app_settings.TOTP_TOLERANCE + 1)
    try:
        spend("code", f"{user.pk}:{normalize_user_code(code)}", 1, seconds)
    except TooManyGuessesError:
        raise ValidationError(WRONG_CODE, code="incorrect_code") from None


class TypedCode:
    """A form that asks for nothing but a code, so that its field has the focus, and telephones offer digits."""

    fields: dict[str, forms.Field]

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs |= {"autofocus": True, "inputmode": "numeric"}


class CodeForm(TypedCode, AuthenticateForm):
    """Asks for a code of the app, or a recovery code, after the password."""

    def clean_code(self) -> str:
        """Return the code if it is right."""
        return str(_check_code(self, super().clean_code))


class ConfirmCodeForm(TypedCode, ReauthenticateForm):
    """Asks a signed-in person for a code."""

    def clean_code(self) -> str:
        """Return the code if it is right."""
        return str(_check_code(self, super().clean_code))


class AddAppForm(ActivateTOTPForm):
    """Sets up an app with the first code that it shows. This code does not sign anybody in afterwards."""

    def clean_code(self) -> str:
        """Return the code if it is right."""
        try:
            code = str(super().clean_code())
            _use_up(self.user, code)
            return code
        except ValidationError as fault:
            if fault.code != "incorrect_code":
                raise
            raise ValidationError(WRONG_CODE, code="incorrect_code") from fault


class PasskeyDecoder(json.JSONDecoder):
    """Reads what a browser sends about a passkey.

    Nesting and numbers that Python refuses, and text that no page can show, are malformed too.
    """

    def decode(self, s: str, *args: Any) -> Any:
        """Return the value; raises JSONDecodeError."""
        try:
            value = super().decode(s, *args)
            json.dumps(value, ensure_ascii=False).encode()
        except (RecursionError, ValueError) as error:
            raise json.JSONDecodeError(type(error).__name__, s, 0) from error
        return value


class PasskeyForm:
    """A form with a passkey's data, which the page's script fills in."""

    fields: dict[str, Any]

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.fields["credential"].decoder = PasskeyDecoder
        self.fields["credential"].error_messages["invalid"] = NOT_A_PASSKEY


@contextmanager
def _readable() -> Iterator[None]:
    """Let the block read the data of a passkey, and refuse with a message what no browser sends."""
    try:
        yield
    except ValidationError:
        raise
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ValidationError(NOT_A_PASSKEY, code="InvalidValue") from error


class ReadablePasskey(PasskeyForm):
    """Refuses, with a message, data that no browser sends."""

    def clean_credential(self) -> Any:
        """Return the passkey's row in the database if its answer is right, once for each challenge.

        The library removes the challenge from the session when the request ends, which is too late for another request
        with the same answer.
        """
        challenge = passkeys.get_state()
        with _readable():
            passkey = super().clean_credential()  # type: ignore[misc]
        try:
            spend("passkey", repr(challenge), 1, settings.SESSION_COOKIE_AGE)
        except TooManyGuessesError:
            raise ValidationError(NOT_A_PASSKEY, code="InvalidValue") from None
        return passkey


class PasskeyFactorForm(ReadablePasskey, AuthenticateWebAuthnForm):
    """Accepts a passkey as the second factor."""


class ConfirmPasskeyForm(ReadablePasskey, ReauthenticateWebAuthnForm):
    """Accepts a passkey of a signed-in person."""


class PasskeySignInForm(ReadablePasskey, LoginWebAuthnForm):
    """Signs in with a passkey alone."""


class AddPasskeyForm(PasskeyForm, AddWebAuthnForm):
    """Adds a passkey."""

    name = forms.CharField(
        required=False, max_length=100, label=_("Name"), help_text=_("Such as “Phone” or “Blue key”.")
    )
    passwordless = forms.BooleanField(
        required=False,
        initial=True,
        label=_("Let this passkey sign you in without a password"),
        help_text=_("The device then asks for your fingerprint, face or PIN. Untick it for a key that cannot do this."),
    )

    def clean(self) -> dict[str, object]:
        """Check the data that the browser sent."""
        with _readable():
            return super().clean()
