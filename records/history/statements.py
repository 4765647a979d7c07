"""Statements that each process compiles once and sends together, so that a write reads everything in one round trip.

To compile a query of the ORM takes several times as long as the database needs to answer it, and so does a round trip.
"""

import uuid
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import connection, connections, models
from django.db.models.base import ModelState

M = TypeVar("M", bound=models.Model)
T = TypeVar("T")
Reads = Generator[Sequence[models.QuerySet[Any]], None, T]
"""A function that yields the queries whose rows it needs next, as often as it needs some, and returns its result."""
Statement = tuple[str, Sequence[object]]
Rows = list[tuple[Any, ...]]

ANY_SITE, ANY_ROW = uuid.uuid4(), uuid.uuid4()
"""What a query is compiled with in place of the id of a site and the key of a row; see `Reading`."""


def together(statements: Sequence[Statement], meanwhile: Callable[[], Sequence[Statement]] | None = None) -> list[Rows]:
    """Run independent statements, on PostgreSQL in one round trip; returns the rows of each, in the same order.

    Within a transaction `meanwhile` is called while PostgreSQL executes the statements. It runs no statement
    itself, and returns those that follow.
    """
    if not statements and meanwhile is None:
        return []
    answers: list[Rows] = connection.together(statements, meanwhile)  # type: ignore[attr-defined]
    return answers


def parameter(key: uuid.UUID | str) -> uuid.UUID | str:
    """Return an id in the form in which the database's driver takes it in a raw statement."""
    key_id = uuid.UUID(key) if isinstance(key, str) else key
    return key_id if vendor() == "postgresql" else key_id.hex


@cache
def vendor() -> str:
    """Return the vendor of the databases, which all are of one; to ask the connection takes ten times as long."""
    return connection.vendor


def hex_if_id(value: object) -> object:
    """Return an id as a text without hyphens, and any other value as it is."""
    return value.hex if isinstance(value, uuid.UUID) else value


class Reading(NamedTuple):
    """A compiled query for the rows of a model by one key, with the conversion of the rows to objects."""

    model: type[models.Model]
    sql: str
    parameters: Sequence[object]
    converters: Any
    names: list[str]

    def by(self, key: uuid.UUID) -> Statement:
        """Return the statement that reads the rows of this key."""
        parameter_value = parameter(key)
        return self.sql, [parameter_value if value in (ANY_ROW, ANY_ROW.hex) else value for value in self.parameters]

    def with_values(self, values: Mapping[uuid.UUID | str, uuid.UUID | str]) -> Statement:
        """Return the statement with these values in place of the ids and texts with which the query was compiled."""
        replacements = {
            hex_if_id(placeholder): parameter(value) if isinstance(value, uuid.UUID) else value
            for placeholder, value in values.items()
        }
        return self.sql, [replacements.get(hex_if_id(value), value) for value in self.parameters]

    def objects(self, rows: Rows) -> list[Any]:
        """Return the rows as objects of the model."""
        converted: list[Any] = [convert(row, self.converters) for row in rows] if self.converters else rows
        return [row_of(self.model, zip(self.names, row, strict=True), db=connection.alias) for row in converted]


def row_of(model: type[M], values: Any, db: str | None = None) -> M:
    """Return an object of the model with these attributes: a stored row if its database is given, otherwise a new one.

    Without signals, which the product does not use, this takes a fourth of the time of the model's constructor.
    """
    row = model.__new__(model)
    row._state = ModelState()
    row._state.db, row._state.adding = db, db is None
    vars(row).update(values)
    return row


def new_row(model: type[M], **values: object) -> M:
    """Return a new object of the model with these attributes, and with the defaults of the others."""
    constant, factories = _defaults(model)
    return row_of(model, {**constant, **{name: make() for name, make in factories}, **values})


@cache
def _defaults(model: type[models.Model]) -> tuple[Mapping[str, Any], Sequence[tuple[str, Callable[[], Any]]]]:
    """Return the defaults of a model's columns that are always the same, and the functions that make the others."""
    fields: Sequence[Any] = model._meta.concrete_fields
    callables = [field for field in fields if field.has_default() and callable(field.default)]
    constant = {field.attname: field.get_default() for field in fields if field not in callables}
    return constant, [(field.attname, field.default) for field in callables]


class CompiledQuery(NamedTuple):
    """A compiled query and its statement."""

    reading: Reading
    statement: Statement


def compile_query(rows: models.QuerySet[Any]) -> CompiledQuery:
    """Return a compiled query of whole rows, to be used once."""
    query = compile_rows(rows)
    return CompiledQuery(query, (query.sql, query.parameters))


