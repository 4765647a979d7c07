"""How much of a list's work leaves the primary: `python -m tests.postgres python -m bench.replica`, by hand.

Lists 100,000 items through the JSON interface, without a replica and with one, and prints the processor time that each
server's process spent on one list. Requests a second would say nothing where both servers share the cores of a machine.
"""

import os
import tempfile
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="larder-bench-"))
os.environ.update(ALLOWED_HOSTS="testserver", LOG_LEVEL="warning", RATE_LIMIT="100000000", STATIC_COLLECTED="off")
django.setup()

from django.db import connections  # noqa: E402
from django.test import Client, override_settings  # noqa: E402

from bench.rows import copy, migrate, sql  # noqa: E402
from records.sites.models import Entity, SiteSequence  # noqa: E402
from tests import make  # noqa: E402
from tests.make.items import make_item  # noqa: E402
from tests.make.standby import Standby  # noqa: E402

ITEMS, WARM, TIMES = 100_000, 20, 200
LISTS = {
    "100 items": "/item/GetItemList?limit=100",
    "1,000 items": "/item/GetItemList?limit=1000",
    "the last page, sorted by name": f"/item/GetItemList?limit=100&startIndex={ITEMS - 100}&sort=Name",
    "search for a part of a name": "/item/GetItemList?search=4711",
}


def spent(alias: str) -> float:
    """Return the processor time in ms that the server's process behind our connection has spent so far."""
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


def measure(client: Client, path: str, aliases: list[str]) -> list[float]:
    """Return the processor time in ms that each server spends on one list."""
    for _ in range(WARM):
        client.get(path)
    before = [spent(alias) for alias in aliases]
    for _ in range(TIMES):
        assert client.get(path).status_code == 200
    return [(spent(alias) - start) / TIMES for alias, start in zip(aliases, before, strict=True)]


def main() -> None:
    """Fill, measure and print a table in Markdown."""
    migrate()
    site = make.make_site("Lists")
    names = {"name": "'Item ' || md5(n::text)", "name_key": "'item ' || md5(n::text)"}
    copy(make_item(site), ITEMS - 1, 2, id="gen_random_uuid()", site_sequence_id="n", **names)
    SiteSequence.objects.filter(site=site, entity=Entity.ITEM).update(last=ITEMS)
    sql("VACUUM ANALYZE items_item")
    client = Client(headers=make.make_key(site).headers)
    alone = {name: measure(client, path, ["default"])[0] for name, path in LISTS.items()}
    standby = Standby()
    try:
        standby.catch_up()
        connections.settings["replica"] = standby.settings
        print("| List | Primary alone | Primary with a replica | Replica |\n|---|---|---|---|")
        with override_settings(DATABASE_ROUTERS=["records.history.replica.Router"]):
            for name, path in LISTS.items():
                primary, replica = measure(client, path, ["default", "replica"])
                print(f"| {name} | {alone[name]:.2f} ms | {primary:.2f} ms | {replica:.2f} ms |", flush=True)
    finally:
        standby.remove()


if __name__ == "__main__":
    main()
