"""Storing new rows by a statement that is put together once per model: the ORM's own way costs several times as much.

Every write stores a record and its Change, so both go through here.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connection, models

ROWS_AT_ONCE = 200


def insert_rows(rows: Sequence[models.Model], *, before: str = "", parameters: Sequence[Any] = ()) -> None:
    """Store new rows of one model, whose keys they carry already; one statement for as many as fit into one.

    The columns' own preparation (`pre_save`, adaption to the database) is the ORM's; signals are not sent, and the
    product has none. `before` is a WITH clause, with its parameters, that goes ahead of the last statement.
    """
    for start in range(0, len(rows), ROWS_AT_ONCE):
        part = rows[start : start + ROWS_AT_ONCE]
        last = start + ROWS_AT_ONCE >= len(rows)
        fields, head, places = _statement(type(part[0]), connection.vendor)
        values = [
            field.get_db_prep_save(field.pre_save(row, add=True), connection) for row in part for field in fields
        ]
        clause, ahead = (before, [*parameters]) if last else ("", [])
        with connection.cursor() as cursor:
            cursor.execute(f"{clause}{head}{', '.join([places] * len(part))}", [*ahead, *values])
        for row in part:
            row._state.adding, row._state.db = False, connection.alias


@cache
def _statement(model: type[models.Model], vendor: str) -> tuple[Sequence[Any], str, str]:
    """Return the model's columns, the statement up to its rows, and the places of one row."""
    fields = model._meta.local_concrete_fields
    quote = connection.ops.quote_name
    columns = ", ".join(quote(field.column) for field in fields)
    head = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES "  # noqa: S608 (no outside text)
    return fields, head, f"({', '.join(['%s'] * len(fields))})"
