"""Paging by cursor (RFC 9865).

A page ends with a cursor that says where the next page starts, so that the database does not count off earlier rows. A
cursor holds the id of the last resource and the value that it was sorted by. Both are signed together with the query,
so that a cursor is valid for its own query only.
"""

import datetime
import json
import uuid
from typing import Any

from django.core import signing
from django.db.models import Q, QuerySet

from scim.callers import Caller
from scim.errors import ScimError
from scim.requests import Query

Position = tuple[str, uuid.UUID, Any]
"""The kind and id of the last resource of a page, and the value that it was sorted by."""


def write(caller: Caller, kinds: tuple[str, ...], query: Query, position: Position) -> str:
    """Return the cursor that continues after a position."""
    kind, key, value = position
    encoded_value = ["t", value.isoformat()] if isinstance(value, datetime.datetime) else ["v", value]
    return signing.dumps([kind, str(key), encoded_value], salt=_salt(caller, kinds, query))


def read(caller: Caller, kinds: tuple[str, ...], query: Query) -> Position | None:
    """Return the position in the query's cursor, or None for the first page; raises ScimError (400)."""
    if not query.cursor:
        return None
    try:
        kind, key, (form, value) = signing.loads(query.cursor, salt=_salt(caller, kinds, query))
    except signing.BadSignature:
        raise ScimError(400, "The cursor is unknown, or belongs to another query.", "invalidCursor") from None
    return kind, uuid.UUID(key), datetime.datetime.fromisoformat(value) if form == "t" else value


def _salt(caller: Caller, kinds: tuple[str, ...], query: Query) -> str:
    parts = [str(caller.directory_id), kinds, query.filter, query.sort_by.lower(), query.descending]
    return f"scim.cursor {json.dumps(parts)}"


def after(rows: QuerySet[Any], position: Position, query: Query) -> QuerySet[Any]:
    """Return the ordered rows that follow a position. Unassigned values come last, or first when descending."""
    _, key, value = position
    if not query.sort_by:
        return rows.filter(pk__gt=key)
    equal_value = Q(_sorted__isnull=True) if value is None else Q(_sorted=value)
    ties = Q(pk__gt=key) & equal_value
    if query.descending:
        has_later_value = Q(_sorted__isnull=False) if value is None else Q(_sorted__lt=value)
    else:
        has_later_value = Q(pk__in=[]) if value is None else Q(_sorted__gt=value) | Q(_sorted__isnull=True)
    return rows.filter(ties | has_later_value)
