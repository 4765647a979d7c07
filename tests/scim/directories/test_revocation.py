"""Access that ends: at once, through every door, for every credential (DECISIONS 7.9)."""

import datetime
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from records.accounts import actions as account_actions
from records.accounts import calendar_links, directories, opening
from records.accounts.models import DefaultRole, Directory, Role, RoleMembership, User
from records.employees import actions as employee_actions
from records.employees.models import Employee
from records.history.models import Change, Channel
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.make.backoffice import press, sign_in
from tests.make.documents import make_document
from tests.make.oauth import make_token as make_access_token
from tests.scim import people
from tests.scim.conftest import Scim, assert_error

LIST = "/employee/GetEmployeeList"
MATERIALS = "/materials/"
CLOSED_DOORS = {"subscription key": 401, "access token": 401, "calendar": 404, "address of a file": 403, "session": 302}


def doors(site, user_id) -> dict[str, Callable[[], int]]:
    """Give a person every credential and return, by name, a function that tries each door."""
    user = User.objects.get(pk=user_id)
    make.give_role(user, site, DefaultRole.MANAGER)
    key = make.make_key(site, user=user)
    secret = make_access_token(user)
    browser = Client()
    browser.force_login(user, backend="records.accounts.sign_in.AccountBackend")
    plain = Client()
    _, calendar = calendar_links.issue_link(user, author=make.SYSTEM)
    document = make_document(site)
    document_links = plain.get(f"/document/GetDocument/{document.pk}", {"WithURL": "true"}, headers=key.headers).json()
    return {
        "subscription key": lambda: plain.get(LIST, headers=key.headers).status_code,
        "access token": lambda: (
            plain.get(
                MATERIALS, {"siteId": str(site.pk)}, headers={**key.headers, "Authorization": f"Bearer {secret}"}
            ).status_code
        ),
        "calendar": lambda: plain.get(reverse("calendar", args=(calendar,))).status_code,
        "address of a file": lambda: plain.head(urlsplit(document_links["FileURL"]).path).status_code,
        "session": lambda: browser.get("/admin/").status_code,
    }


def deactivate(scim, key):
    return scim.patch(f"/Users/{key}", {"op": "replace", "path": "active", "value": False})


def deactivate_by_put(scim, key):
    return scim.put(f"/Users/{key}", {**scim.user(key), "active": False})


def delete(scim, key):
    return scim.delete(f"/Users/{key}")


@pytest.mark.parametrize("end", [deactivate, deactivate_by_put, delete])
def test_every_door_closes_at_once(scim, site, end):
    user = scim.add_user("mira")["id"]
    ways = doors(site, user)
    assert {name: go() for name, go in ways.items()} == dict.fromkeys(ways, 200)
    assert end(scim, user).status_code in (200, 204)
    assert {name: go() for name, go in ways.items()} == CLOSED_DOORS
    entry = Change.objects.filter(record_id=user, model="accounts.User").latest("number")
    assert entry.channel == Channel.SCIM
    assert "Documented token" in entry.credential


def test_access_that_ended_does_not_come_back_with_the_account(scim, site):
    user = scim.add_user("mira")["id"]
    ways = doors(site, user)
    deactivate(scim, user)
    scim.patch(f"/Users/{user}", {"op": "replace", "path": "active", "value": True})
    assert {name: go() for name, go in ways.items()} == CLOSED_DOORS


def test_a_deactivation_that_fails_elsewhere_ends_nothing(scim, site):
    user = scim.add_user("mira")["id"]
    ways = doors(site, user)
    operations = ({"op": "replace", "path": "active", "value": False}, {"op": "replace", "path": "id", "value": "x"})
    assert_error(scim.patch(f"/Users/{user}", *operations), 400, "mutability")
    assert {name: go() for name, go in ways.items()} == dict.fromkeys(ways, 200)


def test_a_role_taken_by_the_directory_is_gone_at_the_next_request(scim, site):
    user = scim.add_user("mira")["id"]
    key = make.make_key(site, DefaultRole.MANAGER, user=_with_role(site, user))
    manager = str(Role.objects.get(site=site, default_role=DefaultRole.MANAGER).pk)
    client = Client()
    assert client.get(LIST, headers=key.headers).status_code == 200
    scim.patch(f"/Groups/{manager}", {"op": "remove", "path": f'members[value eq "{user}"]'})
    assert client.get(LIST, headers=key.headers).status_code == 403


def _with_role(site, user_id):
    user = User.objects.get(pk=user_id)
    make.give_role(user, site, DefaultRole.MANAGER)
    return user


def test_a_deleted_user_leaves_the_groups_and_the_lists(scim, site):
    user, other = scim.add_user("mira")["id"], scim.add_user("noah")["id"]
    group = scim.add_group("Team", user, other)["id"]
    scim.delete(f"/Users/{user}")
    assert scim.members(group) == {other}
    assert not RoleMembership.objects.filter(user_id=user).exists()
    assert scim.ids("/Users", "userName pr") == [other]
    assert_error(scim.patch(f"/Users/{user}", {"op": "replace", "path": "active", "value": True}), 404)
    assert_error(scim.put(f"/Groups/{group}", {"members": [{"value": user}]}), 400, "invalidValue")


