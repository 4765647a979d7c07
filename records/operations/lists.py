"""Lists: paging, sorting, totals and the link to the next page (DECISIONS 3); `queries` reads their parameters."""

import datetime
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import orjson
from django.conf import settings
from django.db import models
from django.http import HttpRequest

from records.accounts.opening import AccessProof
from records.history import replica
from records.history.statements import ANY_SITE
from records.operations import cursors, values
from records.operations.compiled import PlanStatement
from records.operations.list_facts import facts
from records.operations.operation import Parameter
from records.operations.plans import ReadPlan, Shape
from records.operations.queries import (
    IN_FOLDERS,
    archive_states,
    encode_query,
    filter_rows,
    integer,
    invalid,
    query_parameters,
)
from records.sites.trigrams import holding

M = TypeVar("M", bound=models.Model)
PARAMETERS = ("startIndex", "limit", "sort", "order", "isArchived", "modifiedSince", "search", "cursor")
SINGLE_VALUED = ("startIndex", "limit", "sort", "order", "modifiedSince", "search", "cursor")
"""List parameters that take only one value; the others take several."""
LARGEST_PAGE, USUAL_PAGE = 1000, 100
LONGEST_ADDRESS = 8000
"""The maximum number of characters of path and query for a link with a cursor; servers often accept no more."""


Source = Callable[[ReadPlan, uuid.UUID], models.QuerySet[Any, Any]]
"""Returns what a list chooses from: the rows of a site that exist for the reader of a plan."""


@dataclass(frozen=True, slots=True)
class ListRules:
    """What a list supports: the attributes that `search` searches."""

    search: Sequence[str] = ()


@dataclass(slots=True)
class Page:
    """One page of a list: the JSON of its objects, the total number, and where the next page starts."""

    content: bytes
    total: int
    next: dict[str, object] | None
    visible_until: datetime.datetime
    """Every change stamped before this time is visible; none with an earlier stamp will appear (DECISIONS 11.1)."""

    def headers(self, request: HttpRequest) -> dict[str, str]:
        """Return X-Total-Count, X-Modified-Until, and Link to the next page if there is one."""
        headers = {
            "X-Total-Count": str(self.total),
            "X-Modified-Until": values.show_date_time(self.visible_until) or "",
        }
        if self.next is not None:
            items = [
                (name, value)
                for name, query_values in query_parameters(request).items()
                if name.casefold() not in ("startindex", "cursor")
                for value in query_values
            ]
            start = settings.BASE_URL + request.path
            query = encode_query([*items, *self.next.items()])
            if len(request.path) + len(query) > LONGEST_ADDRESS:
                # The caller's own query is nearly as long as an address may be; the link then has only the index.
                query = encode_query([*items, ("startIndex", self.next["startIndex"])])
            headers["Link"] = f'<{start}?{query}>; rel="next"'
        return headers


def page(
    records: Source,
    plan: ReadPlan,
    rules: ListRules,
    query: Mapping[str, list[str]],
    parameters: Sequence[Parameter],
    *,
    site_id: uuid.UUID,
    is_same_for_all: bool = True,
    is_narrowed: bool = False,
    hidden_names: frozenset[str] = frozenset(),
    proof: AccessProof | None = None,
    is_in_history: bool = False,
    narrow: Callable[[Shape], Shape] | None = None,
) -> Page:
    """Return the requested page of the records; at most three statements.

    `is_same_for_all` says that the records depend on nothing but the plan and the site; the statement of a page without
    filters is then compiled once for all callers. `is_narrowed` says that they are not all records of the site, so that
    the stored total does not apply. `hidden_names` are wire names that the caller may not see, search or sort by.
    `is_in_history` says that every change of the rows is in the history of the site; a replica that has replayed the
    history far enough may then answer. The first statement checks the caller's proof. On the primary, the rows of a
    first page, and of one with a cursor, come with its answer in one round trip. A list without a stored total is
    counted only if its first page is full, or, for a later page, in the first statement. `narrow` returns each object
    as the caller may see it, if that differs between callers. Raises the 400 InvalidParameter, and StaleAccessError.
    """
    choice = Choice(
        records, plan, _open_to(rules, plan, hidden_names), query, parameters, site_id, is_same_for_all=is_same_for_all
    )
    window = Window.read(plan, query, site_id, hidden_names)
    entity = None if choice.is_narrowed or is_narrowed else getattr(plan.model, "ENTITY", None)
    later = entity is None and (window.start > 0 or "search" in query)
    from_replica = is_in_history and replica.is_configured()
    count_rows = choice.rows if later and not from_replica else None
    first = None if window.is_deep or from_replica else choice.part(window, 0)
    next_statements = [] if first is None else [first.statement]
    list_facts, answers = facts(
        site_id, entity, count_rows=count_rows, proof=proof, heads=from_replica, next_statements=next_statements
    )
    first_rows = None if first is None else first.read(answers[0])
    archived = 0 if choice.states == {True, False} else list_facts.archived
    totals = None if entity is None else StoredTotals(site_id, list_facts.last_number, archived)

    def read() -> tuple[Sequence[Any], int]:
        rows = choice.skipping(window, totals) if window.is_deep else choice.parts(window, first_rows)
        if totals is not None:
            return rows, totals.last_number - totals.archived if False in choice.states else totals.archived
        if count_rows is not None:
            return rows, list_facts.count
        return rows, len(rows) if not later and len(rows) <= window.limit else choice.rows.count()

    rows, total = replica.read(list_facts.heads, read)
    shown_rows, with_private = rows[: window.limit], not hidden_names
    if narrow is None:
        content = plan.to_json(shown_rows, with_private=with_private)
    else:
        content = orjson.dumps([narrow(shape) for shape in plan.show_all(shown_rows, with_private=with_private)])
    return Page(content, total, window.next_query(plan, rows), list_facts.visible_until)


