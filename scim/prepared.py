"""Queries that are compiled once for each directory, because compiling one takes longer than running it."""

import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from records.history.sets import ids_parameter, ids_selection, ids_sql
from records.history.statements import Statement, convert, together
from scim.callers import Scope

MOST_CACHED = 512
IDS = "the ids that a query is about"
"""The placeholder for the ids among the parameters of a prepared query."""


class Selection(NamedTuple):
    """A statement that selects ids, as part of another statement."""

    sql: str
    parameters: Sequence[Any]


Keys = Collection[uuid.UUID] | Selection
"""Ids, or the statement that selects them."""


class PreparedQuery(NamedTuple):
    """A compiled query that receives its ids when it runs, with the converters from database to Python values."""

    sql: str
    parameters: tuple[Any, ...]
    converters: dict[int, Any]

    def about(self, *ids: Iterable[uuid.UUID]) -> Statement:
        """Return the statement, in which each of `ids` replaces one `the_ids()`, in their order."""
        id_parameters = map(ids_parameter, ids)
        return self.sql, [next(id_parameters) if value == IDS else value for value in self.parameters]

    def with_texts(self, values: Mapping[str, str]) -> Statement:
        """Return the statement with these values in place of the texts with which the query was compiled."""
        return self.sql, [values.get(value, value) if isinstance(value, str) else value for value in self.parameters]

    def rows(self, keys: Keys) -> list[tuple[Any, ...]]:
        """Run the query for the given ids, or for those that another statement selects; one statement."""
        sql, parameters = (keys.sql, keys.parameters) if isinstance(keys, Selection) else ids_selection(keys)
        place = self.parameters.index(IDS)
        all_parameters = [*self.parameters[:place], *parameters, *self.parameters[place + 1 :]]
        return together([(self.sql.replace(ids_sql(), sql, 1), all_parameters)])[0]

    def convert_rows(self, rows: list[tuple[object, ...]]) -> list[tuple[Any, ...]]:
        """Return the rows with the values that the ORM would return."""
        return [tuple(convert(row, self.converters)) for row in rows] if self.converters else rows


_cache: dict[tuple[str, str, Scope], PreparedQuery] = {}
_making_room = threading.Lock()


def the_ids() -> RawSQL:
    """Return the placeholder for ids in a query to be prepared, as the operand of an `__in` lookup."""
    return RawSQL(ids_sql(), (IDS,))  # noqa: S611 (no outside text)


def prepare(name: str, scope: Scope, query: Callable[[], QuerySet[Any, Any]]) -> PreparedQuery:
    """Return the compiled `query`, which may depend only on the name and the scope, and must be a values query."""
    key = (connection.vendor, name, scope)
    prepared_query = _cache.get(key)
    if prepared_query is None:
        compiler = query().query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        converters = compiler.get_converters([column for column, _, _ in compiler.select])
        prepared_query = PreparedQuery(sql, tuple(parameters), converters)
        with _making_room:
            while len(_cache) >= MOST_CACHED:
                _cache.pop(next(iter(_cache)), None)
            _cache[key] = prepared_query
    return prepared_query
