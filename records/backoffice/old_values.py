"""Values of the history in the form that an action accepts: what a record said before some entries of its changes.

Putting one value back and undoing an import both begin here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.history.digests import SIDES, FieldChange, is_erased
from records.history.erasure import is_mark
from records.history.snapshots import Snapshot, children_of

VALUE_ERASED = _("The value was erased for good.")
SAME_VALUE = _("The record has this value already.")
NO_ROW = _("This row does not exist any more.")
TEXTS = (models.CharField, models.TextField)


def before(record: Any, name: str, entries: Sequence[FieldChange]) -> Any:
    """Return the value of a field, a list or child rows of a record before some entries of its history.

    Raises LookupError, with a message for users, for what is not known any more, and ValidationError.
    """
    if any(map(_was_erased, entries)):
        raise LookupError(str(VALUE_ERASED))
    if name in children_of(record):
        return _rows_before(record, name, entries)
    field, old = record._meta.get_field(name), entries[0].get("old")
    if field.many_to_many:
        return [_target(field.related_model, value) for value in old or ()]
    return _plain(field, old)


def _was_erased(entry: FieldChange) -> bool:
    return any(_is_erased(entry.get(side)) for side in SIDES)


def _is_erased(value: object) -> bool:
    if isinstance(value, dict) and not is_erased(value):
        return any(_is_erased(part) for part in value.values())
    return is_erased(value) or is_mark(value)


def _target(model: Any, value: Any) -> Any:
    """Return the record that a value of the history points at; raises LookupError."""
    target = model._base_manager.filter(pk=value["id"]).first() if isinstance(value, dict) and "id" in value else None
    if target is None:
        raise LookupError(gettext("The record to which it referred does not exist any more."))
    return target


def _plain(field: models.Field[Any, Any], value: Any) -> object:
    """Return a value of the history in the form that an action takes; raises LookupError or ValidationError."""
    if value is None or value == "":
        if field.null:
            return None
        return "" if isinstance(field, TEXTS) else field.get_default()
    return _target(field.related_model, value) if field.is_relation else field.to_python(value)


def _rows_before(record: models.Model, relation: str, entries: Sequence[FieldChange]) -> list[dict[str, Any]]:
    """Return the child rows as they were before some entries of the history; an unchanged one has only its Id."""
    model: Any = record._meta.get_field(relation).related_model
    fields = {field.name: field for field in model._meta.concrete_fields}
    rows: dict[str, dict[str, object]] = {
        str(key): {"id": key, "idx": idx} for key, idx in getattr(record, relation).values_list("pk", "idx")
    }
    for entry in reversed(entries):
        key, (_relation, _dot, name) = str(entry["row"]), entry["field"].partition(".")
        if name and key not in rows:
            raise LookupError(str(NO_ROW))
        if name:
            rows[key][name] = _plain(fields[name], entry.get("old"))
        elif entry.get("old") is None:
            rows.pop(key, None)
        else:
            rows[key] = {cell: _plain(fields[cell], value) for cell, value in entry["old"].items() if cell in fields}
    return [
        {name: value for name, value in row.items() if name != "idx"}
        for row in sorted(rows.values(), key=lambda row: (row.get("idx") or 0, "id" in row))
    ]


def fault_of(field: object, entry: FieldChange, content: Snapshot) -> str:
    """Return why the old value of an entry cannot be put back; empty if it can. Runs no query.

    `field` is the field that the entry is about: of the record, of a child row for a cell of it, or the relation for
    a whole row. `content` is a snapshot of the record.
    """
    if _was_erased(entry):
        return str(VALUE_ERASED)
    name, _dot, cell = entry["field"].partition(".")
    current = content[name]
    if "row" in entry:
        row = current.get(str(entry["row"]))
        if not cell:
            return _fault_of_row(entry, row, current)
        if row is None:
            return str(NO_ROW)
        current = row[cell]
    return _fault_of_value(field, entry, current)


def _fault_of_row(entry: FieldChange, row: Snapshot | None, rows: Mapping[str, Snapshot]) -> str:
    """Return why a row that was removed cannot come back, or one that was added cannot go."""
    old = entry.get("old")
    if old is None:
        return "" if row is not None else str(SAME_VALUE)
    old_values = {name: keys_of(value)[0] if isinstance(value, dict) else value for name, value in old.items()}
    is_there = any(
        all(
            value == old_values[name] if name in old_values else is_nothing(value)
            for name, value in stored_row.items()
            if name != "idx"
        )
        for stored_row in rows.values()
    )
    return str(SAME_VALUE) if is_there else ""


def _fault_of_value(field: Any, entry: FieldChange, current: Any) -> str:
    old = entry.get("old")
    if _is_erased(current):
        return str(VALUE_ERASED)
    if is_nothing(old):
        if is_nothing(current):
            return gettext("The field is empty already.")
        may_be_empty = field.blank and (field.null or field.many_to_many or isinstance(field, TEXTS))
        return "" if may_be_empty else gettext("The field must not be empty.")
    if field.is_relation:
        keys = keys_of(old)
        if None in keys:
            return gettext("The history does not know the Id of the earlier value, so it cannot be put back.")
        return str(SAME_VALUE) if sorted(map(str, keys)) == (current if field.many_to_many else [current]) else ""
    try:
        is_same = old == current or field.to_python(old) == field.to_python(current)
    except ValidationError as fault:
        return " ".join(fault.messages)
    return str(SAME_VALUE) if is_same else ""


def is_nothing(value: object) -> bool:
    """Return whether a value of the history means that the field was empty."""
    return value is None or value in ("", [])


def keys_of(value: object) -> list[Any]:
    """Return the Ids of a reference or a list as the history writes it; None for one that it does not know."""
    values = value if isinstance(value, list) else [value]
    return [item.get("id") if isinstance(item, dict) else None for item in values]
