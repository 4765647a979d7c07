"""The company's OpenID Connect provider: signing in, linking an identity to an account, confirming one's identity.

An identity is the issuer and the subject, never an e-mail address (DECISIONS 9.7). The person links it, either while
signed in to the account or with a link that was mailed to the account's recovery address.
"""

import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jwt
from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers import registry
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from requests import RequestException

from records.accounts.models import SecurityKind, User
from records.backoffice.current import user_of
from records.backoffice.sign_in.events import note
from records.backoffice.sign_in.provider_calls import ProviderSession

registry.load()
logger = logging.getLogger("larder.security")
CONFIRMATION_KEY = "provider_confirmed"
CONFIRMED_SECONDS = 300
CLOCKS_DIFFER = 30
"""The number of seconds by which the provider's clock may be slow."""
SIGNATURES = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""How the provider may sign an ID token: with a private key of its own, and never with a secret that we share."""
LONGEST_SUBJECT = 191
"""How many characters the table of identities holds."""
REQUIRED_CLAIMS = ("iss", "sub", "aud", "exp")
"""What an ID token must say (OpenID Connect Core 1.0, 2)."""
UNREADABLE = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError, jwt.PyJWTError)
"""What reading an answer raises that has another form than the standards demand."""
UNREACHABLE = _("The sign-in service of your company does not answer. Try again in a minute.")


def is_on() -> bool:
    """Return whether a provider is configured (OIDC_ISSUER)."""
    return bool(settings.OIDC_ISSUER)


def name() -> str:
    """Return the display name of the provider, or "" if none is configured."""
    return settings.OIDC_NAME if is_on() else ""


def identity_of(user: User) -> SocialAccount | None:
    """Return the account's identity at the provider that is configured now."""
    if not is_on():
        return None
    return SocialAccount.objects.filter(user=user, provider=settings.OIDC_PROVIDER_ID).first()


def confirmed_recently(request: HttpRequest, purpose: str = "") -> bool:
    """Return whether the person signed in at the provider again in this session, recently and for this purpose."""
    confirmation = request.session.get(CONFIRMATION_KEY) or {}
    return (
        confirmation.get("account") == str(request.user.pk)
        and confirmation.get("purpose") == purpose
        and time.time() - confirmation.get("at", 0) < CONFIRMED_SECONDS
    )


def forget_confirmation(request: HttpRequest) -> None:
    """Use up the confirmation, which is valid for one signature."""
    request.session.pop(CONFIRMATION_KEY, None)


# --- To the provider ------------------------------------------------------------------------------------------------


