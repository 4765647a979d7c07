"""Giving an employee who has none an account: who may, what is written, and the invitation by mail."""

import re
from typing import Any

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from records.accounts import access
from records.accounts.models import DefaultRole, User
from records.backoffice.tasks import DELAYS, invite
from records.employees.actions import give_account, update_employee
from records.employees.models import Employee
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, browser, form_of, press


def step(employee: Employee) -> str:
    return reverse("admin:employees_employee_step", args=(employee.pk, "give-account"))


def test_a_site_administrator_gives_an_employee_an_account_with_a_role_and_an_invitation(site: Site) -> None:
    employee = make.make_employee(site, first_name="Mira", last_name="Quill", email_address="mira@example.com")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert "Give an account" in client.get(address(employee)).content.decode()
    data = form_of(client.get(step(employee)))
    assert (data["user_name"], data["invites"]) == (["mira@example.com"], ["on"])
    answer = press(
        client, step(employee), {**data, "role": DefaultRole.READER.value, "change_reason": "Signs documents"}
    )
    assert answer.status_code == 302, answer.content.decode()
    user = User.objects.get(pk=employee.pk)
    assert Employee.objects.get(pk=employee.pk).user_id == user.pk
    assert (user.user_name, user.email, user.given_name, user.home_site_id) == (
        "mira@example.com",
        "mira@example.com",
        "Mira",
        site.pk,
    )
    assert not user.has_usable_password()
    assert access.may(user, site, "employees.view_employee")
    changes = Change.objects.filter(reason="Signs documents").order_by("number")
    assert [(change.operation, change.record_id == employee.pk) for change in changes] == [
        ("GiveAccount", True),
        ("GiveAccount", True),
        ("ChangeMembers", False),
    ]
    assert {change.model for change in changes[:2]} == {"employees.Employee", "accounts.User"}
    page = client.get(address(employee)).content.decode()
    assert "Give an account" not in page
    assert f'href="{address(user, "read")}"' in page
    assert f'href="{address(user)}"' not in browser(site, DefaultRole.READER).get(address(employee)).content.decode()
    again = press(client, step(employee), {**data, "change_reason": "Again"})
    assert (again.status_code, "is no longer possible" in again.content.decode()) == (200, True)
    assert User.objects.filter(user_name="mira@example.com").count() == 1
    assert DBTaskResult.objects.count() == 1
    assert invite.call(str(user.pk))
    assert "https" in str(mail.outbox[0].body) or "http" in str(mail.outbox[0].body)
    assert "Your user name is mira@example.com" in str(mail.outbox[0].body)


def test_the_form_says_where_the_invitation_goes_or_where_its_address_has_to_be_entered(site: Site) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    with_address = client.get(step(make.make_employee(site, email_address="mira@example.com"))).content.decode()
    assert "It goes to mira@example.com, the e-mail address on the employee&#x27;s page" in with_address
    without = client.get(step(make.make_employee(site))).content.decode()
    assert "The employee&#x27;s page has no e-mail address yet" in without


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER])
def test_nobody_below_a_site_administrator_gives_accounts(site: Site, other_site: Site, role: DefaultRole) -> None:
    employee = make.make_employee(site)
    data = {"user_name": "ada", "change_reason": "x"}
    client = browser(site, role)
    assert "Give an account" not in client.get(address(employee)).content.decode()
    assert client.post(step(employee), data).status_code == 403
    assert browser(other_site, DefaultRole.SITE_ADMINISTRATOR).post(step(employee), data).status_code == 404
    assert not User.objects.filter(pk=employee.pk).exists()


def test_a_name_in_use_a_missing_address_and_a_missing_reason_are_said_at_their_fields(site: Site) -> None:
    make.make_user("ADA")
    employee = make.make_employee(site)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    answer = press(client, step(employee), {"user_name": "ada", "change_reason": "x"})
    assert answer.context["form"].errors == {"user_name": ["Another account has this user name."]}
    unreachable = press(client, step(employee), {"user_name": "ada2", "invites": "on", "change_reason": "x"})
    assert list(unreachable.context["form"].errors) == ["invites"]
    assert list(press(client, step(employee), {"user_name": "ada2"}).context["form"].errors) == ["change_reason"]
    assert not User.objects.filter(pk=employee.pk).exists()
    assert not Change.objects.filter(operation="GiveAccount").exists()


