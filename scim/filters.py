"""Turns a SCIM filter into a queryset condition: walks the syntax tree and looks up the sources of attributes."""

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db.models import Exists, Q
from pydantic import ValidationError as ShapeError
from scim2_models import Error, InvalidFilterException, InvalidPathException, Resource, ScimFilter, SearchRequest
from scim2_models.path import (
    STRING_OPERATORS,
    AttributeBinding,
    AttrPath,
    CompareOperator,
    Comparison,
    FilterNode,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ValuePath,
    coerce_value,
)

from records.sites.text import normalise
from scim.attributes import Attributes, Entries, FixedValues, Nothing, Source, Term, Text
from scim.expressions import ALWAYS, NEVER, Condition
from scim.filter_texts import clean_filter
from scim.schemas import MODELS, bind
from scim.stored_lists import Rows

LONGEST_FILTER = 10_000
MOST_COMPARISONS = 200
_DATE_AND_TIME = re.compile(r"\d{4}-\d\d-\d\dt\d\d:.*", re.ASCII | re.IGNORECASE)
"""How a date-time begins; without this the models would read a number as seconds, and a date as its midnight."""


def path_of(binding: AttributeBinding, resource: type[Resource[Any]]) -> str:
    """Return the key of the bound attribute in `Attributes`."""
    urn = binding.urn.lower()
    prefix = f"{resource.__schema__}:".lower()
    return urn[len(prefix) :] if urn.startswith(prefix) else urn


class _Joining(FilterVisitor[Any]):
    """Joins and negates the conditions of the terms of a filter; each visit returns a condition."""

    def visit_logical_expr(self, node: LogicalExpr) -> Condition:
        """Combine the conditions of the terms."""
        result, *conditions = (self.visit(term) for term in node.terms)
        for condition in conditions:
            result = (Q(result) & Q(condition)) if node.op == LogicalOperator.and_ else (Q(result) | Q(condition))
        return result

    def visit_not(self, node: Not) -> Condition:
        """Negate the condition; this is safe because every condition is true or false, never null."""
        return ~Q(self.visit(node.expr))


@dataclass
class Compiler(_Joining):
    """Compiles one filter over the attributes of one resource.

    If `tolerant` is true, a term about an attribute that only another resource type declares is false (RFC 7644,
    3.4.2.1).
    """

    resource: type[Resource[Any]]
    attributes: Attributes
    filter: ScimFilter[Any]
    tolerant: bool = False

    def visit_comparison(self, node: Comparison) -> Condition:
        """Compare a single value, or any of the values of a list (for `ne`: each of them).

        Raises InvalidFilterException for a list whose entries have sub-attributes.
        """
        binding = self._resolve(self.filter.resolve_comparison, node.attr_path)
        if binding is None:
            return NEVER
        path = path_of(binding, self.resource)
        if not binding.is_multivalued and path not in self.attributes and f"{path}.value" in self.attributes:
            # A complex attribute with a reference is compared by its value: `manager eq "…"`.
            value_path = AttrPath(node.attr_path.attr, "value", node.attr_path.uri)
            return self.visit_comparison(Comparison(value_path, node.op, node.value))
        value = _operand(binding, node.value, node.op)
        source = self.attributes.get(path)
        if isinstance(source, FixedValues):
            return _compare_fixed_values(source, node.op, value)
        if not binding.is_multivalued:
            return self._single(path, source).compare(node.op, value)
        head, _, sub = path.rpartition(".")
        if not head:
            raise InvalidFilterException(detail=f"'{path}' holds sub-attributes; compare one of them.")
        return _compare_entries(self._entries(head), sub, node.op, value)

    def visit_present(self, node: Present) -> Condition:
        """Test whether the path, or any attribute below it, has a value."""
        binding = self._resolve(self.filter.resolve, node.attr_path)
        if binding is None:
            return NEVER
        path = path_of(binding, self.resource)
        if binding.is_multivalued:
            if binding.sub_field_name is None:
                source = self.attributes.get(path)
                return source.any_that(bool) if isinstance(source, FixedValues) else Exists(self._entries(path).rows())
            head, _, sub = path.rpartition(".")
            return _any_entry(self._entries(head), lambda entries: _present_sub(entries, sub))
        sources = [source for source in self._below(path) if not isinstance(source, FixedValues)]
        condition: Condition = NEVER
        for source in sources:
            condition = Q(condition) | Q(source.present())
        return condition

    def visit_value_path(self, node: ValuePath) -> Condition:
        """Test whether an entry of the list satisfies the inner filter; InvalidFilterException for plain values."""
        binding = self._resolve(self.filter.resolve, node.attr_path)
        if binding is None:
            return NEVER
        path = path_of(binding, self.resource)
        source = self.attributes.get(path)
        if isinstance(source, FixedValues):
            raise InvalidFilterException(detail=f"'{path}' has no sub-attributes to select by.")
        inner = _EntryCompiler(binding, self._entries(path)).visit(node.val_filter)
        return Exists(self._entries(path).rows().filter(inner))

    def _resolve(
        self, resolve: Callable[[AttrPath], AttributeBinding | None], path: AttrPath
    ) -> AttributeBinding | None:
        """Return the attribute at a path, or None if only another resource type has it; raises for an unknown path."""
        try:
            binding = resolve(path)
        except InvalidFilterException:
            if not self.tolerant:
                raise
            return None
        if binding is None and not self.tolerant:
            raise InvalidFilterException(detail="The filter names an attribute that does not exist.")
        return binding

    def _single(self, path: str, source: Any) -> Source:
        if source is None:
            raise InvalidFilterException(detail=f"'{path}' holds sub-attributes; compare one of them.")
        return source

    def _entries(self, path: str) -> Entries:
        return cast(Entries, self.attributes[path])

    def _below(self, path: str) -> Iterator[Source]:
        for name, source in self.attributes.items():
            if name == path or name.startswith(f"{path}."):
                yield source  # type: ignore[misc]


