"""Random filters over groups: the database's answer against the models' own evaluation in memory."""

import json

import pytest
from django.test import RequestFactory
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scim2_models import InvalidFilterException, ScimFilter

from records.accounts.models import Dialect
from scim.callers import caller_of
from scim.lists import filter_rows
from scim.models import ProvisioningCall
from scim.requests import Query
from scim.schemas import POLICY, GroupResource
from tests.scim import people
from tests.scim.filters.test_differential import ORDER, QUIET, comparing_text, logical, operands

TEXTS = [
    "id",
    "displayName",
    "externalId",
    "members",
    "members.value",
    "members.display",
    "members.type",
    "members.$ref",
    "meta.resourceType",
    "meta.location",
    "meta.version",
    "schemas",
    f"{people.SITE}:value",
    f"{people.SITE}:displayName",
    f"{people.GROUP}:displayName",
    f"{people.GROUP}:members",
]
MOMENTS = ["meta.created", "meta.lastModified"]
INNER = ["value", "display", "type"]


def population(scim):
    """Add groups that differ in everything that filters look at, people and groups among their members."""
    first, second = scim.add_user("Ada@Corp.local", displayName='Ada "The" Head'), scim.add_user("élise")
    inner = scim.add_group("ÖVEN 100%", first["id"], externalId="g1")
    scim.add_group("Bakers\\Line", first["id"], second["id"], inner["id"], externalId="G1")
    scim.add_group("", second["id"])
    members = [{"value": second["id"], "display": "ΜΊΡΑΣ"}, {"value": inner["id"], "display": "Öven_"}]
    scim.add_group("bakers", members=members)


def filters(values, moments):
    """Return a strategy for filters."""
    text = comparing_text(values)
    inside = st.one_of(
        st.tuples(st.sampled_from(INNER), text).map(" ".join),
        st.sampled_from(INNER).map("{} pr".format),
    )
    leaf = st.one_of(
        st.tuples(st.sampled_from(TEXTS), text).map(" ".join),
        st.tuples(st.sampled_from(MOMENTS), st.sampled_from([*ORDER[:2], *ORDER[5:]]), st.sampled_from(moments)).map(
            " ".join
        ),
        st.sampled_from([*TEXTS, *MOMENTS, "meta"]).map("{} pr".format),
        logical(inside, 3).map("members[{}]".format),
    )
    return logical(leaf, 5)


@pytest.mark.parametrize("dialect", [Dialect.DOCUMENTED, Dialect.RFC])
def test_group_filters_find_what_the_models_find_in_memory(scim_of, dialect, site):
    scim = scim_of(dialect)
    population(scim)
    documents = scim.get("/Groups").json()["Resources"]
    assert len([one for one in documents if one["members"]]) == 4
    for document in documents:
        document[people.SITE].setdefault("displayName", site.name)
    documents = [people.without_unassigned(document) for document in documents]
    resources = [GroupResource.model_validate(document) for document in documents]
    moments = [json.dumps(document["meta"]["created"]) for document in documents] + ['"2001-01-01T00:00:00+02:00"']
    request = RequestFactory().get("/scim/Groups", headers={"Authorization": f"Bearer {scim.secret}"})
    caller = caller_of(request, "scim")

    @settings(QUIET, max_examples=50)
    @given(filters(operands(documents), moments))
    @example("not (members pr) or displayName eq null")
    @example('members ne "x" and members[display co "_" or type ne "User"]')
    @example('members.type eq "GROUP" and not (members.display sw "μ")')
    @example('displayName sw "Ö" or externalId eq "g1"')
    def check(expression):
        with POLICY:
            try:
                scim_filter = ScimFilter[GroupResource](expression)
            except InvalidFilterException:
                with pytest.raises(InvalidFilterException):
                    filter_rows(caller, "Group", Query(filter=expression))
                return
            expected = {resource.id for resource in resources if scim_filter.match(resource)}
            pks = filter_rows(caller, "Group", Query(filter=expression)).values_list("pk", flat=True)
        assert {str(key) for key in pks} == expected, expression

    check()


@pytest.mark.parametrize("door", ["add", "put", "post"])
def test_the_name_of_a_member_is_stored_and_found_in_composed_letters(scim, door):
    user = scim.add_user("mira")["id"]
    members = [{"value": user, "display": "E\u0301lan\r\nVITAL"}]
    group = scim.add_group("Team", members=members if door == "post" else [])["id"]
    for _ in range(2):
        if door == "put":
            scim.put(f"/Groups/{group}", {"members": members})
        else:
            scim.patch(f"/Groups/{group}", {"op": "add", "path": "members", "value": members})
        document = scim.get(f"/Groups/{group}").json()
        assert [one["display"] for one in document["members"]] == ["\u00c9lan\nVITAL"]
    assert ProvisioningCall.objects.filter(outcome__startswith="Nothing changed:").count() == 1 + (door == "post")
    for name in ("\u00e9lan\\nvital", "E\u0301LAN\\nVital"):
        assert scim.ids("/Groups", f'members.display eq "{name}"') == [group]
        assert scim.ids("/Groups", f'members[display sw "{name[:3]}"]') == [group]
