"""The two guides walked through: the pages that they name, the fields that they map, the requests in their order."""

import re
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole, Directory, Role, User
from records.employees.models import Employee
from tests import make
from tests.scim import people
from tests.scim.conftest import Scim, assert_error
from tests.scim.people import entra_op

DOCS = Path(__file__).resolve().parents[3] / "docs"
ENTRA_GROUP = "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"
WORK, MOBILE = 'phoneNumbers[type eq "work"].value', 'phoneNumbers[type eq "mobile"].value'
JSON = "application/json"


def connected_client(site, kind, name="Corp") -> Scim:
    """Follow the guide's steps *Here* as a Site Administrator and return a client with the copied secret."""
    browser = Client()
    administrator = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR)
    browser.force_login(administrator, backend="records.accounts.sign_in.AccountBackend")
    assert browser.post("/admin/accounts/directory/add/", {"name": name}).status_code == 302
    directory = Directory.objects.get(name=name)
    page = reverse("admin:accounts_directory_connection", args=(directory.pk,))
    change = browser.get(f"/admin/accounts/directory/{directory.pk}/change/").content.decode()
    assert "Connection and tokens" in change
    assert page in change
    page_text = browser.get(page).content.decode()
    assert re.search(r"http[^\s\"'<]+/scim\b", page_text)
    assert "Make a token" in page_text
    form = {"do": "issue", "name": "Directory", "dialect": kind, "expires": ""}
    page_text = browser.post(page, form, follow=True).content.decode()
    secret = re.search(r'value="(lt_[^"]+)"', page_text)
    assert secret
    assert "Everything works as a directory expects." in browser.post(page, {"do": "check-scim"}).content.decode()
    return Scim(secret[1])


def resources(scim, path, expression, **query):
    answer = scim.get(path, {"filter": expression, **query})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["totalResults"] == body["itemsPerPage"] == len(body["Resources"])
    return body["Resources"]


def rows(guide, first):
    """Return the rows of the guide's table whose head starts with this cell."""
    text = (DOCS / guide).read_text()
    lines = iter(text.splitlines())
    head = next(line for line in lines if line.startswith(f"| {first}"))
    next(lines)
    width = head.count("|")
    table = []
    for line in lines:
        if not line.startswith("|"):
            break
        assert line.count("|") == width, line
        table.append([cell.strip() for cell in line.strip("|").split(" | ")])
    assert table
    return table


def entra_user(number, **fields):
    return {
        "schemas": [people.USER, people.ENTERPRISE],
        "externalId": f"object-{number}",
        "userName": f"Person{number}@corp.local",
        "active": True,
        "displayName": f"Mira Novak {number}",
        "title": "Baker",
        "preferredLanguage": "en-GB",
        "emails": [{"primary": True, "type": "work", "value": f"person{number}@corp.local"}],
        "meta": {"resourceType": "User"},
        "name": {"formatted": "Mira Novak", "familyName": "Novak", "givenName": "Mira"},
        "phoneNumbers": [{"type": "work", "value": "+1 1"}, {"type": "mobile", "value": "077"}],
        "addresses": [{"type": "work", "streetAddress": "1 High St", "locality": "Ely", "country": "GB"}],
        "roles": [],
        people.ENTERPRISE: {"employeeNumber": f"E{number}", "department": "Oven"},
        **fields,
    }


def test_entras_cycle_over_a_persons_life(site):
    scim = connected_client(site, "entra")
    assert resources(scim, "/Users", 'userName eq "9f9c-made-up"') == []
    answer = scim.post("/Users", entra_user(1))
    assert answer.status_code == 201, answer.content
    user = answer.json()
    assert answer["Location"] == user["meta"]["location"]
    assert [one["id"] for one in resources(scim, "/Users", 'userName eq "PERSON1@corp.local"')] == [user["id"]]
    employee = Employee.objects.get(pk=user["id"])
    assert (employee.first_name, employee.last_name, employee.code) == ("Mira", "Novak", "E1")
    assert (employee.email_address, employee.phone, employee.mobile) == ("person1@corp.local", "+1 1", "077")
    assert employee.address == "1 High St\nEly\nGB"
    assert (employee.position, employee.nature_of_employment.name) == ("Employee", "Employee")
    assert_error(scim.post("/Users", entra_user(1)), 409, "uniqueness")
    answer = scim.patch(
        f"/Users/{user['id']}",
        entra_op("displayName", "Mira K."),
        entra_op("name.familyName", "Kovac"),
        entra_op('emails[type eq "work"].value', "kovac@corp.local"),
        entra_op(WORK, "+1 2", "Add"),
        {"op": "Remove", "path": f"{people.ENTERPRISE}:department"},
    )
    assert answer.status_code == 200
    assert answer.json()["displayName"] == "Mira K."
    employee.refresh_from_db()
    assert (employee.last_name, employee.email_address, employee.phone) == ("Kovac", "kovac@corp.local", "+1 2")
    head = scim.post("/Users", entra_user(2)).json()
    manager = f"{people.ENTERPRISE}:manager"
    scim.patch(f"/Users/{user['id']}", entra_op(manager, head["id"], "Add"))
    assert resources(scim, "/Users", f'id eq "{user["id"]}" and manager eq "{head["id"]}"', attributes="id")
    employee.refresh_from_db()
    assert str(employee.reporting_to_id) == head["id"]
    for text, state in (("False", False), ("True", True), ("False", False)):
        assert scim.patch(f"/Users/{user['id']}", entra_op("active", text)).json()["active"] is state
        assert [one["active"] for one in resources(scim, "/Users", 'userName eq "person1@corp.local"')] == [state]
        assert User.objects.get(pk=user["id"]).is_active is state
    assert scim.delete(f"/Users/{user['id']}").status_code == 204
    assert_error(scim.get(f"/Users/{user['id']}"), 404)
    assert resources(scim, "/Users", 'userName eq "person1@corp.local"') == []
    employee.refresh_from_db()
    assert employee.is_archived
    again = scim.post("/Users", entra_user(1))
    assert (again.status_code, again.json()["id"] == user["id"]) == (201, False)


