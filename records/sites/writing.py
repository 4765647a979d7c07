"""How every write works: one transaction locks a row, changes, checks, stamps and stores it, with its Change.

The actions of the rooms use `add_record`, `adding` and `changing`; an action that writes in another way says why. They
can write any row with a key of its own: a record of a site, an entry of a list, an account, a role. A model defines
what is special about its rows:

- `prepare()` sets columns that are derived from others, such as a folded name, before the row is checked, and
  `check_row()` replaces Django's `full_clean` if the row needs its own checks. A record of a site has neither: it is
  checked by `records.sites.checking`;
- `history_site_id` is the site whose chain numbers the changes, if that is not the row's own site;
- `LOCKED_WHOLE` requests the stronger lock, for which writers who refer to the row wait too.

No caller chooses the Id of a new row. It is random, or the digest of a form's id (`records.backoffice.once`); an
employee and the account of the same person have the same Id. So no record gets the Id of a record of another kind, and
an add need not search the other kinds for its Id. An Id that a body, a file or a form names is that of a stored row.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Required, TypedDict, TypeVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, models, transaction
from django.utils.translation import gettext

from records.history.appending import MARK
from records.history.inserts import insert_rows, insertions, update_of
from records.history.snapshots import (
    FieldChange,
    children_of,
    columns,
    differences,
    differing,
    related_content,
    related_statements,
    snapshot,
)
from records.history.statements import Reading, Rows, Statement, reading, together
from records.history.trail import Author, Trail, now, recording
from records.sites.checking import check_record, check_row
from records.sites.models import ChildRow, SiteRecord
from records.sites.reasons import required_reason
from records.sites.sequences import counting_archived, insert_numbered, take_numbers
from records.sites.targets import check_lists, lock_folders, mark_valid_together
from records.sites.text import refuse
from records.sites.values import (
    LockedContent,
    Values,
    apply,
    listing,
    names_of,
    new_rows,
    replace_children,
    set_columns,
)

__all__ = ("Values", "apply", "replace_children")

M = TypeVar("M", bound=models.Model)
R = TypeVar("R", bound=SiteRecord)

Precondition = Callable[[Any], None]


class WriteArgs(TypedDict, total=False):
    """The options that an action of a room passes on to `changing`: author, reason, and a check under the lock."""

    author: Required[Author]
    reason: str
    precondition: Precondition | None


class RecordNotFoundError(Exception):
    """Raised if the site has no such record."""


def add_record(
    record: M,
    values: Values | None = None,
    *,
    author: Author,
    operation: str,
    reason: str = "",
    numbered: bool = True,
    skip: Sequence[str] = (),
    begins_with: Callable[[], Sequence[Statement]] | None = None,
    check: Callable[[list[Rows]], None] | None = None,
    parts: Callable[[M], Mapping[str, list[ChildRow]]] | None = None,
    followed_by: Callable[[M], None] | None = None,
) -> M:
    """Store a new row with its children, lists, number and history, in one transaction.

    The site is that of `record`. `values` has the names of the model's fields, with related objects for foreign keys,
    lists of objects for many-to-many fields, and lists of dicts for child relations. Raises ValidationError and then
    stores nothing. The transaction begins with the statements of `begins_with`, and `check` is called with their rows
    before anything else. `parts` returns further rows that belong to the checked row, by their relations, and
    `followed_by` is called with the checked row before it is stored; `skip` lists foreign keys that the caller has
    checked itself.
    """
    with recording(begins_with) as trail:
        if check is not None:
            check(trail.answers)
        children, lists = _prepare(record, values or {}, author=author, skip=skip)
        names = {key: name for targets in lists.values() for key, name in names_of(targets).items()}
        if parts is not None:
            for relation, rows in parts(record).items():
                children[relation] = rows
                names |= names_of(rows)
        if followed_by is not None:
            followed_by(record)
        content = columns(record)
        content |= {name: {str(row.pk): columns(row) for row in rows} for name, rows in children.items()}
        content |= {name: sorted({str(target.pk) for target in targets}) for name, targets in lists.items()}
        entries = differences(record, {}, content, names=names)
        counts = ""
        if isinstance(record, SiteRecord) and numbered:
            insert_numbered(record, trail)
            entries.insert(0, {"field": "site_sequence_id", "old": None, "new": record.site_sequence_id})
            counts = "site_sequence_id" if record.site_sequence_id == MARK else ""
        else:
            _insert(record)
        _store_related(record, children, lists, trail)
        trail.add(record, entries, author=author, operation=operation, reason=reason, counts=counts)
    return record


def add_records(records: Sequence[R], *, author: Author, operation: str, reason: str = "") -> Sequence[R]:
    """Store many new records of one model and site with consecutive numbers, and one Change for each.

    The records have their site and columns set, and have neither child rows nor lists. The number of queries does not
    depend on the number of records if the records that they refer to are loaded. Raises ValidationError, with the row
    of each fault, and then stores nothing.
    """
    if not records:
        return records
    site_id = records[0].site_id
    faults: list[ValidationError] = []
    with recording() as trail:
        mark_valid_together(records, site_id)
        folders = lock_folders(record.entity_folder_id for record in records if record.entity_folder_id)
        site = records[0].site
        for row, record in enumerate(records, 1):
            record.site = site
            record.created_by_id = record.last_modified_by_id = author.id
            record.created = record.last_modified = now()
            try:
                check_record(record, folders=folders)
            except ValidationError as fault:
                texts = [f"{name}: {text}" for name, messages in fault.message_dict.items() for text in messages]
                faults += [
                    ValidationError(gettext("Row %(row)s, %(text)s") % {"row": row, "text": text}, code="InvalidValue")
                    for text in texts
                ]
        if faults:
            raise ValidationError(faults)
        number = take_numbers(site_id, records[0].ENTITY, len(records))
        for record in records:
            record.site_sequence_id, number = number, number + 1
        insert_rows(records)
        for record in records:
            entries = differences(record, {}, columns(record))
            trail.add(record, entries, author=author, operation=operation, reason=reason)
    return records


@contextmanager
def adding(
    record: M,
    values: Values | None = None,
    *,
    author: Author,
    operation: str,
    reason: str = "",
) -> Iterator[M]:
    """Store a new row as `add_record` does, then let the block create rows that refer to it and are part of it.

    The row's first Change includes what the block created. Raises ValidationError and then stores nothing.
    """
    with recording() as trail, trail.storing_at_once():
        children, lists = _prepare(record, values or {}, author=author, skip=())
        if isinstance(record, SiteRecord):
            insert_numbered(record, trail)
        else:
            _insert(record)
        _store_related(record, children, lists, trail)
        yield record
        entries = differences(record, {}, snapshot(record))
        trail.add(record, entries, author=author, operation=operation, reason=reason)


def _prepare(
    record: models.Model, values: Values, *, author: Author, skip: Sequence[str]
) -> tuple[dict[str, list[ChildRow]], Values]:
    """Set a new row's values and stamps and check it; returns its child rows and lists, which are not stored yet."""
    lists = set_columns(record, values)
    if isinstance(record, SiteRecord):
        record.created_by_id = record.last_modified_by_id = author.id
        record.created = record.last_modified = now()  # not the time of its creation in memory
    check_row(record, skip=skip)
    children = {name: new_rows(record, name, lists.pop(name)) for name in children_of(record) if name in lists}
    if lists:
        check_lists(record, record.site_id, lists, {})  # type: ignore[attr-defined]
    return children, lists


