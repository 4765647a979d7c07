"""Callers who post at the same moment, on a real database with real threads."""

from typing import Any

import pytest

from materials.models import Material
from records.history.models import Change
from records.history.verification import verify
from records.sites.models import Entity, SiteSequence
from tests import make
from tests.make.materials import MaterialApi, make_api, make_material

pytestmark = pytest.mark.django_db(transaction=True)
CALLERS = 6


@pytest.fixture
def api() -> MaterialApi:
    return make_api(make.make_site("Hillside Bakery"))


def posting(api: MaterialApi, body: Any) -> Any:
    """Return a function that posts the body with a client of its own."""
    return lambda: api.again().upsert(body)


def test_racing_upserts_of_one_external_id_leave_one_material_and_all_answer_200(api: MaterialApi) -> None:
    bodies = [{"externalId": "SAME", "name": f"by {number}"} for number in range(CALLERS)]
    answers = make.at_once(*[posting(api, body) for body in bodies])
    assert [one.status_code for one in answers] == [200] * CALLERS, [one.content for one in answers]
    assert len({one.json()["Id"] for one in answers}) == 1
    material = Material.objects.get()
    assert (material.site_sequence_id, material.revision) == (1, CALLERS)
    assert Change.objects.filter(record_id=material.pk).count() == CALLERS
    assert SiteSequence.objects.get(site=api.site, entity=Entity.MATERIAL).last == 1
    assert not verify().faults


def test_racing_arrays_that_overlap_leave_each_material_once_and_no_gap(api: MaterialApi) -> None:
    material = make_material(api.site, external_id="E0")
    arrays = [
        [{"externalId": f"E{(number * 7 + caller * 3) % 20}", "name": f"by {caller}"} for number in range(20)]
        for caller in range(CALLERS)
    ]
    answers = make.at_once(*[posting(api, rows) for rows in arrays])
    assert [one.status_code for one in answers] == [200] * CALLERS, [one.content for one in answers]
    assert all(row["Error"] == "" for one in answers for row in one.json())
    numbers = list(Material.objects.order_by("site_sequence_id").values_list("site_sequence_id", flat=True))
    assert numbers == list(range(1, 21))
    assert {row["Id"] for one in answers for row in one.json() if row["externalId"] == "E0"} == {str(material.pk)}
    assert not verify().faults


def test_racing_renames_to_one_external_id_let_one_through(api: MaterialApi) -> None:
    keys = [str(make_material(api.site).pk) for _ in range(CALLERS)]
    bodies = [{"Id": key, "externalId": "WANTED", "name": "x"} for key in keys[1:]]
    answers = make.at_once(*[posting(api, body) for body in [{"externalId": "WANTED", "name": "new"}, *bodies]])
    codes = sorted(one.status_code for one in answers)
    assert set(codes) <= {200, 409}, [one.content for one in answers]
    assert Material.objects.filter(external_id="WANTED").count() == 1


def test_archiving_and_upserting_at_once_keep_the_count_right(api: MaterialApi) -> None:
    names = [make_material(api.site).external_id for _ in range(4)]

    def archive(name: str) -> Any:
        client = api.again()
        return client.send("DELETE", client.at(name))

    rows = [{"externalId": name, "name": "x"} for name in [*names, "N1", "N2"]]
    acts = [posting(api, rows), *[lambda name=name: archive(name) for name in names], posting(api, rows[::-1])]
    answers = make.at_once(*acts)
    assert [one.status_code for one in answers] == [200] * len(acts), [one.content for one in answers]
    sequence = SiteSequence.objects.get(site=api.site, entity=Entity.MATERIAL)
    assert (sequence.last, sequence.archived) == (6, Material.objects.filter(is_archived=True).count())
    assert sequence.archived == 4


def test_simultaneous_repeats_under_one_idempotency_key_write_once(api: MaterialApi) -> None:

    def post() -> Any:
        return api.again().upsert({"externalId": "", "name": "x"}, **{"Idempotency-Key": "k"})

    answers = make.at_once(*[post] * CALLERS)
    assert {one.status_code for one in answers} == {200}, [one.content for one in answers]
    assert len({one.json()["Id"] for one in answers}) == 1
    assert Material.objects.count() == 1
