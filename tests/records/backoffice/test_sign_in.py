"""Signing in: who may, second factors, mandatory factors, sessions and their ends."""

import datetime
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from allauth.usersessions.models import UserSession
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from records.accounts import actions
from records.accounts.models import DefaultRole, SecurityEvent, User
from records.backoffice import unsaved_input
from records.backoffice.sign_in import middleware
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.backoffice import sign_in
from tests.make.signing_in import (
    LOGIN,
    SECRET,
    code_of_app,
    give_app,
    is_signed_in,
    recovery_codes,
    try_password,
)

pytestmark = pytest.mark.django_db

FACTOR = "/accounts/login/factor/"
SECURITY = "/accounts/security/"


@pytest.fixture
def ann(site: Site) -> User:
    return make.make_user("ann", site=site, role=DefaultRole.READER, email="ann@example.com")


# --- The page -------------------------------------------------------------------------------------------------------


def test_the_back_office_leads_to_one_page_with_a_password_form_and_back_again(ann: User) -> None:
    client = Client()
    redirect = client.get("/admin/items/item/?archived=yes")
    assert redirect["Location"].startswith(LOGIN)
    page = client.get(redirect["Location"])
    assert 'type="password"' in page.content.decode()
    answer = try_password(client, "ANN", next="/admin/items/item/?archived=yes")
    assert answer["Location"] == "/admin/items/item/?archived=yes"
    assert is_signed_in(client)


def test_signing_in_never_leads_to_another_host(ann: User) -> None:
    assert try_password(Client(), "ann", next="https://evil.example/")["Location"] == "/admin/"


def test_a_failed_sign_in_says_user_name_or_password(ann: User) -> None:
    for name, password in (("ann", "wrong"), ("nobody", make.PASSWORD)):
        page = try_password(Client(), name, password)
        assert page.status_code == 200
        assert "This user name or password is not right." in page.content.decode()
        assert "staff" not in page.content.decode()


@pytest.mark.parametrize("fields", [{"is_active": False}, {"is_service_account": True}, {"removed": timezone.now()}])
def test_ended_and_service_accounts_do_not_sign_in(ann: User, fields: dict[str, Any]) -> None:
    User.objects.filter(pk=ann.pk).update(**fields)
    client = Client()
    assert try_password(client, "ann").status_code == 200
    assert not is_signed_in(client)


def test_nobody_can_sign_up_or_add_an_address() -> None:
    for path in ("/accounts/signup/", "/accounts/email/", "/accounts/social/signup/", "/accounts/"):
        assert Client().get(path).status_code == 404, path


def test_without_passwords_only_the_other_ways_are_offered(ann: User, settings: Any) -> None:
    settings.PASSWORD_SIGN_IN = False
    page = Client().get(LOGIN).content.decode()
    assert 'type="password"' not in page
    assert "Use a passkey" in page
    assert try_password(Client(), "ann").status_code == 403
    assert Client().get("/accounts/password/").status_code == 404
    assert sign_in(ann).get(reverse("admin:password_change")).status_code == 404


# --- Second factors -------------------------------------------------------------------------------------------------


def test_a_password_alone_does_not_open_an_account_with_an_app(ann: User) -> None:
    give_app(ann)
    client = Client()
    assert try_password(client, "ann", next="/admin/items/item/")["Location"] == FACTOR
    assert not is_signed_in(client)
    assert "is not right" in client.post(FACTOR, {"code": "000000"}).content.decode()
    done = client.post(FACTOR, {"code": code_of_app()})
    assert done["Location"] == "/admin/items/item/"
    assert is_signed_in(client)


@pytest.mark.parametrize("again", ["in the same process", "in another process", "written otherwise"])
def test_a_code_works_once(ann: User, again: str) -> None:
    give_app(ann)
    code = code_of_app()
    for state in (302, 200):
        client = Client()
        try_password(client, "ann")
        assert client.post(FACTOR, {"code": code}).status_code == state
        if again != "in the same process":
            # Without Redis, each process has a cache of its own.
            cache.clear()
        if again == "written otherwise":
            code = f" {code[:3]} {code[3:]} "
    assert sign_in(ann).post("/accounts/confirm/code/", {"code": code}).status_code == 200


def test_the_database_holds_no_secret_of_a_factor(ann: User) -> None:
    give_app(ann)
    stored_data = str(list(Authenticator.objects.values_list("data", flat=True)))
    codes = recovery_codes(ann)
    assert len(codes) == 10
    assert not any(secret in stored_data for secret in (SECRET, *codes))


