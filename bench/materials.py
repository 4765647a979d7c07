"""Lists and upserts of 100,000 and 1,000,000 materials: five alternating rounds, medians, against their own SQL.

Run by hand: `python -m tests.postgres --durable python -m bench.materials`. Requests run in this process, through the
whole product, so that nothing but the product is measured. Prints each figure beside what it may cost.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ["RATE_LIMIT"] = "1000000000"
os.environ["ALLOWED_HOSTS"] = "testserver"
os.environ.setdefault("LOG_LEVEL", "warning")
django.setup()

from django.db import connection  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from bench import harness  # noqa: E402
from materials.models import Material  # noqa: E402
from tests import make  # noqa: E402
from tests.make.materials import MaterialApi, make_api  # noqa: E402

SIZES = [int(size) for size in os.environ.get("BENCH_MATERIALS", "100000,1000000").split(",")]
FILL = """
INSERT INTO materials_material (id, site_id, site_sequence_id, is_archived, revision, created, created_by_id,
    last_modified, last_modified_by_id, external_id, name, our_code, supplier_code, description, country_of_origin,
    risk, reason_for_change)
SELECT gen_random_uuid(), %(site)s, n, FALSE, 1, now() - n * interval '1 second', %(user)s, now(), %(user)s,
    'ERP-' || lpad(((n::bigint * 7919) %% 100000000)::text, 9, '0'), 'Material ' || md5(n::text),
    'OC-' || (n %% 5000), 'SUP-' || md5((n * 3)::text), 'Bought by the pallet, stored cool and dry; lot ' || n,
    '["NZ", "AU"]', (ARRAY['None', 'Low', 'Medium', 'High', ''])[1 + n %% 5], ''
  FROM generate_series(%(first)s, %(last)s) n
"""
COLUMNS = ", ".join(
    f'"{column.column}"' for column in Material._meta.concrete_fields if column.name not in ("site", "revision")
)
PAGE = (
    f"SELECT {COLUMNS} FROM materials_material WHERE site_id = %s AND NOT is_archived "  # noqa: S608
    "ORDER BY site_sequence_id, id LIMIT %s OFFSET %s"
)


def fill(api: MaterialApi, first: int, last: int) -> None:
    """Store materials with these numbers, and the site's counter with them."""
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"site": api.site.pk, "user": api.holder.user.pk, "first": first, "last": last})
        cursor.execute(
            "INSERT INTO sites_sitesequence (site_id, entity, last, archived) VALUES (%s, 'material', %s, 0) "
            "ON CONFLICT (site_id, entity) DO UPDATE SET last = excluded.last",
            (api.site.pk, last),
        )
        cursor.execute("VACUUM ANALYZE materials_material")


def asked(api: MaterialApi, path: str, accept: str = "application/json") -> Callable[[], Any]:
    """Return a function that sends the request."""

    def act() -> Any:
        answer = api.get(path, Accept=accept)
        assert answer.status_code == 200, answer.content
        return answer

    return act


def queried(sql: str, *parameters: Any) -> Callable[[], Any]:
    """Return a function that runs the statement alone and fetches its rows."""

    def act() -> Any:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return cursor.fetchall()

    return act


def upserted(api: MaterialApi) -> Callable[[], Any]:
    """Return a function that changes 250 known materials and adds 250."""
    number = iter(range(1, 10**9))

    def act() -> Any:
        turn = next(number)
        rows = [
            {"externalId": f"NEW-{turn}-{row}" if row % 2 else f"KNOWN-{row}", "name": f"Turn {turn}"}
            for row in range(500)
        ]
        answer = api.upsert(rows)
        assert all(row["Error"] == "" for row in answer.json())
        return answer

    return act


def medians(acts: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Run the acts in alternating rounds, several times each, and return each one's median in milliseconds."""
    taken: dict[str, list[float]] = {name: [] for name in acts}
    for act in acts.values():
        act()
        act()
    for _ in range(harness.ROUNDS):
        for name, act in acts.items():
            times = []
            for _ in range(7):
                started = time.perf_counter()
                act()
                times.append((time.perf_counter() - started) * 1000)
            taken[name].append(statistics.median(times))
    return {name: statistics.median(found) for name, found in taken.items()}


def show(name: str, figure: float, against: float, most: float) -> None:
    """Print a figure, its measure, their ratio and what the ratio may be."""
    ratio = figure / against
    mark = "" if ratio <= most else "  !"
    print(f"  {name}: {figure:.1f} ms / {against:.1f} ms = {ratio:.2f} (at most {most:.2f}){mark}")


def measure(api: MaterialApi, size: int) -> None:
    """Measure and print one size."""
    first = api.at(limit=1000)
    late = asked(api, api.at(limit=1000, startIndex=size - 2000))()
    last = late["Link"].partition(">")[0].removeprefix("<http://127.0.0.1:8000")
    site = api.site.pk
    found = medians(
        {
            "page": asked(api, first),
            "sql": queried(PAGE, site, 1000, 0),
            "xml": asked(api, first, "application/xml"),
            "last": asked(api, last),
            "deep": asked(api, api.at(limit=100, startIndex=90_000)),
            "offset": queried(PAGE, site, 100, 90_000),
        }
    )
    print(f"{size:,} materials")
    show("page of 1,000 against its SQL", found["page"], found["sql"], 4)
    show("last page by Link against the first", found["last"], found["page"], 1.5)
    show("startIndex=90000&limit=100 against plain OFFSET", found["deep"], found["offset"], 1 / 3)
    show("XML page against the JSON page", found["xml"], found["page"], 3.3)
    act = upserted(api)
    act()
    with CaptureQueriesContext(connection) as queries:
        act()
    print(f"  500 upserts: {len(queries)} statements, {medians({'upsert': act})['upsert']:.0f} ms")


def walk(api: MaterialApi, size: int) -> None:
    """Follow the links through all pages; every material is met once, and every page asks as many questions."""
    seen: set[str] = set()
    counts: set[int] = set()
    path = api.at(limit=1000)
    started = time.perf_counter()
    while path:
        with CaptureQueriesContext(connection) as queries:
            answer = asked(api, path)()
        counts.add(len(queries))
        seen.update(row["Id"] for row in answer.json())
        path = answer.headers.get("Link", "").partition(">")[0].removeprefix("<http://127.0.0.1:8000")
    assert len(seen) == size
    took = time.perf_counter() - started
    print(f"  a walk of {size // 1000} pages met {len(seen):,} once, {sorted(counts)} statements a page, {took:.1f} s")


def main() -> None:
    """Fill and measure each size."""
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=harness.ROOT, check=True)
    api = make_api(make.make_site("Measured"))
    stored = 0
    for size in SIZES:
        fill(api, stored + 1, size)
        stored = size
        measure(api, size)
        if size == SIZES[0]:
            walk(api, int(asked(api, api.at(limit=1))()["X-Total-Count"]))
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM materials_material WHERE site_sequence_id > %s", (size,))


if __name__ == "__main__":
    main()
