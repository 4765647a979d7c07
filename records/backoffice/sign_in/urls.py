"""URLs of sign-in, factors and sessions. Their names are those that django-allauth's views look up."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.urls import URLPattern, path
from django.views.decorators.cache import never_cache

from records.backoffice.sign_in import provider, sessions, views


def _own(view: Any, name: str, route: str) -> URLPattern:
    """Return the URL pattern of a page for signed-in users, which no browser caches."""
    return path(route, never_cache(login_required(view.as_view())), name=name)


urlpatterns = [
    path("logout/", views.Logout.as_view(), name="account_logout"),
    path("login/factor/", views.Factor.as_view(), name="mfa_authenticate"),
    path("login/passkey/", views.PasskeySignIn.as_view(), name="mfa_login_webauthn"),
    path("login/provider/", provider.sign_in, name="provider_sign_in"),
    path("oidc/<str:provider_id>/login/callback/", provider.callback, name="openid_connect_callback"),
    _own(views.ConfirmByPassword, "account_reauthenticate", "confirm/password/"),
    _own(views.ConfirmByCode, "mfa_reauthenticate", "confirm/code/"),
    _own(views.ConfirmByPasskey, "mfa_reauthenticate_webauthn", "confirm/passkey/"),
    path("confirm/provider/", never_cache(provider.confirm), name="provider_confirm"),
    _own(views.Factors, "mfa_index", "security/"),
    path("security/provider/link/", provider.connect, name="provider_connect"),
    path("security/provider/unlink/", provider.disconnect, name="provider_disconnect"),
    path("security/sessions/", never_cache(sessions.sessions), name="usersessions_list"),
    _own(views.AddApp, "mfa_activate_totp", "security/app/"),
    _own(views.RemoveApp, "mfa_deactivate_totp", "security/app/remove/"),
    _own(views.ShowCodes, "mfa_view_recovery_codes", "security/codes/"),
    _own(views.MakeCodes, "mfa_generate_recovery_codes", "security/codes/new/"),
    _own(views.Passkeys, "mfa_list_webauthn", "security/passkeys/"),
    _own(views.AddPasskey, "mfa_add_webauthn", "security/passkeys/add/"),
    _own(views.RenamePasskey, "mfa_edit_webauthn", "security/passkeys/<int:pk>/"),
    _own(views.RemovePasskey, "mfa_remove_webauthn", "security/passkeys/<int:pk>/remove/"),
]
