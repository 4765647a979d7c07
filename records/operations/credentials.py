"""How a request to the six endpoints is authenticated: by the subscription key in its header."""

from functools import lru_cache
from typing import Any, ClassVar

from django.http.response import HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from records.accounts.keys import Caller, KeyEndedError, caller_of, remembered_caller
from records.operations import limits
from records.operations.errors import unauthorized
from records.operations.operation import Operation
from records.operations.own_headers import put

LONGEST = 200
KEY_HEADER = "Ocp-Apim-Subscription-Key"


def keep_private(response: HttpResponseBase, *headers: str) -> None:
    """Mark the answer as private to its caller, and list the request headers that it depends on (DECISIONS 1.16).

    No cache may store it. A caller that keeps the ETag itself can still ask whether the record has changed.
    """
    put(response, {"Cache-Control": "private, no-store"})
    put(response, {"Vary": _varying(response.get("Vary", ""), headers)})


@lru_cache(100)
def _varying(vary: str, headers: tuple[str, ...]) -> str:
    """Return the header Vary with these headers in addition to those that it names already."""
    response = HttpResponse(headers={"Vary": vary} if vary else {})
    patch_vary_headers(response, headers)
    return response["Vary"]


class CredentialAuthentication(BaseAuthentication):
    """Reads an endpoint's credentials, and declares them for the OpenAPI document."""

    scheme_name: ClassVar[str]
    scheme: ClassVar[dict[str, str]]
    """The security scheme of OpenAPI that describes the credential."""

    @classmethod
    def required_by(cls, operation: Operation) -> dict[str, list[str]]:
        """Return the schemes that the operation requires together, each with the scopes that it needs."""
        return {cls.scheme_name: []}


class SubscriptionKeyAuthentication(CredentialAuthentication):
    """Reads `Ocp-Apim-Subscription-Key`."""

    scheme_name = "subscriptionKey"
    scheme: ClassVar[dict[str, str]] = {"type": "apiKey", "in": "header", "name": KEY_HEADER}

    def authenticate(self, request: Request) -> tuple[Caller, Any]:
        """Return the caller and None; raises the 401 if the key is missing, wrong, revoked or expired."""
        secret = key_in(request)
        if not secret:
            raise unauthorized()
        try:
            caller = caller_of(secret) if len(secret) <= LONGEST else None
        except KeyEndedError as ended:
            caller = None
            request._request.larder_key = ended.key_id  # type: ignore[attr-defined]
        if caller is None:
            limits.note_wrong_credential(request._request)
            raise unauthorized("This subscription key is not valid: it is unknown, expired or revoked.")
        return caller, None

    def remembered_caller(self, request: Request) -> Caller | None:
        """Return who used the key within the last minute, whose proof must still be checked; None if unknown."""
        return remembered_caller(key_in(request))

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of the 401."""
        return unauthorized().headers["WWW-Authenticate"]


def key_in(request: Request) -> str:
    """Return the subscription key of a request, or an empty text."""
    return str(request.META.get("HTTP_OCP_APIM_SUBSCRIPTION_KEY", "")).strip()
