"""What a directory owns, takes over and may not touch (DECISIONS 2.4, 7.3, 7.4)."""

import pytest

from records.accounts.models import DefaultRole, Directory, Role, RoleMembership, User
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
    after = scim.put(f"/Groups/{group}", {"id": group, "members": []}).json()
    assert (after["displayName"], after["members"]) == ("Team", [])


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
    keeper = make_person(site, "kept")
    make.give_role(User.objects.get(pk=keeper), site, DefaultRole.STANDARD)
    standard = default_role(site, DefaultRole.STANDARD)
    scim.patch(f"/Groups/{standard}", {"op": "add", "path": "members", "value": [{"value": mine}]})
    assert scim.delete(f"/Groups/{standard}").status_code == 204
    assert_error(scim.get(f"/Groups/{standard}"), 404)
    role = Role.objects.get(pk=standard)
    assert not role.is_archived
    assert [str(key) for key in RoleMembership.objects.filter(role=role).values_list("user_id", flat=True)] == [keeper]
    again = scim.post("/Groups", {"displayName": "Standard"})
    assert (again.status_code, again.json()["id"]) == (201, standard)


@pytest.mark.parametrize("may_administer", [False, True])
def test_site_administrator_is_for_directories_that_may_administer(scim, site, directory, may_administer):
    Directory.objects.filter(pk=directory.pk).update(may_administer=may_administer)
    member = scim.add_user("mira")["id"]
    role = default_role(site, DefaultRole.SITE_ADMINISTRATOR)
    add = {"op": "add", "path": "members", "value": [{"value": member}]}
    answers = [
        scim.patch(f"/Groups/{role}", add),
        scim.put(f"/Groups/{role}", {"members": [{"value": member}]}),
        scim.post("/Groups", {"displayName": "Site Administrator", "members": [{"value": member}]}),
    ]
    if may_administer:
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


def test_a_user_name_is_one_in_composed_and_decomposed_letters(scim):
    user = scim.add_user("élise")
    assert_error(scim.post("/Users", people.user_body("ÉLISE")), 409, "uniqueness")
    assert scim.ids("/Users", 'userName eq "élise"') == [user["id"]]


def test_a_token_sees_the_people_of_all_sites_of_its_directory(scim, other_site, directory):
    elsewhere = Scim(people.make_token(people.make_directory(other_site)))
    user = elsewhere.add_user("theirs")["id"]
    group = scim.add_group("Team")["id"]
    assert_error(scim.get(f"/Users/{user}"), 404)
    directory.sites.add(other_site)
    assert scim.user(user)["userName"] == "theirs"
    assert scim.put(f"/Groups/{group}", {"members": [{"value": user}]}).status_code == 200
    directory.sites.remove(other_site)
    assert scim.get(f"/Groups/{group}").json()["members"] == []
    assert scim.put(f"/Groups/{group}", {"members": []}).status_code == 200
    assert [str(key) for key in RoleMembership.objects.filter(role=group).values_list("user_id", flat=True)] == [user]


def test_roles_nest_but_not_in_a_circle(scim):
    user = scim.add_user("mira")["id"]
    inner = scim.add_group("Inner", user)["id"]
    outer = scim.add_group("Outer", inner)
    assert [(member["type"], member["display"]) for member in outer["members"]] == [("Group", "Inner")]
    assert "/Groups/" in outer["members"][0]["$ref"]
    add = {"op": "add", "path": "members", "value": [{"value": outer["id"]}]}
    circle, itself = scim.patch(f"/Groups/{inner}", add), scim.patch(f"/Groups/{outer['id']}", add)
    assert_error(circle, 400, "invalidValue")
    assert "Outer cannot be a member of Inner, because Inner is already a member of Outer" in circle.json()["detail"]
    assert_error(itself, 400, "invalidValue")
    assert "A role cannot be its own member." in itself.json()["detail"]
    assert scim.members(inner) == {user}


def test_an_invitation_is_mailed_where_the_directory_is_set_so(scim, directory, mailoutbox, settings):
    settings.TASKS = {"default": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend"}}
    Directory.objects.filter(pk=directory.pk).update(sends_invitations=True)
    scim.add_user("mira")
    scim.add_user("inactive", active=False)
    scim.add_user("no address", emails=[])
    assert [mail.to for mail in mailoutbox] == [["mira@corp.local"]]
