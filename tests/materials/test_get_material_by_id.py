"""GetMaterialById and DeleteMaterial: which material a path names, and who may see it."""

import uuid
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from records.history.models import Change
from records.sites.models import Entity, SiteSequence
from tests import make
from tests.make.materials import MaterialApi, make_api, make_material
from tests.make.oauth import make_token

ODD = [
    "a/b",
    "a/",
    "/",
    "//x",
    "a b",
    "ä€😀",
    "%41",
    "a%2Fb",
    "a?b",
    "a#b",
    "a&b=c",
    "..",
    ".",
    "a\nb",
    "a\tb",
    "+",
    "é",
    "'\"<>",
    "x" * 255,
]


@pytest.mark.parametrize("external_id", ODD)
@pytest.mark.parametrize("server_passes_the_raw_address", [True, False])
def test_any_characters_of_an_external_id_are_found(
    materials: Any, external_id: str, server_passes_the_raw_address: bool
) -> None:
    key = materials.upsert({"externalId": external_id, "name": "x"}).json()["Id"]
    for ending in ("", "/"):
        path = f"/materials/{quote(external_id, safe='')}{ending}?siteId={materials.site.pk}"
        extra: Any = {"RAW_URI": path} if server_passes_the_raw_address else {}
        answer = Client(raise_request_exception=False).get(path, headers=materials.headers, **extra)
        assert answer.status_code == 200, (path, answer.content)
        assert answer.json()["Id"] == key


def test_the_raw_address_tells_an_encoded_slash_from_a_trailing_one(materials: Any) -> None:
    with_slash = materials.upsert({"externalId": "a/", "name": "x"}).json()["Id"]
    without = materials.upsert({"externalId": "a", "name": "x"}).json()["Id"]
    for path, key in (("/materials/a%2F", with_slash), ("/materials/a%2F/", with_slash), ("/materials/a/", without)):
        raw = f"{path}?siteId={materials.site.pk}"
        answer = Client().get(raw, headers=materials.headers, RAW_URI=raw)
        assert answer.json()["Id"] == key, path


def test_a_path_that_is_no_utf8_names_nothing(materials: Any) -> None:
    materials.upsert({"externalId": "%FF", "name": "x"})
    raw = f"/materials/%FF?siteId={materials.site.pk}"
    answer = Client().get(raw, headers=materials.headers, RAW_URI=raw)
    assert (answer.status_code, answer.json()["Error"]) == (400, "InvalidId")
    raw = f"/materials/%25FF?siteId={materials.site.pk}"
    assert Client().get(raw, headers=materials.headers, RAW_URI=raw).json()["externalId"] == "%FF"


def test_the_external_id_wins_over_the_id_and_both_take_any_case_of_an_id(materials: Any) -> None:
    later = str(uuid.uuid4())
    by_external = materials.upsert({"externalId": later, "name": "x"}).json()["Id"]
    assert materials.get(materials.at(later)).json()["Id"] == by_external
    assert materials.get(materials.at(by_external.upper())).json()["Id"] == by_external
    assert materials.get(materials.at(str(uuid.uuid4()))).status_code == 404


def test_a_material_of_another_site_is_not_found(materials: Any, other_site: Any) -> None:
    foreign = make_material(other_site, external_id="F")
    for name in ("F", str(foreign.pk)):
        assert materials.get(materials.at(name)).status_code == 404
        assert materials.send("DELETE", materials.at(name)).status_code == 404
    foreign.refresh_from_db()
    assert not foreign.is_archived


