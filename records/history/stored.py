"""Reads stored changes fast for their verification: without model instances, with ids and times as texts."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache

import orjson
from django.db import connection

from records.history.digests import FieldChange

ROWS_AT_ONCE = 2000
IDS = ("chain", "site_id", "author_id", "record_id")
_CACHED_IDS = 10_000


@dataclass(slots=True)
class Row:
    """One change as its digest covers it (`records.history.digests.ChangeLike`)."""

    chain: str
    site_id: str | None
    number: int
    at: str
    author_id: str | None
    author_name: str
    channel: str
    credential: str
    request_id: str
    operation: str
    reason: str
    model: str
    record_id: str
    record_name: str
    lowest_role: str
    fields: list[FieldChange]
    salts: list[str]
    digest_version: int
    previous_hash: str
    hash: str
    lost_values: bool = False
    """Whether a value was replaced by its digest."""


COLUMNS = tuple(column.name for column in fields(Row) if column.name != "lost_values")

# The time as `digests.moment` writes it, cut to milliseconds. A time of another form was not stored by the product.
_ON_POSTGRESQL = {
    **{name: f"{name}::text" for name in (*IDS, "fields", "salts")},
    "at": """to_char("at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"+00:00"')""",
}
_ON_SQLITE = {
    "at": """CASE length("at") WHEN 26 THEN replace(substr("at", 1, 23), ' ', 'T') || '+00:00'
             WHEN 19 THEN replace("at", ' ', 'T') || '.000+00:00' ELSE '' || "at" END"""
}


def stored_rows(first: uuid.UUID | None = None, end: uuid.UUID | None = None) -> Iterator[Row]:
    """Yield every change of the records with an id of at least `first` and below `end`, ordered by record and number.

    The changes of each record are next to each other, also where records of two kinds share an id, as an employee and
    the account do. One cursor reads them, so the use of memory does not grow.
    """
    on_postgresql = connection.vendor == "postgresql"
    expressions = _ON_POSTGRESQL if on_postgresql else _ON_SQLITE
    columns = ", ".join(expressions.get(name, name) for name in COLUMNS)
    bounds = [(sign, key) for sign, key in ((">=", first), ("<", end)) if key is not None]
    where = " AND ".join(["1 = 1", *(f"record_id {sign} %s" for sign, _ in bounds)])
    fields_at, salts_at = COLUMNS.index("fields"), COLUMNS.index("salts")
    ids_at = [] if on_postgresql else [COLUMNS.index(name) for name in IDS]
    with connection.chunked_cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM history_change WHERE {where} ORDER BY record_id, model, number, chain",  # noqa: S608
            [key if on_postgresql else key.hex for _, key in bounds],
        )
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            for row in rows:
                values = list(row)
                values.append('"=' in values[salts_at])  # lost_values
                values[fields_at] = orjson.loads(values[fields_at])
                values[salts_at] = orjson.loads(values[salts_at])
                for place in ids_at:
                    values[place] = with_hyphens(values[place])
                yield Row(*values)


@lru_cache(maxsize=_CACHED_IDS)
def with_hyphens(key: str | None) -> str | None:
    """Return an id as SQLite stores it in its usual form."""
    return None if key is None else str(uuid.UUID(key))
