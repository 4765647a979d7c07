"""The OAuth 2 server, built on Authlib: client credentials and revocation (RFC 6749, 7009, 8414)."""

import base64
import binascii
import datetime
from typing import Any
from urllib.parse import unquote_plus

from authlib.integrations.django_oauth2 import AuthorizationServer, RevocationEndpoint
from authlib.oauth2.rfc6749 import grants
from authlib.oauth2.rfc6749.errors import InvalidClientError, InvalidRequestError, InvalidScopeError
from authlib.oauth2.rfc6749.requests import OAuth2Payload, OAuth2Request
from django.db import transaction
from django.http import QueryDict

from records.accounts import clients, peppers
from records.accounts.models import SCOPES, AccessToken, OAuthClient
from records.history.trail import now

LIFETIME = datetime.timedelta(minutes=30)
RETENTION = datetime.timedelta(days=1)
"""How long an expired token is kept."""
AUTH_METHODS = ["client_secret_basic", "client_secret_post"]
LONGEST = 200
UNKNOWN = "This client is unknown, expired or revoked."


class Form(OAuth2Payload):
    """The fields of a request's form body."""

    def __init__(self, fields: QueryDict) -> None:
        self.fields = fields

    @property
    def data(self) -> dict[str, object]:
        """Return each field's value."""
        return dict(self.fields.items())

    @property
    def datalist(self) -> dict[str, list[str]]:
        """Return each field's values."""
        return dict(self.fields.lists())


class FormRequest(OAuth2Request):
    """A POST with a form body; query parameters are ignored (RFC 6749, 2.3.1).

    The settings (BASE_URL) decide whether the connection is secure; what the request itself says is ignored.
    """

    def __init__(self, form: QueryDict, authorization: str) -> None:
        super().__init__("POST", "https://localhost/", headers={"Authorization": authorization})
        self.payload = Form(form)

    @property
    def form(self) -> dict[str, Any]:
        """Return the form's fields."""
        return self.payload.data


class WrongClientError(InvalidClientError):
    """Raised for a wrong client id or secret; unlike missing ones, wrong ones count against the address."""


def _basic(authorization: str) -> tuple[str, str] | None:
    """Return the id and secret of a Basic header, form-decoded (RFC 6749, 2.3.1); None if there is no such header."""
    scheme, _, encoded = authorization.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise WrongClientError(description="The Basic header cannot be read.", status_code=401) from error
    client_id, _, secret = text.partition(":")
    return unquote_plus(client_id), unquote_plus(secret)


