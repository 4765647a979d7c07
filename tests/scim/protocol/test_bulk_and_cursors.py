"""Many writes in one request, pages by cursor, and groups within groups."""

import itertools
import time

import pytest
from django.core.cache import cache
from django.http import HttpResponse

from records.accounts.models import Dialect, User
from scim import bulk
from scim.models import ProvisioningCall
from tests.scim import people
from tests.scim.conftest import Scim, assert_error
from tests.shared_fixtures import shared_fixture

BULK = "urn:ietf:params:scim:api:messages:2.0:BulkRequest"


def send(scim: Scim, *operations: dict, **fields):
    return scim.post("/Bulk", {"schemas": [BULK], "Operations": list(operations), **fields})


def add_user(name: str, bulk_id: str = "", **fields) -> dict:
    return {
        "method": "POST",
        "path": "/Users",
        "bulkId": bulk_id or name,
        "data": people.user_body(name, **fields),
    }


def statuses(answer) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [one["status"] for one in answer.json()["Operations"]]


def test_a_bulk_makes_changes_and_removes_and_tells_of_each(both):
    old = both.add_user("old")
    answer = send(
        both,
        add_user("mira"),
        {"method": "PUT", "path": f"/Users/{old['id']}", "data": {**old, "title": "Lead"}},
        {"method": "DELETE", "path": f"/Users/{old['id']}"},
    )
    assert statuses(answer) == ["201", "200", "204"]
    body = answer.json()
    assert body["schemas"] == [bulk.BULK_RESPONSE]
    post, put, delete = body["Operations"]
    assert post["bulkId"] == "mira"
    assert both.get(post["location"].partition(both.mount)[2]).json()["userName"] == "mira"
    assert f"{both.mount}/Users/" in post["location"]
    assert (post["method"], put["method"], delete["method"]) == ("POST", "PUT", "DELETE")
    assert post["version"].startswith('W/"')
    assert both.get(f"/Users/{old['id']}").status_code == 404


def test_every_result_names_its_resource_but_that_of_a_post_that_failed(scim_of):
    scim = scim_of(Dialect.ENTRA)
    user, group = scim.add_user("mira")["id"], scim.add_group("Team")["id"]
    rename = {"Operations": [{"op": "replace", "path": "displayName", "value": "Crew"}]}
    answer = send(
        scim,
        {"method": "PATCH", "path": f"/Groups/{group}", "data": rename},
        {"method": "PUT", "path": f"/Users/{user}/", "data": {"userName": ""}},
        {"method": "DELETE", "path": f"/users/{user}"},
        {"method": "DELETE", "path": "/Users/nobody"},
        add_user(" ", "failed"),
        {"method": "DELETE", "path": "/elsewhere"},
    )
    assert statuses(answer) == ["204", "400", "204", "404", "400", "400"]
    base = scim.get("/ServiceProviderConfig").json()["meta"]["location"].removesuffix("/ServiceProviderConfig")
    places = [one.get("location", "").removeprefix(base) for one in answer.json()["Operations"]]
    assert places == [f"/Groups/{group}", f"/Users/{user}", f"/users/{user}", "/Users/nobody", "", ""]


@pytest.mark.parametrize("bulk_id", ["Mira Novak", "Users/7", 'a"b]', "bulkId:1", "7"])
def test_a_member_names_any_bulk_id(both, bulk_id):
    data = {"displayName": "Team", "members": [{"value": f"BULKID:{bulk_id}"}]}
    group = {"method": "POST", "path": "/Groups", "bulkId": "g", "data": data}
    answer = send(both, group, add_user("mira", bulk_id))
    assert statuses(answer) == ["201", "201"]
    ids = {one["bulkId"]: one["location"].rpartition("/")[2] for one in answer.json()["Operations"]}
    assert both.members(ids["g"]) == {ids[bulk_id]}
    again = {"method": "PUT", "path": f"/Groups/{ids['g']}", "data": {"members": [{"value": f"bulkId:{bulk_id} "}]}}
    assert statuses(send(both, again)) == ["409"]


def test_a_text_about_a_bulk_id_is_stored_as_it_was_sent(both):
    texts = {"title": "Ticket bulkId:1", "displayName": "bulkId:77"}
    noah = add_user("noah", "2")
    noah["data"] = {**noah["data"], **texts}
    group = {"method": "POST", "path": "/Groups", "bulkId": "g", "data": {"displayName": "Team bulkid:x"}}
    answer = send(both, add_user("mira", "1"), noah, group)
    assert statuses(answer) == ["201", "201", "201"]
    user = both.get(answer.json()["Operations"][1]["location"].partition(both.mount)[2]).json()
    assert {name: user[name] for name in texts} == texts


