"""Lists: which resources a query finds, in which order, and one page of them."""

import uuid
from typing import Any

from django.db.models import QuerySet
from pydantic import ValidationError as ShapeError
from scim2_models import Error, InvalidPathException, Path, SearchRequest

from scim import attributes, filters, sources
from scim.callers import Caller
from scim.documents import Document, group_documents, list_response, user_documents
from scim.projection import Projection
from scim.requests import Query
from scim.schemas import LIST_RESPONSE, MODELS, bound


def rows_of(caller: Caller, kind: str) -> QuerySet[Any]:
    """Return the users or roles that the token sees."""
    return sources.visible_users(caller) if kind == "User" else sources.visible_roles(caller)


def attributes_of(caller: Caller, kind: str) -> attributes.Attributes:
    """Return the sources of a kind's attributes."""
    return sources.user_attributes(caller.sight) if kind == "User" else sources.group_attributes(caller.sight)


def documents_of(caller: Caller, kind: str, rows: QuerySet[Any], projection: Projection) -> list[Document]:
    """Return the documents of the rows, in any order."""
    if kind == "User":
        return user_documents(caller, rows, projection)
    return group_documents(caller, rows, projection)


def filtered(caller: Caller, kind: str, query: Query, kinds: tuple[str, ...] = ()) -> QuerySet[Any]:
    """Return the rows that the query's filter leaves, of one kind or of one among several.

    Raises InvalidFilterException.
    """
    rows = rows_of(caller, kind)
    if query.filter:
        rows = rows.filter(filters.condition(kind, attributes_of(caller, kind), query.filter, kinds))
    return rows


def ordered(caller: Caller, kind: str, rows: QuerySet[Any], query: Query) -> QuerySet[Any]:
    """Return the rows by id, or by sortBy with ties by id; unassigned values come last, descending first.

    Raises InvalidPathException.
    """
    if not query.sort_by:
        return rows.order_by("pk")
    model: Any = MODELS[kind]
    path = bound(Path, kind)(filters.colon_after_schema(query.sort_by))
    try:
        binding = bound(SearchRequest, kind)(sort_by=path).sort_binding(model)
    except ShapeError as error:
        raise InvalidPathException(detail=Error.from_validation_errors(error)[0].detail) from error
    term = filters.sort_term(attributes_of(caller, kind), model, binding)
    return rows.annotate(_sorted=term).order_by(*attributes.orderings("_sorted", descending=query.descending), "pk")


def page_of(caller: Caller, kind: str, query: Query) -> tuple[list[Document], int]:
    """Return one page of documents and the total; the ids are found first, so that a page costs what it holds."""
    rows = filtered(caller, kind, query)
    start = query.start_index - 1
    keys: list[uuid.UUID] = []
    if query.count:
        keys = list(ordered(caller, kind, rows, query).values_list("pk", flat=True)[start : start + query.count])
    total = start + len(keys) if keys and len(keys) < query.count else rows.count()
    return documents_at(caller, kind, keys, query), total


def documents_at(caller: Caller, kind: str, keys: list[uuid.UUID], query: Query) -> list[Document]:
    """Return what the query asks for of the resources with these ids, in their order."""
    if not keys:
        return []
    projection = Projection.of(kind, query, spares=caller.reads_rfc)
    found = documents_of(caller, kind, rows_of(caller, kind).filter(pk__in=keys), projection)
    by_id = {document["id"]: document for document in found}
    return [projection.apply(by_id[str(key)]) for key in keys if str(key) in by_id]


def found(caller: Caller, kinds: tuple[str, ...], query: Query) -> Document:
    """Return the page: users first, then groups, where both are asked for."""
    if len(kinds) == 1:
        documents, total = page_of(caller, kinds[0], query)
        return list_response(documents, total, query.start_index)
    keys: list[tuple[str, uuid.UUID]] = []
    total, skip, errors = 0, query.start_index - 1, []
    for kind in kinds:
        rows = filtered(caller, kind, query, kinds)
        try:
            rows = ordered(caller, kind, rows, query)
        except InvalidPathException as error:
            # The other kind may have what is sorted by; of this one all are equal then.
            errors.append(error)
            rows = rows.order_by("pk")
        count = rows.count()
        start = max(0, skip - total)
        room = query.count - len(keys)
        if room > 0 and start < count:
            keys += [(kind, key) for key in rows.values_list("pk", flat=True)[start : start + room]]
        total += count
    if len(errors) == len(kinds):
        raise errors[0]
    documents = [
        document
        for kind in kinds
        for document in documents_at(caller, kind, [key for of, key in keys if of == kind], query)
    ]
    return list_response(documents, total, query.start_index)


def whole_list(documents: list[Document]) -> Document:
    """Return a ListResponse of everything there is."""
    return {**list_response(documents, len(documents), 1), "schemas": [LIST_RESPONSE]}
