"""Reading a few rows of a model by their keys, by a statement that is compiled once per process.

Compiling the ORM's query costs several times what the database needs to answer it, and every write looks up what its
body points at.
"""

import uuid
from collections.abc import Callable, Collection, Sequence
from typing import Any

from django.db import connection, models

from records.operations.plans import converted

_KEY = uuid.uuid4()
_compiled: dict[tuple[str, type[models.Model]], tuple[str, Sequence[Any], Any, list[str]]] = {}


def by_key(
    model: type[models.Model], keys: Collection[uuid.UUID], rows: Callable[[], models.QuerySet[Any]]
) -> dict[uuid.UUID, models.Model]:
    """Return the rows with these keys; one query. `rows` gives those that count and must not depend on the request."""
    if len(keys) != 1:
        return {row.pk: row for row in rows().filter(pk__in=keys)}
    (key,) = keys
    known = _compiled.get((connection.vendor, model)) or _compile(model, rows)
    sql, parameters, converters, names = known
    given = key if connection.vendor == "postgresql" else key.hex
    with connection.cursor() as cursor:
        cursor.execute(sql, [given if value in (_KEY, _KEY.hex) else value for value in parameters])
        row = cursor.fetchone()
    if row is None:
        return {}
    return {key: model.from_db(connection.alias, names, converted(row, converters) if converters else row)}


def _compile(
    model: type[models.Model], rows: Callable[[], models.QuerySet[Any]]
) -> tuple[str, Sequence[Any], Any, list[str]]:
    compiler = rows().filter(pk=_KEY).order_by().query.get_compiler(connection=connection)
    sql, parameters = compiler.as_sql()
    columns: list[Any] = [column[0] for column in compiler.select]
    known = (sql, tuple(parameters), compiler.get_converters(columns), [column.target.attname for column in columns])
    _compiled[connection.vendor, model] = known
    return known
