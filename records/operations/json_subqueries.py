"""Child rows and id lists fetched inside the record's own query, as one JSON text per record."""

import datetime
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson
from django.db import connection, models
from django.db.models import OuterRef, Subquery

from records.operations import values

Convert = Callable[[Any], Any]
DATE_TIME_FORM = """'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'"""
"""The format of PostgreSQL that writes a time in UTC as `values.show_date_time` does."""


class JsonRows(Subquery):
    """A correlated subquery whose rows are returned as one JSON array of arrays, in the subquery's order."""

    def __init__(
        self, queryset: models.QuerySet[Any, Any], fields: Sequence[models.Field[Any, Any]], **extra: object
    ) -> None:
        self.row_queryset, self.row_fields = queryset, tuple(fields)
        super().__init__(queryset, output_field=models.TextField(), **extra)

    def without(self, condition: models.Exists) -> "JsonRows":
        """Return the subquery without the rows for which the condition is true."""
        return JsonRows(self.row_queryset.filter(~condition), self.row_fields)

    def as_sql(self, compiler: Any, connection: Any, template: str | None = None, **extra: object) -> Any:
        """Wrap the subquery in the aggregate of PostgreSQL, which writes ids and times as they are shown."""
        columns = ", ".join(
            _form_of(field).format(f"r.{connection.ops.quote_name(field.column)}") for field in self.row_fields
        )
        # Only quoted column names are inserted into the SQL.
        sql = f"(SELECT COALESCE(json_agg(json_build_array({columns})), '[]')::text FROM (%(subquery)s) r)"  # noqa: S608
        return super().as_sql(compiler, connection, template=sql, **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: object) -> Any:
        """Wrap the subquery in the aggregate of SQLite."""
        columns = ", ".join(f"r.{connection.ops.quote_name(field.column)}" for field in self.row_fields)
        sql = f"(SELECT json_group_array(json_array({columns})) FROM (%(subquery)s) r)"  # noqa: S608
        return super().as_sql(compiler, connection, template=sql, **extra)


def rows_of(model: type[models.Model], owner: str, names: Sequence[str], order: Sequence[str]) -> JsonRows:
    """Return the rows of model whose owner is the record, in order, with the named attributes."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    queryset = model._base_manager.filter(**{owner: OuterRef("pk")}).order_by(*order)
    return JsonRows(queryset.values(*(field.attname for field in fields)), fields)


def _form_of(field: models.Field[Any, Any]) -> str:
    """Return how PostgreSQL writes a column into the JSON text."""
    if isinstance(field, models.DateTimeField):
        return f"to_char({{}} AT TIME ZONE 'UTC', {DATE_TIME_FORM})"
    return "{}::text" if isinstance(field, models.DecimalField) else "{}"


_READY = (models.UUIDField, models.ForeignKey, models.OneToOneField, models.DateTimeField, models.BooleanField)
"""The columns whose values PostgreSQL writes as they are shown."""


def converter(field: models.Field[Any, Any], show: Convert | None, vendor: str) -> Convert | None:
    """Return the function that converts a value of the JSON text into its wire form, or None if it has it already."""
    if vendor == "postgresql" and isinstance(field, _READY):
        return None
    if isinstance(field, models.UUIDField | models.ForeignKey | models.OneToOneField):
        return lambda value: None if value is None else str(uuid.UUID(value))
    if isinstance(field, models.DateTimeField):
        return lambda value: None if value is None else values.show_date_time(_moment(value))
    if isinstance(field, models.DecimalField):
        unit = Decimal(1).scaleb(-field.decimal_places)
        return lambda value: None if value is None else values.show_number(Decimal(str(value)).quantize(unit))
    if isinstance(field, models.BooleanField):
        return lambda value: None if value is None else bool(value)
    return show


def _moment(text: str) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def shaper(columns: Mapping[str, tuple[models.Field[Any, Any], Convert | None]]) -> Convert:
    """Return the function that converts the JSON text into the array of objects of the response.

    `columns` has the field of each wire name, and how the field's value is shown.
    """
    names = tuple(columns)
    steps: dict[str, list[tuple[str, Convert]]] = {}
    for vendor in ("postgresql", "sqlite"):
        converters = [converter(field, show, vendor) for field, show in columns.values()]
        steps[vendor] = [(name, step) for name, step in zip(names, converters, strict=True) if step is not None]

    def shape(text: Any) -> list[dict[str, Any]]:
        if text is None or text == "[]":
            return []
        shapes = [dict(zip(names, row, strict=True)) for row in orjson.loads(text)]
        for name, convert in steps[connection.vendor]:
            for shape in shapes:
                shape[name] = convert(shape[name])
        return shapes

    return shape
