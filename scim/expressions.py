"""Database expressions that compare text as Python does: ids as text, folded text, code point order."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, Q, TextField, Value
from django.db.models.expressions import Combinable, Expression
from django.db.models.functions import Collate, Right, StrIndex
from django.db.models.lookups import Exact, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual
from django.db.models.sql.compiler import SQLCompiler
from scim2_models.path import CompareOperator

NEVER = Q(pk__in=[])
ALWAYS = ~NEVER

Condition = Any
"""What a queryset can filter by: a Q object or a conditional expression."""

_ORDERINGS = {
    CompareOperator.gt: GreaterThan,
    CompareOperator.ge: GreaterThanOrEqual,
    CompareOperator.lt: LessThan,
    CompareOperator.le: LessThanOrEqual,
}


class Fold(Func):
    """Text folded in the same way as by `records.accounts.employee_facts.fold_case`; stored text is in NFC already."""

    function = "LOWER"
    output_field = TextField()

    def as_sql(self, compiler: Any, connection: Any, *args: object, **extra: Any) -> tuple[str, Any]:
        """Convert to lower case by Unicode rules, independent of the database's own locale."""
        collation = ' COLLATE "pg_c_utf8"' if getattr(connection, "pg_version", 0) >= 170000 else ""
        template = f"REPLACE(LOWER(REPLACE(%(expressions)s, 'İ', 'i'){collation}), 'ς', 'σ')"  # noqa: RUF001 (the letter is intended)
        return super().as_sql(compiler, connection, template=template, **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, Any]:
        """Use the function that each new connection registers, because SQLite's LOWER handles ASCII only."""
        return super().as_sql(compiler, connection, template="scim_folded(%(expressions)s)", **extra)


class TextOfId(Func):
    """A UUID in its 36-character form, or '' for null."""

    output_field = TextField()

    def as_sql(self, compiler: Any, connection: Any, *args: object, **extra: Any) -> tuple[str, Any]:
        """Cast the UUID to text."""
        return super().as_sql(compiler, connection, template="COALESCE((%(expressions)s)::text, '')", **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> tuple[str, Any]:
        """Insert the dashes, because SQLite stores a UUID as 32 hexadecimal digits."""
        return super().as_sql(compiler, connection, template="scim_text_of_id(%(expressions)s)", **extra)


class TextOfNumber(Func):
    """A whole number as text."""

    output_field = TextField()
    template = "CAST(%(expressions)s AS TEXT)"


class ByCodePoint(Collate):
    """Text sorted by code point, in the same order as Python compares text."""

    def __init__(self, expression: Any) -> None:
        super().__init__(expression, "C")

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: object) -> tuple[str, Any]:
        """Use SQLite's binary collation; the byte order of UTF-8 is the order of the code points."""
        return self.as_sql(compiler, connection, template="%(expressions)s COLLATE BINARY", **extra)


def text(value: str) -> Value:
    """Return the value as a parameter with a type that the database knows."""
    return Value(value, output_field=TextField())


def is_present(expression: Expression | Combinable) -> Condition:
    """Return the condition that a text attribute has a value; unassigned text is ''."""
    return ~Q(Exact(expression, text("")))


def compare_text(expression: Expression | Combinable, op: CompareOperator, value: str | None) -> Condition:
    """Return the comparison of a text attribute ('' when unassigned) with an operand in the same form.

    The result is true or false for every row, never null, so that `not` works as expected.
    """
    if value is None:
        return {
            CompareOperator.eq: Q(Exact(expression, text(""))),
            CompareOperator.ne: is_present(expression),
        }.get(op, NEVER)
    if op == CompareOperator.eq:
        return Q(Exact(expression, text(value))) if value else NEVER
    if op == CompareOperator.ne:
        return ~Q(Exact(expression, text(value))) if value else ALWAYS
    if op in _ORDERINGS:
        comparison = _ORDERINGS[op](ByCodePoint(expression), text(value))
        return is_present(expression) & Q(comparison)
    if not value:
        return is_present(expression)
    if op == CompareOperator.co:
        return Q(GreaterThan(StrIndex(expression, text(value)), Value(0)))
    if op == CompareOperator.sw:
        return Q(Exact(StrIndex(expression, text(value)), Value(1)))
    return Q(Exact(Right(expression, len(value)), text(value)))


def compare_moment(expression: Expression | Combinable, op: CompareOperator, value: object) -> Condition:
    """Return the comparison of a date-time that is always assigned, with one or, for `eq` and `ne`, with null."""
    if value is None:
        return ALWAYS if op == CompareOperator.ne else NEVER
    if op == CompareOperator.eq:
        return Q(Exact(expression, Value(value)))
    if op == CompareOperator.ne:
        return ~Q(Exact(expression, Value(value)))
    return Q(_ORDERINGS[op](expression, Value(value)))


def compare_flag(expression: Expression | Combinable, op: CompareOperator, value: object) -> Condition:
    """Return the comparison of a boolean that is always assigned."""
    if value is None:
        return ALWAYS if op == CompareOperator.ne else NEVER
    equal = Q(Exact(expression, Value(bool(value))))
    return equal if op == CompareOperator.eq else ~equal