def test_a_manager_of_a_bulk_is_named_by_a_bulk_id(scim):
    enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
    noah = add_user("noah", "2")
    noah["data"] = {**noah["data"], enterprise: {"manager": {"value": "bulkId:1"}}}
    change = {"Operations": [{"op": "add", "path": f"{enterprise}:manager", "value": "bulkId:2"}]}
    third = add_user("ida", "3")
    answer = send(
        scim, noah, add_user("mira", "1"), third, {"method": "PATCH", "path": "/Users/bulkId:3", "data": change}
    )
    assert sorted(statuses(answer)) == ["200", "201", "201", "201"]
    paths = {one.get("bulkId"): one["location"].partition(scim.mount)[2] for one in answer.json()["Operations"]}
    for name, manager in (("2", "1"), ("3", "2")):
        assert scim.get(paths[name]).json()[enterprise]["manager"]["value"] == paths[manager].rpartition("/")[2]


def test_a_path_of_a_bulk_may_end_with_a_slash(both):
    operation = send(both, {**add_user("mira"), "path": "/Users/"}).json()["Operations"][0]
    assert operation["status"] == "201"
    path = operation["location"].partition(both.mount)[2]
    assert statuses(send(both, {"method": "DELETE", "path": f"{path}/"})) == ["204"]


def test_what_an_operation_makes_is_named_by_its_bulk_id_wherever_it_comes(scim):
    group = {
        "method": "POST",
        "path": "/Groups",
        "bulkId": "g",
        "data": {"displayName": "Team", "members": [{"value": "bulkId:mira"}]},
    }
    remove = {
        "method": "PATCH",
        "path": "/Groups/bulkId:g",
        "data": {
            "Operations": [
                {"op": "add", "path": "members", "value": [{"value": "bulkId:noah"}]},
                {"op": "remove", "path": 'members[value eq "bulkId:mira"]'},
            ]
        },
    }
    answer = send(scim, remove, group, add_user("mira"), add_user("noah"))
    assert sorted(statuses(answer)) == ["200", "201", "201", "201"]
    ids = {one.get("bulkId"): one["location"].rpartition("/")[2] for one in answer.json()["Operations"]}
    assert scim.members(ids["g"]) == {ids["noah"]}


def test_each_operation_has_its_own_transaction_and_errors_tell_why(both):
    both.add_user("taken")
    answer = send(both, add_user("taken"), add_user("mira"), {"method": "DELETE", "path": "/Users/nobody"})
    assert statuses(answer) == ["409", "201", "404"]
    operation = answer.json()["Operations"][0]
    assert "location" not in operation
    assert (operation["response"]["scimType"], operation["response"]["status"]) == ("uniqueness", "409")
    assert both.ids("/Users", 'userName eq "mira"')


def test_a_bulk_stops_after_as_many_errors_as_it_was_told(both):
    nobody = {"method": "DELETE", "path": "/Users/nobody"}
    answer = send(both, nobody, nobody, add_user("mira"), failOnErrors=2)
    assert statuses(answer) == ["404", "404"]
    assert both.ids("/Users", 'userName eq "mira"') == []
    assert statuses(send(both, nobody, add_user("mira"), failOnErrors=2)) == ["404", "201"]
    assert_error(send(both, nobody, failOnErrors=0), 400, "invalidValue")


def test_references_in_a_circle_or_to_nothing_are_conflicts(scim):
    def group(name: str, member: str) -> dict:
        data = {"displayName": name, "members": [{"value": f"bulkId:{member}"}]}
        return {"method": "POST", "path": "/Groups", "bulkId": name, "data": data}

    assert statuses(send(scim, group("a", "b"), group("b", "a"))) == ["409", "409"]
    assert statuses(send(scim, group("a", "nobody"))) == ["409"]
    assert scim.get("/Groups", {"filter": 'displayName eq "a"'}).json()["totalResults"] == 0