@dataclass(frozen=True, slots=True)
class Window:
    """The place of a page in a list: after a number of rows or after a position, in an order."""

    identity: list[object]
    """What identifies the list to its cursors."""
    order: cursors.Order
    start: int
    limit: int
    position: cursors.Position | None

    @classmethod
    def read(
        cls, plan: ReadPlan, query: Mapping[str, list[str]], site_id: uuid.UUID, hidden_names: frozenset[str]
    ) -> "Window":
        """Return what the query asks for; raises the 400 InvalidParameter."""
        start = integer(query, "startIndex", 0, 0, values.INTEGER_LIMIT)
        limit = integer(query, "limit", USUAL_PAGE, 1, LARGEST_PAGE)
        order = cursors.Order.read(plan, query, hidden_names)
        identity = cursors.list_of(plan.model, site_id, query)
        position = cursors.read(query["cursor"][-1], identity, order) if "cursor" in query else None
        if position is not None:
            if "startIndex" in query and start != position.start:
                raise invalid("startIndex", f"The cursor belongs to {position.start}. Follow the link as it is.")
            start = position.start
        return cls(identity, order, start, limit, position)

    @property
    def is_deep(self) -> bool:
        """Return whether rows have to be skipped by their number."""
        return self.start > 0 and self.position is None

    def next_query(self, plan: ReadPlan, rows: Sequence[Any]) -> dict[str, object] | None:
        """Return the query of the next page if there is one; `rows` are this page's and, if there are more, another."""
        if len(rows) <= self.limit:
            return None
        start, last = self.start + self.limit, rows[self.limit - 1]
        cursor = cursors.write(self.identity, self.order, last[self.order.place(plan)], last[plan.key_place], start)
        return {"startIndex": start, "cursor": cursor}


@dataclass(frozen=True, slots=True)
class StoredTotals:
    """What is known of a site's records without counting: how many have a number, and how many are left out.

    Archived records are left out, unless the list shows both; then nothing is.
    """

    site_id: uuid.UUID
    last_number: int
    archived: int


