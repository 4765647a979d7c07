"""Snapshots of a record and the differences between two of them."""

import datetime
import decimal
import uuid
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django.db import models

Snapshot = dict[str, Any]
FieldChange = dict[str, Any]


def children_of(record: models.Model) -> tuple[str, ...]:
    """Return the names of the relations whose rows are part of the record (declared as HISTORY_CHILDREN)."""
    return getattr(record, "HISTORY_CHILDREN", ())


def excluded_from_history(model: type[models.Model]) -> frozenset[str]:
    """Return the attribute names that are bookkeeping, not content (declared as HISTORY_EXCLUDE)."""
    return frozenset(getattr(model, "HISTORY_EXCLUDE", ()))


def snapshot(record: models.Model) -> Snapshot:
    """Take the record's content: columns, many-to-many lists and child rows, as plain values.

    Costs one query for each many-to-many field and each child relation; none for the columns.
    """
    taken = columns(record)
    left_out = excluded_from_history(type(record))
    for many in record._meta.many_to_many:
        if many.name not in left_out:
            taken[many.name] = sorted(str(key) for key in getattr(record, many.name).values_list("pk", flat=True))
    for relation in children_of(record):
        rows = getattr(record, relation).all()
        taken[relation] = {str(row.pk): columns(row) for row in rows}
    return taken


def snapshots(model: type[models.Model], first: str, last: str) -> dict[str, tuple[str | None, Snapshot]]:
    """Take the content of the model's records with an id from `first` to `last`, as `snapshot` does.

    Returns the id of each record's site, which is None for one without, and its content, by its id. Costs one query,
    and one for each many-to-many field and each child relation, however many records there are.
    """
    has_site = any(field.name == "site" for field in model._meta.concrete_fields)
    rows = model._base_manager.filter(pk__range=(first, last))
    found: dict[str, tuple[str | None, Snapshot]] = {}
    for key, site_id, *values in rows.order_by().values_list(
        "pk", "site_id" if has_site else "pk", *_attributes(model)
    ):
        found[str(key)] = str(site_id) if has_site and site_id else None, _content(model, values)
    for many in model._meta.many_to_many:
        if many.name not in excluded_from_history(model):
            _take_list(many, first, last, {key: content for key, (_, content) in found.items()})
    for relation in getattr(model, "HISTORY_CHILDREN", ()):
        _take_children(model._meta.get_field(relation), first, last, {key: one for key, (_, one) in found.items()})
    return found


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
    """Return the fields that are a record's own content: not its key, its owner and bookkeeping."""
    left_out = excluded_from_history(model)
    return tuple(field for field in model._meta.concrete_fields if not field.primary_key and field.name not in left_out)


def _attributes(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in content_fields(model))


def _content(model: type[models.Model], values: Sequence[Any]) -> Snapshot:
    """Return stored values, in the order of the model's content fields, as plain values by the fields' names."""
    return {field.name: _plain(value) for field, value in zip(content_fields(model), values, strict=True)}


def columns(record: models.Model) -> Snapshot:
    """Take the record's own columns, without key, owner and bookkeeping, as plain values."""
    return {field.name: _plain(getattr(record, field.attname)) for field in content_fields(type(record))}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return value


def _empty(value: Any) -> bool:
    return value is None or value == "" or value == [] or value == {}


def differences(
    record: models.Model, before: Snapshot, after: Snapshot, *, names: Mapping[str, str] | None = None
) -> list[FieldChange]:
    """Return one entry per changed field, with printed names beside ids; an empty list when nothing changed.

    Looks each printed name up, unless the record holds the object already or `names` (id to name) knows it.

    A child row appears whole when it was added or removed and field by field when it was edited, as
    `{"field": "employment_history.company", "row": "<id>", "old": …, "new": …}`.
    """
    found: list[FieldChange] = []
    children = set(children_of(record))
    for name in [*after, *(name for name in before if name not in after)]:
        old, new = before.get(name), after.get(name)
        if old == new or (_empty(old) and _empty(new)):
            continue
        if name in children:
            found += _child_differences(record, name, old or {}, new or {})
        else:
            field = record._meta.get_field(name)
            shown = [
                {"id": value, "name": names[str(value)]}
                if names and field.many_to_one and value in names
                else _printed(field, record, value)
                for value in (old, new)
            ]
            found.append({"field": name, "old": shown[0], "new": shown[1]})
    return found


def _child_differences(record: models.Model, relation: str, old: Snapshot, new: Snapshot) -> list[FieldChange]:
    found: list[FieldChange] = []
    model = record._meta.get_field(relation).related_model
    for row in [*new, *(row for row in old if row not in new)]:
        if row not in old or row not in new:
            found.append(
                {"field": relation, "row": row, "old": _whole(model, old.get(row)), "new": _whole(model, new.get(row))}
            )
            continue
        for name, value in new[row].items():
            if value != old[row].get(name):
                field = model._meta.get_field(name)  # type: ignore[union-attr]
                found.append(
                    {
                        "field": f"{relation}.{name}",
                        "row": row,
                        "old": _printed(field, None, old[row].get(name)),
                        "new": _printed(field, None, value),
                    }
                )
    return found


def _whole(model: Any, row: Snapshot | None) -> Snapshot | None:
    if row is None:
        return None
    return {
        name: _printed(model._meta.get_field(name), None, value) for name, value in row.items() if not _empty(value)
    }


def _printed(field: Any, record: models.Model | None, value: Any) -> Any:
    """Return the value, with `{"id", "name"}` for what points at another record."""
    if value is None or not getattr(field, "remote_field", None):
        return value
    if field.many_to_many:
        names = {str(row.pk): str(row) for row in field.related_model._base_manager.filter(pk__in=value)}
        return [{"id": key, "name": names.get(key, "")} for key in value]
    if record is not None and field.is_cached(record):
        target = field.get_cached_value(record)
        if target is not None and str(target.pk) == str(value):
            return {"id": value, "name": str(target)}
    target = field.related_model._base_manager.filter(pk=value).first()
    return {"id": value, "name": str(target) if target is not None else ""}
