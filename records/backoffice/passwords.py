"""Passwords by mail: every active account of a person can ask for a link and choose a password with it."""

import logging
import time
from collections.abc import Iterator
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import PasswordChangeForm, PasswordResetForm, SetPasswordForm
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import (
    PasswordResetCompleteView,
    PasswordResetConfirmView,
    PasswordResetDoneView,
    PasswordResetView,
)
from django.core.cache import cache
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import path, reverse, reverse_lazy
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from records.accounts.actions import set_password
from records.accounts.models import User
from records.history.trail import Author, Channel

logger = logging.getLogger("larder.mail")
MAILS_AN_HOUR = 10


def password_link(user: User) -> str:
    """Return the address at which the account's person chooses a password; it works once and for three days."""
    key = urlsafe_base64_encode(force_bytes(user.pk))
    path = reverse("password_reset_confirm", args=(key, default_token_generator.make_token(user)))
    return f"{settings.BASE_URL.rstrip('/')}{path}"


def send_password_link(user: User, *, invited: bool = False) -> None:
    """Mail the account's person the link; `invited` words it for somebody who never signed in."""
    context = {"user": user, "link": password_link(user), "invited": invited, "base_url": settings.BASE_URL}
    subject = "Your account at Larder" if invited else "Choose a new password for Larder"
    send_mail(subject, render_to_string("registration/password_mail.txt", context), None, [user.recovery_address])


def author_of_owner(user: User) -> Author:
    """Return the author of what a person does to the own account."""
    return Author(user.pk, user.printed_name, Channel.BACKOFFICE)


class ForgottenForm(PasswordResetForm):
    """Asks for the address of an account."""

    def get_users(self, email: str) -> Iterator[User]:
        """Yield the active people with this address, also those who never had a password."""
        found = User.objects.filter(
            recovery_address__iexact=email, is_active=True, is_service_account=False, removed__isnull=True
        ).exclude(recovery_address="")
        # Databases fold more letters than two addresses share: only what folds alike here is the same address.
        yield from (user for user in found if user.recovery_address.casefold() == email.casefold())

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Mail the link to each of them; links are built from our own address, never from the request's."""
        for user in self.get_users(self.cleaned_data["email"]):
            try:
                send_password_link(user)
            except (OSError, SMTPException):
                # Whoever asks learns nothing from it: an address without account answers alike.
                logger.exception("A password link could not be mailed.")


class ChoosePasswordForm(SetPasswordForm):  # type: ignore[type-arg]
    """Sets the password of whoever followed a link."""

    def save(self, commit: bool = True) -> Any:
        """Store the password and leave an entry in the history."""
        set_password(self.user, self.cleaned_data["new_password1"], author=author_of_owner(self.user))
        return self.user


class ChangePasswordForm(ChoosePasswordForm, PasswordChangeForm):
    """Changes the own password, which is asked for first."""


def links_left(request: HttpRequest) -> bool:
    """Return whether this address may ask for another mail: ten in an hour, so that nobody is flooded."""
    key = f"password-mails:{request.META.get('REMOTE_ADDR', '')}:{int(time.time()) // 3600}"
    cache.add(key, 0, 7200)
    return int(cache.incr(key)) <= MAILS_AN_HOUR


class ForgottenView(PasswordResetView):
    """Asks for an e-mail address and answers the same whether or not an account has it."""

    form_class = ForgottenForm
    success_url = reverse_lazy("admin_password_reset_done")
    extra_context = {"title": "Forgotten your password?"}

    def form_valid(self, form: Any) -> HttpResponse:
        """Mail the links, unless this address asked too often."""
        if not links_left(self.request):
            form.add_error(None, "Too many messages were asked for from here. Try again in an hour.")
            return self.form_invalid(form)
        return super().form_valid(form)


urlpatterns = [
    path("password/", ForgottenView.as_view(), name="admin_password_reset"),
    path(
        "password/sent/",
        PasswordResetDoneView.as_view(extra_context={"title": "Look into your mail"}),
        name="admin_password_reset_done",
    ),
    path(
        "password/<uidb64>/<token>/",
        PasswordResetConfirmView.as_view(
            form_class=ChoosePasswordForm,
            success_url=reverse_lazy("password_reset_complete"),
            extra_context={"title": "Choose a password"},
        ),
        name="password_reset_confirm",
    ),
    path(
        "password/set/",
        PasswordResetCompleteView.as_view(extra_context={"title": "Password set"}),
        name="password_reset_complete",
    ),
]
