"""The rows of an import: each row's content, its record, and whether the record already has that content."""

import hashlib
import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.utils.translation import gettext_noop

from records.sites.writing import Values


class Outcome(StrEnum):
    """What happened to a row; nothing at all is stored if one row is faulty."""

    ADDED = gettext_noop("added")
    CHANGED = gettext_noop("changed")
    UNCHANGED = gettext_noop("unchanged")
    FAULTY = "faulty"


@dataclass(slots=True)
class Row:
    """One row of the file: its content, its record, its faults, and the result.

    `key` is the Id that the row names, `match_id` the Id of the record that it means by its code or name, `sheet` the
    title of a further sheet that the row is on, and `warnings` are what to look at before the import is confirmed.
    """

    number: int
    values: Values = field(default_factory=dict)
    key: str = ""
    match_id: uuid.UUID | None = None
    sheet: str = ""
    target: Any = None
    record: Any = None
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    lines: list[dict[str, str]] = field(default_factory=list)
    is_new: bool = False

    @property
    def outcome(self) -> Outcome:
        """Return what happened to the row."""
        if self.faults:
            return Outcome.FAULTY
        if self.is_new:
            return Outcome.ADDED
        return Outcome.UNCHANGED if self.record is None else Outcome.CHANGED


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return changes in the order of their records, so that two imports never deadlock, followed by the new rows."""
    return sorted(
        rows, key=lambda row: (row.is_new, row.number if row.is_new else 0, str(getattr(row.target, "pk", "")))
    )


def digest_of(rows: Iterable[Row]) -> str:
    """Return a digest of the rows: the content, the record and the result of each."""
    content = [
        [
            row.number,
            row.outcome,
            str(getattr(row.target, "pk", "")),
            row.faults,
            row.warnings,
            sorted((name, _plain(value)) for name, value in row.values.items()),
            [] if row.is_new else row.lines,
        ]
        for row in rows
    ]
    return hashlib.sha256(json.dumps(content, cls=DjangoJSONEncoder, ensure_ascii=True).encode()).hexdigest()


def _plain(value: object) -> object:
    """Return a value with records replaced by their ids."""
    if isinstance(value, models.Model):
        return str(value.pk)
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def take_over_ids(record: models.Model, name: str, entries: Any) -> None:
    """Give child rows without an Id the Id of a stored row that says the same, so that they are not added again."""
    if not record._meta.get_field(name).one_to_many:
        return
    used_ids = {entry.get("id") for entry in entries}
    free_rows = [row for row in getattr(record, name).all() if row.pk not in used_ids]
    for entry in entries:
        if entry.get("id") is None:
            match = next(
                (row for row in free_rows if all(is_so_already(row, key, part) for key, part in entry.items())), None
            )
            if match is not None:
                free_rows.remove(match)
                entry["id"] = match.pk


def name_sources(model: type[models.Model]) -> list[tuple[str, ...]]:
    """Return the fields that name a record of the model in a file: those of its name, and its code."""
    names = {field.name for field in model._meta.concrete_fields}
    candidates = (("name",), ("first_name", "last_name"), ("code",))
    return [fields for fields in candidates if names.issuperset(fields)]


def is_blank(value: object) -> bool:
    """Return whether a value is empty."""
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def is_so_already(record: Any, name: str, value: Any) -> bool:
    """Return whether the stored record already has the row's content; runs no query on a prefetched record."""
    column_field = record._meta.get_field(name)
    if column_field.many_to_many:
        return {target.pk for target in getattr(record, name).all()} == {target.pk for target in value}
    if column_field.one_to_many:
        stored_rows = list(getattr(record, name).all())
        return len(stored_rows) == len(value) and all(
            entry.get("id") == row.pk
            and all(is_so_already(row, key, part) for key, part in entry.items() if key != "id")
            for row, entry in zip(stored_rows, value, strict=True)
        )
    if column_field.is_relation:
        return bool(getattr(record, column_field.attname) == (value.pk if value is not None else None))
    return bool(getattr(record, name) == value)
