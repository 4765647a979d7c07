"""Passwords by mail and by the user: requesting a link, setting a password with it, changing one's own password.

A link for a new password is valid for an hour (PASSWORD_RESET_TIMEOUT), an invitation for three days (INVITATION), and
each works once (DECISIONS 9.8).
"""

import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import (
    INTERNAL_RESET_SESSION_TOKEN,
    PasswordChangeView,
    PasswordResetCompleteView,
    PasswordResetConfirmView,
    PasswordResetDoneView,
)
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import path, reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from django.views.generic import FormView

from records.accounts import guesses
from records.accounts.actions import set_password
from records.accounts.languages import in_language_of
from records.accounts.models import User
from records.accounts.sign_in import own_password
from records.backoffice.fields import AddressInput
from records.backoffice.sign_in import provider
from records.history.trail import Author, Channel

INVITATION = datetime.timedelta(days=3)
LINKS_OF_ACCOUNT, LINKS_FROM_ADDRESS = 5, 30
"""How many links for a new password one account gets per hour, and how many one address may request."""
NO_PASSWORD = _("Your account has no password. A link for choosing one can be mailed to you on the sign-in page.")


class LinkTokens(PasswordResetTokenGenerator):
    """Tokens of mailed links; a new password or recovery address, a sign-in, or ending the sessions voids them."""

    key_salt = "larder.mailed-link"

    def make(self, user: User, lifetime: datetime.timedelta) -> str:
        """Return a token with the lifetime: its timestamp is later by what exceeds PASSWORD_RESET_TIMEOUT."""
        extra_seconds = int(lifetime.total_seconds()) - settings.PASSWORD_RESET_TIMEOUT
        moment = self._num_seconds(self._now()) + extra_seconds
        return str(self._make_token_with_timestamp(user, moment, self.secret))

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.session_epoch}:{user.recovery_address}"


tokens = LinkTokens()


def password_link(user: User, lifetime: datetime.timedelta) -> str:
    """Return the URL at which the account's person sets a password; it works once."""
    key = urlsafe_base64_encode(force_bytes(user.pk))
    path = reverse("password_reset_confirm", args=(key, tokens.make(user, lifetime)))
    return f"{settings.BASE_URL}{path}"


def account_of_link(uid: str, token: str) -> User | None:
    """Return the account of a mailed link, if the link is valid and the account may sign in."""
    try:
        user = User.objects.get(pk=urlsafe_base64_decode(uid).decode())
    except (User.DoesNotExist, ValidationError, ValueError, UnicodeDecodeError):
        return None
    return user if user.is_staff and tokens.check_token(user, token) else None


def send_password_link(user: User, *, is_invitation: bool = False) -> None:
    """Mail the link to the account's person; `is_invitation` selects the text for somebody who has never signed in."""
    lifetime = INVITATION if is_invitation else datetime.timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
    context = {
        "user": user,
        "link": password_link(user, lifetime),
        "is_invitation": is_invitation,
        "days": lifetime.days,
        "minutes": int(lifetime.total_seconds()) // 60,
        "base_url": settings.BASE_URL,
    }
    with in_language_of(user):
        subject = gettext("Your account at Larder") if is_invitation else gettext("Choose a new password for Larder")
        text = render_to_string("registration/password_mail.txt", context)
    send_mail(subject, text, None, [user.recovery_address])


def people_with_address(address: str) -> list[User]:
    """Return the active people with this recovery address, including those who have never had a password."""
    users = User.objects.filter(
        recovery_address__iexact=address, is_active=True, is_service_account=False, removed__isnull=True
    ).exclude(recovery_address="")
    # Databases fold more letters than we do; only addresses that are equal under our own folding are the same address.
    return [user for user in users if user.recovery_address.casefold() == address.casefold()]


# --- Asking for a link ----------------------------------------------------------------------------------------------


class ForgottenForm(forms.Form):
    """Asks for the e-mail address of an account."""

    email = forms.EmailField(label=_("E-mail address"), max_length=254, widget=AddressInput({"autocomplete": "email"}))


