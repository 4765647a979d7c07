"""The provisioning log says what each call changed, left out or was refused for, in one named zone, and is exported."""

import json

import pytest
from django.db import OperationalError
from django.urls import reverse

from records.accounts.models import DefaultRole, User
from records.operations.calls import CallBuffer
from scim import log
from scim.models import ProvisioningCall
from tests import make
from tests.make.backoffice import sign_in
from tests.scim import people
from tests.scim.conftest import Scim, last_outcome


@pytest.fixture
def administrator(site):
    """Return a browser with a Site Administrator signed in."""
    return sign_in(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), site)


def test_the_log_says_what_a_call_did(scim):
    user = scim.add_user("mira")
    assert last_outcome().startswith("Created: ")
    assert last_outcome().endswith(f". Id: {user['id']}.")
    group = scim.add_group("Team", user["id"])
    assert "Members: 1 added, 0 removed." in last_outcome()
    scim.patch(f"/Groups/{group['id']}", {"op": "remove", "path": "members"})
    assert last_outcome() == "Changed: members. Members: 0 added, 1 removed."
    scim.patch(f"/Groups/{group['id']}", {"op": "remove", "path": "members"})
    assert last_outcome() == "Nothing changed: everything was as asked for already."
    scim.put(f"/Users/{user['id']}", {**scim.user(user["id"]), "password": "Secret-password-1", "hat": "red"})
    assert "hat" in last_outcome()
    assert "The password was ignored" in last_outcome()
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "nope", "value": 1})
    assert last_outcome().startswith("Refused: ")


COLUMNS = ("home_site", "made_by_directory", "is_superuser", "site_sequence_id", "directory_attributes", "taken", "_")


def test_the_log_names_attributes_as_directories_know_them(scim):
    enterprise = {people.ENTERPRISE: {"department": "Oven", "manager": {"value": scim.add_user("boss")["id"]}}}
    user = scim.add_user("mira", title="Lead", name={"givenName": "Mira", "middleName": "M"}, **enterprise)
    for name in ("userName", "title", "department", "name.middleName", "manager", "natureOfEmployment", "folder"):
        assert f" {name}" in last_outcome()
    scim.put(f"/Users/{user['id']}", {**user, people.ENTERPRISE: {"department": "Mixer"}})
    assert last_outcome() == "Changed: department, manager."
    scim.patch(f"/Users/{user['id']}", {"op": "remove", "path": "displayName"}, {"op": "remove", "path": "title"})
    assert last_outcome().startswith("Changed: displayName, title.")
    group = scim.add_group("Team", user["id"], externalId="7")
    role = scim.post("/Groups", {"displayName": "reader"}).json()["id"]
    assert last_outcome() == f"Matched what was there already, and changed: owning directory. Id: {role}."
    scim.delete(f"/Users/{user['id']}")
    assert last_outcome() == "Deleted, which changed: active, removed, members, archived. Members: 0 added, 1 removed."
    scim.delete(f"/Groups/{group['id']}")
    assert last_outcome() == "Deleted, which changed: externalId, archived."
    log = " ".join(ProvisioningCall.objects.values_list("outcome", flat=True))
    assert not [name for name in COLUMNS if name in log]


def test_the_log_says_that_credentials_ended_with_the_access(scim, site):
    user = scim.add_user("mira")
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": False})
    assert last_outcome() == "Changed: active."
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": True})
    scim.add_group("Team", user["id"])
    make.make_key(site, user=User.objects.get(pk=user["id"]))
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": False})
    assert last_outcome() == "Changed: active, credentials revoked."


def test_the_log_names_the_attribute_that_a_refusal_is_about_but_no_value(scim):
    user = scim.add_user("mira")
    for path, outcome in (
        ("actve", "'actve' is not an attribute of User."),
        ("id", "'id' is read-only"),
        ("name", "The value names nothing that 'name' has."),
        ("roles.value", "There is no entry whose 'roles.value' could be set."),
        ('ims[type ne "icq"].value', "no value of 'ims' matches the path filter"),
        ('emails[value eq "mira@corp.local"].nope', "'emails[value eq \"…\"].nope' is not an attribute of User."),
    ):
        value = {"first": "Mira"} if path == "name" else "x"
        scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": path, "value": value})
        assert last_outcome() == f"Refused: {outcome}"
    scim.put(f"/Users/{user['id']}", {"displayName": "Mira"})
    assert last_outcome().startswith("Refused: Field 'userName' is required")
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "natureOfEmployment", "value": "Mira Novak"})
    assert "Mira" not in last_outcome()


