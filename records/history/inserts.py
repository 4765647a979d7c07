"""Store new rows by a statement that is built once for each model, because the ORM's own insert takes much longer.

Every write stores a record and its Change in this way.
"""

import datetime
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import repeat
from operator import attrgetter
from typing import Any

import orjson
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DEFAULT_DB_ALIAS, connection, connections, models

from records.history.statements import Statement, together, vendor

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
    statements: list[Statement] = []
    if len(rows) > 1 and vendor() == "postgresql":
        head, _, tail = _insertion(type(rows[0]), tuple(replacing))
        by_column = [array_text(_column(rows, *one[:3])) for one in _fields(type(rows[0]))]
        statements.append((f"{head} SELECT * FROM unnest({_arrays(type(rows[0]))}){tail}", by_column))  # noqa: S608
        for row in rows:
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
        return statements
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        head, places, tail = _insertion(type(part[0]), tuple(replacing))
        statements.append(
            (
                f"{head} VALUES {', '.join([places] * len(part))}{tail}",
                [value for row in part for value in database_values(row)],
            )
        )
        for row in part:
            row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return statements


def insertion_of(row: models.Model, computed: Mapping[str, Statement], *, before: Statement = ("", ())) -> Statement:
    """Return the statement that stores a row; the database computes some of its columns.

    `computed` maps the attribute names of these columns to SQL with its parameters; `before` is a WITH clause. Their
    texts must be among a few, because each statement is composed once.
    """
    values = list(before[1])
    for (_, name, *_), value in zip(_fields(type(row)), database_values(row), strict=True):
        if name in computed:
            values += computed[name][1]
        else:
            values.append(value)
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    places = tuple((name, sql) for name, (sql, _) in computed.items())
    return _computed_insertion(type(row), before[0], places), values


@cache
def _computed_insertion(model: type[models.Model], before: str, computed: Sequence[tuple[str, str]]) -> str:
    head, _, _ = _insertion(model, ())
    texts = dict(computed)
    return f"{before} {head} VALUES ({', '.join(texts.get(name, '%s') for _, name, *_ in _fields(model))})"


def database_values(row: models.Model) -> list[object]:
    """Return the values of the row's columns for the database, in the order of the model's fields."""
    database = connections[DEFAULT_DB_ALIAS]  # not its proxy, which would be asked several times a value
    values: list[object] = []
    fields_at: dict[int, Any] = {}
    for field, name, kind, convert in _fields(type(row)):
        value = getattr(row, name) if kind else None
        if not kind or (value is not None and type(value) is not kind):
            fields_at[len(values)] = field
        values.append(convert(value) if convert and value is not None else value)
    for place, value in zip(fields_at, _orm_values([row] * len(fields_at), fields_at.values(), database), strict=True):
        values[place] = value
    return values


def values_by_field(model: type[models.Model], values_by_name: Mapping[str, object]) -> list[object]:
    """Return values, given by field, for the database."""
    database = connections[DEFAULT_DB_ALIAS]
    columns = _by_name(model)
    values: list[object] = []
    for name, value in values_by_name.items():
        field, _, kind, convert = columns[name]
        if not kind or (value is not None and type(value) is not kind):
            values.append(field.get_db_prep_save(value, database))
        else:
            values.append(convert(value) if convert and value is not None else value)
    return values


@cache
def _by_name(model: type[models.Model]) -> Mapping[str, tuple[Any, str, type | None, Any]]:
    return {field[0].name: field for field in _fields(model)}


def _column(rows: Sequence[models.Model], field: Any, name: str, kind: type | None) -> list[object]:
    """Return the values that rows have in a column, for the database."""
    values = list(map(attrgetter(name), rows)) if kind else []
    if (
        not kind
        or not {*map(type, values)} <= {kind, type(None)}
        or (kind is _TIME and not all(map(_has_zone, values)))
    ):
        database = connections[DEFAULT_DB_ALIAS]
        return _orm_values(rows, repeat(field), database)
    return values


def _orm_values(rows: Iterable[models.Model], fields: Iterable[Any], database: Any) -> list[object]:
    """Return the value of each row's column as the ORM adapts it; JSON is written much faster than by the ORM."""
    values: list[object] = []
    for row, field in zip(rows, fields, strict=False):
        value = field.pre_save(row, add=row._state.adding)
        is_json = isinstance(field, models.JSONField) and isinstance(value, dict | list)
        if is_json and vendor() == "postgresql":
            values.append(json_text(value))
        else:
            values.append(field.get_db_prep_save(value, database))
    return values


