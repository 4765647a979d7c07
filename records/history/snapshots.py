"""Snapshots of a record and the differences between two of them."""

import datetime
import decimal
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import repeat
from typing import Any

from django.apps import apps
from django.db import models

from records.history.digests import FieldChange
from records.history.english import stored_text
from records.history.statements import Reading, Rows, Statement, ask, reading, rows_with, together

Snapshot = dict[str, Any]
Children = dict[str, list[Any]]
Related = tuple[str, Reading, str]
"""A relation, the statement that reads it, and the column of its targets for a list, or "" for child rows."""


def children_of(record: models.Model) -> tuple[str, ...]:
    """Return the names of the relations whose rows are part of the record (declared as HISTORY_CHILDREN)."""
    return getattr(record, "HISTORY_CHILDREN", ())


def excluded_from_history(model: type[models.Model]) -> frozenset[str]:
    """Return the attribute names that are bookkeeping, not content (declared as HISTORY_EXCLUDE)."""
    return frozenset(getattr(model, "HISTORY_EXCLUDE", ()))


def kinds_with_history() -> list[type[models.Model]]:
    """Return the models whose rows have changes of their own; rows that are part of a record are in its changes."""
    kinds = [model for model in apps.get_models() if hasattr(model, "HISTORY_EXCLUDE")]
    parts = {
        model._meta.get_field(name).related_model for model in kinds for name in getattr(model, "HISTORY_CHILDREN", ())
    }
    return [model for model in kinds if model not in parts]


def snapshot(record: models.Model) -> Snapshot:
    """Take the record's content: columns, many-to-many lists and child rows, as plain values.

    The columns and the child rows that were prefetched come from the object in memory. Lists and other child rows are
    read from the database, in one round trip.
    """
    at_hand = getattr(record, "_prefetched_objects_cache", {})
    relations = [one for one in _relations(type(record)) if one[2] or one[0] not in at_hand]
    answers = together([query.by(record.pk) for _, query, _ in relations])
    content = columns(record) | _related_content(relations, answers)[0]
    for relation in children_of(record):
        if relation in at_hand:
            content[relation] = {str(row.pk): columns(row) for row in getattr(record, relation).all()}
    return content


def related_statements(model: type[models.Model], key: Any) -> list[Statement]:
    """Return the statements that read the many-to-many lists and child rows of a record."""
    return [query.by(key) for _, query, _ in _relations(model)]


def related_content(model: type[models.Model], answers: Sequence[Rows]) -> tuple[Snapshot, Children]:
    """Return the result of `related_statements` as a part of a snapshot, and the rows by their relations.

    The rows of a list are those of the table that links it, in their order.
    """
    return _related_content(_relations(model), answers)


def _related_content(relations: Sequence[Related], answers: Sequence[Rows]) -> tuple[Snapshot, Children]:
    content: Snapshot = {}
    children: Children = {}
    for (name, query, target), answer in zip(relations, answers, strict=True):
        children[name] = query.objects(answer)
        content[name] = _content_of(children[name], target)
    return content, children


def content_of(model: type[models.Model], relation: str, rows: Sequence[Any]) -> Any:
    """Return the rows of a relation (for a list, those of the table that links it) as a part of a snapshot."""
    return _content_of(rows, next(target for name, _, target in _relations(model) if name == relation))


def _content_of(rows: Sequence[Any], target: str) -> Any:
    if target:
        return sorted(str(getattr(row, target)) for row in rows)
    return {str(row.pk): columns(row) for row in rows}


@cache
def _relations(model: type[models.Model]) -> Sequence[Related]:
    """Return the model's lists and children with the statements that read them; built once per process."""
    relations: list[Related] = []
    excluded = excluded_from_history(model)
    for many in model._meta.many_to_many:
        if many.name not in excluded:
            through: Any = many.remote_field.through
            query = reading(partial(_rows_of, through, many.m2m_field_name()))
            relations.append((many.name, query, f"{many.m2m_reverse_field_name()}_id"))
    for relation in getattr(model, "HISTORY_CHILDREN", ()):
        back: Any = model._meta.get_field(relation)
        relations.append((relation, reading(partial(_rows_of, back.related_model, back.field.name)), ""))
    return relations


