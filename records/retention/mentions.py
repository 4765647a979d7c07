"""Finds the other records of a site that identify a person, before the person is erased from one record.

All texts of the site are searched in steps, each of which is short, whatever the size of the site.
"""

import time
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import product
from operator import or_
from typing import Any

from django.db import connection, models
from django.db.models.functions import Cast

from records.backoffice.wording import field_label
from records.history.erasure import Personal
from records.retention.erasing import words_in_history
from records.retention.words import Words, digits_of_phones, pattern_of_short
from records.sites.about import AboutRecord, about, kinds
from records.sites.models import ChildRow, SiteRecord
from records.sites.text import FreeTextField, LineField, one_line
from records.sites.trigrams import RUN, containing

MOST_HITS = 100
"""The most rows of a kind, with its child rows, that are looked at."""
FIRST_SIZE = 4_000
"""How many records the first statement of a step compares."""
STEP_ROWS = 60_000
"""The number of compared rows after which a step ends."""
STEP_SECONDS = 0.06
"""The seconds after which a step ends."""
QUICK_SECONDS = 0.03
"""The seconds within which a statement has to answer for the next one to compare more records."""

VisibleRows = Callable[[type[SiteRecord]], tuple[models.QuerySet[Any], Collection[str]] | None]
"""Returns the records of a kind that the user may see at the site, with the columns that are hidden from the user."""


