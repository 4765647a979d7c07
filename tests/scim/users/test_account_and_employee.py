"""An account and its employee are one person, whom a directory and the back-office both change."""

import uuid

import pytest

from records.accounts.models import User
from records.employees import actions as employee_actions
from records.employees.models import Employee
from tests import make
from tests.scim import people
from tests.scim.conftest import last_outcome


def test_account_and_employee_are_one_person(scim, site):
    user = scim.add_user(
        "mira",
        phoneNumbers=[{"value": "55", "type": "work"}, {"value": "077", "type": "mobile"}],
        addresses=[{"streetAddress": "1 High St", "locality": "Ely", "postalCode": "CB7", "type": "work"}],
        **{people.ENTERPRISE: {"employeeNumber": "E-7"}},
    )
    employee = Employee.objects.select_related("title", "entity_folder", "nature_of_employment").get(pk=user["id"])
    assert employee.user_id == employee.pk
    assert employee.site_id == site.pk
    assert (employee.first_name, employee.last_name, employee.code) == ("Mira", "Novak", "E-7")
    assert (employee.phone, employee.mobile, employee.address) == ("55", "077", "1 High St\nCB7 Ely")
    assert (employee.email_address, employee.position) == ("mira@corp.local", "Baker")
    assert (employee.entity_folder.name, employee.nature_of_employment.name) == ("Line 1", "Employee")
    assert employee.title.name.rstrip(".") == "Ms"


def test_what_the_back_office_changes_is_what_the_directory_reads(scim, site):
    user = scim.add_user("mira", phoneNumbers=[{"value": "55", "type": "work", "primary": True}], nickName="Mi")
    values = {
        "first_name": "Miriam",
        "email_address": "new@x.test",
        "phone": "66",
        "mobile": "077",
        "address": "2 Low St",
        "position": "Lead",
    }
    employee_actions.update_employee(site.pk, Employee.objects.get(pk=user["id"]).pk, values, author=make.SYSTEM)
    after = scim.user(user["id"])
    assert after["name"]["givenName"] == "Miriam"
    assert after["displayName"] == "Miriam Novak"
    assert after["emails"] == [{"value": "new@x.test", "type": "work", "primary": True}]
    assert after["phoneNumbers"] == [
        {"value": "66", "type": "work", "primary": True},
        {"value": "077", "type": "mobile"},
    ]
    assert after["addresses"] == [{"formatted": "2 Low St", "type": "work"}]
    assert after[people.EMPLOYEE]["position"] == "Lead"
    assert after["nickName"] == "Mi"
    assert after["meta"]["version"] != user["meta"]["version"]
    assert scim.ids("/Users", 'phoneNumbers[type eq "mobile" and value eq "077"]') == [user["id"]]
    assert scim.ids("/Users", 'phoneNumbers.value eq "55"') == []
    assert scim.ids("/Users", 'emails.value eq "NEW@x.test"') == [user["id"]]


CONTACTS = {
    "emails": [{"value": "work@x.test", "type": "work"}, {"value": "home@x.test", "type": "home"}],
    "phoneNumbers": [
        {"value": "55", "type": "work"},
        {"value": "66", "type": "home"},
        {"value": "077", "type": "mobile"},
    ],
    "addresses": [{"streetAddress": "1 High St", "type": "work"}, {"formatted": "2 Low St", "type": "home"}],
}


FACTS = ("email_address", "phone", "mobile", "address")


