"""The fields of each resource as the interface document lists them: all of them, no others, and of these types."""

import re
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError

from records.accounts import directories
from records.accounts.models import Directory, ProvisioningToken
from records.employees.models import Employee
from tests import make
from tests.scim import people
from tests.scim.conftest import Scim, assert_error

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
ATTRIBUTE = {
    "name": str,
    "type": str,
    "multiValued": bool,
    "description": str,
    "required": bool,
    "caseExact": bool,
    "mutability": str,
    "returned": str,
    "uniqueness": str,
    "referenceTypes": list,
}
"""What each attribute of a Schema has. A complex one has `subAttributes`, and some have `canonicalValues`."""


@pytest.mark.parametrize("kind", ["User", "Group"])
def test_the_meta_of_a_resource_has_the_documented_fields(both: Scim, kind: str) -> None:
    resource = both.add_user("mira") if kind == "User" else both.add_group("Team")
    address = f"/{kind}s/{resource['id']}"
    for document in (resource, both.get(address).json(), both.get(f"/{kind}s").json()["Resources"][0]):
        meta = document["meta"]
        assert set(meta) == {"resourceType", "created", "lastModified", "location", "version"}
        assert meta["resourceType"] == kind
        assert MOMENT.fullmatch(meta["created"])
        assert MOMENT.fullmatch(meta["lastModified"])
        assert meta["location"].endswith(f"{both.mount}/{kind}s/{document['id']}")


def test_a_group_has_the_documented_fields_and_no_others(both: Scim) -> None:
    user, inner = both.add_user("mira")["id"], both.add_group("Inner")["id"]
    group = both.add_group("Team", user, inner)
    for document in (group, both.get(f"/Groups/{group['id']}").json(), both.put(f"/Groups/{group['id']}", {}).json()):
        assert set(document) == {"id", "displayName", "members", people.SITE, "schemas", "meta"}
        assert document["schemas"] == [people.GROUP, people.SITE]
        assert set(document[people.SITE]) == {"value", "displayName"}
        for member in document["members"]:
            assert set(member) == {"value", "display", "$ref", "type"}
            assert member["$ref"].endswith(f"{both.mount}/{member['type']}s/{member['value']}")
            assert member["type"] == ("User" if member["value"] == user else "Group")


@pytest.mark.parametrize("path", ["/Users", "/Groups", "/ResourceTypes", "/Schemas"])
def test_a_list_has_the_documented_fields(both: Scim, path: str) -> None:
    both.add_user("mira")
    body = both.get(path).json()
    assert set(body) == {"schemas", "totalResults", "startIndex", "itemsPerPage", "Resources"}
    assert body["schemas"] == [LIST]
    assert (body["startIndex"], body["itemsPerPage"]) == (1, len(body["Resources"]))
    assert both.get("/Users", {"filter": 'userName eq "nobody"'}).json() == {
        "schemas": [LIST],
        "totalResults": 0,
        "startIndex": 1,
        "itemsPerPage": 0,
        "Resources": [],
    }


def test_every_attribute_of_a_schema_has_the_documented_fields(both: Scim) -> None:
    def check(attribute: dict[str, Any]) -> None:
        subs = attribute.get("subAttributes")
        assert (subs is not None) == (attribute["type"] == "complex"), attribute
        assert set(attribute) - {"subAttributes", "canonicalValues"} == set(ATTRIBUTE), attribute
        assert {name: type(attribute[name]) for name in ATTRIBUTE} == ATTRIBUTE, attribute
        for sub in subs or ():
            check(sub)

    for schema in both.get("/Schemas").json()["Resources"]:
        assert set(schema) == {"name", "id", "description", "schemas", "attributes", "meta"}
        for attribute in schema["attributes"]:
            check(attribute)


def test_the_primary_address_is_the_employees_wherever_it_stands(both: Scim) -> None:
    emails = [
        {"value": "home@x.test", "type": "home", "primary": False},
        {"value": "work@x.test", "type": "work", "primary": True, "display": "Mira at work"},
    ]
    user = both.add_user("mira", emails=emails)
    assert user["emails"] == emails
    assert Employee.objects.get(pk=user["id"]).email_address == "work@x.test"
    other = both.add_user("noah", emails=[{"value": "b@x.test", "type": "home"}, {"value": "a@x.test", "type": "work"}])
    assert [one["primary"] for one in other["emails"]] == [False, True]
    assert Employee.objects.get(pk=other["id"]).email_address == "a@x.test"


def test_an_employee_is_matched_by_the_external_id_too(scim: Scim, site: Any) -> None:
    Directory.objects.update(matches_by_code=True)
    employee = make.make_employee(site, code="E-7")
    assert scim.add_user("mira", externalId="E-7")["id"] == str(employee.pk)
    twice = [make.make_employee(site, code="E-8").pk for _ in range(2)]
    assert scim.add_user("noah", externalId="E-8")["id"] not in map(str, twice)


def test_an_account_has_no_other_id_than_its_employee(scim: Scim, site: Any) -> None:
    user = scim.add_user("mira")
    Employee.objects.filter(pk=user["id"]).update(user=None)
    other = make.make_employee(site)
    with pytest.raises(IntegrityError):
        Employee.objects.filter(pk=other.pk).update(user_id=user["id"])


def test_a_directory_has_five_live_tokens_at_most(directory: Directory) -> None:
    author = make.author_of(make.make_user("root", is_superuser=True))
    tokens = [directories.issue_token(directory, f"Token {number}", author=author) for number in range(5)]
    assert all(Scim(secret).get("/Users?count=0").status_code == 200 for _, secret in tokens)
    with pytest.raises(ValidationError, match="five"):
        directories.issue_token(directory, "Token 6", author=author)
    directories.revoke_token(tokens[0][0].pk, author=author)
    _, secret = directories.issue_token(directory, "Token 6", author=author)
    assert Scim(secret).get("/Users?count=0").status_code == 200
    assert_error(Scim(tokens[0][1]).get("/Users?count=0"), 401)
    assert secret not in str(list(ProvisioningToken.objects.values()))
