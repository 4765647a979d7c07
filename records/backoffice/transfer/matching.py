"""Finding the record that each row of an import is about: by its Id, its key, or its code or name.

A row without an Id adds a record. One that has the code or the name of a record that exists is warned of; the
person who imports can choose that such rows change that record instead.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from records.backoffice.transfer.name_resolution import chunks, name_list
from records.backoffice.transfer.rows import Row, name_sources
from records.sites.text import fold, read_uuid

NOT_HERE = _("The site has no {name} with this {key}.")
BY_CODE, BY_NAME = gettext_noop("code"), gettext_noop("name")


def ways_to_match(model: type[models.Model], key: str) -> list[str]:
    """Return by what rows without an Id can be matched: code, name, both or neither.

    A kind with a key of its own, such as an ERP's identifier, is always matched by that.
    """
    if key:
        return []
    sources = name_sources(model)
    return [way for way in (BY_CODE, BY_NAME) if any((way == BY_CODE) == (fields == (BY_CODE,)) for fields in sources)]


@dataclass(frozen=True, slots=True)
class ExistingRecord:
    """A record that exists: its key, what it is called in messages, and whether it is archived."""

    key: uuid.UUID
    label: str
    is_archived: bool


@dataclass(slots=True)
class RecordIndex:
    """The records of a site by their folded names and by their folded codes."""

    by: dict[str, dict[str, list[ExistingRecord]]] = field(default_factory=lambda: {BY_CODE: {}, BY_NAME: {}})

    def records_with(self, way: str, text: str) -> list[ExistingRecord]:
        """Return the records with the code or name: the active ones, or the archived ones if there are no others."""
        matches = self.by[way].get(fold(text), []) if text else []
        return [record for record in matches if not record.is_archived] or matches


def find_same(rows: Sequence[Row], model: type[models.Model], site_id: uuid.UUID, key: str, way: str) -> None:
    """Match rows without an Id by code or by name where `way` says so, and warn of all others that exist already.

    A fixed number of queries for any 500 rows, and none for a kind that has neither a code nor a name.
    """
    ways = ways_to_match(model, key)
    new = [row for row in rows if not row.key and not row.faults]
    if not ways or not new:
        return
    texts = {each: {row.number: _text(row, model, each) for row in new} for each in ways}
    index = _index(model, site_id, {text for by_row in texts.values() for text in by_row.values() if text})
    if way in ways:
        for row in new:
            _match(row, index.records_with(way, texts[way][row.number]), model, way)
    for each in ways:
        _warn([row for row in new if row.match_id is None], texts[each], index, model, each)


def _match(row: Row, matches: Sequence[ExistingRecord], model: type[models.Model], way: str) -> None:
    """Let the row mean the one record that was found, or refuse it if there are several."""
    if len(matches) == 1:
        row.match_id = matches[0].key
    elif matches:
        plural, names = model._meta.verbose_name_plural, name_list(record.label for record in matches)
        row.faults.append(
            gettext("%(count)s %(plural)s have this %(way)s: %(names)s. Write the Id.")
            % {"count": len(matches), "plural": plural, "way": gettext(way), "names": names}
        )


def _warn(rows: Sequence[Row], texts: dict[int, str], index: RecordIndex, model: type[models.Model], way: str) -> None:
    """Warn of each row whose code or name a record or an earlier row has."""
    first: dict[str, int] = {}
    for row in rows:
        text = texts[row.number]
        if not text:
            continue
        for record in index.records_with(way, text)[:3]:
            warning = (
                gettext("The %(kind)s %(shown)s, which is archived, has the same %(way)s.")
                if record.is_archived
                else gettext("The %(kind)s %(shown)s has the same %(way)s.")
            )
            row.warnings.append(
                warning % {"kind": model._meta.verbose_name, "shown": record.label, "way": gettext(way)}
            )
        earlier = first.setdefault(fold(text), row.number)
        if earlier != row.number:
            row.warnings.append(
                gettext("Row %(earlier)s has the same %(way)s.") % {"earlier": earlier, "way": gettext(way)}
            )


def _text(row: Row, model: type[models.Model], way: str) -> str:
    for fields in name_sources(model):
        if (way == BY_CODE) == (fields == (BY_CODE,)):
            return " ".join(str(row.values.get(name) or "") for name in fields).strip()
    return ""


def _index(model: type[models.Model], site_id: uuid.UUID, search_texts: Iterable[str]) -> RecordIndex:
    rows: Any = model._default_manager.filter(site_id=site_id)
    names = {field.name for field in model._meta.concrete_fields}
    folded_texts = sorted({fold(text) for text in search_texts})
    sources = name_sources(model)
    columns = [name for fields in sources for name in fields]
    index = RecordIndex()
    has_keys = {"name_key", "code_key"} <= names
    # Entries of lists have no numbers; their codes tell them apart.
    is_numbered = "site_sequence_id" in names
    number: Any = models.F("site_sequence_id") if is_numbered else models.Value(None, models.IntegerField())
    # Kinds without folded columns have few records, which are all read.
    for part in chunks(folded_texts) if has_keys else [folded_texts]:
        candidates = rows.filter(Q(name_key__in=part) | Q(code_key__in=part)) if has_keys else rows
        candidates = candidates.annotate(place=number).order_by("place", "pk")
        for key, archived, place, *values in candidates.values_list("pk", "is_archived", "place", *columns):
            row_values = dict(zip(columns, values, strict=True))
            texts = {
                BY_CODE if fields == (BY_CODE,) else BY_NAME: " ".join(row_values[name] for name in fields).strip()
                for fields in sources
            }
            name, code = texts.get(BY_NAME) or texts.get(BY_CODE), texts.get(BY_CODE)
            label = f"{name} ({code})" if code else str(name)
            if place is not None:
                label = gettext("%(value)s (No. %(number)s)") % {"value": name, "number": place}
            for way, text in texts.items():
                if text:
                    records = index.by[way].setdefault(fold(text), [])
                    if key not in {record.key for record in records}:
                        records.append(ExistingRecord(key, label, archived))
    return index


# --- The records of the rows -----------------------------------------------------------------------------------------


def find_targets(rows: Sequence[Row], model: type[models.Model], site_id: uuid.UUID, key: str) -> None:
    """Find and lock the record of each row, and refuse two rows that are about the same one.

    `key` is the field of the kind's own key, or empty. A fixed number of queries for any 500 rows.
    """
    at_site: Any = model._default_manager.filter(site_id=site_id)
    ids = {record_id for row in rows if (record_id := read_uuid(row.key))} | {
        row.match_id for row in rows if row.match_id is not None
    }
    named_keys = {row.values[key] for row in rows if row.values.get(key)} if key else set()
    _lock(at_site, ids, key, named_keys)
    by_id = _load(at_site, "pk", ids)
    by_key = _load(at_site, key, named_keys) if key else {}
    row_numbers: dict[object, int] = {}
    name = model._meta.verbose_name
    for row in rows:
        own_key = row.values.get(key) if key else None
        if row.key:
            row.target = by_id.get(read_uuid(row.key)) if len(row.key) == 36 else None
            if row.target is None:
                row.faults.append(gettext("Id: %(format)s") % {"format": NOT_HERE.format(name=name, key="Id")})
        elif row.match_id is not None:
            row.target = by_id.get(row.match_id)
        elif own_key:
            row.target = by_key.get(own_key)
        row.is_new = row.target is None and not row.key
        for identity in {row.target.pk} if row.target is not None else {own_key} - {None, ""}:
            if identity in row_numbers:
                row.faults.append(
                    gettext("Row %(taken)s is about the same %(name)s.")
                    % {"taken": row_numbers[identity], "name": name}
                )
            row_numbers.setdefault(identity, row.number)


def _lock(at_site: models.QuerySet[Any], ids: Iterable[uuid.UUID], key: str, named_keys: Iterable[str]) -> None:
    """Lock the records that the file may change, in the order of their ids and before any other lock."""
    rows = at_site.order_by("pk")
    record_ids = set(ids)
    for part in chunks(sorted(set(named_keys))):
        record_ids |= set(rows.filter(**{f"{key}__in": part}).values_list("pk", flat=True))
    lock(rows, record_ids)


def lock(rows: models.QuerySet[Any], keys: Iterable[uuid.UUID]) -> None:
    """Lock those of the rows, in the order of their ids, until the transaction ends."""
    for part in chunks(sorted(set(keys))):
        list(rows.order_by("pk").select_for_update(of=("self",), no_key=True).filter(pk__in=part).values_list("pk"))


def _load(at_site: models.QuerySet[Any], name: str, keys: Iterable[Any]) -> dict[Any, Any]:
    records: dict[object, object] = {}
    for part in chunks(sorted(set(keys))):
        batch = with_children(at_site.filter(**{f"{name}__in": part}))
        records |= {getattr(record, name): record for record in batch}
    return records


def with_children(rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """Return the rows with their lists and child rows."""
    children = getattr(rows.model, "HISTORY_CHILDREN", ())
    return rows.prefetch_related(*(field.name for field in rows.model._meta.many_to_many), *children)
