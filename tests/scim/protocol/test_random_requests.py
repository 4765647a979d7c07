"""Random filters and random PATCHes: never a 500, and whatever is refused has changed nothing."""

import json
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from records.accounts.models import Dialect, Role, RoleMembership, User
from records.history.models import Change
from tests.scim import people
from tests.scim.conftest import Scim

LIMITS = settings(
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
NAMES = (
    "userName",
    "DISPLAYNAME",
    "emails",
    "emails.type",
    "members",
    "Members.Value",
    "groups.display",
    "name",
    "name.familyName",
    "active",
    "meta.lastModified",
    "schemas",
    "manager",
    "password",
    "x509Certificates.value",
    f"{people.ENTERPRISE}:manager.value",
    f"{people.EMPLOYEE}.position",
    f"{people.SITE.upper()}:value",
    f"{people.USER}:userName",
    "urn:foo:bar:baz",
    "nope",
    "name.nope",
    "$ref",
    "",
)
OPERANDS = (
    '"a"',
    '""',
    '"\\""',
    '"\\\\"',
    '"\\u00e9"',
    '"\\ud800"',
    '"\\x"',
    '"%"',
    '"İ"',
    "'a'",
    "a",
    "true",
    "False",
    "null",
    "7",
    "-1.5e9",
    "1e999",
    '"2020-01-01T00:00:00Z"',
    '"9999-12-31T23:59:59-12:00"',
    '"unclosed',
    "",
)
CONNECTIVES = (" and ", " or ", " AND ", " ", ") or (", " and not ")
SIGNS = '()[]". \\\n\t:$,é\u200b'


def expressions() -> st.SearchStrategy[str]:
    """Return a strategy for filters, of which some are well formed and others have signs added or taken away."""
    comparison = st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(("eq", "NE", "co", "sw", "ew", "gt", "le", "xx")),
        st.sampled_from(OPERANDS),
    ).map(" ".join)
    leaf = comparison | st.sampled_from(NAMES).map("{} pr".format)
    tree = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(CONNECTIVES), inner).map("".join),
            inner.map("({})".format),
            inner.map("not ({})".format),
            st.tuples(st.sampled_from(NAMES), inner).map(lambda pair: f"{pair[0]}[{pair[1]}]"),
            st.tuples(st.sampled_from(NAMES), inner, leaf).map(lambda three: f"{three[0]}[{three[1]}].{three[2]}"),
        ),
        max_leaves=5,
    )
    place, sign = st.integers(0, 200), st.sampled_from(SIGNS)
    with_sign = st.tuples(tree, place, sign).map(lambda three: three[0][: three[1]] + three[2] + three[0][three[1] :])
    without_sign = st.tuples(tree, place).map(lambda pair: pair[0][: pair[1]] + pair[0][pair[1] + 1 :])
    return st.one_of(tree, tree, with_sign, without_sign)


@pytest.mark.parametrize("kind", ["User", "Group"])
def test_a_random_filter_is_answered_or_refused_as_a_filter(scim: Scim, settings: Any, kind: str) -> None:
    settings.SCIM_RATE_LIMIT = 1_000_000
    user = scim.add_user("mira", title="a")["id"]
    scim.add_group("Team", user)
    everybody = {one["id"] for one in scim.get(f"/{kind}s").json()["Resources"]}
    statuses = set()

    @LIMITS
    @given(expressions(), st.booleans())
    def check(expression: str, is_searched: bool) -> None:
        if is_searched:
            answer = scim.post(f"/{kind}s/.search", {"filter": expression})
        else:
            answer = scim.get(f"/{kind}s", {"filter": expression})
        body = answer.json()
        assert answer.status_code in (200, 400), (expression, body)
        statuses.add(answer.status_code)
        if answer.status_code == 400:
            assert body["scimType"] in ("invalidFilter", "invalidValue"), (expression, body)
            assert "Resources" not in body
        else:
            keys = {one["id"] for one in body["Resources"]}
            assert keys <= everybody, expression
            assert body["totalResults"] == len(keys) == len(body["Resources"]), expression

    check()
    assert statuses == {200, 400}


