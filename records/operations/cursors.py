"""The order of a list, and the opaque cursor that continues after a row, at the same cost for every page."""

import base64
import datetime
import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from hmac import compare_digest
from typing import Any, TypeVar

import msgspec
import orjson
from django.conf import settings
from django.db import connection, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Left
from django.db.models.sql.compiler import SQLCompiler

from records.history.statements import ANY_ROW, parameter
from records.operations.errors import ApiError
from records.operations.names import match_name, unknown
from records.operations.plans import ReadPlan
from records.sites.text import NAME


@dataclass(frozen=True, slots=True)
class Order:
    """What a list is sorted by: the wire name, its column, and the direction; ties follow the Id in that direction.

    Of a text that can be longer than a name only the beginning counts, so that a cursor fits into every address.
    """

    name: str
    column: models.Field[Any, Any]
    descending: bool

    @classmethod
    def read(cls, plan: ReadPlan, query: Mapping[str, list[str]], hidden_names: frozenset[str]) -> "Order":
        """Return the order that the query asks for; raises the 400 InvalidParameter."""
        sortable = [name for name in plan.columns if name not in hidden_names]
        sort_name = query.get("sort", [plan.usual_sort])[-1].strip()
        name = match_name(sort_name, sortable)
        if name is None:
            text = f"sort: {unknown(sort_name, sortable, 'field to sort by')} Fields to sort by: {', '.join(sortable)}."
            raise ApiError(400, "InvalidParameter", text)
        direction = query.get("order", ["asc"])[-1].strip().lower()
        if direction not in ("asc", "desc"):
            raise ApiError(400, "InvalidParameter", "order: Allowed are asc and desc.")
        return cls(name, plan.columns[name], direction == "desc")

    @property
    def attribute(self) -> str:
        """Return the attribute that is sorted by."""
        return self.column.attname

    @property
    def is_key(self) -> bool:
        """Return whether the list is sorted by the Id itself."""
        return bool(self.column.primary_key)

    @property
    def lacks_values(self) -> bool:
        """Return whether a listed record can have no sort value. Only drafts have no number; they are not listed."""
        return bool(self.column.null) and self.attribute != "site_sequence_id"

    @property
    def is_long(self) -> bool:
        """Return whether the column can contain more than is sorted by."""
        return isinstance(self.column, models.TextField | models.JSONField) or (self.column.max_length or 0) > NAME

    @property
    def expression(self) -> Any:
        """Return the expression that the list is sorted by."""
        column = F(self.attribute)
        return Left(Cast(column, models.TextField()), NAME) if self.is_long else column

    @property
    def selection(self) -> Combinable | str:
        """Return what selects the value that the list is sorted by."""
        return self.expression if self.is_long else self.attribute

    def place(self, plan: ReadPlan) -> int:
        """Return the place of what a list is sorted by in a tuple of the plan: -1 if it has to be read beside it."""
        return -1 if self.is_long else plan.place_of(self.attribute)

    @property
    def kind(self) -> models.Field[Any, Any]:
        """Return a field of the kind that is sorted by."""
        if self.is_long:
            return models.TextField()
        column: Any = self.column
        return column.target_field if column.is_relation else column

    def terms(self) -> list[Any]:
        """Return the ORDER BY: nulls last if ascending and first if descending, as in PostgreSQL's indexes."""
        column: Any = self.expression
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
    value: object
    key: uuid.UUID
    start: int

    def parameters(self) -> tuple[object, object]:
        """Return the value and the key in the forms in which the database compares them."""
        if self.value is ANY_VALUE:
            return ANY_VALUE, self.key
        return self.order.kind.get_db_prep_value(self.value, connection), parameter(self.key)

    def anywhere(self) -> "Position":
        """Return the position with placeholders, for a statement that serves every position of the same kind."""
        return Position(self.order, None if self.value is None else ANY_VALUE, ANY_ROW, 0)

    def placeholder_values(self) -> dict[uuid.UUID, Any]:
        """Return the values of the placeholders."""
        value, key = self.parameters()
        return {ANY_VALUE: value, ANY_ROW: key}


M = TypeVar("M", bound=models.Model)
R = TypeVar("R")
ANY_VALUE = uuid.uuid4()
"""The placeholder of a position's value."""
DIGEST_BYTES = 16
"""The size of the digest at the end of a cursor."""
PAGING = frozenset({"startIndex", "limit", "cursor"})
"""Query parameters that choose a page; all others choose or order the rows."""


