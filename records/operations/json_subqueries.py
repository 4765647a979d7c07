"""Child rows and id lists fetched inside the record's own query, as one JSON text per record."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import orjson
from django.db import models
from django.db.models import OuterRef, Subquery

from records.operations import values

Convert = Callable[[Any], Any]


class JsonRows(Subquery):
    """A correlated subquery whose rows are returned as one JSON array of arrays, in the subquery's order."""

    def __init__(self, queryset: models.QuerySet[Any, Any], columns: Sequence[tuple[str, bool]], **extra: Any) -> None:
        self.listed, self.row_columns = queryset, tuple(columns)
        super().__init__(queryset, output_field=models.TextField(), **extra)

    def without(self, hidden: models.Exists) -> "JsonRows":
        """Return the subquery without the rows for which the condition is true."""
        return JsonRows(self.listed.filter(~hidden), self.row_columns)

    def as_sql(self, compiler: Any, connection: Any, template: str | None = None, **extra: Any) -> Any:
        """Wrap the subquery in the aggregate of PostgreSQL."""
        listed = ", ".join(
            f"r.{connection.ops.quote_name(name)}{'::text' if exact else ''}" for name, exact in self.row_columns
        )
        # Only quoted column names are inserted into the SQL.
        wrapped = f"(SELECT COALESCE(json_agg(json_build_array({listed})), '[]')::text FROM (%(subquery)s) r)"  # noqa: S608
        return self._wrapped(compiler, connection, wrapped, **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Wrap the subquery in the aggregate of SQLite."""
        listed = ", ".join(f"r.{connection.ops.quote_name(name)}" for name, _ in self.row_columns)
        wrapped = f"(SELECT json_group_array(json_array({listed})) FROM (%(subquery)s) r)"  # noqa: S608
        return self._wrapped(compiler, connection, wrapped, **extra)

    def _wrapped(self, compiler: Any, connection: Any, template: str, **extra: Any) -> Any:
        return super().as_sql(compiler, connection, template=template, **extra)


def rows_of(model: type[models.Model], owner: str, names: Sequence[str], order: Sequence[str]) -> JsonRows:
    """Return the rows of model whose owner is the record, in order, with the named attributes."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    columns = [(field.column, isinstance(field, models.DecimalField)) for field in fields]
    queryset = model._base_manager.filter(**{owner: OuterRef("pk")}).order_by(*order)
    return JsonRows(queryset.values(*(field.attname for field in fields)), columns)


def converter(field: models.Field[Any, Any], show: Convert | None) -> Convert | None:
    """Return the function that converts a value of the JSON text into its wire form, or None if it has it already."""
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


def shaper(names: Sequence[str], converters: Sequence[Convert | None]) -> Convert:
    """Return the function that converts the JSON text into the array of objects of the response."""
    steps = tuple(zip(names, converters, strict=True))

    def shape(text: Any) -> list[dict[str, Any]]:
        if text is None or text == "[]":
            return []
        return [
            {
                name: value if convert is None else convert(value)
                for (name, convert), value in zip(steps, row, strict=True)
            }
            for row in orjson.loads(text)
        ]

    return shape
