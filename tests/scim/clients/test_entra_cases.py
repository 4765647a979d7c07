"""What Microsoft Entra ID sends: each E row of the provisioning cases, on both mounts."""

import uuid

import pytest

from records.accounts.models import Dialect
from tests.scim import people
from tests.scim.conftest import assert_error
from tests.scim.people import entra_op

MANAGER = f"{people.ENTERPRISE}:manager"


@pytest.mark.parametrize(
    "expression",
    [
        'userName eq "9b0f9a54-6f5a-4a53-b1f6-0c6a3f0a8d11"',
        'externalId eq "nobody"',
        'emails[type eq "work"].value eq "nobody@x.test"',
    ],
)
def test_e01_a_connection_test_finds_nobody(both, expression):
    both.add_user("mira@corp.local")
    answer = both.get("/Users", {"filter": expression})
    assert answer.status_code == 200
    assert answer.json()["totalResults"] == 0
    assert answer.json()["Resources"] == []


@pytest.mark.parametrize("operand", ['"jyoung"', "jyoung"])
def test_e02_external_id_is_matched_quoted_or_bare(both, operand):
    user = both.add_user("mira@corp.local", externalId="jyoung")
    both.add_user("noah@corp.local", externalId="other")
    assert both.ids("/Users", f"externalId eq {operand}") == [user["id"]]


def test_e03_the_work_address_can_be_the_matching_attribute(both):
    user = both.add_user("mira", emails=[{"value": "a@b.test", "type": "work"}])
    both.add_user("noah", emails=[{"value": "a@b.test", "type": "home"}])
    assert both.ids("/Users", 'emails[type eq "work"].value eq "a@b.test"') == [user["id"]]


@pytest.mark.parametrize("query", ["userName+eq+%22MIRA%40corp.LOCAL%22", "userName%20eq%20%22mira@corp.local%22"])
def test_e04_users_are_found_however_spaces_and_case_are_sent(both, query):
    user = both.add_user("Mira@Corp.local")
    body = both.send("GET", f"/Users?filter={query}").json()
    assert [one["id"] for one in body["Resources"]] == [user["id"]]


def test_e04_groups_are_found_in_any_case(both):
    group = both.add_group("Line Leaders")
    assert both.ids("/Groups", 'displayName eq "LINE leaders"') == [group["id"]]


def test_e05_attribute_names_match_in_any_case(both):
    user = both.add_user("mira", externalId="7")
    assert both.ids("/Users", 'USERNAME eq "mira" AND ExternalID eq "7"') == [user["id"]]


def test_e06_an_unknown_id_is_404_with_a_string_status(both):
    assert_error(both.get(f"/Users/{uuid.uuid4()}"), 404)


def test_e07_nulls_unknown_schemas_and_empty_lists_are_ignored(both):
    body = people.user_body(
        "mira",
        externalId="e7",
        schemas=[people.USER, "urn:ietf:params:scim:schemas:extension:Misspelt:2.0:User"],
        meta={"resourceType": "User"},
        roles=[],
        addresses=None,
        phoneNumbers=None,
        title=None,
        name={"givenName": "Mira", "familyName": None},
    )
    answer = both.post("/Users", body)
    assert answer.status_code == 201, answer.content
    user = answer.json()
    assert answer["Location"] == user["meta"]["location"]
    assert user["active"] is True
    assert user["externalId"] == "e7"
    assert "title" not in user
    assert user["name"]["familyName"] == ""


@pytest.mark.parametrize("again", ["mira@corp.local", "MIRA@corp.local"])
def test_e08_the_same_user_name_again_is_409(both, again):
    both.add_user("mira@corp.local")
    assert_error(both.post("/Users", people.user_body(again)), 409, "uniqueness")


def test_e09_capitalised_operations_are_understood(both):
    user = both.add_user("mira")
    operations = [entra_op("nickName", "Mi"), entra_op("title", "Baker", "Add"), {"op": "Remove", "path": "userType"}]
    after = both.apply(f"/Users/{user['id']}", *operations).json()
    assert (after["nickName"], after["title"], after["userType"]) == ("Mi", "Baker", "")


@pytest.mark.parametrize("value", ["False", "false", False])
def test_e10_a_user_is_disabled_by_text_or_boolean(both, value):
    user = both.add_user("mira")
    assert both.apply(f"/Users/{user['id']}", entra_op("active", value)).status_code == 200
    assert both.user(user["id"])["active"] is False


