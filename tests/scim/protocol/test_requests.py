"""Requests that are not as they should be: a SCIM error each time, never a 500, and nothing changed."""

import json
import uuid

import pytest

from records.accounts.models import Role, User
from records.history.models import Change
from tests.scim import people
from tests.scim.conftest import assert_error


def _state():
    return User.objects.count(), Role.objects.count(), Change.objects.count()


BODIES = {
    "empty": (b"", "invalidSyntax"),
    "malformed": (b"{", "invalidSyntax"),
    "array": (b"[]", "invalidSyntax"),
    "text": (b'"x"', "invalidSyntax"),
    "null": (b"null", "invalidSyntax"),
    "number": (b"1", "invalidSyntax"),
    "nan": (b'{"userName": NaN}', "invalidSyntax"),
    "infinity": (b'{"userName": -Infinity}', "invalidSyntax"),
    "1e400": (b'{"userName": 1e400}', "invalidSyntax"),
    "digits": (b'{"userName": ' + b"9" * 10_000 + b"}", "invalidSyntax"),
    "nested": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, "invalidSyntax"),
    "arrays": (b'{"a":' + b"[" * 20_000 + b"]" * 20_000 + b"}", "invalidSyntax"),
    "latin-1": ('{"userName": "é"}'.encode("latin-1"), "invalidSyntax"),
    "nul": (b'{"userName": "a\\u0000b"}', "invalidValue"),
    "surrogate": (b'{"userName": "\\ud800"}', "invalidValue"),
    "control": (b'{"userName": "a\\u0007"}', "invalidValue"),
    "control in a name": (b'{"userName": "a", "x\\u0000": 1}', "invalidValue"),
    "marks": (('{"userName": "a' + "\u0301\u0316" * 100_000 + '"}').encode(), "invalidValue"),
}


@pytest.mark.parametrize("path", ["/Users", "/Groups", "/Users/.search", "/.search"])
def test_a_body_that_is_no_json_object_is_400(both, path):
    before = _state()
    for body, scim_type in BODIES.values():
        assert_error(both.send("POST", path, body), 400, scim_type)
    assert _state() == before


def test_a_malformed_body_changes_no_resource(both):
    user, group = both.add_user("mira")["id"], both.add_group("Team")["id"]
    before = _state()
    for body, scim_type in BODIES.values():
        for path in (f"/Users/{user}", f"/Groups/{group}"):
            assert_error(both.send("PUT", path, body), 400, scim_type)
            if both.mount == "/scim":
                assert_error(both.send("PATCH", path, body), 400, scim_type)
    assert _state() == before


@pytest.mark.parametrize(("text", "detail"), [("\\ud800", "surrogate"), ("\\u0007", "Control characters")])
def test_a_text_that_is_refused_is_refused_for_what_is_wrong_with_it(scim, text, detail):
    assert detail in scim.send("POST", "/Users", f'{{"userName": "{text}"}}'.encode()).json()["detail"]


WRONG_USERS = [
    {"userName": None},
    {"userName": ""},
    {"userName": "   "},
    {"userName": 7},
    {"userName": True},
    {"userName": ["a"]},
    {"userName": {"a": 1}},
    {"userName": "x" * 256},
    {"name": "Mira"},
    {"name": []},
    {"name": {"givenName": 7}},
    {"name": {"givenName": "x" * 256}},
    {"name": {"familyName": {}}},
    {"active": "perhaps"},
    {"active": []},
    {"active": 2},
    {"emails": "a@b.test"},
    {"emails": {"value": "a@b.test"}},
    {"emails": [None]},
    {"emails": [7]},
    {"emails": [{"value": 7}]},
    {"emails": [{"value": "no address"}]},
    {"emails": [{"value": "a@b.test", "primary": True}, {"value": "c@d.test", "primary": True}]},
    {"emails": [{"value": "a" * 250 + "@b.test"}]},
    {"emails": [{"value": f"a{number}@b.test"} for number in range(101)]},
    {"externalId": 7},
    {"externalId": "x" * 256},
    {"displayName": "x" * 256},
    {"locale": "x" * 256},
    {"title": "x" * 20_001},
    {"phoneNumbers": [{"value": "1" * 256, "type": "work"}]},
    {"phoneNumbers": "1"},
    {"photos": [{"value": "no url"}]},
    {"schemas": "x"},
    {"schemas": [people.GROUP]},
    {"schemas": [7]},
    {people.EMPLOYEE: "Baker"},
    {people.EMPLOYEE: {"position": 7}},
    {people.EMPLOYEE: {"position": "x" * 256}},
    {people.EMPLOYEE: {"natureOfEmployment": "Volunteer"}},
    {people.EMPLOYEE: {"folder": "x" * 256}},
    {people.ENTERPRISE: {"employeeNumber": "x" * 256}},
    {people.ENTERPRISE: {"manager": 7}},
]


