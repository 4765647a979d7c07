"""Reads, checks and applies the members of a Group in a body or PATCH without SCIM models, so that 10,000 are cheap."""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from scim2_models import (
    InvalidPathException,
    InvalidValueException,
    MutabilityException,
    NoTargetException,
    Path,
    ScimFilter,
)
from scim2_models.path import (
    CompareOperator,
    Comparison,
    FilterNode,
    LogicalExpr,
    LogicalOperator,
    Not,
    ValuePath,
)

from records.accounts.role_members import DesiredMembers
from records.sites.text import normalise, read_uuid
from scim.declared import LONGEST_NAME, MOST_NAMED, comparisons
from scim.schemas import GROUP, Member, bind
from scim.wording import by_lower_name, id_in

OPS = ("add", "replace", "remove")
_PARTS = frozenset(("value", "display", "type", "$ref"))
"""The sub-attributes of a member."""

Entry = dict[str, Any]
Loader = Callable[[set[uuid.UUID] | None], list[Entry]]
"""Reads the group's members with these ids, or all members for None."""


def take_members(body: dict[str, object]) -> tuple[dict[str, Any], bool, Any]:
    """Return the body without `members`, whether it was present, and its value; null counts as absent."""
    other_attributes, is_present, value = {}, False, None
    for name, item in body.items():
        if is_members(name):
            is_present, value = item is not None, item
        else:
            other_attributes[name] = item
    return other_attributes, is_present, value


def is_members(name: str) -> bool:
    """Return whether an attribute name is `members`, with or without its schema and in any case."""
    return name.lower() in ("members", f"{GROUP}:members".lower())


class MemberDetails(NamedTuple):
    """What an entry of `members` says besides the id: the display name, and the type in lower case; '' if absent."""

    display: str = ""
    kind: str = ""


def entries_of(value: object) -> dict[uuid.UUID, MemberDetails]:
    """Return the distinct ids in a `members` value with their display name and type; raises InvalidValueException."""
    members: dict[uuid.UUID, MemberDetails] = {}
    for text, details in map(_entry, _as_list(value)):
        key = _id(text)
        previous = members.get(key, details)  # An id that occurs twice is one member.
        members[key] = MemberDetails(details.display or previous.display, details.kind or previous.kind)
    return members


def desired_members(entries: dict[uuid.UUID, MemberDetails], **changes: Any) -> DesiredMembers:
    """Return the members to add, with their display names and with the types that were sent for them."""
    put = {key: details.display for key, details in entries.items()}
    users = {key: details.kind == "user" for key, details in entries.items() if details.kind}
    return DesiredMembers(put=put, users=users, **changes)


def notes_on_members(values: Sequence[object]) -> Iterator[str]:
    """Yield sentences for the log about the parts of `members` values that have no effect."""
    entries = [entry for value in values for entry in _as_list(value) if isinstance(entry, dict)]
    names = {name for entry in entries for name in entry}
    if unread := sorted(name for name in names if name.lower() not in _PARTS):
        unread_text = ", ".join(f"members.{name[:LONGEST_NAME]}" for name in unread[:MOST_NAMED])
        yield f"Ignored, because the schemas do not declare it: {unread_text}."
    if any(_refers_elsewhere(by_lower_name(entry)) for entry in entries):
        yield "Ignored, because value names the member: members.$ref."


def _refers_elsewhere(entry: Entry) -> bool:
    key, reference = entry.get("value"), entry.get("$ref")
    has_both = isinstance(key, str) and isinstance(reference, str) and key and reference
    return bool(has_both) and id_in(reference).lower() != str(key).lower()


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def member_ids_in(value: object) -> set[uuid.UUID]:
    """Return the ids of the members to remove; a value that is not an id cannot match a member and is left out."""
    return {key for text, _ in map(_entry, _as_list(value)) if (key := read_uuid(text))}


def _entry(item: object) -> tuple[str, MemberDetails]:
    """Return the id in a member's entry with its display name and type; raises InvalidValueException."""
    if isinstance(item, str):
        return item, MemberDetails()
    if not isinstance(item, dict):
        raise InvalidValueException(detail="A member is an object with a value.")
    attributes = by_lower_name(item)
    value, reference, display = attributes.get("value"), attributes.get("$ref"), attributes.get("display")
    if value is None and isinstance(reference, str):
        value = id_in(reference)
    kind = str(attributes.get("type") or "").lower()
    if kind not in ("", "user", "group"):
        raise InvalidValueException(detail="members.type is User or Group.")
    if display is not None and not isinstance(display, str):
        raise InvalidValueException(detail="members.display must be text.")
    if display and len(display) > 255:
        raise InvalidValueException(detail="members.display is longer than 255 characters.")
    if not isinstance(value, str):
        raise InvalidValueException(detail="A member needs a value, which is an id.")
    return value, MemberDetails(normalise(display or ""), kind)


def _id(value: str) -> uuid.UUID:
    key = read_uuid(value)
    if key is None:
        raise InvalidValueException(detail=f"No member has the id {value[:100]!r}.")
    return key


