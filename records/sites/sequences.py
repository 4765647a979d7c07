"""Numbers per site and entity: 1, 2, 3… with no gap and no repeat under concurrent writers (DECISIONS 2.1)."""

import uuid

from django.db import connection

from records.sites.models import Entity, SiteSequence


def take_numbers(site_id: uuid.UUID, entity: Entity, count: int = 1) -> int:
    """Take count consecutive numbers and return the first.

    Locks the sequence's row until the transaction ends, so take late; a transaction that fails gives the numbers back.
    """
    return _move(site_id, entity, last=count, archived=0)[0] - count + 1


def count_archived(site_id: uuid.UUID, entity: Entity, change: int) -> None:
    """Add change to the kept count of archived records; call where is_archived is turned, in its transaction."""
    _move(site_id, entity, last=0, archived=change)


def totals(site_id: uuid.UUID, entity: Entity) -> tuple[int, int]:
    """Return how many numbered records of the entity the site has, and how many of them are archived; one query."""
    row = SiteSequence.objects.filter(site_id=site_id, entity=entity).values_list("last", "archived").first()
    return row or (0, 0)


def _move(site_id: uuid.UUID, entity: Entity, *, last: int, archived: int) -> tuple[int, int]:
    if not connection.in_atomic_block:
        raise RuntimeError("Numbers are taken in the writing transaction.")
    table = connection.ops.quote_name(SiteSequence._meta.db_table)
    key = site_id if connection.vendor == "postgresql" else site_id.hex
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} AS kept (site_id, entity, last, archived) VALUES (%s, %s, %s, %s) "  # noqa: S608 (no outside text)
            "ON CONFLICT (site_id, entity) DO UPDATE SET last = kept.last + excluded.last, "
            "archived = kept.archived + excluded.archived RETURNING last, archived",
            (key, str(entity.value), last, archived),
        )
        return cursor.fetchone()