def test_a_user_with_a_wrong_value_is_400(both):
    before = _state()
    for change in WRONG_USERS:
        answer = both.post("/Users", people.user_body("mira", **change))
        assert answer.status_code == 400, (change, answer.content)
        assert answer.json()["scimType"] in ("invalidValue", "invalidSyntax")
        assert _state() == before, change


WRONG_GROUPS = [
    {"displayName": 7},
    {"displayName": "x" * 256},
    {"externalId": []},
    {"externalId": "x" * 256},
    {"externalId": "  "},
    {"members": "x"},
    {"members": 7},
    {"members": [7]},
    {"members": [None]},
    {"members": [{}]},
    {"members": [{"value": 7}]},
    {"members": [{"value": None}]},
    {"members": [{"value": "x"}]},
    {"members": [{"value": str(uuid.UUID(int=7))}]},
    {"members": [[]]},
    {"members": {"value": "x"}},
    {people.SITE: {"value": "x"}},
    {people.SITE: {"value": str(uuid.UUID(int=7))}},
    {people.SITE: "x"},
    {"schemas": [people.USER]},
]


def test_a_group_with_a_wrong_value_is_400(both):
    before = _state()
    for change in WRONG_GROUPS:
        answer = both.post("/Groups", {"schemas": [people.GROUP], "displayName": "Team", **change})
        assert answer.status_code == 400, (change, answer.content)
        assert answer.json()["scimType"] in ("invalidValue", "invalidSyntax")
        assert _state() == before, change


PATCHES = [
    ({}, "invalidValue"),
    ({"Operations": None}, "invalidValue"),
    ({"Operations": {}}, "invalidValue"),
    ({"Operations": []}, "invalidValue"),
    ({"Operations": "x"}, "invalidValue"),
    ({"Operations": [7]}, "invalidValue"),
    ({"Operations": [None]}, "invalidValue"),
    ({"Operations": [{}]}, "invalidValue"),
    ({"Operations": [{"op": "move", "path": "displayName", "value": "x"}]}, "invalidValue"),
    ({"Operations": [{"op": 7, "path": "displayName", "value": "x"}]}, "invalidValue"),
    ({"Operations": [{"op": "replace", "path": 7, "value": "x"}]}, "invalidValue"),
    ({"Operations": [{"op": "replace", "path": "display Name", "value": "x"}]}, "invalidPath"),
    ({"Operations": [{"op": "replace", "path": "displayName[", "value": "x"}]}, "invalidPath"),
    ({"Operations": [{"op": "replace", "path": "displayName"}]}, "invalidValue"),
    ({"Operations": [{"op": "add", "path": "displayName"}]}, "invalidValue"),
    ({"Operations": [{"op": "add", "path": "displayName", "value": 7}]}, "invalidValue"),
    ({"Operations": [{"op": "add", "path": "displayName", "value": ["x"]}]}, "invalidValue"),
    ({"Operations": [{"op": "remove"}]}, "noTarget"),
    ({"Operations": [{"op": "replace", "value": "x"}]}, "invalidValue"),
    ({"Operations": [{"op": "replace", "value": ["x"]}]}, "invalidValue"),
    ({"Operations": [{"op": "replace", "path": "displayName", "value": "x" * 256}]}, "invalidValue"),
    ({"schemas": ["x"], "Operations": [{"op": "replace", "path": "displayName", "value": "x"}]}, "invalidSyntax"),
    ({"Operations": [{"op": "replace", "path": "nickName", "value": "x"}] * 2001}, "invalidValue"),
]


def test_a_patch_that_makes_no_sense_is_400_and_changes_nothing(scim):
    user, group = scim.add_user("mira"), scim.add_group("Team")
    for body, scim_type in PATCHES:
        for path, before in ((f"/Users/{user['id']}", user), (f"/Groups/{group['id']}", group)):
            assert_error(scim.send("PATCH", path, body), 400, scim_type)
            assert scim.get(path).json() == before


