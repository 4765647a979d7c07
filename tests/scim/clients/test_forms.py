"""Forms in which clients say the same besides the collected cases: each is understood, or refused as a whole."""

import itertools

import pytest

from records.accounts.models import Dialect, Role, RoleMembership, User
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

    def ids(expression, **query):
        answer = both.post("/.search", {"filter": expression, "attributes": ["id"], **query})
        assert answer.status_code == 200, answer.content
        return [one["id"] for one in answer.json()["Resources"]]

    assert ids('userName eq "mira"') == [user["id"]]
    assert ids('userName eq "nobody" or displayName eq "team"') == [group["id"]]
    assert ids('userName eq "mira" or members pr or displayName eq "team"') == [user["id"], group["id"]]
    assert ids('emails[type eq "work"] or members[type eq "User"]') == [user["id"]]
    both_named = 'displayName eq "zed" or displayName eq "team"'
    assert ids(both_named, sortBy="userName") == [user["id"], group["id"]]
    assert ids(both_named, sortBy="userName", sortOrder="descending") == [group["id"], user["id"]]
    assert_error(both.post("/.search", {"filter": 'nope eq "x" or userName pr'}), 400, "invalidFilter")
    assert_error(both.post("/.search", {"sortBy": "nope"}), 400, "invalidPath")


def test_a_value_without_a_path_may_select_entries_by_its_keys(scim, user):
    value = {
        'emails[type eq "work"].value': "new@corp.local",
        'phoneNumbers[type eq "mobile"].value': "077",
        "name.familyName": "Kovac",
    }
    after = scim.patch(f"/Users/{user['id']}", {"op": "Replace", "value": value}).json()
    assert after["emails"] == [{"value": "new@corp.local", "type": "work", "primary": True}]
    assert after["phoneNumbers"] == [{"type": "mobile", "value": "077"}]
    assert after["name"]["familyName"] == "Kovac"
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


@pytest.mark.parametrize(
    "schemas",
    [["urn:scim:schemas:core:2.0", "urn:scim:schemas:extension:enterprise:2.0"], [people.ENTERPRISE], ["x"], []],
)
def test_schemas_that_name_no_resource_leave_it_to_the_endpoint(both, schemas):
    user = both.add_user("mira", schemas=schemas)
    assert user["schemas"] == [people.USER, people.EMPLOYEE]
    put = both.put(f"/Users/{user['id']}", {"schemas": schemas, "userName": "mira", "title": "Lead"})
    assert (put.status_code, put.json()["title"]) == (200, "Lead")
    group = both.add_group("Team", user["id"], schemas=schemas)
    assert both.put(f"/Groups/{group['id']}", {"SCHEMAS": schemas, "members": []}).status_code == 200
    assert both.members(group["id"]) == set()
    for path, other in ((f"/Users/{user['id']}", people.GROUP), (f"/Groups/{group['id']}", people.USER.lower())):
        body = {"userName": "noah", "displayName": "Crew", "schemas": [*schemas, other]}
        assert_error(both.put(path, body), 400, "invalidSyntax")


BAD_OPERATIONS = [
    ({"op": "replace", "path": "active", "value": "maybe"}, "active"),
    ({"op": "add", "path": "roles", "value": ["admin"]}, "roles"),
    ({"op": "replace", "path": "locale", "value": 5}, "locale"),
    ({"op": "add", "path": "x509Certificates", "value": [{"value": "!!"}]}, "base64"),
    ({"op": "add", "path": "photos", "value": [{"value": "no address"}]}, "no address"),
]


@pytest.mark.parametrize(("operation", "name"), BAD_OPERATIONS)
def test_a_value_that_does_not_fit_is_refused_in_one_plain_sentence(scim, user, operation, name):
    answer = scim.patch(f"/Users/{user['id']}", operation)
    assert_error(answer, 400, "invalidValue")
    detail = answer.json()["detail"]
    assert name in detail
    assert "\n" not in detail
    assert "pydantic" not in detail
    assert scim.user(user["id"]) == user