def list_of(model: type[models.Model], site_id: uuid.UUID, query: Mapping[str, list[str]]) -> list[object]:
    """Return what identifies a list to its cursors: the kind of record, the site, and what the query asks for."""
    return [model._meta.label, site_id, sorted(item for item in query.items() if item[0] not in PAGING)]


@lru_cache(8)
def _key(secret: str) -> bytes:
    """Return the key of the digests, of 64 bytes, the most that BLAKE2 takes."""
    return hashlib.sha512(f"records.operations.cursors {secret}".encode()).digest()


def _digest(list_identity: Sequence[object], content: bytes, secret: str) -> bytes:
    """Return the keyed digest by which a cursor is known to be of this list and not forged.

    Django's signer derives its key anew for each signature, which would take a twentieth of the time of a page.
    """
    return hashlib.blake2b(orjson.dumps(list_identity) + content, digest_size=DIGEST_BYTES, key=_key(secret)).digest()


def write(list_identity: Sequence[object], order: Order, value: object, key: uuid.UUID, start: int) -> str:
    """Return the cursor that continues after the row with this value and key; `list_identity` identifies the list."""
    content = orjson.dumps([order.name, order.descending, _plain(value), str(key), start])
    return base64.urlsafe_b64encode(content + _digest(list_identity, content, settings.SECRET_KEY)).decode().rstrip("=")


def _plain(value: object) -> object:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, Decimal | uuid.UUID):
        return str(value)
    return value


def read(text: str, list_identity: Sequence[object], order: Order) -> Position:
    """Return the position of a cursor; raises the 400 InvalidParameter if it is forged or of another list or order."""
    refusal = ApiError(400, "InvalidParameter", "cursor: It is not of this list. Use the Link of the page before.")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        content, digest = raw[:-DIGEST_BYTES], raw[-DIGEST_BYTES:]
        secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        if not any(compare_digest(digest, _digest(list_identity, content, secret)) for secret in secrets):
            raise refusal
        name, descending, value, key, start = msgspec.json.decode(content)
        if (name, descending) != (order.name, order.descending):
            raise refusal
        value = None if value is None else order.kind.to_python(value)
        return Position(order, value, uuid.UUID(key), start)
    except ApiError:
        raise
    except Exception as error:  # Whatever a forged cursor contains, it is refused.
        raise refusal from error


class Beyond(models.Func):
    """`(column, id) > (value, key)` as one comparison, which an index serves even if many rows share the value."""

    output_field = models.BooleanField()

    def __init__(self, position: Position) -> None:
        super().__init__(position.order.expression, F("pk"))
        self.position = position

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: object) -> Any:  # type: ignore[override]
        """Return the comparison and its parameters."""
        (column, column_parameters), (key, key_parameters) = (
            compiler.compile(expression) for expression in self.source_expressions
        )
        operator = "<" if self.position.order.descending else ">"
        return f"({column}, {key}) {operator} (%s, %s)", [
            *column_parameters,
            *key_parameters,
            *self.position.parameters(),
        ]


def parts(position: Position | None) -> int:
    """Return how many queries find the rows after a position, or of a list from its start."""
    if position is None or position.order.is_key:
        return 1
    return 2 if position.order.lacks_values and (position.value is None) == position.order.descending else 1


def after(rows: models.QuerySet[M, R], position: Position) -> list[models.QuerySet[M, R]]:
    """Return the rows after the position in its order, as queries to be read one after the other.

    Rows with null, which come last if ascending and first if descending, have their own query, so that each query is a
    range of one index.
    """
    order = position.order
    beyond_key = Q(pk__lt=position.key) if order.descending else Q(pk__gt=position.key)
    if order.is_key:
        return [rows.filter(beyond_key)]
    has_no_value = Q(**{f"{order.attribute}__isnull": True})
    if position.value is None:
        ties = rows.filter(has_no_value & beyond_key)
        return [ties, rows.filter(~has_no_value)] if order.descending else [ties]
    rows_beyond = rows.filter(Beyond(position))
    return [rows_beyond, rows.filter(has_no_value)] if order.lacks_values and not order.descending else [rows_beyond]
