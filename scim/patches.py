"""Reads the operations of a PATCH in every form that directories send, checks them and applies them."""

from functools import lru_cache
from typing import Any

from scim2_models import Context, InvalidPathException, InvalidValueException, NoTargetException, PatchOp, Path

from scim.declared import MOST_NAMED, is_declared, undeclared_attributes
from scim.differences import is_read_only
from scim.filter_texts import clean_path, colon_after_schema, schema_before
from scim.log import masked_filter
from scim.members import is_members
from scim.representations import Representation
from scim.requests import unread_names
from scim.schemas import EXTENSIONS, GROUP, MODELS, PATCH_OP, POLICY, USER, bind
from scim.wording import FALSE, by_lower_name

MOST_OPERATIONS = 2_000
MOST_CHANGES = 500
"""How many operations besides those on members a PATCH may hold; each costs a walk over the whole resource."""
LONGEST_PATH = 2_000

_EXTENSIONS = {urn.lower() for urns in EXTENSIONS.values() for urn in urns}
_ROOT_SCHEMAS = {"User": USER.lower(), "Group": GROUP.lower()}


def operations_of(kind: str, body: dict[str, Any], notes: list[str]) -> list[Any]:
    """Return the operations of a PATCH in normal form.

    A colon separates the schema's URN from the attribute, and in a value without a path each key with a filter becomes
    an operation of its own. Raises InvalidValueException for a PATCH without operations or with too many, and for an
    operation without a value. Raises InvalidPathException for a path that no schema declares. A PATCH that deactivates
    a User is not refused for such a path; the operation is left out. `notes` receives a sentence for everything that is
    left out (DECISIONS 7.7, 13.8).
    """
    operations = by_lower_name(body).get("operations")
    if not isinstance(operations, list) or not operations:
        raise InvalidValueException(detail="Operations must be an array of one or more operations.")
    if len(operations) > MOST_OPERATIONS:
        raise InvalidValueException(detail=f"A PATCH can have at most {MOST_OPERATIONS} operations.")
    ignored_names = unread_names(body, ("schemas", "Operations"))
    changes = sum(_changes(kind, operation) for operation in operations)
    if changes > MOST_CHANGES:
        raise InvalidValueException(detail=f"A PATCH can change at most {MOST_CHANGES} attributes.")
    skipped_paths = ignored_names if kind == "User" and _switches_off(operations) else None
    result: list[Any] = []
    for operation in operations:
        if not isinstance(operation, dict):
            result.append(operation)
            continue
        ignored_names += unread_names(operation, ("op", "path", "value"))
        clean_operation = _clean_operation(kind, operation, skipped_paths, ignored_names)
        if clean_operation is None:
            continue
        if not clean_operation.get("path") and isinstance(clean_operation.get("value"), dict):
            result += _without_path(kind, clean_operation, ignored_names)
        else:
            result.append(clean_operation)
    note_ignored(ignored_names, notes)
    return result


def _changes(kind: str, operation: object) -> int:
    """Return how many attributes an operation, as it was sent, changes; members do not count."""
    attributes = by_lower_name(operation) if isinstance(operation, dict) else {}
    if _is_whole_resource(kind, attributes.get("path")) and isinstance(attributes.get("value"), dict):
        return len(attributes["value"])
    return 0 if kind == "Group" and is_members(str(attributes.get("path", "")).partition("[")[0].strip()) else 1


def note_ignored(names: list[str], notes: list[str]) -> None:
    """Add a sentence that names the undeclared attributes."""
    if names:
        text = ", ".join(masked_filter(name)[:80] for name in list(dict.fromkeys(names))[:MOST_NAMED])
        notes.append(f"Ignored, because the schemas do not declare it: {text}.")


