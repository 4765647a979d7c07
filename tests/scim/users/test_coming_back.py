"""People whom a directory had deactivated and now posts again under the identifier that it gave them."""

from records.employees.models import Employee
from tests.scim import people
from tests.scim.conftest import Scim, assert_error


def test_an_inactive_user_comes_back_under_the_directorys_own_identifier(both):
    first = both.add_user("mira", externalId="hr-7", title="Baker")
    assert_error(both.post("/Users", people.user_body("other", externalId="hr-7")), 409, "uniqueness")
    both.apply(f"/Users/{first['id']}", {"op": "replace", "path": "active", "value": False})
    assert_error(both.post("/Users", people.user_body("MIRA", externalId="hr-8")), 409, "uniqueness")
    assert_error(both.post("/Users", people.user_body("mira", externalId="")), 409, "uniqueness")
    for name in ("mira", "mira.novak"):
        answer = both.post("/Users", people.user_body(name, externalId="hr-7"))
        assert answer.status_code == 201, answer.content
        back = answer.json()
        assert (back["id"], back["userName"], back["active"]) == (first["id"], name, True)
        assert answer["Location"] == back["meta"]["location"]
        assert Employee.objects.filter(user_id=back["id"]).count() == 1
        both.apply(f"/Users/{first['id']}", {"op": "replace", "path": "active", "value": False})


def test_only_the_directory_that_gave_an_identifier_brings_its_user_back(scim, site):
    first = scim.add_user("mira", externalId="hr-7", active=False)
    stranger = Scim(people.make_token(people.make_directory(site)))
    answer = stranger.post("/Users", people.user_body("other", externalId="hr-7"))
    assert answer.status_code == 201
    assert answer.json()["id"] != first["id"]
    assert not scim.user(first["id"])["active"]
    scim.delete(f"/Users/{first['id']}")
    again = scim.post("/Users", people.user_body("mira", externalId="hr-7"))
    assert again.status_code == 201
    assert again.json()["id"] != first["id"]
