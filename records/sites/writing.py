"""The way of every write to a record: one transaction that locks, changes, checks, stamps, saves and records.

Entity rooms' actions are built on `adding` and `changing`; none of them saves by other means.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import models

from records.history.inserts import insert_rows
from records.history.snapshots import Snapshot, children_of, columns, differences, snapshot
from records.history.trail import Author, now, recording
from records.sites.models import ChildRow, SiteRecord
from records.sites.sequences import count_archived, insert_numbered, take_numbers
from records.sites.targets import check_lists, check_references

R = TypeVar("R", bound=SiteRecord)

Values = dict[str, Any]
Precondition = Callable[[Any], None]

BOOKKEEPING = {"id", "site", "revision", "created", "created_by", "last_modified", "last_modified_by", "is_archived"}


class RecordNotFoundError(Exception):
    """Raised when the site has no such record."""


def add_record(
    record: R,
    values: Values,
    *,
    author: Author,
    operation: str,
    reason: str = "",
    numbered: bool = True,
    skip: Sequence[str] = (),
) -> R:
    """Store a new record with its children, lists, number and history, in one transaction.

    `record` carries its site; values are model names to values (related objects for foreign keys, lists of objects
    for many-to-many fields, lists of dicts for child relations). Raises ValidationError and then stores nothing.
    `skip` names foreign keys that the calling action has checked itself.
    """
    with recording() as trail:
        children, lists = _checked(record, values, author=author, skip=skip)
        taken = columns(record)
        taken |= {name: {str(row.pk): columns(row) for row in rows} for name, rows in children.items()}
        taken |= {name: sorted({str(target.pk) for target in targets}) for name, targets in lists.items()}
        changed = differences(record, {}, taken)
        _store(record, children, lists, numbered=numbered)
        if numbered:
            changed.insert(0, {"field": "site_sequence_id", "old": None, "new": record.site_sequence_id})
        trail.add(record, changed, author=author, operation=operation, reason=reason)
    return record


def add_records(records: Sequence[R], *, author: Author, operation: str, reason: str = "") -> Sequence[R]:
    """Store many new records of one model and site with consecutive numbers, and one Change for each.

    They carry their site and columns, and have neither child rows nor lists. Costs few queries, however many they are,
    where what they point at is loaded. Raises ValidationError, naming each fault by its row, and then stores nothing.
    """
    if not records:
        return records
    faults: list[ValidationError] = []
    with recording() as trail:
        for row, record in enumerate(records, 1):
            record.created_by_id = record.last_modified_by_id = author.id
            record.created = record.last_modified = now()
            try:
                check_record(record)
            except ValidationError as fault:
                texts = [f"{name}: {text}" for name, several in fault.message_dict.items() for text in several]
                faults += [ValidationError(f"Row {row}, {text}", code="InvalidValue") for text in texts]
        if faults:
            raise ValidationError(faults)
        number = take_numbers(records[0].site_id, records[0].ENTITY, len(records))
        for record in records:
            record.site_sequence_id, number = number, number + 1
        insert_rows(records)
        for record in records:
            changed = differences(record, {}, columns(record))
            trail.add(record, changed, author=author, operation=operation, reason=reason)
    return records


@contextmanager
def adding(
    record: R, values: Values, *, author: Author, operation: str, reason: str = "", skip: Sequence[str] = ()
) -> Iterator[R]:
    """Store a new record as `add_record` does, then let the block make rows that point at it and are part of it.

    What the block made is in the record's first Change too. Raises ValidationError and then stores nothing.
    """
    with recording() as trail:
        children, lists = _checked(record, values, author=author, skip=skip)
        _store(record, children, lists, numbered=True)
        yield record
        changed = differences(record, {}, snapshot(record))
        trail.add(record, changed, author=author, operation=operation, reason=reason)


def _checked(
    record: SiteRecord, values: Values, *, author: Author, skip: Sequence[str]
) -> tuple[dict[str, list[ChildRow]], Values]:
    """Set a new record's values and stamps and check it; returns its child rows and lists, still to be stored."""
    lists = _set_columns(record, values)
    record.created_by_id = record.last_modified_by_id = author.id
    record.created = record.last_modified = now()  # not when it was made in memory: before the write began
    check_record(record, skip=skip)
    children = {name: _new_rows(record, name, lists.pop(name)) for name in children_of(record) if name in lists}
    check_lists(record, record.site_id, lists)
    return children, lists


