"""What Okta sends: each K row of the provisioning cases, on both mounts."""

import logging
import uuid

import pytest

from tests.scim import people
from tests.scim.conftest import Scim, assert_error


def complete(user_name, **fields):
    return {
        "schemas": [people.USER],
        "userName": user_name,
        "name": {"givenName": "Test", "familyName": "User"},
        "emails": [{"primary": True, "value": user_name, "type": "work", "display": user_name}],
        "displayName": "Test User",
        "locale": "en-US",
        "externalId": "00ujl29u0le5T6Aj10h7",
        "groups": [],
        "password": "1mz050nq",
        "active": True,
        **fields,
    }


@pytest.mark.parametrize("count", [1, 2])
def test_k01_the_first_page_holds_a_complete_user(both, count):
    both.post("/Users", complete("test.user@okta.local"))
    answer = both.get(
        "/Users",
        {"count": count, "startIndex": 1},
        Accept="application/scim+json",
        Accept_Charset="utf-8",
    )
    assert answer.status_code == 200
    body = answer.json()
    assert [type(body[name]) for name in ("totalResults", "startIndex", "itemsPerPage")] == [int, int, int]
    first = body["Resources"][0]
    assert all([first["id"], first["userName"], first["name"]["givenName"], first["name"]["familyName"]])
    assert first["active"] is True
    assert first["emails"][0]["value"]


def test_k02_nobody_of_that_name_is_an_empty_list(both):
    answer = both.get("/Users", {"filter": 'userName eq "nobody"', "startIndex": 1, "count": 100})
    assert (answer.status_code, answer.json()["totalResults"]) == (200, 0)


def test_k03_an_unknown_id_is_404_in_scim(both):
    assert_error(both.get(f"/Users/{uuid.uuid4()}"), 404)
    assert_error(both.get("/Users/00ujl29u0le5T6Aj10h7"), 404)


def test_k04_a_user_is_made_from_json_and_no_password_comes_back(both):
    answer = both.send(
        "POST",
        "/Users",
        complete("test.user@okta.local"),
        "application/json",
        Accept="application/scim+json; charset=utf-8",
    )
    assert answer.status_code == 201, answer.content
    user = answer.json()
    assert user["userName"] == "test.user@okta.local"
    assert user["displayName"] == "Test User"
    assert user["emails"][0]["primary"] is True
    assert "password" not in user
    assert b"1mz050nq" not in answer.content


def test_k05_the_same_user_again_is_409(both):
    both.post("/Users", complete("test.user@okta.local"))
    assert_error(both.post("/Users", complete("test.user@okta.local")), 409, "uniqueness")


def test_k06_a_name_in_capitals_is_found(both):
    user = both.add_user("test.user@okta.local")
    assert both.ids("/Users", 'userName eq "TEST.USER@OKTA.LOCAL"') == [user["id"]]


@pytest.mark.parametrize("header", ["non-token", "Bearer non-token", "Bearer", ""])
def test_k07_a_wrong_token_is_401_with_a_body(both, header):
    answer = both.send("GET", "/Users", Authorization=header)
    assert_error(answer, 401)
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_k08_groups_are_listed(both):
    body = both.get("/Groups").json()
    assert isinstance(body["Resources"], list)
    assert {group["displayName"] for group in body["Resources"]} >= {"Reader", "Standard", "Manager"}


def test_k09_pages_follow_each_other(both):
    expected = sorted(both.add_user(f"user{number}")["id"] for number in range(9))
    ids = []
    for start in (1, 4, 7):
        body = both.get("/Users", {"startIndex": str(start), "count": "3"}).json()
        assert (body["startIndex"], body["itemsPerPage"], body["totalResults"]) == (start, 3, 9)
        ids += [user["id"] for user in body["Resources"]]
    assert ids == expected


def test_k10_a_user_is_read_changed_and_put_whole(both):
    user = both.post("/Users", complete("test.user@okta.local")).json()
    group = both.add_group("Team", user["id"])
    read = both.user(user["id"])
    read["name"]["familyName"] = "Changed"
    answer = both.put(f"/Users/{user['id']}", read)
    assert answer.status_code == 200, answer.content
    assert answer.json()["name"]["familyName"] == "Changed"
    assert answer.json()["groups"][0]["value"] == group["id"]
    assert answer.json()["displayName"] == "Test Changed"