def test_an_archived_employee_and_one_with_an_account_get_none(site: Site) -> None:
    employee = make.make_employee(site)
    give_account(site.pk, employee.pk, "ada", author=make.SYSTEM, reason="x")
    with pytest.raises(ValidationError, match="has an account already"):
        give_account(site.pk, employee.pk, "ada2", author=make.SYSTEM, reason="x")
    archived = make.make_employee(site)
    Employee.objects.filter(pk=archived.pk).update(is_archived=True)
    with pytest.raises(ValidationError, match="Restore the employee"):
        give_account(site.pk, archived.pk, "ada3", author=make.SYSTEM, reason="x")
    assert User.objects.filter(user_name__startswith="ada").count() == 1


def test_an_account_that_never_signed_in_is_invited_again(site: Site, client: Any) -> None:
    user = make.make_user("noor", site=site, email="noor@example.com")
    step_path = reverse("admin:accounts_user_step", args=(user.pk, "invite"))
    administrator = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert "Mail an invitation" in administrator.get(address(user)).content.decode()
    assert press(administrator, step_path).status_code == 302
    assert Change.objects.get(record_id=user.pk, operation="InviteUser").fields == [
        {"field": "invitation", "old": "", "new": "mailed"}
    ]
    assert invite.call(str(user.pk))
    link = re.search(r"https?://[^/]+(/\S+)", str(mail.outbox[0].body))
    assert link is not None
    assert client.get(link.group(1), follow=True).status_code == 200
    assert browser(site).post(step_path).status_code == 403


def test_no_step_reaches_the_account_of_a_superuser_or_of_somebody_with_roles_elsewhere(
    site: Site, other_site: Site
) -> None:
    root = make.make_user("root", site=site, is_superuser=True)
    traveller = make.make_user("traveller", site=site, role=DefaultRole.READER)
    make.give_role(traveller, other_site, DefaultRole.READER)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for user in (root, traveller):
        step_path = reverse("admin:accounts_user_step", args=(user.pk, "end-access"))
        assert client.post(step_path, {"change_reason": "x"}).status_code == 403
        assert User.objects.get(pk=user.pk).is_active


def test_a_managers_change_of_an_address_reaches_no_account(site: Site, other_site: Site) -> None:
    """Whoever gets the links for a new password has the account."""
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    elsewhere, administrator, reader = (make.make_employee(site, email_address="old@example.com") for _ in range(3))
    stamps: dict[str, Any] = {"author": make.SYSTEM, "reason": "Signs"}
    make.give_role(give_account(site.pk, elsewhere.pk, "elsewhere", **stamps), other_site, DefaultRole.READER)
    give_account(site.pk, administrator.pk, "administrator", role=DefaultRole.SITE_ADMINISTRATOR, **stamps)
    give_account(site.pk, reader.pk, "reader", role=DefaultRole.READER, **stamps)
    for employee in (elsewhere, administrator, reader):
        values = {"email_address": "new@example.com"}
        record = update_employee(site.pk, employee.pk, values, author=make.author_of(manager))
        assert record.email_address == "new@example.com"
    stored = dict(User.objects.filter(employee__isnull=False).values_list("user_name", "recovery_address"))
    assert stored == {
        "elsewhere": "old@example.com",
        "administrator": "old@example.com",
        "reader": "old@example.com",
    }
    keeper = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR)
    values = {"email_address": "newest@example.com"}
    update_employee(site.pk, administrator.pk, values, author=make.author_of(keeper))
    assert User.objects.get(user_name="administrator").email == "newest@example.com"


def test_an_invitation_is_mailed_later_while_the_mail_server_is_down(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = make.make_user(site=site, email="mira@example.com")

    def down(*args: Any, **kwargs: Any) -> None:
        raise OSError("The server is down.")

    with monkeypatch.context() as broken:
        broken.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", down)
        assert not invite.call(str(user.pk))
        again = DBTaskResult.objects.get()
        assert again.run_after is not None
        with pytest.raises(OSError, match="down"):
            invite.call(str(user.pk), len(DELAYS))
    assert invite.call(*again.args_kwargs["args"])
    assert [message.to for message in mail.outbox] == [["mira@example.com"]]
