"""Resolving the ids that a body points at: one query a list, all faults at once (DECISIONS 2.6, 4)."""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db import models

from records.accounts.models import User
from records.operations.errors import FieldFault
from records.operations.fields import Reference
from records.operations.lookups import by_key
from records.operations.serializers import WireSerializer
from records.sites.models import Site
from records.sites.references import UNKNOWN

Loaded = dict[type[models.Model], dict[uuid.UUID, models.Model]]


def resolve(values: dict[str, Any], serializer: type[WireSerializer]) -> list[FieldFault]:
    """Replace every Reference in values, in place, by the record; returns a fault for each id that does not exist.

    Costs one query for each model pointed at. Whether the site may use the record is judged by the action.
    """
    return resolve_all([values], serializer)[0]


def resolve_all(rows: Sequence[dict[str, Any]], serializer: type[WireSerializer]) -> list[list[FieldFault]]:
    """Do what `resolve` does for many bodies at once, with as few queries; returns the faults of each."""
    wanted: dict[type[models.Model], set[uuid.UUID]] = defaultdict(set)
    for reference in (found for values in rows for found in _references(values)):
        wanted[reference.model].add(reference.id)
    loaded: Loaded = {model: by_key(model, keys, partial(_rows, model)) for model, keys in wanted.items()}
    faults: list[list[FieldFault]] = [[] for _ in rows]
    if wanted:
        for values, found in zip(rows, faults, strict=True):
            _put(values, loaded, serializer, "", found)
    return faults


def _rows(model: type[models.Model]) -> models.QuerySet[Any]:
    rows = model._default_manager.all()
    return rows.filter(is_active=True) if model is User else rows.filter(is_archived=False) if model is Site else rows


def _references(value: Any) -> list[Reference]:
    if isinstance(value, Reference):
        return [value]
    if isinstance(value, dict):
        return [found for part in value.values() for found in _references(part)]
    if isinstance(value, list):
        return [found for part in value for found in _references(part)]
    return []


def _put(
    values: dict[str, Any], loaded: Loaded, serializer: type[WireSerializer], path: str, faults: list[FieldFault]
) -> None:
    for name, value in values.items():
        if isinstance(value, Reference):
            values[name] = loaded[value.model].get(value.id)
            if values[name] is None:
                faults.append(_fault(value, path + serializer.wire_name(name)))
        elif isinstance(value, list):
            shown = path + serializer.wire_name(name)
            for index, entry in enumerate(value):
                if isinstance(entry, Reference):
                    value[index] = loaded[entry.model].get(entry.id)
                    if value[index] is None:
                        faults.append(_fault(entry, f"{shown}[{index}].Id"))
                elif isinstance(entry, dict):
                    field = serializer.wire_fields().get(serializer.wire_name(name))
                    inner = getattr(field, "serializer_class", serializer)
                    _put(entry, loaded, inner, f"{shown}[{index}].", faults)


def _fault(reference: Reference, field: str) -> FieldFault:
    return FieldFault(field, "InvalidReference", UNKNOWN.format(name=reference.model._meta.verbose_name))
