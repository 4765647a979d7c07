"""How a record's response is fetched in one query and built: one plan per serializer class, built once."""

import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import orjson
from django.db import connection, models
from django.db.models import F

from records.accounts.opening import Proof, check, proof_column
from records.history.statements import converted, parameter
from records.operations.json_subqueries import Convert, JsonRows

Shape = dict[str, Any]


class Written(models.Func):
    """A column that PostgreSQL formats for the wire: many times cheaper than one Python object per value."""

    output_field = models.TextField()
    arity = 1

    @classmethod
    def of(cls, column: models.Field[Any, Any]) -> "Written | None":
        """Return the expression for a column for which this is worthwhile, or None."""
        if isinstance(column, models.DateTimeField):
            # The same format as `values.show_date_time`; stamps are stored to the millisecond.
            return cls(F(column.attname), template="to_char(%(expressions)s AT TIME ZONE 'UTC', %(form)s)", form=_FORM)
        if isinstance(column, models.UUIDField | models.JSONField | models.ForeignKey):
            return cls(F(column.attname), template="(%(expressions)s)::text")
        return None


_FORM = """'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'"""


class ReadPlan:
    """The columns and subqueries of a response, in the wire's order, with the function that shows each value."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.names: list[str] = []
        self.sources: list[str] = []
        self.steps: list[Convert | None] = []
        self.texts: list[str] = []
        """The expressions that replace the sources on PostgreSQL, which then formats the values for the wire."""
        self.text_steps: list[Convert | None] = []
        self.written: dict[str, Written] = {}
        self.rows: dict[str, Any] = {}
        self.private: dict[str, Any] = {}
        self.columns: dict[str, models.Field[Any, Any]] = {}
        self._compiled: dict[tuple[str, bool, str], Compiled] = {}
        self._lock = threading.Lock()

    def add_column(self, name: str, column: Any, show: Convert | None, *, empty: Any, private: bool) -> None:
        """Show a column of the record's own table under a wire name."""
        self._add(name, column.attname, show)
        self.columns[name] = column
        written = Written.of(column)
        if written is not None:
            self.texts[-1] = f"written_{column.attname}"
            self.text_steps[-1] = orjson.Fragment if isinstance(column, models.JSONField) else None
            self.written[self.texts[-1]] = written
        if private:
            self.private[name] = empty

    def add_rows(self, name: str, rows: JsonRows, shape: Convert) -> None:
        """Show child rows or an id list under a wire name."""
        self._add(name, name, shape)
        self.rows[name] = rows

    def add_constant(self, name: str, value: str) -> None:
        """Show an empty text under a wire name; the view replaces it if the caller asks for it."""
        self._add(name, name, None)
        self.rows[name] = models.Value(value, output_field=models.TextField())

    def show_instead(self, name: str, expression: Any) -> str:
        """Show an expression of the same kind instead of a column; return the attribute that contains it.

        A list that sorts, filters or searches by it has to annotate the expression under that attribute itself.
        """
        place, column = self.names.index(name), copy(self.columns[name])
        column.attname = f"shown_{column.attname}"
        self.sources[place] = self.texts[place] = column.attname
        self.text_steps[place] = self.steps[place]
        self.columns[name] = column
        self.rows[column.attname] = expression
        return str(column.attname)

    def _add(self, name: str, source: str, step: Convert | None) -> None:
        self.names.append(name)
        self.sources.append(source)
        self.steps.append(step)
        self.texts.append(source)
        self.text_steps.append(step)

    def fetching(
        self, queryset: models.QuerySet[Any, Any], *, extra: Sequence[Any] = (), as_stored: bool = False
    ) -> models.QuerySet[Any, Any]:
        """Return the queryset reduced to the plan's values, the revision and the extra attributes, as tuples.

        The values are those that `show` takes; with `as_stored`, times and ids are objects instead.
        """
        also = ("revision",) if hasattr(self.model, "revision") else ("pk",)
        if as_stored or connection.vendor != "postgresql":
            return queryset.annotate(**self.rows).values_list(*self.sources, *also, *extra)
        return queryset.annotate(**self.rows, **self.written).values_list(*self.texts, *also, *extra)

    def show(self, row: Sequence[Any], *, with_private: bool = True) -> Shape:
        """Return the response object of one fetched tuple; without the permission, private fields are empty."""
        return self.show_all([row], with_private=with_private)[0]

    def show_all(self, rows: Iterable[Sequence[Any]], *, with_private: bool = True) -> list[Shape]:
        """Return the response objects of fetched tuples."""
        steps = self.text_steps if connection.vendor == "postgresql" else self.steps
        converted = [
            (position, name, step)
            for position, (name, step) in enumerate(zip(self.names, steps, strict=True))
            if step is not None
        ]
        names, shapes = self.names, []
        for row in rows:
            shape = dict(zip(names, row, strict=False))
            for position, name, step in converted:
                shape[name] = step(row[position])
            if not with_private:
                shape.update(self.private)
            shapes.append(shape)
        return shapes

    def fetch_one(
        self,
        queryset: Callable[[], models.QuerySet[Any, Any]],
        site_id: uuid.UUID,
        key: "uuid.UUID | KeyQuery",
        proof: Proof | None = None,
    ) -> Sequence[Any] | None:
        """Return the tuple of one record of the site, or None; the statement is compiled once per process.

        `queryset` returns the records without site and id; it must not depend on the request. The statement selects by
        the key alone, and the site is compared here: given both, a database without statistics reads the whole site.
        The statement also checks the proof, if there is one; raises StaleAccessError.
        """
        query = key if isinstance(key, KeyQuery) else KeyQuery("", _RECORD_ID, {_RECORD_ID: key})
        compiled = self._compiled.get((connection.vendor, proof is not None, query.name))
        compiled = compiled or self._compile(queryset, query, asks=proof is not None)
        parameters = list(compiled.parameters)
        for place, placeholder in compiled.key_at:
            value = query.given[placeholder]
            parameters[place] = parameter(value) if isinstance(value, uuid.UUID) else value
        if proof is not None:
            parameters[compiled.owners_at : compiled.owners_at + len(proof.owners)] = proof.owners
        with connection.cursor() as cursor:
            cursor.execute(compiled.sql, parameters)
            row = cursor.fetchone()
        if row is None:
            return None
        if proof is not None:
            check(proof, row[-1])
            row = row[:-1]
        if compiled.converters:
            row = converted(row, compiled.converters)
        return row if row[-1] == site_id else None

    def _compile(
        self, queryset: Callable[[], models.QuerySet[Any, Any]], query: "KeyQuery", *, asks: bool
    ) -> "Compiled":
        with self._lock:
            rows = queryset()
            if asks:
                rows = rows.annotate(access_version=proof_column(_OWNERS))
            extra = ("site_id", "access_version") if asks else ("site_id",)
            narrowed = self.fetching(rows, extra=extra).filter(pk=query.key).order_by()
            compiler = narrowed.query.get_compiler(connection=connection)
            sql, parameters = compiler.as_sql()
            shown = compiler.select[:-1] if asks else compiler.select
            texts = {getattr(placeholder, "hex", placeholder): placeholder for placeholder in query.given}
            compiled = Compiled(
                sql,
                tuple(parameters),
                [
                    (place, placeholder)
                    for place, value in enumerate(parameters)
                    if isinstance(value, str | uuid.UUID)
                    and (placeholder := texts.get(getattr(value, "hex", value))) is not None
                ],
                parameters.index(_OWNERS[0]) if asks else 0,
                compiler.get_converters([column[0] for column in shown]),
            )
            self._compiled[connection.vendor, asks, query.name] = compiled
            return compiled


class KeyQuery(NamedTuple):
    """Finds the key of a record within the statement that reads the record; compiled once for each `name`.

    `key` is an expression with placeholders, and `given` has the value of each placeholder for this request.
    """

    name: str
    key: Any
    given: Mapping[Any, Any]


class Compiled(NamedTuple):
    """A compiled statement; for each run, the record's key and the proof's owners are inserted into its parameters.

    `key_at` are the positions of the placeholders of the key's query.
    """

    sql: str
    parameters: tuple[Any, ...]
    key_at: list[tuple[int, Any]]
    owners_at: int
    converters: Any


_RECORD_ID = uuid.uuid4()
_OWNERS = tuple(uuid.uuid4() for _ in range(3))
