"""The recovery address: it follows an employee's address only for those who may change it, and persons confirm."""

import re
import time
from typing import Any

import pytest
from django.core import mail, signing
from django.test import Client
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from records.accounts.lost_devices import has_factors
from records.accounts.models import DefaultRole, SecurityEvent, User
from records.accounts.security_mails import SALT, address_in, mail_notice
from records.backoffice.tasks import mail_link, mail_links
from records.employees.actions import give_account
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, save
from tests.make.signing_in import give_app


@pytest.fixture
def site(db: None) -> Site:
    return make.make_site()


def drain_tasks() -> None:
    """Do what a worker does with the mails that are queued."""
    for task in DBTaskResult.objects.filter(task_path=mail_notice.module_path):
        mail_notice.call(*task.args_kwargs["args"])
        task.delete()


def make_person(site: Site, name: str, role: DefaultRole | None = DefaultRole.MANAGER) -> User:
    """Make an employee with an account of the role, whose addresses are `<name>@old.example`."""
    employee = make.make_employee(site, email_address=f"{name}@old.example")
    user = give_account(site.pk, employee.pk, name, role=role, author=make.SYSTEM, reason="Signs")
    user.set_password(make.PASSWORD)
    user.save()
    return user


def move(client: Client, key: make.Key, user: User, address: str) -> None:
    """Change the address of the user's employee by the JSON interface."""
    headers = key.headers
    body = client.get(f"/employee/GetEmployee/{user.pk}", headers=headers).json()
    body["EmailAddress"] = address
    path = f"/employee/UpdateEmployee/{user.pk}"
    answer = client.put(path, body, content_type="application/json", headers=headers)
    assert answer.status_code == 200, answer.content


def links(messages: list[Any]) -> list[str]:
    """Return the paths of the links that confirm an address."""
    return [
        "/profile/address/" + token
        for message in messages
        for token in re.findall(r"/profile/address/(\S+)", message.body)
    ]


def test_a_managers_key_moves_the_fact_and_not_the_recovery_address(client: Client, site: Site) -> None:
    victim = make_person(site, "victim")
    move(client, make.make_key(site), victim, "attacker@evil.example")
    victim.refresh_from_db()
    assert (victim.email, victim.recovery_address) == ("attacker@evil.example", "victim@old.example")
    drain_tasks()
    bodies = {message.to[0]: message.body for message in mail.outbox}
    assert set(bodies) == {"attacker@evil.example", "victim@old.example"}
    assert "attacker@evil.example" in bodies["victim@old.example"]
    assert "/profile/address/" not in bodies["victim@old.example"]
    assert SecurityEvent.objects.filter(kind="AskRecoveryAddress", account_id=victim.pk).count() == 1


def test_a_link_for_a_new_password_goes_to_the_old_address_alone(client: Client, site: Site) -> None:
    victim = make_person(site, "victim")
    move(client, make.make_key(site), victim, "attacker@evil.example")
    for email in ("attacker@evil.example", "victim@old.example"):
        assert client.post("/accounts/password/", {"email": email}).status_code == 302
    mail.outbox.clear()
    for task in (mail_links, mail_link):
        for result in DBTaskResult.objects.filter(task_path=task.module_path):
            task.call(*result.args_kwargs["args"])
    assert [message.to for message in mail.outbox] == [["victim@old.example"]]
    (link,) = re.findall(r"/accounts/password/\S+", str(mail.outbox[0].body))
    page = client.get(client.get(link)["Location"])
    assert page.context["form"].user == victim


@pytest.mark.parametrize("is_superuser", [False, True])
def test_a_persons_own_key_does_not_move_the_own_recovery_address(
    client: Client, site: Site, is_superuser: bool
) -> None:
    user = make_person(site, "owner")
    User.objects.filter(pk=user.pk).update(is_superuser=is_superuser)
    move(client, make.make_key(site, user=user), user, "new@example.com")
    user.refresh_from_db()
    assert (user.recovery_address, user.pending_address) == ("owner@old.example", "new@example.com")


