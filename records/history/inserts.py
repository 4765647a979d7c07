"""Storing new rows by a statement that is put together once per model: the ORM's own way costs several times as much.

Every write stores a record and its Change, so both go through here.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, models

ROWS_AT_ONCE = 200


def insert_rows(
    rows: Sequence[models.Model],
    *,
    before: str = "",
    parameters: Sequence[Any] = (),
    computed: tuple[str, str] = ("", ""),
) -> Any:
    """Store new rows of one model, whose keys they carry already; one statement for as many as fit into one.

    The columns' own preparation (`pre_save`, adaption to the database) is the ORM's; signals are not sent, and the
    product has none. `before` is a WITH clause, with its parameters, that goes ahead of the last statement. `computed`
    is a column with the SQL that gives its value, which is returned; for a single row.
    """
    database = connections[DEFAULT_DB_ALIAS]  # not its proxy, which would be asked several times a value
    found = None
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        last = start + ROWS_AT_ONCE >= len(rows)
        fields, head, places, tail = _statement(type(part[0]), database.vendor, computed)
        values = [field.get_db_prep_save(field.pre_save(row, add=True), database) for row in part for field in fields]
        clause, ahead = (before, [*parameters]) if last else ("", [])
        with database.cursor() as cursor:
            cursor.execute(f"{clause}{head}{', '.join([places] * len(part))}{tail}", [*ahead, *values])
            found = cursor.fetchone()[0] if tail else None
        for row in part:
            row._state.adding, row._state.db = False, database.alias
    return found


@cache
def _statement(
    model: type[models.Model], vendor: str, computed: tuple[str, str]
) -> tuple[Sequence[Any], str, str, str]:
    """Return the columns to be given, the statement up to its rows, the places of one row, and what follows them."""
    name, expression = computed
    fields: Sequence[Any] = model._meta.local_concrete_fields
    given = [field for field in fields if field.column != name]
    quote = connection.ops.quote_name
    columns = [*(quote(field.column) for field in given), *([quote(name)] if name else [])]
    places = [*["%s"] * len(given), *([expression] if name else [])]
    head = f"INSERT INTO {quote(model._meta.db_table)} ({', '.join(columns)}) VALUES "  # noqa: S608 (no outside text)
    return given, head, f"({', '.join(places)})", f" RETURNING {quote(name)}" if name else ""