class ForgottenView(FormView[ForgottenForm]):
    """Asks for an e-mail address, and reacts the same whether or not an account has it: the worker checks that."""

    form_class = ForgottenForm
    template_name = "registration/password_reset_form.html"
    success_url = reverse_lazy("admin_password_reset_done")
    extra_context = {"title": _("Forgotten your password?")}

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Answer 404 if nobody signs in with a password."""
        _refuse_without_passwords()
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: ForgottenForm) -> HttpResponse:
        """Let the worker mail the links, unless this address has requested too many."""
        from records.backoffice.tasks import mail_links

        address = guesses.counted_address(self.request.META.get("REMOTE_ADDR", ""))
        try:
            guesses.spend("links-from", address, LINKS_FROM_ADDRESS)
        except guesses.TooManyGuessesError as refusal:
            self.request.guess_refusal = refusal  # type: ignore[attr-defined]
            form.add_error(None, gettext("Too many links were requested from your network. Try again in an hour."))
            return self.form_invalid(form)
        mail_links.enqueue(form.cleaned_data["email"])
        return super().form_valid(form)


# --- Choosing a password --------------------------------------------------------------------------------------------


class ChoosePasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """Sets the password of a user who followed a link."""

    error_messages = {"password_mismatch": _("The two passwords are not the same.")}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        first, second = self.fields["new_password1"], self.fields["new_password2"]
        first.label, second.label = gettext("New password"), gettext("New password confirmation")
        second.help_text = gettext("Type the new password once more.")

    def save(self, commit: bool = True) -> Any:
        """Store the password and a history entry."""
        author = Author(self.user.pk, self.user.printed_name, Channel.BACKOFFICE)
        set_password(self.user, self.cleaned_data["new_password1"], author=author)
        return self.user


class ChoosePasswordView(PasswordResetConfirmView):
    """The page for users who followed a link: they set a password, or continue with the company's provider."""

    form_class = ChoosePasswordForm
    token_generator = tokens
    success_url = reverse_lazy("password_reset_complete")

    def get_user(self, uidb64: str) -> User | None:
        """Return the account, unless it may not sign in."""
        user = super().get_user(uidb64)
        return user if isinstance(user, User) and user.is_staff else None

    def get_context_data(self, **kwargs: object) -> dict[str, object]:
        """Add the title, whether passwords are in use, and the company's provider."""
        user = self.user if self.validlink and provider.is_on() else None
        factor_first = user is not None and not provider.links_by_mail(user)
        title = gettext("Choose a password") if settings.PASSWORD_SIGN_IN else gettext("Your account at Larder")
        return {
            **super().get_context_data(**kwargs),
            "title": title if self.validlink else gettext("This link does not work"),
            "passwords": settings.PASSWORD_SIGN_IN,
            "uid": self.kwargs["uidb64"],
            "provider": "" if factor_first else provider.name(),
            "factor_first": provider.FACTOR_FIRST if factor_first and not settings.PASSWORD_SIGN_IN else "",
        }

    def form_valid(self, form: Any) -> HttpResponse:
        """Store the password."""
        _refuse_without_passwords()
        return super().form_valid(form)


@never_cache
@require_POST
def use_provider(request: HttpRequest, uidb64: str) -> HttpResponse:
    """Send a user who followed a link to the company's provider, to link the identity there with the account."""
    token = request.session.get(INTERNAL_RESET_SESSION_TOKEN, "")
    return provider.to_provider(request, "invitation", uid=uidb64, token=token)


class ChangePasswordForm(ChoosePasswordForm, PasswordChangeForm):
    """Changes the user's own password after asking for the present one, which counts as a guess as in a sign-in."""

    def __init__(self, *args: object, request: HttpRequest, **kwargs: object) -> None:
        self.request = request
        super().__init__(*args, **kwargs)
        self.fields["old_password"].label = gettext("Old password")

    def clean_old_password(self) -> str:
        """Return the typed password if it is the user's."""
        password = str(self.cleaned_data["old_password"])
        if not own_password(self.request, self.user, password):
            raise ValidationError(gettext("This is not your password."), code="password_incorrect")
        return password


@method_decorator(never_cache, name="dispatch")
class ChangePasswordView(PasswordChangeView):
    """Changes the user's own password; other sessions of the account end."""

    form_class = ChangePasswordForm

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        """Redirect users who have no password to change."""
        _refuse_without_passwords()
        if request.user.is_authenticated and not request.user.has_usable_password():
            messages.info(request, NO_PASSWORD)
            return redirect("profile")
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, object]:
        """Pass the request on, which is needed to count guesses."""
        return {**super().get_form_kwargs(), "request": self.request}


def _refuse_without_passwords() -> None:
    if not settings.PASSWORD_SIGN_IN:
        raise Http404(gettext("Passwords are not used to sign in here."))


urlpatterns = [
    path("password/", ForgottenView.as_view(), name="admin_password_reset"),
    path(
        "password/sent/",
        PasswordResetDoneView.as_view(extra_context={"title": _("Check your mail")}),
        name="admin_password_reset_done",
    ),
    path("password/<uidb64>/provider/", use_provider, name="password_use_provider"),
    path("password/<uidb64>/<token>/", ChoosePasswordView.as_view(), name="password_reset_confirm"),
    path(
        "password/set/",
        PasswordResetCompleteView.as_view(extra_context={"title": _("Password set")}),
        name="password_reset_complete",
    ),
]
