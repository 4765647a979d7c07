"""The sources that a filter compares: texts, date-times, booleans and entries. Each wraps a database expression."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.db.models import QuerySet, TextField
from django.db.models.expressions import Combinable, Expression
from django.db.models.functions import NullIf
from scim2_models import InvalidPathException
from scim2_models.path import CompareOperator

from scim.expressions import (
    ALWAYS,
    NEVER,
    ByCodePoint,
    Condition,
    compare_flag,
    compare_moment,
    compare_text,
    is_present,
    text,
)

Term = Expression | Combinable


class Source(Protocol):
    """The source of a text, date-time or boolean of a resource in the database."""

    def compare(self, op: CompareOperator, value: object) -> Condition:
        """Return the condition that compares the attribute with an operand in comparable form."""

    def present(self) -> Condition:
        """Return the condition that the attribute has a value."""

    def order(self) -> Term:
        """Return the expression that rows are sorted by ('' or null when unassigned)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text expression: '' when unassigned, and already in the form in which the attribute is compared."""

    expression: Term
    equals: Callable[[str], Condition] | None = None

    def compare(self, op: CompareOperator, value: object) -> Condition:
        """Return the comparison; an operand that is not text equals no value."""
        if value is not None and not isinstance(value, str):
            return ALWAYS if op == CompareOperator.ne else NEVER
        if value and self.equals and op in (CompareOperator.eq, CompareOperator.ne):
            condition = self.equals(value)
            return condition if op == CompareOperator.eq else ~condition
        return compare_text(self.expression, op, value)

    def present(self) -> Condition:
        """Return the condition that the text is not empty."""
        return is_present(self.expression)

    def order(self) -> Term:
        """Return the text in code point order, or null when it is unassigned."""
        return ByCodePoint(NullIf(self.expression, text(""), output_field=TextField()))


@dataclass(frozen=True, slots=True)
class RequiredColumn:
    """A date-time or boolean that every row has, with the function that compares it."""

    expression: Term
    comparison: Callable[[Term, CompareOperator, object], Condition]

    def compare(self, op: CompareOperator, value: object) -> Condition:
        """Return the comparison."""
        return self.comparison(self.expression, op, value)

    def present(self) -> Condition:
        """Return a condition that is always true, because every row has a value."""
        return ALWAYS

    def order(self) -> Term:
        """Return the expression."""
        return self.expression


def moment(expression: Term) -> RequiredColumn:
    """Return the source of a date-time that every row has."""
    return RequiredColumn(expression, compare_moment)


def flag(expression: Term) -> RequiredColumn:
    """Return the source of a boolean that every row has."""
    return RequiredColumn(expression, compare_flag)


@dataclass(frozen=True, slots=True)
class Nothing:
    """An attribute that always appears unassigned to a caller, such as a password."""

    def compare(self, op: CompareOperator, value: object) -> Condition:
        """Return the comparison, which can match only null."""
        return ALWAYS if (op == CompareOperator.ne) == (value is not None) and op in _EQUALITY else NEVER

    def present(self) -> Condition:
        """Return a condition that is always false."""
        return NEVER

    def order(self) -> Term:
        """Raise InvalidPathException: the attribute cannot be sorted by."""
        raise InvalidPathException(detail="The attribute cannot be sorted.")


_EQUALITY = (CompareOperator.eq, CompareOperator.ne)


class Entries(Protocol):
    """The rows of a multi-valued attribute, each an entry with sub-attributes."""

    def rows(self) -> QuerySet[Any]:
        """Return the entries of the outer row, with at least one row for each entry."""

    def sub(self, name: str) -> Source | None:
        """Return the source of a sub-attribute of the entry row, or None for a sub-attribute that no entry has."""

    def order(self, name: str) -> Term:
        """Return the sort expression: the sub-attribute of the primary entry, otherwise of the first entry."""


@dataclass(frozen=True, slots=True)
class FixedValues:
    """A multi-valued attribute with a fixed list of values, each with the condition under which a resource has it."""

    values: tuple[tuple[str, Condition], ...]

    def any_that(self, holds: Callable[[str], bool]) -> Condition:
        """Return the condition that at least one of the resource's values passes the test."""
        result: Condition = NEVER
        for value, condition in self.values:
            if holds(value):
                result = result | condition
        return result


Attributes = Mapping[str, Source | Entries | FixedValues]
"""Sources by lower-case path in the schema (`name.familyname`). In an extension, the URN and a colon come before it."""
