"""What a directory says beside what counts: it is refused where it contradicts, or the log names it as ignored."""

import json

import pytest

from records.accounts.models import Dialect
from scim.models import ProvisioningCall
from tests.scim import people
from tests.scim.conftest import Scim, assert_error, last_outcome
from tests.shared_fixtures import shared_fixture

MANAGER = f"{people.ENTERPRISE}:manager"


@shared_fixture
def groups(documented_token, user):
    """Return the ids of a group and of one that contains it and the user."""
    scim = Scim(documented_token)
    inner = scim.add_group("Inner")["id"]
    return inner, scim.add_group("Team", user["id"], inner)["id"]


@pytest.fixture
def team(both, user, groups):
    """Return a client, a user, a group and a group that contains both of them."""
    return both, user["id"], *groups


def test_a_member_whose_type_contradicts_its_id_is_refused_and_nothing_changes(team):
    both, user, inner, group = team
    other = both.add_user("noah")["id"]
    for key, wrong, right in ((user, "Group", "User"), (other, "group", "User"), (inner, "USER", "Group")):
        entry = {"value": key, "type": wrong}
        before = both.get(f"/Groups/{group}").json()
        answers = [
            both.put(f"/Groups/{group}", {"members": [{"value": user}, entry]}),
            both.post("/Groups", {"displayName": "New", "members": [entry]}),
            both.apply(f"/Groups/{group}", {"op": "add", "path": "members", "value": [entry]}),
            both.apply(f"/Groups/{group}", {"op": "replace", "value": {"members": [entry]}}),
            both.apply(
                f"/Groups/{group}",
                {"op": "remove", "path": f'members[value eq "{inner}"]'},
                {"op": "add", "path": "members", "value": [entry, {"value": inner}]},
            ),
        ]
        for answer in answers:
            assert_error(answer, 400, "invalidValue")
            assert f"is the id of a {right}" in answer.json()["detail"]
        assert both.get(f"/Groups/{group}").json() == before
        assert both.ids("/Groups", 'displayName eq "New"') == []


def test_a_member_is_called_what_it_is_in_any_case(team):
    both, user, inner, group = team
    members = [{"value": user, "type": "user"}, {"value": inner, "type": "GROUP"}]
    answer = both.put(f"/Groups/{group}", {"members": members})
    assert answer.status_code == 200, answer.content
    assert {one["value"]: one["type"] for one in answer.json()["members"]} == {user: "User", inner: "Group"}


def test_a_type_does_not_tell_whether_an_id_exists(team, other_site):
    both, _, _, group = team
    strange = people.make_directory(other_site)
    key_elsewhere = type(both)(people.make_token(strange)).add_user("zoe")["id"]
    details = []
    for key in (key_elsewhere, "a3c1b2d4-0000-4000-8000-000000000000"):
        answer = both.put(f"/Groups/{group}", {"members": [{"value": key, "type": "Group"}]})
        assert_error(answer, 400, "invalidValue")
        details.append(answer.json()["detail"].replace(key, ""))
    assert details[0] == details[1]


def test_a_reference_to_another_id_than_the_members_is_named_in_the_log(team):
    both, user, inner, group = team
    entry = {"value": user, "$ref": f"../Users/{inner}"}
    note = "Ignored, because value names the member: members.$ref."
    assert both.put(f"/Groups/{group}", {"members": [entry]}).status_code == 200
    assert note in last_outcome()
    both.apply(f"/Groups/{group}", {"op": "add", "path": "members", "value": [entry]})
    assert note in last_outcome()
    assert both.members(group) == {user}
    both.apply(f"/Groups/{group}", {"op": "add", "path": "members", "value": [{**entry, "$ref": f"x/{user.upper()}"}]})
    assert last_outcome() == "Nothing changed: everything was as asked for already."


def test_a_path_and_a_value_that_name_two_members_are_refused(scim):
    user, other = scim.add_user("mira")["id"], scim.add_user("noah")["id"]
    group = scim.add_group("Team")["id"]
    operation = {"op": "add", "path": f'members[value eq "{user}"]', "value": {"value": other}}
    assert_error(scim.patch(f"/Groups/{group}", operation), 400, "invalidValue")
    assert scim.members(group) == set()
    value = {"display": "M.", "type": "User"}
    answer = scim.patch(f"/Groups/{group}", {**operation, "value": value})
    assert [one["display"] for one in answer.json()["members"]] == ["M."]


