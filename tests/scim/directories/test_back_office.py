"""The administrator's pages: directories, tokens, the connection test and the log."""

import datetime
import re

import pytest
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole, Directory, ProvisioningToken, User
from records.history.models import Change
from scim import log
from scim.models import ProvisioningCall
from tests import make
from tests.scim import people
from tests.scim.conftest import Scim, assert_error

BACKEND = "records.accounts.sign_in.AccountBackend"


def browser_of(site, role):
    client = Client()
    client.force_login(make.make_user(site=site, role=role), backend=BACKEND)
    return client


@pytest.fixture
def browser(site):
    return browser_of(site, DefaultRole.SITE_ADMINISTRATOR)


def connection(directory):
    return reverse("admin:accounts_directory_connection", args=(directory.pk,))


def test_a_directory_is_made_with_a_service_account_and_its_home_site(browser, site):
    answer = browser.post("/admin/accounts/directory/add/", {"name": "Corp directory", "matches_by_code": "on"})
    assert answer.status_code == 302, answer.content.decode()[:2000]
    directory = Directory.objects.get(name="Corp directory")
    assert directory.home_site_id == site.pk
    assert directory.service_account.is_service_account
    assert (directory.matches_by_code, directory.may_administer) == (True, False)
    assert list(directory.sites.all()) == [site]


def test_a_site_administrator_widens_no_directory(browser, site, other_site):
    body = {"name": "Corp", "may_administer": "on", "sites": [str(other_site.pk)]}
    browser.post("/admin/accounts/directory/add/", body)
    directory = Directory.objects.get(name="Corp")
    assert (directory.may_administer, list(directory.sites.all())) == (False, [site])


def test_a_token_is_shown_once_opens_the_door_and_is_revoked(browser, directory):
    page = connection(directory)
    body = {"do": "issue", "name": "Entra", "dialect": "entra", "expires": ""}
    page_text = browser.post(page, body, follow=True).content.decode()
    secret = re.search(r'value="(lt_[^"]+)"', page_text)
    assert secret is not None
    assert "Times are those of" in page_text
    scim = Scim(secret[1])
    assert scim.get("/Users").status_code == 200
    token = ProvisioningToken.objects.get(directory=directory)
    again = browser.get(page).content.decode()
    assert secret[1] not in again
    assert "/scim?" not in again
    browser.post(page, {"do": "revoke", "id": str(token.pk)})
    assert_error(scim.get("/Users"), 401)


def test_an_archived_directory_gets_no_token(browser, directory):
    Directory.objects.filter(pk=directory.pk).update(is_archived=True)
    answer = browser.post(connection(directory), {"do": "issue", "name": "Entra", "dialect": "entra", "expires": ""})
    assert "This directory is archived; restore it first." in answer.text
    assert not ProvisioningToken.objects.filter(directory=directory).exists()


@pytest.mark.parametrize("role", [DefaultRole.MANAGER, DefaultRole.READER])
def test_others_neither_see_nor_make_tokens(site, directory, role):
    client = browser_of(site, role)
    for answer in (
        client.get(connection(directory)),
        client.post(connection(directory), {"do": "issue", "name": "x", "dialect": "entra"}),
        client.get("/admin/scim/provisioningcall/"),
    ):
        assert answer.status_code in (302, 403, 404)
    assert not ProvisioningToken.objects.exists()


def test_another_sites_administrator_finds_no_directory(other_site, directory):
    client = browser_of(other_site, DefaultRole.SITE_ADMINISTRATOR)
    assert client.get(connection(directory)).status_code in (302, 404)
    assert str(directory) not in client.get("/admin/accounts/directory/").content.decode()


@pytest.mark.parametrize("mount", ["scim", "prodscim"])
def test_the_connection_test_walks_through_and_leaves_nobody(browser, directory, scim, mount):
    page_text = browser.post(connection(directory), {"do": f"check-{mount}"}).content.decode()
    assert "Everything works as a directory expects." in page_text
    assert "Failed" not in page_text.partition("calls-title")[0]
    assert scim.get("/Users").json()["totalResults"] == 0
    assert User.objects.filter(user_name__startswith="connection-check", removed__isnull=False).count() == 1
    assert ProvisioningCall.objects.filter(directory=directory, token_name="Connection check").count() >= 8


def test_the_connection_test_says_what_is_wrong(browser, directory, monkeypatch):
    from records.employees import provisioning

    def refuse(*args, **kwargs):
        raise provisioning.NotAllowedError("The home site takes no new people.")

    monkeypatch.setattr(provisioning, "add_person", refuse)
    page_text = browser.post(connection(directory), {"do": "check-scim"}).content.decode()
    assert "The home site takes no new people." in page_text
    assert "Something does not work as a directory expects" in page_text