@dataclass(frozen=True, slots=True)
class MemberOperation:
    """One operation on the members: its kind, its value and the entries that it selects."""

    op: str
    value: object
    selection: FilterNode | None = None
    sub_attribute: str | None = None

    def puts(self) -> set[uuid.UUID]:
        """Return the ids that the operation's value adds."""
        if self.selection is not None or self.op == "remove" or self.value is None:
            return set()
        return set(entries_of(self.value))

    def about(self) -> set[uuid.UUID] | None:
        """Return the ids that the operation names or selects, or None when that depends on the present members."""
        if self.selection is not None:
            return _ids_of(self.selection)
        if self.value is None:
            return set()
        return member_ids_in(self.value) if self.op == "remove" else set(entries_of(self.value))


def _ids_of(node: FilterNode) -> set[uuid.UUID] | None:
    """Return the only ids that can match the filter, or None when any id could match."""
    if isinstance(node, Comparison) and node.op == CompareOperator.eq and node.attr_path.attr.lower() == "value":
        return {key} if (key := read_uuid(node.value)) else set()
    if isinstance(node, LogicalExpr):
        id_sets = [_ids_of(term) for term in node.terms]
        known_sets = [ids for ids in id_sets if ids is not None]
        if node.op == LogicalOperator.and_:
            return min(known_sets, key=len) if known_sets else None
        return set().union(*known_sets) if len(known_sets) == len(id_sets) else None
    return None


def split_operations(operations: list[object]) -> tuple[list[MemberOperation], list[Any]]:
    """Return the operations on members, and the others unchanged; raises the SCIM error for a malformed one."""
    member_operations: list[MemberOperation] = []
    other_operations = []
    for operation in operations:
        on_members, unchanged_operations = _split(operation)
        member_operations += on_members
        other_operations += unchanged_operations
    return member_operations, other_operations


def _split(operation: object) -> tuple[list[MemberOperation], list[Any]]:
    if not isinstance(operation, dict):
        return [], [operation]
    attributes = by_lower_name(operation)
    op, path, value = str(attributes.get("op", "")).lower(), attributes.get("path"), attributes.get("value")
    if op not in OPS or not (path is None or isinstance(path, str)):
        return [], [operation]
    if path:
        head = path.strip().partition("[")[0].rpartition(":")[2] if "[" in path else path.strip().rpartition(":")[2]
        if head.partition(".")[0].lower() != "members":
            return [], [operation]
        return [_on_path(op, path.strip(), value)], []
    if not isinstance(value, dict) or op == "remove":
        return [], [operation]
    other_values = {name: item for name, item in value.items() if not is_members(name)}
    member_operations = [
        MemberOperation(op, [] if item is None else item)
        for name, item in value.items()
        if is_members(name) and not (item is None and op == "add")
    ]
    return member_operations, [{**operation, "value": other_values}] if other_values or not member_operations else []


_ONE_MEMBER = re.compile(
    r'members\[\s*value\s+eq\s+"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"\s*\]', re.IGNORECASE
)


def _on_path(op: str, path: str, value: object) -> MemberOperation:
    if op == "remove" and value is None and (match := _ONE_MEMBER.fullmatch(path)):
        # Directories send a thousand of these paths in one request, and each of them names an id only.
        return MemberOperation(op, [{"value": match[1]}])
    if not is_members(path):
        node = bind(Path, "Group")(path).ast
        if isinstance(node, ValuePath):
            if node.sub_attr and node.sub_attr.lower() not in _PARTS:
                raise InvalidPathException(path=path)
            filter_class: Any = ScimFilter[Member]  # type: ignore[type-var]
            selection = filter_class(str(node.val_filter))
            for term in comparisons(node.val_filter):
                selection.resolve(term.attr_path)  # An attribute that members do not have is refused.
            return MemberOperation(op, value, _with_own_ids(node.val_filter), node.sub_attr)
        if op == "remove" or "." in path:
            raise MutabilityException(attribute=path, detail=f"'{path}' is immutable; add or remove whole members.")
        raise InvalidPathException(path=path)
    if op == "add" and value is None:
        raise InvalidValueException(detail="An add needs a value.")
    return MemberOperation(op, value if value is not None or op == "remove" else [])


def _with_own_ids(node: FilterNode) -> FilterNode:
    """Return the filter with its ids in canonical form, because case does not matter in a member's id."""
    if isinstance(node, LogicalExpr):
        return replace(node, terms=tuple(_with_own_ids(term) for term in node.terms))
    if isinstance(node, Not):
        return replace(node, expr=_with_own_ids(node.expr))
    if isinstance(node, Comparison) and node.attr_path.attr.lower() == "value" and (key := read_uuid(node.value)):
        return replace(node, value=str(key))
    return node


