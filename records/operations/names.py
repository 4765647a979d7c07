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


def spelt(name: str, known: Collection[str]) -> str | None:
    """Return the known name that equals this one in any case, as it is declared, or None."""
    if name in known:
        return name
    folded = name.casefold()
    return next((candidate for candidate in known if candidate.casefold() == folded), None)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar to this one, ignoring case, or an empty text."""
    folded = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(name[:100].casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else ""


def unknown(name: str, known: Iterable[str], kind: str) -> str:
    """Return the message that refuses an unknown name and suggests the most similar known one."""
    near = nearest(name, known)
    shown = name if len(name) <= 100 else name[:100] + "…"
    hint = f" Did you mean {near}?" if near else ""
    return f"There is no {kind} {shown!r}.{hint}"
