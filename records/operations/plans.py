"""How a record's read shape is fetched in one query and shown: one plan per serializer class, built once."""

import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, models

from records.operations.rows_in_json import Convert, JsonRows

Shape = dict[str, Any]


class ReadPlan:
    """The columns and subqueries of a read shape, in the wire's order, with what shows each value."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.names: list[str] = []
        self.sources: list[str] = []
        self.steps: list[Convert | None] = []
        self.rows: dict[str, Any] = {}
        self.private: dict[str, Any] = {}
        self.columns: dict[str, models.Field[Any, Any]] = {}
        self._compiled: dict[str, tuple[str, list[Any], Any]] = {}
        self._lock = threading.Lock()

    def add_column(self, name: str, column: Any, show: Convert | None, *, empty: Any, private: bool) -> None:
        """Show a column of the record's own table under a wire name."""
        self.names.append(name)
        self.sources.append(column.attname)
        self.steps.append(show)
        self.columns[name] = column
        if private:
            self.private[name] = empty

    def add_rows(self, name: str, rows: JsonRows, shape: Convert) -> None:
        """Show child rows or an id list under a wire name."""
        self.names.append(name)
        self.sources.append(name)
        self.steps.append(shape)
        self.rows[name] = rows

    def add_constant(self, name: str, value: str) -> None:
        """Show a text under a wire name that the view replaces when the caller asks for it."""
        self.names.append(name)
        self.sources.append(name)
        self.steps.append(None)
        self.rows[name] = models.Value(value, output_field=models.TextField())

    def fetching(self, queryset: models.QuerySet[Any, Any], *, extra: Sequence[str] = ()) -> models.QuerySet[Any, Any]:
        """Return the queryset reduced to the plan's values, the revision and the extra attributes, as tuples."""
        also = ("revision",) if hasattr(self.model, "revision") else ("pk",)
        return queryset.annotate(**self.rows).values_list(*self.sources, *also, *extra)

    def show(self, row: Sequence[Any], *, with_private: bool = True) -> Shape:
        """Return the wire shape of one fetched tuple; without the permission, private fields are shown as empty."""
        shape = {
            name: value if step is None else step(value)
            for name, step, value in zip(self.names, self.steps, row, strict=False)
        }
        if not with_private:
            shape.update(self.private)
        return shape

    def fetch_one(
        self, queryset: Callable[[], models.QuerySet[Any, Any]], site_id: uuid.UUID, record_id: uuid.UUID
    ) -> Sequence[Any] | None:
        """Return the tuple of one record of the site, or None; the statement is compiled once per process.

        `queryset` gives the records without site and id; it must not depend on the request.
        """
        sql, parameters, converters = self._compiled.get(connection.vendor) or self._compile(queryset)
        asked = [
            (site_id if value is _SITE else record_id if value is _RECORD else value)
            if connection.vendor == "postgresql"
            else (site_id.hex if value is _SITE else record_id.hex if value is _RECORD else value)
            for value in parameters
        ]
        with connection.cursor() as cursor:
            cursor.execute(sql, asked)
            row = cursor.fetchone()
        if row is None or not converters:
            return row
        return _converted(row, converters)

    def _compile(self, queryset: Callable[[], models.QuerySet[Any, Any]]) -> tuple[str, list[Any], Any]:
        with self._lock:
            narrowed = self.fetching(queryset()).filter(site_id=_SITE_ID, pk=_RECORD_ID).order_by()
            compiler = narrowed.query.get_compiler(connection=connection)
            sql, parameters = compiler.as_sql()
            marked = [_marker(value) for value in parameters]
            converters = compiler.get_converters([column[0] for column in compiler.select])
            known = (sql, marked, converters)
            self._compiled[connection.vendor] = known
            return known


_SITE_ID, _RECORD_ID = uuid.uuid4(), uuid.uuid4()
_SITE, _RECORD = object(), object()


def _marker(value: Any) -> Any:
    if value in (_SITE_ID, _SITE_ID.hex):
        return _SITE
    return _RECORD if value in (_RECORD_ID, _RECORD_ID.hex) else value


def _converted(row: Sequence[Any], converters: Any) -> Sequence[Any]:
    """Apply the backend's own conversions, with the thread's connection."""
    converted = list(row)
    for position, (functions, expression) in converters.items():
        value = converted[position]
        for function in functions:
            value = function(value, expression, connection)
        converted[position] = value
    return converted
