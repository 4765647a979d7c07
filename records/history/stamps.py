"""Compares who did something to a record, and when, with the authors and times of the record's changes.

These columns are not among the fields of a change, because the change itself says both.
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from records.history.digests import FieldChange
from records.history.models import Change
from records.history.snapshots import content_fields, excluded_from_history
from records.history.stored import Row

LONGEST_WRITE = datetime.timedelta(minutes=10)
"""How far a stamp may be from the time of its change: a write stamps its rows, and notes its changes at its end."""
MODIFIED = ("last_modified_by_id", "last_modified")


StampEntries = dict[tuple[Any, ...], list[FieldChange]]
"""The entries of the changes that may have given other records these stamps: site, author and time."""


class Step(NamedTuple):
    """Two columns that say who took a step and when: the author and the time of the change that took it.

    The step is taken when `record_status` becomes one of `to`, and undone when it becomes one of `undone`. Without
    `to` the step is the adding of the row. `by` or `at` is empty if no column says it.
    """

    by: str
    at: str
    to: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()


def stamp_deviations(model: Any, changes_by_id: Mapping[str, list[Row]]) -> dict[str, list[str]]:
    """Return the names of the stamps that differ from the changes of a record, by its id.

    No other id lies between these in the order of all ids. Costs one query for the records, and one for each relation
    with steps; another for each write elsewhere that stamped records (`HISTORY_STAMPED_WITH`).
    """
    deviations: dict[str, list[str]] = defaultdict(list)
    stamp_entries: StampEntries = {}
    if steps := _steps(model):
        is_stamped = hasattr(model, "last_modified_by_id")
        names = [*_names(steps), *(("site_id", *MODIFIED) if is_stamped else ())]
        records = model._base_manager.filter(pk__range=(min(changes_by_id), max(changes_by_id))).order_by()
        for key, *values in records.values_list("pk", *names):
            columns, rows = dict(zip(names, values, strict=True)), changes_by_id.get(str(key))
            if rows:
                deviations[str(key)] += _wrong_steps(steps, _step_changes(steps, rows)[None], columns)
                deviations[str(key)] += _wrong_modified(model, key, rows, columns, stamp_entries) if is_stamped else []
    for relation in getattr(model, "HISTORY_CHILDREN", ()):
        back = model._meta.get_field(relation)
        if steps := _steps(back.related_model):
            names, owner = _names(steps), back.field.attname
            changes = {key: _step_changes(steps, rows, relation) for key, rows in changes_by_id.items()}
            between = {f"{back.field.name}__gte": min(changes_by_id), f"{back.field.name}__lte": max(changes_by_id)}
            parts = back.related_model._base_manager.filter(**between).order_by()
            for owner_id, key, *values in parts.values_list(owner, "pk", *names):
                step_changes = changes.get(str(owner_id), {}).get(str(key), {})
                wrong_names = _wrong_steps(steps, step_changes, dict(zip(names, values, strict=True)))
                deviations[str(owner_id)] += [f"{relation}.{name}" for name in wrong_names]
    return deviations


def _steps(model: Any) -> tuple[Step, ...]:
    return getattr(model, "HISTORY_STEPS", ())


def _names(steps: Iterable[Step]) -> list[str]:
    return [name for step in steps for name in (step.by and f"{step.by}_id", step.at) if name]


def _step_changes(steps: tuple[Step, ...], rows: list[Row], relation: str = "") -> dict[str | None, dict[Step, Row]]:
    """Return the change that took each step of the record, or of each row of a relation by its id."""
    changes: dict[str | None, dict[Step, Row]] = defaultdict(dict)
    if not relation:
        # What belongs to an account can have changes in several chains, whose numbers do not tell the order.
        first = rows[0] if len({row.chain for row in rows}) == 1 else min(rows, key=lambda row: row.at)
        changes[None] = {step: first for step in steps if not step.to}
        if len(changes[None]) == len(steps):
            return changes
    for key, status, change in _statuses(rows, relation):
        for step in steps:
            if status in step.to or not (step.to or step in changes[key]):
                changes[key][step] = change
            elif status in step.undone:
                changes[key].pop(step, None)
    return changes


def _statuses(rows: list[Row], relation: str) -> Iterator[tuple[str | None, object, Row]]:
    """Yield each status that a change gives the record, or a row of the relation, with the row's id and the change."""
    name = f"{relation}.record_status" if relation else "record_status"
    for change in rows:
        for entry in change.fields:
            if entry["field"] == name:
                yield entry.get("row"), entry.get("new"), change
            elif entry["field"] == relation and isinstance(entry.get("new"), dict):
                yield entry.get("row"), entry["new"].get("record_status"), change