def test_entras_cycle_over_a_group(site):
    scim = connected_client(site, "entra")
    users = [scim.post("/Users", entra_user(number)).json()["id"] for number in range(3)]
    expression = 'displayName eq "Line leaders"'
    assert resources(scim, "/Groups", expression, excludedAttributes="members") == []
    body = {"schemas": [people.GROUP, ENTRA_GROUP], "externalId": "g-1", "displayName": "Line leaders"}
    answer = scim.post("/Groups", {**body, "meta": {"resourceType": "Group"}})
    assert (answer.status_code, answer.json()["members"]) == (201, [])
    path = f"/Groups/{answer.json()['id']}"
    (group,) = resources(scim, "/Groups", expression.upper().replace("DISPLAYNAME EQ", "displayName eq"))
    assert group["id"] == answer.json()["id"]
    for op, keys, expected in (("Add", users, users), ("Remove", users[:1], users[1:])):
        value = [{"$ref": None, "value": key} for key in keys]
        answer = scim.patch(path, entra_op("members", value, op))
        assert (answer.status_code, answer.content) == (204, b"")
        assert scim.members(group["id"]) == set(expected)
    member = f'id eq "{group["id"]}" and members eq "{users[1]}"'
    assert [one["id"] for one in resources(scim, "/Groups", member, attributes="id")] == [group["id"]]
    read = scim.get(path, {"excludedAttributes": "members"}).json()
    assert "members" not in read
    assert scim.patch(path, entra_op("displayName", "Leaders")).status_code == 204
    assert scim.get(path).json()["displayName"] == "Leaders"
    assert scim.delete(path).status_code == 204
    assert_error(scim.get(path), 404)


@pytest.mark.parametrize("kind", ["entra", "okta"])
def test_a_group_named_like_a_role_takes_it_over_with_its_members(site, kind):
    scim = connected_client(site, kind)
    user = scim.post("/Users", entra_user(1)).json()["id"]
    reader_user = make.make_user(site=site, role=DefaultRole.READER)
    make.make_employee(site, id=reader_user.pk, user=reader_user)
    reader = Role.objects.get(site=site, default_role=DefaultRole.READER)
    answer = scim.post("/Groups", {"schemas": [people.GROUP], "displayName": "Reader", "members": []})
    assert (answer.status_code, answer.json()["id"]) == (201, str(reader.pk))
    scim.patch(f"/Groups/{reader.pk}", entra_op("members", [{"value": user}], "Add"))
    assert scim.members(str(reader.pk)) == {user, str(reader_user.pk)}
    assert_error(scim.post("/Groups", {"schemas": [people.GROUP], "displayName": "Site Administrator"}), 403)


VALUES = {
    "active": True,
    'emails[type eq "work"].value': "new@corp.local",
    f"{people.ENTERPRISE}:manager": "someone@corp.local",
    f"{people.EMPLOYEE}:natureOfEmployment": "Agency",
}


def mapped_attributes():
    """Return every attribute that the guide maps for Entra's users."""
    for cells in rows("entra-id.md", "customappsso attribute"):
        for path in re.findall(r"`([^`]+)`", cells[0]) or [cells[0]]:
            if path.startswith("addresses"):
                yield from (f"{path}.{part}" for part in ("streetAddress", "locality", "region", "postalCode"))
            else:
                yield path
    text = (DOCS / "entra-id.md").read_text()
    assert f"`{people.EMPLOYEE}:position`, `…:natureOfEmployment`" in " ".join(text.split())
    yield from (f"{people.EMPLOYEE}:{part}" for part in ("position", "natureOfEmployment", "folder"))


