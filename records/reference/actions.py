"""Writes to the reference lists: add, update, archive and restore an entry, each with its history."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, Unpack

from records.history.trail import Author
from records.reference.models import Checklist, Rating, ReferenceEntry, SiteEntry
from records.reference.ratings import put_bands, put_responses
from records.sites.writing import Recorded, Values, adding, apply, changing, replace_children

Entry = TypeVar("Entry", bound=ReferenceEntry)


def put_questions(checklist: Checklist, rows: Sequence[Values]) -> None:
    """Make the rows (id, question) the checklist's questions, in the order in which an audit asks them.

    A question that is not among the rows is removed; findings keep its words. Needs a transaction; raises
    ValidationError.
    """
    replace_children(checklist, "questions", rows)


PLAIN = ("name", "code", "idx")
CHILDREN: dict[type[ReferenceEntry], dict[str, Callable[..., None]]] = {
    Checklist: {"questions": put_questions},
    Rating: {"responses": put_responses, "bands": put_bands},
}


def add_entry(
    model: type[Entry],
    values: Mapping[str, object],
    *,
    author: Author,
    site_id: uuid.UUID | None = None,
    reason: str = "",
) -> Entry:
    """Add an entry to a list and return it; if each site has its own list, it is added to that of the site.

    `values` can contain name, code and idx, for a Rating also responses and bands, and for a Checklist also questions.
    Raises ValidationError, with the code Duplicate if an active entry has the same name and code.
    """
    entry = model()
    if isinstance(entry, SiteEntry):
        if site_id is None:
            raise ValueError(f"{model.__name__} is kept per site.")
        entry.site_id = site_id
    columns = _columns(entry, values)
    with adding(entry, columns, author=author, operation=f"Add{model.__name__}", reason=reason):
        _put_children(entry, values)
    return entry


def update_entry(entry: Entry, values: Mapping[str, object], **recorded: Unpack[Recorded]) -> Entry:
    """Set the values and return the changed entry; if nothing changes, nothing is written.

    Locks the entry. An array of responses, bands or questions replaces the whole old one. Raises ValidationError or
    the error of the precondition.
    """
    return _change(entry, "Update", values=values, **recorded)


def archive_entry(entry: Entry, *, author: Author, reason: str = "") -> Entry:
    """Archive an entry: old records keep it, and new ones cannot use it. Locks it; repeating it changes nothing."""
    return _change(entry, "Archive", is_archived=True, author=author, reason=reason)


def restore_entry(entry: Entry, *, author: Author, reason: str = "") -> Entry:
    """Restore an archived entry; repeating it changes nothing. Locks it; raises ValidationError (name in use)."""
    return _change(entry, "Restore", is_archived=False, author=author, reason=reason)


def _change(
    entry: Entry,
    verb: str,
    *,
    values: Mapping[str, object] | None = None,
    is_archived: bool | None = None,
    **recorded: Unpack[Recorded],
) -> Entry:
    columns = _columns(entry, values or {})
    with changing(type(entry), None, entry.pk, operation=f"{verb}{type(entry).__name__}", **recorded) as locked:
        apply(locked, columns)
        if is_archived is not None:
            locked.is_archived = is_archived
        _put_children(locked, values or {})
    return locked


def _columns(entry: ReferenceEntry, values: Mapping[str, object]) -> dict[str, object]:
    """Return the values that are columns of the entry."""
    unknown = set(values).difference(PLAIN, CHILDREN.get(type(entry), {}))
    if unknown:
        raise TypeError(f"{type(entry).__name__} has no {', '.join(sorted(unknown))} to set.")
    return {name: values[name] for name in PLAIN if name in values}


def _put_children(entry: ReferenceEntry, values: Mapping[str, object]) -> None:
    for relation, put in CHILDREN.get(type(entry), {}).items():
        if relation in values:
            put(entry, values[relation])