MEMBER_OPERATIONS = [
    ({"op": "add", "path": "members"}, "invalidValue"),
    ({"op": "add", "path": "members", "value": 7}, "invalidValue"),
    ({"op": "add", "path": "members", "value": [{"value": "x"}]}, "invalidValue"),
    ({"op": "add", "path": "members", "value": [{"value": str(uuid.UUID(int=7))}]}, "invalidValue"),
    ({"op": "add", "path": "members[", "value": []}, "invalidPath"),
    ({"op": "remove", "path": 'members[value eq "x'}, "invalidPath"),
    ({"op": "remove", "path": 'members[nope eq "x"]'}, "invalidFilter"),
    ({"op": "remove", "path": "members[value gt 7]"}, "invalidFilter"),
    ({"op": "remove", "path": "members[value eq 7]"}, "invalidFilter"),
    ({"op": "remove", "path": "members[value ne x]"}, "invalidPath"),
    ({"op": "replace", "path": 'members[display eq "nobody"]', "value": {}}, "noTarget"),
    ({"op": "remove", "path": "members", "value": [{}]}, "invalidValue"),
    ({"op": "remove", "path": "members", "value": [{"display": "x"}]}, "invalidValue"),
    ({"op": "remove", "path": "members", "value": [7]}, "invalidValue"),
    ({"op": "remove", "path": "members.value"}, "mutability"),
    ({"op": "add", "path": "members", "value": [{"value": str(uuid.UUID(int=7)), "type": "Robot"}]}, "invalidValue"),
    ({"op": "add", "value": {'members[value eq "x"]': {"value": "x"}}}, "noTarget"),
]


def test_a_patch_of_members_that_makes_no_sense_changes_nothing(scim):
    user = scim.add_user("mira")
    group = scim.add_group("Team", user["id"])
    rename = {"op": "replace", "path": "displayName", "value": "New"}
    for operation, scim_type in MEMBER_OPERATIONS:
        assert_error(scim.patch(f"/Groups/{group['id']}", rename, operation), 400, scim_type)
        assert scim.get(f"/Groups/{group['id']}").json() == group


FILTERS = [
    "userName",
    "userName eq",
    "eq",
    '"mira"',
    'userName eq "mira" and',
    'userName eq "mira" or or active eq true',
    '(userName eq "mira"',
    'userName eq "mira")',
    'userName xx "mira"',
    'nope eq "x"',
    'name.nope eq "x"',
    'userName.nope eq "x"',
    'emails[nope eq "x"]',
    'emails[type eq "work"',
    'userName[type eq "work"]',
    'name eq "x"',
    "active gt true",
    'active co "t"',
    'active eq "perhaps"',
    'meta.created gt "yesterday"',
    'meta.created gt "2026-13-45T00:00:00Z"',
    'userName eq "a" not active eq true',
    "not userName eq",
    'userName eq "\\x"',
    'password co "a"',
    "urn:x:y:z eq 1",
    f'{people.GROUP}:displayName eq "x"',
    "(" * 200 + 'userName eq "a"' + ")" * 199,
    " or ".join('userName eq "a"' for _ in range(300)),
    'userName eq "' + "a" * 10_001 + '"',
    'userName eq "a\x00"',
    'userName eq "a\\u0000"',
    'userName eq "\\ud800"',
    'emails[value co "\\u0007"]',
    'addresses eq "x"',
    'not (addresses ne "x")',
    'name eq "x"',
    'title eq "a' + "\u0301\u0316" * 1000 + '"',
    'meta.created gt "9999-12-31T23:59:59-12:00"',
    'meta.lastModified le "0001-01-01T00:00:00+12:00"',
    "%",
    "",
    "  ",
    "'; drop table accounts_user; --",
]


def test_a_filter_that_makes_no_sense_is_400_and_finds_nothing(both):
    both.add_user("mira")
    for expression in FILTERS:
        answer = both.get("/Users", {"filter": expression})
        assert answer.status_code == 400, (expression, answer.content)
        assert_error(answer, 400, "invalidFilter")
        body = {"schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"], "filter": expression}
        answer = both.post("/Users/.search", body)
        assert answer.status_code == 400, answer.content
        assert "Resources" not in answer.json()


QUERIES = [
    {"startIndex": "x"},
    {"startIndex": "1.5"},
    {"startIndex": "١"},  # noqa: RUF001 (a digit, but none of JSON's)
    {"startIndex": "9" * 30},
    {"count": "x"},
    {"count": "1e3"},
    {"count": "9" * 30},
    {"sortOrder": "sideways"},
    {"sortBy": "nope"},
    {"sortBy": "name"},
    {"sortBy": "password"},
    {"sortBy": 'emails[type eq "work"]'},
    {"sortBy": "a b"},
    {"attributes": "userName", "excludedAttributes": "emails"},
]


