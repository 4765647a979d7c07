"""Finds the other records of a site that identify a person, before the person is erased from one record."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import models

from records.backoffice.wording import field_label
from records.history.erasure import Personal
from records.retention.erasing import words_in_history
from records.retention.words import Words, digits_of_phones, pattern_of_short
from records.sites.about import AboutRecord, about, kinds
from records.sites.models import ChildRow, SiteRecord
from records.sites.text import FreeTextField, LineField, one_line
from records.sites.trigrams import RUN, containing

MOST = 100
"""The most rows of a kind, or of its child rows, that are looked at."""

Seen = Callable[[type[SiteRecord]], tuple[models.QuerySet[Any], Collection[str]] | None]
"""Returns the records of a kind that the user may see at the site, with the columns that are hidden from the user."""


@dataclass
class Mention:
    """A record that contains a personal value, and the labels of the fields with it."""

    record: SiteRecord
    labels: list[str] = field(default_factory=list)


@dataclass
class Mentions:
    """The records that contain a personal value, and whether more rows could contain one than were looked at."""

    found: list[Mention]
    are_cut: bool


def mentions(record: SiteRecord, personal: Personal, identifying: Sequence[str], seen: Seen) -> Mentions | None:
    """Return the other records with a present or earlier personal value of the record; three queries and two a kind.

    Returns None if the record and its history have no such value.

    For actions and attachments of the record, any of its personal values counts, even a first name. All others must
    contain the whole value of one of the columns in `identifying`, which few people share. The database finds them:
    phone numbers in any spelling, all others only as the record spells them.
    """
    identifiers = words_in_history(record, replace(personal, columns=identifying))
    values = words_in_history(record, personal)
    if not values:
        return None
    of_record, elsewhere = Words(values), Words({one_line(text) for text in identifiers})
    short, phones = pattern_of_short(identifiers), digits_of_phones(identifiers)
    texts = sorted(text for text in map(str.strip, identifiers) if len(text) >= RUN and not digits_of_phones([text]))
    found: dict[object, Mention] = {}
    are_cut = False
    for model, of in _kinds():
        visible = seen(model if not of else model._meta.get_field(of).related_model)
        if visible is None:
            continue
        rows, hidden = visible
        if of:
            rows, hidden = model._default_manager.filter(**{f"{of}__in": rows.values("pk")}).select_related(of), ()
        searched, others = _columns(model, hidden)
        asked: list[tuple[models.QuerySet[Any], Words]] = []
        if ways := _ways(rows.order_by(), searched, others, texts, short, phones):
            keys = {row["pk"] for row in ways[0].union(*ways[1:], all=True)[: MOST * 4]}
            are_cut = are_cut or len(keys) > MOST
            asked.append((rows.filter(pk__in=keys), elsewhere))
        if issubclass(model, AboutRecord):
            asked.append((rows.filter(about(record)), of_record))
        for chosen, words in asked:
            for row in chosen.order_by("pk")[:MOST]:
                names = [name.removesuffix("_key") for name in (*searched, *others)]
                names = [name for name in names if words.occur_in(str(getattr(row, name)))]
                target = getattr(row, of) if of else row
                if names and target != record:
                    mention = found.setdefault(target, Mention(target))
                    labels = [label for name in names if (label := field_label(model, name)) not in mention.labels]
                    mention.labels += labels
    # What is about the record comes first, so that a long list of others does not cut it off.
    in_order = sorted(
        found.values(),
        key=lambda one: (
            not (isinstance(one.record, AboutRecord) and one.record.is_about(record)),
            one.record._meta.label,
            one.record.site_sequence_id or 0,
        ),
    )
    return Mentions(in_order, are_cut)


def _kinds() -> Iterator[tuple[type[Any], str]]:
    """Yield each kind of record and of child row, with the child row's foreign key to the record."""
    for kind in kinds().values():
        yield kind, ""
        related: list[Any] = [kind._meta.get_field(name) for name in getattr(kind, "HISTORY_CHILDREN", ())]
        # What belongs to a document's versions, which not everybody may see, is not among the rows with texts.
        yield from (
            (relation.related_model, relation.field.name)
            for relation in related
            if issubclass(relation.related_model, ChildRow) and any(_columns(relation.related_model, ()))
        )


def _columns(model: type[models.Model], hidden: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the text columns of a kind that an index searches, and its other ones, without the hidden ones."""
    searched = getattr(model, "SEARCHED", ())
    others = (
        column.name
        for column in model._meta.concrete_fields
        if isinstance(column, LineField | FreeTextField | models.EmailField)
        and not {column.name, f"{column.name}_key"} & {*searched}
    )
    left = [[name for name in names if name.removesuffix("_key") not in hidden] for names in (searched, others)]
    return left[0], left[1]


def _ways(
    rows: models.QuerySet[Any],
    searched: Sequence[str],
    others: Sequence[str],
    texts: Sequence[str],
    short: str,
    phones: Sequence[str],
) -> list[models.QuerySet[Any]]:
    """Return queries of the keys of the rows that may contain one of the values, for a union of them.

    Each column that is indexed has a part for each text, which reads its own index; with conditions joined by OR, each
    row would be compared with all of them. The other columns are compared row by row, together, and so is every column
    with phone numbers and the names of one or two letters, which no index contains.
    """
    whole = rows.annotate(said=_joined([*searched, *others]))
    found = [rows.filter(containing(name, text)) for name in searched for text in texts]
    if others and texts:
        found.append(rows.annotate(said=_joined(others)).filter(said__within=texts))
    if short:
        found.append(whole.filter(said__iregex=short))
    if phones:
        found.append(whole.filter(said__digits=phones))
    return [one.values("pk") for one in found]


def _joined(names: Sequence[str]) -> models.Func:
    """Return the columns as one text. Django's `Concat` nests, and SQLite refuses to read so deep an expression."""
    return models.Func(*names, template="(%(expressions)s)", arg_joiner=" || ' ' || ", output_field=models.TextField())