def _switches_off(operations: list[Any]) -> bool:
    """Return whether the last operation on `active` sets it to false."""
    state = True
    for operation in operations:
        if not isinstance(operation, dict):
            continue
        attributes = by_lower_name(operation)
        if str(attributes.get("op", "")).lower() not in ("add", "replace"):
            continue
        path, value = attributes.get("path"), attributes.get("value")
        if not _is_whole_resource("User", path):
            value = {path: value} if isinstance(path, str) else {}
        for name, inner in value.items() if isinstance(value, dict) else ():
            if colon_after_schema(name.strip()).lower() in ("active", f"{USER}:active".lower()):
                state = str(_only_value(inner)).strip().lower() not in FALSE
    return not state


def _without_path(kind: str, operation: dict[str, Any], ignored_names: list[str]) -> list[dict[str, Any]]:
    """Return the operations for a value without a path: one for plain keys, and one for each key with a filter.

    Keys can be paths (`name.givenName`, `emails[type eq "work"].value`). `ignored_names` receives the names that no
    schema declares.
    """
    plain_values: dict[str, Any] = {}
    filtered_values: dict[str, Any] = {}
    for key, item in operation["value"].items():
        if not is_declared(kind, key):
            ignored_names.append(key)
            continue
        if (only := _only_value(item)) is not item and _takes_one_plain_value(kind, key):
            item = only
        if isinstance(item, dict | list) and "[" not in key:
            ignored_names += undeclared_attributes(kind, _in_its_schema(kind, key, item))
        (filtered_values if "[" in key else plain_values)[key] = item
    operations = [{**operation, "value": plain_values}] if plain_values or not filtered_values else []
    return operations + [{**operation, "path": key, "value": item} for key, item in filtered_values.items()]


def _in_its_schema(kind: str, key: str, item: Any) -> dict[str, Any]:
    """Return a body with the value at the place that a key names, such as `urn:…:User:manager.displayName`."""
    if key.lower() in _EXTENSIONS:
        return {key: item}
    urn, _, path = key.rpartition(":")
    for name in reversed(path.split(".")):
        item = {name: item}
    return item if urn.lower() in ("", _ROOT_SCHEMAS[kind]) else {urn: item}


def clean_schemas(schemas: object, urn: str) -> object:
    """Return the schemas with this URN spelt as it is declared; case does not matter in a URN (RFC 8141)."""
    if not isinstance(schemas, list):
        return schemas
    return [urn if isinstance(name, str) and name.lower() == urn.lower() else name for name in schemas]


def _clean_operation(
    kind: str, operation: dict[str, Any], skipped_paths: list[str] | None, ignored_names: list[str]
) -> dict[str, Any] | None:
    """Return an operation with its paths spelt as they are declared.

    Raises InvalidPathException for a path that no schema declares. If `skipped_paths` is a list, because the PATCH
    deactivates a User, the path is added to it instead, and the result is None. Raises InvalidValueException when the
    value is missing. `ignored_names` receives the names in the value that no schema declares below the path.
    """
    parts = by_lower_name(operation)
    path, value = parts.get("path"), parts.get("value")
    if isinstance(path, str):
        trimmed_path = path.strip()
        try:
            path = parts["path"] = _declared_path(kind, trimmed_path) or None
        except InvalidPathException:
            if skipped_paths is None:
                raise
            skipped_paths.append(trimmed_path)
            return None
    op = str(parts.get("op", "")).lower()
    if "value" not in parts and op in ("add", "replace"):
        raise InvalidValueException(detail="An add or replace operation needs a value; null or [] empties.")
    if path and isinstance(path, str):
        if op == "replace" and value in (None, []) and path.lower() in _EXTENSIONS:
            return {**parts, "path": None, "value": {path: None}}
        value = parts["value"] = _plain_value(kind, op, path, value)
        unread = _undeclared_below(kind, path, value)
        if unread is None and skipped_paths is None:
            raise InvalidValueException(detail=f"The value names nothing that '{path[:200]}' has.")
        ignored_names += [path] if unread is None else unread
        if unread is None:
            return None
    if isinstance(value, dict):
        parts["value"] = _clean_keys(kind, value, skipped_paths, is_full_path=not path)
    return parts


