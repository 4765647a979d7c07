"""Compares what a write sent with the resource after it, so that the log names what was not stored as it was sent."""

import re
from collections.abc import Iterable, Iterator

from records.sites.text import fold
from scim.declared import Names, declared_names
from scim.representations import Representation
from scim.schemas import ENTERPRISE, SITE
from scim.wording import FALSE, by_lower_name, id_in

READ_ONLY = frozenset({"id", "meta", "groups", "profileurl"})
"""Attributes of a User or Group that every document has, and that no caller sets."""
_READ_ONLY_PARTS = (f"{ENTERPRISE}:manager.displayname".lower(), f"{SITE}:displayname".lower())
_OWN_NOTES = frozenset({"schemas", "password", "members", "meta.version", "meta.lastmodified"})
"""What is never shown, is refused or noted elsewhere, or is sent back by everybody who has read the resource before."""
_EMPTY: tuple[object, ...] = (None, "", [], {})


def notes_on(kind: str, sent: Iterable[Representation], stored: Representation, *, added: bool) -> Iterator[str]:
    """Yield sentences for the log that name the sent attributes that the resource does not show as they were sent.

    For a resource that was `added`, an empty value asks for nothing, because it then has the default.
    """
    names = list(dict.fromkeys(name for one in sent for name in _differing(kind, one, stored, added=added)))
    ignored = [name for name in names if is_read_only(name)]
    if ignored:
        yield f"Ignored, because it is read-only: {', '.join(ignored)}."
    others = [name for name in names if name not in ignored]
    if others:
        yield f"Not stored as sent: {', '.join(others)}."


def is_read_only(name: str) -> bool:
    """Return whether an attribute, named in any case and with the URN of an extension before it, is read-only."""
    lower = name.lower()
    return re.split(r"[.\[]", lower)[0] in READ_ONLY or lower in _READ_ONLY_PARTS


def _differing(kind: str, sent: Representation, stored: Representation, *, added: bool) -> Iterator[str]:
    schemas, found = declared_names(kind), by_lower_name(stored)
    for name, value in sent.items():
        if name.lower() in READ_ONLY - found.keys():
            continue  # It was not read.
        known = found.get(name.lower())
        extension = schemas.get(name.lower())
        if extension is None:
            yield from _below(schemas[""], name, value, known, "", added=added)
        elif isinstance(value, dict):
            inner = by_lower_name(known or {})
            for part, one in value.items():
                yield from _below(extension, part, one, inner.get(part.lower()), f"{name}:", added=added)


def _below(declared: Names, name: str, value: object, found: object, prefix: str, *, added: bool) -> Iterator[str]:
    parts = declared.get(name.lower())
    if parts is None or name.lower() in _OWN_NOTES:
        return
    if isinstance(value, dict) and isinstance(found, dict):
        known = by_lower_name(found)
        for part, one in value.items():
            lower = part.lower()
            if lower not in (parts or known) or f"{name}.{part}".lower() in _OWN_NOTES:
                continue
            if not _same_part(lower, one, known, parts, added=added):
                yield f"{prefix}{name}.{part}"
    elif not _same(value, found, parts, added=added):
        yield f"{prefix}{name}"


def _same_part(name: str, sent: object, known: Representation, parts: frozenset[str], *, added: bool) -> bool:
    """Return whether a part of an object says what was sent; a reference is compared by the id that it ends with."""
    if name == "$ref" and sent and known.get("value"):
        return id_in(sent).lower() == str(known["value"]).lower()
    return _same(sent, known.get(name), parts, added=added)


def _same(sent: object, found: object, parts: frozenset[str], *, added: bool) -> bool:
    """Return whether a stored value says what was sent, in any of the forms in which directories send it."""
    if sent in _EMPTY:
        return added or found in _EMPTY
    if isinstance(sent, list):
        if not isinstance(found, list):
            return _same(sent[0], found, parts, added=added)
        return all(
            any(_same(one, known, parts, added=True) for known in (*found[place : place + 1], *found))
            for place, one in enumerate(sent)
        )
    if isinstance(sent, dict):
        given = by_lower_name(sent)
        if not isinstance(found, dict):
            asks = any(one not in _EMPTY for one in given.values())
            return _same(given.get("value"), found, parts, added=added) and (found is not None or not asks)
        known = by_lower_name(found)
        return all(_same_part(name, one, known, parts, added=True) for name, one in given.items() if name in parts)
    if isinstance(found, dict):
        return _same(sent, by_lower_name(found).get("value"), parts, added=added)
    if isinstance(found, bool):
        return (str(sent).strip().lower() not in FALSE) == found
    return found is not None and fold(str(sent)) == fold(str(found))
