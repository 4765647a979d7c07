"""What is stored, and what programs and logs read, is in English, whatever language a person reads."""

from contextlib import AbstractContextManager
from typing import Any

from django.conf import settings
from django.utils.translation import override


def in_english() -> AbstractContextManager[Any]:
    """Return a block whose texts are in English."""
    return override(settings.LANGUAGE_CODE)


def stored_text(value: Any) -> str:
    """Return the text of a record or a label as it is stored."""
    with in_english():
        return str(value)
