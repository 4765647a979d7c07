"""A real OpenID Connect provider (Canaille, by pytest-iam) as the company's, and people who sign in there."""

import datetime
import uuid
from typing import Any

from canaille.app.session import UserSession
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse
from flask import g

from config.env import provider_id

CLIENT_ID, CLIENT_SECRET = "larder", "a-secret-of-the-test"


def use_provider(iam_server: Any, settings: LazySettings, base_url: str = "http://testserver") -> None:
    """Set the provider up in our settings, and us as its client."""
    issuer = iam_server.url.rstrip("/")
    name = provider_id(issuer)
    settings.OIDC_ISSUER, settings.OIDC_NAME, settings.OIDC_PROVIDER_ID = issuer, "Hillside ID", name
    app = {
        "provider_id": name,
        "name": "Hillside ID",
        "client_id": CLIENT_ID,
        "secret": CLIENT_SECRET,
        "settings": {"server_url": issuer, "oauth_pkce_enabled": True, "fetch_userinfo": False},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
    callback = f"{base_url}{reverse('openid_connect_callback', args=(name,))}"
    with iam_server.app.app_context():
        for client in iam_server.backend.query(iam_server.models.Client, client_id=CLIENT_ID):
            iam_server.backend.delete(client)
        client = iam_server.models.Client(
            client_id=CLIENT_ID,
            client_id_issued_at=datetime.datetime.now(datetime.UTC),
            client_name="Larder",
            client_secret=CLIENT_SECRET,
            client_uri=base_url,
            contacts=[],
            redirect_uris=[callback],
            grant_types=["authorization_code"],
            response_types=["code"],
            scope=["openid", "profile", "email"],
            token_endpoint_auth_method="client_secret_post",
        )
        iam_server.backend.save(client)
        iam_server.backend.update(client, audience=[client])
        iam_server.backend.save(client)


def make_identity(iam_server: Any, email: str = "") -> Any:
    """Make a person at the provider."""
    name = uuid.uuid4().hex[:12]
    person = iam_server.random_user(user_name=name, emails=[email or f"{name}@example.org"])
    iam_server.consent(person)
    return person


def asks_again(iam_server: Any, person: Any, *, seconds_ago: int = 0) -> None:
    """Let the provider see the person as one who signed in there so long ago; 0 is after each question."""

    def seen_again() -> None:
        then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1 - seconds_ago)
        g.session = UserSession(user=person, last_login_datetime=then)

    functions = iam_server.app.before_request_funcs[None]
    functions[:] = [function for function in functions if function.__name__ != "seen_again"] + [seen_again]


def answer_of_provider(iam_server: Any, client: Client, page: Any) -> Any:
    """Go where our page leads, and come back with the provider's answer; return what we say then."""
    assert page.status_code == 200, page["Location"]
    back = iam_server.test_client.get(page.context["address"])
    assert back.status_code == 302, back.text
    where = back.headers["Location"]
    assert where.startswith("http://testserver/accounts/oidc/"), where
    return client.get(where.removeprefix("http://testserver"))
