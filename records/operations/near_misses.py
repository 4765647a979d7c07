"""Which operation a mistyped path means: one that differs in letter case or by one typing error (DECISIONS 1.18)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from records.operations.operation import Operation


@dataclass(frozen=True, slots=True)
class Address:
    """The path of operations: its parts before the id, in lower case, and the whole path as in the document."""

    parts: tuple[str, ...]
    shown: str
    operations: "Mapping[str, Operation]"


def meant(method: str, path: str) -> str:
    """Return the message that suggests the operation that a path almost matches, or an empty text.

    A path that differs only in case comes before one with an error; after that, the presence of an id decides.
    """
    parts = [part.casefold() for part in path.strip("/").split("/")]
    near = []
    for address in _addresses():
        asked, wanted = "/".join(parts[: len(address.parts)]), "/".join(address.parts)
        if is_near(asked, wanted):
            has_id = len(parts) > len(address.parts)
            near.append((asked != wanted, has_id != ("<" in address.shown), address))
    if not near:
        return ""
    address = min(near, key=lambda found: found[:2])[2]
    method = "GET" if method == "HEAD" else method
    operation = address.operations.get(method) or next(iter(address.operations.values()))
    return f"Did you mean {operation.name}: {operation.method} {address.shown}?"


def is_near(one: str, other: str) -> bool:
    """Return whether two texts differ by at most one letter added, removed or replaced, or one swap of neighbours.

    Equal texts count too. The time is linear in their length.
    """
    if abs(len(one) - len(other)) > 1:
        return False
    shorter = min(len(one), len(other))
    start = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    left = shorter - start
    end = next((place for place in range(left) if one[-1 - place] != other[-1 - place]), left)
    mine, theirs = one[start : len(one) - end], other[start : len(other) - end]
    return max(len(mine), len(theirs)) <= 1 or (len(mine) == 2 and mine == theirs[::-1])


@cache
def _addresses() -> tuple[Address, ...]:
    """Return the paths of all operations, from the list of interfaces in the URL configuration."""
    found = []
    for endpoint in import_module(settings.ROOT_URLCONF).interfaces:
        for inner in getattr(endpoint, "url_patterns", ()):
            operations = getattr(inner.callback, "initkwargs", {}).get("operations") if inner.callback else None
            if operations and inner.name:
                path = f"/{endpoint.pattern}{inner.pattern}"
                parts = path.partition("<")[0].strip("/").casefold().split("/")
                found.append(Address(tuple(parts), re.sub(r"<\w+:id>", "<Id>", path), operations))
    return tuple(found)
