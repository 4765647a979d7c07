"""Searching a part of a text by index on PostgreSQL: the trigrams of a column, in a GIN index of their own.

PostgreSQL's own means for this (pg_trgm) is an extension that a server may not offer. This module needs no extension: a
function returns the trigrams of a text as numbers, and a plain index contains what it returns. SQLite searches the rows
of the site instead (docs/decisions/0012).
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.db import connection, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models.sql.compiler import SQLCompiler

from records.history.statements import Reads, run_reads
from records.sites.text import fold, spellings

M = TypeVar("M", bound=models.Model)
RUN = 3
FEW = 400
"""The maximum number of rows taken from the index; if more match, a search of the newest rows soon finds enough."""

FUNCTION = """
CREATE FUNCTION larder_grams(text) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 500 AS $$
-- Every run of three letters, each run a number of three code points with 21 bits. Read in pieces of 64 letters, since
-- reaching the n-th letter of a text costs n.
DECLARE
  grams bigint[] := '{}';
  piece text;
  seen int := 0;
  run bigint := 0;
BEGIN
  FOR start IN 0..(length($1) - 1) / 64 LOOP
    piece := substr($1, start * 64 + 1, 64);
    FOR i IN 1..length(piece) LOOP
      run := ((run & 4398046511103) << 21) | ascii(substr(piece, i, 1));
      seen := seen + 1;
      IF seen > 2 THEN
        grams[seen - 2] := run;
      END IF;
    END LOOP;
  END LOOP;
  RETURN grams;
END
$$
"""


class CreateGrams(Operation):
    """Create the function that the indexes use; does nothing on SQLite."""

    reversible = True

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Change no model."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Create the function."""
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(FUNCTION, params=None)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Drop the function."""
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute("DROP FUNCTION larder_grams(text)", params=None)

    def describe(self) -> str:
        """Return the description of the operation."""
        return "Create the function of runs of letters"


class IndexTrigrams(Operation):
    """Index the columns in a model's `SEARCHED` by their trigrams; does nothing on SQLite.

    `in_background` lets the service write to the table meanwhile; the migration must then have `atomic = False`.
    """

    reversible = True

    def __init__(self, model_name: str, columns: Sequence[str], *, in_background: bool = False) -> None:
        self.model_name = model_name
        self.columns = columns
        self.in_background = in_background

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Change no model."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Create one index per column. Its pending list is short, so that no single write has to process a long one."""
        how = "CONCURRENTLY " if self.in_background else ""
        for name, table, expression in self._indexes(app_label, schema_editor, to_state):
            if self.in_background:
                # An index that an interrupted attempt has left behind is not valid.
                schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}", params=None)
            schema_editor.execute(
                f"CREATE INDEX {how}{name} ON {table} USING gin (larder_grams({expression})) "
                "WITH (gin_pending_list_limit = 1024)",
                params=None,
            )

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Drop the indexes."""
        for name, _, _ in self._indexes(app_label, schema_editor, from_state):
            schema_editor.execute(f"DROP INDEX {name}", params=None)

    def describe(self) -> str:
        """Return the description of the operation."""
        return f"Index {', '.join(self.columns)} of {self.model_name} by runs of letters"

    def _indexes(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, state: ProjectState
    ) -> list[tuple[str, str, str]]:
        if schema_editor.connection.vendor != "postgresql":
            return []
        model = state.apps.get_model(app_label, self.model_name)
        quote = schema_editor.quote_name
        fields = [model._meta.get_field(name) for name in self.columns]
        table = model._meta.db_table
        return [(quote(index_name(table, f.column)), quote(table), comparison_sql(f, quote(f.column))) for f in fields]


def index_name(table: str, column: str) -> str:
    """Return the name of the index of a column's trigrams."""
    return f"{table}_{column}_grams"


def comparison_sql(field: object, column: str) -> str:
    """Return a column in the form for case-insensitive comparison; a folded column already has it."""
    return column if _is_folded(field) else f"UPPER({column})"


