"""The rows of every table as JSON lines, in a form that both databases read."""

import base64
import datetime
import uuid
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

import orjson
from django.apps import apps
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, connection, models

ROWS_AT_ONCE = 2000
SECRET = ("sessions", "usersessions")
"""Apps that are not backed up: with their rows, anybody who finds a backup could act as a signed-in user."""

MADE_BY_TRIGGERS = ("accounts.AccessChange",)
"""Tables that the database itself fills while other rows are stored, also during a restore."""


def saved_models() -> list[type[models.Model]]:
    """Return every model whose rows a backup contains, including the tables of many-to-many relations.

    Files that can be made again, such as packs, are left out together with their rows.
    """
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed
        and not model._meta.proxy
        and model._meta.app_label not in SECRET
        and model._meta.label not in MADE_BY_TRIGGERS
        and getattr(model, "IS_KEPT", True)
    ]


def columns_of(model: type[models.Model]) -> list[Any]:
    """Return the stored fields of a model."""
    return [field for field in model._meta.local_concrete_fields if not getattr(field, "generated", False)]


def dump(model: type[models.Model]) -> Iterator[tuple[bytes, int]]:
    """Yield the rows of a table as pieces of JSON lines, each with the number of its rows."""
    names = [field.attname for field in columns_of(model)]
    rows = model._base_manager.order_by("pk").values_list(*names).iterator(chunk_size=ROWS_AT_ONCE)
    while piece := list(islice(rows, ROWS_AT_ONCE)):
        yield b"".join(orjson.dumps([_plain(value) for value in row]) + b"\n" for row in piece), len(piece)


def _plain(value: object) -> object:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, uuid.UUID | Decimal):
        return str(value)
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(bytes(value)).decode()
    return value


def load(model: type[models.Model], piece: bytes) -> int:
    """Store some of a table's rows exactly as they were, without defaults, stamps or signals; returns their number."""
    fields = columns_of(model)
    objects = []
    for line in piece.splitlines():
        values = {field.attname: _value(field, value) for field, value in zip(fields, orjson.loads(line), strict=True)}
        objects.append(model(**values))
    step = max(1, 900 // len(fields)) if connection.vendor == "sqlite" else 500
    manager: Any = model._base_manager.all()
    for start in range(0, len(objects), step):
        manager._insert(objects[start : start + step], fields=fields, using=DEFAULT_DB_ALIAS, raw=True)
    return len(objects)


def _value(field: Any, value: Any) -> object:
    while field.is_relation:
        field = field.target_field
    if value is None or isinstance(field, models.JSONField):
        return value
    if isinstance(field, models.DurationField):
        return datetime.timedelta(seconds=value)
    return field.to_python(value)


def empty_all(tables: Iterable[type[models.Model]]) -> None:
    """Delete the rows that migrations made, such as shared lists and permissions: the archive contains its own."""
    with connection.cursor() as cursor:
        for model in tables:
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")  # noqa: S608


def reset_sequences(tables: Iterable[type[models.Model]]) -> None:
    """Set the sequences of all tables, so that the next row of each gets an unused number."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(tables)):
            cursor.execute(statement)