def test_certificates_are_base64_and_come_back(both):
    assert_error(both.post("/Users", people.user_body("no", x509Certificates=[{"value": "!!"}])), 400, "invalidValue")
    user = both.add_user("mira", x509Certificates=[{"value": "QUJD\nREVG"}])
    assert user["x509Certificates"] == [{"value": "QUJDREVG"}]
    assert both.ids("/Users", 'x509Certificates.value eq "QUJDREVG"') == [user["id"]]


@pytest.mark.parametrize(
    ("display", "family", "given_name"),
    [
        ("Mira Novak", "Novak", "Mira"),
        ("Novak", "Novak", "Novak"),
        ("Mira DeNovak", "Novak", "Mira DeNovak"),
        ("Mira", "", "Mira"),
        ("", "Novak", "mira@x.test"),
    ],
)
def test_a_missing_given_name_is_what_the_display_name_says(both, display, family, given_name):
    user = both.add_user("mira@x.test", displayName=display, name={"familyName": family})
    assert user["name"]["givenName"] == given_name


def test_a_given_name_that_is_taken_away_leaves_the_names_as_they_read(scim):
    user = scim.add_user("mira", name={"familyName": "Novak", "givenName": "Mira"})
    after = scim.patch(f"/Users/{user['id']}", {"op": "remove", "path": "name.givenName"}).json()
    assert (after["name"]["formatted"], after["displayName"]) == ("Mira Novak", "Mira Novak")


