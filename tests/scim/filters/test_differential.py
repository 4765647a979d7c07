"""Random filters and PATCHes: the database's answer against the models' own evaluation in memory."""

import copy
import json
from typing import Any

import pytest
from django.test import RequestFactory
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scim2_models import Context, Group, InvalidFilterException, PatchOp, SCIMException, ScimFilter
from scim2_models import GroupMember as CoreMember

from records.accounts.models import Dialect
from records.sites.text import fold
from scim.callers import caller_of
from scim.lists import filter_rows
from scim.requests import Query
from scim.schemas import ENTERPRISE, POLICY, UserResource
from tests.scim import people

QUIET = settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

TEXTS = [
    "userName",
    "externalId",
    "id",
    "displayName",
    "nickName",
    "title",
    "userType",
    "locale",
    "profileUrl",
    "name.givenName",
    "name.familyName",
    "name.middleName",
    "name.formatted",
    "name.honorificPrefix",
    "emails",
    "emails.value",
    "emails.type",
    "emails.display",
    "phoneNumbers.value",
    "phoneNumbers.type",
    "phoneNumbers",
    "addresses.locality",
    "roles.value",
    "groups.value",
    "groups.display",
    "groups",
    "meta.resourceType",
    "meta.location",
    "meta.version",
    f"{people.EMPLOYEE}:position",
    f"{people.EMPLOYEE}:natureOfEmployment",
    f"{people.EMPLOYEE}:folder",
    f"{people.ENTERPRISE}:employeeNumber",
    f"{people.ENTERPRISE}:costCenter",
    f"{people.ENTERPRISE}:manager.value",
    f"{people.ENTERPRISE}:manager.displayName",
    f"{people.USER}:userName",
]
FLAGS = ["active", "emails.primary", "phoneNumbers.primary", "roles.primary"]
MOMENTS = ["meta.created", "meta.lastModified"]
PRESENT = [*TEXTS, *FLAGS, *MOMENTS, "name", "meta", "addresses", f"{people.ENTERPRISE}:manager"]
INNER = {
    "emails": ["value", "type", "display"],
    "phoneNumbers": ["value", "type", "display"],
    "addresses": ["locality", "type", "country"],
    "groups": ["value", "display"],
    "roles": ["value", "type"],
}
ORDER = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]


def population(scim):
    """Add users who differ in everything that filters look at."""
    head = scim.add_user("Ada.Head@Corp.local", externalId="A1", displayName='Ada "The" Head', title="Head_100%")
    scim.add_user("élise@x.test", name={"givenName": "Élise", "familyName": "ŒUVRE"}, emails=[], userType="Agency")
    body = {
        "phoneNumbers": [{"value": "+1 55", "type": "work", "primary": True}, {"value": "077", "type": "Mobile"}],
        "addresses": [{"locality": "Ely", "country": "GB", "type": "work"}, {"locality": "ÖREBRO", "type": "home"}],
        "roles": [{"value": "r1", "primary": False}, {"value": "R2", "primary": True, "type": "app"}],
        "nickName": "noah\\n",
        ENTERPRISE: {"employeeNumber": "E-7", "costCenter": "ÄB", "manager": {"value": head["id"]}},
        "name": {"givenName": "Noah", "familyName": "de Vries", "middleName": "van", "formatted": "N. de Vries"},
        "emails": [{"value": "n@x.test", "type": "home", "display": "N"}, {"value": "N2@X.test", "type": "work"}],
    }
    third = scim.add_user("noah", externalId="a1", **body)
    scim.add_user("ΜΊΡΑΣ", active=False, locale="el_GR", **{ENTERPRISE: {"manager": "boss"}})
    scim.add_user(
        "plain", emails=[{"value": "plain@x.test"}], userType="", locale="", externalId="", title="STRAẞE Fuß"
    )
    scim.add_group("Bakers", head["id"], third["id"])
    scim.add_group("ÖVEN", third["id"])


def operands(documents):
    """Return the values that the documents hold, parts of them, and some that they do not."""
    texts: set[str] = {"", "x", "A", "ö", "\u03c3", "\u03a3", "%", "_", "\\", '"', " ", "zzz"}

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for item in value.values():
                collect(item)
        elif isinstance(value, list):
            for item in value:
                collect(item)
        elif isinstance(value, str):
            texts.update({value, value.upper(), value.lower(), value[:3], value[-3:], value[1:4]})

    collect(documents)
    return sorted(texts)