def test_a_superusers_open_session_moves_the_own_recovery_address_and_removes_own_factors_by_no_page_of_accounts(
    client: Client, site: Site
) -> None:
    root = make_person(site, "root")
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    give_app(root)
    client.force_login(root, backend="records.accounts.sign_in.AccountBackend")
    for step in ("recovery-address", "remove-factors"):
        page = reverse("admin:accounts_user_step", args=(root.pk, step))
        assert page not in client.get(address(root, "read")).text
        data = {"recovery_address": "new@evil.example", "change_reason": "Mine"}
        assert client.post(page, data).status_code == 403
    assert save(client, root, email="new@evil.example", change_reason="Mine").status_code == 302
    root.refresh_from_db()
    assert (root.recovery_address, root.pending_address) == ("root@old.example", "new@evil.example")
    assert has_factors(root)


def test_a_site_administrators_change_moves_the_recovery_address_of_lower_accounts_alone(
    client: Client, site: Site
) -> None:
    key = make.make_key(site, DefaultRole.SITE_ADMINISTRATOR)
    lower, equal = make_person(site, "lower"), make_person(site, "equal", DefaultRole.SITE_ADMINISTRATOR)
    move(client, key, lower, "lower@new.example")
    move(client, key, equal, "equal@new.example")
    addresses = dict(User.objects.filter(pk__in=[lower.pk, equal.pk]).values_list("user_name", "recovery_address"))
    assert addresses == {"lower": "lower@new.example", "equal": "equal@old.example"}
    drain_tasks()
    assert "lower@old.example" in {message.to[0] for message in mail.outbox}


def test_opening_the_link_asks_and_only_the_own_signed_in_person_confirms(client: Client, site: Site) -> None:
    user, other = make_person(site, "mover"), make_person(site, "other")
    move(client, make.make_key(site), user, "new@example.com")
    drain_tasks()
    (link,) = links(mail.outbox)
    assert reverse("admin:login") in client.get(link)["Location"]
    client.force_login(other, backend="records.accounts.sign_in.AccountBackend")
    assert client.get(link).status_code == 410
    assert client.post(link).status_code == 410
    client.force_login(user, backend="records.accounts.sign_in.AccountBackend")
    assert "new@example.com" in client.get(link).content.decode()
    user.refresh_from_db()
    assert user.recovery_address == "mover@old.example"
    assert client.post(link).status_code == 302
    user.refresh_from_db()
    assert (user.recovery_address, user.pending_address) == ("new@example.com", "")
    change = Change.objects.get(operation="SetRecoveryAddress")
    assert change.author_id == user.pk
    assert client.post(link).status_code == 410
    mail.outbox.clear()
    drain_tasks()
    assert [message.to for message in mail.outbox] == [["mover@old.example"]]


def test_a_link_that_is_altered_or_old_confirms_nothing(
    client: Client, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make_person(site, "mover")
    move(client, make.make_key(site), user, "new@example.com")
    drain_tasks()
    (link,) = links(mail.outbox)
    client.force_login(user, backend="records.accounts.sign_in.AccountBackend")
    assert client.post(link[:-3] + "aa/").status_code == 410
    in_four_days = time.time() + 4 * 86400
    monkeypatch.setattr("django.core.signing.time.time", lambda: in_four_days)
    user.refresh_from_db()
    assert address_in(link.removeprefix("/profile/address/").rstrip("/"), user) == ""


def test_a_link_that_we_signed_for_another_purpose_confirms_nothing(client: Client, site: Site) -> None:
    user = make_person(site, "mover")
    move(client, make.make_key(site), user, "new@example.com")
    user.refresh_from_db()
    client.force_login(user, backend="records.accounts.sign_in.AccountBackend")
    for salt, status in (("larder.shown-once", 410), (SALT, 302)):
        token = signing.dumps([str(user.pk), "new@example.com"], salt=salt)
        assert client.post(f"/profile/address/{token}/").status_code == status


def test_the_link_goes_to_no_address_that_waits_no_more(site: Site) -> None:
    user = make_person(site, "mover")
    mail_notice.call(str(user.pk), "AskRecoveryAddress", "gone@example.com", "gone@example.com", "", "now")
    assert links(mail.outbox) == []


def test_a_person_who_keeps_another_recovery_address_is_asked_nothing(client: Client, site: Site) -> None:
    user = make_person(site, "private")
    User.objects.filter(pk=user.pk).update(recovery_address="home@private.example")
    move(client, make.make_key(site, DefaultRole.SITE_ADMINISTRATOR), user, "new@example.com")
    user.refresh_from_db()
    assert (user.recovery_address, user.pending_address) == ("home@private.example", "")
