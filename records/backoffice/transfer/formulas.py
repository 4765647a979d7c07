"""Text that a spreadsheet would run as a formula: made harmless on the way out, restored on the way in."""

import re

_STARTS = r"[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]"
_DANGEROUS = re.compile(f"'*{_STARTS}")
_GUARDED = re.compile(f"'+{_STARTS}")
_NEGATIVE = re.compile(r"-\d+(\.\d+)?", re.ASCII)


def guarded(text: str) -> str:
    """Return the text with an apostrophe before it where it would run; a plain negative number stays as it is.

    Text that begins with apostrophes and then such a sign gets one more, so that `restored` is its exact inverse.
    """
    return f"'{text}" if _DANGEROUS.match(text) and not _NEGATIVE.fullmatch(text) else text


def restored(text: str) -> str:
    """Return the text that `guarded` was given."""
    return text[1:] if _GUARDED.match(text) else text
