"""What an outsider tries with somebody's browser or mail: planted sessions, foreign addresses, forged forms, names."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.sessions.models import Session
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole, SubscriptionKey, User
from records.backoffice.sign_in import middleware
from records.sites.models import Site
from tests import make
from tests.make.backoffice import form_of, sign_in
from tests.make.signing_in import LOGIN, code_of_app, give_app, is_signed_in, run_tasks, try_password
from tests.shared_fixtures import shared_fixture

pytestmark = pytest.mark.django_db

FOREIGN = (
    "https://evil.example/",
    "//evil.example/",
    "///evil.example/",
    "/\\evil.example/",
    "\\\\evil.example/",
    "https:evil.example",
    "http:///evil.example/",
    "\t//evil.example/",
    "/\t/evil.example/",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "/%2f%2fevil.example/",
    "/%5cevil.example/",
    "//evil\u3002example/",
    "//[::1",
    "\u2028//evil.example/",
    "\x00//evil.example/",
    "https://testserver@evil.example/",
    "https://testserver.evil.example/",
)
"""Addresses that lead elsewhere, some of them only in a browser that mends them."""
FACTOR = "/accounts/login/factor/"


@shared_fixture
def ann(site: Site) -> User:
    """Return a reader with a mail address."""
    return make.make_user("ann", site=site, role=DefaultRole.READER, email="ann@example.com")


def leads_elsewhere(answer: Any) -> bool:
    """Return whether an answer sends the browser to another host, or to nothing that is a page."""
    location = answer.get("Location", "/")
    return not location.startswith("/") or location.startswith(("//", "/\\")) or "\t" in location


# --- Sessions and cookies -------------------------------------------------------------------------------------------


def test_signing_in_takes_a_session_key_that_nobody_knew_before(ann: User) -> None:
    client = Client()
    session = client.session
    session["planted"] = "yes"
    session.save()
    former_key = str(session.session_key)
    try_password(client, "ann")
    assert is_signed_in(client)
    assert client.session.session_key != former_key
    assert re.fullmatch("[a-z0-9]{32}", str(client.session.session_key))
    other = Client()
    other.cookies["sessionid"] = former_key
    assert not is_signed_in(other)


def test_each_step_of_a_sign_in_and_its_end_changes_the_session_key(ann: User) -> None:
    give_app(ann)
    client = Client()
    try_password(client, "ann")
    halfway = str(client.session.session_key)
    client.post(FACTOR, {"code": code_of_app()})
    assert is_signed_in(client)
    assert client.session.session_key != halfway
    inside = str(client.session.session_key)
    client.post("/accounts/logout/")
    other = Client()
    for key in (halfway, inside):
        other.cookies["sessionid"] = key
        assert not is_signed_in(other)


def test_no_page_of_a_signed_in_person_is_kept_by_the_browser(ann: User, site: Site) -> None:
    client = sign_in(ann, site)
    make.make_key(site, user=ann)
    key = SubscriptionKey.objects.get(user=ann).pk
    pages = [
        "/admin/",
        "/admin/items/item/",
        "/admin/password_change/",
        "/profile/",
        f"/profile/calls/{key}/",
        "/profile/address/abc/",
        "/accounts/confirm/password/",
        "/accounts/security/",
        "/accounts/security/sessions/",
        "/accounts/security/passkeys/",
    ]
    headers = {page: client.get(page).get("Cache-Control", "") for page in pages}
    assert {page: header for page, header in headers.items() if "no-store" not in header} == {}


def test_every_cookie_stays_within_the_site_and_out_of_reach_of_scripts(ann: User) -> None:
    client = Client()
    client.get(LOGIN)
    try_password(client, "ann")
    client.get("/admin/")
    assert {"sessionid", "csrftoken", "known"} <= set(client.cookies)
    for name, cookie in client.cookies.items():
        assert cookie["samesite"] == "Lax", name
        assert cookie["httponly"], name


def test_the_fields_of_the_sign_in_page_name_their_purpose_to_password_managers() -> None:
    page = Client().get(LOGIN).content.decode()
    assert 'autocomplete="username"' in page
    assert 'autocomplete="current-password"' in page
    assert "onpaste" not in page


def test_an_address_begins_only_so_many_sessions_without_signing_in(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "SESSIONS_OF_STRANGERS", 4)
    script = {"X-Requested-With": "XMLHttpRequest"}
    ways: list[Callable[[Client], Any]] = [
        lambda client: client.get("/accounts/login/passkey/", headers=script),
        lambda client: client.post("/accounts/login/passkey/", {"credential": "{}"}),
    ]
    states = [way(Client()).status_code for _ in range(3) for way in ways]
    assert states == [200, 302] * 2 + [429] * 2
    assert Session.objects.count() == 4
    response = ways[1](Client(headers={"Accept-Language": "de"}))
    assert "<h1>Zu viele Versuche</h1>" in response.text
    assert "Versuchen Sie es in einer Stunde wieder" in response.text
    assert response["Retry-After"]
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
    assert Client().get("/accounts/login/passkey/", REMOTE_ADDR="203.0.113.7", headers=script).status_code == 200
    client = Client()
    try_password(client, "ann")
    assert is_signed_in(client)


# --- Addresses that lead elsewhere ----------------------------------------------------------------------------------


@pytest.mark.parametrize("foreign", FOREIGN)
def test_no_page_of_signing_in_leads_to_another_host(ann: User, foreign: str) -> None:
    client = Client()
    assert not leads_elsewhere(client.get(LOGIN, {"next": foreign}))
    assert not leads_elsewhere(try_password(client, "ann", next=foreign))
    assert is_signed_in(client)
    assert not leads_elsewhere(client.get(LOGIN, {"next": foreign}))
    path = f"/accounts/confirm/password/?next={foreign}"
    assert not leads_elsewhere(client.post(path, {"password": make.PASSWORD, "next": foreign}))
    assert not leads_elsewhere(client.post(reverse("admin:switch-site"), {"site": "", "from": foreign}))
    assert not leads_elsewhere(client.post("/accounts/logout/", {"next": foreign}))
    assert not leads_elsewhere(client.post("/accounts/login/passkey/", {"credential": "{}", "next": foreign}))


@pytest.mark.parametrize("foreign", FOREIGN)
def test_no_page_of_second_factors_leads_to_another_host(ann: User, foreign: str) -> None:
    give_app(ann)
    client = Client()
    try_password(client, "ann", next=foreign)
    assert not leads_elsewhere(client.post(f"{FACTOR}?next={foreign}", {"code": code_of_app(), "next": foreign}))
    assert is_signed_in(client)
    code = {"code": code_of_app(1), "next": foreign}
    assert not leads_elsewhere(client.post(f"/accounts/confirm/code/?next={foreign}", code))


# --- Forged forms ---------------------------------------------------------------------------------------------------

SIGNED_IN_FORMS = (
    "/accounts/logout/",
    "/admin/logout/",
    "/admin/site/",
    "/admin/password_change/",
    "/profile/",
    "/accounts/confirm/password/",
    "/accounts/security/app/",
    "/accounts/security/codes/new/",
    "/accounts/security/passkeys/add/",
    "/accounts/security/sessions/",
    "/accounts/security/provider/link/",
    "/accounts/security/provider/unlink/",
)
"""The forms of somebody who is signed in, which another site could send in their browser."""
FORMS_OF_ANYBODY = (LOGIN, "/accounts/password/", "/accounts/login/passkey/", "/accounts/login/provider/")


@pytest.mark.parametrize("path", SIGNED_IN_FORMS)
def test_no_form_of_a_signed_in_person_is_taken_from_another_site(ann: User, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ann, backend="records.accounts.sign_in.AccountBackend")
    assert client.post(path, headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.post(path).status_code == 403
    assert is_signed_in(client)


@pytest.mark.parametrize("path", FORMS_OF_ANYBODY)
def test_no_form_of_signing_in_is_taken_from_another_site(ann: User, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    data = {"username": "ann", "password": make.PASSWORD, "email": "ann@example.com"}
    assert client.post(path, data).status_code == 403
    assert not is_signed_in(client)


def test_signing_out_takes_a_press_of_the_button(ann: User) -> None:
    client = sign_in(ann)
    for path in ("/accounts/logout/", "/admin/logout/"):
        client.get(path)
        assert is_signed_in(client), path


# --- Mails ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example"}, {"Forwarded": "host=evil.example"}]
)
def test_a_mailed_link_leads_to_our_address_whatever_the_request_says(ann: User, headers: dict[str, str]) -> None:
    Client().post("/accounts/password/", {"email": "ann@example.com"}, headers=headers)
    run_tasks()
    assert all("evil.example" not in str(message.body) for message in mail.outbox)
    assert len(mail.outbox) == (0 if "Host" in headers else 1)


@pytest.mark.parametrize(
    "email",
    [
        "\u0430nn@example.com",
        "ann@ex\u0430mple.com",
        "ann\u200b@example.com",
        "ann@example.com\n",
        "\uff21\uff2e\uff2e@example.com",
        "ann@ex\u0131mple.com",
    ],
)
def test_no_mail_goes_to_an_address_that_only_looks_like_an_accounts(ann: User, email: str) -> None:
    Client().post("/accounts/password/", {"email": email})
    run_tasks()
    assert {recipient for message in mail.outbox for recipient in message.to} <= {"ann@example.com"}


@pytest.mark.parametrize(
    ("stored_address", "typed_address"),
    [("bea@stra\u00dfe.example", "bea@strasse.example"), ("bea@\ufb01n.example", "bea@fin.example")],
)
def test_folding_an_address_never_sends_a_link_to_what_was_typed(
    site: Site, stored_address: str, typed_address: str
) -> None:
    make.make_user("bea", site=site, role=DefaultRole.READER, email=stored_address)
    Client().post("/accounts/password/", {"email": typed_address})
    run_tasks()
    assert typed_address not in {recipient for message in mail.outbox for recipient in message.to}


# --- Which accounts there are ---------------------------------------------------------------------------------------


def _without_tokens(page: Any) -> str:
    """Return a page without what differs from one answer to the next: the typed name and the form's token."""
    return re.sub(r'name="(csrfmiddlewaretoken|username)" value="[^"]*"|value="[^"]*"', "", page.content.decode())


