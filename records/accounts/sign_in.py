"""Signing in to the back-office by name and password."""

from django.contrib.auth.backends import ModelBackend

from records.accounts.models import User


class AccountBackend(ModelBackend):
    """Lets active people in; service accounts and removed accounts cannot sign in."""

    def user_can_authenticate(self, user: User | None) -> bool:  # type: ignore[override]
        """Return whether the account may have a session."""
        return user is not None and user.is_staff and user.removed is None
