"""Writes the provisioning log: request lines and bodies without personal data, and outcomes in plain words."""

import datetime
import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote_plus

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from records.accounts.employee_facts import REMOVED_NAMES
from records.history.models import Change
from records.history.statements import new_row
from records.history.trail import now
from records.operations.calls import buffer
from scim.callers import Caller
from scim.models import ProvisioningCall
from scim.wording import id_in, wire_name

logger = logging.getLogger(__name__)

RETENTION = datetime.timedelta(days=30)
PRUNE_EVERY = 3_600.0
"""Seconds between two deletions of old entries by one process; the first call after its start also deletes."""
LONGEST_BODY = 4_000
DRY_RUN = "Dry run: nothing was stored. "

_PUBLIC_KEYS = {
    "op",
    "path",
    "schemas",
    "type",
    "primary",
    "active",
    "resourcetype",
    "startindex",
    "count",
    "id",
    "$ref",
}
"""Keys whose values do not identify a person."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?')
_VALUE = re.compile(
    r"(?<!nothing that )(?<!entry whose )(?<!no value of )(?<!attribute )'[^']*'"
    r"(?! is not an attribute| is read-only| is immutable| is a complex| holds sub-| has no sub-| is required)"
)
"""Text in single quotes that may be a value; attributes are quoted too, and the log names them."""
_IDS = re.compile(r"^[0-9a-f-]{36}$", re.IGNORECASE)
_OPERAND = re.compile(r"(\b(?:eq|ne|co|sw|ew|gt|ge|lt|le)\s+)[^\s()\[\]\"]+", re.IGNORECASE)
_RESOURCES = ("accounts.User", "accounts.Role", "employees.Employee")
_UNSEEN = ("home_site", "made_by_directory", "site_sequence_id", "user")
"""Columns that a directory neither sends nor reads."""
_OUTCOMES = {
    200: "Answered.",
    201: "Created.",
    204: "Done.",
    304: "Unchanged since the caller's version.",
}


class _Sweeps:
    """When this process last deleted old entries. The interval is a time, so the number of calls does not matter."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: float | None = None

    def is_due(self) -> bool:
        """Return whether a deletion is due; if so, record the present time as the last one."""
        moment = self._clock()
        if self._last is not None and moment - self._last < PRUNE_EVERY:
            return False
        self._last = moment
        return True


_sweeps = _Sweeps()


def entry(
    request: HttpRequest,
    response: HttpResponse,
    *,
    caller: Caller | None,
    body: object,
    changes: Iterable[Change],
    duration_ms: int,
    rolled_back: bool = False,
) -> ProvisioningCall | None:
    """Return the log entry for one call of a directory.

    `rolled_back` says that the call was a write with a dry-run token. Returns None for a call without a valid token, so
    that an outsider cannot fill the log.
    """
    if caller is None:
        return None
    request_id = getattr(request, "request_id", "")
    text = outcome(response, changes, caller.notes, request.method or "")
    if response.status_code == 201 and not rolled_back:
        # A long text is cut before the id, by which the log is searched.
        text = f"{text[:950]} Id: {id_in(response['Location'])}."
    return new_row(
        ProvisioningCall,
        directory_id=caller.directory.pk,
        token_id=caller.token_id,
        token_name=caller.token_name,
        method=(request.method or "")[:10],
        line=request_line(request),
        status=response.status_code,
        outcome=f"{DRY_RUN if rolled_back else ''}{text}"[:1000],
        body=masked_body(body),
        request_id=uuid.UUID(request_id) if _IDS.match(request_id) else uuid.uuid4(),
        duration_ms=duration_ms,
    )


def keep(entries: Sequence[ProvisioningCall]) -> None:
    """Write entries in one statement; a call never fails because its entry cannot be written.

    In the server's workers, the entry of an answered call waits up to a second and is written together with others. A
    crash can lose it, but the history of what the call changed is safe: it was written with the change. The entry of a
    call that the database did not serve waits until it does, so that its caller does not wait for the database twice.
    """
    can_wait = len(entries) == 1 and (entries[0].status < 400 or entries[0].status == 503)
    if can_wait and buffer.put_aside(entries[0], _write):
        return
    try:
        if entries:
            _write(entries)
    except DatabaseError as error:
        logger.error("The provisioning log could not be written.", exc_info=error)


def _write(entries: Sequence[ProvisioningCall]) -> None:
    """Delete entries older than 30 days once an hour, then write all entries or none; raises DatabaseError."""
    if _sweeps.is_due():
        prune()
    if len(entries) == 1:
        entries[0].save(force_insert=True)
    else:
        ProvisioningCall.objects.bulk_create(entries, batch_size=500)