def _rows_of(model: Any, owner: str, key: Any) -> models.QuerySet[Any]:
    return model._base_manager.filter(**{owner: key}).order_by(*(model._meta.ordering or ["pk"]))


def snapshots(model: type[models.Model], first: str, last: str) -> dict[str, tuple[str | None, Snapshot]]:
    """Take the content of the model's records with an id from `first` to `last`, as `snapshot` does.

    Returns the id of each record's site, which is None for one without, and its content, by its id. Costs one query,
    and one for each many-to-many field and each child relation, however many records there are.
    """
    has_site = any(field.name == "site" for field in model._meta.concrete_fields)
    rows = model._base_manager.filter(pk__range=(first, last))
    contents: dict[str, tuple[str | None, Snapshot]] = {}
    for key, site_id, *values in rows.order_by().values_list(
        "pk", "site_id" if has_site else "pk", *_attributes(model)
    ):
        contents[str(key)] = str(site_id) if has_site and site_id else None, _content(model, values)
    for many in model._meta.many_to_many:
        if many.name not in excluded_from_history(model):
            _take_list(many, first, last, {key: content for key, (_, content) in contents.items()})
    for relation in getattr(model, "HISTORY_CHILDREN", ()):
        _take_children(
            model._meta.get_field(relation), first, last, {key: content for key, (_, content) in contents.items()}
        )
    return contents


def _take_list(many: Any, first: str, last: str, contents: dict[str, Snapshot]) -> None:
    """Add the ids that a many-to-many field names to the contents of its records."""
    owner, target = many.m2m_field_name(), many.m2m_reverse_field_name()
    for content in contents.values():
        content[many.name] = []
    pairs = many.remote_field.through._base_manager.filter(**{f"{owner}__gte": first, f"{owner}__lte": last})
    for key, value in pairs.order_by().values_list(f"{owner}_id", f"{target}_id"):
        if str(key) in contents:
            contents[str(key)][many.name].append(str(value))
    for content in contents.values():
        content[many.name].sort()


def _take_children(back: Any, first: str, last: str, contents: dict[str, Snapshot]) -> None:
    """Add the child rows of a relation to the contents of their records."""
    kind, owner = back.related_model, back.field
    for content in contents.values():
        content[back.name] = {}
    rows = kind._base_manager.filter(**{f"{owner.name}__gte": first, f"{owner.name}__lte": last})
    for key, row, *values in rows.order_by().values_list(owner.attname, "pk", *_attributes(kind)):
        if str(key) in contents:
            contents[str(key)][back.name][str(row)] = _content(kind, values)


@cache
def content_fields(model: type[models.Model]) -> tuple[Any, ...]:
    """Return the fields of a record's own content, without its key, its owner and bookkeeping."""
    excluded = excluded_from_history(model)
    return tuple(field for field in model._meta.concrete_fields if not field.primary_key and field.name not in excluded)


@cache
def _attributes(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in content_fields(model))


def _content(model: type[models.Model], values: Iterable[Any]) -> Snapshot:
    """Return stored values, in the order of the model's content fields, as plain values by the fields' names."""
    return {
        field.name: _FORMATS[type(value)](value) if type(value) in _FORMATS else value
        for field, value in zip(content_fields(model), values, strict=True)
    }


def columns(record: models.Model) -> Snapshot:
    """Return the record's own columns as plain values, without key, owner and bookkeeping."""
    model = type(record)
    return _content(model, map(getattr, repeat(record), _attributes(model)))


def printed_moment(value: datetime.datetime) -> str:
    """Return a time in UTC to the millisecond, as `2024-05-31T08:30:00.000Z`."""
    return value.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_FORMATS: Mapping[type, Callable[[Any], str]] = {
    uuid.UUID: str,
    datetime.datetime: printed_moment,
    datetime.date: datetime.date.isoformat,
    decimal.Decimal: "{:f}".format,
}
"""How values of these types are written into a snapshot; all others are plain already."""


