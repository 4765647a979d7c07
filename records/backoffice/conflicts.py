"""Two people edit one record: the second one sees who changed what, keeps their own input, and loses nothing.

What was erased for good meanwhile is not part of that: a form that was open does not bring it back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.http import QueryDict

from records.backoffice.fields import as_number
from records.backoffice.forms import RecordFormSet
from records.history.digests import is_erased
from records.history.erasure import is_mark
from records.history.models import Change, ChangeQuerySet


class StaleError(Exception):
    """Raised under the record's lock if the record has changed since the editor saw it."""


@dataclass(slots=True)
class Conflict:
    """The changes of a record since the editor opened it, newest last, and the fields that both have changed."""

    changes: list[Change]
    fields_changed_by_both: list[str] = field(default_factory=list)


def changes_of(record: models.Model) -> ChangeQuerySet:
    """Return the record's changes, newest first; an employee and its account share an Id, but not a history.

    They are sorted by number, which follows the order of the writes; the clocks of several machines may not.
    """
    return Change.objects.filter(record_id=record.pk, model=record._meta.label).order_by("-number")


def is_of(change: Change, record: models.Model) -> bool:
    """Return whether the change is one of the record's own."""
    return (change.model, change.record_id) == (record._meta.label, record.pk)


def newest_change(model: type[models.Model]) -> models.Subquery:
    """Return the column with the id of a record's newest change, for a query of the model's rows."""
    changes = Change.objects.filter(record_id=models.OuterRef("pk"), model=model._meta.label).order_by("-number")
    return models.Subquery(changes.values("pk")[:1])


def refuse_when_stale(record: models.Model, seen_change: str) -> None:
    """Raise StaleError if the record was changed since the change that the editor saw; call it under the lock."""
    newest = changes_of(record).values_list("pk", flat=True).first()
    if str(newest or "") != seen_change:
        raise StaleError


def changes_since(record: models.Model, seen_change: str) -> list[Change]:
    """Return the record's changes after the one that the editor saw, oldest first."""
    newer: list[Change] = []
    for change in changes_of(record)[:200]:
        if str(change.pk) == seen_change:
            break
        newer.append(change)
    return newer[::-1]


def take_changes_meanwhile(record: Any, data: QueryDict) -> list[Change]:
    """Return the changes since the sent form was opened, oldest first, and mark them in the data as seen.

    The record must come from `record_to_edit`, since changes that it does not contain must not count as seen.
    """
    newest, seen_change = record.newest_change, str(data.get("larder_seen", ""))
    data["larder_seen"] = newest
    return [] if seen_change == newest else changes_since(record, seen_change)


def raw(bound_field: forms.BoundField) -> object:
    """Return a field's value in the form in which a browser sends it."""
    value = bound_field.value()
    if isinstance(bound_field.field, forms.BooleanField):
        return "on" if value else None
    return value if isinstance(value, list) else "" if value is None else str(value)


def put(data: QueryDict, name: str, value: Any) -> None:
    """Set a value of the sent data in the form in which a browser sends it."""
    if value is None:
        data.pop(name, None)
    elif isinstance(value, list):
        data.setlist(name, value)
    else:
        data[name] = value


def _form_value(model: type[models.Model], name: str, old: object) -> object:
    """Return a value of the history in the form that the form uses."""
    if isinstance(old, dict):
        return old.get("id")
    if isinstance(old, list):
        return [entry.get("id") if isinstance(entry, dict) else entry for entry in old]
    try:
        return model._meta.get_field(name).to_python(old) if old is not None else None  # type: ignore[union-attr]
    except (FieldDoesNotExist, AttributeError, ValueError):
        return old


