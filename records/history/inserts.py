"""Store new rows by a statement that is built once for each model, because the ORM's own insert takes much longer.

Every write stores a record and its Change in this way.
"""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

from records.history.statements import Statement, parameter, together

ROWS_AT_ONCE = 200


def insert_rows(rows: Sequence[models.Model]) -> None:
    """Store new rows of one model in one round trip; they already have their keys."""
    together(insertions(rows))


def insertions(rows: Sequence[models.Model], *, replacing: Sequence[str] = ()) -> list[Statement]:
    """Return the statements that store rows of one model; the rows have their keys already.

    On PostgreSQL several rows are one statement with one array for each column, so that its text does not depend on
    their number; on SQLite there is one statement for every 200 rows. The columns are prepared as the ORM prepares them
    (`pre_save`, adaption to the database). No signals are sent; the product has none. With `replacing`, an existing row
    gets these columns. Then the rows are marked as stored.
    """
    found: list[Statement] = []
    if len(rows) > 1 and connection.vendor == "postgresql":
        head, _, tail = _insertion(type(rows[0]), connection.vendor, tuple(replacing))
        by_column = [_array(values) for values in zip(*map(database_values, rows), strict=True)]
        found.append((f"{head} SELECT * FROM unnest({_arrays(type(rows[0]))}){tail}", by_column))  # noqa: S608
        for row in rows:
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
        return found
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        head, places, tail = _insertion(type(part[0]), connection.vendor, tuple(replacing))
        found.append(
            (
                f"{head} VALUES {', '.join([places] * len(part))}{tail}",
                [value for row in part for value in database_values(row)],
            )
        )
        for row in part:
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return found


def insertion_of(row: models.Model, computed: Mapping[str, Statement], *, before: Statement = ("", ())) -> Statement:
    """Return the statement that stores a row; the database computes some of its columns.

    `computed` maps the attribute names of these columns to SQL with its parameters; `before` is a WITH clause.
    """
    head, _, _ = _insertion(type(row), connection.vendor, ())
    fields: Sequence[Any] = row._meta.local_concrete_fields
    places = [
        computed.get(field.attname, ("%s", [value])) for field, value in zip(fields, database_values(row), strict=True)
    ]
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    sql = f"{before[0]} {head} VALUES ({', '.join(place for place, _ in places)})"
    return sql, [*before[1], *(value for _, values in places for value in values)]


def database_values(row: models.Model) -> list[Any]:
    """Return the values of the row's columns for the database, in the order of the model's fields."""
    database = connections[DEFAULT_DB_ALIAS]  # not its proxy, which would be asked several times a value
    fields: Sequence[Any] = row._meta.local_concrete_fields
    return [field.get_db_prep_save(field.pre_save(row, add=row._state.adding), database) for field in fields]


def update_of(row: models.Model) -> Statement:
    """Return the statement that stores all columns of an existing row."""
    fields: Sequence[Any] = row._meta.local_concrete_fields
    values = [value for field, value in zip(fields, database_values(row), strict=True) if not field.primary_key]
    return _update(type(row), connection.vendor), [*values, parameter(row.pk)]


@cache
def _update(model: type[models.Model], vendor: str) -> str:
    quote: Any = connection.ops.quote_name
    columns = [quote(field.column) for field in model._meta.local_concrete_fields if not field.primary_key]
    sets = ", ".join(f"{column} = %s" for column in columns)
    return f"UPDATE {quote(model._meta.db_table)} SET {sets} WHERE {quote(model._meta.pk.column)} = %s"  # noqa: S608


def _array(values: Sequence[Any]) -> str | list[Any]:
    """Return the values of a column as the text of an array, which the driver would take many times longer to make.

    Values of unusual kinds are left to the driver.
    """
    if not all(value is None or isinstance(value, _WRITTEN) or hasattr(value, "obj") for value in values):
        return list(values)
    return f"{{{','.join(map(_element, values))}}}"


_WRITTEN = (str, int, uuid.UUID, datetime.date, Decimal)
"""The kinds of value that PostgreSQL reads in the form in which Python prints them."""


def _element(value: Any) -> str:
    """Return a value as an element of an array's text; psycopg's wrapper of JSON knows how to write its content."""
    if value is None:
        return "NULL"
    if hasattr(value, "obj"):
        value = value.dumps(value.obj)
    text = value if isinstance(value, str) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@cache
def _arrays(model: type[models.Model]) -> str:
    """Return the places of one array for each column, in the order of the model's fields; for PostgreSQL."""
    fields: Sequence[Any] = model._meta.local_concrete_fields
    return ", ".join(f"%s::{field.rel_db_type(connection)}[]" for field in fields)


@cache
def _insertion(model: type[models.Model], vendor: str, replacing: Sequence[str]) -> tuple[str, str, str]:
    """Return three parts of the statement: up to its rows, the placeholders of one row, and what follows the rows."""
    fields: Sequence[Any] = model._meta.local_concrete_fields
    quote: Any = connection.ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    tail = ""
    if replacing:
        columns_of: dict[str, Any] = {field.name: field.column for field in fields}
        names = [quote(columns_of[name]) for name in replacing]
        sets = ", ".join(f"{name} = excluded.{name}" for name in names)
        tail = f" ON CONFLICT ({quote(model._meta.pk.column)}) DO UPDATE SET {sets}"
    head = f"INSERT INTO {quote(model._meta.db_table)} ({columns})"
    return head, f"({', '.join(['%s'] * len(fields))})", tail
