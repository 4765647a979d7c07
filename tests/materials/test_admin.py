"""The back-office pages of materials."""

import pytest
from django.urls import reverse

from materials.models import Material
from records.accounts.models import DefaultRole
from records.history.models import Change
from records.sites.models import Site
from tests.make.backoffice import address, browser, form_of, list_address, press
from tests.make.materials import make_category, make_material

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


@pytest.mark.parametrize("countries", [["Norway", " Korea "], [""], ["North\nMacedonia"]])
def test_countries_that_a_page_of_lines_cannot_show_as_they_are_stay_until_edited(
    site: Site, countries: list[str]
) -> None:
    material = make_material(site, country_of_origin=countries)
    page = address(material)
    client = browser(site)
    assert client.post(page, form_of(client.get(page))).status_code == 302
    material.refresh_from_db()
    assert material.country_of_origin == countries


@pytest.mark.parametrize("text", ["a\x00b", "Ger\x07many"])
def test_countries_with_control_characters_are_refused_as_any_text_is(site: Site, text: str) -> None:
    client, add = browser(site), reverse("admin:materials_material_add")
    page = client.post(add, {**form_of(client.get(add)), "name": "Flour", "country_of_origin": text})
    assert page.status_code == 200
    assert "Control characters are not allowed" in page.content.decode()
    assert not Material.objects.exists()


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
    assert press(client, step, {"change_reason": ""}).status_code == 200
    assert press(client, step, {"change_reason": "No longer bought"}).status_code == 302
    change = Change.objects.filter(record_id=material.pk).latest("number")
    assert (change.operation, change.reason) == ("ArchiveMaterial", "No longer bought")
    assert client.get(list_address(Material) + "?archived=yes&risk__exact=").status_code == 200


def test_several_materials_are_archived_at_once_with_a_reason_and_a_change_each(site: Site, other_site: Site) -> None:
    mine, foreign = [make_material(site) for _ in range(3)], make_material(other_site)
    client = browser(site)
    page, together = list_address(Material), reverse("admin:materials_material_bulk")
    assert 'name="_selected_action"' in client.get(page).content.decode()
    ids = [str(one.pk) for one in (*mine[:2], foreign)]
    data = {"step": "archive", "_selected_action": ids, "confirm": "yes", "change_reason": " "}
    assert client.post(together, data, follow=True).status_code == 200
    assert not Material.objects.filter(is_archived=True).exists()
    answer = client.post(together, {**data, "change_reason": "Range cleared"}, follow=True)
    assert "Archive: 2 of 2 done." in answer.content.decode()
    assert set(Material.objects.filter(is_archived=True)) == set(mine[:2])
    changes = Change.objects.filter(operation="ArchiveMaterial")
    assert sorted((str(one.record_id), one.reason) for one in changes) == sorted(
        (str(one.pk), "Range cleared") for one in mine[:2]
    )
    reader = browser(site, DefaultRole.READER)
    assert 'name="_selected_action"' not in reader.get(page).content.decode()
    reader.post(together, {**data, "_selected_action": [str(mine[2].pk)], "change_reason": "Because"}, follow=True)
    assert Material.objects.filter(is_archived=True).count() == 2


def test_the_list_is_narrowed_by_the_sites_own_categories(site: Site, other_site: Site) -> None:
    category, foreign = make_category(site, "Flours"), make_category(other_site, "Elsewhere")
    make_material(site, name="Wheat", material_category=category)
    make_material(site, name="Milk")
    client = browser(site)
    page = client.get(list_address(Material) + f"?category={category.pk}").content.decode()
    assert ("Wheat" in page, "Milk" in page, "Elsewhere" in page) == (True, False, False)
    for wrong in (foreign.pk, "x"):
        assert "Wheat" not in client.get(list_address(Material) + f"?category={wrong}").content.decode()