def test_site_id_must_name_a_site_at_which_the_user_holds_the_permission(materials: Any, other_site: Any) -> None:
    for query in (
        "",
        "?siteId=",
        "?siteId=xyz",
        f"?siteId={uuid.uuid4().hex}",
        f"?siteId={uuid.uuid4()},{uuid.uuid4()}",
    ):
        answer = materials.get(f"/materials/{query}")
        assert (answer.status_code, answer.json()["Error"]) == (400, "InvalidParameter"), query
        assert "siteId" in answer.json()["Message"]
    parameter = f"siteId={materials.site.pk}"
    assert materials.get(f"/materials/?{parameter}&{parameter}").status_code == 200
    assert materials.get(f"/materials/?{parameter}&siteId={other_site.pk}").status_code == 400
    unknown, foreign = (materials.get(f"/materials/?siteId={key}") for key in (uuid.uuid4(), other_site.pk))
    assert unknown.status_code == foreign.status_code == 404
    assert unknown.json()["Message"] == foreign.json()["Message"]
    make.give_role(materials.key.user, other_site, make.DefaultRole.READER)
    assert materials.get(f"/materials/?SITEID={str(other_site.pk).upper()}").status_code == 200
    assert materials.post(f"/materials/?siteId={other_site.pk}", {"externalId": "A", "name": "x"}).status_code == 404


def test_both_credentials_of_one_user_are_needed(materials: Any, site: Any) -> None:
    path = materials.at()
    key, token = materials.headers["Ocp-Apim-Subscription-Key"], materials.headers["Authorization"].split()[1]
    stranger = make.make_key(site)

    def get(**headers: str) -> Any:
        headers_by_name = {name.replace("_", "-"): value for name, value in headers.items()}
        return Client(raise_request_exception=False).get(path, headers=headers_by_name)

    assert get(Ocp_Apim_Subscription_Key=key, Authorization=token).status_code == 200
    assert get(Ocp_Apim_Subscription_Key=key, Authorization=f"bearer  {token}").status_code == 200
    missing = get(Ocp_Apim_Subscription_Key=key)
    assert (missing.status_code, missing["WWW-Authenticate"]) == (401, 'Bearer realm="Larder"')
    assert "SubscriptionKey" in get(Authorization=f"Bearer {token}")["WWW-Authenticate"]
    for authorization in ("Bearer x", "Basic eDp4", f"Bearer {key}", "Bearer " + "x" * 9000, "Bearer é"):
        answer = get(Ocp_Apim_Subscription_Key=key, Authorization=authorization)
        assert (answer.status_code, answer.json()["Error"]) == (401, "Unauthorized")
        assert 'error="invalid_token"' in answer["WWW-Authenticate"]
    other = get(Ocp_Apim_Subscription_Key=stranger.secret, Authorization=f"Bearer {token}")
    assert (other.status_code, 'error="invalid_token"' in other["WWW-Authenticate"]) == (401, True)
    assert get(Ocp_Apim_Subscription_Key="x", Authorization=f"Bearer {token}").status_code == 401


def test_requests_are_limited_by_key_and_by_token(materials: Any, settings: Any, site: Any) -> None:
    settings.RATE_LIMIT = 3
    second_key = make.make_key(site, user=materials.key.user)
    answers = [materials.get(materials.at()) for _ in range(2)]
    assert [one["X-RateLimit-Remaining"] for one in answers] == ["2", "1"]
    with_second = MaterialApi(second_key, materials.headers["Authorization"].split()[1])
    assert with_second.get(with_second.at())["X-RateLimit-Remaining"] == "0"
    answer = with_second.get(with_second.at())
    assert (answer.status_code, answer.json()["Error"]) == (429, "RateLimited")
    assert int(answer["Retry-After"]) > 0


def test_wrong_tokens_are_counted_against_the_address_while_good_ones_work(materials: Any, settings: Any) -> None:
    settings.AUTH_FAILURE_LIMIT = 2
    codes = [materials.get(materials.at(), Authorization="Bearer x").status_code for _ in range(3)]
    assert codes == [401, 401, 429]
    assert materials.get(materials.at()).status_code == 200


def test_a_single_material_has_an_etag(materials: Any) -> None:
    materials.upsert({"externalId": "A", "name": "x"})
    tag = materials.get(materials.at("A"))["ETag"]
    assert materials.get(materials.at("A"), **{"If-None-Match": tag}).status_code == 304
    stale = materials.send("DELETE", materials.at("A"), **{"If-Match": '"9"'})
    assert (stale.status_code, stale.json()["Error"]) == (412, "PreconditionFailed")
    assert materials.send("DELETE", materials.at("A"), **{"If-Match": tag}).status_code == 200


