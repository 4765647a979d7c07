"""Lists of resources: filtering, sorting and paging of a query."""

import uuid
from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import F, QuerySet, TextField, Value
from pydantic import ValidationError as ShapeError
from scim2_models import AttributeBinding, Error, InvalidPathException, Path, SearchRequest

from records.accounts.models import Role, User
from scim import attributes, cursors, filter_texts, filters, sources
from scim.callers import Caller, Scope
from scim.errors import ScimError
from scim.prepared import MOST_CACHED, Selection, prepare
from scim.prepared import Keys as Ids
from scim.projection import Projection
from scim.representations import Representation, group_documents, list_response, user_documents
from scim.requests import Query
from scim.schemas import MODELS, bind

Keys = list[tuple[str, uuid.UUID]]
"""The kind and id of each resource of a page."""


def rows_of(caller: Caller, kind: str) -> QuerySet[Any]:
    """Return the users or roles that the token sees."""
    return _visible_rows(caller.scope, kind).all()


@lru_cache(maxsize=2 * sources.CACHED_SCOPES)
def _visible_rows(scope: Scope, kind: str) -> QuerySet[Any]:
    """Return the query of `rows_of`, which is fixed for each token and takes an eighth of a search to put together."""
    return User.objects.seen_by(scope) if kind == "User" else Role.objects.seen_by(scope)


def _attributes(scope: Scope, kind: str) -> attributes.Attributes:
    """Return the sources of a kind's attributes."""
    return sources.user_attributes(scope) if kind == "User" else sources.group_attributes(scope)


def documents_of(caller: Caller, kind: str, keys: Ids, projection: Projection) -> list[Representation]:
    """Return the documents of the given resources that the token sees: in any order, or by id for a selection."""
    make = user_documents if kind == "User" else group_documents
    return make(caller, keys, projection)


def filter_rows(caller: Caller, kind: str, query: Query, kinds: tuple[str, ...] = ()) -> QuerySet[Any]:
    """Return the rows of one kind that match the query's filter; `kinds` are all kinds that are searched.

    Raises InvalidFilterException.
    """
    rows = rows_of(caller, kind)
    if query.filter:
        rows = rows.filter(filters.condition(kind, _attributes(caller.scope, kind), query.filter, kinds))
    return rows


def order_rows(caller: Caller, kind: str, rows: QuerySet[Any], query: Query) -> QuerySet[Any]:
    """Return the rows ordered by id, or by sortBy and then id.

    Unassigned values come last, or first when descending (RFC 7644, 3.4.2.3). Raises InvalidPathException.
    """
    if not query.sort_by:
        return rows.order_by("pk")
    model: Any = MODELS[kind]
    path = bind(Path, kind)(filter_texts.qualified_name(kind, query.sort_by))
    try:
        binding = bind(SearchRequest, kind)(sort_by=path).sort_binding(model)
    except ShapeError as error:
        raise InvalidPathException(detail=Error.from_validation_errors(error)[0].detail) from error
    term = filters.sort_term(_attributes(caller.scope, kind), model, binding)
    value = F("_sorted")
    order = value.desc(nulls_first=True) if query.descending else value.asc(nulls_last=True)
    return rows.annotate(_sorted=term).order_by(order, "pk")


def page_of(caller: Caller, kind: str, query: Query) -> tuple[list[Representation], int]:
    """Return one page of documents and the total; ids are found first, so that the cost depends on the page size."""
    start = query.start_index - 1
    documents: list[Representation] = []
    size = 0
    if query.count:
        keys = list(_page(caller, kind, query)) if query.sort_by else _selection(caller, kind, query)
        documents = documents_at(caller, kind, keys, query)
        # A sorted page is read by two statements, and what is deleted between them still counts.
        size = len(keys) if isinstance(keys, list) else len(documents)
    if size < query.count and (size or not start):
        return documents, start + size
    return documents, filter_rows(caller, kind, query).count()


def _page(caller: Caller, kind: str, query: Query) -> QuerySet[Any, uuid.UUID]:
    """Return the query of the ids of a page; raises InvalidFilterException and InvalidPathException."""
    start = query.start_index - 1
    rows = order_rows(caller, kind, filter_rows(caller, kind, query), query)
    return rows.values_list("pk", flat=True)[start : start + query.count]


def _selection(caller: Caller, kind: str, query: Query) -> list[uuid.UUID] | Selection:
    """Return the statement that selects the ids of a page; raises InvalidFilterException.

    That of a first page whose filter only compares texts for equality is compiled once for all texts, and PostgreSQL
    keeps its plan. Other statements are compiled each time.
    """
    shape, texts = filter_texts.shape_of(query.filter)
    bindings = _bindings(caller.scope, kind, shape) if texts and query.start_index == 1 else None
    if bindings and bindings.keys() == texts.keys():
        operands = {name: filters.operand(bindings[name], text) for name, text in texts.items()}
        values = {name: value for name, value in operands.items() if value is not None}
        if len(values) == len(texts):
            general_query = replace(query, filter=shape)
            name = f"{query.count} of {kind}: {shape}"
            statement = prepare(name, caller.scope, lambda: _page(caller, kind, general_query))
            return Selection(*statement.with_texts(values))
    try:
        return Selection(*_page(caller, kind, query).query.sql_with_params())
    except EmptyResultSet:
        return []


@lru_cache(maxsize=MOST_CACHED)
def _bindings(scope: Scope, kind: str, shape: str) -> dict[str, AttributeBinding] | None:
    """Return the attribute with which each text of a filter is compared, or None if its statement is not kept.

    A source that makes anything else of the text than one parameter, such as an id, is not kept.
    """
    bindings = filters.bindings_of(kind, _attributes(scope, kind), shape)
    if bindings:
        condition = filters.condition(kind, _attributes(scope, kind), shape)
        try:
            parameters = _visible_rows(scope, kind).filter(condition).query.sql_with_params()[1]
        except EmptyResultSet:
            return None
        if any([*map(str, parameters)].count(placeholder) != 1 for placeholder in bindings):
            return None
    return bindings