def json_text(value: object) -> str:
    """Return a value as JSON, as Django's encoder prints it."""
    try:
        return orjson.dumps(value, _json_default, orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME).decode()
    except TypeError:  # a whole number of more than 64 bits, or half of a surrogate pair
        return json.dumps(value, cls=DjangoJSONEncoder)


_json_default = DjangoJSONEncoder().default
_TIME = datetime.datetime
_KINDS: Sequence[tuple[type, Any]] = (
    (str, (models.CharField, models.TextField)),
    (bool, models.BooleanField),
    (uuid.UUID, models.UUIDField),
    (_TIME, models.DateTimeField),
    (int, models.IntegerField),
)
"""The types whose values the driver stores as they are; that for SQLite does so with the first two."""


def _has_zone(value: datetime.datetime | None) -> bool:
    return value is None or value.tzinfo is not None


@cache
def _fields(model: type[models.Model]) -> Sequence[tuple[Any, str, type | None, Any]]:
    """Return the model's fields, each with its attribute and the type whose values the driver stores as they are.

    To ask the ORM about each value takes a seventh of an add. The type is None where the ORM always has to be asked.
    A whole number also has the type that sends a single value as the column's own type; otherwise that is None.
    """
    sizes = getattr(connection.ops, "integerfield_type_map", {})
    columns: list[tuple[Any, str, type | None, Any]] = []
    fields: Sequence[Any] = model._meta.local_concrete_fields
    for field in fields:
        kind = _kind(field)
        target = field.target_field if field.is_relation else field
        columns.append((field, field.attname, kind, sizes.get(target.get_internal_type()) if kind is int else None))
    return columns


def _kind(field: Any) -> type | None:
    target = field.target_field if field.is_relation else field
    makes_value = getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False)
    for function in (type(field).pre_save, type(target).get_prep_value):
        makes_value = makes_value or not function.__module__.startswith("django.db.models.fields")
    kinds = _KINDS if vendor() == "postgresql" else _KINDS[:2]
    return None if makes_value else next((kind for kind, kind_class in kinds if isinstance(target, kind_class)), None)


def update_of(row: models.Model) -> Statement:
    """Return the statement that stores all columns of an existing row."""
    values = database_values(row)
    key = values.pop(row._meta.local_concrete_fields.index(row._meta.pk))
    return _update(type(row)), [*values, key]


@cache
def _update(model: type[models.Model]) -> str:
    quote: Any = connection.ops.quote_name
    columns = [quote(field.column) for field in model._meta.local_concrete_fields if not field.primary_key]
    sets = ", ".join(f"{column} = %s" for column in columns)
    return f"UPDATE {quote(model._meta.db_table)} SET {sets} WHERE {quote(model._meta.pk.column)} = %s"  # noqa: S608


def array_text(values: Sequence[object]) -> str | list[object]:
    """Return the values of a column as the text of an array, which the driver would take many times longer to make.

    The text of an array in JSON differs only in its brackets and in how it writes control characters. Values of unusual
    kinds are left to the driver.
    """
    if not all(issubclass(kind, _PLAIN_TYPES) for kind in {*map(type, values)}):
        return list(values)
    try:
        text = orjson.dumps(values, str).decode()
    except TypeError:  # half of a surrogate pair, which the driver refuses
        return list(values)
    if "\\" in text.replace("\\\\", "").replace('\\"', ""):
        return f"{{{','.join(map(_element, values))}}}"
    return f"{{{text[1:-1]}}}"


_PLAIN_TYPES = (str, int, uuid.UUID, datetime.date, Decimal, type(None))
"""The kinds of value that PostgreSQL reads in the form in which JSON or Python prints them."""


def _element(value: object) -> str:
    """Return a value as an element of an array's text."""
    text = str(value)
    return "NULL" if value is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@cache
def _arrays(model: type[models.Model]) -> str:
    """Return the places of one array for each column, in the order of the model's fields; for PostgreSQL."""
    fields: Sequence[Any] = model._meta.local_concrete_fields
    return ", ".join(f"%s::{field.rel_db_type(connection)}[]" for field in fields)


@cache
def _insertion(model: type[models.Model], replacing: Sequence[str]) -> tuple[str, str, str]:
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
