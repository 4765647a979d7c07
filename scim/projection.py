"""Selects the attributes that an answer carries: applies attributes and excludedAttributes to a finished document."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from scim.declared import declared_names
from scim.filter_texts import qualified_name
from scim.requests import Query
from scim.schemas import EXTENSIONS, GROUP, ON_REQUEST, USER

_ALWAYS = ("schemas", "id")
_CORE = {"User": USER.lower(), "Group": GROUP.lower()}

Choice = dict[str, dict[str, set[str]]]
"""Maps a schema in lower case ('' for the core one) to attributes and their sub-attributes; '*' means all of them."""


@dataclass(frozen=True, slots=True)
class Projection:
    """The attributes that one request chose for a resource type; names in any case, with or without a schema URN."""

    kind: str
    attributes: Choice = field(default_factory=dict)
    excluded_attributes: Choice = field(default_factory=dict)
    chooses: bool = False
    omits_on_request: bool = False

    @classmethod
    def of(cls, kind: str, query: Query, *, omits_on_request: bool = False) -> "Projection":
        """Return the query's projection; `omits_on_request` leaves out the attributes that are returned on request."""
        return cls(
            kind,
            _choice(kind, query.attributes),
            _choice(kind, query.excluded_attributes),
            bool(query.attributes),
            omits_on_request,
        )

    def holds(self, name: str) -> bool:
        """Return whether a core attribute will be part of the answer; if not, it need not be read."""
        key = name.lower()
        if self.chooses:
            attributes = self.attributes.get("", {})
            return key in attributes or "*" in attributes
        return "*" not in self.excluded_attributes.get("", {}).get(key, ())

    def apply(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the document with the attributes that were asked for; it always has id and schemas."""
        if self.omits_on_request:
            document = self._without_on_request(document)
        if not self.chooses and not self.excluded_attributes:
            return document
        extensions = {urn.lower() for urn in EXTENSIONS[self.kind]}
        result: dict[str, Any] = {}
        for name, value in document.items():
            key = name.lower()
            if key in _ALWAYS:
                result[name] = value
            elif key in extensions:
                inner = {
                    sub: selection
                    for sub, item in value.items()
                    if (selection := self._choose(key, sub.lower(), item)) is not None
                }
                if inner:
                    result[name] = inner
            elif (selection := self._choose("", key, value)) is not None:
                result[name] = selection
        if "schemas" in result:
            result["schemas"] = [urn for urn in result["schemas"] if urn.lower() not in extensions or urn in result]
        return result

    def _without_on_request(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the document without attributes that are returned on request, unless the query names them."""
        result = dict(document)
        for urn, path in ON_REQUEST:
            head, _, sub = path.partition(".")
            sub_attributes = self.attributes.get(urn.lower(), {}).get(head.lower(), ())
            if urn not in result or (sub.lower() if sub else "*") in sub_attributes:
                continue
            result[urn] = inner = dict(result[urn])
            if not sub:
                inner.pop(head, None)
            elif head in inner:
                inner[head] = {name: value for name, value in inner[head].items() if name != sub}
        return result

    def _choose(self, schema: str, name: str, value: object) -> Any:
        if self.chooses:
            attributes = self.attributes.get(schema, {})
            subs = attributes.get(name) or attributes.get("*")
            if subs is None:
                return None
            return value if "*" in subs else _subs(value, subs.__contains__)
        left_out = self.excluded_attributes.get(schema, {})
        subs = left_out.get(name) or left_out.get("*") or set()
        if "*" in subs:
            return None
        return _subs(value, lambda sub: sub not in subs) if subs else value


def _subs(value: object, keep: Callable[[str], bool]) -> object:
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if keep(name.lower())} or None
    if isinstance(value, list):
        if not all(isinstance(item, dict) for item in value):
            return value
        return [part for item in value if (part := _subs(item, keep))]
    return value


def undeclared_names(kinds: Iterable[str], query: Query) -> list[str]:
    """Return the names in attributes and excludedAttributes that the schemas of none of these kinds declare."""
    names = dict.fromkeys((*query.attributes, *query.excluded_attributes))
    return [name for name in names if not any(_place(kind, name) for kind in kinds)]


def _choice(kind: str, names: tuple[str, ...]) -> Choice:
    choice: Choice = {}
    for name in names:
        if place := _place(kind, name):
            schema, attribute, sub = place
            choice.setdefault(schema, {}).setdefault(attribute, set()).add(sub)
    return choice


def _place(kind: str, name: str) -> tuple[str, str, str] | None:
    """Return the schema, attribute and sub-attribute that a name stands for, or None if they are not declared.

    They are in lower case, with '' for the core schema and '*' for all attributes or sub-attributes.
    """
    key = qualified_name(kind, name).lower()
    schemas = declared_names(kind)
    if key == _CORE[kind] or (key and key in schemas):
        return key if key in schemas else "", "*", "*"
    urn, _, path = key.rpartition(":")
    schema = "" if urn == _CORE[kind] else urn
    attribute, dot, sub = path.partition(".")
    subs = schemas.get(schema, {}).get(attribute)
    if subs is None or (dot and sub not in subs):
        return None
    return schema, attribute, sub or "*"
