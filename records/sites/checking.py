"""The checks of a record: its columns, the rules between them, its references, its lists and its child rows."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Model
from django.utils.translation import gettext

from records.history.snapshots import children_of, columns
from records.sites.models import EntityFolder, SiteRecord
from records.sites.targets import check_lists, check_references
from records.sites.text import fault_at
from records.sites.values import Values, faults_of, listed_keys, merged_rows, new_rows, set_columns

BOOKKEEPING = {"id", "site", "revision", "created", "created_by", "last_modified", "last_modified_by", "is_archived"}


def refuse_to_finish_before_the_start(row: Any) -> None:
    """Raise ValidationError if the row's finish date is before its start date (DECISIONS 1.11)."""
    if row.start_date and row.finish_date and row.finish_date < row.start_date:
        raise fault_at("finish_date", gettext("The finish date is before the start date."), "InvalidValue")


def check_row(row: Model, *, changed: Sequence[str] | None = None, skip: Sequence[str] = ()) -> None:
    """Check a row with the checks of its model (see `records.sites.writing`); raises ValidationError with all faults.

    `changed` names what differs from the stored row, of which None is a new one.
    """
    if isinstance(row, SiteRecord):
        check_record(row, changed=changed, skip=skip)
        return
    if hasattr(row, "prepare"):
        row.prepare()
    if hasattr(row, "check_row"):
        row.check_row()
        return
    excluded = {"password", *skip}
    fields: Sequence[Any] = row._meta.concrete_fields
    references = [field for field in fields if field.is_relation and getattr(row, field.attname) is not None]
    loaded = {field.name for field in references if field.is_cached(row)}
    try:
        # What a loaded reference leads to exists. The database refuses a duplicate when the row is stored, and
        # `records.sites.writing` says then what it is.
        row.full_clean(exclude=excluded | loaded, validate_unique=False, validate_constraints=False)
    except ValidationError:
        # All faults are reported together.
        row.full_clean(exclude=excluded)
        raise


def check_record(
    record: SiteRecord,
    *,
    changed: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    folders: Mapping[uuid.UUID, EntityFolder] | None = None,
) -> None:
    """Normalise and check columns, cross-field rules and references; raises ValidationError with all faults.

    Only changed references are checked, so that an archived list entry stays valid on an old record. `folders` are
    those that the caller has locked already.
    """
    foreign, excluded = _excluded_fields(type(record))
    names = foreign if changed is None else [name for name in changed if name in foreign]
    skipped = {"created_by", "last_modified_by", *skip}
    checks = (
        partial(record.clean_fields, exclude=excluded),
        record.clean,
        partial(check_references, record, record.site_id, names, skip=skipped, folders=folders),
    )
    if faults := faults_of(checks):
        raise ValidationError(faults)


@cache
def _excluded_fields(model: type[SiteRecord]) -> tuple[list[str], frozenset[str]]:
    """Return the names of a model's references, and of all fields that `clean_fields` does not check."""
    foreign = [field.name for field in model._meta.concrete_fields if field.is_relation]
    return foreign, frozenset((*foreign, *BOOKKEEPING, "site_sequence_id"))


def faults_in(
    record: SiteRecord, values: Values, checks: Sequence[Callable[[], object]] = ()
) -> ValidationError | None:
    """Return all faults of the values for a new or a stored record, without storing anything.

    For an interface that reports all faults together even if the first failed check has ended the write. `checks` are
    those of the record's action; they run before the values are set.
    """
    faults = faults_of(checks)
    is_new, before = record._state.adding, columns(record)
    other_values = set_columns(record, values)
    changed = None if is_new else [name for name, value in columns(record).items() if value != before[name]]
    rows = [(name, other_values.pop(name)) for name in children_of(record) if name in other_values]
    lists = [] if is_new else [field.name for field in record._meta.many_to_many if field.name in other_values]
    stored = {name: listed_keys(record, name) for name in lists}
    own_checks = (
        partial(check_record, record, changed=changed),
        partial(check_lists, record, record.site_id, other_values, stored),
        *(partial(new_rows if is_new else merged_rows, record, name, values) for name, values in rows),
    )
    faults = faults_of(own_checks, faults)
    return ValidationError(faults) if faults else None