def test_e11_a_value_path_and_a_name_are_replaced_together(both):
    user = both.add_user("mira")
    answer = both.apply(
        f"/Users/{user['id']}",
        entra_op('emails[type eq "work"].value', "new@corp.local"),
        entra_op("name.familyName", "Kovac"),
    )
    assert answer.status_code == 200
    assert answer.json()["emails"] == [{"value": "new@corp.local", "type": "work", "primary": True}]
    assert answer.json()["name"]["familyName"] == "Kovac"


def test_e12_an_address_of_a_missing_type_is_created(both):
    user = both.add_user("mira")
    answer = both.apply(f"/Users/{user['id']}", entra_op('emails[type eq "home"].value', "home@x.test", "Add"))
    assert [(email["type"], email["value"]) for email in answer.json()["emails"]] == [
        ("work", "mira@corp.local"),
        ("home", "home@x.test"),
    ]


def test_e13_several_single_replacements_are_one_change(both):
    user = both.add_user("mira")
    answer = both.apply(
        f"/Users/{user['id']}",
        entra_op("externalId", "13"),
        entra_op(f"{people.ENTERPRISE}:employeeNumber", "E-13"),
        entra_op(f"{people.ENTERPRISE}:department", "Bakery"),
    ).json()
    assert answer["externalId"] == "13"
    assert answer[people.ENTERPRISE] == {"employeeNumber": "E-13", "department": "Bakery"}


def test_e13_one_bad_operation_undoes_all(both):
    user = both.add_user("mira")
    answer = both.apply(
        f"/Users/{user['id']}",
        entra_op("nickName", "Mi"),
        entra_op("emails", [{"value": "no address"}]),
    )
    assert_error(answer, 400, "invalidValue")
    assert both.user(user["id"]) == user


def test_e14_one_operation_carries_dotted_and_urn_keys(both):
    user = both.add_user("mira")
    value = {
        "displayName": "Mira N.",
        "name.givenName": "Miriam",
        f"{people.EMPLOYEE}:position": "Lead",
        f"{people.ENTERPRISE}:costCenter": "77",
    }
    answer = both.apply(f"/Users/{user['id']}", {"op": "replace", "value": value}).json()
    assert answer["displayName"] == "Mira N."
    assert answer["name"]["givenName"] == "Miriam"
    assert answer["name"]["familyName"] == "Novak"
    assert answer[people.EMPLOYEE] == {"position": "Lead", "natureOfEmployment": "Employee", "folder": "Line 1"}
    assert answer[people.ENTERPRISE] == {"costCenter": "77"}


@pytest.mark.parametrize("form", ["text", "object", "list"])
@pytest.mark.parametrize("path", [MANAGER, f"{people.ENTERPRISE}.manager"])
def test_e15_e16_a_manager_is_set_in_any_form_and_cleared_by_an_empty_one(both, form, path):
    head = both.add_user("head")
    user = both.add_user("mira")
    value = {"text": head["id"], "object": {"value": head["id"]}, "list": [{"$ref": None, "value": head["id"]}]}[form]
    set_ = both.apply(f"/Users/{user['id']}", entra_op(path, value, "Add")).json()
    assert set_[people.ENTERPRISE]["manager"] == {
        "value": head["id"],
        "$ref": set_["meta"]["location"].replace(user["id"], head["id"]),
        "displayName": "Mira Novak",
    }
    assert both.ids("/Users", f'{MANAGER}.value eq "{head["id"]}"') == [user["id"]]
    after = both.apply(f"/Users/{user['id']}", entra_op(path, {"value": ""})).json()
    assert people.ENTERPRISE not in after


def test_e17_a_disabled_user_is_still_read_and_found(both):
    user = both.add_user("mira")
    both.apply(f"/Users/{user['id']}", entra_op("active", "False"))
    assert both.user(user["id"])["active"] is False
    users = both.get("/Users", {"filter": 'userName eq "mira"'}).json()["Resources"]
    assert [one["active"] for one in users] == [False]


def test_e18_a_user_comes_back_under_the_same_id(both):
    user = both.add_user("mira")
    both.apply(f"/Users/{user['id']}", entra_op("active", False))
    assert both.apply(f"/Users/{user['id']}", entra_op("active", True)).json()["active"] is True
    assert both.user(user["id"])["active"] is True


def test_e19_a_hard_delete_is_204_then_404(both):
    user = both.add_user("mira")
    path = f"/Users/{user['id']}"
    assert both.delete(path).status_code == 204
    assert_error(both.delete(path), 404)
    assert_error(both.get(path), 404)


