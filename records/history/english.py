"""What is stored, and what programs and logs read, is in English, whatever language a person reads."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.conf import settings
from django.utils.translation import get_language, override


def in_english() -> AbstractContextManager[Any]:
    """Return a block whose texts are in English."""
    english = settings.LANGUAGE_CODE
    return nullcontext() if get_language() == english else override(english)


def stored_text(value: object) -> str:
    """Return the text of a record or a label as it is stored."""
    with in_english():
        return str(value)
