"""What a directory owns, takes over and may not touch (DECISIONS 2.4, 7.3, 7.4)."""

import uuid

import pytest

from records.accounts.actions import set_members
from records.accounts.models import DefaultRole, Directory, Role, RoleMembership, User
from records.employees import actions as employee_actions
from records.employees.models import Employee
from records.history.models import Change
from tests import make
from tests.scim import people
from tests.scim.conftest import Scim, assert_error


def default_role(site, role):
    return str(Role.objects.get(site=site, default_role=role).pk)


def make_person(site, name, **fields):
    """Make an account with its employee in the back-office, whom no directory owns."""
    user = make.make_user(name, site=site, **fields)
    make.make_employee(site, id=user.pk, user=user, first_name="Pat", last_name="Kept", email_address="pat@x.test")
    return str(user.pk)


def test_posting_an_existing_role_takes_it_over(scim, site):
    member = scim.add_user("mira")["id"]
    reader = default_role(site, DefaultRole.READER)
    answer = scim.post("/Groups", {"displayName": "READER", "members": [{"value": member}], "externalId": "r"})
    assert answer.status_code == 201
    assert answer.json()["id"] == reader
    assert scim.members(reader) == {member}
    assert_error(scim.post("/Groups", {"displayName": "Reader"}), 409, "uniqueness")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_change_by_id_takes_over_a_role_that_no_directory_owns(scim, site, directory, method):
    member = scim.add_user("mira")["id"]
    reader = Role.objects.get(site=site, default_role=DefaultRole.READER)
    members = {"members": [{"value": member}]}
    body = members if method == "PUT" else {"Operations": [{"op": "add", "value": members}]}
    assert scim.send(method, f"/Groups/{reader.pk}", body).status_code == 200
    reader.refresh_from_db()
    assert (reader.directory_id, reader.name) == (directory.pk, "Reader")
    assert scim.members(str(reader.pk)) == {member}


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


def test_another_directorys_role_is_read_but_not_changed(scim, site):
    other = Scim(people.make_token(people.make_directory(site)))
    group = other.add_group("Theirs")["id"]
    assert scim.get(f"/Groups/{group}").status_code == 200
    assert_error(scim.post("/Groups", {"displayName": "Theirs"}), 409, "uniqueness")
    assert_error(scim.put(f"/Groups/{group}", {"members": []}), 403)
    assert_error(scim.patch(f"/Groups/{group}", {"op": "replace", "path": "displayName", "value": "x"}), 403)
    assert_error(scim.delete(f"/Groups/{group}"), 403)


def test_a_put_without_a_name_keeps_it_and_an_omitted_member_list_too(scim):
    member = scim.add_user("mira")["id"]
    group = scim.add_group("Team", member)["id"]
    assert scim.put(f"/Groups/{group}", {"id": group}).json()["displayName"] == "Team"
    assert scim.members(group) == {member}
    emptied = scim.put(f"/Groups/{group}", {"id": group, "members": []}).json()
    assert (emptied["displayName"], emptied["members"]) == ("Team", [])


def test_a_deleted_group_is_archived_and_its_name_is_free(scim):
    member = scim.add_user("mira")["id"]
    group = scim.add_group("Team", member)["id"]
    assert scim.delete(f"/Groups/{group}").status_code == 204
    assert_error(scim.get(f"/Groups/{group}"), 404)
    assert Role.objects.get(pk=group).is_archived
    assert scim.user(member)["groups"] == []
    assert scim.add_group("Team")["id"] != group


def test_deleting_a_default_role_takes_only_what_the_directory_gave(scim, site):
    mine = scim.add_user("mira")["id"]
    kept = make_person(site, "kept")
    make.give_role(User.objects.get(pk=kept), site, DefaultRole.STANDARD)
    standard = default_role(site, DefaultRole.STANDARD)
    scim.patch(f"/Groups/{standard}", {"op": "add", "path": "members", "value": [{"value": mine}]})
    assert scim.delete(f"/Groups/{standard}").status_code == 204
    assert_error(scim.get(f"/Groups/{standard}"), 404)
    role = Role.objects.get(pk=standard)
    assert not role.is_archived
    assert [str(key) for key in RoleMembership.objects.filter(role=role).values_list("user_id", flat=True)] == [kept]
    again = scim.post("/Groups", {"displayName": "Standard"})
    assert (again.status_code, again.json()["id"]) == (201, standard)