class Server(AuthorizationServer):
    """Issues tokens to the clients; every failed authentication is a 401 with invalid_client."""

    def authenticate_client(self, request: FormRequest, methods: list[str], endpoint: str = "token") -> OAuthClient:
        """Return the client that the Basic header or the body's fields authenticate; raises InvalidClientError."""
        if request.client is not None:
            return request.client
        basic = _basic(request.headers["Authorization"])
        form = request.form
        form_credentials = (str(form.get("client_id", "")), str(form.get("client_secret", "")))
        if basic is not None and form_credentials[1]:
            raise InvalidRequestError("Authenticate in the header or in the body, not in both.")
        if basic is not None and form_credentials[0].casefold() not in ("", basic[0].casefold()):
            raise InvalidRequestError("The header and the body name two clients.")
        client_id, secret = basic or form_credentials
        if not client_id or not secret:
            raise InvalidClientError(description="Send the client id and the client secret.", status_code=401)
        client = clients.client_of(client_id, secret) if len(client_id) + len(secret) <= LONGEST else None
        if client is None:
            raise WrongClientError(description=UNKNOWN, status_code=401)
        request.auth_method = AUTH_METHODS[0] if basic else AUTH_METHODS[1]
        request.client = client
        return client

    def create_oauth2_request(self, request: FormRequest) -> FormRequest:
        """Return the request unchanged: it already has the type that Authlib expects."""
        return request

    def save_token(self, token: dict[str, Any], request: FormRequest) -> None:
        """Store the token's digest, record the client's use, and delete its tokens that expired a day ago.

        Locks the client's row, so that no token is fetched with a secret that is being replaced at that moment.
        """
        moment, client = now(), request.client
        with transaction.atomic():
            locked_clients = OAuthClient.objects.select_for_update(of=("self",), no_key=True)
            if locked_clients.filter(pk=client.pk, digest=client.digest, revoked__isnull=True).first() is None:
                raise WrongClientError(description=UNKNOWN, status_code=401)
            AccessToken.objects.filter(client=client, expires__lt=moment - RETENTION).delete()
            AccessToken.objects.create(
                digest=peppers.digest(token["access_token"]),
                client=client,
                scopes=token["scope"],
                issued=moment,
                expires=moment + datetime.timedelta(seconds=token["expires_in"]),
            )
            OAuthClient.objects.filter(pk=client.pk).update(last_used=moment)

    def generate_token(self, grant_type: str, client: OAuthClient, **options: Any) -> dict[str, object]:
        """Return a new bearer token with the requested scopes (default: all of the client); it ends with the client."""
        lifetime = LIFETIME if client.expires is None else min(LIFETIME, client.expires - now())
        return {
            "access_token": peppers.new_secret("la"),
            "token_type": "Bearer",
            "expires_in": max(int(lifetime.total_seconds()), 0),
            "scope": _scope_of(client, options.get("scope")),
        }


def _scope_of(client: OAuthClient, requested_scope: str | None) -> str:
    client_scopes = client.scopes.split()
    scopes = (requested_scope or "").split() or client_scopes
    if not set(scopes) <= set(client_scopes):
        raise InvalidScopeError(f"This client's scopes are: {' '.join(client_scopes)}.")
    return " ".join(scope for scope in SCOPES if scope in scopes)


class ClientCredentials(grants.ClientCredentialsGrant):
    """The only grant: a program acts in the name of its client's user (RFC 6749, 4.4)."""

    TOKEN_ENDPOINT_AUTH_METHODS = AUTH_METHODS

    def validate_token_request(self) -> None:
        """Authenticate the client; raises the errors of RFC 6749, 5.2."""
        self.request.client = self.authenticate_token_endpoint_client()


class Revocation(RevocationEndpoint):
    """Ends a token of the client that asks; a token that does not exist counts as ended (RFC 7009)."""

    CLIENT_AUTH_METHODS = AUTH_METHODS

    def authenticate_token(self, request: FormRequest, client: OAuthClient) -> AccessToken | None:
        """Return the client's own live token, or None; raises InvalidRequestError if none is named.

        What token_type_hint says changes nothing, whatever it is (RFC 7009, 2.2).
        """
        if not request.form.get("token"):
            raise InvalidRequestError("token is required.")
        return AccessToken.objects.filter(
            digest__in=peppers.digests(request.form["token"]), client=client, revoked__isnull=True
        ).first()

    def revoke_token(self, token: AccessToken, request: FormRequest) -> None:
        """End the token at once, in every process."""
        AccessToken.objects.filter(pk=token.pk).update(revoked=now())


server = Server(OAuthClient, AccessToken)
server.register_grant(ClientCredentials)
server.register_endpoint(Revocation)


def metadata(base_url: str) -> dict[str, object]:
    """Return the metadata of the server (RFC 8414)."""
    return {
        "issuer": base_url,
        "token_endpoint": f"{base_url}/oauth/token",
        "revocation_endpoint": f"{base_url}/oauth/revoke",
        # RFC 8414 requires this field and forbids empty lists; there is no authorization endpoint to list a type for.
        "response_types_supported": ["none"],
        "grant_types_supported": ["client_credentials"],
        "scopes_supported": list(SCOPES),
        "token_endpoint_auth_methods_supported": AUTH_METHODS,
        "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
        "service_documentation": f"{base_url}/docs/",
    }
