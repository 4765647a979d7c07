"""Our answers to django-allauth: how a password is checked, who may sign in, and what is sent to the user."""

import base64
import hashlib
import logging
import secrets
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.stagekit import clear_login
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.accounts.authority import ADMINISTRATIVE
from records.accounts.models import SecurityKind, User
from records.accounts.sign_in import AccountBackend, own_password
from records.backoffice.sign_in import provider
from records.backoffice.sign_in.events import note

logger = logging.getLogger("larder.security")

CANNOT_SIGN_IN = _("This account cannot sign in. Ask an administrator of your site.")


class AccountAdapter(DefaultAccountAdapter):
    """Signs in our accounts by user name. Nobody can sign up, and no e-mail address identifies anybody."""

    error_messages = {
        **DefaultAccountAdapter.error_messages,
        "username_password_mismatch": _("This user name or password is not right."),
        "incorrect_password": _("This is not your password."),
        "incorrect_code": _("This code is not right, or it was used already."),
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Return False: administrators and directories make accounts."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Return whether the address is one of our own pages, without a host; not if it cannot be read."""
        return url_has_allowed_host_and_scheme(url, None)

    def authenticate(self, request: HttpRequest, **credentials: object) -> User | None:
        """Return the account, or None; raises ValidationError if further attempts are refused for a while."""
        user = authenticate(request, **credentials)
        refusal = getattr(request, "guess_refusal", None)
        if refusal is not None:
            raise refusal
        return user

    def reauthenticate(self, user: Any, password: str) -> bool:
        """Return whether this is the person's password; counts like a sign-in."""
        return own_password(self.request, user, password)

    def pre_login(self, request: HttpRequest, user: Any, **kwargs: object) -> HttpResponse | None:
        """Refuse disabled, removed and service accounts, whichever way of signing in they used."""
        if AccountBackend().user_can_authenticate(user):
            return None
        clear_login(request)
        note(SecurityKind.SIGN_IN_FAILED, request, user, "the account cannot sign in")
        messages.error(request, CANNOT_SIGN_IN)
        return redirect("account_login")

    def get_login_stages(self) -> list[str]:
        """Return the steps after the first one, which is only the second factor."""
        return ["records.backoffice.sign_in.stages.FactorStage"]

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Return the ways in which a signed-in person can confirm their identity, the usual one first."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        words = {
            "reauthenticate": gettext("Use your password"),
            "mfa_reauthenticate": gettext("Use a code of your app, or a recovery code"),
            "mfa_reauthenticate:webauthn": gettext("Use a passkey"),
        }
        methods = [{**method, "description": words[method["id"]]} for method in methods]
        if user.is_authenticated and provider.identity_of(user) is not None:
            description = gettext("Sign in with %(oidc_name)s again") % {"oidc_name": settings.OIDC_NAME}
            methods.append({"id": "provider", "description": description, "url": reverse("provider_confirm")})
        return methods

    def is_reauthentication_required(self, *, app: str, **kwargs: object) -> bool:
        """Return whether the person has to confirm their identity; a recent sign-in at the provider counts."""
        return not provider.confirmed_recently(self.request)

    def send_notification_mail(
        self, template_prefix: str, user: object, context: dict[str, object] | None = None, email: str | None = None
    ) -> None:
        """Send nothing: the security log mails the person, to the recovery address."""

    def add_message(self, request: HttpRequest, level: int, *args: object, **kwargs: object) -> None:
        """Show messages, except the greeting at each sign-in."""
        if "account/messages/logged_in.txt" not in args and "account/messages/logged_out.txt" not in args:
            super().add_message(request, level, *args, **kwargs)


class FactorAdapter(DefaultMFAAdapter):
    """Stores the secrets of authenticator apps encrypted, and shows the user name as the person's name."""

    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": _("This passkey is not right. Try again."),
        "cannot_delete_authenticator": _("You need a second factor here. Add another one before you remove this one."),
    }

    def encrypt(self, text: str) -> str:
        """Encrypt with the newest pepper, so that a copy of the database contains no usable secret."""
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt what was encrypted with any pepper that is still listed.

        If none of them decrypts it, for example because somebody wrote the row into the database, the result is a
        secret that nobody knows. Each code is then wrong, and the person signs in with another factor or asks an
        administrator.
        """
        try:
            return _cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            logger.error("The secret of a second factor cannot be decrypted. Perhaps an earlier pepper is missing.")
            return base64.b32encode(secrets.token_bytes(20)).decode()

    def get_totp_issuer(self) -> str:
        """Return the name that authenticator apps show."""
        return f"Larder {settings.ORGANISATION_NAME}".strip()

    def _get_site_name(self) -> str:
        return self.get_totp_issuer()

    def _get_user_identifier(self, user: Any) -> str:
        return str(user.user_name)

    def generate_authenticator_name(self, user: object, type: Authenticator.Type) -> str:
        """Return the suggested name of a new passkey."""
        return f"Passkey {Authenticator.objects.filter(user=user, type=type).count() + 1}"

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """Return whether the factor may be removed; not if it is the last one of somebody who must have one."""
        user = authenticator.user
        other_factors = Authenticator.objects.filter(user=user).exclude(pk=authenticator.pk)
        return (
            not isinstance(user, User)
            or other_factors.exclude(type="recovery_codes").exists()
            or not factor_demanded(user)
        )


def factor_demanded(user: User) -> bool:
    """Return whether the installation requires a second factor of this person (SECOND_FACTOR)."""
    if settings.SECOND_FACTOR != "administrators":
        return bool(settings.SECOND_FACTOR == "everybody")
    permissions: frozenset[str] = frozenset().union(*access.permissions_by_site(user).values())
    return user.is_superuser or bool(permissions & ADMINISTRATIVE)


def _cipher() -> MultiFernet:
    keys = (hashlib.sha256(b"larder.factors:" + pepper.encode()).digest() for pepper in settings.CREDENTIAL_PEPPERS)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])