@pytest.mark.parametrize("allowed", [False, True])
def test_site_administrator_is_for_directories_that_may_administer(scim, site, directory, allowed):
    Directory.objects.filter(pk=directory.pk).update(may_administer=allowed)
    member = scim.add_user("mira")["id"]
    role = default_role(site, DefaultRole.SITE_ADMINISTRATOR)
    add = {"op": "add", "path": "members", "value": [{"value": member}]}
    answers = [
        scim.patch(f"/Groups/{role}", add),
        scim.put(f"/Groups/{role}", {"members": [{"value": member}]}),
        scim.post("/Groups", {"displayName": "Site Administrator", "members": [{"value": member}]}),
    ]
    if allowed:
        assert [answer.status_code for answer in answers] == [200, 200, 409]
    else:
        for answer in answers:
            assert_error(answer, 403)
        assert scim.members(role) == set()
        assert_error(scim.delete(f"/Groups/{role}"), 403)


def test_a_role_that_leads_to_site_administrator_is_protected_too(scim, site):
    member = scim.add_user("mira")["id"]
    group = scim.add_group("Leads")["id"]
    administrator = Role.objects.get(site=site, default_role=DefaultRole.SITE_ADMINISTRATOR)
    RoleMembership.objects.create(role=administrator, member_role_id=group)
    add = {"op": "add", "path": "members", "value": [{"value": member}]}
    assert_error(scim.patch(f"/Groups/{group}", add), 403)


def test_a_person_without_a_directory_is_taken_over_by_the_first_change(scim, site, directory):
    key = make_person(site, "pat")
    assert scim.user(key)["name"]["givenName"] == "Pat"
    scim.patch(f"/Users/{key}", {"op": "replace", "path": "nickName", "value": "P"})
    assert User.objects.get(pk=key).directory_id == directory.pk


def test_another_directorys_person_is_read_but_not_changed(scim, site):
    other = Scim(people.make_token(people.make_directory(site)))
    key = other.add_user("theirs")["id"]
    body = scim.user(key)
    assert_error(scim.put(f"/Users/{key}", {**body, "active": False}), 403)
    assert_error(scim.patch(f"/Users/{key}", {"op": "replace", "path": "active", "value": False}), 403)
    assert_error(scim.delete(f"/Users/{key}"), 403)
    assert other.user(key)["active"] is True


def test_high_accounts_are_out_of_reach(scim, site):
    superuser = make_person(site, "root", is_superuser=True)
    administrator = make_person(site, "admin")
    make.give_role(User.objects.get(pk=administrator), site, DefaultRole.SITE_ADMINISTRATOR)
    for key in (superuser, administrator):
        change = {"op": "replace", "path": "password", "value": "taken-over-123"}
        assert_error(scim.patch(f"/Users/{key}", change), 403)
        assert_error(scim.delete(f"/Users/{key}"), 403)
        assert User.objects.get(pk=key).check_password(make.PASSWORD)


def test_accounts_without_an_employee_are_invisible(scim, site, directory):
    account = make.make_user("integration", site=site, is_service_account=True)
    plain = make.make_user("no employee", site=site)
    group = scim.add_group("Team")["id"]
    RoleMembership.objects.create(role_id=group, user=account)
    assert scim.get("/Users").json()["totalResults"] == 0
    assert_error(scim.get(f"/Users/{plain.pk}"), 404)
    assert scim.get(f"/Groups/{group}").json()["members"] == []
    assert_error(scim.put(f"/Groups/{group}", {"members": [{"value": str(account.pk)}]}), 400, "invalidValue")
    assert scim.put(f"/Groups/{group}", {"members": []}).status_code == 200
    assert RoleMembership.objects.filter(role_id=group, user=account).exists()
    assert_error(scim.post("/Users", people.user_body("Integration")), 409, "uniqueness")