@pytest.mark.parametrize("prefix", ["", f"{people.USER}:"])
def test_what_a_value_without_a_path_sets_is_not_called_ignored(scim, prefix):
    boss, user = scim.add_user("boss")["id"], scim.add_user("mira")
    manager = {"value": boss, "nope": 1}
    value = {f"{prefix}name": {"familyName": "Kovac", "nick": "K"}, f"{people.ENTERPRISE}:manager": manager}
    value |= {f"{prefix}roles": [{"value": "r", "primary": "yes"}], "manager": manager} if prefix else {}
    answer = scim.patch(f"/Users/{user['id']}", {"op": "replace", "value": value})
    assert answer.json()["name"]["familyName"] == "Kovac"
    assert answer.json()[people.ENTERPRISE]["manager"]["value"] == boss
    names = last_outcome().partition(" Ignored, because the schemas do not declare it: ")[2]
    assert set(names.removesuffix(".").split(", ")) == {"name.nick", f"{people.ENTERPRISE}:manager.nope"}
    group = scim.add_group("Team", user["id"])
    members = {f"{people.GROUP}:members": [{"value": boss}], f"{people.GROUP}:displayName": "Crew"}
    answer = scim.patch(f"/Groups/{group['id']}", {"op": "replace", "value": members})
    assert (answer.json()["displayName"], scim.members(group["id"])) == ("Crew", {boss})
    scim.patch(f"/Groups/{group['id']}", {"op": "replace", "value": members})
    assert last_outcome() == "Nothing changed: everything was as asked for already."


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ({"id": "other"}, "Ignored, because it is read-only: id."),
        ({"groups": [{"value": "other"}]}, "Ignored, because it is read-only: groups."),
        ({"profileUrl": "https://evil.example"}, "Ignored, because it is read-only: profileUrl."),
        ({"meta": {"created": "2020-01-01T00:00:00.000Z"}}, "Ignored, because it is read-only: meta.created."),
        ({"emails": [{"type": "work"}]}, "Not stored as sent: emails."),
        ({"emails": [{"value": None, "type": "home"}, {"value": "mira@corp.local"}]}, "Not stored as sent: emails."),
        (
            {"emails": [{"value": "a@corp.local", "primary": True}, {"value": "b@corp.local", "primary": True}]},
            None,
        ),
        ({people.EMPLOYEE: {"position": ""}}, f"Not stored as sent: {people.EMPLOYEE}:position."),
        (
            {people.ENTERPRISE: {"manager": {"displayName": "Boss"}}},
            f"Not stored as sent: {people.ENTERPRISE}:manager.",
        ),
    ],
)
def test_the_log_names_what_a_put_sent_in_vain(both, values, outcome):
    user = both.add_user("mira")
    answer = both.put(f"/Users/{user['id']}", {**user, **values})
    if outcome is None:
        assert answer.status_code == 400, answer.content
    else:
        assert answer.status_code == 200, answer.content
        assert outcome in last_outcome()


def test_the_log_names_nothing_where_everything_is_as_it_was_sent(both):
    boss = both.add_user("boss")
    more = {
        "displayName": "M. Novak",
        "title": "Lead",
        "active": True,
        "roles": [{"value": "Baker", "primary": True}],
        "phoneNumbers": [{"value": "+1 5", "type": "work"}],
        "addresses": [{"type": "work", "streetAddress": "Main street 1\nBackyard", "locality": "Town"}],
        "externalId": "7",
        people.ENTERPRISE: {"manager": {"value": boss["id"]}, "department": "Oven", "employeeNumber": "12"},
    }
    user = both.add_user("mira", **more)
    assert last_outcome().endswith(".")
    assert "sent" not in last_outcome()
    group = both.add_group("Team", user["id"], externalId="8")
    assert "sent" not in last_outcome()
    user = both.user(user["id"])
    for path, document in ((f"/Users/{user['id']}", user), (f"/Groups/{group['id']}", group)):
        both.put(path, document)
        assert last_outcome() == "Nothing changed: everything was as asked for already."
    both.put(f"/Users/{user['id']}", {**user, "title": "Head", "active": "True", "nickName": None, "roles": []})
    assert last_outcome() == "Changed: roles, title."


def test_the_log_names_what_a_patch_sent_in_vain(scim):
    user = scim.add_user("mira")
    scim.patch(f"/Users/{user['id']}", {"op": "add", "path": "emails", "value": [{"type": "home"}]})
    assert last_outcome() == "Nothing changed. Not stored as sent: emails."
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "value": {"profileUrl": "https://evil.example"}})
    assert last_outcome() == "Nothing changed. Ignored, because it is read-only: profileUrl."
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": None})
    assert "Not stored as sent: active." in last_outcome()
    for operation in (
        {"op": "replace", "path": "emails", "value": [{"value": "n@corp.local", "type": "work"}]},
        {"op": "replace", "path": "name.givenName", "value": "Noah"},
        {"op": "remove", "path": "title"},
    ):
        scim.patch(f"/Users/{user['id']}", operation)
        assert "sent" not in last_outcome(), last_outcome()