def test_a_sign_in_tells_by_no_word_and_by_no_work_whether_an_account_exists(
    ann: User, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.make_user("ended", site=site, role=DefaultRole.READER, is_active=False)
    make.make_user("without-password", site=site, role=DefaultRole.READER)
    make.make_user("integration", site=site, role=DefaultRole.READER, is_service_account=True)
    User.objects.filter(user_name="without-password").update(password="!")
    passwords: list[str] = []
    original_encode = MD5PasswordHasher.encode

    def encode(self: MD5PasswordHasher, password: str, salt: str) -> str:
        passwords.append(password)
        return original_encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", encode)
    facts_by_name = {}
    for name in ("ann", "nobody", "ended", "without-password", "integration"):
        client = Client()
        client.get(LOGIN)
        passwords.clear()
        with CaptureQueriesContext(connection) as queries:
            page = try_password(client, name, "not the password")
        facts_by_name[name] = (page.status_code, _without_tokens(page), len(passwords), len(queries))
    assert {name: facts for name, facts in facts_by_name.items() if facts != facts_by_name["nobody"]} == {}


# --- Names ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "name", ["ann\u200b", "\u0430nn", "a\u00adnn", "ann\u202e", "\u03b1nn", "\uff21\uff2e\uff2e", "ANN", "ann "]
)
@pytest.mark.parametrize("door", ["a new account", "an account for an employee", "a new name"])
def test_no_door_takes_a_user_name_that_looks_like_another(ann: User, site: Site, name: str, door: str) -> None:
    client = sign_in(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), site)
    before = set(User.objects.values_list("user_name", flat=True))
    employee, other = make.make_employee(site), make.make_user("bob", site=site, role=DefaultRole.READER)
    path, data = {
        "a new account": (reverse("admin:accounts_user_add"), {"user_name": name}),
        "an account for an employee": (
            reverse("admin:employees_employee_step", args=(employee.pk, "give-account")),
            {"user_name": name, "change_reason": "Signs"},
        ),
        "a new name": (
            reverse("admin:accounts_user_change", args=(other.pk,)),
            {"user_name": name, "change_reason": "Married"},
        ),
    }[door]
    answer = client.post(path, {**form_of(client.get(path)), **data})
    assert answer.status_code == 200
    assert set(User.objects.values_list("user_name", flat=True)) == {*before, "bob"}
