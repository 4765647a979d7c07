"""A filter that compares texts for equality is compiled once for all texts, and finds what it finds without that."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scim import lists
from tests.scim import people
from tests.scim.conftest import assert_error

ODD = [
    "",
    " ",
    " mira ",
    "MIRA",
    "mi\\u0072a",
    'a\\"b',
    "Straße",
    "ΣΊΣΥΦΟΣ",
    "İx",
    "text of a filter 0.",
    "x" * 200,
    "?%s{}",
]
SHAPES = {
    "Users": (
        'userName eq "{}"',
        'externalId eq "{}"',
        'emails.value eq "{}@corp.local"',
        'displayName eq "{}" or userName eq "{}"',
        'userName eq "{}" and externalId eq "nobody"',
        'name.familyName eq "{}" and active eq true',
        'id eq "{}"',
        'nickName eq "{}"',
        'groups.display eq "{}"',
        'schemas eq "{}"',
        'userName ew "{}"',
        'not (userName eq "{}")',
        'manager eq "{}"',
    ),
    "Groups": ('displayName eq "{}"', 'externalId eq "{}"', 'members.value eq "{}"', 'members.display eq "{}"'),
}


@pytest.fixture
def parsed_expressions(monkeypatch):
    """Return the filters that are parsed from now on, when no shape is known yet."""
    lists._bindings.cache_clear()
    expressions: list[str] = []
    parse_filter = lists.filters.parse_filter

    def record(kinds, expression):
        expressions.append(expression)
        return parse_filter(kinds, expression)

    monkeypatch.setattr(lists.filters, "parse_filter", record)
    return expressions


def population(scim):
    """Create users and groups, each with one of the odd texts in every place, and a group without a name."""
    users: list[str] = []
    groups = [scim.post("/Groups", {"schemas": [people.GROUP]}).json()]
    for text in ("mira", 'a"b', "Straße", "Σίσυφος", "İx", "x" * 200, "?%s{}"):
        more = {"displayName": text, "nickName": text, "name": {"familyName": text}}
        more |= {people.ENTERPRISE: {"manager": {"value": users[0]}}} if users else {}
        user = scim.add_user(text, externalId=text, emails=[{"value": f"{len(users)}@corp.local"}], **more)
        users.append(user["id"])
        groups.append(scim.add_group(text, user["id"], externalId=text))
    return [*users[:2], *(group["id"] for group in groups[:2])]


@pytest.mark.parametrize("path", ["Users", "Groups"])
def test_a_filter_of_a_known_shape_finds_what_it_finds_compiled_by_itself(scim, path, monkeypatch):
    keys = population(scim)
    for shape in SHAPES[path]:
        queries = [shape.replace("{}", text) for text in ["mira", "0", "1", *ODD, *keys]]
        answers = [search(scim, path, query) for query in [*queries, *queries]]
        with monkeypatch.context() as patch:
            patch.setattr(lists.filter_texts, "shape_of", lambda expression: (expression, {}))
            assert answers == [search(scim, path, query) for query in queries] * 2, shape
        if shape != 'schemas eq "{}"' and "nobody" not in shape:
            assert len(set(map(str, answers))) > 1, shape


def search(scim, path, query):
    answer = scim.get(f"/{path}", {"filter": query, "excludedAttributes": "meta"})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert body["totalResults"] == len(body["Resources"])
    return body


@pytest.mark.parametrize(
    "query", ['userName eq "mira', 'userName eq "a" "b"', 'userName eq mira"', 'userName "eq" "b"']
)
def test_a_broken_filter_of_a_known_shape_is_refused(scim, query):
    assert scim.get("/Users", {"filter": 'userName eq "mira"'}).status_code == 200
    assert_error(scim.get("/Users", {"filter": query}), 400, "invalidFilter")


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/Users", 'userName eq "{}"'),
        ("/Users", 'externalId eq "{}"'),
        ("/Users", 'emails.value eq "{}"'),
        ("/Groups", 'displayName eq "{}"'),
    ],
)
def test_a_filter_is_parsed_once_for_all_texts_and_nothing_is_counted(scim, parsed_expressions, path, shape):
    scim.get(path, {"filter": shape.replace("{}", "a")})
    assert parsed_expressions
    parsed_expressions.clear()
    with CaptureQueriesContext(connection) as queries:
        for text in ("b", "c", "mira"):
            assert scim.get(path, {"filter": shape.replace("{}", text)}).json()["totalResults"] == 0
    assert parsed_expressions == []
    assert "COUNT(" not in str(queries.captured_queries)


def test_what_a_filter_found_is_not_kept(scim):
    query = {"filter": 'userName eq "mira"'}
    assert scim.get("/Users", query).json()["totalResults"] == 0
    user = scim.add_user("mira")
    assert [one["id"] for one in scim.get("/Users", query).json()["Resources"]] == [user["id"]]
    scim.delete(f"/Users/{user['id']}")
    assert scim.get("/Users", query).json()["totalResults"] == 0


@pytest.mark.parametrize("operator", ["eq", "ne"])
@pytest.mark.parametrize("path", ["/Users", "/Groups"])
def test_a_query_that_is_not_utf_8_is_refused(both, path, operator):
    both.add_user("J\ufffdrg")
    name = "userName" if path == "/Users" else "displayName"
    assert_error(both.get(f"{path}?count=0&filter={name}%20{operator}%20%22J%F6rg%22"), 400, "invalidFilter")
    assert_error(both.get(f"{path}?startIndex=1&sortBy=J%F6rg"), 400, "invalidValue")