def _store(record: SiteRecord, children: dict[str, list[ChildRow]], lists: Values, *, numbered: bool) -> None:
    """Store a checked record with its children and lists. Its number is taken last: the site's writers wait for it."""
    if numbered:
        insert_numbered(record)
    else:
        insert_rows([record])
    for rows in children.values():
        insert_rows(rows)
    for name, targets in lists.items():
        set_list(record, name, targets)


@contextmanager
def changing(
    model: type[R],
    site_id: uuid.UUID,
    record_id: uuid.UUID,
    *,
    author: Author,
    operation: str,
    reason: str = "",
    precondition: Precondition | None = None,
    skip: Sequence[str] = (),
) -> Iterator[R]:
    """Lock one of the site's records, let the block change it, then check, stamp, save and record what changed.

    The block sets attributes or calls `apply`. A block that changes nothing leaves no trace: no stamp, no revision, no
    Change. Raises RecordNotFoundError, ValidationError (code InvalidTransition where the record is archived and stays
    so, DECISIONS 1.17), or what `precondition` raises; then nothing is stored.
    """
    with recording() as trail:
        # By the key alone, which is always the way to one row; another site's is let go at once.
        record = model._default_manager.select_for_update(of=("self",), no_key=True).filter(pk=record_id).first()
        if record is None or record.site_id != site_id:
            raise RecordNotFoundError
        if precondition is not None:
            precondition(record)
        before = snapshot(record)
        yield record
        after = snapshot(record)
        changed = differences(record, before, after)
        if not changed:
            return
        if before["is_archived"] and after["is_archived"]:
            text = f"This {record._meta.verbose_name} is archived. Restore it before you change it."
            raise ValidationError(text, code="InvalidTransition")
        names = [name for name in after if after[name] != before.get(name)]
        check_record(record, changed=names, skip=skip)
        after = snapshot(record) if _renormalised(record, after) else after
        changed = differences(record, before, after)
        if not changed:
            return
        if after["is_archived"] != before["is_archived"] and record.site_sequence_id is not None:
            count_archived(site_id, record.ENTITY, 1 if record.is_archived else -1)
        stamp(record, author)
        record.save(force_update=True)
        trail.add(record, changed, author=author, operation=operation, reason=reason)


def _renormalised(record: models.Model, after: Snapshot) -> bool:
    return not columns(record).items() <= after.items()


def stamp(record: SiteRecord, author: Author) -> None:
    """Set who changed the record and when, and move its revision on."""
    record.last_modified = max(now(), record.last_modified)
    record.last_modified_by_id = author.id
    record.revision += 1


def check_record(record: SiteRecord, *, changed: Sequence[str] | None = None, skip: Sequence[str] = ()) -> None:
    """Normalise and check columns, cross-field rules and references; raises ValidationError with all faults.

    Only changed references are checked, so that an archived list entry stays valid on an old record.
    """
    foreign = [field.name for field in record._meta.concrete_fields if field.is_relation]
    faults: dict[str, Any] = {}
    for check in (
        lambda: record.clean_fields(exclude={*foreign, *BOOKKEEPING, "site_sequence_id"}),
        record.clean,
        lambda: check_references(
            record,
            record.site_id,
            foreign if changed is None else [name for name in changed if name in foreign],
            skip={"created_by", "last_modified_by", *skip},
        ),
    ):
        try:
            check()
        except ValidationError as fault:
            faults = fault.update_error_dict(faults)
    if faults:
        raise ValidationError(faults)


