"""What the SCIM Validator of Microsoft sends: long PATCHes with a value path for each attribute, and its previews."""

import uuid

import pytest

from records.accounts.models import Dialect
from records.employees.models import Employee
from tests.scim import people
from tests.scim.conftest import assert_error

WORK = {
    "emails": ("value",),
    "addresses": ("formatted", "streetAddress", "locality", "region", "postalCode", "country"),
}
PLAIN = ("displayName", "title", "preferredLanguage", "userType", "nickName", "locale", "timezone", "externalId")
NAME = ("givenName", "familyName", "formatted", "middleName", "honorificPrefix", "honorificSuffix")
ENTERPRISE = ("employeeNumber", "department", "costCenter", "organization", "division")
PHONES = ("work", "mobile", "fax")
ROLE = ("display", "value", "type")


def verbose(text):
    """Return one operation for each attribute, 36 of them in all."""
    return [
        people.replace("userName", f"{text}@corp.local"),
        people.replace("active", "True"),
        *(people.replace(name, f"{text} {name}") for name in PLAIN),
        *(people.replace(f"name.{part}", f"{text} {part}") for part in NAME),
        people.replace('emails[type eq "work"].value', f"{text}@x.test"),
        *(people.replace(f'addresses[type eq "work"].{part}', f"{text} {part}") for part in WORK["addresses"]),
        *(people.replace(f'phoneNumbers[type eq "{kind}"].value', f"{text} {kind}") for kind in PHONES),
        *(people.replace(f'roles[primary eq "True"].{part}', f"{text} {part}") for part in ROLE),
        *(people.replace(f"{people.ENTERPRISE}:{name}", f"{text} {name}") for name in ENTERPRISE),
        people.replace(f"{people.EMPLOYEE}:position", f"{text} position"),
        people.replace(f"{people.EMPLOYEE}:folder", f"{text} folder"),
    ]


ROLES = [{"primary": "True", "display": "r", "value": "r", "type": "r"}]


@pytest.mark.parametrize("roles", [ROLES, []])
@pytest.mark.parametrize("dialect", [Dialect.ENTRA, Dialect.RFC])
def test_a_value_path_for_each_attribute_is_applied_and_read_back(scim_of, dialect, roles):
    scim = scim_of(dialect)
    user = scim.add_user("mira", roles=roles)
    assert [one["primary"] for one in user.get("roles", [])] == [True] * len(roles)
    operations = verbose("new")
    assert len(operations) == 36
    answer = scim.patch(f"/Users/{user['id']}", *operations)
    assert answer.status_code == 200, answer.content
    after = answer.json()
    assert {name: after[name] for name in PLAIN} == {name: f"new {name}" for name in PLAIN}
    assert after["name"] == {part: f"new {part}" for part in NAME}
    assert (after["userName"], after["active"]) == ("new@corp.local", True)
    assert after["emails"] == [{"value": "new@x.test", "type": "work", "primary": True}]
    assert after["addresses"] == [{"type": "work", **{part: f"new {part}" for part in WORK["addresses"]}}]
    assert after["phoneNumbers"] == [{"value": f"new {kind}", "type": kind} for kind in PHONES]
    assert after["roles"] == [{"primary": True, **{part: f"new {part}" for part in ROLE}}]
    assert after[people.ENTERPRISE] == {name: f"new {name}" for name in ENTERPRISE}
    assert after[people.EMPLOYEE] == {
        "position": "new position",
        "natureOfEmployment": "Employee",
        "folder": "new folder",
    }
    assert scim.user(user["id"]) == after
    employee = Employee.objects.get(pk=user["id"])
    assert (employee.phone, employee.mobile, employee.address) == ("new work", "new mobile", "new formatted")
    assert (employee.code, employee.email_address) == ("new employeeNumber", "new@x.test")
    assert scim.ids("/Users", 'roles[primary eq "True"].value eq "NEW value"') == [user["id"]]


def test_several_operations_on_one_attribute_are_applied_in_their_order(scim):
    user = scim.add_user("mira")
    group = scim.add_group("Team", user["id"])
    answer = scim.patch(
        f"/Users/{user['id']}",
        people.replace("title", "one"),
        {"op": "remove", "path": "title"},
        {"op": "add", "path": "title", "value": "two"},
        people.replace('emails[type eq "work"].value', "one@x.test"),
        people.replace("emails", [{"value": "two@x.test", "type": "home"}]),
        people.replace('emails[type eq "home"].value', "three@x.test"),
    )
    assert answer.json()["title"] == "two"
    assert [(one["value"], one["type"]) for one in answer.json()["emails"]] == [("three@x.test", "home")]
    key = {"value": user["id"]}
    for operations, expected in (
        (({"op": "remove", "path": "members", "value": [key]}, {"op": "add", "path": "members", "value": [key]}), 1),
        (({"op": "add", "path": "members", "value": [key]}, {"op": "remove", "path": "members", "value": [key]}), 0),
        (({"op": "add", "path": "members", "value": [key, key]},), 1),
    ):
        assert scim.patch(f"/Groups/{group['id']}", *operations).status_code == 200
        assert len(scim.get(f"/Groups/{group['id']}").json()["members"]) == expected