def _store_related(record: models.Model, children: dict[str, list[ChildRow]], lists: Values, trail: Trail) -> None:
    """Store the children and lists of a row that is stored now or at the end of the transaction."""
    statements = [statement for rows in children.values() for statement in insertions(rows)]
    trail.store([*statements, *(listing(record, name, targets) for name, targets in lists.items() if targets)])


def _insert(record: models.Model) -> None:
    """Store a checked row; one that a constraint refuses, such as a second one of the same name, has a fault."""
    with _refusing_duplicates(record):
        insert_rows([record])


@contextmanager
def _refusing_duplicates(record: models.Model) -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        record._state.adding = not type(record)._base_manager.filter(pk=record.pk).exists()
        record.full_clean(exclude={"password"})
        raise


@cache
def locking(model: type[models.Model]) -> Reading:
    """Return the query that locks a row by its key alone, so that the database always uses the key."""
    whole = getattr(model, "LOCKED_WHOLE", False)

    def rows(any_key: uuid.UUID) -> models.QuerySet[models.Model]:
        return model._default_manager.select_for_update(of=("self",), no_key=not whole).filter(pk=any_key).order_by()

    return reading(rows)


def locking_with_content(model: type[models.Model], key: uuid.UUID) -> list[Statement]:
    """Return the statements with which `changing` begins: they lock a row, and read its lists and child rows."""
    return [locking(model).by(key), *related_statements(model, key)]