@pytest.mark.parametrize("missing", ["the pepper", "the encryption"])
def test_a_secret_that_no_pepper_opens_lets_nobody_in(ann: User, settings: Any, missing: str) -> None:
    app = give_app(ann)
    if missing == "the pepper":
        settings.CREDENTIAL_PEPPERS = ["another pepper, long enough to be one of them"]
    else:
        Authenticator.objects.update(data={"secret": SECRET, "seed": SECRET, "used_mask": 0})
    for code in (code_of_app(), format_hotp_value(hotp_value("", 1)), "00000000"):
        client = Client()
        try_password(client, "ann")
        assert client.post(FACTOR, {"code": code}).status_code == 200
        assert not is_signed_in(client)
    assert app.user == ann


def test_a_recovery_code_works_once(ann: User) -> None:
    give_app(ann)
    code = recovery_codes(ann)[0]
    for state in (302, 200):
        client = Client()
        try_password(client, "ann")
        assert client.post(FACTOR, {"code": code}).status_code == state


@pytest.mark.parametrize("end", ["the access", "the sessions", "the password"])
def test_what_ends_sessions_also_ends_a_sign_in_that_waits_for_its_second_factor(ann: User, end: str) -> None:
    give_app(ann)
    client = Client()
    try_password(client, "ann")
    ends: dict[str, Callable[[], Any]] = {
        "the access": lambda: actions.end_access(ann, author=make.SYSTEM),
        "the sessions": lambda: actions.end_sessions(ann),
        "the password": lambda: actions.set_password(ann, "salt and flour and 77", author=make.SYSTEM),
    }
    ends[end]()
    code = code_of_app()
    answer = client.post(FACTOR, {"code": code}, follow=True)
    assert answer.redirect_chain[-1][0] == LOGIN
    assert "Your session has ended. Sign in again to go on." in answer.content.decode()
    assert not is_signed_in(client)
    assert not SecurityEvent.objects.filter(kind="SignIn").exists()


def test_somebody_whose_factors_are_removed_before_the_second_step_signs_in_anew(ann: User) -> None:
    give_app(ann)
    client = Client()
    try_password(client, "ann")
    Authenticator.objects.filter(user=ann).delete()
    answer = client.get(FACTOR, follow=True)
    assert answer.redirect_chain == [(LOGIN, 302)]
    assert answer.status_code == 200
    assert not is_signed_in(client)
    try_password(client, "ann")
    assert is_signed_in(client)


def test_an_app_is_set_up_after_confirming_the_password_and_its_secret_is_not_readable(
    ann: User, django_capture_on_commit_callbacks: Any
) -> None:
    client = sign_in(ann)
    redirect = client.get(f"{SECURITY}app/")
    assert redirect["Location"].startswith("/accounts/confirm/password/")
    assert client.post(redirect["Location"], {"password": "wrong"}).status_code == 200
    assert client.post(redirect["Location"], {"password": make.PASSWORD}).status_code == 302
    page = client.get(f"{SECURITY}app/")
    secret = page.context["form"].secret
    code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
    with django_capture_on_commit_callbacks(execute=True):
        assert client.post(f"{SECURITY}app/", {"code": code})["Location"] == f"{SECURITY}codes/"
    text = client.get(f"{SECURITY}codes/").content.decode()
    assert all(code in text for code in recovery_codes(ann))
    assert all(code not in client.get(f"{SECURITY}codes/").content.decode() for code in recovery_codes(ann))
    stored_data = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored_data
    assert set(Change.objects.filter(record_id=ann.pk).values_list("operation", flat=True)) >= {"AddFactor", "SignIn"}
    new_client = Client()
    try_password(new_client, "ann")
    assert "This code is not right, or it was used already." in new_client.post(FACTOR, {"code": code}).content.decode()
    assert not is_signed_in(new_client)


def test_a_mandatory_factor_has_to_be_set_up_before_anything_else(ann: User, site: Site, settings: Any) -> None:
    settings.SECOND_FACTOR = "everybody"
    client = Client()
    try_password(client, "ann")
    for path in ("/admin/", "/profile/", "/admin/items/item/"):
        assert client.get(path)["Location"] == SECURITY, path
    page = client.get(SECURITY)
    assert page.status_code == 200
    assert page.content.decode().count("You need a second factor here.") == 1
    assert "You need a second factor here." not in client.get(SECURITY).content.decode()
    give_app(ann)
    assert client.get("/admin/").status_code == 200


def test_only_administrators_need_a_factor_where_that_is_set(ann: User, site: Site, settings: Any) -> None:
    settings.SECOND_FACTOR = "administrators"
    assert sign_in(ann).get("/admin/").status_code == 200
    administrator = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR)
    assert sign_in(administrator).get("/admin/")["Location"] == SECURITY