def to_provider(
    request: HttpRequest, purpose: str, *, next_url: str = "", fresh: bool = False, **facts: object
) -> HttpResponse:
    """Return the page that leads to the provider. With `fresh`, the provider must authenticate the person again.

    It is a page and not a redirect, because browsers refuse forms that are redirected to another host (CSP
    `form-action`).
    """
    if not is_on():
        raise Http404(gettext("No sign-in service is set up."))
    way = get_adapter(request).get_provider(request, settings.OIDC_PROVIDER_ID)
    nonce = secrets.token_urlsafe(24)
    data = {"purpose": purpose, "asked_at": int(time.time()), "nonce": nonce, **facts}
    auth_params = {"nonce": nonce, **({"max_age": "0", "prompt": "login"} if fresh else {})}
    try:
        redirection = way.redirect(request, "login", next_url=next_url or None, data=data, auth_params=auth_params)
        if not redirection["Location"].startswith(("https://", "http://")):
            raise ValueError
    except (RequestException, *UNREADABLE):
        logger.warning("The OpenID Connect provider cannot be reached.")
        messages.error(request, UNREACHABLE)
        return redirect(next_url or "account_login")
    context = {
        "title": gettext("Continue with %(oidc_name)s") % {"oidc_name": settings.OIDC_NAME},
        "address": redirection["Location"],
    }
    response = TemplateResponse(request, "account/continue.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _next(request: HttpRequest) -> str:
    """Return the path that the form asks for; "" for another host, and for what `redirect` takes for a view's name."""
    next_url = request.POST.get("next", "")
    return next_url if next_url.startswith("/") and url_has_allowed_host_and_scheme(next_url, None) else ""


@require_POST
def sign_in(request: HttpRequest) -> HttpResponse:
    """Send the user to the provider to sign in."""
    return to_provider(request, "sign in", next_url=_next(request))


@login_required
@reauthentication_required(app="allauth.socialaccount")
@require_POST
def connect(request: HttpRequest) -> HttpResponse:
    """Send the signed-in user to the provider, to link the identity there with the account."""
    return to_provider(request, "connect", next_url=reverse("mfa_index"), account=str(request.user.pk))


@login_required
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask the person to sign in at the provider again, before an act that requires it."""
    if identity_of(user_of(request)) is None:
        raise PermissionDenied
    after = _next(request) or reverse("mfa_index")
    if request.method == "POST":
        return to_provider(request, "confirm", next_url=after, fresh=True, account=str(request.user.pk))
    context = {
        "title": gettext("Confirm that it is you"),
        "provider": settings.OIDC_NAME,
        "next": request.GET.get("next", ""),
    }
    return TemplateResponse(request, "account/confirm_provider.html", context)


@login_required
@reauthentication_required(app="allauth.socialaccount")
@require_POST
def disconnect(request: HttpRequest) -> HttpResponse:
    """Remove the link to the provider, if the account has another way to sign in."""
    user = user_of(request)
    identity = identity_of(user)
    if identity is not None and not signs_in_without(identity):
        messages.error(request, LAST_WAY_IN)
    else:
        SocialAccount.objects.filter(user=user).delete()
        note(SecurityKind.PROVIDER_UNLINKED, request, user, settings.OIDC_ISSUER)
        messages.success(request, gettext("The link is removed."))
    return redirect("mfa_index")


def signs_in_without(way: SocialAccount | Authenticator) -> bool:
    """Return whether the person of a passkey or identity can also sign in without it."""
    user = way.user
    passkeys = Authenticator.objects.filter(user=user, type=Authenticator.Type.WEBAUTHN)
    if settings.PASSWORD_SIGN_IN and user.has_usable_password():
        return True
    if isinstance(way, SocialAccount):
        return passkeys.exists()
    return passkeys.exclude(pk=way.pk).exists() or identity_of(user) is not None


LAST_WAY_IN = _("You could not sign in any more. Choose a password or add a passkey first.")

# --- From the provider ----------------------------------------------------------------------------------------------


@contextmanager
def _reading() -> Iterator[None]:
    """Read an answer of the provider; raises OAuth2Error if it has another form than the standards demand."""
    try:
        yield
    except UNREADABLE as error:
        raise OAuth2Error("The provider's answer cannot be read.") from error


class Provider(OpenIDConnectOAuth2Adapter):
    """Reads what the provider says about the person, which is its ID token."""

    def get_client(self, *args: Any, **kwargs: Any) -> Any:
        """Return what calls the provider, by its description of itself; raises OAuth2Error and RequestException."""
        with _reading():
            return super().get_client(*args, **kwargs)

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> Any:
        """Return the answer to the code; raises OAuth2Error and RequestException."""
        with _reading():
            return super().get_access_token_data(*args, **kwargs)

    def parse_token(self, data: Any) -> Any:
        """Return the access token, which is not used; raises OAuth2Error."""
        with _reading():
            # The expiry of a token that is not used does not matter.
            return super().parse_token({"access_token": data["access_token"]})

    def complete_login(self, *args: Any, **kwargs: Any) -> Any:
        """Return the identity; raises OAuth2Error and RequestException."""
        with _reading():
            return super().complete_login(*args, **kwargs)

    def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
        """Return the claims of an ID token, of which the library checks issuer, audience and time where they are there.

        We check the signature too, although the token comes directly from the provider: somebody in between then
        needs the provider's key. Raises OAuth2Error.
        """
        if jwt.get_unverified_header(id_token).get("alg") not in SIGNATURES:
            raise OAuth2Error("The ID token is not signed with a key of the provider.")
        if not self.openid_config["issuer"]:
            raise OAuth2Error("The provider does not name its issuer.")
        self.did_fetch_access_token = False
        claims: dict[str, Any] = super()._decode_id_token(app, id_token)
        if any(claims.get(name) is None for name in REQUIRED_CLAIMS):
            raise OAuth2Error("A required claim of the ID token is missing.")
        if len(claims["sub"]) > LONGEST_SUBJECT or not claims["sub"].isprintable():
            raise OAuth2Error("The subject of the ID token cannot be stored.")
        is_for_others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", "" if is_for_others else app.client_id) != app.client_id:
            raise OAuth2Error("The ID token is for others too, and was not issued to us.")
        return claims


@never_cache
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Handle the provider's answer."""
    if not is_on() or provider_id != settings.OIDC_PROVIDER_ID:
        raise Http404("There is no such provider.")
    try:
        response: HttpResponse = OAuth2CallbackView.adapter_view(Provider(request, provider_id))(request)
    except (RequestException, OAuth2Error):
        logger.warning("The OpenID Connect provider cannot be reached.")
        response = _refusal(request, UNREACHABLE).response
    return response


def _refusal(request: HttpRequest, sentence: object, next_url: str = "") -> ImmediateHttpResponse:
    """Return the exception that leads to the address, or to the page from which the user came, with the sentence."""
    messages.error(request, str(sentence))
    usual = "mfa_index" if request.user.is_authenticated else "account_login"
    return ImmediateHttpResponse(redirect(next_url or usual))


class ProviderAdapter(DefaultSocialAccountAdapter):
    """Decides what an identity at the provider gives access to."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Return False: administrators and directories make accounts."""
        return False

    def get_requests_session(self) -> ProviderSession:
        """Return a session for a call to the provider."""
        return ProviderSession()

    def can_authenticate_by_email(self, login: SocialLogin, email: str) -> bool:
        """Return False: no e-mail address identifies anybody."""
        return False

    def send_notification_mail(self, *args: object, **kwargs: object) -> None:
        """Send nothing: the security log mails the person, to the recovery address."""

    def on_authentication_error(self, request: HttpRequest, provider: object, **kwargs: object) -> None:
        """Explain the failure, on the page from which the user came."""
        logger.warning(
            "Signing in by the provider failed: %s %s",
            str(request.GET.get("error", ""))[:100],
            type(kwargs.get("exception")).__name__ if kwargs.get("exception") else "",
        )
        is_cancelled = kwargs.get("error") == "cancelled"
        sentence = (
            gettext("The sign-in was cancelled.") if is_cancelled else gettext("The sign-in did not work. Try again.")
        )
        raise _refusal(request, sentence)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Do what the person went to the provider for; raises ImmediateHttpResponse unless the sign-in continues."""
        claims = sociallogin.account.extra_data.get("id_token") or {}
        # We do not store anything else that the provider says about the person.
        sociallogin.account.extra_data = {}
        SocialAccount.objects.filter(provider=sociallogin.account.provider, uid=sociallogin.account.uid).update(
            extra_data={}
        )
        data = sociallogin.state.get("data") or {}
        purpose = data.get("purpose")
        if not constant_time_compare(str(claims.get("nonce", "")), data.get("nonce", secrets.token_urlsafe())):
            raise _refusal(request, gettext("This answer of the sign-in service is not for this browser."))
        if purpose == "sign in":
            if not sociallogin.is_existing:
                note(SecurityKind.SIGN_IN_FAILED, request, None, "identity that no account is linked with")
                raise _refusal(request, NOT_LINKED)
        elif purpose == "invitation":
            invited_user = _invited_user(data)
            if invited_user is not None and not links_by_mail(invited_user):
                raise _refusal(request, FACTOR_FIRST)
            self._link(request, sociallogin, invited_user)
        else:
            user = request.user
            if not isinstance(user, User) or str(user.pk) != data.get("account"):
                raise _refusal(request, gettext("You were signed out meanwhile. Sign in and start again."))
            if purpose == "connect":
                self._link(request, sociallogin, user)
                messages.success(request, gettext("From now on you can sign in with this identity."))
            else:
                _note_confirmation(request, sociallogin, user, data, claims)
            raise ImmediateHttpResponse(redirect(sociallogin.state.get("next") or "mfa_index"))

    def _link(self, request: HttpRequest, sociallogin: SocialLogin, user: User | None) -> None:
        """Link the identity with the account; raises ImmediateHttpResponse if that is not possible."""
        if user is None:
            raise _refusal(request, gettext("This link is not valid any more. Ask for a new one."))
        if sociallogin.is_existing and sociallogin.user != user:
            raise _refusal(request, gettext("This identity is linked with another account."))
        if not sociallogin.is_existing:
            current = identity_of(user)
            if current is not None:
                raise _refusal(request, gettext("Your account is linked with another identity already."))
            try:
                with transaction.atomic():
                    sociallogin.account.user = user
                    sociallogin.account.save()
            except IntegrityError:
                raise _refusal(request, gettext("This identity is linked already.")) from None
            note(SecurityKind.PROVIDER_LINKED, request, user, settings.OIDC_ISSUER)
        sociallogin.user = user


NOT_LINKED = _(
    "No account is linked with this identity. Sign in another way and link it under Sign-in and security, "
    "or ask your administrator for an invitation."
)

FACTOR_FIRST = _(
    "This account has a second factor, which a mailed link does not replace. Sign in with it and link the identity "
    "under Sign-in and security, or ask your administrator to remove the second factor."
)


def links_by_mail(user: User) -> bool:
    """Return whether a mailed link is enough to link an identity with the account.

    It is not if the account has a second factor: the provider's own factors would take its place, so that somebody who
    reads the mails of its person could sign in as that person.
    """
    return not is_mfa_enabled(user, ["totp", "webauthn"])


def _invited_user(data: dict[str, object]) -> User | None:
    """Return the account of a person who came with a mailed link, if the link is still valid."""
    from records.backoffice.passwords import account_of_link

    return account_of_link(str(data.get("uid", "")), str(data.get("token", "")))


def _note_confirmation(
    request: HttpRequest, sociallogin: SocialLogin, user: User, data: dict[str, Any], claims: dict[str, object]
) -> None:
    """Record in the session that the person has just signed in at the provider, and for which purpose."""
    signed_in_at = claims.get("auth_time")
    next_url = sociallogin.state.get("next") or ""
    fresh = isinstance(signed_in_at, int | float) and signed_in_at >= data.get("asked_at", 0) - CLOCKS_DIFFER
    if not sociallogin.is_existing or sociallogin.user != user:
        raise _refusal(request, gettext("You signed in as somebody else."), next_url)
    if not fresh:
        note(SecurityKind.REFUSED, request, user, "the provider did not ask the person anew")
        raise _refusal(request, gettext("The sign-in service did not ask you again. Try again."), next_url)
    request.session[CONFIRMATION_KEY] = {
        "account": str(user.pk),
        "at": int(time.time()),
        "purpose": data.get("confirms", ""),
    }