def test_a_long_chain_of_references_costs_little_time():
    operations = [
        bulk.Operation("POST", "/Users", {}, f"u{number}", "", {f"u{number + 1}"} if number < 999 else set())
        for number in range(1_000)
    ]
    numbers = itertools.count(1)

    def send(*call):
        return HttpResponse(status=201, headers={"Location": f"/scim/Users/{next(numbers)}"})

    start = time.thread_time()
    results = bulk.run(operations, None, send, "/scim")
    assert time.thread_time() - start < 5
    assert [one["bulkId"] for one in results] == [f"u{number}" for number in reversed(range(1_000))]


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ({"method": "GET", "path": "/Users"}, "400"),
        ({"method": "POST", "path": "/Users", "data": {"userName": "x"}}, "400"),
        ({"method": "POST", "path": "/Bulk", "bulkId": "1", "data": {}}, "400"),
        ({"method": "POST", "path": "/../admin/", "bulkId": "1", "data": {}}, "400"),
        ({"method": "POST", "path": "/Users/.search", "bulkId": "1", "data": {}}, "400"),
        ({"method": "POST", "path": "/Groups/.SEARCH", "bulkId": "1", "data": {}}, "400"),
        ({"method": "DELETE", "path": "/Users"}, "405"),
        ({"method": "PUT", "path": "/Users/x", "data": {"userName": "x"}}, "404"),
        ({"method": "DELETE", "path": "/Users/\u65e5\u672c"}, "404"),
    ],
)
def test_an_operation_that_cannot_be_is_an_error_of_its_own(both, operation, status):
    answer = send(both, operation, add_user("mira"))
    assert statuses(answer) == [status, "201"]


def test_the_mount_without_patch_has_none_in_a_bulk_either(scim_of):
    scim = scim_of(mount="/prodscim")
    user = scim.add_user("mira")
    data = {"Operations": [{"op": "replace", "path": "active", "value": False}]}
    assert statuses(send(scim, {"method": "PATCH", "path": f"/Users/{user['id']}", "data": data})) == ["405"]
    assert scim.user(user["id"])["active"] is True


def test_versions_are_judged_in_a_bulk(scim, user):
    put = {"method": "PUT", "path": f"/Users/{user['id']}", "data": {**user, "title": "Lead"}}
    assert statuses(send(scim, {**put, "version": 'W/"99"'}, {**put, "version": user["meta"]["version"]})) == [
        "412",
        "200",
    ]


def test_the_limits_of_a_bulk_are_those_that_are_told(both):
    limits = both.get("/ServiceProviderConfig").json()["bulk"]
    assert limits == {"supported": True, "maxOperations": bulk.MOST_OPERATIONS, "maxPayloadSize": bulk.LARGEST_PAYLOAD}
    nobody = {"method": "DELETE", "path": "/Users/nobody"}
    assert_error(send(both, *[nobody] * (bulk.MOST_OPERATIONS + 1)), 413)
    assert_error(send(both, {**nobody, "data": "x" * bulk.LARGEST_PAYLOAD}), 413)


@pytest.mark.parametrize(
    ("misspelt", "in_an_operation"), [("failOnError", False), ("Operation", False), ("verison", True), ("dat", True)]
)
def test_a_misspelt_name_in_a_bulk_is_refused_whole(scim, misspelt, in_an_operation):
    operation = {**add_user("mira"), **({misspelt: "x"} if in_an_operation else {})}
    answer = send(scim, operation, **({} if in_an_operation else {misspelt: 1}))
    assert_error(answer, 400, "invalidSyntax")
    assert scim.ids("/Users", 'userName eq "mira"') == []


@pytest.mark.parametrize(
    "body", [{}, {"Operations": []}, {"Operations": [1]}, {"Operations": [{"path": 5}]}, {"schemas": ["x"]}]
)
def test_a_malformed_bulk_is_refused(both, body):
    assert_error(both.post("/Bulk", body), 400, "invalidSyntax")


def test_every_operation_counts_and_has_its_line_in_the_log(scim, settings):
    send(scim, add_user("mira"), {"method": "DELETE", "path": "/Users/nobody"})
    lines = ProvisioningCall.objects.order_by("-id")[:3]
    assert {(line.method, line.line, line.status) for line in lines} == {
        ("POST", "/scim/Bulk", 200),
        ("POST", "/scim/Users", 201),
        ("DELETE", "/scim/Users/nobody", 404),
    }
    cache.clear()
    settings.SCIM_RATE_LIMIT = 3
    answer = send(scim, add_user("a"), add_user("b"), add_user("c"))
    assert statuses(answer) == ["201", "201", "429"]