MEMBER = 'members[value eq "{}"]'


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"display": None},
        {"VALUE": "{UPPER}", "type": "user", "$ref": None},
        [{"value": "{key}", "nope": 1}],
        {"display": "Mira Novak"},
        {"$ref": "../Users/{key}"},
    ],
)
@pytest.mark.parametrize("op", ["add", "replace"])
def test_a_member_that_a_path_selects_may_be_told_again(scim, user, group, op, value):
    text = json.dumps(value).replace("{UPPER}", user["id"].upper()).replace("{key}", user["id"])
    operation = {"op": op, "path": MEMBER.format(user["id"]), "value": json.loads(text)}
    answer = scim.patch(f"/Groups/{group['id']}", operation)
    assert answer.status_code == 200, answer.content
    assert answer.json() == group
    assert ("members.nope" in last_outcome()) == ("nope" in text)


@pytest.mark.parametrize("value", [None, "", "x", 7, [], ["x"], [{"value": "x"}, {"value": "y"}]])
@pytest.mark.parametrize("op", ["add", "replace"])
@pytest.mark.parametrize("is_member", [True, False])
def test_a_member_that_a_path_selects_is_told_as_an_object(scim, user, group, op, value, is_member):
    if not is_member:
        group = scim.add_group("Empty")
    operation = {"op": op, "path": MEMBER.format(user["id"]), "value": value}
    assert_error(scim.patch(f"/Groups/{group['id']}", operation), 400, "invalidValue")
    assert scim.get(f"/Groups/{group['id']}").json() == group


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (MEMBER, {"value": "x"}),
        (MEMBER, {"type": "Group"}),
        (MEMBER, [{"display": "x"}]),
        (f"{MEMBER}.display", None),
        (f"{MEMBER}.value", "x"),
        (f"{MEMBER}.$ref", "x"),
    ],
)
def test_what_a_member_is_cannot_be_changed_by_a_path(scim, user, group, path, value):
    operation = {"op": "replace", "path": path.format(user["id"]), "value": value}
    assert_error(scim.patch(f"/Groups/{group['id']}", operation), 400, "mutability")
    assert scim.get(f"/Groups/{group['id']}").json() == group


def test_a_member_that_was_added_before_in_the_same_request_may_be_told_again(scim):
    user = scim.add_user("mira")["id"]
    group = scim.add_group("Team")["id"]
    operation = {"op": "add", "path": MEMBER.format(user), "value": {"display": "M."}}
    answer = scim.patch(f"/Groups/{group}", operation, operation)
    assert [(one["value"], one["display"]) for one in answer.json()["members"]] == [(user, "M.")]


def test_unknown_names_of_a_member_are_named_in_the_log_of_every_write(team):
    both, user, _, group = team
    entry = {"value": user, "displayName": "Mira", "rank": 1}
    note = "Ignored, because the schemas do not declare it: members.displayName, members.rank."
    both.put(f"/Groups/{group}", {"members": [entry]})
    assert note in last_outcome()
    for operation in (
        {"op": "add", "path": "members", "value": [entry]},
        {"op": "replace", "value": {"members": [entry]}},
        {"op": "remove", "path": "members", "value": [entry]},
    ):
        both.apply(f"/Groups/{group}", operation)
        assert note in last_outcome()


@shared_fixture
def boss(documented_token):
    return Scim(documented_token).add_user("boss", displayName="The Boss")


@shared_fixture
def worker(documented_token, boss):
    """Return a user who reports to the boss."""
    manager = {people.ENTERPRISE: {"manager": {"value": boss["id"]}}}
    return Scim(documented_token).add_user("worker", **manager)


@pytest.mark.parametrize("path", [MANAGER, "manager", None])
@pytest.mark.parametrize("op", ["add", "replace"])
def test_the_name_of_a_manager_in_a_patch_is_named_in_the_log(scim, boss, worker, path, op):
    note = f"Ignored, because it is read-only: {MANAGER}.displayName."
    for name, is_said in (("Somebody", True), ("The Boss", False)):
        value = {"value": boss["id"], "displayName": name}
        operation = {"op": op, "path": path, "value": value} if path else {"op": op, "value": {MANAGER: value}}
        answer = scim.patch(f"/Users/{worker['id']}", operation)
        assert answer.json()[people.ENTERPRISE]["manager"]["displayName"] == "The Boss"
        assert (note in last_outcome()) == is_said
    alone = {"op": op, "path": MANAGER, "value": {"displayName": "Somebody"}}
    answer = scim.patch(f"/Users/{worker['id']}", alone)
    assert answer.json()[people.ENTERPRISE]["manager"]["value"] == boss["id"]
    assert note in last_outcome()


