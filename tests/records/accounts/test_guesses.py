"""Wrong passwords and codes: counted together, refused per account, address and known browser, slowed down for all."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from records.accounts import guesses
from records.accounts.models import DefaultRole, GuessCounter
from records.sites.models import Site
from tests import make
from tests.make.backoffice import sign_in
from tests.make.documents import make_document, make_signer
from tests.make.signing_in import code_of_app, give_app, is_signed_in, try_password

pytestmark = pytest.mark.django_db


def try_wrong_passwords(number: int, name: str = "ann", **options: str) -> list[int]:
    """Type a wrong password so many times, each in a new browser, and return the answers' status codes."""
    return [try_password(Client(), name, f"wrong{count}", **options).status_code for count in range(number)]


@pytest.fixture
def ann(site: Site) -> Any:
    return make.make_user("ann", site=site, role=DefaultRole.READER)


def test_the_eleventh_guess_at_an_account_is_refused_from_anywhere_and_in_any_case(ann: Any) -> None:
    for count, name in enumerate(["ann", "ANN", " Ann "] * 3 + ["ann"]):
        assert try_password(Client(), name, "wrong", address=f"203.0.113.{count}").status_code == 200
    response = try_password(Client(), "ann", address="198.51.100.1")
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 15 * 60
    assert "Too many wrong attempts. Try again in 15 minutes." in response.content.decode()


def test_another_account_is_not_locked_with_it(ann: Any, site: Site) -> None:
    make.make_user("ben", site=site)
    try_wrong_passwords(10)
    assert try_password(Client(), "ben").status_code == 302


def test_a_name_that_no_account_has_is_locked_alike() -> None:
    assert try_wrong_passwords(11, "nobody") == [200] * 10 + [429]


