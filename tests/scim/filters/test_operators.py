"""Every operator over every attribute that /Schemas declares: the database finds what the models find in memory."""

import json
import re
from itertools import product
from typing import Any

import pytest
from django.test import RequestFactory
from scim2_models import InvalidFilterException, ScimFilter

from records.accounts.models import Dialect
from scim.callers import caller_of
from scim.lists import filter_rows
from scim.requests import Query
from scim.schemas import MODELS, POLICY, bind
from tests.scim import people
from tests.scim.conftest import assert_error
from tests.scim.filters import test_differential, test_group_filters

OPERATORS = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]
OTHER_OPERANDS = ['"zz no such value"', "true", "null", '"2020-01-01T00:00:00Z"']
COMPLEX = {"name", "meta", "addresses", f"{people.ENTERPRISE}:manager"}
"""Holds attributes and has no value to compare, but for a manager, who is compared by id as Entra does."""
MOMENTS = ("meta.created", "meta.lastModified")
POPULATIONS = {"User": test_differential.population, "Group": test_group_filters.population}


def paths_of(scim, kind):
    """Yield each attribute of the kind, qualified as a filter names it, with its type."""
    core = {"User": people.USER, "Group": people.GROUP}[kind]
    extensions = {"User": (people.EMPLOYEE, people.ENTERPRISE), "Group": (people.SITE,)}[kind]
    for urn in (core, *extensions):
        prefix = "" if urn == core else f"{urn}:"
        for attribute in scim.get(f"/Schemas/{urn}").json()["attributes"]:
            yield prefix + attribute["name"]
            for sub in attribute.get("subAttributes", ()):
                yield f"{prefix}{attribute['name']}.{sub['name']}"
    yield from ("id", "externalId", "schemas", "meta", "meta.created", "meta.lastModified", "meta.location")
    yield from ("meta.version", "meta.resourceType")


def first_value(document: Any, path: str) -> Any:
    """Return a plain value at the path of a document, None without any."""
    urn, colon, rest = path.rpartition(":")
    value = document.get(urn, {}) if colon else document
    for name in rest.split("."):
        value = value[0] if isinstance(value, list) and value else value
        value = value.get(name) if isinstance(value, dict) else None
    value = value[0] if isinstance(value, list) and value else value
    return value.get("value") if isinstance(value, dict) else value


def documents_of(scim, kind):
    """Return the population's documents as a strict reader has them, and as resources."""
    POPULATIONS[kind](scim)
    documents = scim.get(f"/{kind}s", {"count": 200}).json()["Resources"]
    documents = [people.without_unassigned(document) for document in documents]
    return documents, [MODELS[kind].model_validate(document) for document in documents]


@pytest.mark.parametrize("kind", ["User", "Group"])
def test_every_operator_works_over_every_declared_attribute(scim_of, kind):
    scim = scim_of(Dialect.DOCUMENTED)
    documents, resources = documents_of(scim, kind)
    request = RequestFactory().get("/scim", headers={"Authorization": f"Bearer {scim.secret}"})
    caller = caller_of(request, "scim")
    paths = list(dict.fromkeys(paths_of(scim, kind)))
    assert len(paths) > {"User": 70, "Group": 15}[kind]
    comparisons = 0
    for path in paths:
        sample = next((value for one in documents if (value := first_value(one, path)) is not None), None)
        operands = [] if sample is None or path in COMPLEX else [json.dumps(sample)]
        operands += [] if path in COMPLEX else OTHER_OPERANDS
        tests = ["pr", *(f"{op} {operand}" for op in OPERATORS for operand in operands)]
        head, _, sub = path.rpartition(".")
        # Of a list, entries are selected by each of their parts too; of one value there is nothing to select from.
        some = ["pr", *(f"{op} {operand}" for op in OPERATORS for operand in operands[:1])] if head else []
        inside = [f"{head}[{start}{sub} {test}{end}]" for test in some for start, end in (("", ""), ("not (", ")"))]
        for expression in (f"not ({path} pr)", *(f"{path} {test}" for test in tests), *inside):
            comparisons += agrees(caller, kind, resources, expression)
    assert comparisons > len(paths) * 10


def compares_nothing(expression) -> bool:
    """Return whether the filter compares what has no order or parts, which the models find with nobody."""
    match = re.fullmatch(r"(?:.*\[)?(?:not \()?(\S+) (\w+)(?: (.*?))?[\])]*", expression)
    assert match is not None, expression
    path, op, operand = match.groups()
    moment = path in MOMENTS and operand is not None and operand != "null"
    is_unordered = op in OPERATORS[2:] and operand in ("true", "null")
    return is_unordered or (moment and (op in ("co", "sw", "ew") or not re.match(r'"\d{4}-\d\d-\d\dT', operand)))


