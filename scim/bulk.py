"""Many writes in one request to /Bulk, each checked like a single call (RFC 7644, 3.7; DECISIONS 13.11)."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse

from scim.errors import ScimError, error_response
from scim.patches import note_ignored
from scim.representations import Representation
from scim.requests import parts_of, unread_names
from scim.wording import by_lower_name

MOST_OPERATIONS = 1_000
LARGEST_PAYLOAD = 1_048_576
BULK_RESPONSE = "urn:ietf:params:scim:api:messages:2.0:BulkResponse"

_METHODS = ("POST", "PUT", "PATCH", "DELETE")
_NAMES = ("method", "path", "bulkId", "version", "data")
_PATH = re.compile(r"/(?:Users|Groups)(?:/(?!\.search)[^/?#\s]+)?/?", re.IGNORECASE)
"""A path that an operation can have. A search is not a write, so it is not part of a bulk request."""
_PREFIX = "bulkid:"
_REFERENCE = re.compile(rf"{_PREFIX}([^\s\"\[\]/,]+)", re.IGNORECASE)
"""A reference within a path, a filter or an address."""
_ADDRESSES = ("path", "$ref")
"""The names whose texts can contain a reference."""
_KEYS = ("value", "manager", "members")
"""The names whose texts are a reference as a whole if they begin with the prefix, as members and managers are named."""

Send = Callable[[str, str, Any, str], HttpResponse]
"""Makes one call. Takes the method, the path below the mount, the body or None, and the version for If-Match or ''."""


@dataclass(slots=True)
class Operation:
    """One operation of a bulk request, with the bulkIds of the operations whose resources it refers to."""

    method: str
    path: str
    data: object
    bulk_id: str
    version: str
    references: set[str] = field(default_factory=set)


def operations_of(body: dict[str, object], notes: list[str]) -> tuple[list[Operation], int | None]:
    """Return the operations and the number of errors after which to stop, or None for no limit.

    `notes` receives a sentence about names that nothing reads. Raises ScimError: 400 for a malformed request, 413 for
    more operations than the ServiceProviderConfig allows.
    """
    ignored_names = unread_names(body, ("schemas", "failOnErrors", "Operations"))
    attributes = by_lower_name(body)
    entries, most_errors = attributes.get("operations"), attributes.get("failonerrors")
    if most_errors is not None and (
        isinstance(most_errors, bool) or not isinstance(most_errors, int) or most_errors < 1
    ):
        raise ScimError(400, "failOnErrors must be a whole number from 1.", "invalidValue")
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise ScimError(400, "Operations must be an array of one or more operations.", "invalidSyntax")
    if len(entries) > MOST_OPERATIONS:
        raise ScimError(413, f"A bulk request can have at most {MOST_OPERATIONS} operations.")
    ignored_names += [name for entry in entries for name in unread_names(entry, _NAMES)]
    note_ignored(ignored_names, notes)
    operations = [_operation(entry) for entry in entries]
    names = [operation.bulk_id for operation in operations if operation.bulk_id]
    if len(set(names)) != len(names):
        raise ScimError(400, "A bulkId is used twice.", "invalidSyntax")
    return operations, most_errors


def _operation(body: dict[str, Any]) -> Operation:
    """Return an operation; raises ScimError (400) when it is malformed."""
    parts = by_lower_name(body)
    texts = {name: parts.get(name) or "" for name in ("method", "path", "bulkid", "version")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ScimError(400, "method, path, bulkId and version of an operation are texts.", "invalidSyntax")
    operation = Operation(
        texts["method"].upper(), texts["path"].strip(), parts.get("data"), texts["bulkid"], texts["version"]
    )
    for _ in parts_of(operation.data):
        pass  # Too many levels are refused.

    def note(name: str) -> str:
        operation.references.add(name)
        return name

    _resolve_references(operation.path, note, "path")
    _resolve_references(operation.data, note)
    return operation


def run(operations: list[Operation], most_errors: int | None, send: Send, base: str) -> list[Representation]:
    """Make the calls and return their results, in the order in which the calls were made.

    An operation that refers to the resource of a later operation waits for that operation. An operation is answered 409
    when it refers to itself through others, or refers to a resource that was not created. Processing stops after
    `most_errors` errors; operations after that have no result. `base` is the address of the mount.
    """
    created_ids: dict[str, str] = {}
    results: list[Representation] = []
    errors = 0
    queue = list(operations)
    while queue:
        created_later = {operation.bulk_id for operation in queue if operation.method == "POST"}
        ready = next(
            (operation for operation in queue if not _waits(operation, created_later)),
            queue[0],
        )
        queue.remove(ready)
        result = _perform(ready, created_ids, send, base)
        results.append(result)
        errors += int(result["status"]) >= 400
        if most_errors is not None and errors >= most_errors:
            break
    return results


def _waits(operation: Operation, created_later: set[str]) -> bool:
    """Return whether the operation refers to the resource of another one that is still to come."""
    return any(name in created_later and name != operation.bulk_id for name in operation.references)


def _perform(operation: Operation, created_ids: dict[str, str], send: Send, base: str) -> Representation:
    """Make one call and return its result, which has a location unless the call is refused or a POST fails."""
    response, location = _refusal(operation, created_ids), ""
    if response is None:
        path, data = (
            _resolve_references(operation.path, created_ids.__getitem__, "path"),
            _resolve_references(operation.data, created_ids.__getitem__),
        )
        location = "" if operation.method == "POST" else f"{base}{path.rstrip('/')}"
        response = send(operation.method, path, None if operation.method == "DELETE" else data, operation.version)
    result: Representation = {"method": operation.method}
    if operation.bulk_id:
        result["bulkId"] = operation.bulk_id
    if location := response.get("Location", location):
        result["location"] = location
        if operation.method == "POST":
            created_ids[operation.bulk_id] = location.rpartition("/")[2]
    if version := response.get("ETag", ""):
        result["version"] = version
    result["status"] = str(response.status_code)
    if response.status_code >= 400:
        result["response"] = json.loads(response.content)
    return result


def _refusal(operation: Operation, created_ids: dict[str, str]) -> HttpResponse | None:
    """Return the reason for which an operation is refused without a call, or None when it can be made."""
    if operation.method not in _METHODS:
        return error_response(400, f"method must be one of {', '.join(_METHODS)}.", "invalidSyntax")
    if not _PATH.fullmatch(operation.path):
        return error_response(400, "path must name Users or Groups, such as /Users or /Groups/<id>.", "invalidPath")
    if operation.method == "POST" and not operation.bulk_id:
        return error_response(400, "A POST needs a bulkId.", "invalidSyntax")
    if unknown_ids := sorted(operation.references - created_ids.keys()):
        return error_response(409, f"No operation created a resource with the bulkId {unknown_ids[0][:100]}.")
    return None


def _resolve_references(value: object, id_of: Callable[[str], str], name: str = "") -> Any:
    """Return the value under a name of a body, in which each reference is replaced by the id that `id_of` returns.

    References are only where an id or a path belongs; in a title, for example, the text stays as it is.
    """
    if isinstance(value, str):
        if name in _ADDRESSES:
            return _REFERENCE.sub(lambda match: id_of(match[1]), value)
        is_reference = name in _KEYS and value.lower().startswith(_PREFIX)
        return id_of(value[len(_PREFIX) :]) if is_reference else value
    if isinstance(value, dict):
        return {key: _resolve_references(item, id_of, re.split("[:.]", key.lower())[-1]) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolve_references(item, id_of, name) for item in value]
    return value