def is_empty(value: Any) -> bool:
    """Return whether a value says nothing, so that it equals a missing one."""
    return value is None or value == "" or value == [] or value == {}


def differing(before: Snapshot, after: Snapshot) -> list[str]:
    """Return the names of what differs between two snapshots; an empty value equals a missing one."""
    names = []
    for name in {**after, **before}:
        old, new = before.get(name), after.get(name)
        if old != new and not (is_empty(old) and is_empty(new)):
            names.append(name)
    return names


def differences(
    record: models.Model, before: Snapshot, after: Snapshot, *, names: Mapping[str, str] | None = None
) -> list[FieldChange]:
    """Return one entry per changed field, with printed names beside ids; an empty list when nothing changed.

    The printed names are read in one round trip, except those of objects that the record has loaded and those in
    `names` (id to name).

    A child row that was added or removed is one entry. An edited one has an entry for each field:
    `{"field": "employment_history.company", "row": "<id>", "old": …, "new": …}`.
    """
    entries: list[FieldChange] = []
    children = set(children_of(record))
    printer = _Printer(record, names or {})
    for name in differing(before, after):
        old, new = before.get(name), after.get(name)
        field: Any = record._meta.get_field(name)
        if name in children:
            entries += _child_differences(printer, field.related_model, name, old or {}, new or {})
        else:
            entries.append({"field": name, "old": printer.value(field, old), "new": printer.value(field, new)})
    printer.look_up()
    return entries


def _child_differences(
    printer: "_Printer", model: type[models.Model], relation: str, old: Snapshot, new: Snapshot
) -> list[FieldChange]:
    entries: list[FieldChange] = []
    for row in [*new, *(row for row in old if row not in new)]:
        if row not in old or row not in new:
            was, is_now = printer.row(model, old.get(row)), printer.row(model, new.get(row))
            entries.append({"field": relation, "row": row, "old": was, "new": is_now})
            continue
        for name, value in new[row].items():
            before = old[row].get(name)
            if value != before:
                field = model._meta.get_field(name)
                was, is_now = printer.value(field, before), printer.value(field, value)
                entries.append({"field": f"{relation}.{name}", "row": row, "old": was, "new": is_now})
    return entries


class _Printer:
    """Prints values, with `{"id", "name"}` for references. Names that are not loaded are read together at the end."""

    def __init__(self, record: models.Model, names: Mapping[str, str]) -> None:
        self.record = record
        self.names = names
        self.pending: dict[Any, list[dict[str, str]]] = {}

    def value(self, field: Any, value: Any) -> Any:
        """Return the value, with the name of its target or a placeholder for the name."""
        if value is None or not getattr(field, "remote_field", None):
            return value
        if field.many_to_many:
            return [self._reference(field.related_model, key) for key in value]
        if isinstance(self.record, field.model) and field.is_cached(self.record):
            target = field.get_cached_value(self.record)
            if target is not None and str(target.pk) == str(value):
                return {"id": value, "name": stored_text(target)}
        return self._reference(field.related_model, value)

    def row(self, model: Any, row: Snapshot | None) -> Snapshot | None:
        """Return the content of a child row that was added or removed."""
        if row is None:
            return None
        return {
            name: self.value(model._meta.get_field(name), value) for name, value in row.items() if not is_empty(value)
        }

    def _reference(self, model: Any, key: Any) -> dict[str, str]:
        reference = {"id": key, "name": self.names.get(key, "")}
        if key not in self.names:
            self.pending.setdefault(model, []).append(reference)
        return reference

    def look_up(self) -> None:
        """Replace the placeholders by the names; one round trip at most."""
        if not self.pending:
            return
        answers, _ = ask(
            [
                rows_with(model, {reference["id"] for reference in references})
                for model, references in self.pending.items()
            ]
        )
        for references, rows in zip(self.pending.values(), answers, strict=True):
            names = {str(row.pk): stored_text(row) for row in rows}
            for reference in references:
                reference["name"] = names.get(str(reference["id"]), "")
