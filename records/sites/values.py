"""Setting values of a record: its columns, many-to-many lists and child rows, each checked before it is stored."""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, models
from django.utils.translation import gettext

from records.history.english import stored_text
from records.history.inserts import insertions
from records.history.sets import insertion
from records.history.snapshots import (
    Children,
    Snapshot,
    children_of,
    columns,
    content_of,
    related_content,
    related_statements,
)
from records.history.statements import Statement, parameter, row_of, together
from records.sites.models import ChildRow
from records.sites.targets import check_lists, check_references

Values = dict[str, Any]
Faults = dict[str, list[ValidationError]]


_READS = ("SELECT", "WITH RECURSIVE", "SAVEPOINT", "RELEASE")


class LockedContent:
    """A locked record as it was read, with its lists and child rows, which are out of date once the block writes.

    It is an `execute_wrapper` of the connection, and so notices the first statement of the block that writes.
    """

    def __init__(self, record: models.Model, before: Snapshot, children: Children) -> None:
        self.before = before
        """The snapshot of the record as it was read."""
        self.content = {name: before[name] for name in children}
        """The lists and child rows as a part of a snapshot; out of date when `children` is."""
        self.children = children
        self.has_written = False
        self.waiting_statements: list[Statement] = []
        """Statements that store what `content` has already; they run before any other statement of the block."""
        self.names: dict[str, str] = {}
        """The names, by id, of records that the lists or child rows refer to, as far as they are loaded."""
        vars(record)["_larder_loaded"] = self

    def __call__(
        self, execute: Callable[..., object], sql: object, params: object, many: bool, context: dict[str, object]
    ) -> object:
        """Run a statement after those that wait, and remember whether it writes."""
        if self.waiting_statements:
            together(self.pop_waiting())
            self.has_written = False  # because `content` has what they wrote
        self.has_written = self.has_written or not str(sql).lstrip().startswith(_READS)
        return execute(sql, params, many, context)

    def watching(self) -> AbstractContextManager[None]:
        """Return a block in which statements wait only until it runs one."""
        return connection.execute_wrapper(self) if self.waiting_statements else nullcontext()

    def pop_waiting(self) -> list[Statement]:
        """Return the statements that wait, which the caller runs now."""
        statements, self.waiting_statements = self.waiting_statements, []
        return statements

    @staticmethod
    def of(record: models.Model) -> "LockedContent | None":
        """Return what was read with the record, unless it is out of date or the record is not being changed."""
        locked_content: LockedContent | None = vars(record).get("_larder_loaded")
        return None if locked_content is None or locked_content.has_written else locked_content

    @classmethod
    def note_names(cls, record: models.Model, records: Iterable[models.Model]) -> None:
        """Let the history take the names of loaded records from these."""
        if (locked_content := cls.of(record)) is not None:
            locked_content.names |= names_of(records)

    @classmethod
    def put(
        cls,
        record: models.Model,
        relation: str,
        rows: list[object],
        statements: Sequence[Statement],
        records: Iterable[models.Model],
    ) -> None:
        """Set all rows of a list or child relation by statements, which run only before the next one if possible.

        The rows must have the values that the database returns for them. For a list, they are those of the table that
        links it. `records` are the loaded records whose names the history shows.
        """
        locked_content = cls.of(record)
        if locked_content is None:
            together(statements)
            return
        locked_content.waiting_statements += statements
        cls.note_names(record, records)
        locked_content.children[relation] = rows
        locked_content.content[relation] = content_of(type(record), relation, rows)

    @classmethod
    def write(cls, record: models.Model, statements: Sequence[Statement]) -> None:
        """Run statements that change the record's child rows, and read the result in the same round trip."""
        locked_content: LockedContent | None = vars(record).get("_larder_loaded")
        if not statements:
            return
        if locked_content is None:
            together(statements)
            return
        all_statements = [*locked_content.pop_waiting(), *statements]
        answers = together([*all_statements, *related_statements(type(record), record.pk)])
        locked_content.content, locked_content.children = related_content(type(record), answers[len(all_statements) :])
        locked_content.has_written = False

    @staticmethod
    def rows(record: models.Model, relation: str) -> Iterable[Any]:
        """Return the record's present child rows; at most one query."""
        locked_content = LockedContent.of(record)
        if locked_content is None or relation not in locked_content.children:
            return getattr(record, relation).all()
        return locked_content.children[relation]


