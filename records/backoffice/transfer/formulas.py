"""Text that a spreadsheet would run as a formula: exports make it harmless, and imports restore it."""

import re

_STARTS = r"[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]"
_DANGEROUS = re.compile(f"'*{_STARTS}")
_APOSTROPHES = re.compile(f"'+{_STARTS}")
_NEGATIVE = re.compile(r"-\d+(\.\d+)?", re.ASCII)


def guard(text: str) -> str:
    """Return the text with an apostrophe before it if it would run; a plain negative number stays unchanged.

    Text that begins with apostrophes followed by such a character gets one more, so that `unguard` is the exact
    inverse.
    """
    text = str(text)  # It may be a text that is translated only here.
    return f"'{text}" if _DANGEROUS.match(text) and not _NEGATIVE.fullmatch(text) else text


def unguard(text: str) -> str:
    """Return the text that `guard` was given."""
    return text[1:] if _APOSTROPHES.match(text) else text
