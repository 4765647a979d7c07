"""Forms in which clients say the same besides the collected cases: each is understood, or refused as a whole."""

import pytest

from records.accounts.models import Role, RoleMembership, User
from tests.scim import people
from tests.scim.conftest import assert_error

MANAGER = f"{people.ENTERPRISE}:manager"


@pytest.mark.parametrize("path", ["manager", MANAGER, f"{people.ENTERPRISE}.manager", "MANAGER.value"])
def test_a_manager_is_looked_for_as_entra_does(both, path):
    head = both.add_user("head")
    user = both.add_user("mira", **{people.ENTERPRISE: {"manager": head["id"], "department": "Oven"}})
    assert both.ids("/Users", f'id eq "{user["id"]}" and {path} eq "{head["id"]}"') == [user["id"]]
    assert both.ids("/Users", f'{path} eq "{user["id"]}"') == []
    assert both.ids("/Users", f"not ({path} pr)") == [head["id"]]
    assert both.ids("/Users", 'department eq "oven" and title eq null') == [user["id"]]


def test_a_search_over_both_kinds_takes_what_only_one_declares_as_false(both):
    user, group = both.add_user("mira", displayName="Zed"), both.add_group("Team")

    def found(expression, **query):
        answer = both.post("/.search", {"filter": expression, "attributes": ["id"], **query})
        assert answer.status_code == 200, answer.content
        return [one["id"] for one in answer.json()["Resources"]]

    assert found('userName eq "mira"') == [user["id"]]
    assert found('userName eq "nobody" or displayName eq "team"') == [group["id"]]
    assert found('userName eq "mira" or members pr or displayName eq "team"') == [user["id"], group["id"]]
    assert found('emails[type eq "work"] or members[type eq "User"]') == [user["id"]]
    both_named = 'displayName eq "zed" or displayName eq "team"'
    assert found(both_named, sortBy="userName", sortOrder="descending") == [user["id"], group["id"]]
    assert_error(both.post("/.search", {"filter": 'nope eq "x" or userName pr'}), 400, "invalidFilter")
    assert_error(both.post("/.search", {"sortBy": "nope"}), 400, "invalidPath")


def test_a_value_without_a_path_may_select_entries_by_its_keys(scim):
    user = scim.add_user("mira")
    value = {
        'emails[type eq "work"].value': "new@corp.local",
        'phoneNumbers[type eq "mobile"].value': "077",
        "name.familyName": "Kovac",
    }
    changed = scim.patch(f"/Users/{user['id']}", {"op": "Replace", "value": value}).json()
    assert changed["emails"] == [{"value": "new@corp.local", "type": "work", "primary": True}]
    assert changed["phoneNumbers"] == [{"type": "mobile", "value": "077"}]
    assert changed["name"]["familyName"] == "Kovac"
    group = scim.add_group("Team")
    key = f'members[value eq "{user["id"]}"]'
    scim.patch(f"/Groups/{group['id']}", {"op": "add", "value": {key: {"value": user["id"]}, "displayName": "Crew"}})
    assert scim.members(group["id"]) == {user["id"]}
    assert scim.get(f"/Groups/{group['id']}").json()["displayName"] == "Crew"


@pytest.mark.parametrize("schemas", [None, [], [people.USER.lower()], [people.USER.upper(), people.EMPLOYEE]])
def test_schemas_are_read_in_any_case_and_may_be_missing(both, schemas):
    answer = both.post("/Users", people.user_body("mira", schemas=schemas))
    assert answer.status_code == 201, answer.content
    assert answer.json()["schemas"] == [people.USER, people.EMPLOYEE]
    patch = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:patchop"], "Operations": [{"op": "add", "value": {}}]}
    expected = 200 if both.mount == "/scim" else 405
    assert both.send("PATCH", f"/Users/{answer.json()['id']}", patch).status_code == expected


REFUSED = [
    ({"op": "replace", "path": "active", "value": "maybe"}, "active"),
    ({"op": "add", "path": "roles", "value": ["admin"]}, "roles"),
    ({"op": "replace", "path": "profileUrl", "value": "no address"}, "profileUrl"),
    ({"op": "replace", "path": "locale", "value": 5}, "locale"),
    ({"op": "add", "path": "x509Certificates", "value": [{"value": "!!"}]}, "base64"),
    ({"op": "add", "path": "photos", "value": [{"value": "no address"}]}, "no address"),
]


@pytest.mark.parametrize(("operation", "named"), REFUSED)
def test_a_value_that_does_not_fit_is_refused_in_one_plain_sentence(scim, operation, named):
    user = scim.add_user("mira")
    answer = scim.patch(f"/Users/{user['id']}", operation)
    assert_error(answer, 400, "invalidValue")
    detail = answer.json()["detail"]
    assert named in detail
    assert "\n" not in detail
    assert "pydantic" not in detail
    assert scim.user(user["id"]) == user