def walk(scim: Scim, path: str, query: dict) -> list[str]:
    """Return the ids on all pages, by cursor."""
    ids: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        body = scim.get(path, {**query, "cursor": cursor}).json()
        assert "startIndex" not in body, body
        assert body["itemsPerPage"] == len(body["Resources"])
        ids += [one["id"] for one in body["Resources"]]
        cursor = body.get("nextCursor")
    return ids


@shared_fixture
def _staff(documented_token):
    for number, title in enumerate(["", "b", "a", "b", "É", "", "z"]):
        Scim(documented_token).add_user(f"u{number}", title=title, active=number % 3 > 0)


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"sortBy": "title"},
        {"sortBy": "title", "sortOrder": "descending"},
        {"sortBy": "meta.created"},
        {"sortBy": "active", "sortOrder": "descending"},
        {"filter": 'userName sw "u"'},
        {"filter": "title pr", "sortBy": "name.familyName"},
    ],
)
@pytest.mark.usefixtures("_staff")
def test_pages_by_cursor_meet_everybody_once_in_order(both, query):
    expected = [one["id"] for one in both.get("/Users", query).json()["Resources"]]
    for count in (1, 2, 3, 7, 100):
        assert walk(both, "/Users", {**query, "count": count}) == expected


def test_a_walk_by_cursor_misses_nobody_while_others_come_and_go(scim):
    keys = sorted(scim.add_user(f"u{number}")["id"] for number in range(6))
    first = scim.get("/Users", {"cursor": "", "count": 3}).json()
    scim.delete(f"/Users/{keys[0]}")
    second = scim.get("/Users", {"cursor": first["nextCursor"], "count": 3}).json()
    assert [one["id"] for one in [*first["Resources"], *second["Resources"]]] == keys
    assert (first["totalResults"], second["totalResults"]) == (6, 5)
    assert "nextCursor" not in second


def test_both_kinds_are_walked_by_cursor(scim, user, group):
    ids: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        body = scim.post("/.search", {"cursor": cursor, "count": 2}).json()
        ids += [one["id"] for one in body["Resources"]]
        cursor = body.get("nextCursor")
    assert ids[0] == user["id"]
    assert group["id"] in ids
    assert len(ids) == len(set(ids)) == body["totalResults"]


def test_a_cursor_of_another_query_or_of_nobody_is_refused(both):
    for number in range(3):
        both.add_user(f"u{number}")
    cursor = both.get("/Users", {"cursor": "", "count": 1}).json()["nextCursor"]
    for wrong in (
        {"cursor": "x"},
        {"cursor": cursor, "sortBy": "title"},
        {"cursor": cursor, "filter": "active eq true"},
    ):
        assert_error(both.get("/Users", wrong), 400, "invalidCursor")
    assert_error(both.get("/Groups", {"cursor": cursor}), 400, "invalidCursor")
    assert_error(both.get("/Users", {"cursor": "", "startIndex": 1}), 400, "invalidValue")
    assert both.get("/ServiceProviderConfig").json()["pagination"]["cursor"] is True
    assert both.get("/Users", {"cursor": "", "count": 0}).json()["Resources"] == []


def test_a_user_shows_groups_within_groups_and_is_found_by_them(both):
    mira, noah, other = (both.add_user(name)["id"] for name in ("mira", "noah", "other"))
    inner = both.add_group("Inner", mira)["id"]
    middle = both.add_group("Middle", inner)["id"]
    outer = both.add_group("Outer", middle, noah)["id"]
    both.add_group("Beside", other)
    types = {one["value"]: one["type"] for one in both.user(mira)["groups"]}
    assert types == {inner: "direct", middle: "indirect", outer: "indirect"}
    users = {one["id"]: one for one in both.get("/Users").json()["Resources"]}
    assert users[mira] == both.user(mira)
    assert {one["type"] for one in users[noah]["groups"]} == {"direct"}
    assert set(both.ids("/Users", f'groups.value eq "{outer}"')) == {mira, noah}
    assert both.ids("/Users", f'groups[value eq "{outer}" and type eq "indirect"]') == [mira]
    assert set(both.ids("/Users", 'groups.display eq "middle"')) == {mira}
    assert set(both.ids("/Users", 'not (groups.type eq "indirect")')) == {noah, other}
    assert User.objects.filter(pk=mira).exists()