class Choice:
    """The rows that a request chooses from a list, and how those of a page are read."""

    def __init__(
        self,
        records: Source,
        plan: ReadPlan,
        rules: ListRules,
        query: Mapping[str, list[str]],
        parameters: Sequence[Parameter],
        site_id: uuid.UUID,
        *,
        is_same_for_all: bool,
    ) -> None:
        self._records, self._plan, self._rules, self._site_id = records, plan, rules, site_id
        self.states = archive_states(query)
        filters = [parameter for parameter in parameters if parameter.filters and parameter.name in query]
        is_filtered = bool(filters) or "modifiedSince" in query or IN_FOLDERS in query
        self._filtered_rows = (
            filter_rows(self._all, self._in_states(self._all), query, filters) if is_filtered else None
        )
        self._search_text = query.get("search", [""])[-1].strip()
        self.is_narrowed = is_filtered or bool(self._search_text)
        self._is_same_for_all = is_same_for_all and not self.is_narrowed

    @cached_property
    def _reader_plan(self) -> ReadPlan:
        """Return the plan with the reader in its expressions."""
        return self._plan.for_rows()

    @property
    def _all(self) -> models.QuerySet[Any, Any]:
        """Return all rows of the list, archived or not."""
        return self._records(self._reader_plan, self._site_id)

    def _in_states(self, rows: models.QuerySet[Any, Any]) -> models.QuerySet[Any, Any]:
        return rows if len(self.states) == 2 else rows.filter(is_archived=True in self.states)

    @cached_property
    def rows(self) -> models.QuerySet[Any, Any]:
        """Return the rows. A search asks the database for them at once: use this where they are to be read."""
        rows = self._in_states(self._all) if self._filtered_rows is None else self._filtered_rows
        return _search(rows, self._rules, self._search_text) if self._search_text else rows

    def part(self, window: Window, number: int) -> PlanStatement:
        """Return the statement of the tuples of a first page or of those after a position, from the start of a part.

        Each part has so many rows as the page, and one more.
        """
        order, position = window.order, window.position

        def tuples(plan: ReadPlan, rows: models.QuerySet[Any, Any], after: cursors.Position | None) -> Any:
            sorted_rows = rows.order_by(*order.terms())
            extra = () if order.place(plan) >= 0 else (order.selection,)
            return plan.fetching(
                sorted_rows if after is None else cursors.after(sorted_rows, after)[number], extra=extra
            )

        if self._is_same_for_all:
            placeholder_values, after = {ANY_SITE: self._site_id}, None
            if position is not None:
                placeholder_values, after = placeholder_values | position.placeholder_values(), position.anywhere()
            statement = self._plan.prepare(
                (order.name, order.descending, frozenset(self.states), after and (after.value, number)),
                lambda plan: tuples(plan, self._in_states(self._records(plan, ANY_SITE)), after),
                placeholder_values,
            )
        else:
            statement = PlanStatement.of(tuples(self._reader_plan, self.rows, position))
        return statement.with_limit(window.limit + 1)

    def parts(self, window: Window, first_rows: Sequence[Any] | None) -> Sequence[Any]:
        """Return the tuples of a page and, if there are more, another one; `first_rows` are those of the first part."""
        rows = [] if first_rows is None else [*first_rows]
        for number in range(first_rows is not None, cursors.parts(window.position)):
            if len(rows) <= window.limit:
                part = self.part(window, number)
                rows += part.read(replica.rows_of(part.statement))
        return rows[: window.limit + 1]

    def skipping(self, window: Window, totals: StoredTotals | None) -> Sequence[Any]:
        """Return the tuples after a number of rows and, if there are more, another one.

        Their ids are found in an index first, and the rows are joined to them.
        """
        order, start, limit, plan = window.order, window.start, window.limit, self._reader_plan
        sorted_rows = self.rows.order_by(*order.terms())
        if totals is not None and False in self.states and order.attribute == "site_sequence_id":
            sorted_rows, start = _from_number(sorted_rows, plan.model, totals, start, descending=order.descending)
            if start:
                # Counting the archived records to be skipped took a statement, so this one does all the rest.
                keys = sorted_rows.values("pk")[start : start + limit + 1]
                page_rows = plan.model._default_manager.filter(pk__in=keys).order_by()
                return sorted(
                    plan.fetching(page_rows, extra=(order.selection,)),
                    key=lambda row: row[-1],
                    reverse=order.descending,
                )
            return list(plan.fetching(sorted_rows, extra=(order.selection,))[: limit + 1])
        ids = list(sorted_rows.values_list("pk", flat=True)[start : start + limit + 1])
        tuples = plan.fetching(plan.model._default_manager.filter(pk__in=ids).order_by(), extra=("pk", order.selection))
        by_id = {row[-2]: row for row in tuples}
        return [by_id[key] for key in ids if key in by_id]


def _from_number(
    rows: models.QuerySet[Any, Any], model: type[models.Model], totals: StoredTotals, start: int, *, descending: bool
) -> tuple[models.QuerySet[Any, Any], int]:
    """Return the active records from a number on, and how many of them are still to be skipped.

    Numbers have no gaps, so only the archived ones among the skipped records have to be counted.
    """
    beyond = {"site_sequence_id__lte": totals.last_number - start} if descending else {"site_sequence_id__gt": start}
    if not totals.archived:
        return rows.filter(**beyond), 0
    archived = model._default_manager.filter(site_id=totals.site_id, is_archived=True, site_sequence_id__isnull=False)
    return rows.filter(**beyond), archived.exclude(**beyond).count()


def _open_to(rules: ListRules, plan: ReadPlan, hidden_names: frozenset[str]) -> ListRules:
    """Return the rules without searching what the caller may not see: somebody who finds a record by it learns it."""
    closed_names = {
        plan.columns[name].name + end for name in hidden_names & plan.columns.keys() for end in ("", "_key")
    }
    return ListRules([name for name in rules.search if name not in closed_names])


def _search(rows: models.QuerySet[M], rules: ListRules, text: str) -> models.QuerySet[M]:
    number = values.read_integer(text, 0, values.INTEGER_LIMIT) if hasattr(rows.model, "site_sequence_id") else None
    return holding(rows, rules.search, [(text, number)])