@dataclass
class Mention:
    """A record that contains a personal value, and the labels of the fields with it."""

    record: SiteRecord
    labels: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a search goes on: with which kind of record, after which of its records, and how many it looked at.

    `after` is the Id of a record without a number, since these are searched first, or a number; None before the first.
    """

    kind: int = 0
    after: uuid.UUID | int | None = None
    reads: int = 0


@dataclass
class Mentions:
    """What a step found: records that contain a personal value, and whether some that could were not looked at.

    `next_place` is where the next step begins; None after the last one.
    """

    mentions: list[Mention]
    is_incomplete: bool
    next_place: Place | None


class Search:
    """The search for the records with a present or earlier personal value of a record.

    For actions and attachments of the record, any of its personal values counts, even a first name. All others must
    contain the whole value of one of the `identifying_columns`, which few people share. The database finds them:
    phone numbers in any spelling, all others only as the record spells them.
    """

    def __init__(
        self, record: SiteRecord, personal: Personal, identifying_columns: Sequence[str], visible_rows: VisibleRows
    ) -> None:
        """Read the values and what the user may see; two queries."""
        identifiers = words_in_history(record, replace(personal, columns=identifying_columns))
        values = words_in_history(record, personal)
        self.is_empty = not values
        """Whether the record and its history have no personal value, so that there is nothing to search for."""
        self.kinds = [(kind, *visible) for kind in _in_order() if (visible := visible_rows(kind)) is not None]
        """The kinds that are searched, each with its rows and the names of the columns that are hidden."""
        self._record = record
        self._any_value, self._identifying_values = Words(values), Words({one_line(text) for text in identifiers})
        self._short, self._phones = pattern_of_short(identifiers), digits_of_phones(identifiers)
        self._texts = sorted(
            text for text in map(str.strip, identifiers) if len(text) >= RUN and not digits_of_phones([text])
        )

    def step(self, place: Place) -> Mentions:
        """Search from a place on, for about `STEP_SECONDS` seconds."""
        mentions: dict[object, Mention] = {}
        is_incomplete = False
        start, total, size, largest = time.monotonic(), 0, FIRST_SIZE, STEP_ROWS // 4
        next_place: Place | None = place
        while next_place is not None:
            current, before = next_place, time.monotonic()
            next_place, count = self._search_from(current, mentions, size)
            total += count
            if next_place == current:
                # These records have too many child rows for one statement.
                size = largest = max(size // 4, 1)
                continue
            if next_place.reads > MOST_HITS:
                is_incomplete, next_place = True, Place(current.kind + 1)
            elif next_place.kind > current.kind:
                next_place = Place(current.kind + 1)
            end = time.monotonic()
            took = end - before
            size = min(size * (4 if took < QUICK_SECONDS / 4 else 2 if took < QUICK_SECONDS else 1), largest)
            if next_place.kind == len(self.kinds):
                next_place = None
            elif end - start >= STEP_SECONDS or total >= STEP_ROWS:
                break
        return Mentions(self._sorted(mentions.values()), is_incomplete, next_place)

    def _sorted(self, mentions: Iterable[Mention]) -> list[Mention]:
        """Return the mentions, first those about the record: a long list of others does not cut them off."""
        return sorted(
            mentions,
            key=lambda mention: (
                not (isinstance(mention.record, AboutRecord) and mention.record.is_about(self._record)),
                mention.record._meta.label,
                mention.record.site_sequence_id or 0,
            ),
        )

    def _search_from(self, place: Place, mentions: dict[object, Mention], size: int) -> tuple[Place, int]:
        """Search the next records of a kind; return the place after them, and how many rows were compared."""
        return (self._begin(place, mentions), 0) if place.after is None else self._compare(place, mentions, size)

    def _begin(self, place: Place, mentions: dict[object, Mention]) -> Place:
        """Look at the rows of a kind that are about the record, and at those that an index finds."""
        kind, rows, hidden_fields = self.kinds[place.kind]
        reads, is_compared = 0, False
        for model, foreign_key, names in _tables(kind, hidden_fields):
            rows_of_kind = _rows_of(model, foreign_key, rows)
            if issubclass(model, AboutRecord):
                matches = rows_of_kind.filter(about(self._record))
                reads += self._note(mentions, model, foreign_key, names, matches, self._any_value)
            conditions = self._index_conditions(names)
            if index_queries := [rows_of_kind.order_by().filter(condition).values("pk") for condition in conditions]:
                keys = [row["pk"] for row in index_queries[0].union(*index_queries[1:], all=True)[: MOST_HITS * 4]]
                matches = self._not_about(rows_of_kind, model, keys)
                reads += self._note(mentions, model, foreign_key, names, matches, self._identifying_values)
                # A row has one key for each value that it contains. If there may be more keys than these, the kind
                # counts as not searched to the end.
                reads += MOST_HITS if len(keys) == MOST_HITS * 4 else 0
            is_compared = is_compared or bool(self._row_conditions(names))
        return Place(place.kind, uuid.UUID(int=0), reads) if is_compared else Place(place.kind + 1, reads=reads)

    def _compare(self, place: Place, mentions: dict[object, Mention], size: int) -> tuple[Place, int]:
        """Compare the next records of a kind, at most `size`, and their child rows; return how many rows it compared.

        Does nothing and returns the place itself if so many records have too many child rows.
        """
        kind, rows, hidden_fields = self.kinds[place.kind]
        has_number = isinstance(place.after, int)
        position = "site_sequence_id" if has_number else "pk"
        remaining_rows = rows if has_number else rows.filter(site_sequence_id=None)
        remaining_rows = remaining_rows.filter(**{f"{position}__gt": place.after}).order_by(position)
        end: Any = None
        count, total, reads = 0, 0, place.reads
        hits: list[tuple[type[Any], str, _Names, list[str]]] = []
        for model, foreign_key, names in _tables(kind, hidden_fields):
            conditions = self._row_conditions(names)
            if foreign_key and not (conditions and count):
                continue
            aggregates: dict[str, Any] = {"count": models.Count("pk")}
            if conditions:
                aggregates["keys"] = _Keys("pk", filter=reduce(or_, conditions))
            if foreign_key:
                records = remaining_rows.filter(**{f"{position}__lte": end}).order_by()
                child_rows = _with_texts(_rows_of(model, foreign_key, records).order_by(), names)
                results = child_rows[: STEP_ROWS // 4 + 1 if size > 1 else None].aggregate(**aggregates)
                if results["count"] > STEP_ROWS // 4 and size > 1:
                    return place, 0
            else:
                last = models.Max(position if has_number else Cast("pk", models.TextField()))
                results = _with_texts(remaining_rows, names)[:size].aggregate(**aggregates, last=last)
                end, count = results["last"], results["count"]
            total += results["count"]
            hits.append((model, foreign_key, names, (results.get("keys") or "").split()))
        for model, foreign_key, names, keys in hits:
            matches = self._not_about(_rows_of(model, foreign_key, rows), model, keys)
            if index_conditions := self._index_conditions(names, "within"):
                matches = matches.exclude(reduce(or_, index_conditions))
            reads += self._note(mentions, model, foreign_key, names, matches, self._identifying_values) if keys else 0
        if count == size:
            return Place(place.kind, end if has_number else uuid.UUID(end), reads), total
        return Place(place.kind + 1, reads=reads) if has_number else Place(place.kind, 0, reads), total

    def _index_conditions(self, names: "_Names", lookup: str = "") -> list[models.Q]:
        """Return the conditions that PostgreSQL answers from an index: one for each indexed column and text.

        Each is a query of its own, which reads its own index; with conditions joined by OR, each row would be compared
        with all of them.
        """
        if connection.vendor != "postgresql":
            return []
        pairs = product(names.indexed, self._texts)
        return [models.Q(**{f"{name}__{lookup}": text}) if lookup else containing(name, text) for name, text in pairs]

    def _row_conditions(self, names: "_Names") -> list[models.Q]:
        """Return the conditions that are compared row by row, of which a row has to meet one.

        These are the texts in columns without an index, and in every column phone numbers and the names of one or two
        letters, which no index contains.
        """
        conditions = []
        if connection.vendor != "postgresql":
            conditions += [containing(name, text) for name, text in product(names.indexed, self._texts)]
        if names.others and self._texts:
            conditions.append(models.Q(other_texts__within=self._texts))
        if self._phones:
            conditions.append(models.Q(all_texts__digits=self._phones))
        if self._short:
            conditions.append(models.Q(all_texts__iregex=self._short))
        return conditions

    def _not_about(
        self, rows: models.QuerySet[Any], model: type[models.Model], keys: Collection[Any]
    ) -> models.QuerySet[Any]:
        """Return the rows with these keys that are not about the record; all that are about it are looked at anyway."""
        matches = rows.filter(pk__in=[*keys][: MOST_HITS * 4])
        return matches.exclude(about(self._record)) if issubclass(model, AboutRecord) else matches

    def _note(
        self,
        mentions: dict[object, Mention],
        model: type[models.Model],
        foreign_key: str,
        names: "_Names",
        queryset: models.QuerySet[Any],
        words: Words,
    ) -> int:
        """Note which of the rows contain one of the words, and in which fields; return how many rows there are.

        If there are more than `MOST_HITS`, the others are not looked at.
        """
        rows = list(queryset.order_by("pk")[: MOST_HITS + 1])
        for row in rows[:MOST_HITS]:
            hits = [name for name in names.shown_names if words.occur_in(str(getattr(row, name)))]
            target = getattr(row, foreign_key) if foreign_key else row
            if hits and target != self._record:
                mention = mentions.setdefault(target, Mention(target))
                labels = [label for name in hits if (label := field_label(model, name)) not in mention.labels]
                mention.labels += labels
        return len(rows)


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the text columns of a kind that an index searches, and of its other ones."""

    indexed: Sequence[str]
    others: Sequence[str]

    @property
    def shown_names(self) -> list[str]:
        """The columns as they are shown, instead of their folded copies."""
        return [name.removesuffix("_key") for name in (*self.indexed, *self.others)]


