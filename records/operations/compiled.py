"""Compiled statements of tuples, which requests fill with their own values."""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection, models

from records.history.statements import Rows, Statement, convert, parameter


class PlanStatement(NamedTuple):
    """A statement of a plan's tuples, with its parameters, and the function that returns the tuples in its rows."""

    statement: Statement
    read: Callable[[Rows], Sequence[Sequence[Any]]]

    @classmethod
    def of(cls, rows: models.QuerySet[models.Model, object]) -> "PlanStatement":
        """Compile a query of tuples to be run once."""
        return PlanQuery.of(rows).fill({})

    def with_limit(self, row_count: int) -> "PlanStatement":
        """Return the statement for so many rows at most."""
        sql, parameters = self.statement
        # PostgreSQL plans a limit that it does not know for a tenth of the table.
        return PlanStatement((f"{sql} LIMIT {row_count:d}", parameters), self.read)


class PlanQuery(NamedTuple):
    """A compiled statement of a plan's tuples.

    `places` are the positions of placeholders among the parameters. `width` is the number of values that belong to the
    tuples, if the statement returns more.
    """

    sql: str
    parameters: tuple[object, ...]
    places: Sequence[tuple[int, object]]
    converters: Any
    width: int | None

    @classmethod
    def of(cls, rows: models.QuerySet[models.Model, object], placeholders: Collection[object] = ()) -> "PlanQuery":
        """Compile a query of tuples."""
        compiler = rows.query.get_compiler(connection=connection, elide_empty=False)
        sql, parameters = compiler.as_sql()
        texts = {getattr(placeholder, "hex", placeholder): placeholder for placeholder in placeholders}
        places = [
            (place, texts[text])
            for place, value in enumerate(parameters)
            if isinstance(value, str | uuid.UUID | int) and (text := getattr(value, "hex", value)) in texts
        ]
        width = compiler.col_count if compiler.has_extra_select else None
        columns = [column[0] for column in compiler.select[: compiler.col_count]]
        return cls(sql, tuple(parameters), places, compiler.get_converters(columns), width)

    def fill(self, values: Mapping[Any, object]) -> PlanStatement:
        """Return the statement with these values in place of the placeholders."""
        parameters = list(self.parameters)
        for place, placeholder in self.places:
            value = values[placeholder]
            parameters[place] = parameter(value) if isinstance(value, uuid.UUID) else value
        return PlanStatement((self.sql, parameters), self.read)

    def read(self, rows: Rows) -> Sequence[Sequence[Any]]:
        """Return the tuples in the rows that the statement returned."""
        if self.width is not None:
            rows = [row[: self.width] for row in rows]
        return [convert(row, self.converters) for row in rows] if self.converters else rows