def test_the_log_tells_what_was_asked_and_why_it_failed_but_nobodys_data(browser, scim, directory):
    user = scim.add_user("mira.novak@corp.local", nickName="Mimi")
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": False})
    scim.get("/Users", {"filter": 'userName eq "mira.novak@corp.local"'})
    scim.get("/Users", {"filter": "userName eq mira.novak@corp.local"})
    scim.post("/Users", people.user_body("MIRA.novak@corp.local"))
    scim.patch(
        f"/Users/{user['id']}", {"op": "replace", "path": 'emails[value eq "mira@corp.local"].value', "value": "x"}
    )
    calls = list(ProvisioningCall.objects.order_by("id"))
    assert [call.status for call in calls] == [201, 200, 200, 200, 409, 400]
    assert calls[1].outcome == "Changed: active."
    assert calls[4].outcome == "Refused: userName: Another account has this user name."
    assert '"path": "active"' in calls[1].body
    log = " ".join(f"{call.line} {call.body} {call.outcome}" for call in calls)
    for private in ("mira", "Mimi", "Novak", "corp.local"):
        assert private.lower() not in log.lower(), private
    page = browser.get("/admin/scim/provisioningcall/").content.decode()
    assert "Refused: userName: Another account has this user name." in page
    detail = browser.get(f"/admin/scim/provisioningcall/{calls[1].pk}/change/")
    assert detail.status_code == 200
    assert "active" in detail.content.decode()


def test_a_call_leads_to_the_person_or_role_that_it_was_about(browser, scim, site, other_site):
    user, group = scim.add_user("mira"), scim.add_group("Oven crew")
    assert (
        scim.patch(f"/Users/{user['id'].upper()}", {"op": "replace", "path": "title", "value": "x"}).status_code == 200
    )
    scim.get(f"/Groups/{group['id']}?excludedAttributes=members")
    stranger = make.make_employee(other_site, first_name="Ivan", last_name="Stranger")
    for path in (f"/Users/{stranger.pk}", f"/Groups/{user['id']}", "/Users?count=1"):
        scim.get(path)
    patch, read, *others = ProvisioningCall.objects.order_by("id")[2:]

    def about(call):
        return re.search(r"<dt>About</dt><dd><a href=\"(.*?)\">(.*?)</a>", page_of(call))

    def page_of(call):
        return browser.get(f"/admin/scim/provisioningcall/{call.pk}/change/").content.decode()

    for call, key, name in ((patch, user["id"], "Mira Novak"), (read, group["id"], "Oven crew")):
        link = about(call)
        assert (key in link[1], link[2]) == (True, name)
        assert browser.get(link[1]).status_code == 200
    assert [about(call) for call in others] == [None] * 3


def test_the_list_of_directories_and_the_page_of_one_say_that_it_is_stopped(browser, directory):
    def text_of(page):
        return browser.get(f"/admin/accounts/directory/{page}").content.decode()

    page = f"{directory.pk}/"
    assert "2026-03-04" not in text_of("")
    assert "Mass removal stopped: " not in text_of(page)
    Directory.objects.update(stopped=datetime.datetime(2026, 3, 4, 12, tzinfo=datetime.UTC))
    assert "2026-03-04" in text_of("")
    assert "Mass removal stopped: " in text_of(page)


def test_the_log_is_kept_for_thirty_days(scim):
    scim.get("/Users")
    scim.get("/Users")
    first = ProvisioningCall.objects.order_by("id").first()
    ProvisioningCall.objects.filter(pk=first.pk).update(at=first.at - log.RETENTION * 1.01)
    assert log.prune() == 1
    assert ProvisioningCall.objects.count() == 1


def test_the_log_is_swept_by_the_clock_not_by_the_number_of_calls(scim, monkeypatch):
    moment = 10_000.0
    monkeypatch.setattr(log, "_sweeps", log._Sweeps(lambda: moment))
    swept = []
    monkeypatch.setattr(log, "prune", lambda: swept.append(moment))
    ProvisioningCall.objects.create(id=499, method="GET", line="/scim/Users", status=200)
    for _ in range(3):
        scim.get("/Users")
    assert swept == [10_000.0]
    moment += log.PRUNE_EVERY - 1
    scim.get("/Users")
    assert swept == [10_000.0]
    moment += 1
    scim.get("/Users")
    assert swept == [10_000.0, 10_000.0 + log.PRUNE_EVERY]


def test_every_change_names_the_token_and_the_channel(scim, directory):
    user = scim.add_user("mira")
    group = scim.add_group("Team", user["id"])
    scim.put(f"/Groups/{group['id']}", {"displayName": "Crew", "members": []})
    changes = Change.objects.filter(record_id__in=[user["id"], group["id"]])
    assert {change.channel for change in changes} == {"SCIM"}
    assert {change.credential for change in changes} == {f"{directory.name}: Documented token"}
    assert {change.author_id for change in changes} == {directory.service_account_id}
    members = [change.fields for change in changes if change.operation == "ChangeMembers"]
    entry = {"id": user["id"], "name": "Mira Novak"}
    assert {"field": "members", "old": [], "new": [entry]} in [field for fields in members for field in fields]
    assert {"field": "members", "old": [entry], "new": []} in [field for fields in members for field in fields]