def test_the_last_factor_of_somebody_who_needs_one_stays(ann: User, settings: Any) -> None:
    settings.SECOND_FACTOR = "everybody"
    give_app(ann)
    client = Client()
    try_password(client, "ann")
    client.post(FACTOR, {"code": code_of_app()})
    client.post("/accounts/confirm/password/", {"password": make.PASSWORD})
    page = client.post(f"{SECURITY}app/remove/")
    assert "Add another one before you remove this one" in page.content.decode()
    assert Authenticator.objects.filter(user=ann, type="totp").exists()


def _passkeys(user: User, number: int) -> list[str]:
    """Give the account passkeys that no device has, and return the pages that remove them."""
    passkeys = [Authenticator.objects.create(user=user, type="webauthn", data={"name": "Key"}) for _ in range(number)]
    return [f"{SECURITY}passkeys/{key.pk}/remove/" for key in passkeys]


def _confirmed_browser(user: User) -> Client:
    client = sign_in(user)
    client.post("/accounts/confirm/password/", {"password": make.PASSWORD})
    return client


def test_the_last_passkey_of_somebody_who_needs_a_factor_stays(ann: User, settings: Any) -> None:
    settings.SECOND_FACTOR = "everybody"
    first, last = _passkeys(ann, 2)
    client = _confirmed_browser(ann)
    assert client.post(first).status_code == 302
    page = client.post(last, follow=True)
    assert "Add another one before you remove this one" in page.content.decode()
    assert Authenticator.objects.filter(user=ann, type="webauthn").count() == 1


def test_a_passkey_without_which_nobody_could_sign_in_stays(ann: User, settings: Any) -> None:
    first, last = _passkeys(ann, 2)
    client = _confirmed_browser(ann)
    settings.PASSWORD_SIGN_IN = False
    assert client.post(first).status_code == 302
    assert "You could not sign in any more." in client.post(last, follow=True).content.decode()
    assert Authenticator.objects.filter(user=ann, type="webauthn").count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_factors_that_are_removed_at_once_one_stays(ann: User, settings: Any) -> None:
    settings.SECOND_FACTOR = "everybody"
    pages = _passkeys(ann, 2)
    clients = [_confirmed_browser(ann) for _ in pages]
    for client, page in zip(clients, pages, strict=True):
        assert client.get(page).status_code == 200
    make.at_once(*[partial(client.post, page) for client, page in zip(clients, pages, strict=True)])
    assert Authenticator.objects.filter(user=ann, type="webauthn").count() == 1


NOT_SENT_BY_PASSKEYS = (
    *("", "5", "[]", "null", '"x"', "{}", "{", '{"response": 1}', '{"id": "x", "response": {}}'),
    *("[" * 5_000, "9" * 5_000, '"\\ud800"'),
)


@pytest.mark.parametrize("credential", NOT_SENT_BY_PASSKEYS, ids=lambda credential: credential[:12])
def test_what_no_passkey_sends_is_refused_in_words(ann: User, credential: str) -> None:
    answer = Client().post("/accounts/login/passkey/", {"credential": credential})
    assert answer.status_code == 302
    assert answer["Location"] == LOGIN
    client = sign_in(ann)
    client.post("/accounts/confirm/password/", {"password": make.PASSWORD})
    assert client.post(f"{SECURITY}passkeys/add/", {"credential": credential, "name": "Key"}).status_code == 200
    Authenticator.objects.create(user=ann, type="webauthn", data={"credential": {}, "passwordless": True})
    assert client.post("/accounts/confirm/passkey/", {"credential": credential}).status_code == 302


# --- Sessions -------------------------------------------------------------------------------------------------------


def move_clock(monkeypatch: pytest.MonkeyPatch, **by: int) -> None:
    moment = time.time() + datetime.timedelta(**by).total_seconds()
    monkeypatch.setattr(middleware, "time", SimpleNamespace(time=lambda: moment))


