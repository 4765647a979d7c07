"""Statements about many rows at once: however many ids or rows there are, they are one parameter of one statement.

Naming each id by a parameter of its own costs more than the database needs to find its row, and databases limit the
number of parameters.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from django.db import connection, models
from django.db.models.expressions import RawSQL

from records.history.statements import Statement

_IDS = {"postgresql": "SELECT unnest(%s::uuid[])", "sqlite": "SELECT value FROM json_each(%s)"}
_ROWS = {"postgresql": "json_array_elements(%s::json)", "sqlite": "json_each(%s)"}


def ids_sql() -> str:
    """Return the query that yields ids from its one parameter, which `ids_parameter` makes."""
    return _IDS[connection.vendor]


def ids_parameter(keys: Iterable[uuid.UUID]) -> str:
    """Return ids as one parameter."""
    if connection.vendor == "postgresql":
        return f"{{{','.join(map(str, keys))}}}"
    return orjson.dumps([key.hex for key in keys]).decode()


def ids(keys: Iterable[uuid.UUID]) -> RawSQL:
    """Return ids as the operand of an `__in` lookup."""
    return RawSQL(ids_sql(), (ids_parameter(keys),))  # noqa: S611 (no outside text)


def id_of(value: Any) -> uuid.UUID:
    """Return an id that a statement of our own gave back."""
    return value if isinstance(value, uuid.UUID) else uuid.UUID(value)


def id_parameter(key: uuid.UUID) -> Any:
    """Return an id in the form in which the database's driver takes it."""
    return key if connection.vendor == "postgresql" else key.hex


def insertion(
    model: type[models.Model], alike: Mapping[str, Any], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> Statement:
    """Return the statement that stores new rows of a model.

    `alike` are the values that all of them have, by field; `rows` holds the values of the other fields, `columns`,
    which are ids, texts or None. Nothing is checked, and defaults other than the database's must be given.
    """
    field_of: Any = model._meta.get_field
    fields = [*map(field_of, alike), *map(field_of, columns)]
    places = ["%s"] * len(alike) + [_part(place) for place in range(len(columns))]
    if connection.vendor == "postgresql":
        places = [f"{place}::{field.rel_db_type(connection)}" for field, place in zip(fields, places, strict=True)]
    quote = connection.ops.quote_name
    into = ", ".join(quote(field.column) for field in fields)
    source = _ROWS[connection.vendor]
    sql = f"INSERT INTO {quote(model._meta.db_table)} ({into}) SELECT {', '.join(places)} FROM {source} AS given"  # noqa: S608
    values = [field_of(name).get_db_prep_save(value, connection) for name, value in alike.items()]
    return sql, [*values, orjson.dumps([[_plain(value) for value in row] for row in rows]).decode()]


def _part(place: int) -> str:
    """Return the SQL for one value of a given row."""
    if connection.vendor == "postgresql":
        return f"(given.value ->> {place})"
    return f"json_extract(given.value, '$[{place}]')"


def _plain(value: Any) -> Any:
    return value.hex if isinstance(value, uuid.UUID) else value