@pytest.mark.parametrize("matches", [True, False])
def test_an_employee_without_account_is_matched_by_code_where_the_directory_is_set_so(scim, site, directory, matches):
    Directory.objects.filter(pk=directory.pk).update(matches_by_code=matches)
    employee = make.make_employee(site, code="E-7", email_address="old@x.test", phone="55", position="Baker")
    user = scim.add_user("mira", emails=[], **{people.ENTERPRISE: {"employeeNumber": "E-7"}, people.EMPLOYEE: {}})
    assert (user["id"] == str(employee.pk)) is matches
    if matches:
        employee.refresh_from_db()
        assert (employee.first_name, employee.position, employee.phone) == ("Mira", "Baker", "55")
        assert user["phoneNumbers"] == [{"value": "55", "type": "work"}]


def test_no_account_is_matched_by_its_address(scim, site):
    key = make_person(site, "pat")
    user = scim.add_user("mira", emails=[{"value": "pat@x.test", "type": "work"}])
    assert user["id"] != key


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
        changed = dict(zip(FACTS, values, strict=True))
        employee_actions.update_employee(site.pk, uuid.UUID(user["id"]), changed, author=make.SYSTEM)
        shown = scim.user(user["id"])
        assert scim.put(f"/Users/{user['id']}", shown).json()["meta"] == shown["meta"]
        if sent_back:
            scim.put(f"/Users/{user['id']}", {**shown, "nickName": values[0]})
        else:
            scim.apply(f"/Users/{user['id']}", {"op": "add", "path": "nickName", "value": values[0] or "Mi"})
        assert Employee.objects.values_list(*FACTS).get(pk=user["id"]) == values
        assert User.objects.get(pk=user["id"]).email == values[0]
        shown = scim.user(user["id"])
        told = {
            name: [(one.get("value") or one.get("formatted"), one["type"]) for one in shown[name]] for name in CONTACTS
        }
        email, phone, mobile, address = values
        assert sorted(told["emails"]) == sorted([("home@x.test", "home"), *([(email, "work")] if email else [])])
        assert sorted(told["phoneNumbers"]) == sorted(
            [("66", "home"), *([(phone, "work"), (mobile, "mobile")] if phone else [])]
        )
        assert sorted(told["addresses"]) == sorted([("2 Low St", "home"), *([(address, "work")] if address else [])])


def test_a_directory_sets_what_the_back_office_has_emptied(scim, site):
    user = scim.add_user("mira", **CONTACTS)
    emptied = dict.fromkeys(FACTS, "")
    employee_actions.update_employee(site.pk, uuid.UUID(user["id"]), emptied, author=make.SYSTEM)
    scim.put(f"/Users/{user['id']}", {**user, **CONTACTS})
    assert Employee.objects.values_list(*FACTS).get(pk=user["id"]) == ("work@x.test", "55", "077", "1 High St")


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
    shown = scim.user(user["id"])
    assert shown["emails"] == [{"value": "new@x.test", "type": "work", "primary": True}]
    assert shown["phoneNumbers"] == [
        {"value": "66", "type": "work"},
        {"value": "088", "display": "On call", "type": "mobile"},
    ]


def test_a_manager_whom_staff_set_in_place_of_an_unknown_one_leaves_nothing_to_change(scim, site):
    user = scim.add_user("mira", **{people.ENTERPRISE: {"manager": {"value": "nobody"}}})
    superior = Employee.objects.get(pk=scim.add_user("anna")["id"])
    employee_actions.update_employee(site.pk, uuid.UUID(user["id"]), {"reporting_to": superior}, author=make.SYSTEM)
    shown = scim.user(user["id"])
    assert shown[people.ENTERPRISE]["manager"]["value"] == str(superior.pk)
    assert scim.put(f"/Users/{user['id']}", shown).json()["meta"] == shown["meta"]