def _plain_value(kind: str, op: str, path: str, value: object) -> object:
    """Return the value for a path: a list of one as the value in it, and no value for a remove of a single value.

    The value of a remove says which entries of a list to remove, so for a list, an empty one removes none. Elsewhere
    the path alone says what to remove (RFC 7644, 3.5.2.2), and some directories repeat there what they take away.
    """
    if op == "remove" and not _holds_many(kind, path):
        return None if value == [] or _is_one_value(kind, path, value) else value
    only = _only_value(value)
    return only if only is not value and _takes_one_plain_value(kind, path) else value


def _is_one_value(kind: str, path: str, value: object) -> bool:
    """Return whether a value is plain, or is the object or list of one in which Microsoft's library sends it."""
    entry = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(entry, dict):
        return not isinstance(entry, list)
    has_value = _takes_one_plain_value(kind, path) or is_declared(kind, _below(path, "value"))
    return has_value and by_lower_name(entry).keys() <= {"value", "$ref"}


def _only_value(value: Any) -> Any:
    """Return the value in a list of one, `[{"value": "x"}]`, which is how Microsoft's library sends every value."""
    entry = by_lower_name(value[0]) if isinstance(value, list) and len(value) == 1 and _is_filled(value[0]) else {}
    return entry["value"] if "value" in entry and entry.keys() <= {"value", "$ref"} else value


def _takes_one_plain_value(kind: str, path: str) -> bool:
    """Return whether a path stands for one value that is not an object."""
    if kind == "Group" and is_members(path):
        return False
    bound_path = bind(Path, kind)(path)
    binding = bound_path.resolve()
    if binding is None or binding.target_is_multivalued or hasattr(binding.target_type, "model_fields"):
        return False
    return not binding.is_multivalued or bound_path.value_filter is not None


def _holds_many(kind: str, path: str) -> bool:
    """Return whether a path stands for a list of values, so that the value of a remove says which of them to remove."""
    if kind == "Group" and is_members(path.partition("[")[0].strip()):
        return True
    binding = bind(Path, kind)(path).resolve()
    return binding is not None and binding.target_is_multivalued


def _undeclared_below(kind: str, path: str, value: Any) -> list[str] | None:
    """Return the names in the objects of an operation's value that no schema declares below the path.

    They are ignored, since directories send names of their own. The result is None if an object has such names alone,
    because it would change nothing.
    """
    if kind == "Group" and is_members(path.partition("[")[0].strip()):
        return []  # `scim.members` reads these itself.
    undeclared_paths: list[str] = []
    for entry in value if isinstance(value, list) else [value]:
        names = [_below(path, name) for name in entry] if _is_filled(entry) else []
        unread = [name for name in names if not is_declared(kind, name)]
        if unread and len(unread) == len(entry):
            return None
        undeclared_paths += unread
    return undeclared_paths


def _is_filled(value: object) -> bool:
    return isinstance(value, dict) and bool(value)


def _clean_keys(
    kind: str, value: dict[str, Any], skipped_paths: list[str] | None, *, is_full_path: bool
) -> dict[str, Any]:
    """Return a value with keys in normal form. With a path, keys name sub-attributes; without one, they are paths."""
    result: dict[str, Any] = {}
    for key, item in value.items():
        try:
            result[_clean_path(kind, key, is_full_path=is_full_path)] = item
        except InvalidPathException:
            if skipped_paths is None:
                raise
            skipped_paths.append(key)
    return result


@lru_cache(256)
def _declared_path(kind: str, path: str) -> str:
    normal_path = _clean_path(kind, path)
    if _is_whole_resource(kind, normal_path):
        return ""
    if normal_path and not is_declared(kind, normal_path):
        raise InvalidPathException(path=path, detail=f"'{path[:200]}' is not an attribute of {kind}.")
    return normal_path