def test_list_and_detail_show_the_same_moment_with_the_name_of_its_zone(scim, site, administrator):
    site.time_zone = "Asia/Tokyo"
    site.save()
    scim.add_user("mira")
    call = ProvisioningCall.objects.latest("id")
    page_of_list = administrator.get(reverse("admin:scim_provisioningcall_changelist"))
    detail = administrator.get(reverse("admin:scim_provisioningcall_change", args=(call.pk,)))
    connection = administrator.get(reverse("admin:accounts_directory_connection", args=(call.directory_id,)))
    assert call.at.tzinfo is not None
    for page in (page_of_list, detail, connection):
        assert page.status_code == 200
        assert page.content.decode().count(" Asia/Tokyo") >= 1


def test_the_log_is_exported_as_json_lines(scim, other_site, administrator):
    scim.add_user("mira")
    scim.get("/Users/nobody")
    people.make_directory(other_site)
    ProvisioningCall.objects.create(
        directory=people.make_directory(other_site), method="GET", line="/scim/Users", status=200
    )
    address = reverse("admin:scim_provisioningcall_export")
    answer = administrator.get(address)
    assert answer["Content-Type"] == "application/jsonl"
    assert "attachment" in answer["Content-Disposition"]
    lines = [json.loads(line) for line in b"".join(answer.streaming_content).decode().splitlines()]
    assert [(line["method"], line["request"], line["status"]) for line in lines] == [
        ("POST", "/scim/Users", 201),
        ("GET", "/scim/Users/nobody", 404),
    ]
    assert lines[0]["at"].endswith("Z")
    failures = b"".join(administrator.get(address, {"outcome": "failed"}).streaming_content).decode().splitlines()
    assert [json.loads(line)["status"] for line in failures] == [404]
    matches = b"".join(administrator.get(address, {"q": "nobody"}).streaming_content).decode().splitlines()
    assert [json.loads(line)["status"] for line in matches] == [404]
    assert administrator.get(address, {"outcome": "perhaps"}).status_code == 400


def test_the_log_offers_and_takes_the_directories_of_its_own_site_alone(scim, site, other_site, administrator):
    own, foreign = people.make_directory(site), people.make_directory(other_site)
    scim.add_user("mira")
    path = reverse("admin:scim_provisioningcall_changelist")
    page = administrator.get(path)
    assert own.name in page.text
    assert foreign.name not in page.text
    for directory in (own, foreign):
        answer = administrator.get(path, {"directory__id__exact": str(directory.pk)})
        assert answer.status_code == 200
        assert foreign.name not in answer.text
        assert "/scim/Users" not in answer.text


def test_the_log_is_exported_to_nobody_below_site_administrator(site):
    manager = sign_in(make.make_user(site=site, role=DefaultRole.MANAGER), site)
    assert manager.get(reverse("admin:scim_provisioningcall_export")).status_code == 403


def test_answered_calls_are_noted_in_memory_where_a_thread_writes_and_written_together(scim, monkeypatch):
    buffer = CallBuffer()
    monkeypatch.setattr(buffer, "_is_enabled", True)
    monkeypatch.setattr(buffer, "_start_writer", lambda: None)
    monkeypatch.setattr(log, "buffer", buffer)
    scim.get("/Users")
    scim.get("/Groups")
    assert ProvisioningCall.objects.count() == 0
    scim.get("/Users/nobody")
    scim.add_user("mira")
    assert [call.status for call in ProvisioningCall.objects.order_by("id")] == [404]
    buffer.flush()
    assert ProvisioningCall.objects.filter(method="GET", status=200).count() == 2
    assert ProvisioningCall.objects.get(status=201).outcome.startswith("Created: ")
    buffer.flush()
    assert ProvisioningCall.objects.count() == 4


def test_entries_wait_in_memory_while_the_database_is_away(scim, monkeypatch):
    buffer = CallBuffer()
    monkeypatch.setattr(buffer, "_is_enabled", True)
    monkeypatch.setattr(buffer, "_start_writer", lambda: None)
    monkeypatch.setattr(log, "buffer", buffer)
    scim.get("/Users")

    def away(*args, **kwargs):
        raise OperationalError

    with monkeypatch.context() as outage:
        outage.setattr(ProvisioningCall, "save", away)
        with pytest.raises(OperationalError):
            buffer.flush()
    scim.get("/Groups")
    buffer.flush()
    assert [call.line for call in ProvisioningCall.objects.order_by("id")] == ["/scim/Users", "/scim/Groups"]


def test_the_log_line_of_a_write_names_the_resource_unless_nothing_was_stored(scim, directory, caplog):
    user = scim.add_user("mira")["id"]
    scim.patch(f"/Users/{user}", {"op": "replace", "path": "title", "value": "Lead"})
    Scim(people.make_token(directory, dry_run=True)).add_user("noah")
    assert "Id: " not in last_outcome()
    scim.user(user)
    scim.delete(f"/Users/{user}")
    records = [vars(one)["record"] for one in caplog.records if one.name == "larder.access"]
    assert records == [user, user, None, None, user]