def prune() -> int:
    """Delete the entries older than 30 days and return how many there were."""
    return ProvisioningCall.objects.filter(at__lt=now() - RETENTION).delete()[0]


def request_line(request: HttpRequest) -> str:
    """Return the path and query, with every compared value replaced by a mark."""
    query = request.META.get("QUERY_STRING", "")
    line = f"{request.path}?{masked_filter(unquote_plus(query))}" if query else request.path
    if not line.isprintable():
        line = "".join(character if character.isprintable() else "?" for character in line)
    return line[:500]


def masked_filter(text: str) -> str:
    """Return a filter or path with its strings replaced by `"…"`, except strings that are ids."""

    def mask(match: re.Match[str]) -> str:
        inner = match[0].strip('"')
        return match[0] if _IDS.match(inner) or inner.lower() in ("work", "home", "true", "false") else '"…"'

    parts = re.split(r"(\"(?:[^\"\\]|\\.)*\"?)", text)
    return "".join(_STRING.sub(mask, part) if i % 2 else _OPERAND.sub(r"\1…", part) for i, part in enumerate(parts))


def masked_body(body: object) -> str:
    """Return the shape of a body: its keys, operations, booleans and ids, with `…` in place of every other value."""
    if body is None:
        return ""
    return json.dumps(_mask(body, "", 0), ensure_ascii=False)[:LONGEST_BODY]


def _mask(value: object, key: str, depth: int) -> object:
    if depth > 10:
        return "…"
    if isinstance(value, dict):
        return {str(name)[:200]: _mask(item, str(name).lower(), depth + 1) for name, item in list(value.items())[:50]}
    if isinstance(value, list):
        items = [_mask(item, key, depth + 1) for item in value[:20]]
        return [*items, f"… {len(value) - 20} more"] if len(value) > 20 else items
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        if key == "path":
            return masked_filter(value)[:200]
        if key in _PUBLIC_KEYS or _IDS.match(value) or value.lower() in ("true", "false", ""):
            return value[:200]
    return "…"


def outcome(response: HttpResponse, changes: Iterable[Change], notes: Sequence[str] = (), method: str = "") -> str:
    """Return the outcome in plain words: why the call was refused, or what it changed and what it did not carry out."""
    if response.status_code >= 400:
        try:
            detail = json.loads(response.content).get("detail", "")
        except ValueError:
            detail = ""
        return "Refused: " + _STRING.sub('"…"', _VALUE.sub("'…'", detail))
    all_changes = list(changes)
    if all_changes:
        names = ", ".join(dict.fromkeys(name for change in all_changes for name in _changed_names(change)))
        done = f"{_verb(all_changes, method)}: {names}." if names else f"{_verb(all_changes, method)}."
        done += "".join(_members(change) for change in all_changes)
    elif method in ("PUT", "PATCH") and response.status_code in (200, 204):
        done = "Nothing changed." if notes else "Nothing changed: everything was as asked for already."
    else:
        done = _OUTCOMES.get(response.status_code, "Answered.")
    return " ".join((done, *notes))


def _verb(changes: Sequence[Change], method: str) -> str:
    if method == "DELETE":
        return "Deleted, which changed"
    if method == "POST":
        is_new = any(change.operation in ("AddUser", "AddRole") for change in changes)
        return "Created" if is_new else "Matched what was there already, and changed"
    return "Changed"


def _changed_names(change: Change) -> Iterator[str]:
    """Yield the attributes of Users and Groups that a change concerns, by the names that a directory knows."""
    if change.model not in _RESOURCES:
        if change.operation.startswith("Revoke"):
            yield "credentials revoked"
        return
    for field in change.fields:
        name, old, new = field["field"], field["old"], field["new"]
        if name == "directory_attributes":
            yield from _attribute_names(old or {}, new or {})
        elif name not in _UNSEEN and not (old is None and new is False and name != "is_active"):
            yield wire_name(name)


def _attribute_names(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the attributes that differ among those that an account keeps as they were sent."""
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if name == REMOVED_NAMES:
            yield from sorted(path.rpartition(":")[2] for path in {*(before or ())} ^ {*(after or ())})
        elif isinstance(before or after, dict):
            start = "" if ":" in name else f"{name}."
            for part in sorted({*(before or {}), *(after or {})}):
                if (before or {}).get(part) != (after or {}).get(part):
                    yield start + part
        elif before != after:
            yield name


def _members(change: Change) -> str:
    """Return the sentence with the numbers of members added and removed, or '' when there are none."""
    for field in change.fields:
        if field["field"] == "members":
            return f" Members: {len(field['new'] or ())} added, {len(field['old'] or ())} removed."
    return ""