def _wrong_steps(steps: tuple[Step, ...], changes: Mapping[Step, Row], stored: Mapping[str, Any]) -> list[str]:
    names = []
    for step in steps:
        change = changes.get(step)
        if step.by and _text(stored[f"{step.by}_id"]) != (change and change.author_id):
            names.append(step.by)
        if step.at and not _is_close(stored[step.at], change):
            names.append(step.at)
    return names


def _wrong_modified(
    model: Any, key: uuid.UUID, rows: list[Row], stored: Mapping[str, Any], stamp_entries: StampEntries
) -> list[str]:
    """Compare who changed the record last, and when, with the last change that stamps a record.

    A change of nothing but notes, such as that of a legal hold, stamps no record, and a migration keeps who changed a
    record before it. So these changes may be the last, and so may the one before them.
    """
    author, moment = (stored[name] for name in MODIFIED)
    authors, changes = set[str | None](), list[Row]()
    contents = _contents(model)
    for change in reversed(rows):
        authors.add(change.author_id)
        changes.append(change)
        if change.author_id and any(entry["field"].partition(".")[0] in contents for entry in change.fields):
            break
    wrong_names = [] if _text(author) in authors else ["last_modified_by"]
    # A clock that was set back does not let a stamp go back.
    if not (any(_is_close(moment, one) for one in changes) or _is_close(moment, max(rows, key=lambda one: one.at))):
        wrong_names.append("last_modified")
    if (
        wrong_names
        and hasattr(model, "HISTORY_STAMPED_WITH")
        and _is_stamped_elsewhere(model, key, stored, stamp_entries)
    ):
        return []
    return wrong_names


@cache
def _contents(model: Any) -> set[str]:
    """Return the names of the fields of a record's content, also of its lists and child rows."""
    lists = {many.name for many in model._meta.many_to_many} - excluded_from_history(model)
    return {field.name for field in content_fields(model)} | lists | {*getattr(model, "HISTORY_CHILDREN", ())}


def _is_stamped_elsewhere(model: Any, key: uuid.UUID, stored: Mapping[str, Any], stamp_entries: StampEntries) -> bool:
    """Return whether a change of another record that has the record in a list gave it these stamps."""
    label, name = model.HISTORY_STAMPED_WITH
    stamps = stored["site_id"], *(stored[name] for name in MODIFIED)
    if stamps not in stamp_entries:
        site_id, author, moment = stamps
        span = moment - LONGEST_WRITE, moment + LONGEST_WRITE
        changes = Change.objects.filter(site_id=site_id, at__range=span, model=label, author_id=author)
        stamp_entries[stamps] = [entry for fields in changes.values_list("fields", flat=True) for entry in fields]
    return any(
        entry["field"] == name
        and sum(one["id"] == str(key) for one in [*(entry.get("old") or ()), *(entry.get("new") or ())]) == 1
        for entry in stamp_entries[stamps]
    )


def _text(key: uuid.UUID | None) -> str | None:
    return None if key is None else str(key)


def _is_close(moment: datetime.datetime | None, change: Row | None) -> bool:
    """Return whether a stamp has the time of a change, or is empty because there is no change."""
    if moment is None or change is None:
        return moment is None and change is None
    try:
        return abs(moment - datetime.datetime.fromisoformat(change.at)) <= LONGEST_WRITE
    except (TypeError, ValueError):
        return False


def member_deviations(model: Any, changes_by_id: Mapping[str, list[Row]]) -> dict[str, list[str]]:
    """Return the name of the noted relation (`HISTORY_NOTES_MEMBERS`) if its rows differ from the changes; one query.

    A change notes who came, and either who went or all who were members before.
    """
    if not hasattr(model, "HISTORY_NOTES_MEMBERS"):
        return {}
    name, relation, columns = model.HISTORY_NOTES_MEMBERS
    back = model._meta.get_field(relation)
    stored_members = defaultdict[str, set[str]](set)
    rows_of = back.related_model._base_manager.filter(**{f"{back.field.name}__in": list(changes_by_id)})
    for owner, *keys in rows_of.order_by().values_list(back.field.attname, *columns):
        stored_members[str(owner)] |= {str(key) for key in keys if key is not None}
    deviations = {}
    for key, rows in changes_by_id.items():
        members = set[str]()
        for entry in (entry for change in rows for entry in change.fields if entry["field"] == name):
            members -= {member["id"] for member in entry.get("old") or ()}
            members |= {member["id"] for member in entry.get("new") or ()}
        if members != stored_members[key]:
            deviations[key] = [name]
    return deviations
