"""Writes to the reference lists: add, update, archive and restore an entry, each with its history."""

import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db import IntegrityError, transaction

from records.history.snapshots import differences, snapshot
from records.history.trail import Author, now, recording
from records.reference.checklists import put_questions
from records.reference.models import Checklist, Rating, ReferenceEntry, SiteEntry
from records.reference.ratings import put_bands, put_responses

Entry = TypeVar("Entry", bound=ReferenceEntry)

PLAIN = ("name", "code", "idx")
CHILDREN: dict[type[ReferenceEntry], dict[str, Callable[..., None]]] = {
    Checklist: {"questions": put_questions},
    Rating: {"responses": put_responses, "bands": put_bands},
}


def add_entry(
    model: type[Entry], values: Mapping[str, Any], *, author: Author, site_id: uuid.UUID | None = None, reason: str = ""
) -> Entry:
    """Add an entry to a list, to the site's own where the list is kept per site, and return it.

    values may hold name, code and idx, for a Rating its responses and bands, and for a Checklist its questions.
    Raises ValidationError, code Duplicate where an active entry has the name and code already.
    """
    entry = model()
    if isinstance(entry, SiteEntry):
        if site_id is None:
            raise ValueError(f"{model.__name__} is kept per site.")
        entry.site_id = site_id
    with recording() as trail:
        _apply(entry, values)
        _save(entry)
        _put_children(entry, values)
        trail.add(
            entry,
            differences(entry, {}, snapshot(entry)),
            author=author,
            operation=f"Add{model.__name__}",
            reason=reason,
        )
    return entry


def update_entry(entry: Entry, values: Mapping[str, Any], *, author: Author, reason: str = "") -> Entry:
    """Change what values holds and return the entry as it is now; what changes nothing writes nothing.

    Locks the entry. An array of responses, bands or questions is the whole new array. Raises ValidationError.
    """
    return _change(entry, f"Update{type(entry).__name__}", author, reason, values=values)


def archive_entry(entry: Entry, *, author: Author, reason: str = "") -> Entry:
    """Archive an entry: it stays valid on old records and is refused on new ones. Locks it; repeatable."""
    return _change(entry, f"Archive{type(entry).__name__}", author, reason, is_archived=True)


def restore_entry(entry: Entry, *, author: Author, reason: str = "") -> Entry:
    """Make an archived entry active again. Locks it; repeatable; raises ValidationError where its name is taken."""
    return _change(entry, f"Restore{type(entry).__name__}", author, reason, is_archived=False)


def _change(
    entry: Entry,
    operation: str,
    author: Author,
    reason: str,
    *,
    values: Mapping[str, Any] | None = None,
    is_archived: bool | None = None,
) -> Entry:
    with recording() as trail:
        locked = type(entry)._default_manager.select_for_update(no_key=True).get(pk=entry.pk)
        before = snapshot(locked)
        _apply(locked, values or {})
        if is_archived is not None:
            locked.is_archived = is_archived
        locked.full_clean()
        _put_children(locked, values or {})
        changed = differences(locked, before, snapshot(locked))
        if changed:
            locked.last_modified = now()
            _save(locked)
        trail.add(locked, changed, author=author, operation=operation, reason=reason)
    return locked


def _apply(entry: ReferenceEntry, values: Mapping[str, Any]) -> None:
    unknown = set(values).difference(PLAIN, CHILDREN.get(type(entry), {}))
    if unknown:
        raise TypeError(f"{type(entry).__name__} has no {', '.join(sorted(unknown))} to set.")
    for name in PLAIN:
        if name in values:
            setattr(entry, name, values[name])


def _put_children(entry: ReferenceEntry, values: Mapping[str, Any]) -> None:
    for relation, put in CHILDREN.get(type(entry), {}).items():
        if relation in values:
            put(entry, values[relation])


def _save(entry: ReferenceEntry) -> None:
    """Validate and store; a name that another writer took meanwhile is told like one that was taken before."""
    entry.full_clean()
    try:
        with transaction.atomic():
            entry.save()
    except IntegrityError:
        entry.validate_constraints()
        raise
