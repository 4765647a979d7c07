"""The order of a list and the opaque cursor that goes on after a row, at the same cost on every page."""

import base64
import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import orjson
from django.db import models
from django.db.models import F, Q

from records.operations.errors import Refusal
from records.operations.names import unknown
from records.operations.plans import ReadPlan


@dataclass(frozen=True, slots=True)
class Order:
    """What a list is sorted by: the wire name, its column, and the direction; ties are broken by Id, upwards."""

    name: str
    column: models.Field[Any, Any]
    descending: bool

    @classmethod
    def read(cls, plan: ReadPlan, rules: Any, query: Mapping[str, list[str]], hidden: frozenset[str]) -> "Order":
        """Return the order that the query asks for; raises the 400 InvalidParameter."""
        sortable = [name for name in (rules.sortable or plan.columns) if name not in hidden]
        folded = {name.casefold(): name for name in sortable}
        given = query.get("sort", [rules.sort])[-1].strip()
        name = folded.get(given.casefold())
        if name is None:
            raise Refusal(400, "InvalidParameter", f"sort: {unknown(given, sortable, 'field to sort by')}")
        direction = query.get("order", ["asc"])[-1].strip().lower()
        if direction not in ("asc", "desc"):
            raise Refusal(400, "InvalidParameter", "order: Allowed are asc and desc.")
        return cls(name, plan.columns[name], direction == "desc")

    @property
    def attribute(self) -> str:
        """Return the attribute that is sorted by."""
        return self.column.attname

    @property
    def is_key(self) -> bool:
        """Return whether the list is sorted by the Id itself."""
        return bool(self.column.primary_key)

    def terms(self) -> list[Any]:
        """Return the ORDER BY: missing values last upwards and first downwards, as in PostgreSQL's indexes."""
        column: Any = F(self.attribute)
        nulls = self.column.null
        if self.descending:
            first = column.desc(nulls_first=True) if nulls else column.desc()
        else:
            first = column.asc(nulls_last=True) if nulls else column.asc()
        tie = F("pk").desc() if self.descending else F("pk").asc()
        return [tie] if self.is_key else [first, tie]


@dataclass(frozen=True, slots=True)
class Position:
    """The row after which the next page starts."""

    order: Order
    value: Any
    key: uuid.UUID
    start: int


def write(order: Order, value: Any, key: uuid.UUID, start: int) -> str:
    """Return the cursor that goes on after the row with this value and key."""
    content = [order.name, order.descending, _plain(value), str(key), start]
    return base64.urlsafe_b64encode(orjson.dumps(content)).decode().rstrip("=")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, Decimal | uuid.UUID):
        return str(value)
    return value


def read(text: str, order: Order) -> Position:
    """Return the position of a cursor; raises the 400 InvalidParameter for one that is not ours or of another order."""
    refusal = Refusal(400, "InvalidParameter", "cursor: Follow the link of the page before; this cursor is not of it.")
    try:
        content = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        name, descending, value, key, start = content
        if (name, descending) != (order.name, order.descending) or not isinstance(start, int) or start < 0:
            raise refusal
        value = None if value is None else order.column.to_python(value)
        return Position(order, value, uuid.UUID(key), start)
    except Refusal:
        raise
    except Exception as error:  # whatever a forged cursor holds, it is not ours
        raise refusal from error


def after(ordered: models.QuerySet[Any, Any], position: Position) -> models.QuerySet[Any, Any]:
    """Return the rows that come after the position in its order."""
    order, attribute = position.order, position.order.attribute
    compared = "lt" if order.descending else "gt"
    beyond_key = Q(**{f"pk__{compared}": position.key})
    if order.is_key:
        return ordered.filter(beyond_key)
    if position.value is None:
        same = Q(**{f"{attribute}__isnull": True}) & beyond_key
        return ordered.filter(same | Q(**{f"{attribute}__isnull": False}) if order.descending else same)
    bound = Q(**{f"{attribute}__{compared}e": position.value})
    rows = Q(**{f"{attribute}__{compared}": position.value}) | (Q(**{attribute: position.value}) & beyond_key)
    if not order.column.null:
        return ordered.filter(bound & rows)
    if order.descending:
        return ordered.filter(bound & rows)
    return ordered.filter(rows | Q(**{f"{attribute}__isnull": True}))
