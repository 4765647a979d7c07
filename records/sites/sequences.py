"""Numbers per site and entity: 1, 2, 3… with no gap and no repeat under concurrent writers (DECISIONS 2.1)."""

import uuid

from django.db import connection
from django.db.models import F

from records.sites.models import Entity, SiteSequence


def take_numbers(site_id: uuid.UUID, entity: Entity, count: int = 1) -> int:
    """Take count consecutive numbers and return the first.

    Locks the sequence's row until the transaction ends, so take late; a transaction that fails gives the numbers back.
    """
    _demand_transaction()
    table = connection.ops.quote_name(SiteSequence._meta.db_table)
    key = site_id if connection.vendor == "postgresql" else site_id.hex
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} AS kept (site_id, entity, last, archived) VALUES (%s, %s, %s, 0) "  # noqa: S608 (no outside text)
            "ON CONFLICT (site_id, entity) DO UPDATE SET last = kept.last + excluded.last RETURNING last",
            (key, str(entity.value), count),
        )
        last: int = cursor.fetchone()[0]
    return last - count + 1


def count_archived(site_id: uuid.UUID, entity: Entity, change: int) -> None:
    """Add change to the kept count of archived records; call where is_archived is turned, in its transaction."""
    _demand_transaction()
    SiteSequence.objects.filter(site_id=site_id, entity=entity).update(archived=F("archived") + change)


def totals(site_id: uuid.UUID, entity: Entity) -> tuple[int, int]:
    """Return how many numbered records of the entity the site has, and how many of them are archived; one query."""
    row = SiteSequence.objects.filter(site_id=site_id, entity=entity).values_list("last", "archived").first()
    return row or (0, 0)


def _demand_transaction() -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("Numbers are taken in the writing transaction.")
