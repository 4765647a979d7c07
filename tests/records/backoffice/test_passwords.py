"""Passwords: links by mail, invitations, and which passwords are accepted."""

import datetime
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole, User
from records.backoffice import passwords
from records.sites.models import Site
from tests import make
from tests.make.backoffice import sign_in
from tests.make.signing_in import mailed_path, run_tasks

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann(site: Site) -> User:
    return make.make_user("ann", site=site, role=DefaultRole.READER, email="ann@example.com")


def test_a_reset_does_the_same_work_for_an_unknown_address(ann: User, django_assert_num_queries: Any) -> None:
    counts = []
    for address in ("ann@example.com", "nobody@example.com"):
        client = Client(REMOTE_ADDR="203.0.113.7")
        client.post("/accounts/password/", {"email": address})
        with CaptureQueriesContext(connection) as queries:
            client.post("/accounts/password/", {"email": address})
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert mail.outbox == []


def test_a_reset_link_is_good_for_an_hour_and_an_invitation_for_three_days(
    ann: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = datetime.datetime.now()  # noqa: DTZ005 (Django's tokens count in it)
    hour, three_days = datetime.timedelta(hours=1), passwords.INVITATION
    reset, invitation = passwords.tokens.make(ann, hour), passwords.tokens.make(ann, three_days)

    def check_tokens(after: datetime.timedelta) -> list[bool]:
        monkeypatch.setattr(passwords.tokens, "_now", lambda: start + after)
        return [passwords.tokens.check_token(ann, token) for token in (reset, invitation)]

    minute = datetime.timedelta(minutes=1)
    assert check_tokens(hour - minute) == [True, True]
    assert check_tokens(hour + minute) == [False, True]
    assert check_tokens(three_days - minute) == [False, True]
    assert check_tokens(three_days + minute) == [False, False]


def test_a_link_works_once_and_ends_with_the_address_it_was_mailed_to(ann: User) -> None:
    Client().post("/accounts/password/", {"email": "ann@example.com"})
    run_tasks()
    assert mail.outbox[-1].to == ["ann@example.com"]
    assert "for 60 minutes" in str(mail.outbox[-1].body)
    token = mailed_path().rstrip("/").rpartition("/")[2]
    assert passwords.tokens.check_token(ann, token)
    ann.recovery_address = "other@example.com"
    assert not passwords.tokens.check_token(ann, token)


@pytest.mark.parametrize(
    "weak",
    [
        "short-1234",
        "password1234",
        "P@ssw0rd1234",
        "123456789012",
        "qwertyuiopas",
        "aaaaaaaaaaaaaa",
        "bread!bread!bread!",
        "my-hillside-secret",
        "uma-likes-rye-4711",
        "annabel-ann-4711!x",
    ],
)
def test_weak_passwords_are_refused(site: Site, weak: str) -> None:
    user = make.make_user("annabel", site=site, role=DefaultRole.READER, display_name="Uma Ann", given_name="Umalike")
    user.given_name = "uma-likes"
    user.save()
    client = sign_in(user)
    form = {"old_password": make.PASSWORD, "new_password1": weak, "new_password2": weak}
    assert client.post(reverse("admin:password_change"), form).status_code == 200
    user.refresh_from_db()
    assert user.check_password(make.PASSWORD)


def test_a_long_unusual_password_is_taken(ann: User) -> None:
    new_password = "salt and flour and 77"
    form = {"old_password": make.PASSWORD, "new_password1": new_password, "new_password2": new_password}
    assert sign_in(ann).post(reverse("admin:password_change"), form).status_code == 302
