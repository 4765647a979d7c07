"""Field cases: each F row of the provisioning cases, on both mounts."""

import uuid
from urllib.parse import quote

import pytest

from records.employees.models import Employee
from records.history.models import Change
from tests import make
from tests.scim import people
from tests.scim.conftest import Scim, assert_error
from tests.shared_fixtures import shared_fixture


@shared_fixture
def users(documented_token):
    scim = Scim(documented_token)
    return [scim.add_user(f"u{number}", displayName=f"User {number}")["id"] for number in range(3)]


@shared_fixture
def group(documented_token, users):
    return Scim(documented_token).add_group("Team", *users)["id"]


def test_f01_a_filtered_removal_removes_and_shows_on_both_sides(both, users, group):
    both.apply(f"/Groups/{group}", {"op": "remove", "path": f'members[value eq "{users[0]}"]'})
    assert both.members(group) == set(users[1:])
    assert both.user(users[0])["groups"] == []
    assert both.user(users[1])["groups"][0]["value"] == group


def test_f03_a_removal_with_a_value_list_takes_only_those(both, users, group):
    both.apply(f"/Groups/{group}", {"op": "Remove", "path": "members", "value": [{"value": users[1]}]})
    assert both.members(group) == {users[0], users[2]}


def test_f03_a_removal_without_a_value_empties_the_group(both, users, group):
    both.apply(f"/Groups/{group}", {"op": "remove", "path": "members"})
    assert both.members(group) == set()


@pytest.mark.parametrize(
    "selection", ['type eq "User" and value eq "{u}"', 'value eq "{u}" and type eq "user"', 'display eq "USER 0"']
)
def test_f05_a_selection_by_two_conditions_is_honoured(both, users, group, selection):
    path = f"members[{selection.replace('{u}', users[0])}]"
    assert both.apply(f"/Groups/{group}", {"op": "remove", "path": path}).status_code == 200
    assert both.members(group) == set(users[1:])


@pytest.mark.parametrize("op", ["Replace", "REPLACE", "replace"])
def test_f07_operations_are_read_in_any_case(both, users, op):
    both.apply(f"/Users/{users[0]}", {"op": op, "path": "active", "value": False})
    assert both.user(users[0])["active"] is False


def test_f09_a_qualified_core_attribute_is_the_attribute(both, users):
    assert both.ids("/Users", f'{people.USER}:userName eq "u1"') == [users[1]]
    both.apply(f"/Users/{users[1]}", {"op": "replace", "path": f"{people.USER}:nickName", "value": "Nick"})
    assert both.user(users[1])["nickName"] == "Nick"


def test_f09_another_resources_urn_is_refused(both, users, group):
    assert_error(both.get("/Groups", {"filter": f'{people.USER}:userName eq "u1"'}), 400, "invalidFilter")
    path = {"op": "replace", "path": f"{people.USER}:displayName", "value": "x"}
    assert_error(both.apply(f"/Groups/{group}", path), 400, "invalidPath")


def test_f11_a_dot_before_an_extension_attribute_is_tolerated(both, users):
    path = f"{people.EMPLOYEE}.position"
    both.apply(f"/Users/{users[0]}", {"op": "replace", "path": path, "value": "Lead"})
    assert both.user(users[0])[people.EMPLOYEE]["position"] == "Lead"
    assert both.ids("/Users", f'{path} eq "lead"') == [users[0]]
    documents = both.get("/Users", {"attributes": path, "filter": 'userName eq "u0"'}).json()["Resources"]
    assert documents[0][people.EMPLOYEE] == {"position": "Lead"}


def test_f13_an_extension_without_a_path_is_merged(both, users):
    both.apply(f"/Users/{users[0]}", {"op": "replace", "value": {people.EMPLOYEE: {"folder": "F7"}}})
    assert both.user(users[0])[people.EMPLOYEE] == {
        "position": "Baker",
        "natureOfEmployment": "Employee",
        "folder": "F7",
    }


def test_f15_the_type_of_an_address_is_kept_and_matched(both):
    user = both.add_user("mira", emails=[{"value": "a@b.test", "type": "work"}, {"value": "c@d.test", "type": "home"}])
    assert [email["type"] for email in user["emails"]] == ["work", "home"]
    both.apply(f"/Users/{user['id']}", {"op": "replace", "path": 'emails[type eq "work"].value', "value": "e@f.test"})
    assert [email["value"] for email in both.user(user["id"])["emails"]] == ["e@f.test", "c@d.test"]