def apply(record: models.Model, values: Mapping[str, object], *, in_order: Collection[str] = ()) -> None:
    """Set values of a stored, locked record: columns in memory, many-to-many lists and child rows in the database.

    Lists are stored before the next statement runs, or with the record (`LockedContent.put`).

    An absent name keeps its value. A list or child array that is present replaces the whole old one (DECISIONS 1.5). A
    list of which only the order differs is stored anew only if it is among `in_order`: the order of a form's choices
    says nothing.
    """
    other_values = set_columns(record, values)
    if not other_values:
        return
    children = children_of(record)
    stored_lists = {name: listed_keys(record, name) for name in other_values if name not in children}
    if stored_lists:
        check_lists(record, record.site_id, other_values, stored_lists)  # type: ignore[attr-defined]
    statements: list[Statement] = []
    for name, value in other_values.items():
        if name in children:
            statements += _replacing(record, name, value)
            continue
        keys = list(dict.fromkeys(row.pk for row in value))
        if stored_lists[name] != keys and (name in in_order or {*stored_lists[name]} != {*keys}):
            LockedContent.put(record, name, _links(record, name, keys), _relisting(record, name, value), value)
    LockedContent.write(record, statements)


def listed_keys(record: models.Model, name: str) -> list[uuid.UUID]:
    """Return the keys of a stored record's many-to-many list, in their order; at most one query."""
    manager, locked_content = getattr(record, name), LockedContent.of(record)
    if locked_content is not None and name in locked_content.children:
        rows: Iterable[object] = locked_content.children[name]
    else:
        rows = manager.through._base_manager.filter(**{manager.source_field_name: record}).order_by("pk")
    return [getattr(row, f"{manager.target_field_name}_id") for row in rows]


def names_of(targets: Iterable[models.Model]) -> dict[str, str]:
    """Return the names under which the history shows loaded records, by their ids."""
    return {str(target.pk): stored_text(target) for target in targets}


def _links(record: models.Model, name: str, keys: Iterable[uuid.UUID]) -> list[object]:
    """Return the rows that link the targets with these keys to the record, without keys of their own."""
    manager: Any = getattr(record, name)
    owner, target = (f"{field}_id" for field in (manager.source_field_name, manager.target_field_name))
    return [row_of(manager.through, {owner: record.pk, target: key}) for key in keys]


def _relisting(record: models.Model, name: str, targets: Sequence[models.Model]) -> list[Statement]:
    """Return the statements that make targets the record's whole many-to-many list, in the given order."""
    manager, quote = getattr(record, name), connection.ops.quote_name
    table = quote(manager.through._meta.db_table)
    owner = quote(manager.through._meta.get_field(manager.source_field_name).column)
    _forget_prefetched(record, name)
    deletion = (f"DELETE FROM {table} WHERE {owner} = %s", [parameter(record.pk)])  # noqa: S608
    return [deletion, *([listing(record, name, targets)] if targets else [])]


def listing(record: models.Model, name: str, targets: Sequence[models.Model]) -> Statement:
    """Return the statement that stores targets as a record's many-to-many list, which is empty, in the given order."""
    manager = getattr(record, name)
    keys = dict.fromkeys(row.pk for row in targets)
    return insertion(
        manager.through, {manager.source_field_name: record.pk}, (manager.target_field_name,), [(key,) for key in keys]
    )


def set_columns(record: models.Model, values: Mapping[str, object]) -> Values:
    """Set the columns among the values and return the rest: many-to-many lists and child rows."""
    concrete = {name for field in record._meta.concrete_fields for name in (field.name, field.attname)}
    for name in values.keys() & concrete:
        setattr(record, name, values[name])
    return {name: value for name, value in values.items() if name not in concrete}


def _owner_field(record: models.Model, relation: str) -> tuple[type[ChildRow], str]:
    field = record._meta.get_field(relation)
    return field.related_model, field.field.name  # type: ignore[union-attr, return-value]


def new_rows(record: models.Model, relation: str, rows: Sequence[Values]) -> list[ChildRow]:
    """Return the child rows of a new record, checked but not stored; raises ValidationError."""
    model, owner = _owner_field(record, relation)
    children, faults = [], []
    for idx, values in enumerate(rows):
        if values.get("id") is not None:
            faults.append(_at(relation, idx, "id", gettext("A new entry must not have an Id."), "InvalidReference"))
            continue
        row = model(**{owner: record}, idx=idx, **{key: value for key, value in values.items() if key != "id"})
        faults += _row_faults(row, relation, idx, owner, list(columns(row)))
        children.append(row)
    if faults:
        raise ValidationError(faults)
    return children