def documents_at(caller: Caller, kind: str, keys: list[uuid.UUID] | Selection, query: Query) -> list[Representation]:
    """Return the documents of these ids, with the attributes that the query asks for.

    They are in the order of the ids, or ordered by id if a selection of ids is given.
    """
    if isinstance(keys, list) and not keys:
        return []
    projection = Projection.of(kind, query, omits_on_request=caller.reads_rfc)
    documents = documents_of(caller, kind, keys, projection)
    if isinstance(keys, list):
        by_id = {document["id"]: document for document in documents}
        documents = [by_id[str(key)] for key in keys if str(key) in by_id]
    return [projection.apply(document) for document in documents]


def results(caller: Caller, kinds: tuple[str, ...], query: Query) -> Representation:
    """Return the page. If both kinds are searched, users come before groups unless sortBy merges them."""
    if query.cursor is not None:
        return _cursor_page(caller, kinds, query)
    if len(kinds) == 1:
        documents, total = page_of(caller, kinds[0], query)
        return list_response(documents, total, query.start_index)
    rows = {kind: filter_rows(caller, kind, query, kinds) for kind in kinds}
    counts = {kind: queryset.count() for kind, queryset in rows.items()}
    start, total = query.start_index - 1, sum(counts.values())
    choose = _sorted_among if query.sort_by else _one_after_the_other
    keys = choose(caller, rows, counts, query, start)
    return list_response(_documents(caller, kinds, keys, query), total, query.start_index)


def _documents(caller: Caller, kinds: tuple[str, ...], keys: Keys, query: Query) -> list[Representation]:
    """Return the documents of a page whose resources may be of several kinds, in the order of the keys."""
    by_id = {
        document["id"]: document
        for kind in kinds
        for document in documents_at(caller, kind, [key for row_kind, key in keys if row_kind == kind], query)
    }
    return [by_id[str(key)] for _, key in keys if str(key) in by_id]


def _cursor_page(caller: Caller, kinds: tuple[str, ...], query: Query) -> Representation:
    """Return the page after the query's cursor; several kinds are listed one after the other.

    Raises ScimError (400) for a cursor of another query, and for sorting over several kinds.
    """
    if query.sort_by and len(kinds) > 1:
        raise ScimError(400, "Sorting over Users and Groups together needs startIndex.", "invalidValue")
    position = cursors.read(caller, kinds, query)
    total = sum(filter_rows(caller, kind, query, kinds).count() for kind in kinds)
    page: list[cursors.Position] = []
    for kind in kinds[kinds.index(position[0]) if position else 0 :]:
        rows = order_rows(caller, kind, filter_rows(caller, kind, query, kinds), query)
        if position and position[0] == kind:
            rows = cursors.after(rows, position, query)
        room = query.count + 1 - len(page)
        next_rows = rows.values_list("pk", "_sorted" if query.sort_by else F("pk"))[: max(room, 0)]
        page += [(kind, key, value) for key, value in next_rows]
    positions = page[: query.count]
    response = list_response(
        _documents(caller, kinds, [(row_kind, key) for row_kind, key, _ in positions], query), total, 1
    )
    del response["startIndex"]
    if positions and len(page) > len(positions):
        kind, key, value = positions[-1]
        response["nextCursor"] = cursors.write(caller, kinds, query, (kind, key, value if query.sort_by else None))
    return response


def _one_after_the_other(
    caller: Caller, rows: dict[str, QuerySet[Any]], counts: dict[str, int], query: Query, start: int
) -> Keys:
    """Return the keys of a page that lists one kind after the other, each ordered by id."""
    keys: Keys = []
    skip = start
    for kind, count in counts.items():
        room = query.count - len(keys)
        if room > 0 and skip < count:
            ids = rows[kind].order_by("pk").values_list("pk", flat=True)[skip : skip + room]
            keys += [(kind, key) for key in ids]
        skip = max(0, skip - count)
    return keys


def _sorted_among(
    caller: Caller, rows: dict[str, QuerySet[Any]], counts: dict[str, int], query: Query, start: int
) -> Keys:
    """Return the keys of a page that is sorted over all kinds.

    Resources of a kind without the attribute count as unassigned. Only the keys of earlier rows are read. Raises
    InvalidPathException for an attribute that none of the kinds has.
    """
    end = min(start + query.count, sum(counts.values()))
    entries: list[tuple[bool, Any, str, uuid.UUID]] = []
    errors = []
    for kind, queryset in rows.items():
        try:
            sorted_rows = order_rows(caller, kind, queryset, query).values_list("_sorted", "pk")
        except InvalidPathException as error:
            errors.append(error)
            sorted_rows = queryset.order_by("pk").values_list(Value(None, output_field=TextField()), "pk")
        entries += [(value is None, value, kind, key) for value, key in sorted_rows[:end]]
    if len(errors) == len(rows):
        raise errors[0]
    order = {kind: place for place, kind in enumerate(rows)}
    entries.sort(key=lambda entry: (order[entry[2]], entry[3]))
    assigned = [entry for entry in entries if not entry[0]]
    unassigned = [entry for entry in entries if entry[0]]
    assigned.sort(key=lambda entry: entry[1], reverse=query.descending)
    page = [*unassigned, *assigned] if query.descending else [*assigned, *unassigned]
    return [(kind, key) for _, _, kind, key in page[start:end]]