def test_k11_a_user_is_deactivated_by_patch_or_put(both):
    user = both.post("/Users", complete("a@okta.local")).json()
    answer = both.apply(f"/Users/{user['id']}", {"op": "replace", "value": {"active": False}})
    assert (answer.status_code, answer.json()["active"]) == (200, False)
    other = both.post("/Users", complete("b@okta.local", externalId="2")).json()
    answer = both.put(f"/Users/{other['id']}", {**other, "active": False})
    assert (answer.status_code, answer.json()["active"]) == (200, False)


def test_k12_an_inactive_user_is_found_and_brought_back(both):
    user = both.post("/Users", complete("a@okta.local")).json()
    both.put(f"/Users/{user['id']}", {**user, "active": False})
    assert both.ids("/Users", 'userName eq "a@okta.local"') == [user["id"]]
    assert both.put(f"/Users/{user['id']}", {**user, "active": True}).json()["active"] is True


def test_k13_an_empty_group_is_made(both):
    answer = both.post("/Groups", {"schemas": [people.GROUP], "displayName": "Test SCIMv2", "members": []})
    assert answer.status_code == 201
    assert answer.json()["id"]


def test_k14_a_rename_carries_the_groups_own_id(both):
    group = both.add_group("Old")
    path = f"/Groups/{group['id']}"
    answer = both.apply(path, {"op": "replace", "value": {"id": group["id"], "displayName": "New"}})
    assert (answer.status_code, answer.json()["displayName"]) == (200, "New")
    answer = both.apply(path, {"op": "replace", "value": {"id": str(uuid.uuid4()), "displayName": "Newer"}})
    assert_error(answer, 400, "mutability")
    assert both.get(path).json()["displayName"] == "New"


def test_k15_one_patch_removes_and_adds(both):
    first, second = both.add_user("a")["id"], both.add_user("b")["id"]
    group = both.add_group("Team", first)
    answer = both.apply(
        f"/Groups/{group['id']}",
        {"op": "remove", "path": f'members[value eq "{first}"]'},
        {"op": "add", "path": "members", "value": [{"value": second, "display": "b@x"}]},
    )
    assert answer.status_code == 200
    members = both.get(f"/Groups/{group['id']}").json()["members"]
    assert [(member["value"], member["display"]) for member in members] == [(second, "b@x")]


def test_k16_members_are_replaced_whole(both):
    users = [both.add_user(f"u{number}")["id"] for number in range(3)]
    group = both.add_group("Team", users[0])
    value = [{"value": key, "display": "x"} for key in users[1:]]
    assert both.apply(f"/Groups/{group['id']}", {"op": "replace", "path": "members", "value": value}).status_code == 200
    assert both.members(group["id"]) == set(users[1:])


def test_k17_a_put_makes_name_and_members_exact(both):
    users = [both.add_user(f"u{number}")["id"] for number in range(3)]
    group = both.add_group("Team", users[0])
    body = {
        "schemas": [people.GROUP],
        "id": group["id"],
        "displayName": "Crew",
        "members": [{"value": key, "display": None} for key in users[1:]],
    }
    answer = both.put(f"/Groups/{group['id']}", body)
    assert answer.status_code == 200, answer.content
    assert answer.json()["displayName"] == "Crew"
    assert both.members(group["id"]) == set(users[1:])


def test_k18_a_group_is_deleted(both):
    group = both.add_group("Team")
    assert both.delete(f"/Groups/{group['id']}").status_code == 204
    assert_error(both.get(f"/Groups/{group['id']}"), 404)


def test_k19_me_is_not_built_and_the_configuration_says_what_is_true(both: Scim, caplog):
    with caplog.at_level(logging.ERROR):
        assert_error(both.get("/Me"), 501)
    assert not caplog.records
    config = both.get("/ServiceProviderConfig").json()
    assert config["bulk"]["supported"] is True
    assert config["patch"]["supported"] is (both.mount == "/scim")