@pytest.mark.parametrize(
    ("path", "value", "name"),
    [
        ("name", {"givenName": "Zoe", "nick": "Z"}, "name.nick"),
        ("roles", [{"value": "auditor", "nope": 1}], "roles.nope"),
        ('emails[type eq "work"]', {"value": "z@corp.local", "nope": 1}, 'emails[type eq "work"].nope'),
        (people.EMPLOYEE, {"position": "Lead", "shoe": 42}, f"{people.EMPLOYEE}:shoe"),
        (MANAGER, {"value": "", "nope": 1}, f"{MANAGER}.nope"),
    ],
)
def test_unknown_names_in_a_value_with_a_path_are_ignored_and_named(scim, user, path, value, name):
    assert scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": path, "value": value}).status_code == 200
    assert f"Ignored, because the schemas do not declare it: {name}." in last_outcome()


def test_unknown_names_of_a_patch_are_named_and_misspelt_ones_refused(scim, user):
    path, operation = f"/Users/{user['id']}", {"op": "replace", "path": "title", "value": "Lead"}
    answer = scim.send("PATCH", path, {"Operations": [{**operation, "comment": "x"}], "reason": "y"})
    assert (answer.status_code, answer.json()["title"]) == (200, "Lead")
    assert "Ignored, because the schemas do not declare it: reason, comment." in last_outcome()
    for wrong in ({"vlaue": "Head"}, {"pth": "nickName"}, {"opp": "remove"}):
        answer = scim.send("PATCH", path, {"Operations": [{**operation, "value": "Head", **wrong}]})
        assert_error(answer, 400, "invalidSyntax")
    assert scim.user(user["id"])["title"] == "Lead"


def test_unknown_names_of_a_bulk_are_named(both):
    add = {"method": "POST", "path": "/Users", "bulkId": "1", "data": people.user_body("mira"), "comment": "x"}
    answer = both.post("/Bulk", {"Operations": [add], "reason": "y"})
    assert (answer.status_code, answer.json()["Operations"][0]["status"]) == (200, "201")
    outcome = ProvisioningCall.objects.filter(line__endswith="/Bulk").latest("id").outcome
    assert "Ignored, because the schemas do not declare it: reason, comment." in outcome


def test_the_log_names_what_was_ignored_without_anybodys_data(scim, user):
    path = 'emails[value eq "mira@corp.local"].nope'
    off = {"op": "replace", "path": "active", "value": False}
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": path, "value": "x"}, off)
    assert 'emails[value eq "…"].nope' in last_outcome()
    scim.patch(f"/Users/{user['id']}", {"op": "replace", "value": {path: "x"}})
    assert 'emails[value eq "…"].nope' in last_outcome()
    assert "mira" not in " ".join(ProvisioningCall.objects.values_list("outcome", flat=True))


@pytest.mark.parametrize("false", [False, "False", 0, "0", "no", "OFF"])
def test_every_form_of_false_ends_access_beside_a_path_that_is_not_declared(scim, user, false):
    operations = [{"op": "replace", "path": path, "value": false} for path in ("nope", "active")]
    answer = scim.patch(f"/Users/{user['id']}", *operations)
    assert (answer.status_code, answer.json().get("active")) == (200, False), answer.content
    assert "Ignored, because the schemas do not declare it: nope." in last_outcome()


@pytest.mark.parametrize(
    "off",
    [
        {"path": people.USER, "value": {"active": False}},
        {"path": f"{people.USER}:active", "value": False},
        {"path": f"{people.USER}.active", "value": "False"},
        {"value": {f"{people.USER}.active": False}},
        {"value": {"active": [{"value": "False"}]}},
    ],
)
def test_every_way_to_name_active_ends_access_beside_a_path_that_is_not_declared(scim, user, off):
    answer = scim.patch(
        f"/Users/{user['id']}", {"op": "replace", **off}, {"op": "replace", "path": "nope", "value": "x"}
    )
    assert (answer.status_code, answer.json().get("active")) == (200, False), answer.content


def test_the_schema_as_a_path_does_not_hide_how_many_attributes_a_patch_changes(scim, user):
    many = {f'emails[value eq "{number}"].type': "work" for number in range(600)}
    for path in ({}, {"path": people.USER}, {"path": f" {people.USER.upper()} "}):
        answer = scim.patch(f"/Users/{user['id']}", {"op": "add", "value": many, **path})
        assert answer.status_code == 400
        assert "at most 500" in answer.json()["detail"]


@shared_fixture
def worker_group(documented_token, worker):
    return Scim(documented_token).add_group("Crew", worker["id"])


