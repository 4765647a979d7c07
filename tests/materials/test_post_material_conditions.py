"""Who may post materials, and what its headers ask of PostMaterial: once only, or of one revision only."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission

from materials.models import Material
from records.accounts import actions as account_actions
from records.accounts.models import Role
from tests import make
from tests.make.materials import MaterialApi, make_api
from tests.make.oauth import make_token


def test_a_reader_and_a_token_without_the_scope_cannot_write(site: Any) -> None:
    reader = make_api(site, make.DefaultRole.READER)
    assert reader.get(reader.at()).status_code == 200
    assert reader.upsert({"externalId": "A", "name": "x"}).status_code == 404
    narrow = make_api(site, scope="materials:read")
    answer = narrow.upsert({"externalId": "A", "name": "x"})
    assert (answer.status_code, answer.json()["Error"]) == (403, "Forbidden")
    assert 'error="insufficient_scope", scope="materials:write"' in answer["WWW-Authenticate"]
    assert not Material.objects.exists()


@pytest.mark.parametrize("accept", ["application/json", "application/xml"])
def test_a_repeated_post_under_one_idempotency_key_writes_once(materials: Any, accept: str) -> None:
    body = {"externalId": "", "name": "x"}
    first, again = (materials.upsert(body, **{"Idempotency-Key": "k1", "Accept": accept}) for _ in range(2))
    assert first.content == again.content
    assert again["Content-Type"].startswith(accept)
    assert Material.objects.count() == 1
    other = materials.upsert({"externalId": "", "name": "y"}, **{"Idempotency-Key": "k1"})
    assert (other.status_code, other.json()["Error"]) == (409, "IdempotencyMismatch")


def test_archiving_through_a_post_needs_the_permission_to_archive(site: Any) -> None:
    user = make.make_user(site=site)
    names = ["view_material", "add_material", "change_material"]
    role = Role(site=site, name="ERP")
    account_actions.add_role(role, permissions=Permission.objects.filter(codename__in=names), author=make.SYSTEM)
    account_actions.set_members(role, add=[user], author=make.SYSTEM)
    api = MaterialApi(make.make_key(site, user=user), make_token(user))
    assert api.upsert({"externalId": "A", "name": "x"}).status_code == 200
    answer = api.upsert({"externalId": "A", "name": "y", "isArchived": True})
    assert (answer.status_code, answer.json()["Error"]) == (403, "Forbidden")
    assert api.send("DELETE", api.at("A")).status_code == 404
    assert api.get(api.at("A")).json()["name"] == "x"


def test_if_match_says_which_revision_is_to_be_changed(materials: Any) -> None:
    key = materials.upsert({"externalId": "A", "name": "x"}).json()["Id"]
    for stale in ('"0"', '"2"', 'W/"2"', '"1x"', "nonsense", '""'):
        answer = materials.upsert({"externalId": "A", "name": "y"}, **{"If-Match": stale})
        assert (answer.status_code, answer.json()["Error"]) == (412, "PreconditionFailed"), stale
    for new in ('"1"', "*"):
        answer = materials.upsert({"externalId": "B", "name": "y"}, **{"If-Match": new})
        assert (answer.status_code, answer.json()["Error"]) == (412, "PreconditionFailed"), new
    assert list(Material.objects.values_list("name", flat=True)) == ["x"]
    for current in ('W/"1"', '"7", "2"', "*"):
        answer = materials.upsert({"Id": key, "externalId": "A", "name": current}, **{"If-Match": current})
        assert answer.status_code == 200, answer.content


def test_if_none_match_adds_a_material_and_never_changes_one(materials: Any) -> None:
    only_new = {"If-None-Match": "*"}
    assert materials.upsert({"externalId": "A", "name": "x"}, **only_new).status_code == 200
    answer = materials.upsert({"externalId": "A", "name": "y"}, **only_new)
    assert (answer.status_code, answer.json()["Error"]) == (412, "PreconditionFailed")
    assert Material.objects.get().name == "x"


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
def test_a_condition_on_an_array_is_refused_instead_of_ignored(materials: Any, header: str) -> None:
    answer = materials.upsert([{"externalId": "A", "name": "x"}], **{header: "*"})
    assert (answer.status_code, answer.json()["Error"]) == (412, "PreconditionFailed")
    assert not Material.objects.exists()


def test_a_repeat_answers_the_first_ones_tag_in_the_media_type_asked_for(materials: Any) -> None:
    once = {"Idempotency-Key": "k"}
    materials.upsert({"externalId": "A", "name": "x"})
    assert materials.upsert({"externalId": "A", "name": "y"}, **once)["ETag"] == '"2"'
    materials.upsert({"externalId": "A", "name": "z"})
    assert materials.upsert({"externalId": "A", "name": "y"}, **once)["ETag"] == '"2"'
    assert materials.upsert({"externalId": "A", "name": "y"}, **once, Accept="text/xml")["ETag"] == '"2-x"'