@pytest.mark.parametrize("state", [True, False])
def test_active_taken_away_changes_nobodys_access(scim_of, state):
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
    after = both.apply(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": False}).json()
    assert (after["active"], len(after["groups"])) == (False, 101)
    again = both.put(f"/Users/{user['id']}", {**after, "nickName": "Mi"}).json()
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


def text_manager(key):
    return key


def listed_manager(key):
    return [{"$ref": f"../Users/{key}", "value": key}]


def named_manager(key):
    return {"value": key, "displayName": "Somebody"}


@pytest.mark.parametrize("dialect", [Dialect.DOCUMENTED, Dialect.RFC, Dialect.ENTRA])
def test_a_manager_gives_way_to_another_in_every_form(scim_of, dialect):
    scim = scim_of(dialect)
    heads = itertools.cycle([scim.add_user(name)["id"] for name in ("first", "second")])
    user = scim.add_user("mira")
    for form in (text_manager, listed_manager, named_manager):
        for path in (MANAGER, "manager", None):
            head = next(heads)
            operation = {"path": path, "value": form(head)} if path else {"value": {MANAGER: form(head)}}
            answer = scim.patch(f"/Users/{user['id']}", {"op": "Replace", **operation})
            assert answer.status_code == 200, answer.content
            assert answer.json()[people.ENTERPRISE]["manager"]["value"] == head
    operation = {"op": "add", "path": f"{MANAGER}.displayName", "value": "x"}
    assert_error(scim.patch(f"/Users/{user['id']}", operation), 400, "mutability")


@pytest.mark.parametrize("name", ["position", "POSITION", "folder"])
def test_a_patch_finds_what_only_an_extension_declares_without_its_schema(scim, user, name):
    for operation in ({"path": name, "value": "One"}, {"value": {name: "Two"}}):
        after = scim.patch(f"/Users/{user['id']}", {"op": "replace", **operation}).json()
        assert after[people.EMPLOYEE][name.lower()] in ("One", "Two")
    assert after[people.EMPLOYEE][name.lower()] == "Two"


def test_the_schema_of_a_resource_stands_for_the_resource_in_a_path(scim):
    user, group = scim.add_user("mira"), scim.add_group("Team")
    for path, urn, name in (
        (f"/Users/{user['id']}", people.USER, "title"),
        (f"/Groups/{group['id']}", people.GROUP, "displayName"),
    ):
        for number, form in enumerate((urn, urn.upper(), f" {urn} ")):
            answer = scim.patch(path, {"op": "replace", "path": form, "value": {name: f"New {number}"}})
            assert answer.json()[name] == f"New {number}", answer.content
        assert_error(scim.patch(path, {"op": "remove", "path": urn}), 400, "noTarget")
    other = {"op": "replace", "path": people.USER, "value": {"displayName": "x"}}
    assert_error(scim.patch(f"/Groups/{group['id']}", other), 400, "invalidPath")


ODD_NAMES = ["a\nb", "a\r\nb", "a\x7fb", "a\x85b", "a\u2028b", "  "]


@pytest.mark.parametrize(("kind", "attribute"), [("/Users", "userName"), ("/Groups", "displayName")])
def test_a_name_is_one_line_that_says_something(both, kind, attribute):
    before = both.post(kind, {attribute: "Mira"}).json()
    path = f"{kind}/{before['id']}"
    for name in ODD_NAMES:
        assert_error(both.post(kind, {attribute: name}), 400, "invalidValue")
        assert_error(both.put(path, {attribute: name}), 400, "invalidValue")
        assert_error(both.apply(path, {"op": "replace", "path": attribute, "value": name}), 400, "invalidValue")
    assert both.get(path).json() == before
    assert both.post(kind, {attribute: "tab\there"}).status_code == {"userName": 400, "displayName": 201}[attribute]


def test_a_name_of_old_stands_in_nobodys_way(scim, user):
    User.objects.filter(pk=user["id"]).update(user_name="mira\told", user_name_key="mira\told")
    answer = scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": "active", "value": False})
    assert (answer.status_code, answer.json()["active"]) == (200, False)


@pytest.mark.parametrize("name", ["  Mira ", "\u00a0Mira", "Mira  "])
def test_blanks_around_a_name_hide_it_from_no_filter(both, name):
    user, group = both.add_user(name), both.add_group(name)
    for form in (name, "mira", " MIRA"):
        assert both.ids("/Users", f'userName eq "{form}"') == [user["id"]]
        assert both.ids("/Groups", f'displayName eq "{form}"') == [group["id"]]
        assert user["id"] not in both.ids("/Users", f'userName ne "{form}"')
    assert both.ids("/Users", 'userName eq "  "') == []


def test_a_member_leaves_under_its_id_in_any_case(scim):
    keys = [scim.add_user(name)["id"] for name in ("mira", "ivan", "zoe")]
    group = scim.add_group("Team", *keys)["id"]
    first, second, third = (key.upper() for key in keys)
    for path in (f'members[value eq "{first}"]', f'members[type eq "User" and not (value ne "{second}")]'):
        assert scim.patch(f"/Groups/{group}", {"op": "remove", "path": path}).status_code == 200
    assert scim.members(group) == {keys[2]}
    removal = {
        "op": "remove",
        "path": "members",
        "value": [{"value": third}, {"value": "nobody"}, "", {"value": first}],
    }
    assert scim.patch(f"/Groups/{group}", removal).status_code == 200
    assert scim.members(group) == set()


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"externalId": "x" * 256}, "externalId:"),
        ({people.EMPLOYEE: {"folder": "x" * 256}}, "folder:"),
        ({"name": "Mira"}, "an object: name"),
        ({"emails": "a@b.test"}, "an array: emails"),
        ({"roles": ["admin"]}, "an object: roles[0]"),
    ],
)
def test_a_fault_is_told_under_the_name_that_was_sent(both, fields, name):
    answer = both.post("/Users", people.user_body("mira", **fields))
    assert_error(answer, 400, "invalidValue")
    assert name in answer.json()["detail"]


