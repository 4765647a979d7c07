"""Finds the other records of a site that identify a person, before the person is erased from one record.

All texts of the site are searched in steps, each of which is short, whatever the size of the site.
"""

import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
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

MOST = 100
"""The most rows of a kind, with its child rows, that are looked at."""
FEWEST, ROWS = 4_000, 60_000
"""How many records the first statement of a step compares, and after how many no other one follows."""
STEP, QUICK = 0.06, 0.03
"""The seconds after which a step ends, and within which a statement has to answer for the next one to compare more."""

Seen = Callable[[type[SiteRecord]], tuple[models.QuerySet[Any], Collection[str]] | None]
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
    looked: int = 0


@dataclass
class Mentions:
    """What a step found: records that contain a personal value, and whether more could contain one than it looked at.

    `following` is where the next step begins; None after the last one.
    """

    found: list[Mention]
    are_cut: bool
    following: Place | None


class Search:
    """The search for the records with a present or earlier personal value of a record.

    For actions and attachments of the record, any of its personal values counts, even a first name. All others must
    contain the whole value of one of the columns in `identifying`, which few people share. The database finds them:
    phone numbers in any spelling, all others only as the record spells them.
    """

    def __init__(self, record: SiteRecord, personal: Personal, identifying: Sequence[str], seen: Seen) -> None:
        """Read the values and what the user may see; two queries."""
        identifiers = words_in_history(record, replace(personal, columns=identifying))
        values = words_in_history(record, personal)
        self.is_empty = not values
        """Whether the record and its history have no personal value, so that there is nothing to search for."""
        self.kinds = [(kind, *visible) for kind in _in_order() if (visible := seen(kind)) is not None]
        """The kinds that are searched, each with its rows and the names of the columns that are hidden."""
        self._record = record
        self._of_record, self._elsewhere = Words(values), Words({one_line(text) for text in identifiers})
        self._short, self._phones = pattern_of_short(identifiers), digits_of_phones(identifiers)
        self._texts = sorted(
            text for text in map(str.strip, identifiers) if len(text) >= RUN and not digits_of_phones([text])
        )

    def step(self, place: Place) -> Mentions:
        """Search from a place on, for about `STEP`."""
        found: dict[object, Mention] = {}
        are_cut = False
        started, compared, size, largest = time.monotonic(), 0, FEWEST, ROWS // 4
        following: Place | None = place
        while following is not None:
            known, before = following, time.monotonic()
            if known.after is None:
                following = self._begin(known, found)
            else:
                following, count = self._compare(known, found, size)
                compared += count
            if following == known:
                # These records have too many child rows for one statement.
                size = largest = max(size // 4, 1)
                continue
            if following.looked > MOST:
                are_cut, following = True, Place(known.kind + 1)
            elif following.kind > known.kind:
                following = Place(known.kind + 1)
            ended = time.monotonic()
            took = ended - before
            size = min(size * (4 if took < QUICK / 4 else 2 if took < QUICK else 1), largest)
            if following.kind == len(self.kinds):
                following = None
            elif ended - started >= STEP or compared >= ROWS:
                break
        # What is about the record comes first, so that a long list of others does not cut it off.
        in_order = sorted(
            found.values(),
            key=lambda one: (
                not (isinstance(one.record, AboutRecord) and one.record.is_about(self._record)),
                one.record._meta.label,
                one.record.site_sequence_id or 0,
            ),
        )
        return Mentions(in_order, are_cut, following)

    def _begin(self, place: Place, found: dict[object, Mention]) -> Place:
        """Look at the rows of a kind that are about the record, and at those that an index finds."""
        kind, rows, hidden = self.kinds[place.kind]
        looked, is_compared = 0, False
        for model, of, names in _tables(kind, hidden):
            its = _rows_of(model, of, rows)
            if issubclass(model, AboutRecord):
                looked += self._note(found, model, of, names, its.filter(about(self._record)), self._of_record)
            if ways := [its.order_by().filter(one).values("pk") for one in self._indexed(names)]:
                keys = [row["pk"] for row in ways[0].union(*ways[1:], all=True)[: MOST * 4]]
                looked += self._note(found, model, of, names, self._others(its, model, keys), self._elsewhere)
                # A row is found once for each of its values, so these can be fewer rows than `MOST`.
                looked += MOST if len(keys) == MOST * 4 else 0
            is_compared = is_compared or bool(self._compared(names))
        return Place(place.kind, uuid.UUID(int=0), looked) if is_compared else Place(place.kind + 1, looked=looked)

    def _compare(self, place: Place, found: dict[object, Mention], size: int) -> tuple[Place, int]:
        """Compare the next records of a kind, at most `size`, and their child rows; return how many rows it compared.

        Does nothing and returns the place itself if so many records have too many child rows.
        """
        kind, rows, hidden = self.kinds[place.kind]
        has_number = isinstance(place.after, int)
        position = "site_sequence_id" if has_number else "pk"
        part = rows if has_number else rows.filter(site_sequence_id=None)
        part = part.filter(**{f"{position}__gt": place.after}).order_by(position)
        end: Any = None
        count, compared, looked = 0, 0, place.looked
        hits: list[tuple[type[Any], str, _Names, list[str]]] = []
        for model, of, names in _tables(kind, hidden):
            conditions = self._compared(names)
            if of and not (conditions and count):
                continue
            asked: dict[str, Any] = {"count": models.Count("pk")}
            if conditions:
                asked["keys"] = _Keys("pk", filter=reduce(or_, conditions))
            if of:
                ours = _rows_of(model, of, part.filter(**{f"{position}__lte": end}).order_by()).order_by()
                got = _joined_in(ours, names)[: ROWS // 4 + 1 if size > 1 else None].aggregate(**asked)
                if got["count"] > ROWS // 4 and size > 1:
                    return place, 0
            else:
                last = models.Max(position if has_number else Cast("pk", models.TextField()))
                got = _joined_in(part, names)[:size].aggregate(**asked, last=last)
                end, count = got["last"], got["count"]
            compared += got["count"]
            hits.append((model, of, names, (got.get("keys") or "").split()))
        for model, of, names, keys in hits:
            chosen = self._others(_rows_of(model, of, rows), model, keys)
            if indexed := self._indexed(names, "within"):
                chosen = chosen.exclude(reduce(or_, indexed))
            looked += self._note(found, model, of, names, chosen, self._elsewhere) if keys else 0
        if count == size:
            return Place(place.kind, end if has_number else uuid.UUID(end), looked), compared
        return Place(place.kind + 1, looked=looked) if has_number else Place(place.kind, 0, looked), compared

    def _indexed(self, names: "_Names", lookup: str = "") -> list[models.Q]:
        """Return the conditions that PostgreSQL answers from an index: one for each indexed column and text.

        Each is a query of its own, which reads its own index; with conditions joined by OR, each row would be compared
        with all of them.
        """
        if connection.vendor != "postgresql":
            return []
        pairs = product(names.searched, self._texts)
        return [models.Q(**{f"{name}__{lookup}": text}) if lookup else containing(name, text) for name, text in pairs]

    def _compared(self, names: "_Names") -> list[models.Q]:
        """Return the conditions that are compared row by row, of which a row has to meet one.

        These are the texts in columns without an index, and in every column phone numbers and the names of one or two
        letters, which no index contains.
        """
        found = []
        if connection.vendor != "postgresql":
            found += [containing(name, text) for name, text in product(names.searched, self._texts)]
        if names.others and self._texts:
            found.append(models.Q(others_said__within=self._texts))
        if self._phones:
            found.append(models.Q(all_said__digits=self._phones))
        if self._short:
            found.append(models.Q(all_said__iregex=self._short))
        return found

    def _others(self, rows: models.QuerySet[Any], model: type[models.Model], keys: Collection[Any]) -> Any:
        """Return the rows with these keys that are not about the record; all that are about it are looked at anyway."""
        chosen = rows.filter(pk__in=[*keys][: MOST * 4])
        return chosen.exclude(about(self._record)) if issubclass(model, AboutRecord) else chosen

    def _note(
        self,
        found: dict[object, Mention],
        model: type[models.Model],
        of: str,
        names: "_Names",
        chosen: models.QuerySet[Any],
        words: Words,
    ) -> int:
        """Note which of the rows contain one of the words, and in which fields; return how many rows there are.

        If there are more than `MOST`, the others are not looked at.
        """
        rows = list(chosen.order_by("pk")[: MOST + 1])
        for row in rows[:MOST]:
            said = [name for name in names.plain if words.occur_in(str(getattr(row, name)))]
            target = getattr(row, of) if of else row
            if said and target != self._record:
                mention = found.setdefault(target, Mention(target))
                labels = [label for name in said if (label := field_label(model, name)) not in mention.labels]
                mention.labels += labels
        return len(rows)


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the text columns of a kind that an index searches, and of its other ones."""

    searched: Sequence[str]
    others: Sequence[str]

    @property
    def plain(self) -> list[str]:
        """The columns as they are shown, instead of their folded copies."""
        return [name.removesuffix("_key") for name in (*self.searched, *self.others)]


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


def _tables(kind: type[SiteRecord], hidden: Collection[str]) -> Iterator[tuple[type[Any], str, _Names]]:
    """Yield a kind and its kinds of child rows, each with the child row's foreign key and its text columns."""
    yield kind, "", _columns(kind, hidden)
    related: list[Any] = [kind._meta.get_field(name) for name in getattr(kind, "HISTORY_CHILDREN", ())]
    # What belongs to a document's versions, which not everybody may see, is not among the rows with texts.
    for relation in related:
        if issubclass(relation.related_model, ChildRow) and (names := _columns(relation.related_model, ())).plain:
            yield relation.related_model, relation.field.name, names


def _columns(model: type[models.Model], hidden: Collection[str]) -> _Names:
    """Return the text columns of a kind without the hidden ones, and without those that only hold given choices."""
    searched = getattr(model, "SEARCHED", ())
    others = (
        column.name
        for column in model._meta.concrete_fields
        if isinstance(column, LineField | FreeTextField | models.EmailField)
        and not column.choices
        and not {column.name, f"{column.name}_key"} & {*searched}
    )
    return _Names(
        *([name for name in names if name.removesuffix("_key") not in hidden] for names in (searched, others))
    )


def _rows_of(model: type[models.Model], of: str, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """Return the records themselves, or their child rows of a model with the foreign key `of`."""
    return model._default_manager.filter(**{f"{of}__in": rows.values("pk")}).select_related(of) if of else rows


def _joined_in(rows: models.QuerySet[Any], names: _Names) -> models.QuerySet[Any]:
    """Annotate each row with all its texts as one, and with those of the columns that no index searches."""
    joined = {"all_said": [*names.searched, *names.others], "others_said": names.others}
    return rows.annotate(**{name: _joined(columns) for name, columns in joined.items() if columns})


def _joined(names: Sequence[str]) -> models.Func:
    """Return the columns as one text. Django's `Concat` nests, and SQLite refuses to read so deep an expression."""
    return models.Func(*names, template="(%(expressions)s)", arg_joiner=" || ' ' || ", output_field=models.TextField())
