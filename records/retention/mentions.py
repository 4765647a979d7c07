"""Finds the other records of a site that identify a person, before the person is erased from one record."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import models

from records.backoffice.wording import field_label
from records.history.erasure import Personal
from records.retention.erasing import words_in_history
from records.retention.words import Words
from records.sites.about import AboutRecord, kinds
from records.sites.models import SiteRecord
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


def mentions(record: SiteRecord, personal: Personal, identifying: Sequence[str], seen: Seen) -> list[Mention] | None:
    """Return the other records with a present or earlier personal value of the record; three queries and two a kind.

    Returns None if the record and its history have no such value.

    For actions and attachments of the record, any of its personal values counts, even a first name. All others must
    contain a value of the columns in `identifying`, which few people share. The index of the search finds them, so only
    if they spell the value as the record does.
    """
    identifiers = words_in_history(record, replace(personal, columns=identifying))
    values = words_in_history(record, personal)
    if not values:
        return None
    of_record, elsewhere = Words(values), Words(identifiers)
    lines = sorted({line for text in identifiers for line in map(str.strip, text.splitlines()) if len(line) >= RUN})
    found: dict[Any, Mention] = {}
    for model, of, columns in _searched():
        visible = seen(model if not of else model._meta.get_field(of).related_model)
        if visible is None:
            continue
        rows, hidden = visible
        if of:
            rows = model._default_manager.filter(**{f"{of}__in": rows.values("pk")}).select_related(of)
        else:
            columns = [name for name in columns if name not in hidden]
        asked = [(rows.filter(pk__in=_keys(rows, columns, lines)), elsewhere)] if lines else []
        if issubclass(model, AboutRecord):
            asked.append((rows.filter(record_id=record.pk), of_record))
        for chosen, words in asked:
            for row in chosen.order_by("pk")[:MOST]:
                names = [name.removesuffix("_key") for name in columns]
                names = [name for name in names if words.occur_in(str(getattr(row, name)))]
                target = getattr(row, of) if of else row
                if names and target.pk != record.pk:
                    mention = found.setdefault(target.pk, Mention(target))
                    labels = [label for name in names if (label := field_label(model, name)) not in mention.labels]
                    mention.labels += labels
    # What is about the record comes first, so that a long list of others does not cut it off.
    return sorted(
        found.values(),
        key=lambda one: (
            getattr(one.record, "record_id", None) != record.pk,
            one.record._meta.label,
            one.record.site_sequence_id or 0,
        ),
    )


def _searched() -> Iterator[tuple[type[Any], str, Sequence[str]]]:
    """Yield each kind of record and of child row that the search knows, its foreign key to the record, its columns."""
    for kind in kinds().values():
        related: list[Any] = [kind._meta.get_field(name) for name in getattr(kind, "HISTORY_CHILDREN", ())]
        for model, of in ((kind, ""), *((relation.related_model, relation.field.name) for relation in related)):
            if names := getattr(model, "SEARCHED", ()):
                yield model, of, names


def _keys(rows: models.QuerySet[Any], columns: Sequence[str], lines: Sequence[str]) -> set[Any]:
    """Return the keys of the rows that contain one of the lines; one query, with a part for each column and line.

    Each part reads its own index. With conditions joined by OR, each row would be compared with all of them.
    """
    parts = [rows.order_by().filter(containing(name, line)).values("pk") for name in columns for line in lines]
    return {row["pk"] for row in parts[0].union(*parts[1:], all=True)[: MOST * 4]}
