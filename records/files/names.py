"""Names of files: invisible characters and those that change the direction of a text, such as U+202E, are not allowed.

`invoice<U+202E>fdp.exe` is shown as `invoiceexe.pdf`: people would take the file for something else.
"""

import re

from records.sites.text import fault_at

_INVISIBLE = re.compile(
    "["
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\x7f-\x9f\U000e0000-\U000e007f"
    "]"
    # The joiners of Persian, Indian scripts and emoji are between two characters that are not ASCII.
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)


def without_hidden(name: str) -> str:
    """Return the name without invisible characters and those that change the direction of the text."""
    return _INVISIBLE.sub("", name)


def check_file_name(values: dict[str, object]) -> None:
    """Raise ValidationError if the `file_name` among an action's values contains such a character."""
    if without_hidden(name := str(values.get("file_name", ""))) != name:
        text = "A file name must not contain invisible characters or characters that change the direction of its text."
        raise fault_at("file_name", text, "InvalidValue")