def agrees(caller, kind, resources, expression) -> bool:
    """Check that both sides find the same, or refuse alike; returns whether there was something to find."""
    if compares_nothing(expression):
        with pytest.raises(InvalidFilterException):
            filter_rows(caller, kind, Query(filter=expression))
        return False
    with POLICY:
        try:
            selection = bind(ScimFilter, kind)(expression)
            expected = {resource.id for resource in resources if selection.match(resource)}
        except InvalidFilterException:
            with pytest.raises(InvalidFilterException):
                filter_rows(caller, kind, Query(filter=expression))
            return False
        pks = filter_rows(caller, kind, Query(filter=expression)).values_list("pk", flat=True)
        assert {str(key) for key in pks} == expected, expression
    return True


@pytest.mark.parametrize("operand", ["5", '"5"', "2026", '"2026"', '"2026-01-01"', '""', "true", "1e3", '"now"', "[]"])
def test_what_is_not_a_date_time_is_not_compared_with_one(both, operand):
    both.add_group("Team", both.add_user("mira")["id"])
    for path, op, collection in product(MOMENTS, OPERATORS, ("/Users", "/Groups")):
        assert_error(both.get(collection, {"filter": f"not ({path} {op} {operand})"}), 400, "invalidFilter")
    for address in ("/Users/.search", "/Groups/.search", "/.search"):
        query = f"META.lastmodified ge {operand} or schemas pr"
        assert_error(both.post(address, {"filter": query}), 400, "invalidFilter")


@pytest.mark.parametrize(
    "expression",
    ["meta.created {}", "userName {}", "active {}", "schemas {}", "emails {}", "emails[type {}]", "profileUrl {}"],
)
def test_only_text_and_date_times_have_an_order_or_parts(scim, expression):
    scim.add_user("mira")
    for op, operand in product(OPERATORS[2:], ("null", "true", "false")):
        assert_error(scim.get("/Users", {"filter": expression.format(f"{op} {operand}")}), 400, "invalidFilter")


@pytest.mark.parametrize(
    "selection",
    [
        "type gt null",
        "not (type co 5)",
        "not (display sw -1.5)",
        "not (type GT null)",
        "value co true",
        'type eq "x" or type lt false',
    ],
)
def test_a_path_of_a_patch_compares_nothing_without_an_order(scim, user, group, selection):
    user = scim.user(user["id"])
    for path in (f"/Users/{user['id']}", f"/Groups/{group['id']}"):
        name = "emails" if "Users" in path else "members"
        answer = scim.patch(path, {"op": "remove", "path": f"{name}[{selection}]"})
        assert_error(answer, 400, "invalidFilter")
    assert (scim.user(user["id"]), scim.members(group["id"])) == (user, {user["id"]})


@pytest.mark.parametrize("path", MOMENTS)
@pytest.mark.parametrize(
    "operand",
    [
        '"0001-01-03T00:00:00.0000000Z"',
        "2015-10-10T14:38:21.8617979-07:00",
        '"2015-10-10t14:38:21z"',
        '"2015-10-10T14:38:21+02:00"',
        '"2015-10-10T14:38:21"',
    ],
)
def test_a_date_time_in_every_form_is_compared(both, path, operand):
    group = both.add_group("Team", both.add_user("mira")["id"])
    for op in ("gt", "ge", "ne"):
        assert both.ids("/Groups", f'displayName eq "Team" and {path} {op} {operand}') == [group["id"]]
    for op in ("lt", "le", "eq"):
        assert both.ids("/Groups", f"{path} {op} {operand}") == []
    assert both.ids("/Groups", f"{path} eq null") == []


@pytest.mark.parametrize("kind", ["User", "Group"])
def test_every_declared_attribute_sorts_or_is_refused(scim_of, kind):
    scim = scim_of(Dialect.DOCUMENTED)
    documents, _ = documents_of(scim, kind)
    everybody = {document["id"] for document in documents}
    for path in dict.fromkeys(paths_of(scim, kind)):
        for order in ("ascending", "descending"):
            answer = scim.get(f"/{kind}s", {"sortBy": path, "sortOrder": order, "attributes": path})
            if answer.status_code == 400:
                assert answer.json()["scimType"] == "invalidPath", (path, answer.content)
                continue
            assert {one["id"] for one in answer.json()["Resources"]} == everybody, path


@pytest.mark.parametrize(
    ("path", "attribute"), [("/Users", "userName"), ("/Users", "emails.value"), ("/Groups", "displayName")]
)
def test_parts_of_a_name_with_a_key_are_folded_as_the_whole_name_is(both, path, attribute):
    user = both.add_user("Weißfuß", emails=[{"value": "mira@Weißfuß.test"}])
    group = both.add_group("Weißfuß", user["id"])
    found = [{"/Users": user, "/Groups": group}[path]["id"]]
    start, end = ("mira@", ".test") if attribute == "emails.value" else ("", "")
    for whole in ("Weißfuß", "WEISSFUSS", "weissfuẞ"):
        assert both.ids(path, f'{attribute} eq "{start}{whole}{end}"') == found
        assert both.ids(path, f'{attribute} sw "{start}{whole[:-1]}"') == found
        assert both.ids(path, f'{attribute} co "{whole[2:-1]}"') == found
        assert both.ids(path, f'{attribute} ew "{whole[1:]}{end}"') == found
