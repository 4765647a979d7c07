"""Wire names and model names: `CustomerId` on the wire is `customer_id` in the model."""

import difflib
import re
from collections.abc import Collection, Iterable
from functools import cache

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@cache
def snake(wire: str) -> str:
    """Return the model's name for a wire name: `PostalAddressCity` → `postal_address_city`."""
    return _WORD.sub("_", wire).lower()


def match_name(name: str, known_names: Collection[str]) -> str | None:
    """Return the known name that equals this one in any case, as it is declared, or None."""
    if name in known_names:
        return name
    lower_name = name.casefold()
    return next((candidate for candidate in known_names if candidate.casefold() == lower_name), None)


def nearest(name: str, known_names: Iterable[str]) -> str:
    """Return the known name that is most similar to this one, ignoring case, or an empty text."""
    by_lower_name = {candidate.casefold(): candidate for candidate in known_names}
    matches = difflib.get_close_matches(name[:100].casefold(), by_lower_name, n=1, cutoff=0.6)
    return by_lower_name[matches[0]] if matches else ""


def unknown(name: str, known_names: Iterable[str], kind: str) -> str:
    """Return the message that refuses an unknown name and suggests the most similar known one."""
    near = nearest(name, known_names)
    short_name = name if len(name) <= 100 else name[:100] + "…"
    hint = f" Did you mean {near}?" if near else ""
    return f"There is no {kind} {short_name!r}.{hint}"
