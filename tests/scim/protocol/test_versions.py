"""The version (ETag) of a user or group changes with what it shows, and with nothing else."""

from records.accounts.actions import set_members
from records.accounts.models import Role
from records.history.models import Change
from tests import make
from tests.scim import people
from tests.scim.conftest import assert_error


def test_what_is_as_asked_for_already_leaves_no_trace(scim):
    member, other = scim.add_user("mira")["id"], scim.add_user("noah")["id"]
    group = scim.add_group("Team", member)["id"]
    before = scim.get(f"/Groups/{group}").json(), Change.objects.count()
    for operation in (
        {"op": "add", "path": "members", "value": [{"value": member}]},
        {"op": "remove", "path": "members", "value": [{"value": other}]},
        {"op": "replace", "path": "members", "value": [{"value": member.upper()}]},
        {"op": "replace", "value": {"displayName": "Team"}},
    ):
        assert scim.patch(f"/Groups/{group}", operation).status_code == 200
        assert (scim.get(f"/Groups/{group}").json(), Change.objects.count()) == before


def test_a_repeated_put_leaves_no_trace(scim):
    member = scim.add_user("mira", externalId="1", nickName="Mi", **{people.ENTERPRISE: {"employeeNumber": "7"}})
    group = scim.add_group("Team", member["id"])
    for path in (f"/Users/{member['id']}", f"/Groups/{group['id']}"):
        body = scim.get(path).json()
        count = Change.objects.count()
        assert scim.put(path, body).json() == body
        assert Change.objects.count() == count


def test_a_new_name_is_read_by_those_who_have_the_version_of_a_group_or_a_report(scim):
    manager = scim.add_user("mira")
    report = scim.add_user("noah", **{people.ENTERPRISE: {"manager": {"value": manager["id"]}}})
    group = scim.add_group("Team", manager["id"])
    places = [f"/Groups/{group['id']}", f"/Users/{report['id']}"]
    versions = [scim.get(path)["ETag"] for path in places]
    scim.patch(f"/Users/{manager['id']}", {"op": "replace", "path": "displayName", "value": "Mira Berg"})
    for path, version in zip(places, versions, strict=True):
        answer = scim.get(path, If_None_Match=version)
        assert (answer.status_code, "Mira Berg" in answer.text) == (200, True)
    path = f"{places[0]}?excludedAttributes=members"
    assert scim.get(path, If_None_Match=versions[0]).status_code == 304


def test_versions_are_judged(scim):
    user = scim.add_user("mira")
    path, version = f"/Users/{user['id']}", user["meta"]["version"]
    answer = scim.get(path)
    assert answer["ETag"] == version
    answer = scim.get(path, If_None_Match=version)
    assert (answer.status_code, answer.content, "Content-Type" in answer) == (304, b"", False)
    answer = scim.patch(path, {"op": "replace", "path": "nickName", "value": "x"}, If_Match=version)
    assert answer.status_code == 200
    assert answer["ETag"] == answer.json()["meta"]["version"] != version
    assert_error(scim.patch(path, {"op": "replace", "path": "nickName", "value": "y"}, If_Match=version), 412)
    assert_error(scim.delete(path, If_Match=version), 412)
    assert scim.get(path, If_None_Match=version).status_code == 200
    group = scim.add_group("Team", user["id"])
    assert scim.get(path, If_None_Match=answer["ETag"]).status_code == 200, "its groups have changed"
    assert_error(scim.put(f"/Groups/{group['id']}", {"members": []}, If_Match='W/"99"'), 412)
    assert scim.put(f"/Groups/{group['id']}", {"members": []}, If_Match="*").status_code == 200


def test_the_version_of_all_who_show_a_group_changes_with_it(scim):
    def patch(group, op, value, path="members"):
        answer = scim.patch(f"/Groups/{group}", {"op": op, "path": path, "value": value})
        assert answer.status_code == 200, answer.content

    user = scim.add_user("mira")["id"]
    inner, outer = scim.add_group("Inner", user)["id"], scim.add_group("Outer")["id"]
    person, holder = f"/Users/{user}", f"/Groups/{outer}"
    changes = [
        (person, lambda: patch(outer, "add", [{"value": inner}])),
        (person, lambda: patch(outer, "replace", "Other", "displayName")),
        (holder, lambda: patch(inner, "replace", "Line", "displayName")),
        (person, lambda: patch(outer, "remove", [{"value": inner}])),
        (f"/Groups/{inner}", lambda: patch(inner, "add", [{"value": user, "display": "The baker"}])),
        (
            person,
            lambda: set_members(Role.objects.get(pk=outer), add=[Role.objects.get(pk=inner)], author=make.SYSTEM),
        ),
        (holder, lambda: scim.delete(f"/Groups/{inner}")),
    ]
    for number, (path, change) in enumerate(changes):
        before = scim.get(path)
        change()
        after = scim.get(path, If_None_Match=before["ETag"])
        assert after.status_code == 200, number
        assert {**after.json(), "meta": ""} != {**before.json(), "meta": ""}, number
    assert_error(scim.put(holder, before.json(), If_Match=before["ETag"]), 412)


def test_whoever_loses_a_manager_has_a_new_version(scim):
    enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
    manager = scim.add_user("mira")["id"]
    report = scim.add_user("noah", **{enterprise: {"manager": {"value": manager}}})["id"]
    before = scim.get(f"/Users/{report}")
    moment = before.json()["meta"]["lastModified"]
    assert scim.delete(f"/Users/{manager}").status_code == 204
    after = scim.get(f"/Users/{report}", If_None_Match=before["ETag"])
    assert after.status_code == 200
    assert enterprise not in after.json()
    assert after["ETag"] != before["ETag"]
    assert scim.ids("/Users", f'id eq "{report}" and meta.lastModified gt "{moment}"') == [report]
    add = {"op": "replace", "path": "title", "value": "Lead"}
    assert_error(scim.patch(f"/Users/{report}", add, If_Match=before["ETag"]), 412)