def test_certificates_are_base64_and_come_back(both):
    assert_error(both.post("/Users", people.user_body("no", x509Certificates=[{"value": "!!"}])), 400, "invalidValue")
    user = both.add_user("mira", x509Certificates=[{"value": "QUJD\nREVG"}])
    assert user["x509Certificates"] == [{"value": "QUJDREVG"}]
    assert both.ids("/Users", 'x509Certificates.value eq "QUJDREVG"') == [user["id"]]


@pytest.mark.parametrize(
    ("shown", "family", "given"),
    [
        ("Mira Novak", "Novak", "Mira"),
        ("Novak", "Novak", "Novak"),
        ("Mira DeNovak", "Novak", "Mira DeNovak"),
        ("Mira", "", "Mira"),
        ("", "Novak", "mira@x.test"),
    ],
)
def test_a_missing_given_name_is_what_the_display_name_says(both, shown, family, given):
    user = both.add_user("mira@x.test", displayName=shown, name={"familyName": family})
    assert user["name"]["givenName"] == given


def test_a_given_name_that_is_taken_away_leaves_the_names_as_they_read(scim):
    user = scim.add_user("mira", name={"familyName": "Novak", "givenName": "Mira"})
    after = scim.patch(f"/Users/{user['id']}", {"op": "remove", "path": "name.givenName"}).json()
    assert (after["name"]["formatted"], after["displayName"]) == ("Mira Novak", "Mira Novak")


@pytest.mark.parametrize("state", [True, False])
def test_active_taken_away_changes_nobodys_access(scim_of, state):
    from records.accounts.models import Dialect

    for dialect in (Dialect.DOCUMENTED, Dialect.RFC, Dialect.ENTRA):
        scim = scim_of(dialect)
        user = scim.add_user(f"mira {dialect} {state}", active=state)
        answer = scim.patch(f"/Users/{user['id']}", {"op": "remove", "path": "active"})
        assert answer.status_code == 200
        assert User.objects.get(pk=user["id"]).is_active is state
        assert scim.ids("/Users", f'userName eq "{user["userName"]}" and active eq {str(state).lower()}') == [
            user["id"]
        ]


def test_a_deleted_group_is_nobodys_member(both):
    outer, inner = both.add_group("Outer"), both.add_group("Inner")
    assert both.put(f"/Groups/{outer['id']}", {"members": [{"value": inner["id"]}]}).status_code == 200
    assert both.members(outer["id"]) == {inner["id"]}
    assert both.delete(f"/Groups/{inner['id']}").status_code == 204
    assert both.members(outer["id"]) == set()
    again = both.put(f"/Groups/{outer['id']}", {"members": [{"value": inner["id"]}]})
    assert_error(again, 400, "invalidValue")


def test_a_default_role_that_is_deleted_here_is_nobodys_member(both):
    standard = Role.objects.get(default_role="standard")
    assert both.delete(f"/Groups/{standard.pk}").status_code == 204
    for body in ({"displayName": "Team", "members": [{"value": str(standard.pk)}]},):
        assert_error(both.post("/Groups", body), 400, "invalidValue")


def test_a_user_of_many_groups_is_changed_like_any_other(both):
    user = both.add_user("mira")
    roles = Role.objects.bulk_create(
        Role(site_id=Role.objects.values_list("site_id", flat=True)[0], name=f"R{n}", name_key=f"r{n}")
        for n in range(101)
    )
    RoleMembership.objects.bulk_create(RoleMembership(role=role, user_id=user["id"]) for role in roles)
    changed = both.apply(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": False}).json()
    assert (changed["active"], len(changed["groups"])) == (False, 101)
    again = both.put(f"/Users/{user['id']}", {**changed, "nickName": "Mi"}).json()
    assert (again["nickName"], len(again["groups"])) == ("Mi", 101)


@pytest.mark.parametrize(
    ("operations", "scim_type"),
    [
        ([{"op": "replace", "path": f"emails[{' or '.join(['type eq 1'] * 500)}].value", "value": "x"}], "invalidPath"),
        ([{"op": "remove", "path": "emails[" + "(" * 1000 + "type pr" + ")" * 1000 + "]"}], "invalidPath"),
        ([{"op": "replace", "value": {"name." * 1000: "x"}}], "invalidPath"),
        ([{"op": "replace", "path": "title", "value": "x"}] * 501, "invalidValue"),
        ([{"op": "replace", "value": dict.fromkeys(map(str, range(501)))}], "invalidValue"),
    ],
)
def test_a_patch_that_would_hold_a_worker_is_refused(scim, operations, scim_type):
    user, group = scim.add_user("mira"), scim.add_group("Team")
    for path, before in ((f"/Users/{user['id']}", user), (f"/Groups/{group['id']}", group)):
        assert_error(scim.patch(path, *operations), 400, scim_type)
        assert scim.get(path).json() == before
