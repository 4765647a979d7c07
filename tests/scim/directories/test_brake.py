"""The brake on mass removal (DECISIONS 9.6, 13.10)."""

import datetime
from typing import Any

import pytest

from records.accounts import brake
from records.accounts.housekeeping import look_after_credentials
from records.accounts.models import DefaultRole, Directory, DirectoryRemoval, SecurityEvent, SecurityKind, User
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.scim.conftest import Scim, assert_error

OFF = {"op": "replace", "path": "active", "value": False}


@pytest.fixture(autouse=True)
def low_limit(settings: Any) -> None:
    """Let two people be the limit, so that few have to be made."""
    settings.DIRECTORY_BRAKE_PEOPLE = 2


def people_of(scim: Scim, count: int) -> list[str]:
    """Make people of the directory and return their ids."""
    return [scim.add_user(f"person{number}@corp.local")["id"] for number in range(count)]


def test_the_third_deletion_within_an_hour_is_refused_and_stops_the_directory(
    scim: Scim, directory: Directory, site: Site, mailoutbox: Any
) -> None:
    administrator = make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR, email="admin@corp.local")
    assert administrator.recovery_address
    ids = people_of(scim, 4)
    for key in ids[:2]:
        assert scim.delete(f"/Users/{key}").status_code == 204
    answer = scim.delete(f"/Users/{ids[2]}")
    assert_error(answer, 403)
    assert "mass removal" in answer.json()["detail"]
    assert scim.user(ids[2])["active"] is True
    directory.refresh_from_db()
    assert directory.stopped is not None
    assert SecurityEvent.objects.filter(kind=SecurityKind.DIRECTORY_STOPPED).count() == 1
    assert_error(scim.delete(f"/Users/{ids[3]}"), 403)
    assert SecurityEvent.objects.filter(kind=SecurityKind.DIRECTORY_STOPPED).count() == 1


def test_a_stopped_directory_stays_stopped_after_the_hour_and_goes_on_once_confirmed(
    scim: Scim, directory: Directory
) -> None:
    ids = people_of(scim, 4)
    for key in ids[:3]:
        scim.delete(f"/Users/{key}")
    DirectoryRemoval.objects.update(at=now() - datetime.timedelta(hours=2))
    assert_error(scim.delete(f"/Users/{ids[2]}"), 403)
    author = make.author_of(make.make_user("root", is_superuser=True))
    brake.confirm(directory, author=author, reason="A line was closed")
    assert scim.delete(f"/Users/{ids[2]}").status_code == 204
    directory.refresh_from_db()
    assert directory.stopped is None


def test_one_person_at_a_time_can_be_switched_off_through_the_brake_ten_an_hour(
    scim: Scim, directory: Directory
) -> None:
    ids = people_of(scim, 14)
    for key in ids[:2]:
        assert scim.patch(f"/Users/{key}", OFF).status_code == 200
    for key in ids[2:12]:
        assert scim.patch(f"/Users/{key}", OFF).status_code == 200
    directory.refresh_from_db()
    assert directory.stopped is not None
    assert_error(scim.patch(f"/Users/{ids[12]}", OFF), 403)
    assert scim.user(ids[12])["active"] is True
    DirectoryRemoval.objects.update(at=now() - datetime.timedelta(hours=2))
    assert scim.patch(f"/Users/{ids[12]}", OFF).status_code == 200


def test_reads_additions_and_other_changes_go_on_while_a_directory_is_stopped(scim: Scim, directory: Directory) -> None:
    ids = people_of(scim, 3)
    Directory.objects.update(stopped=now())
    assert scim.get("/Users").json()["totalResults"] == 3
    assert scim.patch(f"/Users/{ids[0]}", {"op": "replace", "path": "displayName", "value": "M"}).status_code == 200
    group = scim.add_group("Bakers", *ids)
    assert_error(scim.patch(f"/Groups/{group['id']}", {"op": "remove", "path": "members"}), 403)
    assert_error(scim.delete(f"/Groups/{group['id']}"), 403)
    assert scim.members(group["id"]) == set(ids)
    scim.add_user("one.more@corp.local")


@pytest.mark.parametrize("door", ["remove", "replace", "put", "delete", "nested"])
def test_people_taken_out_of_roles_are_counted_through_every_door(scim: Scim, directory: Directory, door: str) -> None:
    ids = people_of(scim, 3)
    group = scim.add_group("Bakers", *ids)
    path = f"/Groups/{group['id']}"
    if door == "remove":
        answer = scim.patch(path, *({"op": "remove", "path": f'members[value eq "{key}"]'} for key in ids))
    elif door == "replace":
        answer = scim.patch(path, {"op": "replace", "path": "members", "value": []})
    elif door == "put":
        answer = scim.put(path, {**group, "members": []})
    elif door == "delete":
        answer = scim.delete(path)
    else:
        outer = scim.add_group("Everybody", group["id"])
        answer = scim.patch(f"/Groups/{outer['id']}", {"op": "remove", "path": f'members[value eq "{group["id"]}"]'})
    assert_error(answer, 403)
    directory.refresh_from_db()
    assert directory.stopped is not None
    assert scim.members(group["id"]) == set(ids)