@pytest.mark.parametrize("sent_back", [False, True])
def test_what_the_back_office_empties_or_sets_is_not_undone_by_another_change(scim, site, sent_back):
    user = scim.add_user("mira", **CONTACTS)
    for values in (
        ("", "", "", ""),
        ("new@x.test", "99", "088", "3 Mill St\nEly"),
        ("last@x.test", "1", "2", "4 Mill St"),
    ):
        values_set = dict(zip(FACTS, values, strict=True))
        employee_actions.update_employee(site.pk, uuid.UUID(user["id"]), values_set, author=make.SYSTEM)
        document = scim.user(user["id"])
        assert scim.put(f"/Users/{user['id']}", document).json()["meta"] == document["meta"]
        if sent_back:
            scim.put(f"/Users/{user['id']}", {**document, "nickName": values[0]})
        else:
            scim.apply(f"/Users/{user['id']}", {"op": "add", "path": "nickName", "value": values[0] or "Mi"})
        assert Employee.objects.values_list(*FACTS).get(pk=user["id"]) == values
        assert User.objects.get(pk=user["id"]).email == values[0]
        after = scim.user(user["id"])
        lists = {
            name: [(one.get("value") or one.get("formatted"), one["type"]) for one in after[name]] for name in CONTACTS
        }
        email, phone, mobile, address = values
        assert sorted(lists["emails"]) == sorted([("home@x.test", "home"), *([(email, "work")] if email else [])])
        assert sorted(lists["phoneNumbers"]) == sorted(
            [("66", "home"), *([(phone, "work"), (mobile, "mobile")] if phone else [])]
        )
        assert sorted(lists["addresses"]) == sorted([("2 Low St", "home"), *([(address, "work")] if address else [])])


def test_a_directory_sets_what_the_back_office_has_emptied(scim, site):
    user = scim.add_user("mira", **CONTACTS)
    empty_values = dict.fromkeys(FACTS, "")
    employee_actions.update_employee(site.pk, uuid.UUID(user["id"]), empty_values, author=make.SYSTEM)
    scim.put(f"/Users/{user['id']}", {**user, **CONTACTS})
    assert Employee.objects.values_list(*FACTS).get(pk=user["id"]) == ("work@x.test", "55", "077", "1 High St")


def test_a_whole_address_of_the_directory_replaces_the_one_that_staff_wrote(scim, site):
    parts = {"streetAddress": "1 High St", "locality": "Ely", "postalCode": "CB7", "type": "work"}
    user = scim.add_user("mira", addresses=[parts])
    path, addresses = f"/Users/{user['id']}", Employee.objects.values_list("address", flat=True)

    def staff_write(text):
        employee_actions.update_employee(site.pk, uuid.UUID(user["id"]), {"address": text}, author=make.SYSTEM)

    def address_after(**values):
        operations = [
            {"op": "replace", "path": f'addresses[type eq "work"].{name}', "value": value}
            for name, value in values.items()
        ]
        answer = scim.apply(path, *operations)
        assert answer.status_code == 200
        return answer.json()["addresses"]

    staff_write("2 Low St\nEly")
    addresses_after = address_after(locality="Bath")
    assert addresses_after == [{"formatted": "2 Low St\nEly", "locality": "Bath", "type": "work"}]
    assert addresses.get(pk=user["id"]) == "2 Low St\nEly"
    outcome = last_outcome()
    assert "The address of the employee stays, because the parts that were sent have no street." in outcome

    address_after(streetAddress="9 New Rd", postalCode="BA1")
    assert addresses.get(pk=user["id"]) == "9 New Rd\nBA1 Bath"
    address_after(locality="Wells")
    assert addresses.get(pk=user["id"]) == "9 New Rd\nBA1 Wells"
    document = scim.user(user["id"])
    assert scim.put(path, document).json()["meta"] == document["meta"]

    staff_write("3 Mill St")
    assert scim.user(user["id"])["addresses"] == [{"formatted": "3 Mill St", "type": "work"}]
    address_after(streetAddress="9 New Rd", formatted="Whole 1")
    assert addresses.get(pk=user["id"]) == "Whole 1"
    address_after(streetAddress="10 New Rd")
    assert addresses.get(pk=user["id"]) == "10 New Rd"
    assert scim.apply(path, {"op": "remove", "path": 'addresses[type eq "work"].streetAddress'}).status_code == 200
    assert addresses.get(pk=user["id"]) == "Whole 1"


