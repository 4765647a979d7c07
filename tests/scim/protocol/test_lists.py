"""Lists: how long a page is, what a walk through the pages meets, several sites, and attributes that do not exist."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.accounts.models import Role
from tests.scim import people
from tests.scim.conftest import Scim, assert_error, last_outcome
from tests.shared_fixtures import shared_fixture


def ids(answer) -> list[str]:
    return [one["id"] for one in answer.json()["Resources"]]


def test_a_page_holds_a_hundred_unless_asked_and_two_hundred_at_most(both, site):
    Role.objects.bulk_create(Role(site=site, name=f"R{n}", name_key=f"r{n}") for n in range(201))
    config = both.get("/ServiceProviderConfig").json()
    assert (config["filter"]["maxResults"], config["pagination"]["maxPageSize"]) == (200, 200)
    assert config["pagination"]["defaultPageSize"] == 100
    for query, size in (({}, 100), ({"count": 200}, 200), ({"count": 201}, 200), ({"count": ""}, 100)):
        for paging in ({}, {"startIndex": 2}, {"cursor": ""}):
            body = both.get("/Groups", {**query, **paging}).json()
            assert (body["itemsPerPage"], len(body["Resources"]), body["totalResults"]) == (size, size, 205)
        body = both.post("/Groups/.search", query).json()
        assert (body["itemsPerPage"], body["totalResults"]) == (size, 205)
    last = both.get("/Groups", {"startIndex": 205}).json()
    assert (last["startIndex"], last["itemsPerPage"], last["totalResults"]) == (205, 1, 205)


@shared_fixture
def members(documented_token):
    return {Scim(documented_token).add_user(f"m{number}")["id"] for number in range(11)}


@pytest.mark.parametrize("query", [{}, {"filter": "active eq true"}, {"sortBy": "userName"}])
def test_a_walk_misses_nobody_who_was_there_while_others_are_added(both, members, query):
    walk: list[str] = []
    for start in range(1, 30, 3):
        walk += ids(both.get("/Users", {**query, "startIndex": start, "count": 3}))
        both.add_user(f"a{start}")
    assert members <= set(walk)


def test_a_directory_of_two_sites_tells_their_groups_apart_by_the_extension(scim_of, directory, site, other_site):
    directory.sites.add(other_site)
    scim = scim_of()
    local_group = scim.add_group("Bakers")
    foreign_group = scim.add_group("BAKERS", **{people.SITE: {"value": str(other_site.pk).upper()}})
    assert local_group[people.SITE] == {"value": str(site.pk), "displayName": site.name}
    assert foreign_group[people.SITE] == {"value": str(other_site.pk), "displayName": other_site.name}
    assert scim.ids("/Groups", 'displayName eq "bakers"') == sorted((local_group["id"], foreign_group["id"]))
    at = f'displayName eq "bakers" and {people.SITE}:value eq "{other_site.pk}"'
    assert scim.ids("/Groups", at) == [foreign_group["id"]]
    for group in (local_group, foreign_group):
        again = {"displayName": "bakers", people.SITE: group[people.SITE]}
        assert_error(scim.post("/Groups", again), 409, "uniqueness")
        answer = scim.put(f"/Groups/{group['id']}", {people.SITE: {"value": str(other_site.pk)}})
        assert answer.status_code == (200 if group is foreign_group else 400)
    answer = scim.put(f"/Groups/{local_group['id']}", {"members": [{"value": foreign_group["id"]}]})
    assert_error(answer, 400, "invalidValue")


def test_groups_without_a_name_are_told_apart_by_their_ids(both):
    first, second = (both.post("/Groups", {"schemas": [people.GROUP]}).json() for _ in range(2))
    assert first["id"] != second["id"]
    assert both.ids("/Groups", "not (displayName pr)") == sorted((first["id"], second["id"]))


@pytest.mark.usefixtures("group")
@pytest.mark.parametrize("way", ["attributes", "excludedAttributes"])
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/Users", "userNam"),
        ("/Users", "name.nope"),
        ("/Users", "userName.nope"),
        ("/Users", f"{people.ENTERPRISE}:nope"),
        ("/Users", f"{people.SITE}:value"),
        ("/Users", "urn:foo:2.0:User:x"),
        ("/Users", "members"),
        ("/Groups", "emails"),
        ("/Groups", "members.nope"),
        ("/.search", "nope"),
    ],
)
def test_a_name_that_is_no_attribute_is_named_in_the_log(both, way, path, name):
    query = {way: ["id", name]} if path == "/.search" else {way: f"id,{name}"}
    answer = both.post(path, query) if path == "/.search" else both.get(path, query)
    assert answer.status_code == 200
    assert last_outcome() == f"Answered. Ignored, because the schemas do not declare it: {name}."
    expected = {"schemas", "id"}
    assert all((set(one) == expected) == (way == "attributes") for one in answer.json()["Resources"])


@shared_fixture
def full_user(documented_token):
    """Return the id of a user with a value of every kind."""
    scim = Scim(documented_token)
    more = {"manager": {"value": scim.add_user("boss")["id"]}, "employeeNumber": "7"}
    user = scim.add_user("mira", externalId="7", x509Certificates=[{"value": "QUJD"}], **{people.ENTERPRISE: more})
    scim.add_group("Team", user["id"])
    return user["id"]


@pytest.mark.parametrize(
    "name",
    [
        "USERNAME",
        f"{people.USER}:userName",
        people.USER,
        people.EMPLOYEE.upper(),
        f"{people.EMPLOYEE}.position",
        "position",
        "manager",
        f"{people.ENTERPRISE}:manager.displayName",
        "employeeNumber",
        "name.familyName",
        'emails[type eq "work"].value',
        "meta.lastModified",
        "externalId",
        "groups.$ref",
        "x509Certificates",
    ],
)
def test_a_name_of_an_attribute_is_known_in_every_form(both, full_user, name):
    answer = both.get(f"/Users/{full_user}", {"attributes": name})
    assert set(answer.json()) > {"schemas", "id"}
    assert last_outcome() == "Answered."
    both.get(f"/Users/{full_user}", {"excludedAttributes": name})
    assert last_outcome() == "Answered."


def test_a_write_names_the_attributes_that_do_not_exist_too(both):
    answer = both.post("/Users?attributes=userName,nope", people.user_body("mira"))
    assert set(answer.json()) == {"schemas", "id", "userName"}
    assert f" Ignored, because the schemas do not declare it: nope. Id: {answer.json()['id']}." in last_outcome()
    answer = both.put(f"/Users/{answer.json()['id']}?excludedAttributes=emials", {"userName": "mira", "title": "Lead"})
    assert last_outcome().endswith(" Ignored, because the schemas do not declare it: emials.")
    assert "emails" in answer.json()


@pytest.mark.parametrize("name", ["q", "search", "limit", "page", "orderBy"])
def test_a_parameter_that_nothing_reads_is_named_in_the_log(both, name):
    assert both.get("/Users", {name: "1", "aadOptscim062020": ""}).status_code == 200
    assert last_outcome() == f"Answered. Ignored, because the schemas do not declare it: {name}."


def test_a_read_or_write_of_one_names_what_only_a_list_reads(both):
    user = both.add_user("mira")
    query = "filter=userName+eq+%22other%22&attributes=userName,nope"
    for answer in (
        both.send("GET", f"/Users/{user['id']}?{query}"),
        both.send("PUT", f"/Users/{user['id']}?{query}", user),
    ):
        assert set(answer.json()) == {"schemas", "id", "userName"}
        assert last_outcome().endswith("Ignored, because the schemas do not declare it: filter, nope.")
    assert_error(both.send("GET", f"/Users/{user['id']}?atributes=userName"), 400, "invalidSyntax")


def test_a_search_names_what_nothing_reads(both):
    body = {"filter": 'userName eq "mira"', "comment": "x", "count": 1}
    assert both.post("/Users/.search", body).status_code == 200
    assert last_outcome() == "Answered. Ignored, because the schemas do not declare it: comment."


@pytest.mark.parametrize("name", ["position", f"{people.EMPLOYEE}.position", f"{people.EMPLOYEE.upper()}:POSITION"])
def test_lists_are_sorted_by_a_name_that_only_an_extension_declares(both, name):
    keys = [both.add_user(text, **{people.EMPLOYEE: {"position": text}})["id"] for text in ("b", "C", "a")]
    assert ids(both.get("/Users", {"sortBy": name})) == [keys[2], keys[0], keys[1]]
    assert_error(both.get("/Groups", {"sortBy": name}), 400, "invalidPath")


READ_OF_MEMBERS = '"accounts_rolemembership"."display"'


def test_members_that_are_left_out_are_not_read(scim: Scim):
    group = scim.add_group("Team", scim.add_user("mira")["id"])
    path = f"/Groups/{group['id']}"
    for address, query in (
        (path, {"excludedAttributes": "MEMBERS"}),
        (path, {"attributes": "displayName"}),
        ("/Groups", {"excludedAttributes": f"{people.GROUP}:members", "filter": 'displayName eq "team"'}),
    ):
        with CaptureQueriesContext(connection) as read:
            answer = scim.get(address, query)
        assert answer.status_code == 200
        assert '"members"' not in answer.content.decode()
        assert READ_OF_MEMBERS not in str(read.captured_queries)
    with CaptureQueriesContext(connection) as read:
        assert scim.get(path).json()["members"]
    assert READ_OF_MEMBERS in str(read.captured_queries)