def test_f17_a_reference_is_text_and_emptied_by_an_empty_value(both, users):
    path = f"{people.ENTERPRISE}:manager"
    both.apply(f"/Users/{users[0]}", {"op": "add", "path": path, "value": users[1]})
    assert both.user(users[0])[people.ENTERPRISE]["manager"]["value"] == users[1]
    assert Employee.objects.get(pk=users[0]).reporting_to_id == uuid.UUID(users[1])
    both.apply(f"/Users/{users[0]}", {"op": "replace", "path": path, "value": {"value": ""}})
    assert people.ENTERPRISE not in both.user(users[0])
    assert Employee.objects.get(pk=users[0]).reporting_to_id is None


def test_f17_a_manager_who_is_nobody_here_is_echoed_and_blocks_nothing(both, users):
    path = f"{people.ENTERPRISE}:manager"
    answer = both.apply(
        f"/Users/{users[0]}",
        {"op": "add", "path": path, "value": "boss@elsewhere"},
        {"op": "replace", "path": "active", "value": False},
    )
    assert answer.status_code == 200
    assert answer.json()[people.ENTERPRISE]["manager"] == {"value": "boss@elsewhere"}
    assert answer.json()["active"] is False
    assert both.ids("/Users", f'{path}.value eq "boss@elsewhere"') == [users[0]]


def test_f19_a_value_without_a_path_changes_nothing_else(both, users):
    before = both.user(users[0])
    after = both.apply(f"/Users/{users[0]}", {"op": "replace", "value": {"active": False}}).json()
    for body in (before, after):
        del body["meta"]
    assert after == {**before, "active": False}


def test_f21_a_disabled_user_stays_visible(both, users):
    both.apply(f"/Users/{users[0]}", {"op": "replace", "path": "active", "value": False})
    assert both.user(users[0])["active"] is False
    assert both.ids("/Users", 'userName eq "u0"') == [users[0]]


def test_f23_a_deleted_user_keeps_records_and_frees_the_name(both):
    user = both.add_user("mira", externalId="e1")
    noah = both.add_user("noah", externalId="e2")
    both.put(f"/Users/{noah['id']}", {**noah, people.ENTERPRISE: {"manager": {"value": user["id"]}}})
    assert both.delete(f"/Users/{user['id']}").status_code == 204
    assert_error(both.get(f"/Users/{user['id']}"), 404)
    again = both.add_user("mira", externalId="e1")
    assert again["id"] != user["id"]
    employee = Employee.objects.get(pk=user["id"])
    assert employee.is_archived
    assert Change.objects.filter(record_id=employee.pk).count() >= 2


def test_f25_names_differ_in_more_than_case(both):
    both.add_user("Mira@X.test")
    assert_error(both.post("/Users", people.user_body("mira@x.TEST")), 409, "uniqueness")


def test_f25_names_beyond_ascii_differ_in_more_than_case(both):
    both.add_user("ÉLISE@x.test")
    assert_error(both.post("/Users", people.user_body("élise@x.test")), 409, "uniqueness")


def test_f27_two_users_may_share_an_address(both):
    both.add_user("a", emails=[{"value": "s@x.test"}])
    both.add_user("b", emails=[{"value": "s@x.test"}])


def test_f29_the_status_of_an_error_is_text(both):
    assert both.get(f"/Groups/{uuid.uuid4()}").json()["status"] == "404"


def test_f31_a_name_in_use_is_409_by_patch_and_put(both, users):
    before = both.user(users[1])
    assert_error(
        both.apply(f"/Users/{users[1]}", {"op": "replace", "path": "userName", "value": "U0"}), 409, "uniqueness"
    )
    assert_error(both.put(f"/Users/{users[1]}", {**before, "userName": "u0"}), 409, "uniqueness")
    assert both.user(users[1]) == before


def test_f33_a_member_named_twice_is_one_member(both, users):
    group = both.add_group("Crew", users[0], users[0])["id"]
    body = {"id": group, "members": [{"value": users[1]}, {"value": users[1].upper()}]}
    assert both.put(f"/Groups/{group}", body).status_code == 200
    assert [member["value"] for member in both.get(f"/Groups/{group}").json()["members"]] == [users[1]]


@pytest.mark.parametrize("is_user", [True, False])
def test_f35_removing_somebody_who_is_no_member_changes_nothing(both, users, is_user):
    group = both.add_group("Crew", users[0])["id"]
    key = users[2] if is_user else str(uuid.uuid4())
    for operation in (
        {"op": "remove", "path": f'members[value eq "{key}"]'},
        {"op": "remove", "path": "members", "value": [{"value": key}]},
    ):
        assert both.apply(f"/Groups/{group}", operation).status_code == 200
    assert both.members(group) == {users[0]}