@contextmanager
def changing(
    model: type[M],
    site_id: uuid.UUID | None,
    key: uuid.UUID,
    *,
    author: Author,
    operation: str,
    reason: str = "",
    precondition: Precondition | None = None,
    skip: Sequence[str] = (),
    notes: Sequence[FieldChange] = (),
    followed_by: Callable[[M], None] | None = None,
) -> Iterator[M]:
    """Lock a row, let the block change it, then check, stamp, store and record what changed.

    The row must belong to the site, unless the site is None. The block sets attributes or calls `apply`. A block that
    changes nothing leaves no trace: no stamp, no revision, no Change. `notes` are entries of the Change about what the
    history does not compare, such as a password or the members of a role; the block may add to the list. A row about
    which there are only notes is stored and recorded, but neither checked nor stamped. If anything has changed
    or there are notes, `followed_by` is called with the row before it is stored. Raises RecordNotFoundError,
    ValidationError (code InvalidTransition if a record is archived and stays so, DECISIONS 1.17), or what
    `precondition` raises; then nothing is stored.
    """
    with recording(partial(locking_with_content, model, key)) as trail:
        locked_rows, *related_rows = trail.answers
        records = locking(model).objects(locked_rows)
        if not records or (site_id is not None and records[0].site_id != site_id):
            raise RecordNotFoundError
        record: M = records[0]
        if precondition is not None:
            precondition(record)
        content, children = related_content(model, related_rows)
        locked_content = LockedContent(record, columns(record) | content, children)
        with changing_locked(
            trail,
            record,
            locked_content,
            author=author,
            operation=operation,
            reason=reason,
            skip=skip,
            notes=notes,
            followed_by=followed_by,
        ):
            yield record


@contextmanager
def changing_locked(
    trail: Trail,
    record: M,
    locked_content: LockedContent,
    *,
    author: Author,
    operation: str,
    reason: str = "",
    skip: Sequence[str] = (),
    notes: Sequence[FieldChange] = (),
    followed_by: Callable[[M], None] | None = None,
) -> Iterator[None]:
    """Do what `changing` does with a row that is already locked and was just read with its content."""
    before = locked_content.before
    with connection.execute_wrapper(locked_content):
        yield
    del vars(record)["_larder_loaded"]
    after = snapshot(record) if locked_content.has_written else columns(record) | locked_content.content
    entries: list[FieldChange] = []
    if changed_names := differing(before, after):
        if isinstance(record, SiteRecord) and before["is_archived"] and after["is_archived"]:
            text = gettext("This %(kind)s is archived. Restore it before you change it.") % {
                "kind": record._meta.verbose_name
            }
            raise refuse(text)
        with locked_content.watching():
            check_row(record, changed=changed_names, skip=skip)
        entries = differences(record, before, after | columns(record), names=locked_content.names)
    if not entries and not notes:
        # The order of a list may have changed, which the history does not record.
        trail.store(locked_content.waiting_statements)
        return
    if entries:
        stamp(record, author)
    if isinstance(record, SiteRecord) and record.is_archived != before["is_archived"] and record.site_sequence_id:
        trail.store([counting_archived(record.site_id, record.ENTITY, 1 if record.is_archived else -1)])
    if followed_by is not None:
        with locked_content.watching():
            followed_by(record)
    if not isinstance(record, SiteRecord):
        with _refusing_duplicates(record):
            together([update_of(record)])
        trail.store(locked_content.waiting_statements)
    else:
        trail.store([*locked_content.waiting_statements, update_of(record)])
    trail.add(record, [*entries, *notes], author=author, operation=operation, reason=reason)


def stamp(record: models.Model, author: Author) -> None:
    """Set who changed the row and when, and increment its revision, if it has these columns."""
    if hasattr(record, "last_modified"):
        record.last_modified = max(now(), record.last_modified)
    if hasattr(record, "last_modified_by_id"):
        record.last_modified_by_id = author.id
    if hasattr(record, "revision"):
        record.revision += 1


def archive_record(
    model: type[R],
    site_id: uuid.UUID,
    record_id: uuid.UUID,
    *,
    archived: bool,
    author: Author,
    reason: str,
    operation: str = "",
) -> R:
    """Archive or restore a record, with a reason; repeating it changes nothing (DECISIONS 5).

    `operation` replaces the usual name in the history, such as `ArchiveItem`. Raises RecordNotFoundError, and
    ValidationError for a reason that is blank or too long.
    """
    name = operation or f"{'Archive' if archived else 'Restore'}{model.__name__}"
    with changing(model, site_id, record_id, author=author, operation=name, reason=required_reason(reason)) as record:
        record.is_archived = archived
    return record