def reading(rows: Callable[[uuid.UUID], models.QuerySet[Any]]) -> Reading:
    """Return the compiled query that `rows` returns for a key, and that then serves every key; callers cache it."""
    return compile_rows(rows(ANY_ROW))


def compile_rows(rows: models.QuerySet[Any]) -> Reading:
    """Return a query of whole rows as a statement, with the conversion of its rows to objects."""
    compiler = rows.query.get_compiler(connection=connection)
    sql, parameters = compiler.as_sql()
    columns: list[Any] = [column[0] for column in compiler.select]
    names = [column.target.attname for column in columns]
    return Reading(rows.model, sql, tuple(parameters), compiler.get_converters(columns), names)


RowsOf = Callable[[type[models.Model]], models.QuerySet[Any]]


def rows_of(model: type[models.Model]) -> models.QuerySet[Any]:
    """Return all rows of a model."""
    return model._base_manager.all()


def rows_with(model: type[models.Model], keys: Collection[Any], eligible: RowsOf = rows_of) -> CompiledQuery:
    """Return the query for the eligible rows of a model with these keys, and its statement.

    `eligible` is a function of a module; which rows it returns must not depend on the request.
    """
    if len(keys) == 1 and isinstance(model._meta.pk, models.UUIDField):
        (key,) = keys
        query = _reading_of(model, eligible)
        return CompiledQuery(query, query.by(key))
    return compile_query(eligible(model).filter(pk__in=keys).order_by())


@cache
def _reading_of(model: type[models.Model], eligible: RowsOf) -> Reading:
    return reading(lambda any_key: eligible(model).filter(pk=any_key).order_by())


def ask(
    queries: Sequence[CompiledQuery],
    *first_statements: Statement,
    run: Callable[[Sequence[Statement]], list[Rows]] = together,
) -> tuple[list[list[Any]], list[Rows]]:
    """Return the objects of each query, and the rows of the statements before them; one round trip, made by `run`."""
    answers = run([*first_statements, *(query.statement for query in queries)])
    objects = [
        query.reading.objects(rows) for query, rows in zip(queries, answers[len(first_statements) :], strict=True)
    ]
    return objects, answers[: len(first_statements)]


def read_together(*queries: models.QuerySet[Any]) -> None:
    """Read the rows of queries of any form, on PostgreSQL in one round trip; each then has its rows, as if read alone.

    What a query prefetches is read for it afterwards.
    """
    compiled_queries = []
    for rows in queries:
        compiler: Any = rows.query.get_compiler(using=rows.db)
        with suppress(EmptyResultSet):
            compiled_queries.append((rows, compiler, compiler.as_sql()))
    if not compiled_queries:
        return
    database: Any = connections[compiled_queries[0][0].db]
    answers = database.together([statement for *_, statement in compiled_queries])
    for (rows, compiler, _), answer in zip(compiled_queries, answers, strict=True):
        compiler.execute_sql = lambda *_, answer=answer, **__: [answer]
        rows.query.get_compiler = lambda *_, compiler=compiler, **__: compiler  # type: ignore[method-assign]
        len(rows)
        del rows.query.get_compiler  # A query that is derived from this one has other rows.


def run_reads(questions: Sequence[Reads[T]]) -> list[T]:
    """Return the result of each function, reading together what all of them need next."""
    results: dict[int, T] = {}
    while len(results) < len(questions):
        queries: list[models.QuerySet[Any]] = []
        for number, question in enumerate(questions):
            if number not in results:
                try:
                    queries += next(question)
                except StopIteration as end:
                    results[number] = end.value
        read_together(*queries)
    return [results[number] for number in range(len(questions))]


def count_together(*queries: models.QuerySet[Any]) -> list[int]:
    """Return how many rows each query has, within its limits and in its order; on PostgreSQL in one round trip."""
    counting: dict[int, Statement] = {}
    for place, rows in enumerate(queries):
        with suppress(EmptyResultSet):
            sql, parameters = rows.values("pk").query.get_compiler(using=rows.db).as_sql()
            counting[place] = (f"SELECT COUNT(*) FROM ({sql}) counted", parameters)  # noqa: S608 (no outside text)
    answers = together(list(counting.values())) if counting else []
    numbers = {place: number for place, ((number,),) in zip(counting, answers, strict=True)}
    return [numbers.get(place, 0) for place in range(len(queries))]


def convert(row: Sequence[object], converters: Any) -> Sequence[Any]:
    """Apply the backend's own conversions, with the thread's connection."""
    values = list(row)
    for position, (functions, expression) in converters.items():
        value = values[position]
        for function in functions:
            value = function(value, expression, connection)
        values[position] = value
    return values
