"""The profile page: keys and clients shown once, rotated, revoked; passwords changed and set by mail."""

import re
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse

from records.accounts.models import DefaultRole, OAuthClient, SubscriptionKey, User
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.backoffice import browser, sign_in
from tests.make.signing_in import run_tasks

PROFILE = "/profile/"


def shown_secret(response: Any) -> str:
    match = re.search(r'id="secret" readonly value="([^"]+)"', response.content.decode())
    return match.group(1) if match else ""


def test_a_key_is_issued_shown_once_and_opens_the_interface(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    client = sign_in(user, site)
    answer = client.post(PROFILE, {"do": "issue-key", "name": "ERP", "site": str(site.pk), "expires": ""}, follow=True)
    secret = shown_secret(answer)
    assert secret.startswith("lk_")
    assert answer["Cache-Control"] == "no-store"
    assert answer.redirect_chain == [(PROFILE, 302)]
    page = client.get(PROFILE).content.decode()
    assert secret not in page
    assert f"Times are those of {site.time_zone}." in page
    assert SubscriptionKey.objects.filter(user=user).count() == 1
    api = Api(make.Key(user, site, secret))
    assert api.get("/employee/GetEmployeeList").status_code == 200
    key = SubscriptionKey.objects.get(user=user)
    change = Change.objects.get(record_id=key.pk)
    assert (change.operation, change.channel, change.author_id) == ("IssueKey", "Back-office", user.pk)
    assert secret not in str(change.fields)
    assert client.post(PROFILE, {"do": "revoke-key", "id": str(key.pk)}).status_code == 302
    assert api.get("/employee/GetEmployeeList").status_code == 401


def test_a_rotated_key_lives_beside_the_old_one_and_a_third_is_refused(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    client = sign_in(user, site)
    client.post(PROFILE, {"do": "issue-key", "name": "ERP", "site": str(site.pk)}, follow=True)
    key = SubscriptionKey.objects.get(user=user)
    assert shown_secret(client.post(PROFILE, {"do": "rotate-key", "id": str(key.pk)}, follow=True))
    third = client.post(PROFILE, {"do": "issue-key", "name": "Third", "site": str(site.pk)}, follow=True)
    assert "There are two valid keys" in third.content.decode()
    assert SubscriptionKey.objects.filter(user=user).count() == 2


def test_nobody_reaches_the_keys_of_others(site: Site, other_site: Site) -> None:
    other = make.make_key(site)
    key = SubscriptionKey.objects.get(user=other.user)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for step in ("revoke-key", "rotate-key"):
        assert client.post(PROFILE, {"do": step, "id": str(key.pk)}).status_code == 404
    assert client.get(f"{PROFILE}?account={other.user.pk}").status_code == 404
    foreign = client.post(PROFILE, {"do": "issue-key", "name": "x", "site": str(other_site.pk)}, follow=True)
    assert shown_secret(foreign) == ""
    assert not SubscriptionKey.objects.filter(site=other_site).exists()


def test_a_site_administrator_manages_the_keys_of_service_accounts(site: Site, other_site: Site) -> None:
    robot = make.make_user(site=site, role=DefaultRole.STANDARD, is_service_account=True)
    address = f"{PROFILE}?account={robot.pk}"
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert str(robot) in client.get(PROFILE).content.decode()
    answer = client.post(address, {"do": "issue-key", "name": "Sync", "site": str(site.pk)}, follow=True)
    assert shown_secret(answer)
    assert SubscriptionKey.objects.get(user=robot).name == "Sync"
    assert browser(site).get(address).status_code == 404
    assert browser(other_site, DefaultRole.SITE_ADMINISTRATOR).get(address).status_code == 404


def test_an_oauth_client_is_issued_rotated_and_revoked(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    client = sign_in(user, site)
    first = shown_secret(
        client.post(PROFILE, {"do": "issue-client", "client-name": "Sync", "client-expires": ""}, follow=True)
    )
    client_row = OAuthClient.objects.get(user=user)
    second = shown_secret(client.post(PROFILE, {"do": "rotate-client", "id": str(client_row.pk)}, follow=True))
    assert first
    assert second
    assert first != second
    assert client.post(PROFILE, {"do": "revoke-client", "id": str(client_row.pk)}).status_code == 302
    assert not OAuthClient.objects.get(user=user).is_live


def test_the_profile_asks_to_sign_in_and_refuses_what_it_does_not_know(site: Site, client: Any) -> None:
    answer = client.get(PROFILE)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/admin/login/")
    assert browser(site).post(PROFILE, {"do": "everything"}).status_code == 403
    answer = browser(site).post(
        PROFILE, {"do": "issue-key", "name": "x", "site": str(site.pk), "expires": "2001-01-01"}, follow=True
    )
    assert "Choose a day between today and" in answer.content.decode()


def test_a_password_is_set_by_mail_also_the_first_one(site: Site, client: Any, settings: Any) -> None:
    user = make.make_user("noor", site=site, role=DefaultRole.READER, email="noor@example.com")
    user.set_unusable_password()
    user.save()
    signed_in = sign_in(User.objects.get(pk=user.pk), site)
    answer = client.post(reverse("admin_password_reset"), {"email": "NOOR@example.com"})
    assert answer.status_code == 302
    assert mail.outbox == []
    run_tasks()
    text = str(mail.outbox[0].body)
    link = re.search(r"(https?://\S+)", text)
    assert link is not None
    assert link.group(1).startswith(settings.BASE_URL)
    path = "/" + link.group(1).split("/", 3)[3]
    page = client.get(path, follow=True)
    weak = client.post(page.redirect_chain[-1][0], {"new_password1": "12345678", "new_password2": "12345678"})
    assert weak.status_code == 200
    passwords = {"new_password1": "salt-and-flour-77", "new_password2": "salt-and-flour-77"}
    assert client.post(page.redirect_chain[-1][0], passwords).status_code == 302
    assert User.objects.get(pk=user.pk).check_password("salt-and-flour-77")
    assert Change.objects.get(record_id=user.pk, operation="SetPassword").author_id == user.pk
    assert "salt-and-flour-77" not in str(Change.objects.get(record_id=user.pk, operation="SetPassword").fields)
    assert signed_in.get(PROFILE).status_code == 302
    assert "not valid any more" in client.get(path, follow=True).content.decode()


@pytest.mark.parametrize("fields", [{"is_active": False}, {"is_service_account": True}])
def test_no_link_is_mailed_to_ended_or_service_accounts(site: Site, client: Any, fields: dict[str, Any]) -> None:
    make.make_user(site=site, email="a@example.com", **fields)
    for address in ("a@example.com", "nobody@example.com"):
        assert client.post(reverse("admin_password_reset"), {"email": address}).status_code == 302
    run_tasks()
    assert mail.outbox == []


def test_an_address_cannot_be_flooded_with_links(site: Site, client: Any) -> None:
    make.make_user(site=site, email="a@example.com")
    answers = [client.post(reverse("admin_password_reset"), {"email": "a@example.com"}) for _ in range(31)]
    assert [answer.status_code for answer in answers] == [302] * 30 + [429]
    run_tasks()
    assert len(mail.outbox) == 5


def test_the_own_password_is_changed_with_the_old_one(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    client, elsewhere = sign_in(user, site), sign_in(user, site)
    new = {"new_password1": "salt-and-flour-77", "new_password2": "salt-and-flour-77"}
    page = reverse("admin:password_change")
    assert client.post(page, {"old_password": "wrong", **new}).status_code == 200
    assert client.post(page, {"old_password": make.PASSWORD, **new}).status_code == 302
    assert client.get(PROFILE).status_code == 200
    assert elsewhere.get(PROFILE).status_code == 302


def test_who_may_do_what_is_shown_to_those_who_see_roles(site: Site) -> None:
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(reverse("admin:rights"))
    assert "Who may do what at Hillside Bakery" in page.content.decode()
    assert [role.name for role in page.context["roles"]] == ["Reader", "Standard", "Manager", "Site Administrator"]
    assert browser(site).get(reverse("admin:rights")).status_code == 403


def test_what_each_role_may_do_is_told_in_one_line_for_each_kind(site: Site) -> None:
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(reverse("admin:rights"))
    verbs = {line["name"]: [cell["verbs"] for cell in line["cells"]] for line in page.context["lines"]}
    everything = "View, add, change, archive"
    assert verbs["Items"] == ["View", "View", everything, everything]
    assert verbs["Complaints"][:2] == ["View", "View, add, change"]
    employees = next(line for line in page.context["lines"] if line["name"] == "Employees")
    private, erase = "See private employee fields", "Erase private facts of employees who left"
    assert [cell["others"] for cell in employees["cells"]] == [[], [], [private], [erase, private]]