def replace_children(record: models.Model, relation: str, rows: Sequence[Values]) -> None:
    """Make rows the record's whole child array: known ids are updated, new rows added, and missing ones deleted.

    Keeps the order of the rows. Raises ValidationError, with `relation[index]` in the path, for an id that does not
    belong to the record.
    """
    LockedContent.write(record, _replacing(record, relation, rows))


def _replacing(record: models.Model, relation: str, rows: Sequence[Values]) -> list[Statement]:
    """Return the statements that make rows the record's whole child array; raises ValidationError."""
    model, owner = _owner_field(record, relation)
    added, edited, deleted_ids = merged_rows(record, relation, rows)
    quote: Any = connection.ops.quote_name
    statements: list[Statement] = []
    if deleted_ids and model._meta.related_objects:
        model._base_manager.filter(pk__in=deleted_ids).delete()  # References to them are checked first.
    elif deleted_ids:
        places = ", ".join(["%s"] * len(deleted_ids))
        table, key = quote(model._meta.db_table), quote(model._meta.pk.column)
        statements.append((f"DELETE FROM {table} WHERE {key} IN ({places})", [*map(parameter, deleted_ids)]))  # noqa: S608
    names = [field.name for field in model._meta.concrete_fields if not field.primary_key and field.name != owner]
    # Each edited row replaces the old one as a whole: an UPDATE with one CASE per row takes quadratic time.
    statements += [*insertions(added), *insertions(edited, replacing=names)]
    _forget_prefetched(record, relation)
    return statements


def merged_rows(
    record: models.Model, relation: str, rows: Sequence[Values]
) -> tuple[list[ChildRow], list[ChildRow], list[uuid.UUID]]:
    """Return the checked rows to add and to edit, and the ids of those to delete; stores nothing."""
    model, owner = _owner_field(record, relation)
    stored = {row.pk: row for row in LockedContent.rows(record, relation)}
    kept_ids: set[uuid.UUID] = set()
    added: list[ChildRow] = []
    edited: list[ChildRow] = []
    faults: list[ValidationError] = []
    for idx, values in enumerate(rows):
        key = values.get("id")
        content = {name: value for name, value in values.items() if name != "id"}
        if key is None:
            row = model(**{owner: record}, idx=idx, **content)
            changed = list(columns(row))
            added.append(row)
        elif key not in stored or key in kept_ids:
            text = (
                gettext("This Id occurs twice in the array.")
                if key in kept_ids
                else gettext("No such entry in this record.")
            )
            faults.append(_at(relation, idx, "id", text, "InvalidReference"))
            continue
        else:
            row = stored[key]
            kept_ids.add(key)
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
    return added, edited, [key for key in stored if key not in kept_ids]


def _forget_prefetched(record: models.Model, relation: str) -> None:
    getattr(record, "_prefetched_objects_cache", {}).pop(relation, None)


def _row_faults(row: ChildRow, relation: str, idx: int, owner: str, changed: Sequence[str]) -> list[ValidationError]:
    """Return the faults of one child row; as for the record itself, only changed references are checked."""
    foreign = [field.name for field in row._meta.concrete_fields if field.is_relation]
    site_id = getattr(row, owner).site_id
    checks = (
        lambda: row.clean_fields(exclude={"id", *foreign}),
        row.clean,
        lambda: check_references(row, site_id, [name for name in foreign if name != owner and name in changed]),
    )
    return [
        _at(relation, idx, name, error.messages[0], error.code or "InvalidValue")
        for name, errors in faults_of(checks).items()
        for error in errors
    ]


def faults_of(checks: Iterable[Callable[[], object]], faults: Faults | None = None) -> Faults:
    """Run all checks and return the errors that they raise by field, with those found already."""
    faults_by_field = faults or {}
    for check in checks:
        try:
            check()
        except ValidationError as fault:
            faults_by_field = fault.update_error_dict(faults_by_field)
    return faults_by_field


def _at(relation: str, idx: int, name: str, text: str, code: str) -> ValidationError:
    """Return a fault with its position in a child array; each interface translates it into its own names."""
    return ValidationError(text, code=code, params={"relation": relation, "idx": idx, "name": name})