def test_json_and_xml_have_tags_of_their_own_and_either_names_the_revision(materials: Any) -> None:
    xml = {"Accept": "application/xml"}
    xml_tag = materials.upsert({"externalId": "A", "name": "x"}, **xml)["ETag"]
    in_json, in_xml = materials.get(materials.at("A"))["ETag"], materials.get(materials.at("A"), **xml)["ETag"]
    assert (in_json, in_xml, xml_tag) == ('"1"', '"1-x"', '"1-x"')
    assert materials.get(materials.at("A"), **xml, **{"If-None-Match": in_json}).status_code == 200
    assert materials.get(materials.at("A"), **xml, **{"If-None-Match": in_xml})["ETag"] == in_xml
    assert materials.get(materials.at("A"), **{"If-None-Match": in_xml}).status_code == 200
    assert materials.upsert({"externalId": "A", "name": "y"}, **{"If-Match": in_xml})["ETag"] == '"2"'


def test_delete_archives_once_with_its_reason_and_can_be_repeated(materials: Any) -> None:
    key = materials.upsert({"externalId": "a/b", "name": "x"}).json()["Id"]
    for _ in range(2):
        answer = materials.send("DELETE", materials.at("a/b", reasonForChange="No longer bought"))
        assert (answer.status_code, answer.json()) == (200, {"Error": "", "Message": "Success.", "Id": key})
    shape = materials.get(materials.at(key)).json()
    assert (shape["isArchived"], shape["reasonForChange"]) == (True, "No longer bought")
    change = Change.objects.get(record_id=key, operation="DeleteMaterial")
    assert (change.reason, change.fields) == (
        "No longer bought",
        [{"field": "is_archived", "old": False, "new": True}],
    )
    answer = materials.upsert({"externalId": "a/b", "name": "x", "isArchived": False})
    assert answer.json()["Id"] == key
    sequence = SiteSequence.objects.get(site=materials.site, entity=Entity.MATERIAL)
    assert (sequence.last, sequence.archived) == (1, 0)


def test_a_reason_in_the_body_of_a_delete_is_refused_instead_of_lost(materials: Any) -> None:
    materials.upsert({"externalId": "M-1", "name": "Flour"})
    answer = materials.send("DELETE", materials.at("M-1"), {"reasonForChange": "Not bought"})
    assert answer.status_code == 400, answer.content
    assert [fault["Field"] for fault in answer.json()["Fields"]] == ["reasonForChange"]
    assert materials.get(materials.at("M-1")).json()["isArchived"] is False
    assert materials.send("DELETE", materials.at("M-1"), {}).status_code == 200


def test_other_methods_are_405_with_what_the_path_takes(materials: Any) -> None:
    for path, methods in (
        (materials.at(), {"GET", "POST", "HEAD", "OPTIONS"}),
        (materials.at("A"), {"GET", "DELETE", "HEAD", "OPTIONS"}),
    ):
        answer = materials.put(path, {})
        assert (answer.status_code, set(answer["Allow"].split(", "))) == (405, methods)
        assert materials.send("OPTIONS", path).status_code == 204
        assert materials.send("HEAD", path).content == b""


def test_a_path_with_control_characters_is_400_invalid_id(materials: Any) -> None:
    answer = materials.get(f"/materials/a%00b?siteId={materials.site.pk}")
    assert (answer.status_code, answer.json()["Error"]) == (400, "InvalidId")
    assert materials.get(f"/materials/%FF?siteId={materials.site.pk}").status_code in (400, 404)


def test_a_superuser_may_use_every_site_that_exists(site: Any, other_site: Any) -> None:
    user = make.make_user(site=site, is_superuser=True)
    key = make.make_key(site, user=user)
    api = MaterialApi(key, make_token(user))
    assert api.get(f"/materials/?siteId={other_site.pk}").status_code == 200
    assert api.get(f"/materials/?siteId={uuid.uuid4()}").status_code == 404


def test_reads_cost_a_fixed_number_of_queries(site: Any, django_assert_num_queries: Any) -> None:
    api = make_api(site)
    make_material(site, external_id="A")
    api.get(api.at("A"))
    with django_assert_num_queries(1):
        assert api.get(api.at("A")).status_code == 200
    with django_assert_num_queries(2):
        assert api.get(api.at()).status_code == 200