def faults_in(record: SiteRecord, values: Values, *, skip: Sequence[str] = ()) -> ValidationError | None:
    """Return all that keeps the values out of a new or a stored record, without storing anything.

    For a door that names everything at once, where the first check that failed has ended the write.
    """
    is_new, before = record._state.adding, columns(record)
    rest = _set_columns(record, values)
    changed = None if is_new else [name for name, value in columns(record).items() if value != before[name]]
    rows = [(name, rest.pop(name)) for name in children_of(record) if name in rest]
    faults: dict[str, Any] = {}
    for check in (
        partial(check_record, record, changed=changed, skip=skip),
        partial(check_lists, record, record.site_id, rest),
        *(partial(_new_rows if is_new else _merged_rows, record, name, found) for name, found in rows),
    ):
        try:
            check()
        except ValidationError as fault:
            faults = fault.update_error_dict(faults)
    return ValidationError(faults) if faults else None


def apply(record: SiteRecord, values: Values) -> None:
    """Set values on a stored, locked record: columns now, many-to-many lists and child rows in the database.

    An absent name keeps its value. A list or child array that is present is the whole new one (DECISIONS 1.5).
    """
    rest = _set_columns(record, values)
    children = children_of(record)
    check_lists(record, record.site_id, {name: value for name, value in rest.items() if name not in children})
    for name, value in rest.items():
        if name in children:
            replace_children(record, name, value)
        else:
            set_list(record, name, value)


def set_list(record: models.Model, name: str, targets: Sequence[models.Model], *, in_order: bool = False) -> None:
    """Make targets the record's whole many-to-many list, kept in the order in which they were given (DECISIONS 1.5).

    A list of the same members stays as it is, unless it is to be `in_order`: a form lists them in an order of its own.
    """
    manager = getattr(record, name)
    source, target = manager.source_field_name, manager.target_field_name
    rows = manager.through._base_manager.filter(**{source: record})
    wanted = list(dict.fromkeys(row.pk for row in targets))
    stored = list(rows.order_by("pk").values_list(f"{target}_id", flat=True))
    if stored == wanted or (set(stored) == set(wanted) and not in_order):
        return
    if stored:
        rows.delete()
    manager.through._base_manager.bulk_create(
        [manager.through(**{source: record, f"{target}_id": key}) for key in wanted]
    )
    _forget_prefetched(record, name)


def _set_columns(record: SiteRecord, values: Values) -> Values:
    """Set the columns among values and return the rest: many-to-many lists and child rows."""
    concrete = {name for field in record._meta.concrete_fields for name in (field.name, field.attname)}
    for name in values.keys() & concrete:
        setattr(record, name, values[name])
    return {name: value for name, value in values.items() if name not in concrete}


def _owner_field(record: models.Model, relation: str) -> tuple[type[ChildRow], str]:
    field = record._meta.get_field(relation)
    return field.related_model, field.field.name  # type: ignore[union-attr, return-value]


def _new_rows(record: SiteRecord, relation: str, rows: Sequence[Values]) -> list[ChildRow]:
    model, owner = _owner_field(record, relation)
    made, faults = [], []
    for idx, values in enumerate(rows):
        if values.get("id") is not None:
            faults.append(_at(relation, idx, "id", "A new entry must not carry an Id.", "InvalidReference"))
            continue
        row = model(**{owner: record}, idx=idx, **{key: value for key, value in values.items() if key != "id"})
        faults += _row_faults(row, relation, idx, owner, list(columns(row)))
        made.append(row)
    if faults:
        raise ValidationError(faults)
    return made


