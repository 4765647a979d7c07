"""Lists and upserts of 100,000 materials and 36,000 employees against their own SQL; a served page against a peer."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import orjson
from django.conf import settings
from django.db import models

from bench.harness import Table, compare, has_peer, pace, serving, serving_asgi, timer
from bench.rows import call, copy, migrate, sql
from materials.models import Material
from materials.serializers import MaterialSerializer
from records.operations.json_subqueries import DATE_TIME_FORM
from records.sites.models import SiteSequence
from tests import make
from tests.make.materials import MaterialApi, make_api, make_material

MATERIALS, EMPLOYEES = 100_000, 36_000
PAGE = 100


def measure(table: Table) -> None:
    """Measure lists, the search for a code, and upserts."""
    migrate()
    site = make.make_site("Lists")
    api = make_api(site)
    copy(
        make_material(site),
        MATERIALS,
        2,
        id="gen_random_uuid()",
        site_sequence_id="n",
        external_id="'ERP-' || n",
        name="'Material ' || md5(n::text)",
    )
    copy(make.make_employee(site), EMPLOYEES, 2, id="gen_random_uuid()", site_sequence_id="n", code="'E-' || n")
    SiteSequence.objects.filter(site=site, entity=Material.ENTITY).update(last=MATERIALS + 1)
    sql("VACUUM ANALYZE materials_material")
    sql("VACUUM ANALYZE employees_employee")
    columns = ", ".join(f'"{field.column}"' for field in Material._meta.concrete_fields)
    page = (
        f"SELECT {columns} FROM materials_material WHERE site_id = %s AND NOT is_archived ORDER BY site_sequence_id, id"  # noqa: S608
    )
    for count, aim in ((1000, "≤ 4"), (PAGE, "-")):
        request = get(api, api.at(limit=count))

        def rows(_: int, count: int = count) -> Any:
            return orjson.dumps(sql(f"{page} LIMIT {count}", site.pk), default=str)

        table.times(
            f"{count:,} of {MATERIALS:,} materials", compare(timer(request), timer(rows)), "SQL and orjson", aim
        )
    against_peer(table, api)
    code = "SELECT * FROM employees_employee WHERE site_id = %s AND UPPER(code) = UPPER(%s)"
    request = get(api, "/employee/GetEmployeeList?code=E-35000")
    rounds = compare(timer(request), timer(lambda _: sql(code, site.pk, "E-35000")))
    table.times(f"GetEmployeeList?code= of {EMPLOYEES:,}", rounds, "SQL", "≤ 8 ms")
    for count, aim in ((1, "≤ 3.3"), (500, "≤ 2")):
        rounds = compare(timer(upsert(api, count)), timer(bare_upsert(site.pk, count)))
        table.times(f"Upsert of {count} materials", rounds, "one statement", aim)


def against_peer(table: Table, api: MaterialApi) -> None:
    """Measure a page through the served product, against a peer that answers the same documented list."""
    if not has_peer("asyncpg", "orjson"):
        return
    columns = MaterialSerializer.plan().columns
    select = ", ".join(f'{_wire_expression(column)} AS "{name}"' for name, column in columns.items())
    environment = {
        "PEER_COLUMNS": json.dumps({name: column.column for name, column in columns.items()}),
        "PEER_SHOWN": select,
        "PEER_PEPPER": settings.CREDENTIAL_PEPPERS[0],
    }
    with serving("config.wsgi") as product, serving_asgi("bench.page_peer:app", **environment) as peer:
        product_pace = pace(product + api.at(limit=PAGE), api.headers)
        rounds = compare(product_pace, pace(f"{peer}/page?siteId={api.site.pk}&limit={PAGE}", api.headers))
    table.times(f"{PAGE} of {MATERIALS:,} materials, served", rounds, "FastAPI + asyncpg + orjson", "≤ 1.3")


def _wire_expression(column: Any) -> str:
    """Return the expression of a column in the form in which the interface shows it."""
    if isinstance(column, models.DateTimeField):
        return f"to_char({column.column} AT TIME ZONE 'UTC', {DATE_TIME_FORM})"
    return f'"{column.column}"'


def get(api: MaterialApi, path: str) -> Callable[[int], Any]:
    """Return a function that sends the request."""
    return lambda _: call("GET", path, api.headers)


def upsert(api: MaterialApi, count: int) -> Callable[[int], Any]:
    """Return a function that changes that many materials, and adds them the first time."""

    def act(turn: int) -> None:
        rows = [{"externalId": f"KNOWN-{count}-{row}", "name": f"Turn {uuid.uuid4()}"} for row in range(count)]
        answer = orjson.loads(call("POST", api.at(), api.headers, rows))
        assert all(row["Error"] == "" for row in answer), answer

    return act


def bare_upsert(site_id: uuid.UUID, count: int) -> Callable[[int], Any]:
    """Return a function that changes that many materials by one statement."""

    def act(turn: int) -> None:
        # Names like those of `upsert`, because the cost of the index of their parts depends on them.
        rows = json.dumps({f"ERP-{row + 10}": f"Turn {uuid.uuid4()}" for row in range(count)})
        sql(
            "UPDATE materials_material m SET name = g.value, revision = revision + 1 FROM json_each_text(%s::json) g "
            "WHERE m.site_id = %s AND m.external_id = g.key",
            rows,
            site_id,
        )

    return act