def test_archiving_in_the_back_office_ends_access_and_a_directory_cannot_undo_it(scim, site):
    user = scim.add_user("mira")["id"]
    ways = doors(site, user)
    employee_actions.archive_employee(
        site.pk, Employee.objects.get(pk=user).pk, archived=True, author=make.SYSTEM, reason="Left"
    )
    assert {name: go() for name, go in ways.items()} == CLOSED_DOORS
    assert scim.user(user)["active"] is False
    answer = scim.patch(f"/Users/{user}", {"op": "replace", "path": "active", "value": True})
    assert_error(answer, 403)
    answer = scim.patch(f"/Users/{user}", {"op": "replace", "path": "nickName", "value": "M"})
    assert answer.json()["active"] is False


def test_a_user_whose_employee_staff_archived_keeps_its_facts_and_can_be_deleted(both, site):
    user = both.add_user("mira", externalId="e1")
    employee_actions.archive_employee(
        site.pk, Employee.objects.get(pk=user["id"]).pk, archived=True, author=make.SYSTEM, reason="Left"
    )
    path, read = f"/Users/{user['id']}", both.user(user["id"])
    assert read["active"] is False
    for change in ({"name": {"givenName": "Zoe"}}, {"emails": []}, {people.EMPLOYEE: {"position": "Lead"}}):
        answer = both.put(path, {**read, **change})
        assert_error(answer, 409)
        assert "archived" in answer.json()["detail"]
    assert_error(both.apply(path, {"op": "replace", "path": "name.familyName", "value": "Kovac"}), 409)
    assert_error(both.put(path, {**read, "active": True}), 403)
    assert_error(both.post("/Users", people.user_body("mira", externalId="e1")), 403)
    for answer in (both.put(path, read), both.put(path, {**read, "active": False})):
        assert (answer.status_code, answer.json()) == (200, read)
    assert both.user(user["id"]) == read
    assert both.delete(path).status_code == 204
    assert_error(both.get(path), 404)
    assert both.add_user("mira", externalId="e1")["id"] != user["id"]


@pytest.mark.parametrize("way", ["revoked", "expired", "archived directory", "archived home site", "ended account"])
def test_a_token_ends_at_once(scim_of, directory: Directory, way):
    scim = scim_of()
    assert scim.get("/Users").status_code == 200
    token = directory.tokens.get()
    if way == "revoked":
        directories.revoke_token(token.pk, author=make.SYSTEM)
    elif way == "expired":
        type(token).objects.update(expires="2001-01-01T00:00:00Z")
    elif way == "ended account":
        account_actions.end_access(directory.service_account, author=make.SYSTEM)
    elif way == "archived directory":
        Directory.objects.update(is_archived=True)
    else:
        Site.objects.filter(pk=directory.home_site_id).update(is_archived=True)
    assert_error(scim.get("/Users"), 401)


TOKEN_CHANGES: dict[str, tuple[Callable[[Directory], Any], int]] = {
    "revoked": (lambda of: of.tokens.update(revoked=now()), 401),
    "expired": (lambda of: of.tokens.update(expires="2001-01-01T00:00:00Z"), 401),
    "another secret": (lambda of: of.tokens.update(digest="0" * 64), 401),
    "archived directory": (lambda of: Directory.objects.update(is_archived=True), 401),
    "archived home site": (lambda of: Site.objects.filter(pk=of.home_site_id).update(is_archived=True), 401),
    "ended account": (lambda of: User.objects.filter(pk=of.service_account_id).update(is_active=False), 401),
    "read-only": (lambda of: of.tokens.update(read_only=True), 403),
    "other addresses": (lambda of: of.tokens.update(addresses=["192.0.2.0/24"]), 403),
}
"""What ends or limits a token, each with the status of every write after it."""


@pytest.mark.parametrize("name", TOKEN_CHANGES)
def test_no_write_of_a_remembered_token_runs_after_the_token_has_changed(
    scim: Scim, directory: Directory, name: str
) -> None:
    user, group = scim.add_user("mira"), scim.add_group("Team")
    path, other = f"/Users/{user['id']}", f"/Groups/{group['id']}"
    member = {"op": "add", "path": "members", "value": [{"value": user["id"]}]}
    change, status = TOKEN_CHANGES[name]
    assert directories.remembered_token(scim.secret) is not None
    before = Change.objects.count()
    change(directory)
    for write in (
        lambda: scim.patch(other, member),
        lambda: scim.put(path, user),
        lambda: scim.post("/Users", people.user_body("noah")),
        lambda: scim.delete(other),
        lambda: scim.patch(f"/Groups/{user['id']}", member),
        lambda: scim.send("POST", "/Users", "{"),
        lambda: scim.send("PATCH", "/Users", {}),
        lambda: scim.post("/Bulk", {"Operations": []}),
    ):
        assert_error(write(), status)
    assert Change.objects.count() == before


