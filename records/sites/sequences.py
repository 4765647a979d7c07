"""Numbers per site and entity: 1, 2, 3…, without gaps or repeats under concurrent writers (DECISIONS 2.1)."""

import uuid

from django.db import connection

from records.history.appending import MARK
from records.history.inserts import insert_rows, insertion_of
from records.history.statements import Rows, Statement, parameter, together
from records.history.trail import Trail
from records.sites.models import Entity, SiteRecord, SiteSequence


def take_numbers(site_id: uuid.UUID, entity: Entity, count: int = 1) -> int:
    """Take `count` consecutive numbers and return the first.

    Locks the sequence's row until the transaction ends, so take numbers late; a transaction that fails returns them.
    """
    _demand_transaction()
    [[(last,)]] = together([_take_sql(site_id, entity, count)])
    return int(last) - count + 1


def insert_numbered(record: SiteRecord, trail: Trail) -> None:
    """Store a new record with the next number of its site, which is taken as in `take_numbers`.

    On PostgreSQL this is one statement. If nothing else reads the record before, it runs at the end of the transaction,
    so that other writers wait only for that statement and the COMMIT; until then, the record's number is MARK.
    """
    if connection.vendor != "postgresql":
        record.site_sequence_id = take_numbers(record.site_id, record.ENTITY)
        insert_rows([record])
        return
    _demand_transaction()
    sql, parameters = _take_sql(record.site_id, record.ENTITY, 1)
    last: Statement = ("(SELECT last FROM taken)", ())
    sql, parameters = insertion_of(record, {"site_sequence_id": last}, before=(f"WITH taken AS ({sql})", parameters))
    statement = (f"{sql} RETURNING site_sequence_id", parameters)

    def take(rows: Rows) -> None:
        record.site_sequence_id = rows[0][0]

    if trail.ends_next:
        trail.at_end([statement], take)
        record.site_sequence_id = MARK
    else:
        take(together([statement])[0])


def sequence_lock(site_id: uuid.UUID, entity: Entity) -> Statement:
    """Return the statement that takes no number, but lets whoever takes the next one wait for this transaction."""
    return _take_sql(site_id, entity, 0)


def _take_sql(site_id: uuid.UUID, entity: Entity, count: int) -> Statement:
    """Return the statement that advances the sequence by `count` and returns its last number."""
    table = connection.ops.quote_name(SiteSequence._meta.db_table)
    sql = (
        f"INSERT INTO {table} AS kept (site_id, entity, last, archived) VALUES (%s, %s, %s, 0) "  # noqa: S608 (no outside text)
        "ON CONFLICT (site_id, entity) DO UPDATE SET last = kept.last + excluded.last RETURNING last"
    )
    return sql, [parameter(site_id), str(entity.value), count]


def counting_archived(site_id: uuid.UUID, entity: Entity, change: int) -> Statement:
    """Return the statement that adds `change` to the stored count of archived records.

    Run it in the transaction that changes `is_archived`.
    """
    table = connection.ops.quote_name(SiteSequence._meta.db_table)
    sql = f"UPDATE {table} SET archived = archived + %s WHERE site_id = %s AND entity = %s"  # noqa: S608 (no outside text)
    return sql, [change, parameter(site_id), str(entity.value)]


def totals(site_id: uuid.UUID, entity: Entity) -> tuple[int, int]:
    """Return how many numbered records of the entity the site has, and how many of them are archived; one query."""
    row = SiteSequence.objects.filter(site_id=site_id, entity=entity).values_list("last", "archived").first()
    return row or (0, 0)


def totals_source(site_id: uuid.UUID, entity: Entity) -> tuple[str, tuple[object, ...]]:
    """Return a FROM clause of one row, and its parameters; `totals.last` and `totals.archived` in it can be null."""
    table = connection.ops.quote_name(SiteSequence._meta.db_table)
    sql = f"FROM (SELECT 1) AS one LEFT JOIN {table} AS totals ON totals.site_id = %s AND totals.entity = %s"
    return sql, (parameter(site_id), str(entity.value))


def _demand_transaction() -> None:
    if not connection.in_atomic_block:
        raise RuntimeError("Numbers are taken in the writing transaction.")
