"""The step between the password and the session: the second factor."""

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.stages import AuthenticateStage
from django.http import HttpRequest


class FactorStage(AuthenticateStage):
    """Asks for the second factor, except after the company's provider, which asks for one itself (DECISIONS 9.7)."""

    def _should_handle(self, request: HttpRequest) -> bool:
        records = get_authentication_records(request, self.login.user)
        if records and records[-1].get("method") == "socialaccount":
            return False
        return bool(super()._should_handle(request))
