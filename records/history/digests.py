"""The digest of a Change: what it covers, and how each value can be erased while the chain stays provable.

A digest of version 2 (DECISIONS 13.4) is the SHA-256 of lines joined by a line feed:

    2
    <hash of the change before it>
    <number>
    <facts: one JSON array with the chain, the site, the time, the author and so on; no values>
    <digest of the first value>
    <digest of the second value> …

The values are the record's printed name, the reason, and the old and the new value of each field, in this order. The
digest of a value is the SHA-256 of its salt, a line feed and its JSON text; an empty value has no salt and no digest.
The lines are plain text, so that a statement can also compute the digest with PostgreSQL's `sha256()`, from a number,
a previous hash and values that only the database knows.

`Change.salts` holds one text for each value: its salt, or an empty text, or (once the value is erased) "=" and its
digest. Version 1 covered all values unsalted and did not cover the site; it is still verified, but no longer written.
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, Protocol, TypedDict

import orjson
from django.core.serializers.json import DjangoJSONEncoder

VERSION = 2
EMPTY = (None, "")
"""Values that need no salt."""
SALT_BYTES = 12
SALT_LENGTH = 16
ERASED = "erased"
"""The key of the object that replaces an erased value: `{"erased": "<keyed digest>"}`."""
ERASED_FROM = "history"
"""The field name in the change of an erasure: `row` is the number of a change that lost values, `new` its digest."""
ERASED_TEXT = re.compile(r"\[erased [0-9a-f]{16}\]")
"""The text that replaces an erased reason."""

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATETIME
_plain = DjangoJSONEncoder().default


class FieldChange(TypedDict):
    """One changed field of a Change: its name with the old and the new value, which are plain JSON values.

    A reference is `{"id", "name"}`. For a child row, `row` is its Id. If the row was edited, `field` is
    `relation.field`. If it was added or removed, `field` is the relation, and the values are the row's content or None.
    """

    field: str
    row: NotRequired[str]
    old: Any
    new: Any


Side = Literal["old", "new"]
SIDES: tuple[Side, Side] = ("old", "new")


class ChangeLike(Protocol):
    """The fields that a digest covers: those of a Change, or of a row of its table, whose time is already a text."""

    digest_version: int
    chain: Any
    site_id: Any
    number: int
    at: Any
    author_id: Any
    author_name: str
    channel: str
    credential: str
    request_id: str
    operation: str
    reason: str
    model: str
    record_id: Any
    record_name: str
    lowest_role: str
    fields: list[FieldChange]
    salts: list[str]
    previous_hash: str


def values_of(change: ChangeLike) -> list[object]:
    """Return the values that have digests of their own: printed name, reason, old and new value of each field."""
    values: list[object] = [change.record_name, change.reason]
    for entry in change.fields:
        values += (entry.get("old"), entry.get("new"))
    return values


def new_salts(values: Sequence[object]) -> list[str]:
    """Return a fresh salt (16 characters, 96 bits) for each value, and an empty text for an empty one."""
    text = base64.urlsafe_b64encode(os.urandom(SALT_BYTES * len(values))).decode()
    return [
        "" if value in EMPTY else text[at : at + SALT_LENGTH]
        for at, value in zip(range(0, len(text), SALT_LENGTH), values, strict=True)
    ]


def moment(at: datetime | str) -> str:
    """Return a time as the digest covers it: ISO 8601 with milliseconds and the offset +00:00."""
    return at if isinstance(at, str) else at.isoformat(timespec="milliseconds")


def canonical(value: object) -> bytes:
    """Return the JSON text (UTF-8, sorted keys, no blanks) from which a value's digest is computed."""
    return orjson.dumps(value, _plain, _OPTIONS)


def value_digest(salt: str, value: object) -> str:
    """Return a value's digest (hex): the salted digest, the stored digest of an erased value, or an empty text."""
    if not salt:
        if value in EMPTY:
            return ""
    elif salt[0] == "=":
        return salt[1:]
    return hashlib.sha256(b"%b\n%b" % (salt.encode(), orjson.dumps(value, _plain, _OPTIONS))).hexdigest()


def is_erased(value: object) -> bool:
    """Return whether this is what replaced an erased value."""
    if isinstance(value, str):
        return bool(ERASED_TEXT.fullmatch(value))
    return isinstance(value, dict) and value.keys() == {ERASED}


def facts(change: ChangeLike) -> bytes:
    """Return the JSON array of what a digest of version 2 covers besides number, previous hash and values."""
    return canonical(
        [
            change.chain,
            change.site_id or "",
            moment(change.at),
            change.author_id or "",
            change.author_name,
            change.channel,
            change.credential,
            change.request_id,
            change.operation,
            change.model,
            change.record_id,
            change.lowest_role,
            [[entry["field"], entry.get("row", "")] for entry in change.fields],
        ]
    )


def lines_of(change: ChangeLike) -> str:
    """Return the lines of a digest of version 2 that follow the number."""
    pairs = zip(change.salts, values_of(change), strict=True)
    digests = ["" if value is None and not salt else value_digest(salt, value) for salt, value in pairs]
    return "\n".join([facts(change).decode(), *digests])


def digest(change: ChangeLike, lines: str = "") -> str:
    """Return the SHA-256 (hex) of the change, in the change's own digest version; `lines` are its `lines_of`."""
    if change.digest_version == 1:
        return _first_version(change)
    text = f"{change.digest_version}\n{change.previous_hash}\n{change.number}\n{lines or lines_of(change)}"
    return hashlib.sha256(text.encode()).hexdigest()


def _first_version(change: ChangeLike) -> str:
    content = {
        "chain": str(change.chain),
        "number": change.number,
        "at": moment(change.at),
        "author": [str(change.author_id or ""), change.author_name],
        "door": [change.channel, change.credential, change.request_id],
        "operation": change.operation,
        "reason": change.reason,
        "record": [change.model, str(change.record_id), change.record_name],
        "fields": change.fields,
        "previous": change.previous_hash,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), cls=DjangoJSONEncoder)
    return hashlib.sha256(text.encode()).hexdigest()