class _Keys(models.Aggregate):
    """The keys of the rows, in one text with blanks between them; None without rows."""

    function = "STRING_AGG"

    def __init__(self, key: str, **extra: Any) -> None:
        super().__init__(Cast(key, models.TextField()), models.Value(" "), output_field=models.TextField(), **extra)

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Call the function that SQLite has since its first versions."""
        return self.as_sql(compiler, connection, function="GROUP_CONCAT", **extra)


def _in_order() -> list[type[SiteRecord]]:
    """Return all kinds, those first that can be about the record: a long list of others does not cut them off."""
    return sorted(kinds().values(), key=lambda kind: not issubclass(kind, AboutRecord))


def _tables(kind: type[SiteRecord], hidden_fields: Collection[str]) -> Iterator[tuple[type[Any], str, _Names]]:
    """Yield a kind and its kinds of child rows, each with the child row's foreign key and its text columns."""
    yield kind, "", _columns(kind, hidden_fields)
    relations: list[Any] = [kind._meta.get_field(name) for name in getattr(kind, "HISTORY_CHILDREN", ())]
    # What belongs to a document's versions, which not everybody may see, is not among the rows with texts.
    for relation in relations:
        if issubclass(relation.related_model, ChildRow) and (names := _columns(relation.related_model, ())).shown_names:
            yield relation.related_model, relation.field.name, names


def _columns(model: type[models.Model], hidden_fields: Collection[str]) -> _Names:
    """Return the text columns of a kind without the hidden ones, and without those that only hold given choices."""
    indexed = getattr(model, "SEARCHED", ())
    others = (
        column.name
        for column in model._meta.concrete_fields
        if isinstance(column, LineField | FreeTextField | models.EmailField)
        and not column.choices
        and not {column.name, f"{column.name}_key"} & {*indexed}
    )
    return _Names(
        *([name for name in names if name.removesuffix("_key") not in hidden_fields] for names in (indexed, others))
    )


def _rows_of(model: type[models.Model], foreign_key: str, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """Return the records themselves, or their child rows of a model with this foreign key."""
    if not foreign_key:
        return rows
    return model._default_manager.filter(**{f"{foreign_key}__in": rows.values("pk")}).select_related(foreign_key)


def _with_texts(rows: models.QuerySet[Any], names: _Names) -> models.QuerySet[Any]:
    """Annotate each row with all its texts as one, and with those of the columns that no index searches."""
    columns_by_name = {"all_texts": [*names.indexed, *names.others], "other_texts": names.others}
    return rows.annotate(**{name: _concatenation(columns) for name, columns in columns_by_name.items() if columns})


def _concatenation(names: Sequence[str]) -> models.Func:
    """Return the columns as one text. Django's `Concat` nests, and SQLite refuses to read so deep an expression."""
    return models.Func(*names, template="(%(expressions)s)", arg_joiner=" || ' ' || ", output_field=models.TextField())