def test_what_a_remembered_token_sees_and_may_follows_its_directory_at_once(
    scim: Scim, directory: Directory, other_site: Site
) -> None:
    body = {"schemas": [people.GROUP], "displayName": "Night", people.SITE: {"value": str(other_site.pk)}}
    scim.add_user("mira")
    assert_error(scim.post("/Groups", body), 400, "invalidValue")
    assert directories.remembered_token(scim.secret) is not None
    directory.sites.add(other_site)
    assert scim.post("/Groups", body).status_code == 201
    assert directories.remembered_token(scim.secret) is not None
    directory.tokens.update(dry_run=True)
    assert scim.post("/Groups", {"schemas": [people.GROUP], "displayName": "Early"}).status_code == 201
    assert not Role.objects.filter(name="Early").exists()


def test_a_fault_in_a_body_is_told_to_a_remembered_token_as_to_any_other(scim: Scim, directory: Directory) -> None:
    scim.add_user("mira")
    scim.get("/Users")
    for body, detail in (("{", "not valid JSON"), ('{"userName": 7}', "userName"), ("[]", "must be a JSON object")):
        answers = []
        for remembers in (True, False):
            assert (directories.remembered_token(scim.secret) is not None) == remembers
            answers.append(scim.send("POST", "/Users", body))
            opening.forget()
        assert {answer.content for answer in answers} == {answers[0].content}
        assert_error(answers[0], 400, answers[0].json().get("scimType"))
        assert detail in answers[0].json()["detail"]
        assert scim.get("/Users").status_code == 200


@pytest.mark.parametrize("way", ["archived directory", "ended account"])
def test_a_token_does_not_come_back_with_its_directory_or_account(scim_of, site, directory: Directory, way):
    scim, token = scim_of(), directory.tokens.get()
    account = directory.service_account
    User.objects.filter(pk=account.pk).update(home_site=site)
    browser = sign_in(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), site)
    page = (directory, "archive", "restore") if way == "archived directory" else (account, "end-access", "give-access")
    name = f"admin:{page[0]._meta.app_label}_{page[0]._meta.model_name}_step"
    for step in page[1:]:
        answer = press(browser, reverse(name, args=(page[0].pk, step)), {"change_reason": "Leaked"})
        assert answer.status_code == 302, answer.content.decode()
        assert_error(scim.get("/Users"), 401)
    token.refresh_from_db()
    assert token.revoked is not None
    directory.refresh_from_db()
    assert not directory.is_archived
    assert User.objects.get(pk=account.pk).is_active
    assert Change.objects.filter(record_id=token.pk, operation="RevokeToken", reason="Leaked").exists()


def test_a_token_notes_its_use_and_sees_no_archived_site(scim, directory: Directory, other_site, settings):
    settings.CREDENTIAL_PEPPERS = ["newer", *settings.CREDENTIAL_PEPPERS]
    directory.tokens.update(expires=now() + datetime.timedelta(hours=1))
    directory.sites.add(other_site)

    def site_ids():
        return set(scim.get(f"/Schemas/{people.SITE}").json()["attributes"][0]["canonicalValues"])

    assert site_ids() == {str(directory.home_site_id), str(other_site.pk)}
    first = directory.tokens.get().last_used
    assert first is not None
    assert now() - first < datetime.timedelta(minutes=1)
    assert scim.add_group("Team")[people.SITE]["displayName"] == directory.home_site.name
    assert directory.tokens.get().last_used == first
    Site.objects.filter(pk=other_site.pk).update(is_archived=True)
    assert site_ids() == {str(directory.home_site_id)}


def test_a_provisioning_token_opens_nothing_else(scim, site):
    client = Client(raise_request_exception=False)
    for headers in (
        {"Ocp-Apim-Subscription-Key": scim.secret},
        {"Authorization": f"Bearer {scim.secret}"},
        {"Ocp-Apim-Subscription-Key": scim.secret, "Authorization": f"Bearer {scim.secret}"},
    ):
        assert client.get(LIST, headers=headers).status_code == 401
        assert client.get(MATERIALS, {"siteId": str(site.pk)}, headers=headers).status_code == 401


def test_wrong_tokens_are_counted_and_right_ones_still_work(scim_of, settings):
    settings.AUTH_FAILURE_LIMIT = 3
    scim, wrong = scim_of(), scim_of()
    wrong.secret = "wrong"
    assert [wrong.get("/Users").status_code for _ in range(4)] == [401, 401, 401, 429]
    assert wrong.get("/Users").json()["schemas"] == [people.ERROR]
    assert scim.get("/Users").status_code == 200


def test_a_token_has_a_limit_of_its_own(scim_of, settings):
    settings.SCIM_RATE_LIMIT = 2
    first, second = scim_of(), scim_of()
    answers: list[Any] = [first.get("/Users") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0]["X-RateLimit-Remaining"] == "1"
    assert answers[2]["Retry-After"]
    assert second.get("/Users").status_code == 200