def test_a_query_that_makes_no_sense_is_400(both):
    for query in QUERIES:
        answer = both.get("/Users", query)
        assert answer.status_code == 400, (query, answer.content)
        assert answer.json()["scimType"] in ("invalidValue", "invalidPath")


@pytest.mark.parametrize("start", ["1000000", "999999999999999999"])
def test_a_page_past_the_end_is_empty(both, start):
    both.add_user("mira")
    body = both.get("/Users", {"startIndex": start}).json()
    assert (body["totalResults"], body["Resources"], body["startIndex"]) == (1, [], int(start))


@pytest.mark.parametrize(("count", "got"), [("0", 0), ("-1", 0), ("2", 2), ("999", 3)])
def test_a_count_is_kept_within_its_limits(both, count, got):
    for number in range(3):
        both.add_user(f"u{number}")
    body = both.get("/Users", {"Count": count}).json()
    assert (body["totalResults"], body["itemsPerPage"], len(body["Resources"])) == (3, got, got)


def test_an_unknown_path_is_an_error_in_scim(both):
    for path in ("/nope", "/Users/a/b", "/userz", "/Schemas/nope", "/ResourceTypes/nope"):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            answer = both.send(method, path, "{}")
            assert answer.status_code in (404, 405)
            assert answer.json()["schemas"] == [people.ERROR]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/Schemas"),
        ("DELETE", "/ServiceProviderConfig"),
        ("PUT", "/Users"),
        ("DELETE", "/Groups"),
        ("GET", "/.search"),
    ],
)
def test_a_method_that_is_not_there_is_405_with_allow(both, method, path):
    answer = both.send(method, path, "{}")
    assert_error(answer, 405)
    assert answer["Allow"]


ID = f"/{uuid.UUID(int=7)}"


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/Users", "GET, POST, HEAD, OPTIONS"),
        ("/Groups/", "GET, POST, HEAD, OPTIONS"),
        (f"/Users{ID}", "GET, PUT, PATCH, DELETE, HEAD, OPTIONS"),
        (f"/Groups{ID}", "GET, PUT, PATCH, DELETE, HEAD, OPTIONS"),
        ("/.search", "POST, OPTIONS"),
        ("/Schemas/User", "GET, HEAD, OPTIONS"),
    ],
)
def test_a_path_names_the_methods_that_it_takes(both, path, methods):
    if both.mount == "/prodscim":
        methods = methods.replace("PATCH, ", "")
    assert both.send("OPTIONS", path)["Allow"] == methods
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - set(methods.split(", ")):
        answer = both.send(method, path, "{}")
        assert_error(answer, 405)
        assert answer["Allow"] == methods


def test_a_body_beyond_the_limit_is_413(both):
    body = b'{"userName": "' + b"a" * (10 * 1024 * 1024) + b'"}'
    assert_error(both.send("POST", "/Users", body), 413)


def test_a_host_that_is_not_ours_is_400_in_scim(both):
    answer = both.get("/Users", Host="evil.example")
    assert_error(answer, 400)


def test_a_filter_on_discovery_is_403(both):
    assert_error(both.get("/Schemas", {"filter": 'name eq "User"'}), 403)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_head_and_options_answer(both, method):
    answer = both.send(method, "/Users")
    assert answer.status_code == (200 if method == "HEAD" else 204)
    assert answer.content == b""
    assert answer.get("Content-Type", "") == ("application/scim+json" if method == "HEAD" else "")


@pytest.mark.parametrize("twice", ['"userName": "other"', '"name": {"givenName": "A", "givenName": "B"}'])
def test_a_name_that_stands_twice_is_refused_and_nothing_is_made(both, twice):
    body = json.dumps({name: value for name, value in people.user_body("mira").items() if name != "name"})
    assert_error(both.send("POST", "/Users", f"{body[:-1]}, {twice}}}"), 400, "invalidSyntax")
    assert both.get("/Users", {"filter": 'userName eq "mira" or userName eq "other"'}).json()["totalResults"] == 0


def test_a_compressed_body_is_refused(both):
    body = json.dumps(people.user_body("mira"))
    assert_error(both.send("POST", "/Users", body, Content_Encoding="gzip"), 415)
    assert both.send("POST", "/Users", body, Content_Encoding="identity").status_code == 201
