"""Counts of a site's records, which are cached until something changes that they depend on.

Every write adds a change to the chain of its site in the same transaction. While the head of the chain is the same, a
query that reads nothing but records of the site has the same answer, which is therefore cached together with
the head. When the head has moved, the changes since then say which records were written:

- Sums over single records (`sums`), or over what belongs to single records (`sums_of`), are cached for each thousand of
  record numbers, and only the thousands that contain a written record are counted again.
- The most frequent values (`most`) are found among those cached and those that the written records have now, because no
  other value can have become more frequent. Only values that a written record has, or had before, are counted again.
- Every other answer is counted again if a record of one of the apps was written whose tables the query reads.
"""

import hashlib
import pickle
import re
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache, reduce
from itertools import chain
from operator import or_
from typing import Any

from django.apps import apps
from django.core.cache import caches
from django.core.exceptions import EmptyResultSet
from django.db.models import Count, F, Q, QuerySet

from records.history.models import INSTALLATION, ChainHead, Change

CACHE_SECONDS = 24 * 60 * 60
"""How many seconds an answer is cached for a site that does not change. Each query keeps one answer only."""
PART = 1000
"""How many record numbers are counted together."""
MOST_CHANGES = 1000
"""After more changes than these, everything is counted again."""
UNREADABLE = (OSError, EOFError, ValueError, pickle.UnpicklingError, zlib.error)
"""What reading a file of the cache raises that a crash has left behind."""
SPARE = 4
"""How many times as many values are cached as are requested, so that some of them may become less frequent."""
_TABLES = re.compile(r'(?:FROM|JOIN) "(\w+)"')


class WrittenValues:
    """The numbers of records that were written, and the Ids at which they point or pointed, by their columns."""

    def __init__(self, model: type[Any], changes: Sequence[tuple[uuid.UUID, Sequence[Mapping[str, Any]]]]) -> None:
        """Read the records of these changes, each with the fields that it changed; one query."""
        fields = {field.name: field for field in model._meta.concrete_fields if field.many_to_one}
        columns = ("site_sequence_id", *(field.attname for field in fields.values()))
        self.values: dict[str, set[Any]] = {column: set() for column in columns}
        for row in model._base_manager.filter(pk__in={pk for pk, _ in changes}).values_list(*columns):
            for column, value in zip(columns, row, strict=True):
                self.values[column].add(value)
        for change in chain.from_iterable(entries for _, entries in changes):
            if (field := fields.get(change["field"])) is not None and change["old"] is not None:
                self.values[field.attname].add(field.target_field.to_python(change["old"]["id"]))
        for values in self.values.values():
            values.discard(None)


