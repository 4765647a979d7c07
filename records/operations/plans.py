"""How a record's response is fetched in one query and built: one plan per serializer class, built once."""

import threading
import uuid
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from functools import cache, cached_property
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec
import orjson
from django.db import connection, models
from django.db.models import Case, F, Value, When
from django.db.models.expressions import RawSQL

from records.accounts.opening import AccessProof, check, proof_column
from records.history.statements import together, vendor
from records.operations.compiled import PlanQuery, PlanStatement
from records.operations.json_subqueries import DATE_TIME_FORM, Convert, JsonRows
from records.sites.about import POINTERS, AboutRecord, kinds
from records.sites.hidden import hides, is_about_hidden, is_hidden
from records.sites.models import SiteRecord

M = TypeVar("M", bound=models.Model)
R = TypeVar("R")
Shape = dict[str, Any]


class WireText(models.Func):
    """A column that PostgreSQL formats for the wire: many times cheaper than one Python object per value."""

    output_field = models.TextField()
    arity = 1

    @classmethod
    def of(cls, column: models.Field[Any, Any]) -> "WireText | None":
        """Return the expression for a column for which this is worthwhile, or None."""
        if isinstance(column, models.DateTimeField):
            # The same format as `values.show_date_time`; stamps are stored to the millisecond.
            return cls(
                F(column.attname), template="to_char(%(expressions)s AT TIME ZONE 'UTC', %(form)s)", form=DATE_TIME_FORM
            )
        if isinstance(column, models.UUIDField | models.JSONField | models.ForeignKey):
            return cls(F(column.attname), template="(%(expressions)s)::text")
        return None


