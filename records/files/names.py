"""Names of files: characters that show nothing or turn the order of the others round, such as U+202E, do not belong.

`invoice<U+202E>fdp.exe` is shown as `invoiceexe.pdf`: whoever sees the name takes the file for something else.
"""

import re
from typing import Any

from django.core.exceptions import ValidationError

_HIDDEN = re.compile(
    "["
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\x7f-\x9f\U000e0000-\U000e007f"
    "]"
    # The joiners of Persian, Indian scripts and emoji stand between two characters beyond ASCII.
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)


def without_hidden(name: str) -> str:
    """Return the name without characters that show nothing or change the direction of the text."""
    return _HIDDEN.sub("", name)


def check_file_name(values: dict[str, Any]) -> None:
    """Raise ValidationError where the `file_name` among an action's values holds such a character."""
    if without_hidden(name := str(values.get("file_name", ""))) != name:
        text = "A file name must not contain invisible characters or such that turn the direction of its text."
        raise ValidationError({"file_name": ValidationError(text, code="InvalidValue")})