def test_names_that_are_missing_are_made_up(scim):
    bare = {"schemas": [people.USER], "userName": "bare@corp.local"}
    user = scim.post("/Users", bare).json()
    assert user["name"]["givenName"] == "bare@corp.local"
    assert Employee.objects.get(pk=user["id"]).first_name == "bare@corp.local"
    shown = scim.post("/Users", {**bare, "userName": "other", "displayName": "Ola N"}).json()
    assert (shown["name"]["givenName"], shown["displayName"]) == ("Ola N", "Ola N")
    assert shown[people.EMPLOYEE] == {"position": "Employee", "natureOfEmployment": "Employee", "folder": ""}


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


def test_a_user_name_is_one_in_composed_and_decomposed_letters(scim):
    user = scim.add_user("élise")
    assert_error(scim.post("/Users", people.user_body("ÉLISE")), 409, "uniqueness")
    assert scim.ids("/Users", 'userName eq "élise"') == [user["id"]]


def test_a_token_sees_the_people_of_all_sites_of_its_directory(scim, other_site, directory):
    elsewhere = Scim(people.make_token(people.make_directory(other_site)))
    theirs = elsewhere.add_user("theirs")["id"]
    group = scim.add_group("Team")["id"]
    assert_error(scim.get(f"/Users/{theirs}"), 404)
    directory.sites.add(other_site)
    assert scim.user(theirs)["userName"] == "theirs"
    assert scim.put(f"/Groups/{group}", {"members": [{"value": theirs}]}).status_code == 200
    directory.sites.remove(other_site)
    assert scim.get(f"/Groups/{group}").json()["members"] == []
    assert scim.put(f"/Groups/{group}", {"members": []}).status_code == 200
    assert [str(key) for key in RoleMembership.objects.filter(role=group).values_list("user_id", flat=True)] == [theirs]


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
    spared = f"{places[0]}?excludedAttributes=members"
    assert scim.get(spared, If_None_Match=versions[0]).status_code == 304


def test_versions_are_judged(scim):
    user = scim.add_user("mira")
    path, version = f"/Users/{user['id']}", user["meta"]["version"]
    answer = scim.get(path)
    assert answer["ETag"] == version
    unchanged = scim.get(path, If_None_Match=version)
    assert (unchanged.status_code, unchanged.content, "Content-Type" in unchanged) == (304, b"", False)
    changed = scim.patch(path, {"op": "replace", "path": "nickName", "value": "x"}, If_Match=version)
    assert changed.status_code == 200
    assert changed["ETag"] == changed.json()["meta"]["version"] != version
    assert_error(scim.patch(path, {"op": "replace", "path": "nickName", "value": "y"}, If_Match=version), 412)
    assert_error(scim.delete(path, If_Match=version), 412)
    assert scim.get(path, If_None_Match=version).status_code == 200
    group = scim.add_group("Team", user["id"])
    assert scim.get(path, If_None_Match=changed["ETag"]).status_code == 200, "its groups have changed"
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


def test_roles_nest_but_not_in_a_circle(scim):
    user = scim.add_user("mira")["id"]
    inner = scim.add_group("Inner", user)["id"]
    outer = scim.add_group("Outer", inner)
    assert [(member["type"], member["display"]) for member in outer["members"]] == [("Group", "Inner")]
    assert "/Groups/" in outer["members"][0]["$ref"]
    add = {"op": "add", "path": "members", "value": [{"value": outer["id"]}]}
    assert_error(scim.patch(f"/Groups/{inner}", add), 400, "invalidValue")
    assert_error(scim.patch(f"/Groups/{outer['id']}", add), 400, "invalidValue")
    assert scim.members(inner) == {user}


def test_an_invitation_is_mailed_where_the_directory_is_set_so(scim, directory, mailoutbox, settings):
    settings.TASKS = {"default": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend"}}
    Directory.objects.filter(pk=directory.pk).update(sends_invitations=True)
    scim.add_user("mira")
    scim.add_user("inactive", active=False)
    scim.add_user("no address", emails=[])
    assert [mail.to for mail in mailoutbox] == [["mira@corp.local"]]