class HasTrigrams(models.Lookup[Any]):
    """`name__grams="cme"`: the column has all trigrams of the text, as every match does; read from the index."""

    lookup_name = "grams"

    def get_prep_lookup(self) -> str:
        """Return the value as text."""
        return str(self.rhs)

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> Any:
        """Compare in the form that the index has; PostgreSQL only."""
        field = self.lhs.output_field
        left, params = self.process_lhs(compiler, connection)
        texts = [fold(self.rhs)] if _is_folded(field) else spellings(self.rhs, is_part=True)
        match = f"larder_grams({comparison_sql(field, left)}) @> larder_grams({comparison_sql(field, '%s')})"
        return f"({' OR '.join([match] * len(texts))})", [part for text in texts for part in (*params, text)]


def holding(
    rows: models.QuerySet[M], names: Sequence[str], terms: Sequence[tuple[str, int | None]]
) -> models.QuerySet[M]:
    """Filter rows as `finding` does; on PostgreSQL one query."""
    return run_reads([finding(rows, names, terms)])[0]


def finding(
    rows: models.QuerySet[M], names: Sequence[str], terms: Sequence[tuple[str, int | None]]
) -> Reads[models.QuerySet[M]]:
    """Filter rows to those that contain all texts, in any case, each in one of the named columns.

    If a text can be a number, the row with this number matches as well. On PostgreSQL one query first asks the indexes
    for the rows, which are usually few. If there are more, reading the newest rows finds a page soon without the
    indexes. Texts of one or two letters and columns that are not in `SEARCHED` are compared row by row.
    """
    matches = rows
    for text, number in terms:
        matches = matches.filter(reduce(or_, _ways(names, "within", text, number)))
    long_terms = [term for term in terms if len(term[0]) >= RUN]
    if not long_terms or connection.vendor != "postgresql" or not all(_is_searched(rows.model, name) for name in names):
        return matches
    candidates = _by_index(matches, names, *max(long_terms, key=lambda term: len(term[0])))[: FEW + 1]
    yield [candidates]
    keys = {row["pk"] for row in candidates}
    if len(keys) <= FEW:
        return rows.filter(pk__in=keys)
    # PostgreSQL expects a part of a text to be rare, and would read and sort the whole table instead of reading it from
    # the newest row on. It cannot estimate a CASE, and assumes that half of the rows match.
    for text, number in terms:
        match = reduce(or_, _ways(names, "within", text, number))
        rows = rows.filter(
            models.Case(models.When(match, then=True), default=False, output_field=models.BooleanField())
        )
    return rows


def containing(name: str, text: str) -> models.Q:
    """Return the condition that a column in `SEARCHED` contains a text of at least `RUN` letters; by its index."""
    condition = models.Q(**{f"{name}__within": text})
    return condition & models.Q(**{f"{name}__grams": text}) if connection.vendor == "postgresql" else condition


def _by_index(rows: models.QuerySet[Any], names: Sequence[str], text: str, number: int | None) -> models.QuerySet[Any]:
    """Return the keys of the rows that contain the text, perhaps twice, as `{"pk": …}`: one query per column.

    With conditions joined by OR, PostgreSQL would compare each row that an index found with all of them again, and
    computing the trigrams of a long text takes longer than searching it. The trigrams of a second text are not used
    either: whether PostgreSQL combines two indexes depends on its estimates, while one index and a comparison take a
    predictable time.
    """
    unordered = rows.order_by()
    first, *others = (unordered.filter(way).values("pk") for way in _ways(names, "grams", text, number))
    return first.union(*others, all=True) if others else first


def _ways(names: Sequence[str], lookup: str, text: str, number: int | None) -> list[models.Q]:
    """Return the conditions of which a row has to meet one."""
    conditions = [models.Q(**{f"{name}__{lookup}": text}) for name in names]
    return conditions if number is None else [*conditions, models.Q(site_sequence_id=number)]


def _is_searched(model: Any, name: str) -> bool:
    """Return whether a column is indexed by its trigrams; it can also belong to a record that is referred to."""
    *path, column = name.split("__")
    for step in path:
        model = model._meta.get_field(step).related_model
    return column in getattr(model, "SEARCHED", ())


def _is_folded(field: object) -> bool:
    return getattr(field, "is_folded", False)
