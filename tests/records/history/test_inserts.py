"""Many rows are stored by one statement, exactly as they are."""

import datetime

import pytest
from django.utils import timezone

from materials import upserts
from materials.models import Material
from records.history.inserts import insert_rows
from records.history.models import Change
from records.history.verification import verify
from records.sites.models import Site
from tests import make

pytestmark = pytest.mark.django_db

TEXTS = (
    "plain",
    'a "quoted" word',
    "C:\\new\\table",
    "two\nlines\twith a tab",
    "\\n",
    "NULL",
    "null",
    "{a,b}",
    "",
    "ä€😀",
)


def test_texts_are_stored_as_they_are(site: Site) -> None:
    desired = [
        upserts.DesiredMaterial(
            {"external_id": f"E-{number}", "description": text, "country_of_origin": [text, "x"]}, reason=text[:20]
        )
        for number, text in enumerate(TEXTS)
    ]
    results = upserts.upsert_all(site.pk, desired, author=make.SYSTEM, may=lambda permission: True)
    assert all(isinstance(one, upserts.StoredMaterial) for one in results)
    rows = Material.objects.at(site.pk).order_by("site_sequence_id").values_list("description", "country_of_origin")
    assert list(rows) == [(text, [text, "x"]) for text in TEXTS]
    assert [
        change.reason for change in Change.objects.filter(site=site, model="materials.Material").order_by("number")
    ] == [text[:20] for text in TEXTS]
    assert not verify().faults


def test_values_that_are_not_of_the_columns_type_are_adapted(site: Site) -> None:
    naive = datetime.datetime(2024, 5, 31, 8, 30)  # noqa: DTZ001 (that is what is tested)
    rows = [
        Material(site=site, site_sequence_id=str(number), name=number, created=naive, last_modified=naive)
        for number in (1, 2)
    ]
    with pytest.warns(RuntimeWarning, match="naive"):
        insert_rows(rows)
    aware = timezone.make_aware(naive, datetime.UTC)
    assert list(Material.objects.at(site.pk).order_by("pk").values_list("created", flat=True)) == [aware, aware]
    assert sorted(Material.objects.at(site.pk).values_list("name", flat=True)) == ["1", "2"]
