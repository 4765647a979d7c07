"""Lists the attributes that the schemas declare, so that an undeclared attribute is refused or named in a note."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from scim2_models import InvalidFilterException, InvalidPathException, Path, ScimFilter
from scim2_models.path import AttributeBinding, Comparison, FilterNode, LogicalExpr, Not, Present

from scim.schemas import MODELS, Group, User, bind

MOST_NAMED = 10
LONGEST_NAME = 80
_META = frozenset(("resourcetype", "created", "lastmodified", "location", "version"))
_COMMON = {name: frozenset[str]() for name in ("schemas", "id", "externalid")} | {"meta": _META}
_MEMBERS = re.compile(r"members(?:\[|$)", re.IGNORECASE)

Names = dict[str, frozenset[str]]
"""Attributes in lower case, each with its sub-attributes; a simple attribute has none."""


@cache
def declared_names(kind: str) -> dict[str, Names]:
    """Return the attributes that each schema of a resource type declares, by its lower-case URN ('': core schema)."""
    extensions = MODELS[kind].get_extension_models()
    names = {urn.lower(): _of_schema(extension.to_schema().model_dump()) for urn, extension in extensions.items()}
    core: Any = {"User": User, "Group": Group}[kind]
    return {**names, "": {**_COMMON, **_of_schema(core.to_schema().model_dump())}}


def _of_schema(document: dict[str, Any]) -> Names:
    return {
        attribute["name"].lower(): frozenset(sub["name"].lower() for sub in attribute.get("subAttributes", ()))
        for attribute in document["attributes"]
    }


def undeclared_attributes(kind: str, body: dict[str, Any]) -> list[str]:
    """Return the names in a resource's body that no schema of the resource type declares, at most ten of them."""
    return sorted(set(_undeclared_paths(kind, body)))[:MOST_NAMED]


def _undeclared_paths(kind: str, body: dict[str, Any]) -> Iterator[str]:
    schemas = declared_names(kind)
    for name, value in body.items():
        extension = schemas.get(name.lower())
        if extension is None:
            yield from _below(schemas[""], name, value, "")
        elif isinstance(value, dict):
            for part, inner in value.items():
                yield from _below(extension, part, inner, f"{name}:")


def _below(attributes: Names, name: str, value: object, prefix: str) -> Iterator[str]:
    path = f"{prefix}{name}"[:LONGEST_NAME]
    subs = attributes.get(name.lower())
    if subs is None:
        yield path
    elif subs:
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, dict):
                yield from (f"{path}.{part}"[:LONGEST_NAME] for part in entry if part.lower() not in subs)


def is_declared(kind: str, path: str) -> bool:
    """Return whether the path of a PATCH, including its filter in brackets, names declared attributes only."""
    if kind == "Group" and _MEMBERS.match(path):
        return True  # `scim.members` reads these paths itself, because one request can hold a thousand of them.
    try:
        bound_path = bind(Path, kind)(path)
        binding = bound_path.resolve()
        if bound_path.model is None and binding is None:
            return False
        selection = bound_path.value_filter
        return selection is None or all(_is_part(binding, node) for node in comparisons(selection))
    except (InvalidPathException, InvalidFilterException):
        return False


def _is_part(binding: AttributeBinding, node: Comparison | Present) -> bool:
    item: Any = binding.field_type
    if not hasattr(item, "model_fields"):
        return node.attr_path.attr.lower() == "value"
    return ScimFilter[item](f"{node.attr_path} pr").resolve(node.attr_path) is not None


def comparisons(node: FilterNode) -> Iterator[Comparison | Present]:
    """Yield the terms of a filter, except those within the brackets of a list."""
    if isinstance(node, LogicalExpr):
        for term in node.terms:
            yield from comparisons(term)
    elif isinstance(node, Not):
        yield from comparisons(node.expr)
    elif isinstance(node, Comparison | Present):
        yield node
