"""How PostgreSQL reads a list: through one index for every key that it can be sorted by, in both directions."""

import itertools
import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from materials.models import SORT_KEYS, Material
from materials.serializers import MaterialSerializer
from records.operations.names import snake
from tests import make
from tests.make.materials import make_api

SIZE = 4000
SORTS = [
    name
    for name in MaterialSerializer.Meta.fields
    if {snake(name), snake(name).removesuffix("_id")} & {*SORT_KEYS, "id", "is_archived"}
]
pytestmark = pytest.mark.django_db
FILL = """
INSERT INTO materials_material (id, site_id, site_sequence_id, is_archived, revision, created, last_modified,
    external_id, name, our_code, supplier_code, description, country_of_origin, risk, reason_for_change)
SELECT gen_random_uuid(), %(site)s, n, n %% 10 = 0, 1, now() - n * interval '1 hour', now() - n * interval '1 minute',
    'E' || n, 'Material ' || md5(n::text), 'C' || (n %% 50), '', repeat('Stored dry. ', 20), '[]',
    (ARRAY['Low', 'High', ''])[1 + n %% 3], ''
  FROM generate_series(1, %(size)s) n
"""


@pytest.fixture
def api() -> Any:
    """Return the client of a site among others, with enough materials that a sort or a scan would show."""
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL's plans only.")
    client = make_api(make.make_site("Hillside Bakery"))
    for site in (client.site, make.make_site(), make.make_site()):
        with connection.cursor() as cursor:
            cursor.execute(FILL, {"site": site.pk, "size": SIZE})
            cursor.execute(
                "INSERT INTO sites_sitesequence (site_id, entity, last, archived) VALUES (%s, 'material', %s, %s)",
                (site.pk, SIZE, SIZE // 10),
            )
            cursor.execute("ANALYZE materials_material")
    return client


def plans_of(api: Any, path: str) -> list[str]:
    """Return the plan of every statement on materials that the request ran."""
    with CaptureQueriesContext(connection) as queries:
        answer = api.get(path)
    assert answer.status_code == 200, answer.content
    plans = []
    for query in queries.captured_queries:
        if 'FROM "materials_material"' in query["sql"]:
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN (COSTS OFF) " + query["sql"].replace("%", "%%"))
                plans.append("\n".join(row[0] for row in cursor.fetchall()))
    assert plans
    return plans


def test_no_page_scans_the_table_or_sorts(api: Any) -> None:
    faults = []
    for sort, order in itertools.product(SORTS, ("asc", "desc")):
        first, deep = (api.at(sort=sort, order=order, limit=50, startIndex=start) for start in (0, 1000))
        next_page = api.get(deep)["Link"].partition(">")[0].removeprefix("<http://127.0.0.1:8000")
        for path in (first, deep, next_page, api.at(sort=sort, order=order, limit=50, isArchived="true")):
            plans = plans_of(api, path)
            faults += [f"{path}\n{plan}" for plan in plans if re.search(r"Seq Scan|Sort", plan)]
    assert not faults, "\n".join(faults)


def test_materials_are_found_by_external_id_without_scanning(api: Any) -> None:
    for path in (api.at("E77"), api.at(externalId="e77")):
        for plan in plans_of(api, path):
            assert "Seq Scan" not in plan, plan


def test_an_upsert_finds_its_materials_without_scanning(api: Any) -> None:
    with CaptureQueriesContext(connection) as queries:
        api.upsert([{"externalId": f"E{number}", "name": "x"} for number in range(1, 40)])
    selects = [one["sql"] for one in queries.captured_queries if "FOR NO KEY UPDATE" in one["sql"]]
    materials = [sql for sql in selects if 'FROM "materials_material"' in sql]
    assert len(materials) == 1
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (COSTS OFF) " + materials[0].replace("%", "%%"))
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Seq Scan" not in plan, plan
    assert Material.objects.filter(site=api.site, name="x").count() == 39