def replace_children(record: models.Model, relation: str, rows: Sequence[Values]) -> None:
    """Make rows the record's whole child array: known ids are updated in place, the rest is added, missing ones go.

    The rows' order is kept. Raises ValidationError, with `relation[index]` in the path, on an id that is none of the
    record's.
    """
    model, owner = _owner_field(record, relation)
    added, edited, gone = _merged_rows(record, relation, rows)
    if gone:
        model._base_manager.filter(pk__in=gone).delete()
    if added:
        model._base_manager.bulk_create(added)
    if edited:
        names = [field.name for field in model._meta.concrete_fields if not field.primary_key and field.name != owner]
        # Each row whole, over the one that is there: an UPDATE with a CASE a row costs the square of their number.
        model._base_manager.bulk_create(edited, update_conflicts=True, unique_fields=["id"], update_fields=names)
    _forget_prefetched(record, relation)


def _merged_rows(
    record: models.Model, relation: str, rows: Sequence[Values]
) -> tuple[list[ChildRow], list[ChildRow], list[uuid.UUID]]:
    """Return the rows to be added and to be edited, checked, and the ids of those that go; stores nothing."""
    model, owner = _owner_field(record, relation)
    stored = {row.pk: row for row in getattr(record, relation).all()}
    kept: set[uuid.UUID] = set()
    added: list[Any] = []
    edited: list[Any] = []
    faults: list[ValidationError] = []
    for idx, values in enumerate(rows):
        key = values.get("id")
        content = {name: value for name, value in values.items() if name != "id"}
        if key is None:
            row: Any = model(**{owner: record}, idx=idx, **content)
            changed = list(columns(row))
            added.append(row)
        elif key not in stored or key in kept:
            text = "This Id stands twice in the array." if key in kept else "No such entry in this record."
            faults.append(_at(relation, idx, "id", text, "InvalidReference"))
            continue
        else:
            row = stored[key]
            kept.add(key)
            before = columns(row)
            row.idx = idx
            for name, value in content.items():
                setattr(row, name, value)
            changed = [key for key, value in columns(row).items() if value != before[key]]
            if changed:
                edited.append(row)
        faults += _row_faults(row, relation, idx, owner, changed)
    if faults:
        raise ValidationError(faults)
    return added, edited, [key for key in stored if key not in kept]


def _forget_prefetched(record: models.Model, relation: str) -> None:
    getattr(record, "_prefetched_objects_cache", {}).pop(relation, None)


def _row_faults(row: Any, relation: str, idx: int, owner: str, changed: Sequence[str]) -> list[ValidationError]:
    """Return the faults of one child row; as in `check_record`, only changed references are checked."""
    foreign = [field.name for field in row._meta.concrete_fields if field.is_relation]
    faults: dict[str, Any] = {}
    site_id = getattr(row, owner).site_id
    for check in (
        lambda: row.clean_fields(exclude={"id", *foreign}),
        row.clean,
        lambda: check_references(row, site_id, [name for name in foreign if name != owner and name in changed]),
    ):
        try:
            check()
        except ValidationError as fault:
            faults = fault.update_error_dict(faults)
    return [
        _at(relation, idx, name, error.messages[0], error.code or "InvalidValue")
        for name, errors in faults.items()
        for error in errors
    ]


def _at(relation: str, idx: int, name: str, text: str, code: str) -> ValidationError:
    """Return a fault that carries where in a child array it lies, for every door to word in its own names."""
    return ValidationError(text, code=code, params={"relation": relation, "idx": idx, "name": name})


def archive_record(
    model: type[R],
    site_id: uuid.UUID,
    record_id: uuid.UUID,
    *,
    archived: bool,
    author: Author,
    operation: str,
    reason: str,
    precondition: Precondition | None = None,
) -> R:
    """Archive or restore a record, with a reason; repeating it changes nothing (DECISIONS 5)."""
    with changing(
        model, site_id, record_id, author=author, operation=operation, reason=reason, precondition=precondition
    ) as record:
        record.is_archived = archived
    return record
