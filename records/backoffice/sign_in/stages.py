"""The step between the password and the session: the second factor."""

from typing import Any

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.stages import AuthenticateStage
from allauth.mfa.utils import is_mfa_enabled
from django.http import HttpRequest
from django.utils.crypto import constant_time_compare

ACCOUNT = "account"
"""The key of the account's session hash in the state of the step."""


class FactorStage(AuthenticateStage):
    """Asks for the second factor, except after the company's provider, which asks for one itself (DECISIONS 9.7).

    A new password, and whatever ends the account's sessions, also ends a sign-in that waits for its second factor.
    """

    def handle(self) -> Any:
        """Begin the step: return the answer that leads to its page, if there is one, and whether to go on."""
        if self.login.user is not None:
            self.state[ACCOUNT] = self.login.user.get_session_auth_hash()
        return super().handle()

    def still_holds(self) -> bool:
        """Return whether the account is as it was when its password was typed."""
        user = self.login.user
        return user is not None and constant_time_compare(self.state.get(ACCOUNT, ""), user.get_session_auth_hash())

    def is_resumable(self, request: HttpRequest) -> bool:
        """Return whether the step still has something to ask for; when the factors are gone, people sign in anew."""
        user = self.login.user
        return user is not None and is_mfa_enabled(user, [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN])

    def _should_handle(self, request: HttpRequest) -> bool:
        records = get_authentication_records(request, self.login.user)
        if records and records[-1].get("method") == "socialaccount":
            return False
        return bool(super()._should_handle(request))
