"""What replaces an erased value: a keyed digest, so that equal values can still be recognised as equal."""

from django.db import models

from records.accounts import peppers
from records.history.digests import ERASED


def digest_of(value: str) -> str:
    """Return the digest that replaces an erased value: 16 hexadecimal digits, keyed with the newest pepper."""
    return peppers.digest(f"erased\n{value}")[:16]


def mark_of(column: object, value: str) -> str:
    """Return the text that replaces the value of a column."""
    mark = f"{ERASED}-{digest_of(value)}"
    return f"{mark}@erased.invalid" if isinstance(column, models.EmailField) else mark