def without_read_only(kind: str, operations: list[Any], own_id: str) -> tuple[list[Any], list[Representation]]:
    """Return the operations without the read-only attributes in their values, and each of these as a body.

    Those who send back what they have read send these too, and what they read can be old. The id of another resource
    stays, because the operations may be meant for that one.
    """
    read_only_values: list[Representation] = []

    def writable_part(value: object, path: str) -> object:
        if kind == "Group" and is_members(path):
            return value
        if isinstance(value, list):
            return [writable_part(item, path) for item in value]
        if not isinstance(value, dict):
            return value
        writable = {}
        for key, item in value.items():
            name = _below(path, key)
            short_name = name[len(_ROOT_SCHEMAS[kind]) + 1 :] if name.lower().startswith(_ROOT_SCHEMAS[kind]) else name
            if is_read_only(short_name) and (short_name.lower() != "id" or str(item).lower() == own_id):
                read_only_values.append(_in_its_schema(kind, short_name.partition("[")[0], item))
            else:
                writable[key] = writable_part(item, name)
        return writable

    writable_operations = [
        {**operation, "value": writable_part(operation["value"], operation.get("path") or "")}
        if isinstance(operation, dict) and "value" in operation and isinstance(operation.get("path") or "", str)
        else operation
        for operation in operations
    ]
    return writable_operations, read_only_values


def _below(path: str, name: str) -> str:
    """Return the path of a name in the value at a path."""
    if not path:
        return name
    return f"{path}:{name}" if path.lower() in _EXTENSIONS else f"{path}.{name}"


def _clean_path(kind: str, path: str, *, is_full_path: bool = True) -> str:
    if len(path) > LONGEST_PATH:
        raise InvalidPathException(detail=f"A path is longer than {LONGEST_PATH} characters.")
    normal_path = clean_path(path)
    if is_full_path and kind == "User":
        normal_path = schema_before(normal_path)
    lower = normal_path.lower()
    for other_kind, urn in _ROOT_SCHEMAS.items():
        if other_kind != kind and (lower == urn or lower.startswith(f"{urn}:")):
            raise InvalidPathException(path=path, detail=f"'{path}' is an attribute of {other_kind}, not of {kind}.")
    return normal_path


def apply_patch(kind: str, document: Representation, operations: list[Any], schemas: object) -> Any:
    """Return the resource after the operations are applied to its document; raises the errors that RFC 7644 names."""
    model: Any = MODELS[kind]
    body: dict[str, Any] = {"Operations": operations}
    if schemas is not None:
        body["schemas"] = clean_schemas(schemas, PATCH_OP)
    with POLICY:
        resource = model.model_validate(document)
        _refuse_without_entries(kind, resource, operations)
        patch = bind(PatchOp, kind).model_validate(body, scim_ctx=Context.RESOURCE_PATCH_REQUEST)
        patch.patch(resource)
    return resource


def _refuse_without_entries(kind: str, resource: Any, operations: list[Any]) -> None:
    """Raise NoTargetException for a path into a list without entries, such as `roles.value` of a user without roles.

    Without a filter, such a path sets the sub-attribute of every entry. For an empty list
    the models would change nothing and report success.
    """
    earlier_fields: set[str] = set()
    for operation in operations:
        path = operation.get("path") if isinstance(operation, dict) else None
        if not isinstance(path, str) or (kind == "Group" and is_members(path.partition(".")[0])):
            continue
        bound_path = bind(Path, kind)(path)
        binding = bound_path.resolve()
        if binding is None or not binding.is_multivalued:
            continue
        adds = str(operation.get("op", "")).lower() in ("add", "replace") and operation.get("value") is not None
        empty = binding.field_name not in earlier_fields and not getattr(resource, binding.field_name, None)
        if adds and empty and binding.sub_field_name and bound_path.value_filter is None:
            raise NoTargetException(detail=f"There is no entry whose '{path[:200]}' could be set.")
        earlier_fields.add(binding.field_name)


def _is_whole_resource(kind: str, path: object) -> bool:
    """Return whether a path is left out, or is the schema of the resource itself, which stands for the resource."""
    return not path or (isinstance(path, str) and colon_after_schema(path.strip()).lower() in ("", _ROOT_SCHEMAS[kind]))