def test_f37_adds_add_up(both, users):
    group = both.add_group("Crew")["id"]
    for key in users:
        assert "members" not in both.get(f"/Groups/{group}", {"excludedAttributes": "members"}).json()
        both.apply(f"/Groups/{group}", {"op": "add", "path": "members", "value": [{"value": key}]})
    assert both.members(group) == set(users)


@shared_fixture
def walkers(documented_token):
    return {Scim(documented_token).add_user(f"walker{number}")["id"] for number in range(23)}


@pytest.mark.parametrize("filter_", ["", "active eq true"])
def test_f39_a_walk_through_the_pages_meets_everybody_once(both, walkers, filter_):
    ids = []
    for start in range(1, 40, 5):
        query = {"startIndex": str(start), "count": "5", **({"filter": filter_} if filter_ else {})}
        ids += [user["id"] for user in both.get("/Users", query).json()["Resources"]]
    assert len(ids) == len(set(ids))
    assert set(ids) == walkers


@pytest.mark.parametrize("start", ["0", "-5"])
def test_f41_an_index_below_one_is_one(both, users, start):
    first = both.get("/Users", {"startIndex": start, "count": "2"}).json()
    assert first["startIndex"] == 1
    second = both.get("/Users", {"startIndex": "3", "count": "2"}).json()
    assert [user["id"] for page in (first, second) for user in page["Resources"]] == sorted(users)


@pytest.mark.parametrize(
    ("expression", "numbers"),
    [
        ('userName eq "u0" or userName eq "u1" and userName eq "u2"', [0]),
        ('(userName eq "u0" or userName eq "u1") and userName eq "u2"', []),
        ('not (userName eq "u0") and not (userName eq "u1")', [2]),
        ('userName eq "u0" or (userName eq "u1" and active eq true)', [0, 1]),
    ],
)
def test_f45_and_binds_before_or(both, users, expression, numbers):
    assert both.ids("/Users", expression) == sorted(users[number] for number in numbers)


@pytest.mark.parametrize("name", ['The "A" team', "corp\\mira", "100% sure_", "a/b", "Ünïcödé ✓", "tab\there"])
def test_f47_operands_follow_json_string_rules(both, name):
    import json

    group = both.add_group(name)
    both.add_group("Other")
    assert both.ids("/Groups", f"displayName eq {json.dumps(name)}") == [group["id"]]
    assert both.ids("/Groups", f"displayName co {json.dumps(name[1:-1])}") == [group["id"]]


