"""Writes to the reference lists: add and update an entry, each with its history."""

import uuid
from collections.abc import Callable, Mapping
from typing import TypeVar, Unpack

from records.history.trail import Author
from records.reference.models import Checklist, Rating, ReferenceEntry, SiteEntry
from records.reference.ratings import put_bands, put_responses
from records.sites.writing import WriteArgs, adding, apply, changing, replace_children

Entry = TypeVar("Entry", bound=ReferenceEntry)


PLAIN = ("name", "code", "idx")
CHILDREN: dict[type[ReferenceEntry], dict[str, Callable[..., None]]] = {
    Checklist: {"questions": lambda checklist, rows: replace_children(checklist, "questions", rows)},
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


def update_entry(entry: Entry, values: Mapping[str, object], **options: Unpack[WriteArgs]) -> Entry:
    """Set the values and return the changed entry; if nothing changes, nothing is written.

    Locks the entry. An array of responses, bands or questions replaces the whole old one. Raises ValidationError or
    the error of the precondition.
    """
    columns, operation = _columns(entry, values), f"Update{type(entry).__name__}"
    with changing(type(entry), None, entry.pk, operation=operation, **options) as locked_entry:
        apply(locked_entry, columns)
        _put_children(locked_entry, values)
    return locked_entry


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
