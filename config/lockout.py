"""Which name a failed sign-in is counted for."""

import unicodedata
from typing import Any

from django.http import HttpRequest

# The column that axes counts in holds so many characters.
LONGEST_NAME = 255


def attempted_name(request: HttpRequest, credentials: dict[str, Any] | None) -> str | None:
    """Return the name as accounts are found by it: the case it is typed in gives no further tries."""
    name = (credentials or {}).get("username") or request.POST.get("username")
    if name is None:
        return None
    return unicodedata.normalize("NFC", str(name)).strip().casefold()[:LONGEST_NAME]