class Counting:
    """Counts among the records of one site; without a site nothing is cached.

    A write that is stored after this object was made is either counted or not; the next object sees it. The rows of a
    query must depend on nothing that has its history elsewhere, such as accounts.
    """

    def __init__(self, site_id: uuid.UUID | None = None) -> None:
        """Read the head of the site's chain; one query."""
        self._chain = site_id or INSTALLATION
        heads = ChainHead.objects.filter(chain=self._chain).values_list("number", "hash")
        self._number, self._hash = (heads.first() if site_id is not None else None) or (0, "")
        self._labels_by_head: dict[tuple[int, str], AbstractSet[str] | None] = {}
        self._written_values: dict[tuple[type[Any], int], WrittenValues] = {}

    def __call__(self, rows: QuerySet[Any]) -> list[Any]:
        """Return the rows of any query about the site; one query, unless its answer is cached."""
        return self._rows_of(rows)

    def sums(self, rows: QuerySet[Any], *names: str, **sums: Any) -> list[tuple[Any, ...]]:
        """Return what is counted or added up for each group of records that have the same values under these names.

        The rows must be records with a number, and be chosen by their own columns alone.
        """
        return self.sums_of(rows.model, "", rows.filter, *names, **sums)

    def sums_of(
        self, model: type[Any], path: str, rows: Callable[[Q], QuerySet[Any]], *names: str, **sums: object
    ) -> list[tuple[Any, ...]]:
        """Return the same for rows of which each belongs to one record of the model, which has a number.

        `path` leads from a row to the fields of its record, such as `employee__`. `rows` returns the rows that meet a
        condition on the record's number. The rows may be chosen by records of other kinds as well; if one of these was
        written, all rows are counted again.
        """
        number = f"{path}site_sequence_id"

        def by_part(condition: Q) -> QuerySet[Any]:
            numbered_rows = rows(condition).order_by().annotate(part=F(number) / PART)
            return numbered_rows.values_list("part", *names).annotate(**sums)

        def update(cached: list[Any], written: WrittenValues) -> list[Any]:
            parts = {number // PART for number in written.values["site_sequence_id"]}
            if not parts:
                return cached
            conditions = [Q(**{f"{number}__gte": part * PART, f"{number}__lt": (part + 1) * PART}) for part in parts]
            return [row for row in cached if row[0] not in parts] + list(by_part(reduce(or_, conditions)))

        groups: dict[tuple[object, ...], list[object]] = {}
        for _, *row in self._rows_of(by_part(Q()), model, update):
            group, values = tuple(row[: len(names)]), row[len(names) :]
            former = groups.get(group, [0] * len(values))
            groups[group] = [one + other for one, other in zip(former, values, strict=True)]
        return [(*group, *values) for group, values in groups.items()]

    def most(self, rows: QuerySet[Any], name: str, number: int) -> list[tuple[uuid.UUID, int]]:
        """Return the records that most rows point at by a reference, with the numbers of rows, by number and Id.

        `name` is the column, such as `product_id`, in which no row is empty. The rows must be chosen by their own
        columns alone.
        """

        def by_value(counted_rows: QuerySet[Any]) -> QuerySet[Any]:
            return counted_rows.order_by().values_list(name).annotate(count=Count("*"))

        def update(cached: list[Any], written: WrittenValues) -> list[Any] | None:
            changed_values = written.values[name]
            # The last row is only a limit if it has a third value.
            counts = {value: count for value, count, *limit in cached if not limit and value not in changed_values}
            counts |= dict(by_value(rows.filter(**{f"{name}__in": changed_values})))
            latest = sorted(counts.items(), key=lambda row: (-row[1], row[0]))[: number * SPARE]
            if len(cached) < number * SPARE:
                return latest
            # Values that are not cached come after the last one that is, which stays the limit even if it is rarer now.
            value, count = cached[-1][:2]
            latest = [row for row in latest if (-row[1], row[0]) <= (-count, value)]
            limits = [(value, count, "limit")] * (number * SPARE - len(latest))
            return [*latest, *limits] if len(latest) >= number else None

        return self._rows_of(by_value(rows).order_by("-count", name)[: number * SPARE], rows.model, update)[:number]

    def _rows_of(
        self,
        query: QuerySet[Any],
        model: type[Any] | None = None,
        update: Callable[[list[Any], WrittenValues], list[Any] | None] | None = None,
    ) -> list[Any]:
        """Return the rows of the query: those that are cached, or else all anew.

        `update` makes them of the cached ones if, of what they depend on, only records of the model were written.
        """
        if not self._hash:
            return list(query)
        try:
            statement = repr(query.query.sql_with_params())
        except EmptyResultSet:
            return []
        key = f"counts-{hashlib.sha256(statement.encode()).hexdigest()}"
        try:
            number, head, cached = caches["counted"].get(key) or (0, "", [])
        except UNREADABLE:
            number, head, cached = 0, "", []
        if head == self._hash:
            return list(cached)
        updated: list[Any] | None = None
        tables = set(_TABLES.findall(statement))
        if head and (labels := self._labels_since(number, head)) is not None:
            apps_read = set(map(_app_of, tables))
            written_labels = {label for label in labels if label.partition(".")[0] in apps_read}
            if not written_labels:
                updated = cached
            elif update and model and (tables == {model._meta.db_table} or written_labels == {model._meta.label}):
                updated = update(cached, self._written_since(model, number))
        cached = list(query) if updated is None else updated
        with suppress(OSError):
            caches["counted"].set(key, (self._number, self._hash, cached), CACHE_SECONDS)
        return cached

    def _since(self, number: int) -> QuerySet[Change]:
        return Change.objects.filter(chain=self._chain, number__gt=number).order_by()

    def _labels_since(self, number: int, head: str) -> AbstractSet[str] | None:
        """Return the labels of the kinds of which records were written since a change of the chain.

        Returns None if there are too many changes, or if the chain does not have that change, as after a backup was
        restored.
        """
        if (number, head) not in self._labels_by_head:
            is_known = number < self._number <= number + MOST_CHANGES and (
                Change.objects.filter(chain=self._chain, number=number, hash=head).exists()
            )
            labels = self._since(number).values_list("model", flat=True).distinct() if is_known else ()
            self._labels_by_head[number, head] = set(labels) if is_known else None
        return self._labels_by_head[number, head]

    def _written_since(self, model: type[Any], number: int) -> WrittenValues:
        """Return what the records of the model are and were that were written since a change; two queries at most."""
        if (model, number) not in self._written_values:
            changes = self._since(number).filter(model=model._meta.label).values_list("record_id", "fields")
            self._written_values[model, number] = WrittenValues(model, list(changes))
        return self._written_values[model, number]


@cache
def _app_of(table: str) -> str:
    """Return the app of a table."""
    models = apps.get_models(include_auto_created=True)
    return next(model._meta.app_label for model in models if model._meta.db_table == table)


UNCACHED = Counting()
"""Counts everything anew."""