def filters(values, moments):
    """Return a strategy for filters."""
    text = comparing_text(values)
    comparisons = st.one_of(
        st.tuples(st.sampled_from(TEXTS), text).map(" ".join),
        st.tuples(
            st.sampled_from(FLAGS), st.sampled_from(["eq", "ne"]), st.sampled_from(["true", "false", '"True"'])
        ).map(" ".join),
        st.tuples(st.sampled_from(MOMENTS), st.sampled_from([*ORDER[:2], *ORDER[5:]]), st.sampled_from(moments)).map(
            " ".join
        ),
        st.sampled_from(PRESENT).map("{} pr".format),
    )

    def inner(attribute: str) -> st.SearchStrategy[str]:
        single = st.one_of(
            st.tuples(st.sampled_from(INNER[attribute]), text).map(" ".join),
            st.sampled_from(INNER[attribute]).map("{} pr".format),
        )
        return logical(single, 3)

    selections = st.sampled_from(sorted(INNER)).flatmap(lambda name: inner(name).map(lambda body: f"{name}[{body}]"))
    return logical(comparisons | selections, 6)


def comparing_text(values):
    """Return a strategy for an operator and an operand that it compares with text."""
    operators = st.sampled_from(ORDER), st.sampled_from(values).map(json.dumps)
    return st.tuples(*operators).map(" ".join) | st.sampled_from(["eq null", "ne null"])


def logical(leaf, leaves):
    """Return a strategy for expressions of and, or, not over leaves."""
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map("".join),
            st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(lambda parts: f"({''.join(parts)})"),
            inner.map("not ({})".format),
        ),
        max_leaves=leaves,
    )


@pytest.mark.parametrize("dialect", [Dialect.DOCUMENTED, Dialect.RFC])
def test_filters_find_what_the_models_find_in_memory(scim_of, dialect, directory):
    scim = scim_of(dialect)
    population(scim)
    documents = scim.get("/Users").json()["Resources"]
    for document in documents:
        manager = document.get(people.ENTERPRISE, {}).get("manager")
        if manager and "$ref" in manager:
            manager["displayName"] = next(d["displayName"] for d in documents if d["id"] == manager["value"])
    assert len(documents) == 5
    documents = [people.without_unassigned(document) for document in documents]
    resources = [UserResource.model_validate(document) for document in documents]
    moments = [json.dumps(document["meta"]["created"]) for document in documents] + ['"2001-01-01T00:00:00+02:00"']
    request = RequestFactory().get("/scim/Users", headers={"Authorization": f"Bearer {scim.secret}"})
    caller = caller_of(request, "scim")

    @QUIET
    @given(filters(operands(documents), moments))
    @example('emails[type ne "work"]')
    @example('not (nickName eq "x") and emails ne "n@x.test"')
    @example('userName eq "μίρας" or userName eq "ΜΊΡΑΣ"')
    @example("phoneNumbers.type eq null or addresses[country eq null]")
    @example('title eq "straße fuß" or title co "SS" or title ew "\u1e9e"')
    def check(expression):
        with POLICY:
            try:
                scim_filter = ScimFilter[UserResource](expression)
            except InvalidFilterException:
                with pytest.raises(InvalidFilterException):
                    filter_rows(caller, "User", Query(filter=expression))
                return
            expected = {resource.id for resource in resources if scim_filter.match(resource)}
            pks = filter_rows(caller, "User", Query(filter=expression)).values_list("pk", flat=True)
        assert {str(key) for key in pks} == expected, expression

    check()


SINGLE = [
    "displayName",
    "nickName",
    "title",
    "userType",
    "locale",
    "name.givenName",
    "name.familyName",
    "name.middleName",
]
EXTENSIONS = [
    f"{people.EMPLOYEE}:folder",
    f"{people.ENTERPRISE}:costCenter",
    f"{people.ENTERPRISE}:employeeNumber",
]
LISTS = ["emails", "phoneNumbers", "roles"]
WORDS = st.sampled_from(["a@b.test", "c@d.test", "e@f.test"])