@dataclass
class Membership:
    """The members that a PATCH concerns, and their state while its operations are applied one after the other."""

    load: Loader
    visible_roles: Callable[[set[uuid.UUID]], set[uuid.UUID]]
    before: dict[uuid.UUID, Entry] = field(default_factory=dict)
    current: dict[uuid.UUID, Entry] = field(default_factory=dict)
    removed_ids: set[uuid.UUID] = field(default_factory=set)
    groups: set[uuid.UUID] = field(default_factory=set)
    exact: bool = False

    def apply(self, operations: Sequence[MemberOperation]) -> DesiredMembers:
        """Apply the operations in order and return the result; members are read only when an operation has a filter."""
        if any(operation.selection is not None for operation in operations):
            self._read(operations)
        for operation in operations:
            self._apply(operation)
        put = {
            key: MemberDetails(entry.get("sent_display", ""), entry.get("kind", ""))
            for key, entry in self.current.items()
            if self.exact or key not in self.before or entry.get("sent_display") or entry.get("kind")
        }
        return desired_members(put, drop=self.removed_ids - self.current.keys(), exact=self.exact)

    def _read(self, operations: Sequence[MemberOperation]) -> None:
        """Read the members that the operations can touch."""
        about = [operation.about() for operation in operations]
        id_sets = [ids for ids in about if ids is not None]
        members = self.load(set().union(*id_sets) if len(id_sets) == len(about) else None)
        self.before = {uuid.UUID(entry["value"]): entry for entry in members}
        self.current = dict(self.before)
        # A filter may test the type of members that an earlier operation of this request added.
        self.groups = self.visible_roles({key for operation in operations for key in operation.puts()})

    def _apply(self, operation: MemberOperation) -> None:
        if operation.selection is not None:
            self._select(operation, operation.selection)
        elif operation.op == "remove":
            if operation.value is None:
                self._empty()
            else:
                self._remove(member_ids_in(operation.value))
        else:
            if operation.op == "replace":
                self._empty()
            self._put(entries_of(operation.value))

    def _empty(self) -> None:
        self.current, self.exact = {}, True

    def _remove(self, keys: Iterable[uuid.UUID]) -> None:
        for key in keys:
            self.current.pop(key, None)
            self.removed_ids.add(key)

    def _put(self, entries: dict[uuid.UUID, MemberDetails]) -> None:
        for key, details in entries.items():
            new = {"value": str(key), "type": "Group" if key in self.groups else "User"}
            previous = self.current.get(key) or self.before.get(key) or new
            self.current[key] = {
                **previous,
                "sent_display": details.display or previous.get("sent_display", ""),
                "kind": details.kind,
            }

    def _select(self, operation: MemberOperation, selection: FilterNode) -> None:
        keys = list(self._matching(selection))
        if operation.op == "remove":
            if operation.sub_attribute:
                raise MutabilityException(
                    detail=f"'members.{operation.sub_attribute}' is immutable; remove the member."
                )
            self._remove(keys)
            return
        attributes = (
            {operation.sub_attribute: operation.value} if operation.sub_attribute else _member_in(operation.value)
        )
        for key in keys:
            _refuse_change(self.current[key], attributes)
        if not keys:
            ids = _ids_of(selection)
            if not ids or operation.sub_attribute:
                raise NoTargetException(detail="No member matches the path filter.")
            for key in ids:
                self._put(_entry_of(key, attributes))

    def _matching(self, selection: FilterNode) -> Iterator[uuid.UUID]:
        filter_class: Any = ScimFilter[Member]  # type: ignore[type-var]
        member_filter = filter_class(selection)
        ids = _ids_of(selection)
        # Members whose ids the filter names are looked up; all members are tested only if any id could match.
        for key in list(self.current) if ids is None else [key for key in ids if key in self.current]:
            entry = self.current[key]
            member = Member(
                value=entry["value"],
                display=entry.get("sent_display") or entry.get("display"),
                type=entry.get("type"),
                ref=entry.get("$ref"),
            )
            if member_filter.match(member):
                yield key


def _member_in(value: object) -> Entry:
    """Return what a value says of one member, without nulls, which count as absent; raises InvalidValueException."""
    member = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(member, dict):
        raise InvalidValueException(detail="The value for a member must be an object.")
    return {name: part for name, part in by_lower_name(member).items() if part is not None}


def _entry_of(key: uuid.UUID, attributes: Entry) -> dict[uuid.UUID, MemberDetails]:
    """Return the entry for the id that a path names; raises InvalidValueException when its value names another."""
    entries = entries_of({"value": str(key), **attributes})
    if entries.keys() != {key}:
        raise InvalidValueException(detail="The value names another member than the path.")
    return entries


def _refuse_change(entry: Entry, attributes: Entry) -> None:
    """Raise MutabilityException when a value differs from the stored one, because sub-attributes are immutable.

    Case does not matter in an id or a type, and a reference says the id that it ends with. Names that no schema
    declares are ignored.
    """
    stored_entry = {**entry, "display": entry.get("sent_display") or entry.get("display"), "$ref": entry.get("value")}
    for name, value in attributes.items():
        part = name.lower()
        if part in _PARTS and _comparable(part, value) != _comparable(part, stored_entry.get(part)):
            raise MutabilityException(detail=f"'members.{name}' is immutable; remove the member and add another.")


def _comparable(part: str, value: object) -> object:
    """Return the form in which a part of a member is compared."""
    if part == "display":
        return normalise(value) if isinstance(value, str) else value
    return id_in(value).lower()
