"""The company's OpenID Connect provider: linking, signing in, confirming, against a real one."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import jwt
import pytest
from allauth.socialaccount.models import SocialAccount
from canaille.oidc.jose import server_jwks
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.test import Client
from django.urls import reverse
from flask import Response, request

from records.accounts import actions
from records.accounts.models import DefaultRole, User
from records.backoffice import passwords
from records.backoffice.sign_in import provider, provider_calls
from records.sites.models import Site
from tests import make
from tests.make.backoffice import sign_in
from tests.make.documents import make_document, make_signer
from tests.make.provider import CLIENT_ID, answer_of_provider, asks_again, make_identity, use_provider
from tests.make.signing_in import give_app, is_signed_in
from tests.shared_fixtures import shared_fixture

pytestmark = pytest.mark.django_db

SECURITY = "/accounts/security/"
START, LINK = "/accounts/login/provider/", "/accounts/security/provider/link/"


@pytest.fixture
def company(iam_server: Any, settings: Any) -> Iterator[Any]:
    """Return the provider, set up in our settings."""
    use_provider(iam_server, settings)
    before = list(iam_server.app.before_request_funcs[None])
    yield iam_server
    iam_server.app.before_request_funcs[None][:] = before


@shared_fixture
def ann(site: Site) -> User:
    return make.make_user("ann", site=site, role=DefaultRole.READER, email="ann@example.com")


def link_identity(company: Any, user: User) -> None:
    """Link an identity at the provider with the user, as `link_as_people_do` leaves it in the tables."""
    person = make_identity(company)
    asks_again(company, person)
    SocialAccount.objects.create(user=user, provider=settings.OIDC_PROVIDER_ID, uid=person.user_name)


def link_as_people_do(company: Any, user: User) -> None:
    """Link an identity at the provider on the page on which people do it."""
    asks_again(company, make_identity(company))
    client = sign_in(user)
    client.post("/accounts/confirm/password/", {"password": make.PASSWORD})
    answer_of_provider(company, client, client.post(LINK))


def test_a_linked_identity_signs_in_and_comes_back_to_where_the_person_was(company: Any, ann: User) -> None:
    link_as_people_do(company, ann)
    client = Client()
    assert "Continue with Hillside ID" in client.get("/admin/login/").content.decode()
    done = answer_of_provider(company, client, client.post(START, {"next": "/admin/items/item/"}))
    assert done["Location"] == "/admin/items/item/"
    assert is_signed_in(client)


def test_linking_asks_who_one_is_first(company: Any, ann: User) -> None:
    client = sign_in(ann)
    assert client.post(LINK)["Location"].startswith("/accounts/confirm/password/")
    assert not SocialAccount.objects.exists()


def test_an_identity_with_the_address_of_an_account_opens_nothing(company: Any, ann: User) -> None:
    asks_again(company, make_identity(company, email="ann@example.com"))
    client = Client()
    answer = answer_of_provider(company, client, client.post(START))
    assert answer["Location"] == "/admin/login/"
    assert "No account is linked with this identity." in client.get("/admin/login/").content.decode()
    assert not is_signed_in(client)
    assert not SocialAccount.objects.exists()
    assert User.objects.count() == 1


def test_what_the_provider_says_about_the_person_is_not_kept(company: Any, ann: User) -> None:
    link_as_people_do(company, ann)
    client = Client()
    answer_of_provider(company, client, client.post(START))
    assert list(SocialAccount.objects.values_list("extra_data", flat=True)) == [{}]


def test_the_same_subject_of_another_issuer_opens_nothing(company: Any, ann: User) -> None:
    link_identity(company, ann)
    SocialAccount.objects.update(provider="login.elsewhere.example")
    client = Client()
    answer_of_provider(company, client, client.post(START))
    assert not is_signed_in(client)


@pytest.mark.parametrize("how", ["ended", "service", "removed"])
def test_an_account_that_may_not_sign_in_does_not_by_the_provider_either(company: Any, ann: User, how: str) -> None:
    link_identity(company, ann)
    if how == "ended":
        actions.end_access(ann, author=make.SYSTEM)
    else:
        field = {"is_service_account": True} if how == "service" else {"removed": ann.created}
        User.objects.filter(pk=ann.pk).update(**field)
    client = Client()
    assert answer_of_provider(company, client, client.post(START))["Location"] == "/admin/login/"
    assert "This account cannot sign in." in client.get("/admin/login/").content.decode()
    assert not is_signed_in(client)


def test_the_providers_own_factors_count(company: Any, ann: User, settings: Any) -> None:
    link_identity(company, ann)
    give_app(ann)
    settings.SECOND_FACTOR = "everybody"
    client = Client()
    answer_of_provider(company, client, client.post(START))
    assert is_signed_in(client)


def test_an_identity_belongs_to_one_account(company: Any, ann: User, site: Site) -> None:
    link_as_people_do(company, ann)
    eve = sign_in(make.make_user("eve", site=site))
    eve.post("/accounts/confirm/password/", {"password": make.PASSWORD})
    answer_of_provider(company, eve, eve.post(LINK))
    assert "This identity is linked with another account." in eve.get(SECURITY).content.decode()
    assert SocialAccount.objects.get().user == ann


def test_an_invited_person_links_with_the_mailed_link_once(company: Any, ann: User, settings: Any) -> None:
    settings.PASSWORD_SIGN_IN = False
    asks_again(company, make_identity(company))
    path = passwords.password_link(ann, passwords.INVITATION).removeprefix(settings.BASE_URL)
    client, late_client = Client(), Client()
    page = client.get(path, follow=True)
    assert "Use Hillside ID" in page.content.decode()
    assert 'type="password"' not in page.content.decode()
    uid = page.context["uid"]
    late_client.get(path, follow=True)
    answer_of_provider(company, client, client.post(reverse("password_use_provider", args=(uid,))))
    assert is_signed_in(client)
    asks_again(company, make_identity(company))
    answer_of_provider(company, late_client, late_client.post(reverse("password_use_provider", args=(uid,))))
    assert not is_signed_in(late_client)
    assert SocialAccount.objects.count() == 1


@pytest.mark.parametrize("with_passwords", [True, False])
def test_a_mailed_link_does_not_stand_in_for_a_second_factor(
    company: Any, ann: User, settings: Any, with_passwords: bool
) -> None:
    settings.PASSWORD_SIGN_IN = with_passwords
    asks_again(company, make_identity(company))
    path = passwords.password_link(ann, passwords.INVITATION).removeprefix(settings.BASE_URL)
    client = Client()
    uid = client.get(path, follow=True).context["uid"]
    give_app(ann)
    answer_of_provider(company, client, client.post(reverse("password_use_provider", args=(uid,))))
    assert "This account has a second factor" in client.get("/admin/login/").content.decode()
    assert not is_signed_in(client)
    assert not SocialAccount.objects.exists()
    page = client.get(path, follow=True).content.decode()
    assert "Use Hillside ID" not in page
    assert ("This account has a second factor" in page) == (not with_passwords)


def test_the_only_way_to_sign_in_is_not_removed(company: Any, ann: User) -> None:
    link_identity(company, ann)
    ann.set_unusable_password()
    ann.save()
    client = Client()
    answer_of_provider(company, client, client.post(START))
    confirm = client.post("/accounts/security/provider/unlink/")
    assert confirm["Location"].startswith("/accounts/confirm/provider/")
    answer_of_provider(company, client, client.post("/accounts/confirm/provider/"))
    client.post("/accounts/security/provider/unlink/")
    assert SocialAccount.objects.exists()


@pytest.mark.parametrize(("next_page", "back"), [("", "/admin/login/"), ("/profile/", "/profile/")])
def test_a_provider_that_does_not_answer_is_named_in_words(
    company: Any, settings: Any, next_page: str, back: str
) -> None:
    app = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]
    app["settings"]["server_url"] = "http://127.0.0.1:9"
    client = Client()
    assert client.post(START, {"next": next_page})["Location"] == back
    assert "does not answer" in client.get("/admin/login/").content.decode()


@pytest.mark.parametrize("next_page", ["abc", "%00", "[[", "//evil.example/", "https://evil.example/", "admin:index"])
def test_a_next_page_that_is_not_a_path_of_ours_is_not_taken(company: Any, settings: Any, next_page: str) -> None:
    app = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]
    app["settings"]["server_url"] = "http://127.0.0.1:9"
    assert Client().post(START, {"next": next_page})["Location"] == "/admin/login/"


def test_an_answer_that_nobody_asked_for_opens_nothing(company: Any, ann: User, settings: Any) -> None:
    callback = reverse("openid_connect_callback", args=(settings.OIDC_PROVIDER_ID,))
    for query in ("", "?code=x", "?code=x&state=y", "?error=access_denied&state=y"):
        assert Client().get(callback + query)["Location"] == "/admin/login/", query
    assert Client().get("/accounts/oidc/elsewhere/login/callback/?code=x").status_code == 404


# --- A provider with faults -----------------------------------------------------------------------------------------

DESCRIPTION, TOKEN, KEYS = "/.well-known/openid-configuration", "/oauth/token", "/oauth/jwks.json"


def _answers(company: Any, path: str, answer: Callable[[], Any]) -> None:
    """Let the provider give another answer at a path from now on."""
    company.app.before_request_funcs[None].append(lambda: answer() if request.path == path else None)


def _json(text: str) -> Callable[[], Response]:
    return lambda: Response(text, mimetype="application/json")


FAULTS = {
    f"{path} {text}": (path, text)
    for path, texts in {
        DESCRIPTION: ("[]", "null", "{}", '{"token_endpoint_auth_methods_supported": 5, "token_endpoint": "x"}'),
        TOKEN: ("1", "null", '["access_token"]', '{"access_token": "a", "id_token": 5}'),
        KEYS: ("[]", "{}", '{"keys": [1]}'),
    }.items()
    for text in texts
}


@pytest.mark.parametrize(("path", "text"), FAULTS.values(), ids=FAULTS.keys())
def test_a_provider_that_answers_what_cannot_be_read_is_named_in_words(
    company: Any, ann: User, path: str, text: str
) -> None:
    link_identity(company, ann)
    client = Client()
    page = client.post(START)
    _answers(company, path, _json(text))
    assert answer_of_provider(company, client, page)["Location"] == "/admin/login/"
    assert "sign-in" in str(next(iter(client.get("/admin/login/").context["messages"])))
    assert not is_signed_in(client)
    if path == DESCRIPTION:
        assert client.post(START)["Location"] == "/admin/login/"


def test_a_provider_that_is_gone_when_the_person_comes_back_is_named_in_words(company: Any, ann: User) -> None:
    link_identity(company, ann)
    client = Client()
    page = client.post(START)
    _answers(company, DESCRIPTION, lambda: Response("", 503))
    assert answer_of_provider(company, client, page)["Location"] == "/admin/login/"
    assert "does not answer" in client.get("/admin/login/").content.decode()


def test_an_answer_without_an_end_is_not_waited_for(company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_calls, "SECONDS", 0.5)

    def drops() -> Iterator[bytes]:
        for _ in range(600):
            yield b" "
            time.sleep(0.1)

    _answers(company, DESCRIPTION, lambda: Response(drops()))
    start = time.monotonic()
    assert Client().post(START)["Location"] == "/admin/login/"
    assert time.monotonic() - start < 30


def test_no_more_than_a_megabyte_of_an_answer_is_read(company: Any) -> None:
    parts_sent = []

    def parts() -> Iterator[bytes]:
        for _ in range(1_000):
            parts_sent.append(1)
            yield b" " * 64 * 1024

    _answers(company, DESCRIPTION, lambda: Response(parts()))
    assert Client().post(START)["Location"] == "/admin/login/"
    assert len(parts_sent) < 500


def test_while_two_wait_for_the_provider_the_next_does_not(company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_calls, "TURN_SECONDS", 0.01)
    turns = threading.BoundedSemaphore(1)
    monkeypatch.setattr(provider_calls, "_calls", turns)
    with turns:
        assert Client().post(START)["Location"] == "/admin/login/"
    assert Client().post(START).status_code == 200


# --- ID tokens ------------------------------------------------------------------------------------------------------


def _sign_again(token: str, key: Any, algorithm: str, **claims: Any) -> str:
    """Return the ID token with some claims changed, signed with the given key under the same key id."""
    original_claims = jwt.decode(token, options={"verify_signature": False})
    headers = {"kid": jwt.get_unverified_header(token)["kid"]}
    payload = {name: value for name, value in {**original_claims, **claims}.items() if value is not None}
    return jwt.encode(payload, key, algorithm=algorithm, headers=headers)


def _with_another_key(token: str) -> str:
    return _sign_again(token, rsa.generate_private_key(public_exponent=65537, key_size=2048), "RS256")


def _with_other_claims(token: str) -> str:
    """Return the token with the payload of another one and its own signature."""
    head, _, signature = token.split(".")
    return f"{head}.{_with_another_key(token).split('.')[1]}x.{signature}"


FORGERIES: dict[str, Callable[[str], str]] = {
    "another key": _with_another_key,
    "another's claims": _with_other_claims,
    "no signature": lambda token: _sign_again(token, None, "none"),
    "a shared secret": lambda token: _sign_again(token, "a-secret-of-the-test-which-is-long-enough", "HS256"),
    "cut short": lambda token: token[:-20],
    "no token": lambda token: "not.a.token",
}


def _replace_token(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    """Let the provider send another ID token instead of its own."""
    get_access_token_data = provider.Provider.get_access_token_data

    def get_changed_data(*args: Any, **kwargs: Any) -> Any:
        answer = get_access_token_data(*args, **kwargs)
        return {**answer, "id_token": change(answer["id_token"])}

    monkeypatch.setattr(provider.Provider, "get_access_token_data", get_changed_data)


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
def test_an_id_token_that_the_provider_did_not_sign_opens_nothing(
    company: Any, ann: User, monkeypatch: pytest.MonkeyPatch, forge: Callable[[str], str]
) -> None:
    link_identity(company, ann)
    _replace_token(monkeypatch, forge)
    client = Client()
    assert answer_of_provider(company, client, client.post(START))["Location"] == "/admin/login/"
    assert not is_signed_in(client)


CLAIMS: dict[str, dict[str, Any]] = {
    "as it was": {},
    "for another client": {"aud": "another"},
    "for others": {"aud": ["another", "third"]},
    "of another issuer": {"iss": "https://login.elsewhere.example"},
    "expired": {"exp": 1_700_000_000},
    "without an end": {"exp": None},
    "for others too": {"aud": [CLIENT_ID, "another"]},
    "issued to another": {"azp": "another"},
    "of a name that cannot be stored": {"sub": "x" * 192},
    "of a name with a NUL": {"sub": "x\0"},
    "for another browser": {"nonce": "another"},
}


@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS.keys())
def test_an_id_token_that_is_not_for_us_and_for_now_opens_nothing(
    company: Any, ann: User, monkeypatch: pytest.MonkeyPatch, claims: dict[str, Any]
) -> None:
    link_identity(company, ann)
    with company.app.app_context():
        key = server_jwks().keys[0]
    _replace_token(monkeypatch, lambda token: _sign_again(token, key.as_pem(private=True), "RS256", **claims))
    client = Client()
    done = answer_of_provider(company, client, client.post(START))["Location"]
    assert (done == "/admin/login/") == bool(claims)
    assert is_signed_in(client) == (not claims)


def test_without_a_provider_there_is_no_way_to_one(ann: User) -> None:
    assert "Continue with" not in Client().get("/admin/login/").content.decode()
    assert Client().post(START).status_code == 404


# --- Signatures -----------------------------------------------------------------------------------------------------


def signer_of_provider(company: Any, site: Site) -> tuple[User, Client]:
    """Return a signer who signs in by the provider alone, and the browser in which they are signed in."""
    signer = make_signer(site)
    link_identity(company, signer)
    signer.set_unusable_password()
    signer.save()
    client = Client()
    answer_of_provider(company, client, client.post(START))
    return signer, client


def test_somebody_without_a_password_signs_by_signing_in_again(company: Any, site: Site) -> None:
    signer, client = signer_of_provider(company, site)
    version = make_document(site, user_to_review=[signer]).versions.get()
    path = reverse("admin:documents_sign", args=(version.pk,))
    assert 'type="password"' not in client.get(path).content.decode()
    assert client.post(path, {"decision": "sign"}).status_code == 200
    response = client.post(path, {"decision": "sign", "comment": "Read twice.", "way": "provider"})
    assert "max_age=0" in response.context["address"]
    assert answer_of_provider(company, client, response)["Location"] == path
    page = client.get(path).content.decode()
    assert "You confirmed with Hillside ID who you are." in page
    assert "Read twice." in page
    assert client.post(path, {"decision": "sign", "comment": "Read twice."}).status_code == 302
    signature = version.signatures.get()
    assert (signature.confirmed_by, signature.comment) == ("Identity provider", "Read twice.")


def test_one_confirmation_signs_one_version(company: Any, site: Site) -> None:
    signer, client = signer_of_provider(company, site)
    first, second = (make_document(site, user_to_review=[signer]).versions.get() for _ in range(2))
    paths = [reverse("admin:documents_sign", args=(version.pk,)) for version in (first, second)]
    answer_of_provider(company, client, client.post(paths[0], {"decision": "sign", "way": "provider"}))
    assert client.post(paths[1], {"decision": "sign"}).status_code == 200
    assert client.post(paths[0], {"decision": "sign"}).status_code == 302
    assert [version.signatures.count() for version in (first, second)] == [1, 0]


def test_somebody_else_at_the_provider_confirms_nothing(company: Any, site: Site) -> None:
    signer, client = signer_of_provider(company, site)
    version = make_document(site, user_to_review=[signer]).versions.get()
    path = reverse("admin:documents_sign", args=(version.pk,))
    asks_again(company, make_identity(company))
    answer_of_provider(company, client, client.post(path, {"decision": "sign", "way": "provider"}))
    assert "You signed in as somebody else." in client.get(path).content.decode()
    assert client.post(path, {"decision": "sign"}).status_code == 200
    assert not version.signatures.exists()


def test_a_provider_with_an_old_session_asks_the_person_before_it_answers(company: Any, site: Site) -> None:
    signer, client = signer_of_provider(company, site)
    version = make_document(site, user_to_review=[signer]).versions.get()
    path = reverse("admin:documents_sign", args=(version.pk,))
    response = client.post(path, {"decision": "sign", "way": "provider"})
    asks_again(company, make_identity(company), seconds_ago=600)
    location = company.test_client.get(response.context["address"]).headers["Location"]
    assert "/accounts/oidc/" not in location


@pytest.mark.parametrize("claims", [{}, {"auth_time": "now"}, {"auth_time": None}, {"auth_time": 600}])
def test_a_provider_that_did_not_ask_again_confirms_nothing(
    company: Any, site: Site, claims: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    signer, client = signer_of_provider(company, site)
    version = make_document(site, user_to_review=[signer]).versions.get()
    path = reverse("admin:documents_sign", args=(version.pk,))
    note_confirmation = provider._note_confirmation
    new_claims = {name: time.time() - value if isinstance(value, int) else value for name, value in claims.items()}
    monkeypatch.setattr(
        provider,
        "_note_confirmation",
        lambda request, login, user, data, _: note_confirmation(request, login, user, data, new_claims),
    )
    answer_of_provider(company, client, client.post(path, {"decision": "sign", "way": "provider"}))
    assert "did not ask you again" in client.get(path).content.decode()
    assert client.post(path, {"decision": "sign"}).status_code == 200
    assert not version.signatures.exists()
