"""What an administrator does for a person whose phone is lost."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from records.accounts.models import DefaultRole, SecurityEvent, SecurityKind, User
from records.sites.models import Site
from tests import make
from tests.make.backoffice import press
from tests.make.signing_in import run_tasks


@pytest.fixture
def mira(site: Site) -> User:
    """Return a Manager with an authenticator app and recovery codes."""
    user = make.make_user("mira", site=site, role=DefaultRole.MANAGER, email="mira@corp.local")
    for kind in ("totp", "recovery_codes"):
        Authenticator.objects.create(user=user, type=kind, data={"secret": "x", "seed": "x"})
    return user


@pytest.fixture
def administrator(client: Any, site: Site) -> Any:
    """Return a browser of a Site Administrator."""
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    return client


def step_url(user: User, step: str) -> str:
    """Return the address of a step's page."""
    return f"/admin/accounts/user/{user.pk}/do/{step}/"


def test_an_administrator_ends_the_sessions_of_a_person_who_is_told(
    administrator: Any, mira: User, mailoutbox: Any
) -> None:
    browser = Client()
    browser.force_login(mira)
    assert browser.get("/admin/").status_code == 200
    assert press(administrator, step_url(mira, "end-sessions"), {"change_reason": ""}).status_code == 200
    assert browser.get("/admin/").status_code == 200
    assert press(administrator, step_url(mira, "end-sessions"), {"change_reason": "Phone lost"}).status_code == 302
    assert browser.get("/admin/").status_code == 302
    event = SecurityEvent.objects.get(kind=SecurityKind.SESSIONS_ENDED)
    assert (event.account_id, event.detail) == (mira.pk, "Phone lost")
    run_tasks()
    assert [message.to for message in mailoutbox] == [["mira@corp.local"]]


def test_an_administrator_removes_the_second_factors_of_a_person_who_is_told(
    administrator: Any, mira: User, mailoutbox: Any
) -> None:
    browser = Client()
    browser.force_login(mira)
    assert press(administrator, step_url(mira, "remove-factors"), {"change_reason": "Phone lost"}).status_code == 302
    assert not Authenticator.objects.filter(user=mira).exists()
    assert browser.get("/admin/").status_code == 302
    assert SecurityEvent.objects.filter(kind=SecurityKind.FACTOR_REMOVED, account_id=mira.pk).count() == 1
    run_tasks()
    assert [message.to for message in mailoutbox] == [["mira@corp.local"]]


@pytest.mark.parametrize("step", ["end-sessions", "remove-factors"])
def test_an_equal_and_whoever_is_lower_may_do_neither(client: Any, site: Site, mira: User, step: str) -> None:
    equal = make.make_user("equal", site=site, role=DefaultRole.SITE_ADMINISTRATOR)
    Authenticator.objects.create(user=equal, type="totp", data={"secret": "x"})
    for role, target in ((DefaultRole.SITE_ADMINISTRATOR, equal), (DefaultRole.MANAGER, mira)):
        client.force_login(make.make_user(site=site, role=role))
        answer = client.post(step_url(target, step), {"change_reason": "Phone lost"})
        assert answer.status_code in (403, 404)
        assert Authenticator.objects.filter(user=target).exists()
    assert not SecurityEvent.objects.filter(kind=SecurityKind.SESSIONS_ENDED).exists()
