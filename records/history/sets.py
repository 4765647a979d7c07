"""Statements about many rows at once: all ids or rows are one parameter of one statement.

One parameter for each id would cost more time than the database needs to find the rows, and databases limit the number
of parameters.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import orjson
from django.db import connection, models
from django.db.models.expressions import RawSQL

from records.history.inserts import array_text, values_by_field
from records.history.statements import Statement, hex_if_id, parameter, vendor

_IDS = {"postgresql": "SELECT unnest(%s::uuid[])", "sqlite": "SELECT value FROM json_each(%s)"}
_ROWS = {"postgresql": "json_array_elements(%s::json)", "sqlite": "json_each(%s)"}


def ids_sql() -> str:
    """Return the query that yields ids from its one parameter, which `ids_parameter` makes."""
    return _IDS[vendor()]


def ids_parameter(keys: Iterable[uuid.UUID]) -> str:
    """Return ids as one parameter."""
    if vendor() == "postgresql":
        return f"{{{','.join(map(str, keys))}}}"
    return orjson.dumps([key.hex for key in keys]).decode()


def ids_selection(keys: Collection[uuid.UUID]) -> Statement:
    """Return the query that yields ids, with its parameter.

    A single id is a plain parameter. PostgreSQL does not know how many ids an array contains, and would plan the
    statement anew each time, which takes longer than to run it.
    """
    if len(keys) != 1:
        return ids_sql(), [ids_parameter(keys)]
    return ("SELECT %s::uuid" if vendor() == "postgresql" else "SELECT %s"), [parameter(*keys)]


def ids(keys: Iterable[uuid.UUID]) -> RawSQL:
    """Return ids as the operand of an `__in` lookup."""
    return RawSQL(ids_sql(), (ids_parameter(keys),))  # noqa: S611 (no outside text)


_AMONG = {"postgresql": "{column} = ANY(%s::{kind}[])", "sqlite": "{column} IN (SELECT value FROM json_each(%s))"}


def among(column: str, kind: str, operand: object) -> RawSQL:
    """Return the condition that a column is one of the values that `among_parameter` makes a parameter of.

    `kind` is the column's type in PostgreSQL, which reads an index also where the condition is one of several.
    """
    sql = _AMONG[vendor()].format(column=column, kind=kind)
    return RawSQL(sql, (operand,), models.BooleanField())  # noqa: S611 (no outside text)


def among_parameter(values: Collection[object]) -> str | list[object]:
    """Return ids or texts as the parameter of `among`."""
    if vendor() == "postgresql":
        return array_text([*values])
    return orjson.dumps([hex_if_id(value) for value in values]).decode()


def id_of(value: Any) -> uuid.UUID:
    """Return, as a UUID, an id that a raw statement returned."""
    return value if isinstance(value, uuid.UUID) else uuid.UUID(value)


def insertion(
    model: type[models.Model],
    common_values: Mapping[str, object],
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
) -> Statement:
    """Return the statement that stores new rows of a model.

    `common_values` has the values that are equal in all rows, by field. `rows` has the values of the other fields,
    `columns`; these are ids, texts or None. Nothing is checked, and only the database's own defaults are applied.
    """
    values = values_by_field(model, common_values)
    plain_rows = [[hex_if_id(value) for value in row] for row in rows]
    sql = _insertion(model, (*common_values,), (*columns,), is_one=len(plain_rows) == 1)
    return sql, [*values, *(plain_rows[0] if len(plain_rows) == 1 else [orjson.dumps(plain_rows).decode()])]


@cache
def _insertion(model: type[models.Model], common_names: Sequence[str], columns: Sequence[str], *, is_one: bool) -> str:
    """Return the statement of `insertion`; a single row is plain parameters, which cost the database less than JSON."""
    fields: list[Any] = [model._meta.get_field(name) for name in (*common_names, *columns)]
    places = ["%s"] * len(common_names) + ["%s" if is_one else _part(place) for place in range(len(columns))]
    if vendor() == "postgresql":
        places = [f"{place}::{field.rel_db_type(connection)}" for field, place in zip(fields, places, strict=True)]
    quote = connection.ops.quote_name
    into = ", ".join(quote(field.column) for field in fields)
    source = "" if is_one else f" FROM {_ROWS[vendor()]} AS given"
    return f"INSERT INTO {quote(model._meta.db_table)} ({into}) SELECT {', '.join(places)}{source}"


def _part(place: int) -> str:
    """Return the SQL for one value of a given row."""
    if vendor() == "postgresql":
        return f"(given.value ->> {place})"
    return f"json_extract(given.value, '$[{place}]')"
