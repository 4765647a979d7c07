"""A walk through both mounts."""

from tests.scim import people


def test_a_user_and_a_group_live_and_go_on_both_mounts(both):
    user = both.add_user("Mira@Corp.local", externalId="x1")
    assert both.get(f"/Users/{user['id']}").json() == user
    group = both.add_group("Team", user["id"])
    for expression in (
        'userName eq "mira@CORP.local"',
        "externalId eq x1",
        'emails[type eq "work"].value eq "mira@corp.local"',
        'name.familyName sw "nov" and active eq true',
        'meta.lastModified ge "0001-01-03T00:00:00.0000000Z"',
        f'groups.value eq "{group["id"]}"',
        'displayName co "MIRA"',
        "not (title pr)",
        f'{people.EMPLOYEE}:folder eq "line 1"',
    ):
        assert both.ids("/Users", expression) == [user["id"]], expression
    assert both.put(f"/Users/{user['id']}", user).status_code == 200
    assert both.delete(f"/Users/{user['id']}").status_code == 204
    assert both.get(f"/Users/{user['id']}").status_code == 404
    assert both.delete(f"/Groups/{group['id']}").status_code == 204
    assert both.get("/Users").json()["totalResults"] == 0