@dataclass
class _EntryCompiler(_Joining):
    """Compiles the filter in brackets over the rows of a list's entries."""

    binding: AttributeBinding
    entries: Entries

    def visit_comparison(self, node: Comparison) -> Condition:
        """Compare a sub-attribute of the entry."""
        inner = self._inner(node.attr_path)
        return _compare_sub(self.entries, _name(inner), node.op, _operand(inner, node.value, node.op))

    def visit_present(self, node: Present) -> Condition:
        """Test whether a sub-attribute of the entry has a value."""
        return _present_sub(self.entries, _name(self._inner(node.attr_path)))

    def visit_value_path(self, node: ValuePath) -> Condition:
        """Refuse the filter, because lists cannot be nested."""
        raise InvalidFilterException(detail="Brackets do not nest.")

    def _inner(self, path: AttrPath) -> AttributeBinding:
        item: Any = self.binding.field_type
        inner = ScimFilter[item](f"{path} pr").resolve(path)
        if inner is None or inner.sub_field_name:
            raise InvalidFilterException(detail=f"'{path}' is not a sub-attribute of '{self.binding.urn}'.")
        return inner


def _name(binding: AttributeBinding) -> str:
    return binding.urn.rpartition(":")[2].rpartition(".")[2].lower()


def _operand(binding: AttributeBinding, raw_value: Any, op: CompareOperator) -> object:
    """Return the operand in the form that its source compares.

    Raises InvalidFilterException for an operand that does not fit the attribute, and for a part of a date-time
    (DECISIONS 7.5).
    """
    if binding.target_type is datetime.datetime and raw_value is not None:
        if op in STRING_OPERATORS:
            raise InvalidFilterException(detail=f"'{op}' compares text, but '{binding.urn}' is a date-time.")
        if not _DATE_AND_TIME.fullmatch(str(raw_value)):
            raise InvalidFilterException(detail=f"{raw_value!r:.200} is not a date-time, such as 2026-01-31T09:00:00Z.")
    try:
        if isinstance(raw_value, str):
            # Escapes are resolved only here, so the operand is checked for text that no record may hold (DECISIONS
            # 1.9).
            normalise(raw_value)
        value = coerce_value(binding, raw_value, op)
        if isinstance(value, datetime.datetime):
            # A date-time outside the years 0001 to 9999 in UTC overflows here (DECISIONS 1.8).
            value = value.astimezone(datetime.UTC)
        return binding.comparable(value)
    except (ValueError, OverflowError, ValidationError) as error:
        raise InvalidFilterException(detail=f"{raw_value!r:.200} does not fit '{binding.urn}'.") from error


def _compare_sub(entries: Entries, name: str, op: CompareOperator, value: object) -> Condition:
    source = entries.sub(name)
    return (source or Nothing()).compare(op, value)


def _present_sub(entries: Entries, name: str) -> Condition:
    source = entries.sub(name)
    return source.present() if source else NEVER


def _any_entry(entries: Entries, condition: Callable[[Entries], Condition]) -> Condition:
    return Exists(entries.rows().filter(condition(entries)))


def _compare_entries(entries: Entries, sub: str, op: CompareOperator, value: object) -> Condition:
    """Compare the sub-attribute of each entry: one match is enough, but `ne` needs all to differ. No entry is null."""
    if op == CompareOperator.ne:
        return ~Q(_compare_entries(entries, sub, CompareOperator.eq, value))
    condition = _any_entry(entries, lambda rows: _compare_sub(rows, sub, op, value))
    if value is None and op == CompareOperator.eq:
        return Q(condition) | ~Q(Exists(entries.rows()))
    return condition


