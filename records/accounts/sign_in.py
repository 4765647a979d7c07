"""Signing in by name and password: who may, and how often a password may be tried (DECISIONS 9.7, 9.8)."""

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from records.accounts import guesses
from records.accounts.browsers import browser_known_to
from records.accounts.models import SecurityKind, User
from records.accounts.security import security_event
from records.sites.text import fold


def begin_guess(request: HttpRequest, account: User | None, name: str = "") -> guesses.Attempt:
    """Count an attempt at the account, or at a name that no account has, under the address of the request.

    Raises TooManyGuessesError, which is also stored on the request as `guess_refusal`, so that the answer is a 429.
    """
    try:
        return guesses.begin(
            str(account.pk) if account is not None else fold(name),
            address=request.META.get("REMOTE_ADDR", ""),
            browser=browser_known_to(request, account),
        )
    except guesses.TooManyGuessesError as refusal:
        request.guess_refusal = refusal  # type: ignore[attr-defined]
        raise


def note_wrong(request: HttpRequest, account: User | None, attempt: guesses.Attempt, detail: str = "") -> None:
    """Write a wrong guess to the security log, and the lock-out if this guess locked the account."""
    address = request.META.get("REMOTE_ADDR", "")
    security_event(SecurityKind.SIGN_IN_FAILED, account=account, address=address, detail=detail)
    if account is not None and attempt.locks_account:
        security_event(SecurityKind.LOCKED_OUT, account=account, address=address, detail=detail)


def own_password(request: HttpRequest, user: User, password: str) -> bool:
    """Return whether this is the user's password; counts like a sign-in. Raises TooManyGuessesError."""
    if not settings.PASSWORD_SIGN_IN or not user.has_usable_password():
        return False
    attempt = begin_guess(request, user)
    right = user.check_password(password)
    if right:
        attempt.was_right()
    else:
        note_wrong(request, user, attempt, "password asked again")
    return right


class AccountBackend(ModelBackend):
    """Authenticates active people; service accounts and removed accounts cannot sign in."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: object
    ) -> User | None:
        """Return the account with the name (in any case) and password; counts the attempt if there is a request.

        Raises PermissionDenied, which stops Django from asking further backends, if the attempt is refused unchecked.
        """
        if not settings.PASSWORD_SIGN_IN or not username or password is None:
            return None
        if request is None:
            return self._user_with_password(username, password)
        account = User.objects.filter(user_name_key=fold(username)).first()
        try:
            attempt = begin_guess(request, account, username)
        except guesses.TooManyGuessesError as refusal:
            raise PermissionDenied(refusal.message) from refusal
        user = self._user_with_password(username, password)
        if user is not None:
            attempt.was_right()
        else:
            note_wrong(request, account, attempt)
        return user

    def _user_with_password(self, username: str, password: str) -> User | None:
        user = super().authenticate(None, username=username, password=password)
        return user if isinstance(user, User) else None

    def user_can_authenticate(self, user: User | None) -> bool:  # type: ignore[override]
        """Return whether the account may have a session."""
        return user is not None and user.is_staff
