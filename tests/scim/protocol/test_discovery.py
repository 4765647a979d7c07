"""What the service says about itself: the documented shapes, and those of RFC 7643 (DECISIONS 7.8)."""

import pytest

from records.accounts.models import Dialect
from tests.scim import people

RESOURCE_TYPE = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"


def test_resource_types_have_the_documented_shape(both):
    body = both.get("/ResourceTypes").json()
    user, group = body["Resources"]
    assert (body["totalResults"], body["startIndex"], body["itemsPerPage"]) == (2, 1, 2)
    assert set(user) == {
        "name", "id", "description", "schemas", "endpoint", "schema", "schemaExtensions", "meta",
    }  # fmt: skip
    assert (user["name"], user["endpoint"], user["schema"], user["schemas"]) == ("User", "/Users", people.USER, None)
    assert user["schemaExtensions"][0] == {"Schema": people.EMPLOYEE, "IsRequired": False}
    assert (group["name"], group["endpoint"], group["schema"], group["schemas"]) == (
        "Group",
        "/Groups",
        people.GROUP,
        None,
    )
    assert group["schemaExtensions"] == [{"Schema": people.SITE, "IsRequired": False}]
    assert both.get("/ResourceTypes/Group").json() == group
    assert both.get("/ResourceTypes/user").json() == user
    assert user["meta"]["location"].endswith(f"{both.mount}/ResourceTypes/User")


@pytest.mark.parametrize("way", ["token", "accept"])
def test_resource_types_have_the_rfc_shape_on_request(scim_of, way):
    scim = scim_of(Dialect.RFC if way == "token" else Dialect.DOCUMENTED)
    headers = {"Accept": "application/scim+json;profile=rfc7643"} if way == "accept" else {}
    for resource_type in scim.get("/ResourceTypes", **headers).json()["Resources"]:
        assert resource_type["schemas"] == [RESOURCE_TYPE]
        assert all(set(extension) == {"schema", "required"} for extension in resource_type["schemaExtensions"])


@pytest.mark.parametrize("key", ["Group", "group", people.GROUP, people.GROUP.upper()])
def test_the_group_schema_is_found_by_name_and_urn(both, key):
    schema = both.get(f"/Schemas/{key}").json()
    assert schema["id"] == people.GROUP
    assert schema["schemas"] == ["urn:ietf:params:scim:schemas:core:2.0:Schema"]
    assert schema["meta"]["resourceType"] == "Schema"
    name, members = schema["attributes"]
    for attribute in (name, members, *members["subAttributes"]):
        assert attribute["mutability"] in ("readWrite", "immutable")
        assert (attribute["returned"], attribute["uniqueness"], attribute["required"]) == ("default", "none", False)
        assert isinstance(attribute["referenceTypes"], list)
    attributes = {sub["name"]: sub for sub in members["subAttributes"]}
    assert set(attributes) == {"value", "display", "$ref", "type"}
    assert {sub["mutability"] for sub in attributes.values()} == {"immutable"}
    assert attributes["type"]["canonicalValues"] == ["User", "Group"]
    assert (attributes["$ref"]["type"], attributes["$ref"]["referenceTypes"]) == ("reference", ["User", "Group"])


@pytest.mark.parametrize("key", [people.USER, people.EMPLOYEE, people.ENTERPRISE, people.SITE])
def test_every_schema_is_found_by_its_urn(both, key):
    assert both.get(f"/Schemas/{key}").json()["id"] == key


@pytest.mark.parametrize("may", [True, False])
def test_the_configuration_says_whether_this_directory_may_set_passwords(scim_of, directory, may):
    type(directory).objects.filter(pk=directory.pk).update(may_set_passwords=may)
    configuration = scim_of().get("/ServiceProviderConfig").json()
    assert configuration["changePassword"] == {"supported": may}


def test_a_created_user_has_the_documented_fields(both):
    user = both.add_user("mira@corp.local")
    assert set(user) == {
        "id", "userName", "name", "displayName", "profileUrl", "userType", "preferredLanguage", "locale", "active",
        "emails", "groups", people.EMPLOYEE, "externalId", "schemas", "meta",
    }  # fmt: skip
    assert user["name"] == {
        "familyName": "Novak",
        "givenName": "Mira",
        "honorificPrefix": "Ms",
        "formatted": "Ms Mira Novak",
    }
    assert user["emails"] == [{"value": "mira@corp.local", "type": "work", "primary": True}]
    assert (user["groups"], user["externalId"], user["displayName"]) == ([], "", "Mira Novak")
    assert user["schemas"] == [people.USER, people.EMPLOYEE]
    assert user[people.EMPLOYEE] == {"position": "Baker", "natureOfEmployment": "Employee", "folder": "Line 1"}
    assert user["profileUrl"].endswith(f"/admin/employees/employee/{user['id']}/change/")


def test_the_documented_put_of_a_group_is_answered_whole(both, site):
    user = both.add_user("mira@corp.local")
    group = both.add_group("Team")
    member = {"value": user["id"], "display": "Mira", "type": "User"}
    answer = both.put(f"/Groups/{group['id']}", {"id": group["id"], "members": [member]}).json()
    assert answer["members"] == [{**member, "$ref": user["meta"]["location"]}]
    assert answer["schemas"] == [people.GROUP, people.SITE]
    assert answer[people.SITE] == {"value": str(site.pk), "displayName": site.name}
    assert answer["meta"]["resourceType"] == "Group"
    assert both.user(user["id"])["groups"][0]["display"] == "Team"


def test_a_search_over_both_kinds_finds_users_then_groups(both):
    user = both.add_user("team mira", displayName="Team Mira")
    group = both.add_group("Team")
    search = {"filter": 'displayName sw "team"', "attributes": ["displayName"], "count": 10}
    body = both.post("/.search", search).json()
    assert [one["id"] for one in body["Resources"]] == [user["id"], group["id"]]
    assert body["totalResults"] == 2
    second = both.post("/.search", {**search, "startIndex": 2, "count": 1}).json()
    assert [one["id"] for one in second["Resources"]] == [group["id"]]


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ({"sortBy": "name.familyName"}, ["Ash", "Birch", "Élan", None]),
        ({"sortBy": "name.familyName", "sortOrder": "descending"}, [None, "Élan", "Birch", "Ash"]),
        ({"sortBy": "emails.value"}, ["Birch", "Ash", "Élan", None]),
        ({"sortBy": "title"}, ["Élan", "Ash", "Birch", None]),
    ],
)
def test_lists_are_sorted_with_unassigned_values_last(both, sort, expected):
    for name, address, title in (("Ash", "b@x.test", "B"), ("Birch", "a@x.test", "b2"), ("Élan", "c@x.test", "a")):
        both.add_user(name, name={"familyName": name, "givenName": "G"}, emails=[{"value": address}], title=title)
    both.add_user("none", name={"givenName": "G"}, emails=[])
    users = both.get("/Users", sort).json()["Resources"]
    assert [user["name"]["familyName"] or None for user in users] == expected