def _compare_fixed_values(source: FixedValues, op: CompareOperator, value: object) -> Condition:
    if not isinstance(value, str):
        return ALWAYS if op == CompareOperator.ne else NEVER
    tests: dict[CompareOperator, Callable[[str], bool]] = {
        CompareOperator.eq: lambda candidate: candidate == value,
        CompareOperator.co: lambda candidate: value in candidate,
        CompareOperator.sw: lambda candidate: candidate.startswith(value),
        CompareOperator.ew: lambda candidate: candidate.endswith(value),
        CompareOperator.gt: lambda candidate: candidate > value,
        CompareOperator.ge: lambda candidate: candidate >= value,
        CompareOperator.lt: lambda candidate: candidate < value,
        CompareOperator.le: lambda candidate: candidate <= value,
    }
    if op == CompareOperator.ne:
        return ~Q(source.any_that(tests[CompareOperator.eq]))
    return source.any_that(tests[op])


def _count_comparisons(node: FilterNode) -> int:
    if isinstance(node, LogicalExpr):
        return sum(_count_comparisons(term) for term in node.terms)
    if isinstance(node, Not):
        return _count_comparisons(node.expr)
    if isinstance(node, ValuePath):
        return 1 + _count_comparisons(node.val_filter)
    return 1


def parse_filter(kinds: Sequence[str], expression: str) -> ScimFilter[Any]:
    """Parse and check a filter over resources (User, Group); raises InvalidFilterException instead of ignoring a part.

    Every attribute must be declared by at least one of the kinds.
    """
    if len(expression) > LONGEST_FILTER:
        raise InvalidFilterException(detail=f"The filter is longer than {LONGEST_FILTER} characters.")
    scim_filter: Any = bind(ScimFilter, *kinds)(clean_filter(expression, of_users="User" in kinds))
    try:
        bind(SearchRequest, *kinds)(filter=scim_filter)
    except ShapeError as error:
        raise InvalidFilterException(detail=Error.from_validation_errors(error)[0].detail) from error
    if _count_comparisons(scim_filter.ast) > MOST_COMPARISONS:
        raise InvalidFilterException(detail=f"The filter makes more than {MOST_COMPARISONS} comparisons.")
    return scim_filter


def bindings_of(kind: str, attributes: Attributes, shape: str) -> dict[str, AttributeBinding] | None:
    """Return the attribute with which each placeholder of a shape is compared.

    None if the filter does anything else than to ask whether texts are equal, of which one or each must be.
    """
    try:
        scim_filter = parse_filter((kind,), shape)
        bindings: dict[str, AttributeBinding] = {}
        for term in scim_filter.ast.terms if isinstance(scim_filter.ast, LogicalExpr) else (scim_filter.ast,):
            if not isinstance(term, Comparison) or term.op != CompareOperator.eq or not isinstance(term.value, str):
                return None
            binding = scim_filter.resolve_comparison(term.attr_path)
            path = path_of(binding, MODELS[kind]) if binding else ""
            head, _, sub = path.rpartition(".")
            source = attributes.get(path)
            if binding and binding.is_multivalued:
                entries = attributes.get(head)
                source = entries.sub(sub) if isinstance(entries, Rows) else None
            if binding is None or not isinstance(source, Text) or operand(binding, term.value) != term.value:
                return None
            bindings[term.value] = binding
    except (InvalidFilterException, InvalidPathException):
        return None
    return bindings


def operand(binding: AttributeBinding, text: str) -> str | None:
    """Return the text in the form in which it is a parameter of a prepared filter, or None if it cannot be one.

    Empty text, and text with blanks around it, is compared by other conditions than the rest.
    """
    value = _operand(binding, text, CompareOperator.eq)
    return value if isinstance(value, str) and value and value == value.strip() else None


def condition(kind: str, attributes: Attributes, expression: str, kinds: Sequence[str] = ()) -> Condition:
    """Return the queryset condition for a filter; raises InvalidFilterException.

    If several `kinds` are searched together, a term about an attribute that this kind does not declare is false.
    """
    scim_filter = parse_filter(kinds or (kind,), expression)
    kind_filter = bind(ScimFilter, kind)(str(scim_filter)) if len(kinds) > 1 else scim_filter
    return Compiler(MODELS[kind], attributes, kind_filter, len(kinds) > 1).visit(scim_filter.ast)


def sort_term(attributes: Attributes, resource: type[Resource[Any]], binding: AttributeBinding | None) -> Term:
    """Return the expression for sortBy; raises InvalidPathException."""
    source = None
    if binding is not None:
        path = path_of(binding, resource)
        head, _, sub = path.rpartition(".")
        if binding.is_multivalued and binding.sub_field_name:
            return cast(Entries, attributes[head]).order(sub)
        source = attributes.get(path)
    if source is None or isinstance(source, FixedValues) or not hasattr(source, "compare"):
        raise InvalidPathException(detail="sortBy does not name an attribute that can be sorted.")
    return source.order()  # type: ignore[call-arg]
