"""Plain functions that make OAuth clients and tokens for tests."""

import base64
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from records.accounts import clients
from records.accounts.models import OAuthClient, User
from tests import make


def make_client(user: User, **fields: Any) -> tuple[OAuthClient, str]:
    """Make a client of the user; returns it with its secret."""
    return clients.issue_client(user, "Test client", author=make.SYSTEM, **fields)


def basic(client_id: str, secret: str) -> str:
    """Return the Basic header of a client."""
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


def fetch_token(client: OAuthClient, secret: str, scope: str = "") -> str:
    """Fetch a token at the token endpoint."""
    form = {"grant_type": "client_credentials", "client_id": client.client_id, "client_secret": secret}
    answer = post_form("/oauth/token", {**form, **({"scope": scope} if scope else {})})
    assert answer.status_code == 200, answer.content
    return answer.json()["access_token"]


def post_form(path: str, fields: dict[str, str] | str, **headers: str) -> Any:
    """Send a form; text is sent as it is."""
    body = fields if isinstance(fields, str) else urlencode(fields)
    client = Client(raise_request_exception=False)
    return client.post(path, body, "application/x-www-form-urlencoded", headers=headers)


def make_token(user: User, scope: str = "") -> str:
    """Make a client of the user and fetch a token with it."""
    return fetch_token(*make_client(user), scope=scope)
