"""Compares what the history says about a record, change by change, with the stored record."""

import decimal
from collections.abc import Iterable
from typing import Any

from django.db import models

from records.history.digests import ERASED_FROM, FieldChange
from records.history.snapshots import Snapshot, is_empty


def replay(changes: Iterable[Iterable[FieldChange]]) -> Snapshot:
    """Return the content that results from the changes of one record, oldest first; `{"id", "name"}` becomes the id."""
    content: Snapshot = {}
    for fields in changes:
        for entry in fields:
            name, row, new = entry["field"], entry.get("row"), entry.get("new")
            if name == ERASED_FROM:
                continue
            if row is None:
                content[name] = _bare(new)
                continue
            relation, _, column = name.partition(".")
            rows = content.setdefault(relation, {})
            if column:
                rows.setdefault(row, {})[column] = _bare(new)
            elif new is None:
                rows.pop(row, None)
            else:
                rows[row] = {key: _bare(value) for key, value in new.items()}
    return content


def _bare(value: object) -> object:
    if isinstance(value, dict) and value.keys() == {"id", "name"}:
        return value["id"]
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        return sorted(str(_bare(entry)) for entry in value)
    return value


def deviations(model: type[models.Model], content: Snapshot, stored: Snapshot) -> list[str]:
    """Return the names of the fields in which the stored record differs from its history.

    A field that the history never names must be empty or have its default, as in a record that is older than the field.
    """
    children = set(getattr(model, "HISTORY_CHILDREN", ()))
    names = []
    for name, value in stored.items():
        if name in children:
            kind: Any = model._meta.get_field(name).related_model
            rows = content.get(name) or {}
            if rows.keys() != value.keys():
                names.append(name)
            else:
                names += [
                    f"{name}.{column}"
                    for row, columns in value.items()
                    for column, cell in columns.items()
                    if not _agree(kind, column, rows[row], cell)
                ]
        elif not _agree(model, name, content, value):
            names.append(name)
    return list(dict.fromkeys(names))


def _agree(model: Any, name: str, content: Snapshot, value: Any) -> bool:
    replayed = content.get(name)
    if replayed == value or (is_empty(replayed) and is_empty(value)):
        return True
    field = model._meta.get_field(name)
    if name not in content:
        return bool(field.has_default() and field.get_default() == value)
    if isinstance(field, models.DecimalField) and replayed is not None and value is not None:
        return decimal.Decimal(str(replayed)) == decimal.Decimal(str(value))
    return str(replayed) == str(value) and replayed is not None