def test_the_lock_ends_after_its_minutes(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    try_wrong_passwords(10)
    start = time.time()
    monkeypatch.setattr(guesses, "time", SimpleNamespace(time=lambda: start + 14 * 60))
    assert try_password(Client(), "ann").status_code == 429
    monkeypatch.setattr(guesses, "time", SimpleNamespace(time=lambda: start + 15 * 60 + 5))
    assert try_password(Client(), "ann").status_code == 302


def test_ten_guesses_within_any_fifteen_minutes_lock_not_ten_in_all(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.time()
    for count in range(20):
        monkeypatch.setattr(guesses, "time", SimpleNamespace(time=lambda count=count: start + count * 120))
        assert try_password(Client(), "ann", "wrong", address=f"203.0.113.{count}").status_code == 200


def test_a_right_password_counts_for_nothing(ann: Any) -> None:
    assert [try_password(Client(), "ann").status_code for _ in range(12)] == [302] * 12
    assert [counter.times for counter in GuessCounter.objects.exclude(key__startswith="browser")] == [[], [], []]


def test_a_browser_that_signed_in_before_is_not_locked_out_by_guesses_elsewhere(ann: Any) -> None:
    browser = Client()
    try_password(browser, "ann")
    browser.post(reverse("admin:logout"))
    assert not is_signed_in(browser)
    try_wrong_passwords(12, address="203.0.113.9")
    assert try_password(browser, "ann").status_code == 302


def test_a_known_browser_is_known_to_its_own_account_only(ann: Any, site: Site) -> None:
    make.make_user("eve", site=site)
    browser = Client()
    try_password(browser, "eve")
    browser.post(reverse("admin:logout"))
    try_wrong_passwords(10)
    assert try_password(browser, "ann").status_code == 429


def test_a_forged_cookie_makes_no_known_browser(ann: Any) -> None:
    browser = Client()
    browser.cookies["known"] = '{"browser": "x", "accounts": ["' + str(ann.pk) + '"]}'
    try_wrong_passwords(10)
    assert try_password(browser, "ann").status_code == 429


def test_a_known_browser_has_ten_guesses_too(ann: Any) -> None:
    browser = Client()
    try_password(browser, "ann")
    browser.post(reverse("admin:logout"))
    assert [try_password(browser, "ann", "wrong").status_code for _ in range(11)] == [200] * 10 + [429]


def test_an_address_is_refused_after_thirty_guesses_but_not_its_known_browsers(ann: Any, site: Site) -> None:
    browser = Client()
    try_password(browser, "ann", address="203.0.113.7")
    browser.post(reverse("admin:logout"))
    states = [
        try_password(Client(), f"name{number}", "wrong", address="203.0.113.7").status_code for number in range(31)
    ]
    assert states == [200] * 30 + [429]
    assert try_password(Client(), "ann", address="203.0.113.7").status_code == 429
    assert try_password(Client(), "ann", address="203.0.113.8").status_code == 302
    assert try_password(browser, "ann", address="203.0.113.7").status_code == 302


def test_a_refused_address_leaves_no_counter_of_the_names_that_it_types(settings: Any) -> None:
    settings.SIGN_IN_FAILURES_ADDRESS = 2
    states = [try_password(Client(), f"name{number}", "wrong").status_code for number in range(5)]
    assert states == [200] * 2 + [429] * 3
    assert GuessCounter.objects.filter(key__startswith="account:").count() == 2


def test_all_addresses_of_a_64_network_count_as_one(ann: Any) -> None:
    states = [
        try_password(Client(), f"name{number}", "wrong", address=f"2001:db8::{number:x}").status_code
        for number in range(31)
    ]
    assert states == [200] * 30 + [429]
    assert try_password(Client(), "ann", address="2001:db8:0:1::1").status_code == 302
    assert guesses.counted_address("::ffff:203.0.113.7") == "203.0.113.7"


def test_wrong_keys_from_one_64_network_count_together(site: Site, settings: Any) -> None:
    settings.AUTH_FAILURE_LIMIT = 5
    states = [
        Client(REMOTE_ADDR=f"2001:db8::{number:x}", headers={"Ocp-Apim-Subscription-Key": f"lk_{number}"})
        .get("/item/GetItemList")
        .status_code
        for number in range(7)
    ]
    assert states == [401] * 5 + [429] * 2


def test_above_the_installations_limit_unknown_browsers_wait_and_known_ones_do_not(
    ann: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SIGN_IN_FAILURES_ALL = 5
    waits: list[float] = []
    # Only this module's clock: other threads of the process go on sleeping.
    monkeypatch.setattr(guesses, "time", SimpleNamespace(time=time.time, sleep=waits.append))
    known_browser = Client()
    try_password(known_browser, "ann")
    known_browser.post(reverse("admin:logout"))
    for number in range(5):
        try_password(Client(), f"name{number}", "wrong", address=f"203.0.113.{number}")
    assert waits == []
    assert try_password(Client(), "ann", address="198.51.100.1").status_code == 302
    assert waits == [guesses.SLOW_SECONDS]
    assert try_password(known_browser, "ann").status_code == 302
    assert waits == [guesses.SLOW_SECONDS]


def test_sign_in_password_change_and_signature_count_together(site: Site) -> None:
    reviewer = make_signer(site)
    version = make_document(site, user_to_review=[reviewer]).versions.get()
    client = sign_in(reviewer)
    change, sign = reverse("admin:password_change"), reverse("admin:documents_sign", args=(version.pk,))
    new = {"new_password1": "salt-and-flour-77", "new_password2": "salt-and-flour-77"}
    for number in range(5):
        assert client.post(change, {"old_password": f"wrong{number}", **new}).status_code == 200
        assert client.post(sign, {"decision": "sign", "password": f"wrong{number}"}).status_code == 200
    assert client.post(change, {"old_password": make.PASSWORD, **new}).status_code == 429
    assert client.post(sign, {"decision": "sign", "password": make.PASSWORD}).status_code == 429
    reviewer.refresh_from_db()
    assert reviewer.check_password(make.PASSWORD)
    assert not version.signatures.exists()
    assert try_password(Client(), reviewer.user_name).status_code == 429


def test_an_open_session_may_still_confirm_while_others_guess(site: Site) -> None:
    user = make.make_user("ann", site=site, role=DefaultRole.READER)
    client = sign_in(user)
    try_wrong_passwords(12)
    new = {"new_password1": "salt-and-flour-77", "new_password2": "salt-and-flour-77"}
    change = reverse("admin:password_change")
    assert client.post(change, {"old_password": make.PASSWORD, **new}).status_code == 302


def test_codes_of_the_second_factor_count_as_passwords_do(ann: Any) -> None:
    give_app(ann)
    states = []
    for number in range(11):
        client = Client()
        assert try_password(client, "ann").status_code == (302 if number < 10 else 429)
        if number < 10:
            states.append(client.post(reverse("mfa_authenticate"), {"code": "000000"}).status_code)
    assert states == [200] * 10
    assert code_of_app() != "000000"


@pytest.mark.django_db(transaction=True)
def test_guesses_made_at_the_same_moment_do_not_exceed_the_limit(settings: Any) -> None:
    settings.SIGN_IN_FAILURES_ACCOUNT = 5
    results = make.at_once(*[lambda: guesses.begin("ann", address="203.0.113.7") for _ in range(8)])
    errors = [result for result in results if isinstance(result, guesses.TooManyGuessesError)]
    assert len(errors) == 3, results