def merge(
    model: type[models.Model], data: QueryDict, current_form: forms.BaseForm, changes: Iterable[Change]
) -> Conflict:
    """Apply, to the sent data, others' changes of fields that the editor did not change; keep all other input.

    `current_form` is an unbound form of the present record, which is a row of the model.
    """
    conflict = Conflict(list(changes))
    old_values: dict[str, object] = {}
    for change in conflict.changes:
        for entry in change.fields:
            old_values.setdefault(entry["field"], entry.get("old"))
    for name, old in old_values.items():
        if name not in current_form.fields:
            continue
        form_field = current_form.fields[name]
        sent_value = form_field.widget.value_from_datadict(data, {}, name)
        if not is_erased(old) and form_field.has_changed(_form_value(model, name, old), sent_value):
            if form_field.has_changed(current_form.initial.get(name), sent_value):
                conflict.fields_changed_by_both.append(name)
        else:
            put(data, name, raw(current_form[name]))
    return conflict


def reconcile_rows(data: QueryDict, formset: RecordFormSet, changes: Iterable[Change]) -> None:
    """Match sent child rows with the rows that are stored now, and renumber them, in place.

    Rows that others added are included. An edited row that others removed becomes a new one, unless it was erased.
    Cells that the editor did not change get the others' values, and so do those whose values were erased.
    """
    prefix = str(formset.prefix)
    sent_rows = _sent_rows(data, prefix)
    old_values = {
        (entry["row"], entry["field"].split(".", 1)[1]): entry.get("old")
        for change in reversed(list(changes))
        for entry in change.fields
        if entry["field"].startswith(f"{formset.relation}.") and "row" in entry
    }
    removed_rows = {
        entry["row"]: entry.get("old") or {}
        for change in changes
        for entry in change.fields
        if entry["field"] == formset.relation and entry.get("new") is None
    }
    erased_rows = {
        entry["row"]
        for change in changes
        for entry in change.fields
        if entry["field"] == formset.relation and is_erased(entry.get("old"))
    }
    rows: list[dict[str, object]] = []
    for form in formset.initial_forms:
        key = str(form.instance.pk)
        current = {name: raw(form[name]) for name in form.fields if name != "DELETE"}
        row = sent_rows.pop(key, None)
        if row is None:
            rows.append(current)
            continue
        for (row_key, name), old in old_values.items():
            if row_key == key and name in form.fields:
                model = form._meta.model
                if is_erased(old) or not form.fields[name].has_changed(_form_value(model, name, old), row.get(name)):
                    row[name] = current[name]
        if key in erased_rows:
            row |= {name: value for name, value in current.items() if is_mark(value)}
        rows.append(row)
    count = len(rows)
    for key, row in sent_rows.items():
        removed_row = removed_rows.get(key)
        if removed_row is not None and (
            row.get("DELETE") or is_erased(removed_row) or not _is_edited(formset, row, removed_row)
        ):
            continue
        rows.append({**row, "id": ""})
    _write(data, prefix, rows, count)


def _is_edited(formset: RecordFormSet, row: Mapping[str, object], old: Mapping[str, object]) -> bool:
    form = formset.empty_form
    return any(
        form_field.has_changed(_form_value(form._meta.model, name, old.get(name)), row.get(name))
        for name, form_field in form.fields.items()
        if name not in ("id", "DELETE", formset.fk.name)
    )


def _sent_rows(data: QueryDict, prefix: str) -> dict[str, dict[str, Any]]:
    """Return the sent rows by their id; new ones, which have no id, by their position."""
    rows: dict[str, dict[str, Any]] = {}
    for idx in range(min(as_number(data.get(f"{prefix}-TOTAL_FORMS", "")) or 0, 2000)):
        start = f"{prefix}-{idx}-"
        row = {key[len(start) :]: data[key] for key in data if key.startswith(start)}
        if row:
            rows[str(row.get("id", "")).lower() or f"new {idx}"] = row
    return rows


def _write(data: QueryDict, prefix: str, rows: list[dict[str, object]], initial_count: int) -> None:
    start = f"{prefix}-"
    for key in [key for key in data if key.startswith(start) and key[len(start) :].split("-")[0].isdigit()]:
        del data[key]
    for idx, row in enumerate(rows):
        for name, value in row.items():
            put(data, f"{prefix}-{idx}-{name}", value)
    data[f"{prefix}-TOTAL_FORMS"] = str(len(rows))
    data[f"{prefix}-INITIAL_FORMS"] = str(initial_count)