OLD = {"created": "2020-01-01T00:00:00.000Z", "lastModified": "2020-01-01T00:00:00.000Z", "version": 'W/"0"'}


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"meta": OLD}, "meta.created"),
        ({"META": {"location": "https://elsewhere.example"}}, "META.location"),
        ({"meta.created": OLD["created"]}, "meta.created"),
        ({f"{people.USER}:meta": OLD}, "meta.created"),
        ({"groups": []}, "groups"),
        ({"groups": [{"value": "other"}], "profileUrl": "https://elsewhere.example"}, "groups, profileUrl"),
        ({f"{MANAGER}.displayName": "Somebody"}, f"{MANAGER}.displayName"),
    ],
)
def test_read_only_attributes_in_a_patch_without_a_path_are_ignored_and_named(
    scim_of, worker, worker_group, dialect, value, names
):
    scim = scim_of(dialect)
    path, before = f"/Users/{worker['id']}", scim.user(worker["id"])
    for op in ("add", "replace"):
        answer = scim.patch(path, {"op": op, "value": {**value, "title": f"Lead {op}"}})
        assert answer.status_code == 200, answer.content
        assert last_outcome() == f"Changed: title. Ignored, because it is read-only: {names}."
        after = scim.user(worker["id"])
        assert after["title"] == f"Lead {op}"
        assert {**after, "title": "", "meta": ""} == {**before, "title": "", "meta": ""}
    scim.patch(f"{path}?attributes=userName", {"op": "add", "value": {**after, "title": "Lead"}})
    assert last_outcome() == "Changed: title."
    assert_error(
        scim.patch(path, {"op": "replace", "path": "meta", "value": {"created": OLD["created"]}}), 400, "mutability"
    )


@pytest.mark.parametrize("dialect", Dialect)
def test_what_is_read_only_of_a_group_is_ignored_and_named_and_ids_are_read_in_any_case(scim_of, site, dialect):
    scim = scim_of(dialect)
    group = scim.add_group("Team", scim.add_user("mira")["id"])
    path, site_id = f"/Groups/{group['id']}", str(site.pk)
    for form in (
        {"value": {people.SITE: {"value": site_id.upper(), "displayName": "Elsewhere"}, "id": group["id"].upper()}},
        {"path": people.SITE, "value": {"value": site_id, "displayName": "Elsewhere"}},
        {"value": {f"{people.SITE}:value": site_id.upper(), f"{people.SITE}:displayName": "Elsewhere"}},
    ):
        answer = scim.patch(path, {"op": "replace", **form}, {"op": "replace", "path": "displayName", "value": "Team"})
        assert answer.status_code == (204 if dialect == Dialect.ENTRA else 200), answer.content
        assert last_outcome() == f"Nothing changed. Ignored, because it is read-only: {people.SITE}:displayName."
    for form in ({"path": f"{people.SITE}:value", "value": site_id.upper()}, {"value": {"meta": group["meta"]}}):
        assert scim.patch(path, {"op": "replace", **form}).status_code in (200, 204)
        assert last_outcome() == "Nothing changed: everything was as asked for already."
    elsewhere = {"op": "replace", "path": f"{people.SITE}:value", "value": "A3C1B2D4-0000-4000-8000-000000000000"}
    assert_error(scim.patch(path, elsewhere), 400, "mutability")
    answer = scim.patch(path, {"op": "replace", "path": "displayName", "value": "Crew"})
    assert answer["ETag"] == scim.get(path)["ETag"] != group["meta"]["version"]
    assert scim.get(path).json() == {**group, "displayName": "Crew", "meta": scim.get(path).json()["meta"]}


@pytest.mark.parametrize(
    "form", ["../Users/{}", "/scim/Users/{}/", "Users/{}", "https://elsewhere.example/prodscim/Users/{}"]
)
def test_a_manager_named_by_any_reference_is_set_and_not_called_ignored(both, boss, user, form):
    boss, other = boss["id"], user["id"]
    user = both.add_user("worker", **{people.ENTERPRISE: {"manager": {"$ref": form.format(boss)}}})
    assert "sent" not in last_outcome()
    path = f"/Users/{user['id']}"
    body = {**user, people.ENTERPRISE: {"manager": {"$ref": form.format(other.upper())}}}
    assert both.put(path, body).json()[people.ENTERPRISE]["manager"]["value"] == other
    assert last_outcome() == "Changed: manager."
    both.apply(path, {"op": "replace", "path": MANAGER, "value": {"$ref": form.format(boss)}})
    assert (both.user(user["id"])[people.ENTERPRISE]["manager"]["value"], last_outcome()) == (boss, "Answered.")
    body = {**user, people.ENTERPRISE: {"manager": {"value": boss, "$ref": form.format(boss)}}}
    both.put(path, body)
    assert last_outcome() == "Nothing changed: everything was as asked for already."
    manager_value = {"value": boss, "$ref": form.format(other)}
    for manager, name in (
        (manager_value, f"{MANAGER}.value"),
        ({"value": "nobody", "$ref": form.format(boss)}, f"{MANAGER}.$ref"),
    ):
        both.put(path, {**user, people.ENTERPRISE: {"manager": manager}})
        assert f"Not stored as sent: {name}." in last_outcome()