def test_e20_a_group_is_made_with_entras_own_schema(both):
    body = {
        "schemas": [people.GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
        "externalId": "8aa1a0c0",
        "displayName": "Line leaders",
        "meta": {"resourceType": "Group"},
    }
    answer = both.post("/Groups", body)
    assert answer.status_code == 201, answer.content
    assert answer.json()["members"] == []
    assert answer.json()["externalId"] == "8aa1a0c0"


def test_e21_the_same_group_name_again_is_409(both):
    both.add_group("Line leaders")
    assert_error(both.post("/Groups", {"schemas": [people.GROUP], "displayName": "LINE leaders"}), 409, "uniqueness")


def test_e22_excluded_members_are_neither_sent_nor_read(both, django_assert_max_num_queries):
    user = both.add_user("mira")
    group = both.add_group("Team", user["id"])
    query = {"excludedAttributes": "members"}
    assert "members" not in both.get(f"/Groups/{group['id']}", query).json()
    groups = both.get("/Groups", {**query, "filter": 'displayName eq "Team"'}).json()["Resources"]
    assert [("members" in one, one["id"]) for one in groups] == [(False, group["id"])]


@pytest.mark.parametrize("order", ['id eq "{g}" and members eq "{u}"', 'members eq "{u}" and id eq "{g}"'])
def test_e23_membership_is_asked_by_id_and_member(both, order):
    user, other = both.add_user("mira"), both.add_user("noah")
    group = both.add_group("Team", user["id"])
    for member, expected in ((user, [{"schemas": [people.GROUP], "id": group["id"]}]), (other, [])):
        expression = order.format(g=group["id"], u=member["id"])
        body = both.get("/Groups", {"filter": expression, "attributes": "id"}).json()
        assert body["Resources"] == expected


def test_e24_members_are_added_many_at_once_and_again(both):
    users = [both.add_user(f"u{number}")["id"] for number in range(3)]
    group = both.add_group("Team", users[0])
    add = entra_op("members", [{"$ref": None, "value": key} for key in users], "Add")
    for _ in range(2):
        assert both.apply(f"/Groups/{group['id']}", add).status_code == 200
        assert both.members(group["id"]) == set(users)


def test_e25_members_are_removed_by_a_value_list(both):
    users = [both.add_user(f"u{number}")["id"] for number in range(3)]
    group = both.add_group("Team", *users)
    both.apply(f"/Groups/{group['id']}", entra_op("members", [{"$ref": None, "value": users[1]}], "Remove"))
    assert both.members(group["id"]) == {users[0], users[2]}


def test_e26_a_member_is_removed_by_a_filter_path(both):
    users = [both.add_user(f"u{number}")["id"] for number in range(3)]
    group = both.add_group("Team", *users)
    both.apply(f"/Groups/{group['id']}", {"op": "remove", "path": f'members[value eq "{users[1]}"]'})
    assert both.members(group["id"]) == {users[0], users[2]}


@pytest.mark.parametrize(
    "operation",
    [
        entra_op("displayName", "New"),
        {"op": "replace", "value": {"displayName": "New"}},
        {"op": "Replace", "value": {"externalId": "x", "displayName": "New"}},
    ],
)
def test_e27_a_group_is_renamed_with_and_without_a_path(both, operation):
    user = both.add_user("mira")
    group = both.add_group("Old", user["id"])
    assert both.apply(f"/Groups/{group['id']}", operation).status_code == 200
    assert both.get(f"/Groups/{group['id']}").json()["displayName"] == "New"
    assert both.members(group["id"]) == {user["id"]}


def test_e28_members_are_replaced_by_the_exact_set(both):
    users = [both.add_user(f"u{number}")["id"] for number in range(3)]
    group = both.add_group("Team", *users[:2])
    both.apply(f"/Groups/{group['id']}", entra_op("members", [{"value": users[2]}]))
    assert both.members(group["id"]) == {users[2]}


def test_e29_schemas_are_a_list_without_nulls(both):
    answer = both.get("/Schemas").json()
    assert answer["totalResults"] == len(answer["Resources"]) == answer["itemsPerPage"]

    def nulls(value):
        if isinstance(value, dict):
            return any(nulls(item) for item in value.values())
        return any(nulls(item) for item in value) if isinstance(value, list) else value is None

    assert not nulls(answer)
    user = next(schema for schema in answer["Resources"] if schema["id"] == people.USER)
    assert {attribute["mutability"] for attribute in user["attributes"]} <= {"readWrite", "readOnly", "writeOnly"}


def test_e30_an_inbound_sync_reads_by_last_modified_in_pages(both):
    users = sorted(both.add_user(f"u{number}")["id"] for number in range(7))
    window = (
        'meta.lastModified ge "0001-01-03T00:00:00.0000000Z" and meta.lastmodified le "2999-01-01T00:00:00.1234567Z"'
    )
    first = both.get("/Users", {"filter": f"ActiVe eq true and ({window})", "count": "5", "startIndex": "1"}).json()
    second = both.get("/Users", {"filter": f"active eq true and ({window})", "count": "5", "startindex": "6"}).json()
    assert [one["id"] for page in (first, second) for one in page["Resources"]] == users
    assert first["totalResults"] == second["totalResults"] == 7
    assert both.get("/Users", {"filter": f"({window})", "startindex": "0", "count": "2"}).json()["startIndex"] == 1
    assert both.ids("/Users", 'meta.lastModified lt "2001-01-01T00:00:00Z"') == []


@pytest.mark.parametrize(
    "expression",
    [
        'DisplayName eq "mira novak"',
        "userName sw M",
        "meta.Created gt 2015-10-10T14:38:21.8617979-07:00",
        'emails[type eq "work" and value co "@corp"]',
    ],
)
def test_e31_the_reference_collections_filters_are_understood(both, expression):
    user = both.add_user("mira")
    from urllib.parse import quote

    answer = both.send("GET", f"/Users/?filter={quote(expression)}")
    assert [one["id"] for one in answer.json()["Resources"]] == [user["id"]]


def test_e31_the_reference_collections_bodies_are_understood(both):
    body = people.user_body("mira", active="True", misspelt=1)
    del body["emails"]
    body["Emails"] = [{"Value": "a@b.test", "Primary": True, "type": "work"}]
    user = both.post("/Users", body).json()
    assert user["active"] is True
    assert user["emails"] == [{"value": "a@b.test", "type": "work", "primary": True}]
    assert "misspelt" not in user
    group = both.add_group("Team")
    add = entra_op("members", [{"value": user["id"], "displayName": "Mira"}], "add")
    assert both.apply(f"/Groups/{group['id']}", add).status_code == 200
    assert both.apply(f"/Groups/{group['id']}", entra_op("members", user["id"], "add")).status_code == 200
    assert both.members(group["id"]) == {user["id"]}
    assert both.put(f"/Users/{user['id']}", {**user, "nickname_": "x"}).status_code == 200
    nameless = {name: value for name, value in user.items() if name != "userName"}
    assert_error(both.put(f"/Users/{user['id']}", nameless), 400, "invalidValue")
    document = both.get("/Users", {"attributes": 'emails[type eq "work"]'}).json()["Resources"][0]
    assert set(document) == {"schemas", "id", "emails"}


def test_e33_entra_gets_204_for_groups_and_the_user_for_users(scim_of):
    scim = scim_of(Dialect.ENTRA)
    user = scim.add_user("mira")
    group = scim.add_group("Team")
    answer = scim.patch(f"/Groups/{group['id']}", entra_op("members", [{"value": user["id"]}], "Add"))
    assert (answer.status_code, answer.content) == (204, b"")
    assert scim.members(group["id"]) == {user["id"]}
    answer = scim.patch(f"/Users/{user['id']}", entra_op("nickName", "Mi"))
    assert (answer.status_code, answer.json()["nickName"]) == (200, "Mi")


def test_e34_values_come_back_as_they_were_sent(both):
    fields = {
        "phoneNumbers": [
            {"value": "+1 (555) 010-0199", "type": "work"},
            {"value": "tel:+1-555-0100", "type": "mobile"},
        ],
        "addresses": [{"type": "work", "streetAddress": "1 High St\nUnit 2", "locality": "Ely", "country": "gb"}],
        "title": "Häd of Bäking",
        "nickName": "  spaced ",
        "timezone": "not/a zone",
        "locale": "zz_random",
        "roles": [{"value": "r1", "primary": True, "type": "WindowsAzureActiveDirectoryRole"}],
        "entitlements": [{"value": "e1"}],
    }
    user = both.add_user("mira", **fields)
    assert {name: user[name] for name in fields} == fields
    assert both.user(user["id"]) == user


def test_e35_no_answer_holds_a_null(both):
    user = both.add_user("mira", nickName=None, name={"givenName": "Mira", "middleName": None})
    assert None not in user.values()
    assert None not in user["name"].values()
