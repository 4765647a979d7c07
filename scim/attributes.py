"""What a filter compares: sources of text, moments, flags and entries, each a database expression with its rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.db.models import F, QuerySet, TextField
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
    """Where a text, moment or flag of a resource is found in the database."""

    def compare(self, op: CompareOperator, value: Any) -> Condition:
        """Return the comparison with an operand in comparable form."""

    def present(self) -> Condition:
        """Return the condition that the attribute is assigned."""

    def order(self) -> Term:
        """Return what rows are sorted by ('' or null when unassigned)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text expression: '' when unassigned, folded already unless the attribute is caseExact.

    `prepare` turns an operand into the form that the expression has, where that is not the usual one.
    """

    expression: Term
    prepare: Callable[[str], str] | None = None
    equals: Callable[[str], Condition] | None = None

    def compare(self, op: CompareOperator, value: Any) -> Condition:
        """Return the comparison; a value that is not text equals nothing."""
        if value is not None and not isinstance(value, str):
            return ALWAYS if op == CompareOperator.ne else NEVER
        if value and self.prepare:
            value = self.prepare(value)
        if value and self.equals and op in (CompareOperator.eq, CompareOperator.ne):
            found = self.equals(value)
            return found if op == CompareOperator.eq else ~found
        return compare_text(self.expression, op, value)

    def present(self) -> Condition:
        """Return the condition that the text is not empty."""
        return is_present(self.expression)

    def order(self) -> Term:
        """Return the text by code point, null for none."""
        return ByCodePoint(NullIf(self.expression, text(""), output_field=TextField()))


@dataclass(frozen=True, slots=True)
class Moment:
    """A date-time that every row has."""

    expression: Term

    def compare(self, op: CompareOperator, value: Any) -> Condition:
        """Return the comparison."""
        return compare_moment(self.expression, op, value)

    def present(self) -> Condition:
        """Every row has it."""
        return ALWAYS

    def order(self) -> Term:
        """Return the expression."""
        return self.expression


@dataclass(frozen=True, slots=True)
class Flag:
    """A boolean that every row has."""

    expression: Term

    def compare(self, op: CompareOperator, value: Any) -> Condition:
        """Return the comparison."""
        return compare_flag(self.expression, op, value)

    def present(self) -> Condition:
        """Every row has it."""
        return ALWAYS

    def order(self) -> Term:
        """Return the expression."""
        return self.expression


@dataclass(frozen=True, slots=True)
class Nothing:
    """An attribute that is never assigned as far as a caller can tell, such as a password."""

    def compare(self, op: CompareOperator, value: Any) -> Condition:
        """Compare with null alone."""
        return ALWAYS if (op == CompareOperator.ne) == (value is not None) and op in _EQUALITY else NEVER

    def present(self) -> Condition:
        """Never."""
        return NEVER

    def order(self) -> Term:
        """Leave the order to the id."""
        raise InvalidPathException(detail="The attribute cannot be sorted on.")


_EQUALITY = (CompareOperator.eq, CompareOperator.ne)


class Entries(Protocol):
    """The rows of a multi-valued attribute, each an entry with sub-attributes."""

    def rows(self) -> QuerySet[Any]:
        """Return the entries of the outer row, one row per entry at least."""

    def sub(self, name: str) -> Source | None:
        """Return where a sub-attribute of the entry row is found; None for one that no entry has."""

    def order(self, name: str) -> Term:
        """Return the sub-attribute of the primary, else the first entry, for sorting."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A multi-valued attribute of plain values, known in Python with the condition under which each is there."""

    values: tuple[tuple[str, Condition], ...]

    def any_that(self, holds: Callable[[str], bool]) -> Condition:
        """Return the condition that one of the values at hand passes."""
        found: Condition = NEVER
        for value, condition in self.values:
            if holds(value):
                found = found | condition
        return found


Attributes = Mapping[str, Source | Entries | Listed]
"""Sources by lower-case path below the schema (`name.familyname`), those of extensions after their URN and a colon."""


def orderings(name: str, *, descending: bool) -> tuple[Any, ...]:
    """Return the orderings by an annotation: unassigned values last, when descending first (RFC 7644, 3.4.2.3)."""
    return (F(name).desc(nulls_first=True),) if descending else (F(name).asc(nulls_last=True),)
