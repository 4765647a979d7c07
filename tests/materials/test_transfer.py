"""Import and export of materials: found by external id, in few statements, with no more in the diff than moved."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from materials.models import Material
from records.history.models import Change
from records.sites.models import Entity, Site
from tests import make
from tests.make.backoffice import browser
from tests.make.materials import make_category, make_material
from tests.make.transfer import as_csv, bring_in, check, export, faults, table, text_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_an_exported_file_imported_again_changes_nothing(site: Site, kind: str) -> None:
    materials(site)
    client = browser(site)
    before = Change.objects.count()
    report = check(client, Material, export(client, Material, kind), f"file.{kind}")
    assert "There is nothing to import" in text_of(report), faults(report)
    assert report.context["unchanged"] == 3
    assert Change.objects.count() == before


def test_archiving_by_file_needs_its_permission(site: Site) -> None:
    material = make_material(site, external_id="1")
    data = [{"externalId": "1", "isArchived": "yes"}]
    user = make.make_user(site=site)
    make.make_role(site, ["materials.view_material", "materials.change_material"], [user])
    report = check(browser(site, user=user), Material, data)
    assert faults(report) == {2: ["isArchived: You may not archive or restore materials."]}
    bring_in(browser(site), Material, data)
    assert Material.objects.get(pk=material.pk).is_archived


def materials(site: Site) -> Any:
    make_material(site, external_id="000 1/ä", country_of_origin=["Norway", "Korea; South"], risk="High")
    make_material(
        site, material_category=make_category(site, "Flour"), entity_folder=make.make_folder(site, Entity.MATERIAL)
    )
    make_material(site, external_id="", name="")
    return Material


def test_a_bulk_change_of_the_risk_alone_shows_the_risk_alone(site: Site) -> None:
    for number in range(5):
        make_material(site, external_id=f"00{number}", risk="Low" if number else "High", country_of_origin=["Norway"])
    client = browser(site)
    rows = [{**row, "risk": "High"} for row in table(export(client, Material))]
    bring_in(client, Material, rows)
    changes = list(Change.objects.filter(channel="Import"))
    assert len(changes) == 4
    assert all(change.fields == [{"field": "risk", "old": "Low", "new": "High"}] for change in changes)
    assert set(Material.objects.values_list("risk", flat=True)) == {"High"}


def test_materials_are_imported_in_a_constant_number_of_statements(site: Site) -> None:
    client = browser(site)

    def cost(start: int, count: int) -> int:
        rows = [{"externalId": f"{number:06}", "name": "Flour"} for number in range(start, start + count)]
        with CaptureQueriesContext(connection) as queries:
            bring_in(client, Material, rows)
        return len(queries)

    cost(0, 2)
    assert cost(100, 20) == cost(10, 3)
    assert Material.objects.count() == 25


def test_a_material_is_found_by_its_external_id(site: Site) -> None:
    material = make_material(site, external_id="0007", name="Flour")
    bring_in(
        browser(site), Material, [{"externalId": "0007", "name": "Rye flour"}, {"externalId": "0008", "name": "Oats"}]
    )
    assert Material.objects.get(pk=material.pk).name == "Rye flour"
    assert Material.objects.count() == 2
    report = check(
        browser(site), Material, as_csv([{"externalId": "9", "name": "A"}, {"externalId": "9", "name": "B"}])
    )
    assert faults(report) == {3: ["Row 2 is about the same material."]}