def test_every_attribute_that_the_guide_maps_is_kept_and_found(scim):
    user = scim.add_user("mira", emails=[{"value": "old@corp.local", "type": "work"}])
    paths = [path.replace("…", "") for path in mapped_attributes()]
    assert len(paths) > 20
    for number, path in enumerate(dict.fromkeys(paths)):
        value = VALUES.get(path, f"Value {number}")
        answer = scim.patch(f"/Users/{user['id']}", entra_op(path, value, "Add"))
        assert answer.status_code == 200, (path, answer.content)
        expression = f"{path} eq {str(value).lower() if value is True else f'{chr(34)}{value}{chr(34)}'}"
        assert scim.ids("/Users", expression) == [user["id"]], expression


def okta_user(**fields):
    return {
        "schemas": [people.USER],
        "userName": "mira@okta.local",
        "name": {"givenName": "Mira", "familyName": "Novak"},
        "emails": [{"primary": True, "value": "mira@okta.local", "type": "work"}],
        "displayName": "Mira Novak",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": True,
        **fields,
    }


def test_oktas_cycle_over_a_persons_life(site):
    scim = connected_client(site, "okta")
    for path in ("/Users", "/Groups"):
        answer = scim.get(path, {"startIndex": 1, "count": 2}, Accept="application/scim+json", Accept_Charset="utf-8")
        assert (answer.status_code, answer.json()["startIndex"]) == (200, 1)
    page = {"startIndex": 1, "count": 100}
    assert resources(scim, "/Users", 'userName eq "mira@okta.local"', **page) == []
    answer = scim.send("POST", "/Users", okta_user(), JSON, Accept="application/scim+json; charset=utf-8")
    assert answer.status_code == 201, answer.content
    user = answer.json()
    assert "password" not in user
    assert not User.objects.get(pk=user["id"]).has_usable_password()
    (one,) = resources(scim, "/Users", 'userName eq "MIRA@okta.local"', **page)
    assert one == scim.user(user["id"]) == user
    profile = {**user, "title": "Lead", "name": {**user["name"], "familyName": "Kovac"}}
    put = scim.send("PUT", f"/Users/{user['id']}", profile, JSON)
    assert (put.status_code, put.json()["title"], put.json()["name"]["familyName"]) == (200, "Lead", "Kovac")
    for state in (False, True):
        answer = scim.patch(f"/Users/{user['id']}", {"op": "replace", "value": {"active": state}})
        assert (answer.status_code, answer.json()["active"]) == (200, state)
        assert [one["active"] for one in resources(scim, "/Users", 'userName eq "mira@okta.local"')] == [state]
    assert scim.user(user["id"])["title"] == "Lead"


def test_oktas_cycle_over_a_group(site):
    scim = connected_client(site, "okta")
    users = [scim.post("/Users", okta_user(userName=f"u{n}@x.test", externalId=f"e{n}")).json()["id"] for n in range(3)]
    assert resources(scim, "/Groups", 'displayName eq "Team"', startIndex=1, count=100) == []
    answer = scim.send("POST", "/Groups", {"schemas": [people.GROUP], "displayName": "Team", "members": []}, JSON)
    assert answer.status_code == 201
    path, group = f"/Groups/{answer.json()['id']}", answer.json()["id"]
    rename = {"op": "replace", "value": {"id": group, "displayName": "Crew"}}
    answer = scim.patch(path, rename, entra_op("members", [{"value": key, "display": "x"} for key in users[:2]], "add"))
    assert (answer.status_code, answer.json()["displayName"]) == (200, "Crew")
    leave = {"op": "remove", "path": f'members[value eq "{users[0]}"]'}
    assert scim.patch(path, leave, entra_op("members", [{"value": users[2]}], "add")).status_code == 200
    assert scim.members(group) == set(users[1:])
    exact = {"schemas": [people.GROUP], "id": group, "displayName": "Crew"}
    put = scim.send("PUT", path, {**exact, "members": [{"value": users[0], "display": None}]}, JSON)
    assert (put.status_code, scim.members(group)) == (200, {users[0]})
    assert scim.delete(path).status_code == 204
    assert_error(scim.get(path), 404)


def test_the_guides_name_only_what_the_service_has():
    from scim.schemas import EMPLOYEE, ENTERPRISE

    for guide in ("entra-id.md", "okta.md"):
        text = (DOCS / guide).read_text()
        assert EMPLOYEE in text
        assert set(re.findall(r"urn:ietf:params:scim:schemas:extension:[\w.:]+?:User", text)) <= {EMPLOYEE, ENTERPRISE}
        assert rows(guide, "Request")
        assert rows(guide, "Field")