def test_a_display_name_that_repeats_a_value_leaves_with_it(scim, site):
    user = scim.add_user(
        "mira",
        emails=[{"value": "old@x.test", "display": "Old@x.test", "type": "work"}],
        phoneNumbers=[
            {"value": "55", "display": "55", "type": "work"},
            {"value": "077", "display": "On call", "type": "mobile"},
        ],
    )
    values = {"email_address": "new@x.test", "phone": "66", "mobile": "088"}
    employee_actions.update_employee(site.pk, uuid.UUID(user["id"]), values, author=make.SYSTEM)
    document = scim.user(user["id"])
    assert document["emails"] == [{"value": "new@x.test", "type": "work", "primary": True}]
    assert document["phoneNumbers"] == [
        {"value": "66", "type": "work"},
        {"value": "088", "display": "On call", "type": "mobile"},
    ]


def test_a_manager_whom_staff_set_in_place_of_an_unknown_one_leaves_nothing_to_change(scim, site):
    user = scim.add_user("mira", **{people.ENTERPRISE: {"manager": {"value": "nobody"}}})
    superior = Employee.objects.get(pk=scim.add_user("anna")["id"])
    employee_actions.update_employee(site.pk, uuid.UUID(user["id"]), {"reporting_to": superior}, author=make.SYSTEM)
    document = scim.user(user["id"])
    assert document[people.ENTERPRISE]["manager"]["value"] == str(superior.pk)
    assert scim.put(f"/Users/{user['id']}", document).json()["meta"] == document["meta"]


def test_names_that_are_missing_are_made_up(scim):
    bare = {"schemas": [people.USER], "userName": "bare@corp.local"}
    user = scim.post("/Users", bare).json()
    assert user["name"]["givenName"] == "bare@corp.local"
    assert Employee.objects.get(pk=user["id"]).first_name == "bare@corp.local"
    document = scim.post("/Users", {**bare, "userName": "other", "displayName": "Ola N"}).json()
    assert (document["name"]["givenName"], document["displayName"]) == ("Ola N", "Ola N")
    assert document[people.EMPLOYEE] == {"position": "Employee", "natureOfEmployment": "Employee", "folder": ""}


def test_what_a_record_needs_has_a_default_and_lists_are_used_where_they_have_an_entry(scim, site):
    bare = {"schemas": [people.USER], "userType": "Agency worker", "name": {"honorificPrefix": "Sheikh"}}
    first = scim.post("/Users", {**bare, "userName": "first", people.EMPLOYEE: {"folder": "Line 9"}}).json()
    second = scim.post("/Users", {**bare, "userName": "second", people.EMPLOYEE: {"folder": "line 9"}}).json()
    for user in (first, second):
        assert user["name"]["honorificPrefix"] == "Sheikh"
        assert user[people.EMPLOYEE]["position"] == "Agency worker"
    employees = Employee.objects.filter(pk__in=(first["id"], second["id"])).select_related("nature_of_employment")
    assert {(one.title_id, one.nature_of_employment.name) for one in employees} == {(None, "Employee")}
    assert len({one.entity_folder_id for one in employees}) == 1
    agency = {"op": "replace", "path": "natureOfEmployment", "value": "AGENCY"}
    assert scim.patch(f"/Users/{first['id']}", agency).json()[people.EMPLOYEE]["natureOfEmployment"] == "Agency"


def test_an_address_that_is_added_again_is_there_once(scim):
    user = scim.add_user("mira", emails=[{"value": "work@x.test", "type": "work"}])
    path = f"/Users/{user['id']}"
    home = {"value": "work@x.test", "type": "home"}
    for sent in ([{"value": "work@x.test", "type": "work"}], [{"value": "WORK@x.test", "type": "work"}, home], [home]):
        scim.apply(path, {"op": "add", "path": "emails", "value": sent})
    emails = scim.user(user["id"])["emails"]
    assert [(one["value"].lower(), one["type"], one["primary"]) for one in emails] == [
        ("work@x.test", "work", True),
        ("work@x.test", "home", False),
    ]
