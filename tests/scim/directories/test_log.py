"""The provisioning log says what each call changed, left out or was refused for, in one named zone, and is exported."""

import json

import pytest
from django.db import OperationalError
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.operations.calls import CallBuffer
from scim import log
from scim.models import ProvisioningCall
from tests import make
from tests.make.backoffice import sign_in
from tests.scim import people


def logged() -> str:
    return ProvisioningCall.objects.latest("id").outcome


@pytest.fixture
def administrator(site):
    """Return a browser with a Site Administrator signed in."""
    return sign_in(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), site)


def test_the_log_says_what_a_call_did(scim):
    user = scim.add_user("mira")
    assert logged().startswith("Created: ")
    group = scim.add_group("Team", user["id"])
    assert "Members: 1 added, 0 removed." in logged()
    scim.patch(f"/Groups/{group['id']}", {"op": "remove", "path": "members"})
    assert logged() == "Changed: members. Members: 0 added, 1 removed."
    scim.patch(f"/Groups/{group['id']}", {"op": "remove", "path": "members"})
    assert logged() == "Nothing changed: everything was as asked for already."
    scim.put(f"/Users/{user['id']}", {**scim.user(user["id"]), "password": "Secret-password-1", "hat": "red"})
    assert "hat" in logged()
    assert "The password was ignored" in logged()
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "nope", "value": 1})
    assert logged().startswith("Refused: ")


def test_list_and_detail_show_the_same_moment_with_the_name_of_its_zone(scim, site, administrator):
    site.time_zone = "Asia/Tokyo"
    site.save()
    scim.add_user("mira")
    call = ProvisioningCall.objects.latest("id")
    listed = administrator.get(reverse("admin:scim_provisioningcall_changelist"))
    detail = administrator.get(reverse("admin:scim_provisioningcall_change", args=(call.pk,)))
    connection = administrator.get(reverse("admin:accounts_directory_connection", args=(call.directory_id,)))
    assert call.at.tzinfo is not None
    for page in (listed, detail, connection):
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
    failed = b"".join(administrator.get(address, {"outcome": "failed"}).streaming_content).decode().splitlines()
    assert [json.loads(line)["status"] for line in failed] == [404]


def test_the_log_is_exported_to_nobody_below_site_administrator(site):
    manager = sign_in(make.make_user(site=site, role=DefaultRole.MANAGER), site)
    assert manager.get(reverse("admin:scim_provisioningcall_export")).status_code == 403


def test_answered_calls_are_noted_in_memory_where_a_thread_writes_and_written_together(scim, monkeypatch):
    buffer = CallBuffer()
    monkeypatch.setattr(buffer, "_wanted", True)
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
    monkeypatch.setattr(buffer, "_wanted", True)
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