def test_a_session_that_is_not_used_ends(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in(ann)
    move_clock(monkeypatch, minutes=61)
    answer = client.get("/admin/", follow=True)
    assert answer.redirect_chain[-1][0].startswith(LOGIN)
    assert "Your session has ended" in answer.content.decode()


def test_a_used_session_goes_on_until_its_last_hour(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in(ann)
    clock = SimpleNamespace(time=time.time)
    monkeypatch.setattr(middleware, "time", clock)
    start = time.time()
    for minutes in range(50, 12 * 60, 50):
        clock.time = lambda minutes=minutes: start + minutes * 60
        assert is_signed_in(client), minutes
    clock.time = lambda: start + 12 * 3600 + 60
    assert not is_signed_in(client)


def test_own_sessions_are_listed_and_ended_one_by_one(ann: User) -> None:
    first, second, third = Client(), Client(), Client()
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    for client in (first, second, third):
        client.post(LOGIN, {"username": "ann", "password": make.PASSWORD}, headers={"User-Agent": agent})
    page = first.get(f"{SECURITY}sessions/")
    assert page.content.decode().count("Firefox on Linux") == 5
    assert page.content.decode().count("This browser") == 1
    assert "Times are those of" in page.content.decode()
    session = next(
        entry["row"] for entry in page.context["sessions"] if entry["row"].session_key == second.session.session_key
    )
    redirect = first.post(f"{SECURITY}sessions/", {"id": str(session.pk)})
    assert [is_signed_in(client) for client in (first, second, third)] == [True, True, True]
    first.post(redirect["Location"], {"password": make.PASSWORD})
    assert [is_signed_in(client) for client in (first, second, third)] == [True, False, True]
    first.post(f"{SECURITY}sessions/", {"others": "1"})
    assert [is_signed_in(client) for client in (first, third)] == [True, False]


def test_nobody_ends_the_session_of_somebody_else(ann: User, site: Site) -> None:
    eve = make.make_user("eve", site=site)
    ann_browser, eve_browser = Client(), Client()
    try_password(ann_browser, "ann")
    try_password(eve_browser, "eve")
    row = UserSession.objects.get(user=ann)
    eve_browser.post(f"{SECURITY}sessions/", {"id": str(row.pk)})
    assert is_signed_in(ann_browser)
    assert eve_browser.get(f"{SECURITY}sessions/").context["sessions"][0]["row"].user_id == eve.pk


def test_sessions_are_listed_with_the_same_number_of_queries(ann: User, django_assert_max_num_queries: Any) -> None:
    for _ in range(12):
        try_password(Client(), "ann")
    client = sign_in(ann)
    client.get(f"{SECURITY}sessions/")
    with django_assert_max_num_queries(14):
        assert len(client.get(f"{SECURITY}sessions/").context["sessions"]) == 13


def test_sessions_of_an_ended_access_are_gone_at_once(ann: User) -> None:
    client = Client()
    try_password(client, "ann")
    actions.end_access(ann, author=make.SYSTEM)
    assert not is_signed_in(client)


def test_a_sign_in_is_noted_with_account_address_and_way(ann: User) -> None:
    give_app(ann)
    client = Client()
    try_password(client, "ann", address="203.0.113.7")
    client.post(FACTOR, {"code": code_of_app()}, REMOTE_ADDR="203.0.113.7")
    event = SecurityEvent.objects.get(kind="SignIn")
    assert (event.account_id, event.address, event.detail) == (ann.pk, "203.0.113.7", "password, authenticator app")


def test_a_lock_out_is_noted_once(ann: User) -> None:
    for number in range(14):
        try_password(Client(), "ann", "wrong", address=f"203.0.113.{number}")
    assert SecurityEvent.objects.filter(kind="LockOut", account_id=ann.pk).count() == 1
    assert Change.objects.filter(record_id=ann.pk, operation="LockOut").count() == 1
    assert not SecurityEvent.objects.filter(kind="SignInFailed").exists()


def test_either_way_of_signing_out_clears_what_the_browser_keeps(ann: User) -> None:
    for way in ("admin:logout", "account_logout"):
        client = sign_in(ann)
        done = client.post(reverse(way))
        assert done.cookies[unsaved_input.COOKIE].value == unsaved_input.SIGNED_OUT, way
        assert done["Clear-Site-Data"] == '"cache"', way
        assert not is_signed_in(client), way


def test_starting_again_under_another_name_keeps_the_text_typed_before_the_session_ended(ann: User) -> None:
    give_app(ann)
    client = Client()
    assert try_password(client, "ann")["Location"] == FACTOR
    done = client.post(reverse("account_logout"), {"next": LOGIN})
    assert done["Location"] == LOGIN
    assert unsaved_input.COOKIE not in done.cookies
    assert not is_signed_in(client)


def test_cookies_over_tls_are_bound_to_this_host() -> None:
    program = (
        "import django; django.setup(); from django.conf import settings as s; from records.accounts import browsers; "
        "from records.backoffice import shown_once, unsaved_input; "
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, browsers.COOKIE, unsaved_input.COOKIE, shown_once.COOKIE)"
    )
    env = {"BASE_URL": "https://larder.example.com", "ENV_FILE": "", "DATA_DIR": "build/data", "PATH": "/usr/bin"}
    env["DJANGO_SETTINGS_MODULE"] = "config.settings"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    *whole_host, shown_once = done.stdout.split()
    assert whole_host == ["__Host-sessionid", "__Host-csrftoken", "__Host-known", "__Host-larder-saved"]
    # It is bound to the page that shows a secret, which the stricter prefix does not allow.
    assert shown_once == "__Secure-larder-secret"
