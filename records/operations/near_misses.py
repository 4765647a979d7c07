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
    path: str
    operations: "Mapping[str, Operation]"


def suggestion(method: str, path: str) -> str:
    """Return the message that suggests the operation that a path almost matches, or an empty text.

    A path that differs only in case comes before one with an error; after that, the presence of an id decides.
    """
    parts = [part.casefold() for part in path.strip("/").split("/")]
    near = []
    for address in _addresses():
        path_start, address_start = "/".join(parts[: len(address.parts)]), "/".join(address.parts)
        if is_near(path_start, address_start):
            has_id = len(parts) > len(address.parts)
            near.append((path_start != address_start, has_id != ("<" in address.path), address))
    if not near:
        return ""
    address = min(near, key=lambda candidate: candidate[:2])[2]
    method = "GET" if method == "HEAD" else method
    operation = address.operations.get(method) or next(iter(address.operations.values()))
    return f"Did you mean {operation.name}: {operation.method} {address.path}?"


def is_near(first: str, second: str) -> bool:
    """Return whether two texts differ by at most one letter added, removed or replaced, or one swap of neighbours.

    Equal texts count too. The time is linear in their length.
    """
    if abs(len(first) - len(second)) > 1:
        return False
    shorter = min(len(first), len(second))
    start = next((place for place in range(shorter) if first[place] != second[place]), shorter)
    remaining_length = shorter - start
    end = next(
        (place for place in range(remaining_length) if first[-1 - place] != second[-1 - place]), remaining_length
    )
    first_middle, second_middle = first[start : len(first) - end], second[start : len(second) - end]
    return max(len(first_middle), len(second_middle)) <= 1 or (
        len(first_middle) == 2 and first_middle == second_middle[::-1]
    )


@cache
def _addresses() -> tuple[Address, ...]:
    """Return the paths of all operations, from the list of interfaces in the URL configuration."""
    addresses = []
    for endpoint in import_module(settings.ROOT_URLCONF).interfaces:
        for inner in getattr(endpoint, "url_patterns", ()):
            operations = getattr(inner.callback, "initkwargs", {}).get("operations") if inner.callback else None
            if operations and inner.name:
                path = f"/{endpoint.pattern}{inner.pattern}"
                parts = path.partition("<")[0].strip("/").casefold().split("/")
                addresses.append(Address(tuple(parts), re.sub(r"<\w+:id>", "<Id>", path), operations))
    return tuple(addresses)
