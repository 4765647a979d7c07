"""Authentication for /materials: a subscription key and an access token of the same user (DECISIONS 2.3)."""

from typing import Any, ClassVar

from rest_framework.request import Request

from records.accounts.models.oauth import READ_MATERIALS, WRITE_MATERIALS
from records.accounts.tokens import TokenCaller, opened_by, remembered_caller
from records.operations import limits
from records.operations.credentials import LONGEST, CredentialAuthentication, key_in
from records.operations.errors import ApiError, unauthorized
from records.operations.operation import Operation

REALM = 'Bearer realm="Larder"'


def no_token(message: str, error: str = "") -> ApiError:
    """Return the 401 that asks for an access token; `error` names what is wrong with the token (RFC 6750, 3.1)."""
    challenge = f'{REALM}, error="{error}", error_description="{message}"' if error else REALM
    return ApiError(401, "Unauthorized", message, headers={"WWW-Authenticate": challenge})


def insufficient_scope(scope: str) -> ApiError:
    """Return the 403 for a token without the scope that the operation needs (RFC 6750, 3.1)."""
    challenge = f'{REALM}, error="insufficient_scope", scope="{scope}"'
    message = f"The access token lacks the scope {scope}."
    return ApiError(403, "Forbidden", message, headers={"WWW-Authenticate": challenge})


def token_in(request: Request) -> str:
    """Return the token in the Authorization header, which is `Bearer <token>` or the token alone."""
    authorization = str(request.META.get("HTTP_AUTHORIZATION", ""))
    scheme, _, credential = authorization.strip().partition(" ")
    return credential.strip() if scheme.lower() == "bearer" else authorization.strip()


def scope_of(operation: Operation) -> str:
    """Return the scope that an access token needs for the operation."""
    return WRITE_MATERIALS if operation.writes else READ_MATERIALS


class KeyAndTokenAuthentication(CredentialAuthentication):
    """Reads `Ocp-Apim-Subscription-Key` and `Authorization`."""

    scheme_name = "accessToken"
    scheme: ClassVar[dict[str, Any]] = {
        "type": "oauth2",
        "description": "`Authorization: Bearer <access token>`, a token of the subscription key's own user.",
        "flows": {
            "clientCredentials": {
                "tokenUrl": "/oauth/token",
                "scopes": {READ_MATERIALS: "Read materials.", WRITE_MATERIALS: "Add, change and archive materials."},
            }
        },
    }

    @classmethod
    def required_by(cls, operation: Operation) -> dict[str, list[str]]:
        """Return both credentials, and the scope that the operation needs."""
        return {"subscriptionKey": [], cls.scheme_name: [scope_of(operation)]}

    def authenticate(self, request: Request) -> tuple[TokenCaller, Any]:
        """Return the caller and None; raises a 401 that says which credential is missing or wrong."""
        key, token = key_in(request), token_in(request)
        if not key:
            raise unauthorized()
        if not token:
            raise no_token("An access token is required: Authorization: Bearer <token>.")
        opened = opened_by(key[: LONGEST + 1], token[: LONGEST + 1])
        if opened.caller is not None:
            return opened.caller, None
        request._request.larder_key = opened.key_id  # type: ignore[attr-defined]
        limits.note_wrong_credential(request._request)
        if not opened.key_opens:
            raise unauthorized("This subscription key is not valid: it is unknown, expired or revoked.")
        raise no_token("The access token is unknown, expired or revoked, or belongs to another user.", "invalid_token")

    def remembered_caller(self, request: Request) -> TokenCaller | None:
        """Return the caller that used both within the last minute, whose access must still be checked, or None."""
        return remembered_caller(key_in(request), token_in(request))

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge for the 401."""
        return REALM
