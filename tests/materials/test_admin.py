"""The back-office pages of materials."""

import pytest

from materials.models import Material
from records.history.models import Change
from records.sites.models import Site
from tests.make_backoffice import address, browser, form_of, list_address
from tests.make_materials import make_material

pytestmark = pytest.mark.django_db


def test_a_material_is_added_and_changed_with_countries_on_a_line_each(site: Site) -> None:
    client = browser(site)
    add = list_address(Material) + "add/"
    data = {**form_of(client.get(add)), "name": "Flour", "external_id": "0001", "country_of_origin": "Norway\r\nKorea"}
    assert client.post(add, data).status_code == 302
    material = Material.objects.get()
    assert (material.external_id, material.country_of_origin) == ("0001", ["Norway", "Korea"])
    page = address(material)
    assert client.post(page, form_of(client.get(page))).status_code == 302
    assert Change.objects.filter(record_id=material.pk).count() == 1
    data = {**form_of(client.get(page)), "country_of_origin": "Norway", "change_reason": "New supplier"}
    assert client.post(page, data).status_code == 302
    material.refresh_from_db()
    assert (material.country_of_origin, material.reason_for_change) == (["Norway"], "New supplier")
    change = Change.objects.filter(record_id=material.pk).latest("number")
    assert change.fields == [{"field": "country_of_origin", "old": ["Norway", "Korea"], "new": ["Norway"]}]


def test_an_external_id_in_use_is_refused_and_changes_nobody(site: Site) -> None:
    make_material(site, external_id="0001", name="Flour")
    other = make_material(site, external_id="0002")
    client = browser(site)
    add = list_address(Material) + "add/"
    answer = client.post(add, {**form_of(client.get(add)), "name": "Oats", "external_id": "0001"})
    assert "Another material of the site has this external id" in answer.content.decode()
    page = address(other)
    data = {**form_of(client.get(page)), "external_id": "0001", "change_reason": "Typing"}
    assert "Another material of the site has this external id" in client.post(page, data).content.decode()
    assert sorted(Material.objects.values_list("external_id", "name")) == [("0001", "Flour"), ("0002", other.name)]


def test_archiving_asks_why_and_leaves_one_change(site: Site) -> None:
    material = make_material(site)
    client = browser(site)
    step = address(material).replace("change/", "do/archive/")
    assert client.post(step, {"change_reason": ""}).status_code == 200
    assert client.post(step, {"change_reason": "No longer bought"}).status_code == 302
    change = Change.objects.filter(record_id=material.pk).latest("number")
    assert (change.operation, change.reason) == ("ArchiveMaterial", "No longer bought")
    assert client.get(list_address(Material) + "?archived=yes&risk__exact=").status_code == 200
