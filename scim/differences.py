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


def notes_on(
    kind: str, documents: Iterable[Representation], stored_document: Representation, *, is_new: bool
) -> Iterator[str]:
    """Yield sentences for the log that name the sent attributes that the resource does not show as they were sent.

    For a resource that `is_new`, an empty value asks for nothing, because it then has the default.
    """
    names = list(
        dict.fromkeys(
            name for document in documents for name in _differing(kind, document, stored_document, is_new=is_new)
        )
    )
    read_only_names = [name for name in names if is_read_only(name)]
    if read_only_names:
        yield f"Ignored, because it is read-only: {', '.join(read_only_names)}."
    other_names = [name for name in names if name not in read_only_names]
    if other_names:
        yield f"Not stored as sent: {', '.join(other_names)}."


def is_read_only(name: str) -> bool:
    """Return whether an attribute, named in any case and with the URN of an extension before it, is read-only."""
    lower = name.lower()
    return re.split(r"[.\[]", lower)[0] in READ_ONLY or lower in _READ_ONLY_PARTS


def _differing(kind: str, document: Representation, stored_document: Representation, *, is_new: bool) -> Iterator[str]:
    schemas, stored_attributes = declared_names(kind), by_lower_name(stored_document)
    for name, value in document.items():
        if name.lower() in READ_ONLY - stored_attributes.keys():
            continue  # It was not read.
        stored_value = stored_attributes.get(name.lower())
        extension = schemas.get(name.lower())
        if extension is None:
            yield from _below(schemas[""], name, value, stored_value, "", is_new=is_new)
        elif isinstance(value, dict):
            inner = by_lower_name(stored_value or {})
            for part, part_value in value.items():
                yield from _below(extension, part, part_value, inner.get(part.lower()), f"{name}:", is_new=is_new)


def _below(
    attributes: Names, name: str, value: object, stored_value: object, prefix: str, *, is_new: bool
) -> Iterator[str]:
    parts = attributes.get(name.lower())
    if parts is None or name.lower() in _OWN_NOTES:
        return
    if isinstance(value, dict) and isinstance(stored_value, dict):
        stored_parts = by_lower_name(stored_value)
        for part, part_value in value.items():
            lower = part.lower()
            if lower not in (parts or stored_parts) or f"{name}.{part}".lower() in _OWN_NOTES:
                continue
            if not _is_part_stored(lower, part_value, stored_parts, parts, is_new=is_new):
                yield f"{prefix}{name}.{part}"
    elif not _is_stored(value, stored_value, parts, is_new=is_new):
        yield f"{prefix}{name}"


def _is_part_stored(
    name: str, sent_value: object, stored_parts: Representation, parts: frozenset[str], *, is_new: bool
) -> bool:
    """Return whether a part of an object says what was sent; a reference is compared by the id that it ends with."""
    if name == "$ref" and sent_value and stored_parts.get("value"):
        return id_in(sent_value).lower() == str(stored_parts["value"]).lower()
    return _is_stored(sent_value, stored_parts.get(name), parts, is_new=is_new)


def _is_stored(sent_value: object, stored_value: object, parts: frozenset[str], *, is_new: bool) -> bool:
    """Return whether a stored value says what was sent, in any of the forms in which directories send it."""
    if sent_value in _EMPTY:
        return is_new or stored_value in _EMPTY
    if isinstance(sent_value, list):
        if not isinstance(stored_value, list):
            return _is_stored(sent_value[0], stored_value, parts, is_new=is_new)
        return all(
            any(
                _is_stored(sent_entry, entry, parts, is_new=True)
                for entry in (*stored_value[place : place + 1], *stored_value)
            )
            for place, sent_entry in enumerate(sent_value)
        )
    if isinstance(sent_value, dict):
        sent_parts = by_lower_name(sent_value)
        if not isinstance(stored_value, dict):
            asks = any(part_value not in _EMPTY for part_value in sent_parts.values())
            return _is_stored(sent_parts.get("value"), stored_value, parts, is_new=is_new) and (
                stored_value is not None or not asks
            )
        stored_parts = by_lower_name(stored_value)
        return all(
            _is_part_stored(name, part_value, stored_parts, parts, is_new=True)
            for name, part_value in sent_parts.items()
            if name in parts
        )
    if isinstance(stored_value, dict):
        return _is_stored(sent_value, by_lower_name(stored_value).get("value"), parts, is_new=is_new)
    if isinstance(stored_value, bool):
        return (str(sent_value).strip().lower() not in FALSE) == stored_value
    return stored_value is not None and fold(str(sent_value)) == fold(str(stored_value))