def operation() -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for one operation on a user."""
    entry = st.fixed_dictionaries({"value": WORDS, "type": st.sampled_from(["work", "home"])})
    some = st.lists(entry, max_size=3)
    return st.one_of(
        st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "replace"]),
                "path": st.sampled_from([*SINGLE, *EXTENSIONS]),
                "value": WORDS,
            }
        ),
        st.fixed_dictionaries({"op": st.just("remove"), "path": st.sampled_from([*SINGLE[1:5], *EXTENSIONS, *LISTS])}),
        st.fixed_dictionaries({"op": st.just("replace"), "path": st.just("active"), "value": st.booleans()}),
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "replace"]), "path": st.sampled_from(LISTS), "value": some}
        ),
        st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "replace"]),
                "path": st.tuples(st.sampled_from(LISTS), st.sampled_from(["work", "home"])).map(
                    lambda pair: f'{pair[0]}[type eq "{pair[1]}"].value'
                ),
                "value": WORDS,
            }
        ),
        st.fixed_dictionaries(
            {"op": st.just("remove"), "path": st.sampled_from(LISTS).map('{}[type eq "work"]'.format)}
        ),
        st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "replace"]),
                "value": st.dictionaries(st.sampled_from([*SINGLE, *EXTENSIONS]), WORDS, min_size=1, max_size=3),
            }
        ),
    )


COMPARED_NAMES = ["userName", "nickName", "title", "userType", "locale", "active", "phoneNumbers", "roles", ENTERPRISE]


def test_patches_lead_where_the_models_lead_in_memory(scim):
    user = scim.add_user("mira", **{ENTERPRISE: {"costCenter": "1"}})
    state = {"document": scim.user(user["id"])}

    @settings(QUIET, max_examples=30)
    @given(st.lists(operation(), min_size=1, max_size=4))
    def check(operations):
        before = state["document"]
        resource = UserResource.model_validate(copy.deepcopy(before))
        answer = scim.patch(f"/Users/{user['id']}", *operations)
        try:
            with POLICY:
                patch = PatchOp[UserResource].model_validate(
                    {"Operations": operations}, scim_ctx=Context.RESOURCE_PATCH_REQUEST
                )
                patch.patch(resource)
        except (SCIMException, ValueError):
            assert answer.status_code == 400, answer.content
            assert scim.user(user["id"]) == before
            return
        assert answer.status_code == 200, (operations, answer.content)
        after = state["document"] = answer.json()
        assert scim.user(user["id"]) == after
        expected = people.without_unassigned(resource.model_dump())
        for name in COMPARED_NAMES:
            assert people.without_unassigned(after).get(name) == expected.get(name), (name, operations)
        addresses = [(email["value"], email.get("type")) for email in after["emails"]]
        # The product keeps each address once for each type, as it was said last.
        sent = [(email["value"], email.get("type")) for email in expected.get("emails", [])]
        assert addresses == list({(fold(value), kind): (value, kind) for value, kind in sent}.values())
        for name in ("givenName", "familyName", "middleName"):
            expected_name = expected.get("name", {}).get(name)
            assert not expected_name or after["name"].get(name) == expected_name, (name, operations)

    check()


def test_member_patches_lead_where_the_models_lead_in_memory(scim):
    keys = sorted(scim.add_user(f"u{number}")["id"] for number in range(4))
    group = scim.add_group("Team", keys[0])["id"]
    state = {"members": {keys[0]}}
    some = st.lists(st.sampled_from(keys), max_size=3).map(lambda some_keys: [{"value": key} for key in some_keys])
    selection = st.sampled_from(keys).map('members[value eq "{}"]'.format)
    change = st.one_of(
        st.fixed_dictionaries(
            {"op": st.sampled_from(["add", "replace", "remove"]), "path": st.just("members"), "value": some}
        ),
        st.fixed_dictionaries({"op": st.just("remove"), "path": st.one_of(st.just("members"), selection)}),
        st.fixed_dictionaries(
            {"op": st.sampled_from(["Add", "Replace"]), "value": some.map(lambda value: {"members": value})}
        ),
        st.fixed_dictionaries(
            {
                "op": st.just("remove"),
                "path": st.sampled_from(keys).map('members[value ne "{}" and type eq "User"]'.format),
            }
        ),
    )

    @settings(QUIET, max_examples=30)
    @given(st.lists(change, min_size=1, max_size=4))
    def check(operations):
        members = [CoreMember.model_validate({"value": key, "type": "User"}) for key in sorted(state["members"])]
        expected = Group(display_name="Team", members=members or None)
        with_types = copy.deepcopy(operations)
        for one in with_types:
            value = one.get("value")
            if one["op"] != "remove":
                for entry in value["members"] if isinstance(value, dict) else value:
                    entry["type"] = "User"
        with POLICY:
            patch = PatchOp[Group].model_validate({"Operations": with_types}, scim_ctx=Context.RESOURCE_PATCH_REQUEST)
            patch.patch(expected)
        answer = scim.patch(f"/Groups/{group}", *operations)
        assert answer.status_code == 200, (operations, answer.content)
        state["members"] = {member["value"] for member in answer.json()["members"]}
        assert state["members"] == {member.value for member in expected.members or []}, operations
        assert scim.members(group) == state["members"]

    check()
