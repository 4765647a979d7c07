"""Fetching and ending access tokens, and what the server says of itself."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from records.accounts import actions, clients, oauth, tokens
from records.accounts.models import AccessToken, DefaultRole, OAuthClient, SubscriptionKey, User
from records.history.models import Change
from records.history.trail import now
from tests import make
from tests.make.oauth import basic, fetch_token, make_client, make_token, post_form

GRANT = {"grant_type": "client_credentials"}


@pytest.fixture
def user(site: Any) -> Any:
    return make.make_user(site=site, role=make.DefaultRole.MANAGER)


def key_id(key: make.Key) -> Any:
    return SubscriptionKey.objects.get(user=key.user).pk


def test_a_client_fetches_a_token_with_basic_and_with_body_credentials(user: Any) -> None:
    client, secret = make_client(user)
    first = post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, secret))
    second = post_form("/oauth/token/", {**GRANT, "client_id": client.client_id, "client_secret": secret})
    for answer in (first, second):
        assert answer.status_code == 200, answer.content
        body = answer.json()
        assert set(body) == {"access_token", "token_type", "expires_in", "scope"}
        assert (body["token_type"], body["expires_in"]) == ("Bearer", 1800)
        assert body["scope"] == "materials:read materials:write"
        assert answer["Cache-Control"] == "no-store"
        assert answer["Content-Type"] == "application/json"
    assert AccessToken.objects.count() == 2
    assert not AccessToken.objects.filter(digest=first.json()["access_token"]).exists()


def test_a_narrower_scope_is_granted_and_a_wider_one_refused(user: Any) -> None:
    client, secret = make_client(user, scopes="materials:read")
    header = basic(client.client_id, secret)
    assert post_form("/oauth/token", GRANT, Authorization=header).json()["scope"] == "materials:read"
    for scope in ("materials:write", "admin"):
        answer = post_form("/oauth/token", {**GRANT, "scope": scope}, Authorization=header)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_scope")


@pytest.mark.parametrize(
    "client_id",
    [
        "",
        "x",
        "\x00",
        "a\x00b",
        "é",
        "9" * 36,
        "534a5258-8a54-48f0-8d76-c2c9b04c9b46",
        "x" * 5000,
        "%00",
        "af921e0012024b099927479e2534d8aa",
    ],
)
def test_an_unknown_or_malformed_client_is_401_invalid_client(db: None, client_id: str) -> None:
    in_body = post_form("/oauth/token", {**GRANT, "client_id": client_id, "client_secret": "s"})
    in_header = post_form("/oauth/token", GRANT, Authorization=basic(client_id, "s"))
    for answer in (in_body, in_header):
        assert answer.status_code == 401, answer.content
        assert answer.json()["error"] == "invalid_client"
        assert answer["WWW-Authenticate"].startswith("Basic ")


@pytest.mark.parametrize("header", ["Basic", "Basic ###", "Basic /w==", "Basic OnM=", "Bearer x", "Basic é"])
def test_a_header_that_proves_nothing_is_401(db: None, header: str) -> None:
    answer = post_form("/oauth/token", GRANT, Authorization=header)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


def test_a_wrong_secret_is_401_and_counts_against_the_address(user: Any, settings: Any) -> None:
    settings.AUTH_FAILURE_LIMIT = 3
    client, secret = make_client(user)
    for _ in range(3):
        assert post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, "wrong")).status_code == 401
    response = post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, "wrong"))
    assert response.status_code == 429
    assert int(response["Retry-After"]) > 0
    assert post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, secret)).status_code == 200


def test_a_client_has_an_allowance_of_requests(user: Any, settings: Any) -> None:
    settings.RATE_LIMIT = 2
    client, secret = make_client(user)
    header = basic(client.client_id, secret)
    codes = [post_form("/oauth/token", GRANT, Authorization=header).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


def test_faulty_requests_are_400_in_the_shape_of_the_standard(user: Any) -> None:
    client, secret = make_client(user)
    header = basic(client.client_id, secret)
    both = {**GRANT, "client_id": client.client_id, "client_secret": secret}
    for body, error in (
        ("", "invalid_request"),
        ("grant_type=client_credentials&grant_type=client_credentials", "invalid_request"),
        ("grant_type=password", "unsupported_grant_type"),
        ("grant_type=%FF", "invalid_request"),
        ("grant_type=%", "invalid_request"),
        (urlencode(both), "invalid_request"),
        (urlencode({**GRANT, "client_id": "6260e8de-f5fb-4faf-8429-f5491a743e69"}), "invalid_request"),
    ):
        answer = post_form("/oauth/token", body, Authorization=header)
        assert (answer.status_code, answer.json()["error"]) == (400, error), body
    as_json = Client().post("/oauth/token", both, "application/json")
    assert (as_json.status_code, as_json.json()["error"]) == (400, "invalid_request")
    assert Client().get("/oauth/token").status_code == 405
    large = post_form("/oauth/token", "a=" + "b" * 70_000)
    assert (large.status_code, large.json()["error"]) == (413, "invalid_request")


def test_a_token_is_ended_by_its_own_client_alone(user: Any, site: Any) -> None:
    key = make.make_key(site, user=user)
    client, secret = make_client(user)
    token = fetch_token(client, secret)
    other, other_secret = make_client(user)
    assert tokens.opened_by(key.secret, token).caller is not None
    by_other = post_form("/oauth/revoke", {"token": token}, Authorization=basic(other.client_id, other_secret))
    assert by_other.status_code == 200
    assert tokens.opened_by(key.secret, token).caller is not None
    for _ in range(2):
        # A hint that nobody knows changes nothing (RFC 7009, 2.2).
        data = {"token": token, "token_type_hint": "x"}
        answer = post_form("/oauth/revoke", data, Authorization=basic(client.client_id, secret))
        assert answer.status_code == 200
    assert tokens.opened_by(key.secret, token).caller is None
    header = basic(client.client_id, secret)
    assert post_form("/oauth/revoke", {}, Authorization=header).json() == {
        "error": "invalid_request",
        "error_description": "token is required.",
    }
    assert post_form("/oauth/revoke", {"token": token}).status_code == 401


def test_tokens_of_a_deactivated_user_die_at_once(user: Any, site: Any) -> None:
    client, secret = make_client(user)
    token = fetch_token(client, secret)
    actions.end_access(user, author=make.SYSTEM)
    answer = post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, secret))
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    user.is_active = True
    user.save(update_fields=["is_active"])
    key = make.make_key(site, user=user)
    assert tokens.opened_by(key.secret, token).caller is None
    assert post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, secret)).status_code == 401
    assert Change.objects.filter(record_id=client.pk, operation="RevokeClient").count() == 1


def test_a_token_opens_with_a_key_of_the_same_user_only_and_until_it_expires(user: Any, site: Any) -> None:
    key, other = make.make_key(site, user=user), make.make_key(site)
    token = make_token(user)
    caller = tokens.opened_by(key.secret, token).caller
    assert caller is not None
    assert caller.scopes == {"materials:read", "materials:write"}
    assert caller.at(site.pk).permissions
    assert tokens.opened_by(other.secret, token) == tokens.KeyAndToken(True, None, key_id(other))
    assert tokens.opened_by("lk_x", token) == tokens.KeyAndToken(False, None)
    AccessToken.objects.update(expires=now() - timedelta(seconds=1))
    assert tokens.opened_by(key.secret, token) == tokens.KeyAndToken(True, None, key_id(key))


def test_opening_with_key_and_token_costs_a_query_each(user: Any, site: Any, django_assert_num_queries: Any) -> None:
    key, token = make.make_key(site, user=user), make_token(user)
    assert tokens.opened_by(key.secret, token).caller is not None
    with django_assert_num_queries(2):
        assert tokens.opened_by(key.secret, token).caller is not None
    with django_assert_num_queries(0):
        assert tokens.remembered_caller(key.secret, token) is not None


def test_rotating_a_client_ends_the_old_secret_and_its_tokens(user: Any, site: Any) -> None:
    key = make.make_key(site, user=user)
    client, secret = make_client(user)
    token = fetch_token(client, secret)
    _, fresh = clients.rotate_client(client.pk, author=make.SYSTEM)
    assert post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, secret)).status_code == 401
    assert post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, fresh)).status_code == 200
    assert tokens.opened_by(key.secret, token).caller is None
    assert Change.objects.filter(record_id=client.pk).count() == 2


def test_revoking_a_client_is_written_down_once_and_holds_no_secret(user: Any) -> None:
    client, secret = make_client(user)
    for _ in range(2):
        clients.revoke_client(client.pk, author=make.SYSTEM, reason="left")
    changes = Change.objects.filter(record_id=client.pk).order_by("number")
    assert [(one.operation, one.reason) for one in changes] == [("IssueClient", ""), ("RevokeClient", "left")]
    assert not any(secret in str(one.fields) or client.digest in str(one.fields) for one in changes)
    with pytest.raises(ValidationError):
        clients.rotate_client(client.pk, author=make.SYSTEM)


def test_a_user_has_at_most_five_live_clients_with_scopes_that_there_are(user: Any) -> None:
    with pytest.raises(ValidationError):
        make_client(user, scopes="materials:read everything")
    for _ in range(clients.LIVE_CLIENTS):
        make_client(user)
    with pytest.raises(ValidationError):
        make_client(user)
    assert OAuthClient.objects.count() == clients.LIVE_CLIENTS


def test_the_servers_metadata_is_valid_and_points_at_working_paths(db: None, settings: Any) -> None:
    answer = Client().get("/.well-known/oauth-authorization-server")
    assert answer.status_code == 200
    metadata = answer.json()
    assert metadata["issuer"] == settings.BASE_URL
    secure = {
        name: value.replace("http://", "https://") if isinstance(value, str) else value
        for name, value in metadata.items()
    }
    AuthorizationServerMetadata(secure).validate()
    for name in ("token_endpoint", "revocation_endpoint"):
        path = metadata[name].removeprefix(settings.BASE_URL)
        assert post_form(path, GRANT).status_code == 401


def test_an_error_description_holds_printable_characters_only(db: None) -> None:
    answer = post_form("/oauth/token", "a%0A%22%5C%C3%A9=1&a%0A%22%5C%C3%A9=2")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert all(" " <= one <= "~" and one not in '"\\' for one in answer.json()["error_description"])


@pytest.mark.parametrize("text", ["%00", "%0A", "%22%5C", "%C3%A9", "%F0%9F%98%80", "x" * 5000, "%ED%A0%80"])
@pytest.mark.parametrize("name", ["grant_type", "scope", "token", "token_type_hint", "client_id", "client_secret", "x"])
def test_no_text_in_any_parameter_breaks_an_endpoint(user: Any, name: str, text: str) -> None:
    client, secret = make_client(user)
    for path in ("/oauth/token", "/oauth/revoke"):
        fields = {"grant_type": "client_credentials", "token": "x"}
        parameters = urlencode({key: value for key, value in fields.items() if key != name})
        answer = post_form(path, f"{parameters}&{name}={text}", Authorization=basic(client.client_id, secret))
        assert answer.status_code in (200, 400, 401), answer.content


def test_a_secret_that_is_replaced_while_a_token_is_being_fetched_fetches_none(
    user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, secret = make_client(user)
    authenticate_client = oauth.server.authenticate_client

    def prove_then_rotate(*args: Any, **kwargs: Any) -> Any:
        client = authenticate_client(*args, **kwargs)
        if OAuthClient.objects.get().digest == client.digest:
            clients.rotate_client(client.pk, author=make.SYSTEM)
        return client

    monkeypatch.setattr(oauth.server, "authenticate_client", prove_then_rotate)
    answer = post_form("/oauth/token", GRANT, Authorization=basic(client.client_id, secret))
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert not AccessToken.objects.exists()


def test_a_token_does_not_outlive_its_client(user: Any, site: Any) -> None:
    client, secret = make_client(user, expires=now() + timedelta(minutes=5))
    form = {**GRANT, "client_id": client.client_id, "client_secret": secret}
    assert 290 < post_form("/oauth/token", form).json()["expires_in"] <= 300
    assert client.expires is not None
    assert AccessToken.objects.get().expires <= client.expires


def test_an_unknown_client_costs_the_work_of_a_wrong_secret_and_reads_the_same(user: Any, site: Any) -> None:
    expired_client, _ = make_client(user, expires=now() - timedelta(seconds=1))
    revoked_client, _ = make_client(user)
    clients.revoke_client(revoked_client.pk, author=make.SYSTEM)
    inactive_client, _ = make_client(make.make_user(site=site, is_active=True, role=DefaultRole.READER))
    User.objects.filter(pk=inactive_client.user_id).update(is_active=False)
    live_client, _ = make_client(user)
    ids = {
        "live": live_client.client_id,
        "expired": expired_client.client_id,
        "revoked": revoked_client.client_id,
        "of an ended account": inactive_client.client_id,
        "unknown": "534a5258-8a54-48f0-8d76-c2c9b04c9b46",
    }
    facts_by_case = {}
    for name, client_id in ids.items():
        with CaptureQueriesContext(connection) as queries:
            answer = post_form("/oauth/token", GRANT, Authorization=basic(client_id, "wrong"))
        facts_by_case[name] = (answer.status_code, answer.content, [query["sql"][:60] for query in queries])
    assert {name: facts for name, facts in facts_by_case.items() if facts != facts_by_case["unknown"]} == {}