def test_only_those_who_were_members_are_counted_when_a_patch_names_others_too(scim: Scim) -> None:
    member, nobody, inner = *people_of(scim, 2), scim.add_group("Inner")["id"]
    group = scim.add_group("Bakers", member, inner)["id"]
    value = [{"value": key} for key in (nobody, member, inner)]
    answer = scim.patch(f"/Groups/{group}", {"op": "remove", "path": "members", "value": value})
    assert answer.status_code == 200
    assert scim.members(group) == set()
    assert [str(one.user_id) for one in DirectoryRemoval.objects.all()] == [member]


def test_a_large_directory_may_remove_its_share_of_people(scim: Scim, settings: Any, directory: Directory) -> None:
    settings.DIRECTORY_BRAKE_PERCENT = 50
    ids = people_of(scim, 6)
    assert [scim.delete(f"/Users/{key}").status_code for key in ids[:4]] == [204, 204, 204, 403]


def test_one_person_who_is_removed_several_times_counts_once(scim: Scim, directory: Directory) -> None:
    key = people_of(scim, 1)[0]
    group = scim.add_group("Bakers", key)
    assert scim.patch(f"/Groups/{group['id']}", {"op": "remove", "path": "members"}).status_code == 200
    assert scim.patch(f"/Users/{key}", OFF).status_code == 200
    assert scim.delete(f"/Users/{key}").status_code == 204
    directory.refresh_from_db()
    assert directory.stopped is None


def test_a_site_administrator_confirms_on_the_connection_page_with_a_reason(
    client: Any, site: Site, directory: Directory
) -> None:
    Directory.objects.update(stopped=now())
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    page = f"/admin/accounts/directory/{directory.pk}/connection/"
    assert "Mass removal stopped" in client.get(page).text
    client.post(page, {"do": "confirm", "change_reason": ""})
    directory.refresh_from_db()
    assert directory.stopped is not None
    form = {"do": "confirm", "change_reason": "A line closed"}
    assert "may remove people again" in client.post(page, form, follow=True).text
    directory = Directory.objects.get()
    assert directory.stopped is None
    assert directory.confirmed is not None
    assert SecurityEvent.objects.filter(kind=SecurityKind.DIRECTORY_CONFIRMED).count() == 1


def test_whoever_may_not_change_directories_cannot_confirm(client: Any, site: Site, directory: Directory) -> None:
    Directory.objects.update(stopped=now())
    client.force_login(make.make_user("manager", site=site, role=DefaultRole.MANAGER))
    page = f"/admin/accounts/directory/{directory.pk}/connection/"
    assert client.post(page, {"do": "confirm", "change_reason": "Yes"}).status_code in (302, 403, 404)
    directory.refresh_from_db()
    assert directory.stopped is not None


def test_removals_that_count_no_more_are_dropped(directory: Directory) -> None:
    user = User.objects.get(pk=directory.service_account_id)
    for hours in (0, 3):
        at = now() - datetime.timedelta(hours=hours)
        DirectoryRemoval.objects.create(directory=directory, user_id=user.pk, at=at)
    assert look_after_credentials.call()["removals"] == 1
    assert DirectoryRemoval.objects.count() == 1


def test_the_connection_page_names_the_rules_of_the_directory(client: Any, site: Site, directory: Directory) -> None:
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    page = f"/admin/accounts/directory/{directory.pk}/connection/"
    text = client.get(page).text
    assert "Within an hour it can remove at most 2 people" in text
    assert "Passwords that it sends are ignored." in text
    assert "refused at present" not in text
    Directory.objects.update(stopped=now())
    assert "refused at present" in client.get(page).text


def test_the_connection_check_does_not_count_and_makes_nobody_while_the_directory_is_stopped(
    client: Any, site: Site, directory: Directory
) -> None:
    client.force_login(make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR))
    page = f"/admin/accounts/directory/{directory.pk}/connection/"
    for _ in range(3):
        assert "Everything works as a directory expects." in client.post(page, {"do": "check-scim"}).text
    assert not DirectoryRemoval.objects.exists()
    Directory.objects.update(stopped=now())
    count = User.objects.count()
    assert "confirm the removals on this page first" in client.post(page, {"do": "check-scim"}).text
    assert User.objects.count() == count


def test_each_operation_of_a_bulk_request_passes_the_brake(scim: Scim, directory: Directory) -> None:
    ids = people_of(scim, 4)
    operations = [{"method": "DELETE", "path": f"/Users/{key}"} for key in ids]
    schemas = ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"]
    answer = scim.post("/Bulk", {"schemas": schemas, "Operations": operations})
    assert [one["status"] for one in answer.json()["Operations"]] == ["204", "204", "403", "403"]
    directory.refresh_from_db()
    assert directory.stopped is not None
    assert scim.user(ids[2])["active"] is True