@pytest.mark.parametrize("wild", ["%", "_", "100_", "%sure"])
def test_f47_like_signs_are_literal(both, wild):
    both.add_group("100% plain")
    expected = [group for group in both.get("/Groups").json()["Resources"] if wild in group["displayName"]]
    assert both.ids("/Groups", f'displayName co "{wild}"') == [group["id"] for group in expected]


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 201),
        ("application/scim+json", 201),
        ("application/scim+json; charset=utf-8", 201),
        ("application/json;charset=UTF-8", 201),
        ("APPLICATION/SCIM+JSON", 201),
        ("", 201),
        ("application/json+scim", 415),
        ("application/merge-patch+json", 415),
        ("text/json", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/scim+json; charset=latin-1", 415),
    ],
)
def test_f49_json_is_read_under_either_name(both, content_type, status):
    answer = both.send("POST", "/Users", people.user_body("mira"), content_type)
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/scim+json"


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/scim+json", "text/html,*/*;q=0.1"])
def test_f49_answers_are_scim_whatever_is_accepted(both, accept):
    answer = both.get("/Users", Accept=accept)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/scim+json")


def test_f51_unknown_and_null_parts_of_a_member_are_ignored(both, users):
    group = both.add_group("Crew")["id"]
    both.apply(f"/Groups/{group}", {"op": "add", "path": "members", "value": [{"value": users[0], "displayName": "x"}]})
    both.put(f"/Groups/{group}", {"members": [{"value": users[0], "display": None}, {"value": users[1], "type": None}]})
    members = both.get(f"/Groups/{group}").json()["members"]
    assert {(member["value"], member["display"], member["type"]) for member in members} == {
        (users[0], "User 0", "User"),
        (users[1], "User 1", "User"),
    }


def test_f53_read_only_parts_are_ignored(both, users, group):
    user = both.user(users[0])
    body = {**user, "id": str(uuid.uuid4()), "meta": {"created": "2001-01-01T00:00:00Z"}, "groups": [], "nickName": "N"}
    answer = both.put(f"/Users/{users[0]}", body)
    assert answer.status_code == 200
    after = answer.json()
    assert after["id"] == users[0]
    assert after["meta"]["created"] == user["meta"]["created"]
    assert [entry["value"] for entry in after["groups"]] == [group]
    assert after["nickName"] == "N"


def test_f55_what_is_read_only_or_immutable_stays(both, users, group):
    for path in ("id", "meta.created", "groups", "meta"):
        value = [] if path == "groups" else {} if path == "meta" else "2001-01-01T00:00:00Z"
        assert_error(
            both.apply(f"/Users/{users[0]}", {"op": "replace", "path": path, "value": value}), 400, "mutability"
        )
    member = f'members[value eq "{users[0]}"]'
    for part, value in (("value", users[1]), ("display", "x"), ("type", "Group")):
        operation = {"op": "replace", "path": f"{member}.{part}", "value": value}
        assert_error(both.apply(f"/Groups/{group}", operation), 400, "mutability")
    site = {"op": "replace", "path": f"{people.SITE}:value", "value": str(uuid.uuid4())}
    assert_error(both.apply(f"/Groups/{group}", site), 400, "mutability")
    assert both.members(group) == set(users)


def test_f57_attributes_keep_id_and_schemas(both, users):
    one = both.get(f"/Users/{users[0]}", {"attributes": "userName"}).json()
    assert one == {"schemas": [people.USER], "id": users[0], "userName": "u0"}
    query = {"attributes": f"{people.EMPLOYEE}:position", "filter": 'userName eq "u1"'}
    documents = both.get("/Users", query).json()["Resources"]
    assert documents == [
        {"schemas": [people.USER, people.EMPLOYEE], "id": users[1], people.EMPLOYEE: {"position": "Baker"}}
    ]
    assert both.get(f"/Users/{users[0]}", {"excludedAttributes": "id"}).json()["id"] == users[0]
    both_ways = {"attributes": "userName", "excludedAttributes": "emails"}
    assert_error(both.get("/Users", both_ways), 400, "invalidValue")


def test_f59_location_and_meta_name_the_mount_that_was_called(both: Scim, settings):
    settings.BASE_URL = "https://larder.example"
    answer = both.post("/Users", people.user_body("mira"), Host="localhost")
    expected = f"https://larder.example{both.mount}/Users/{answer.json()['id']}"
    assert answer["Location"] == answer.json()["meta"]["location"] == expected
    group = both.add_group("Team", answer.json()["id"])
    assert group["members"][0]["$ref"] == expected


def test_f61_a_user_of_two_groups_is_listed_once(both, users):
    for name in ("A", "B"):
        both.add_group(name, users[0])
    body = both.get("/Users").json()
    assert body["totalResults"] == len(body["Resources"]) == 3
    assert both.ids("/Users", "groups pr") == [users[0]]
    assert both.get("/ServiceProviderConfig").status_code == 200


def test_f63_an_external_id_is_no_id(both):
    user = both.add_user("mira", externalId="1")
    assert_error(both.get("/Users/1"), 404)
    assert_error(both.delete("/Users/1"), 404)
    assert both.user(user["id"])["externalId"] == "1"


def test_f63_another_sites_people_and_roles_do_not_exist(both, other_site, scim_of):
    elsewhere = Scim(people.make_token(people.make_directory(other_site)))
    user, group = elsewhere.add_user("their user", externalId="1")["id"], elsewhere.add_group("Theirs")["id"]
    for path in (f"/Users/{user}", f"/Groups/{group}"):
        assert_error(both.get(path), 404)
        assert_error(both.put(path, people.user_body("x")), 404)
        assert_error(both.apply(path, {"op": "replace", "path": "displayName", "value": "x"}), 404)
        assert_error(both.delete(path), 404)
    mine = both.add_group("Mine")["id"]
    answer = both.put(f"/Groups/{mine}", {"members": [{"value": user}]})
    assert_error(answer, 400, "invalidValue")
    assert user in answer.json()["detail"]
    assert both.ids("/Users", 'externalId eq "1"') == []
    assert both.add_user("mine", externalId="1")["externalId"] == "1"
    assert_error(both.post("/Users", people.user_body("THEIR user")), 409, "uniqueness")
    assert quote(user) not in both.get("/Users").content.decode()


def test_f63_a_json_key_does_not_open_provisioning(both, site):
    key = make.make_key(site)
    assert_error(Scim(key.secret, both.mount).get("/Users"), 401)
    assert (
        both.client.get("/employee/GetEmployeeList", headers={"Ocp-Apim-Subscription-Key": both.secret}).status_code
        == 401
    )