def operations(member_ids: list[str], others: list[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return a strategy for the operations of a PATCH of a group. `known` are ids that can be members."""
    key = st.sampled_from([*member_ids, *member_ids, *others, member_ids[0].upper(), "", "mira"])
    part = st.sampled_from(("value", "VALUE", "display", "type", "$ref", "displayName", "nope"))
    leaf: st.SearchStrategy[Any] = st.one_of(
        key, st.sampled_from((None, "User", "Group", "robot", "x" * 256, 7, True, [], {}))
    )
    entry = st.one_of(
        key.map(lambda one: {"value": one}),
        key.map(lambda one: {"value": one}),
        st.tuples(key, part, leaf).map(lambda three: {"value": three[0], three[1]: three[2]}),
        st.dictionaries(part, leaf, max_size=3),
        leaf,
    )
    names = st.sampled_from(("Team", "team ", "Taken", "", " ", "x" * 256, "a\nb", None, 7))
    value = st.one_of(entry, st.lists(entry, max_size=4), st.lists(entry, max_size=4), names)
    condition = st.tuples(
        st.sampled_from(("value", "type", "display", "$ref", "nope")), st.sampled_from(("eq", "ne", "co")), key
    )
    selection = condition.map(lambda three: f'{three[0]} {three[1]} "{three[2]}"')
    conditions = st.one_of(selection, st.tuples(selection, st.sampled_from((" and ", " or ")), selection).map("".join))
    path = st.one_of(
        st.sampled_from(("members", "Members", f"{people.GROUP}:members", "members.value", "members.nope", "members[")),
        conditions.map("members[{}]".format),
        st.tuples(conditions, part).map(lambda pair: f"members[{pair[0]}].{pair[1]}"),
        st.sampled_from(("displayName", "externalId", "id", "meta.created", "schemas", people.SITE, "nope", "")),
        st.sampled_from(
            (f"{people.SITE}:value", f"{people.SITE}.displayName", f"{people.USER}:userName", people.GROUP)
        ),
        st.sampled_from((None, 7, [], " members ")),
    )
    resource = st.dictionaries(
        st.sampled_from(("members", "displayName", "externalId", "id", "nope", people.SITE, 'members[type eq "User"]')),
        value,
        max_size=3,
    )
    operation = st.fixed_dictionaries(
        {"op": st.sampled_from(("add", "Add", "replace", "REPLACE", "remove", "Remove", "move", None))},
        optional={"path": path, "value": value | resource},
    )
    return st.lists(operation, min_size=1, max_size=4)


@pytest.mark.parametrize("dialect", [Dialect.DOCUMENTED, Dialect.ENTRA])
def test_a_random_patch_of_a_group_does_what_it_says_or_nothing(
    scim_of: Any, other_site: Any, settings: Any, dialect: Dialect
) -> None:
    settings.SCIM_RATE_LIMIT, settings.DIRECTORY_BRAKE_PEOPLE = 1_000_000, 1_000_000
    scim = scim_of(dialect)
    users = [scim.add_user(f"u{number}")["id"] for number in range(3)]
    inner = scim.add_group("Inner", users[0])["id"]
    group = scim.add_group("Team", *users[:2])["id"]
    outer, other_group = scim.add_group("Outer", group)["id"], scim.add_group("Taken")["id"]
    elsewhere = Scim(people.make_token(people.make_directory(other_site))).add_user("theirs")["id"]
    member_ids = [*users, inner]
    strangers = [group, outer, elsewhere, str(uuid.UUID(int=7))]
    statuses = set()

    def state() -> tuple[Any, ...]:
        rows = RoleMembership.objects.order_by("pk").values()
        return list(Role.objects.order_by("pk").values()), list(rows), Change.objects.count()

    @LIMITS
    @given(operations([*member_ids, other_group], strangers))
    def check(patch: list[dict[str, Any]]) -> None:
        before = state()
        answer = scim.send("PATCH", f"/Groups/{group}", {"Operations": patch})
        statuses.add(answer.status_code)
        assert answer.status_code in (200, 204, 400, 409), (patch, answer.content)
        if answer.status_code >= 400:
            assert answer.json().get("scimType"), (patch, answer.content)
            assert state() == before, patch
            return
        after = scim.get(f"/Groups/{group}").json()
        assert answer.status_code == 204 or answer.json() == after, patch
        assert {one["value"] for one in after["members"]} <= {*member_ids, other_group}, patch
        assert scim.members(other_group) == set()

    check()
    assert {400, 204 if dialect == Dialect.ENTRA else 200} <= statuses
    assert scim.members(outer) == {group}
    assert User.objects.filter(pk=elsewhere, memberships=None).exists()


def test_a_random_patch_of_a_user_does_what_it_says_or_nothing(scim: Scim, settings: Any) -> None:
    settings.SCIM_RATE_LIMIT, settings.DIRECTORY_BRAKE_PEOPLE = 1_000_000, 1_000_000
    boss, user = scim.add_user("boss")["id"], scim.add_user("mira")["id"]
    plain = st.sampled_from((None, "a@b.test", "Baker", "", " ", "True", "x" * 256, 7, True, boss, user))
    entry = st.dictionaries(st.sampled_from(("value", "type", "primary", "display", "$ref", "nope")), plain, max_size=3)
    value = st.one_of(plain, entry, st.lists(entry | plain, max_size=3), st.dictionaries(st.sampled_from(NAMES), plain))
    selection = st.tuples(st.sampled_from(NAMES), expressions()).map(lambda pair: f"{pair[0]}[{pair[1]}]")
    path = st.one_of(st.sampled_from(NAMES), selection, selection.map("{}.value".format))
    operation = st.fixed_dictionaries(
        {"op": st.sampled_from(("add", "Replace", "remove"))}, optional={"path": path, "value": value}
    )

    def state() -> tuple[Any, ...]:
        return scim.user(user), list(User.objects.filter(pk=user).values()), Change.objects.count()

    @LIMITS
    @given(st.lists(operation, min_size=1, max_size=3))
    def check(patch: list[dict[str, Any]]) -> None:
        before = state()
        answer = scim.send("PATCH", f"/Users/{user}", json.dumps({"operations": patch}))
        assert answer.status_code in (200, 400, 409), (patch, answer.content)
        if answer.status_code >= 400:
            assert answer.json().get("scimType"), (patch, answer.content)
            assert state() == before, patch
        else:
            assert scim.user(user) == answer.json(), patch

    check()
