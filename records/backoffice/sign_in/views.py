"""The pages of sign-in and of factors: django-allauth's views inside our back-office."""

from typing import Any

from allauth.account import views as account_views
from allauth.account.models import Login
from allauth.account.utils import get_next_redirect_url
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import views as factor_views
from allauth.mfa.recovery_codes import views as recovery_views
from allauth.mfa.totp import views as totp_views
from allauth.mfa.webauthn import views as passkey_views
from allauth.mfa.webauthn.internal import flows
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.models import User
from records.backoffice.current import current_site, show_times_of, user_of
from records.backoffice.sign_in import provider
from records.backoffice.sign_in.adapters import factor_demanded


class InBackoffice:
    """A view whose page has the back-office's header and menu, and a title."""

    request: HttpRequest
    title: Any = ""

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        """Add what every page of the back-office shows."""
        if self.request.user.is_authenticated:
            show_times_of(current_site(self.request))
        context: dict[str, object] = super().get_context_data(**kwargs)  # type: ignore[misc]
        return {**admin.site.each_context(self.request), "title": self.title, **context}


def in_backoffice(view: type[Any], title: object) -> type[Any]:
    """Return a view of django-allauth whose page is one of the back-office, with a title."""
    return type(view.__name__, (InBackoffice, view), {"title": title})


class SignIn(InBackoffice, account_views.LoginView):
    """Asks for user name and password, and offers the passkey and the company's provider."""

    title = _("Sign in to Larder")
    template_name = "account/login.html"

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> Any:
        """Sign in with a password, if that is allowed."""
        if not settings.PASSWORD_SIGN_IN:
            raise PermissionDenied
        return super().post(request, *args, **kwargs)

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        """Add the ways in which people sign in here."""
        provider_name = settings.OIDC_NAME if provider.is_on() else ""
        next_url = self.get_next_url() or ""
        context = {"passwords": settings.PASSWORD_SIGN_IN, "provider": provider_name, "next": next_url}
        return {**super().get_context_data(**kwargs), **context}


class PasskeySignIn(passkey_views.LoginWebAuthnView):
    """Signs in with a passkey alone, and continues to the requested page."""

    def form_valid(self, form: Any) -> Any:
        """Sign in."""
        passkey = form.cleaned_data["credential"]
        login = Login(user=passkey.user, redirect_url=get_next_redirect_url(self.request))
        return flows.perform_passwordless_login(self.request, passkey, login)


class Factor(InBackoffice, factor_views.AuthenticateView):
    """Asks for the second factor."""

    title = _("One more step")

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> Any:
        """Sign in, unless the password was changed or the account's sessions were ended since the first step."""
        if not self.stage.still_holds():
            messages.error(request, gettext("Your session has ended. Sign in again to go on."))
            return self.stage.abort()
        return super().post(request, *args, **kwargs)


class OneAtATime(InBackoffice):
    """Removes a second factor under a lock: two removals at once cannot take the last factor that a person needs."""

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> Any:
        """Remove the factor. Locks the account's row."""
        with transaction.atomic():
            User.objects.select_for_update(of=("self",), no_key=True).get(pk=request.user.pk)
            return super().post(request, *args, **kwargs)  # type: ignore[misc]


class RemoveApp(OneAtATime, totp_views.DeactivateTOTPView):
    """Removes the authenticator app."""

    title = _("Remove the authenticator app")


class RemovePasskey(OneAtATime, passkey_views.RemoveWebAuthnView):
    """Removes a passkey, unless the person needs it."""

    title = _("Remove a passkey")

    def form_valid(self, form: Any) -> Any:
        """Remove it, or say why it stays."""
        passkey, adapter = self.get_object(), get_adapter()
        if not adapter.can_delete_authenticator(passkey):
            messages.error(self.request, adapter.error_messages["cannot_delete_authenticator"])
        elif not provider.signs_in_without(passkey):
            messages.error(self.request, provider.LAST_WAY_IN)
        else:
            return super().form_valid(form)
        return redirect(self.get_success_url())


class Factors(InBackoffice, factor_views.IndexView):
    """Shows the person's factors, and the identity at the company's provider."""

    title = _("Sign-in and security")

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        """Add the parts that are not factors."""
        user = user_of(self.request)
        part_settings = {
            "provider": settings.OIDC_NAME if provider.is_on() else "",
            "identity": provider.identity_of(user),
            "password": settings.PASSWORD_SIGN_IN and user.has_usable_password(),
            "demanded": factor_demanded(user),
        }
        return {**super().get_context_data(**kwargs), **part_settings}


Logout = in_backoffice(account_views.LogoutView, _("Log out"))
ConfirmByPassword = in_backoffice(account_views.ReauthenticateView, _("Confirm that it is you"))
ConfirmByCode = in_backoffice(factor_views.ReauthenticateView, _("Confirm that it is you"))
ConfirmByPasskey = in_backoffice(passkey_views.ReauthenticateWebAuthnView, _("Confirm that it is you"))
AddApp = in_backoffice(totp_views.ActivateTOTPView, _("Set up an authenticator app"))
ShowCodes = in_backoffice(recovery_views.ViewRecoveryCodesView, _("Recovery codes"))
MakeCodes = in_backoffice(recovery_views.GenerateRecoveryCodesView, _("New recovery codes"))
Passkeys = in_backoffice(passkey_views.ListWebAuthnView, _("Passkeys"))
AddPasskey = in_backoffice(passkey_views.AddWebAuthnView, _("Add a passkey"))
RenamePasskey = in_backoffice(passkey_views.EditWebAuthnView, _("Rename a passkey"))