def test_a_name_that_stands_twice_in_two_cases_is_refused(scim, user):
    for body in ('{"userName": "mira", "active": true, "Active": false}', '{"userName": "a", "USERNAME": "b"}'):
        assert_error(scim.send("PUT", f"/Users/{user['id']}", body), 400, "invalidSyntax")
    assert scim.user(user["id"]) == user


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_a_version_that_is_ruled_out_is_not_written(scim, user, method):
    body = {"userName": "mira", "Operations": [{"op": "replace", "path": "title", "value": "x"}]}
    for tag in ("*", user["meta"]["version"]):
        assert_error(scim.send(method, f"/Users/{user['id']}", body, If_None_Match=tag), 412)
    assert scim.user(user["id"]) == user
    assert scim.send(method, f"/Users/{user['id']}", body, If_None_Match='W/"0"').status_code in (200, 204)


def test_both_kinds_are_sorted_among_each_other_page_by_page(both):
    for name in ("bea", "Dora", "fay"):
        both.add_user(f"u{name}", displayName=name)
    for name in ("Anna", "cleo", "Eva"):
        both.add_group(name)

    def names(**query):
        search = {"filter": 'displayName sw "" and not (meta.resourceType eq "x")', "sortBy": "displayName", **query}
        answer = both.post("/.search", {**search, "attributes": "displayName"})
        assert answer.status_code == 200, answer.content
        return [one["displayName"] for one in answer.json()["Resources"]]

    everyone = names()
    assert [name for name in everyone if name in ("Anna", "bea", "cleo", "Dora", "Eva", "fay")] == [
        "Anna", "bea", "cleo", "Dora", "Eva", "fay",
    ]  # fmt: skip
    assert everyone == sorted(everyone, key=str.lower)
    by_pages = [name for start in range(1, len(everyone) + 1, 2) for name in names(startIndex=start, count=2)]
    assert by_pages == everyone
    assert names(sortOrder="descending") == everyone[::-1]
    assert names(startIndex=len(everyone) + 1) == []
    users_last = names(sortBy="members.display")
    assert set(users_last[-3:]) <= set(everyone)


@pytest.mark.parametrize("dialect", [Dialect.DOCUMENTED, Dialect.RFC])
def test_the_whole_resource_may_be_sent_back_without_a_path(scim_of, dialect):
    scim = scim_of(dialect)
    head = scim.add_user("head")
    user = scim.add_user("mira", **{people.ENTERPRISE: {"manager": head["id"], "department": "Oven"}})
    group = scim.add_group("Team", user["id"], externalId="g1")
    for path in (f"/Users/{user['id']}", f"/Groups/{group['id']}"):
        document = scim.get(path).json()
        for answer in (scim.patch(path, {"op": "replace", "value": document}), scim.put(path, document)):
            assert (answer.status_code, answer.json()) == (200, document), answer.content
        old = {**document, "meta": {**document["meta"], "version": 'W/"0"', "lastModified": "2020-01-01T00:00:00Z"}}
        for value in (old, {**old, "id": document["id"].upper()}):
            assert scim.patch(path, {"op": "replace", "value": value}).json() == document
        other = {"op": "replace", "value": {**document, "id": head["id"]}}
        assert_error(scim.patch(path, other), 400, "mutability")


def test_a_path_takes_a_bare_operand_as_a_filter_does(scim, user):
    group = scim.add_group("Team", user["id"])["id"]
    path = "emails [ type eq work ].value"
    after = scim.patch(f"/Users/{user['id']}", {"op": "replace", "path": path, "value": "new@corp.local"}).json()
    assert after["emails"] == [{"value": "new@corp.local", "type": "work", "primary": True}]
    remove = {"op": "remove", "path": f"members[value eq {user['id']}]"}
    assert scim.patch(f"/Groups/{group}", remove).status_code == 200
    assert scim.members(group) == set()


def test_a_secret_pasted_with_bearer_before_it_is_told_so(both):
    answer = both.get("/Users", Authorization=f"Bearer Bearer {both.secret}")
    assert_error(answer, 401)
    assert "twice" in answer.json()["detail"]