class ReadPlan:
    """The columns and subqueries of a response, in the wire's order, with the function that shows each value."""

    reader: uuid.UUID | None = None
    """The account that does not see everything, for which `as_seen_by` made the plan."""
    lacking_permissions: frozenset[str] = frozenset()
    """The permissions that this account lacks."""
    base_plan: "ReadPlan"
    """The plan from which it was made."""

    def __init__(self, model: type[models.Model]) -> None:
        self.model = model
        self.names: list[str] = []
        self.sources: list[str] = []
        self.steps: list[Convert | None] = []
        self.texts: list[str] = []
        """The expressions that replace the sources on PostgreSQL, which then formats the values for the wire."""
        self.text_steps: list[Convert | None] = []
        self.wire_texts: dict[str, WireText] = {}
        self.rows: dict[str, Any] = {}
        self.private: dict[str, Any] = {}
        self.columns: dict[str, models.Field[Any, Any]] = {}
        self.pointers: dict[str, models.Field[Any, Any]] = {}
        """The foreign keys, and what a row is about, of a record whose targets can be hidden from an account."""
        self.lists: dict[str, tuple[type[models.Model], str]] = {}
        """The id lists whose targets can be hidden from an account: their kind, and the column of the target's key."""
        self._plan_queries: dict[tuple[str, Hashable, frozenset[str]], PlanQuery] = {}
        self._for_anybody: dict[frozenset[str], ReadPlan] = {}
        """The plans for accounts that lack permissions, with a placeholder as the account."""
        self._sql: dict[tuple[str, str], tuple[Any, Any]] = {}
        self._lock = threading.Lock()

    def add_column(self, name: str, column: Any, show: Convert | None, *, empty: object, private: bool) -> None:
        """Show a column of the record's own table under a wire name."""
        self._add(name, column.attname, show)
        self.columns[name] = column
        wire_text = WireText.of(column)
        if wire_text is not None:
            self.texts[-1] = f"written_{column.attname}"
            self.text_steps[-1] = orjson.Fragment if isinstance(column, models.JSONField) else None
            self.wire_texts[self.texts[-1]] = wire_text
        if private:
            self.private[name] = empty
        permission: str = getattr(column.related_model, "SEEN_WHOLE_WITH", "")
        is_about = issubclass(self.model, AboutRecord) and column.name in POINTERS
        if is_about or (permission and issubclass(self.model, SiteRecord)):
            self.pointers[name] = column

    def add_rows(self, name: str, rows: JsonRows, shape: Convert) -> None:
        """Show child rows under a wire name."""
        self._add(name, name, shape)
        self.rows[name] = rows

    def add_ids(self, name: str, rows: JsonRows, shape: Convert, kind: type[models.Model], target: str) -> None:
        """Show an id list under a wire name: the keys of records of a kind, which are in the column `target`."""
        self.add_rows(name, rows, shape)
        if getattr(kind, "SEEN_WHOLE_WITH", ""):
            self.lists[name] = kind, target

    def add_constant(self, name: str, value: str) -> None:
        """Show an empty text under a wire name; the view replaces it if the caller asks for it."""
        self._add(name, name, None)
        self.rows[name] = models.Value(value, output_field=models.TextField())

    def show_instead(self, name: str, expression: object) -> str:
        """Show an expression of the same kind instead of a column; return the attribute that contains it.

        A list that sorts, filters or searches by it has to annotate the expression under that attribute itself.
        """
        place, column = self.names.index(name), copy(self.columns[name])
        column.attname = f"shown_{column.attname}"
        self.sources[place] = self.texts[place] = column.attname
        self.text_steps[place] = self.steps[place]
        self.columns[name] = column
        self.rows[column.attname] = expression
        self.wire_texts.pop(f"written_{column.attname.removeprefix('shown_')}", None)
        return str(column.attname)

    def as_seen_by(self, user_id: uuid.UUID | None, may: Callable[[str], bool]) -> "ReadPlan":
        """Return the plan for an account: what does not exist for it is left out, and references to it are empty.

        `may` asks what the account may do at the site. The plan itself is returned if nothing can be hidden, and for
        the product itself (None). The result fetches one record; take its `for_rows` to fetch several.
        """
        target_kinds: set[Any] = {self.model, *(kind for kind, _ in self.lists.values())}
        for column in self.pointers.values():
            target_kinds |= set(kinds().values()) if column.name in POINTERS else {column.related_model}
        lacking_permissions = frozenset(kind.SEEN_WHOLE_WITH for kind in target_kinds if hides(kind, may))
        if user_id is None or not lacking_permissions:
            return self
        if lacking_permissions not in self._for_anybody:
            self._for_anybody[lacking_permissions] = self._for_reader(_READER, lacking_permissions)
        plan = copy(self._for_anybody[lacking_permissions])
        plan.reader, plan.base_plan = user_id, self
        return plan

    def for_rows(self) -> "ReadPlan":
        """Return the plan with the account in its expressions, where a single read puts it into the statement."""
        return self if self.reader is None else self.base_plan._for_reader(self.reader, self.lacking_permissions)

    def _for_reader(self, user_id: uuid.UUID, lacking_permissions: frozenset[str]) -> "ReadPlan":
        plan = copy(self)
        for name in ("sources", "texts", "steps", "text_steps", "wire_texts", "rows", "columns"):
            setattr(plan, name, copy(getattr(self, name)))
        plan.reader, plan.lacking_permissions = user_id, lacking_permissions

        def may(permission: str) -> bool:
            return permission not in lacking_permissions

        for name, column in self.pointers.items():
            kind: Any = column.related_model
            if kind is not None and not hides(kind, may):
                continue
            condition = is_about_hidden(user_id, may) if kind is None else is_hidden(kind, user_id, column.attname)
            expression = Case(
                When(condition, then=Value(None)), default=F(column.attname), output_field=models.UUIDField()
            )
            plan.show_instead(name, expression)
        for name, (kind, target) in self.lists.items():
            if hides(kind, may):
                plan.rows[name] = self.rows[name].without(is_hidden(kind, user_id, target))
        return plan

    def visible_rows(self, rows: models.QuerySet[M, R]) -> models.QuerySet[M, R]:
        """Return the rows that exist for the plan's reader, with what the reader sees instead of columns."""
        if self.reader is None:
            return rows
        if self.hides_rows:
            rows = rows.filter(~is_hidden(self.model, self.reader, "pk"))
        return rows.annotate(**{name: self.rows[name] for name in self.instead.values()})

    @property
    def hides_rows(self) -> bool:
        """Return whether some rows do not exist for the plan's reader."""
        return getattr(self.model, "SEEN_WHOLE_WITH", "") in self.lacking_permissions

    @property
    def instead(self) -> dict[str, str]:
        """Return the attributes that show other values than the record's columns, by the column."""
        return {name.removeprefix("shown_"): name for name in self.rows if name.startswith("shown_")}

    @cached_property
    def key_place(self) -> int:
        """Return the place of the record's key in a tuple."""
        return self.names.index(next(name for name, column in self.columns.items() if column.primary_key))

    def place_of(self, attribute: str) -> int:
        """Return the place of an attribute in a tuple if it is there as it is stored, or -1."""
        texts = self.texts if vendor() == "postgresql" else self.sources
        return texts.index(attribute) if attribute in texts else -1

    @property
    def depends_on_targets(self) -> bool:
        """Return whether an answer can change although the record does not, because a target becomes visible."""
        return self.reader is not None and bool(self.pointers or self.lists)

    @cached_property
    def usual_sort(self) -> str:
        """Return the wire name by which a list is sorted by default: the number, else the creation, else the name."""
        names = {name.casefold(): name for name in self.columns}
        return next(names[usual] for usual in ("sitesequenceid", "created", "name") if usual in names)

    def targets(self, row: Sequence[Any]) -> list[Any]:
        """Return what a fetched tuple shows of references whose targets can be hidden."""
        return [row[self.names.index(name)] for name in (*self.pointers, *self.lists)]

    def _add(self, name: str, source: str, step: Convert | None) -> None:
        self.names.append(name)
        self.sources.append(source)
        self.steps.append(step)
        self.texts.append(source)
        self.text_steps.append(step)

    def fetching(
        self, queryset: models.QuerySet[Any, Any], *, extra: Sequence[object] = (), as_stored: bool = False
    ) -> models.QuerySet[Any, Any]:
        """Return the queryset reduced to the plan's values and the extra attributes, as tuples.

        The values are those that `show` takes; with `as_stored`, times and ids are objects instead.
        """
        if as_stored or connection.vendor != "postgresql":
            return queryset.annotate(**self._ready(self.rows)).values_list(*self.sources, *extra)
        return queryset.annotate(**self._ready(self.rows | self.wire_texts)).values_list(*self.texts, *extra)

    def _ready(self, expressions: Mapping[str, object]) -> dict[str, object]:
        """Return the expressions as the SQL that they compile to, which is kept: compiling it costs most of a list.

        An expression stays as it is if it is made for one reader, and if it joins another table, because its SQL refers
        to the joins of its own query.
        """
        ready: dict[str, object] = {}
        for name, expression in expressions.items():
            key = (connection.vendor, name)
            if key not in self._sql and self.reader is None:
                self._sql[key] = (expression, self._compiled_column(name, expression))
            source, raw_sql = self._sql.get(key, (None, None))
            ready[name] = raw_sql if source is expression else expression
        return ready

    def _compiled_column(self, name: str, expression: object) -> object:
        query = self.model._base_manager.annotate(**{name: expression}).values_list(name).query
        compiler = query.get_compiler(connection=connection)
        compiler.as_sql()
        ((column, (sql, parameters), _),) = compiler.select
        if sum(1 for count in query.alias_refcount.values() if count) > 1:
            return expression
        ready = RawSQL(sql, tuple(parameters), column.output_field)  # noqa: S611 (no outside text)
        hash(ready)  # Each query copies it, with the identity that is computed here once.
        return ready

    def show(self, row: Sequence[Any], *, with_private: bool = True) -> Shape:
        """Return the response object of one fetched tuple; without the permission, private fields are empty."""
        return self.show_all([row], with_private=with_private)[0]

    def show_all(self, rows: Iterable[Sequence[Any]], *, with_private: bool = True) -> list[Shape]:
        """Return the response objects of fetched tuples."""
        steps = self.text_steps if vendor() == "postgresql" else self.steps
        names = self.names
        # Without `strict`, since the tuples are longer, this takes two thirds of the time.
        shapes = [dict(zip(names, row)) for row in rows]  # noqa: B905
        for name, step in zip(names, steps, strict=True):
            if step is not None:
                for shape in shapes:
                    shape[name] = step(shape[name])
        if not with_private:
            for shape in shapes:
                shape.update(self.private)
        return shapes

    def to_json(self, rows: Iterable[Sequence[Any]], *, with_private: bool = True) -> bytes:
        """Return the JSON array of the response objects of fetched tuples.

        They are structs meanwhile: a page of 100 materials is made and written in half the time that dicts take.
        """
        steps = self.text_steps if vendor() == "postgresql" else self.steps
        row_type, width = _row_type(tuple(self.names)), len(self.names)
        shapes = [row_type(*row[:width]) for row in rows]
        for name, step in zip(self.names, steps, strict=True):
            if step is not None:
                convert = msgspec.Raw if step is orjson.Fragment else step
                values = map(convert, map(attrgetter(name), shapes))
                deque(map(setattr, shapes, repeat(name), values), maxlen=0)
        if not with_private:
            for name, empty in self.private.items():
                for shape in shapes:
                    setattr(shape, name, empty)
        return msgspec.json.encode(shapes, enc_hook=_fragment)

    def fetch_one(
        self,
        queryset: Callable[[], models.QuerySet[Any, Any]],
        site_id: uuid.UUID,
        key: "uuid.UUID | KeyQuery",
        proof: AccessProof | None = None,
    ) -> Sequence[Any] | None:
        """Return the tuple of one record of the site with its revision, or None; compiled once per process.

        `queryset` returns the records without site and id; it must not depend on the request. The statement selects by
        the key alone, and the site is compared here: given both, a database without statistics reads the whole site.
        The statement also checks the proof, if there is one; raises StaleAccessError.
        """
        query = key if isinstance(key, KeyQuery) else KeyQuery("", _RECORD_ID, {_RECORD_ID: key})
        placeholder_values = (
            query.placeholder_values
            if proof is None
            else {**query.placeholder_values, **dict(zip(_OWNERS, proof.owners, strict=True))}
        )

        def one(plan: ReadPlan) -> models.QuerySet[Any, Any]:
            rows = plan.visible_rows(queryset())
            if proof is not None:
                rows = rows.annotate(access_version=proof_column(_OWNERS))
            revision = "revision" if hasattr(plan.model, "revision") else "pk"
            extra = (revision, "site_id") if proof is None else (revision, "site_id", "access_version")
            return plan.fetching(rows, extra=extra).filter(pk=query.key).order_by()

        statement = self.prepare((query.name, proof is not None), one, placeholder_values)
        [rows] = together([statement.statement])
        if not rows:
            return None
        row = statement.read(rows)[0]
        if proof is not None:
            check(proof, row[-1])
            row = row[:-1]
        return row if row[-1] == site_id else None

    def prepare(
        self,
        name: Hashable,
        queryset: Callable[["ReadPlan"], models.QuerySet[Any, Any]],
        placeholder_values: Mapping[Any, object],
    ) -> "PlanStatement":
        """Return a statement of the plan's tuples, which is compiled once per process for each name.

        `queryset` returns the query for a plan. In place of all that depends on the request it has placeholders, for
        which `placeholder_values` has the values, and the plan that it is called with has one for the reader.
        """
        plan_query = self._plan_queries.get((vendor(), name, self.lacking_permissions))
        if plan_query is None:
            plan = self if self.reader is None else self.base_plan._for_anybody[self.lacking_permissions]
            with self._lock:
                plan_query = PlanQuery.of(queryset(plan), {*placeholder_values, _READER})
                if len(self._plan_queries) >= MOST_COMPILED:
                    self._plan_queries.clear()
                self._plan_queries[vendor(), name, self.lacking_permissions] = plan_query
        return plan_query.fill({**placeholder_values, _READER: self.reader})


@cache
def _row_type(names: tuple[str, ...]) -> type[msgspec.Struct]:
    """Return a type of objects with these fields; they refer to nothing that refers to them."""
    return msgspec.defstruct("Row", names, gc=False)


def _fragment(value: object) -> msgspec.Raw:
    """Return a value that only orjson knows, such as a number without loss, as the JSON that it stands for."""
    return msgspec.Raw(orjson.dumps(value))


class KeyQuery(NamedTuple):
    """Finds the key of a record within the statement that reads the record; compiled once for each `name`.

    `key` is an expression with placeholders, and `placeholder_values` has the value of each of them for this request.
    """

    name: str
    key: object
    placeholder_values: Mapping[Any, object]


MOST_COMPILED = 200
"""How many statements of a plan a process keeps: each sort order of a list has its own."""
_RECORD_ID, _READER = uuid.uuid4(), uuid.uuid4()
_OWNERS = tuple(uuid.uuid4() for _ in range(3))