@pytest.mark.parametrize("path", ["/Users", "/Groups"])
def test_what_is_not_there_is_not_deleted_and_nothing_is_deleted_twice(both, path):
    assert_error(both.delete(f"{path}/{uuid.uuid4()}"), 404)
    document = both.add_user("mira") if path == "/Users" else both.add_group("Team")
    assert both.delete(f"{path}/{document['id']}").status_code == 204
    assert_error(both.delete(f"{path}/{document['id']}"), 404)
    assert document["id"] not in [one["id"] for one in both.get(path).json()["Resources"]]


@pytest.mark.parametrize("op", ["remove", "replace"])
@pytest.mark.parametrize("value", [None, "", " "])
def test_a_required_attribute_is_not_taken_away(scim, op, value):
    user = scim.add_user("mira")
    operation = {"op": op, "path": "userName", **({} if op == "remove" else {"value": value})}
    answer = scim.patch(f"/Users/{user['id']}", operation)
    assert answer.status_code == 400
    assert answer.json()["scimType"] in ("mutability", "invalidValue")
    assert scim.user(user["id"]) == user


@pytest.mark.parametrize("body", [{"externalId": "g2"}, {"externalId": "g2", "displayName": "Team"}])
def test_the_identifier_of_a_group_is_set_without_a_path(scim, body):
    group = scim.add_group("Team", externalId="g1")
    assert scim.patch(f"/Groups/{group['id']}", {"op": "Replace", "value": body}).status_code == 200
    after = scim.get(f"/Groups/{group['id']}").json()
    assert (after["externalId"], after["displayName"]) == ("g2", "Team")
    assert scim.ids("/Groups", 'externalId eq "g2"') == [group["id"]]
    assert scim.ids("/Groups", 'externalId eq "G2"') == []


def test_every_value_may_come_in_a_list_of_one_as_microsofts_library_sends_it(scim):
    user = scim.add_user("mira")
    texts = {
        "displayName": "New",
        "name.familyName": "Kovac",
        'emails[type eq "work"].value': "new@x.test",
        f"{people.ENTERPRISE}:department": "Oven",
        "active": "False",
    }
    operations = [
        {"op": "Replace", "path": path, "value": [{"$ref": None, "value": text}]} for path, text in texts.items()
    ]
    after = scim.patch(f"/Users/{user['id']}", *operations, {"op": "Replace", "path": "nope", "value": "x"}).json()
    assert (after["displayName"], after["name"]["familyName"], after["active"]) == ("New", "Kovac", False)
    assert (after["emails"][0]["value"], after[people.ENTERPRISE]) == ("new@x.test", {"department": "Oven"})
    group = scim.add_group("Old")
    answer = scim.patch(f"/Groups/{group['id']}", {"op": "Replace", "path": "displayName", "value": [{"value": "New"}]})
    assert answer.json()["displayName"] == "New"
    for value in (["x"], [{"value": "x"}, {"value": "y"}], [{"value": "x", "type": "work"}], [{"nope": "x"}], [[]]):
        wrong = {"op": "Replace", "path": "displayName", "value": value}
        assert_error(scim.patch(f"/Groups/{group['id']}", wrong), 400, "invalidValue")


@pytest.mark.parametrize("op", ["Add", "Replace"])
@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ('emails[type eq "home"].value', "emails", {"type": "home", "value": "new@x.test"}),
        (
            'ims[type eq "xmpp" and primary eq "True"].value',
            "ims",
            {"type": "xmpp", "primary": True, "value": "new@x.test"},
        ),
        ('phoneNumbers[type eq "other"]', "phoneNumbers", {"type": "other", "value": "new@x.test"}),
    ],
)
def test_an_entry_of_a_missing_kind_is_made_by_either_operation(scim, op, path, name, expected):
    user = scim.add_user("mira")
    value = "new@x.test" if path.endswith(".value") else {"value": "new@x.test"}
    after = scim.patch(f"/Users/{user['id']}", {"op": op, "path": path, "value": value}).json()
    entry = after[name][-1]
    assert {part: entry[part] for part in expected} == expected
