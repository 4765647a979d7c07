"""What text may contain, and the model fields that enforce it for every interface (DECISIONS 1.9)."""

import re
import unicodedata
import uuid
from functools import cache
from itertools import chain, product
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models
from django.utils.translation import gettext

FREE_TEXT = 20_000
NAME = 255
EMAIL = 254
REASON = 1_000

KANA = "\u3040-\u30ff\u31f0-\u31ff\uff65-\uff9f"
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
HAN = "\u2e80-\u2fdf\u3000-\u303f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uff64\uffe0-\uffee"
"""The letters of East Asian scripts and their punctuation, as ranges of a regular expression."""

_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")

MARKS = 100
"""How many combining marks may follow each other; the time to normalise them is the square of their number."""


def fault_at(field: str, text: str, code: str) -> ValidationError:
    """Return the error that names a field, with its code."""
    return ValidationError({field: ValidationError(text, code=code)})


def refuse(text: str) -> ValidationError:
    """Return the error for what the state of a record, or the person, does not allow now."""
    return ValidationError(text, code="InvalidTransition")


@cache
def _run_of_marks() -> re.Pattern[str]:
    """Return the pattern of too many marks. It is made at its first use, since that looks at every character."""
    marks = "".join(mark for mark in map(chr, range(0x300, 0x20000)) if unicodedata.combining(mark))
    return re.compile(f"[{marks}]{{{MARKS + 1}}}")


def normalise(text: str) -> str:
    r"""Return the text in NFC with `\n` line ends.

    Raises ValidationError for control characters, lone surrogates and more than a hundred combining marks in a row.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if odd := _CONTROL_CHARACTERS.search(text):
        fault = gettext("Control characters are not allowed in text.")
        half = gettext("Half of a surrogate pair is not a character.")
        raise ValidationError(fault if odd[0] < " " else half, code="InvalidValue")
    if text.isascii():
        return text
    if _run_of_marks().search(text):
        raise ValidationError(
            gettext("More than %(marks)s combining marks in a row are not allowed.") % {"marks": MARKS},
            code="InvalidValue",
        )
    return unicodedata.normalize("NFC", text)


_BREAKS = re.compile("[\n\r\x7f-\x9f\u2028\u2029]")


_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U00013441\U00013442\U00016fe4\U0001d159\U000e0000-\U000e0fff]"
)
"""Characters that are invisible although Unicode counts them as letters, symbols or combining marks."""


def is_blank(text: str) -> bool:
    """Return whether a text is invisible: empty, or only white space, fillers and invisible marks."""
    if text.isascii():
        return not text.strip()
    return all(
        unicodedata.category(character) in ("Cc", "Cf", "Zs", "Zl", "Zp") or _FILLERS.match(character)
        for character in text
    )


def refuse_breaks(text: str) -> None:
    """Raise ValidationError for a name with several lines, or with a control character that `normalise` allows."""
    if _BREAKS.search(text):
        raise ValidationError(gettext("A name is one line, without control characters."), code="InvalidValue")


def one_line(text: str) -> str:
    """Return the text on one line, for the subject of a mail: what follows a line break would be another header."""
    return " ".join(text.split())


def normal(text: str) -> str:
    """Return the text in NFC, the form of all stored text, so that it can be searched for."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


_ID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)


def read_uuid(value: object) -> uuid.UUID | None:
    """Return the id that a text of 36 characters spells, in any case; None for another text. An id stays as it is."""
    if isinstance(value, uuid.UUID):
        return value
    return uuid.UUID(value) if isinstance(value, str) and _ID.fullmatch(value) else None


def fold(text: str, *, trim: bool = True) -> str:
    """Return the key for comparison without regard to case: NFC, casefolded, and trimmed unless `trim` is false."""
    text = unicodedata.normalize("NFC", text)
    return unicodedata.normalize("NFC", (text.strip() if trim else text).casefold())


_SHARP_S = re.compile("(ss|ß|ẞ)", re.IGNORECASE)
_SHARP_S_IN_PART = re.compile(r"(ss|ß|ẞ|\As|s\Z)", re.IGNORECASE)
_SPELLINGS = ("ss", "ß", "ẞ")
_MOST_COMBINED = 3
"""Up to how many sharp s in a text each of its spellings is combined with each one of the others."""


def upper(text: str) -> str:
    """Return the NFC text in upper case, letter by letter as PostgreSQL's UPPER does it, except that ß becomes SS."""
    if text.isascii():
        return text.upper()
    text = _SHARP_S.sub("SS", normal(text))
    whole = text.upper()
    return whole if len(whole) == len(text) else "".join(map(_one_letter, text))


def _one_letter(letter: str) -> str:
    return next((large for large in (letter.upper(), letter.title()) if len(large) == 1), letter)


def spellings(text: str, *, is_part: bool = False) -> list[str]:
    """Return the NFC text with ss, ß and ẞ in the place of each other, because PostgreSQL's UPPER keeps them apart.

    An s with which a part of a text begins or ends can be half of an ß. A text with many of them is returned as it is,
    and with one spelling everywhere.
    """
    pieces = (_SHARP_S_IN_PART if is_part else _SHARP_S).split(normal(text))
    between, matches = pieces[::2], pieces[1::2]
    if len(matches) <= _MOST_COMBINED:
        combinations = list(product(*(("s" if match.upper() == "S" else "ss", "ß", "ẞ") for match in matches)))
    else:
        combinations = [tuple(matches), *((spelling,) * len(matches) for spelling in _SPELLINGS)]
    return ["".join(chain.from_iterable(zip(between, (*combination, ""), strict=True))) for combination in combinations]


class _NormalisedText:
    """Applies `normalise` to the values of a text field."""

    def to_python(self, value: object) -> str | None:
        """Return normalised text."""
        text: str | None = super().to_python(value)  # type: ignore[misc]
        if text is None or (text.isascii() and text.isprintable()):
            return text  # Plain text of one line, as most values are, is in normal form.
        return normalise(text)

    def validate(self, value: object, model_instance: object) -> None:
        """Refuse invisible text in a required field (DECISIONS 1.21)."""
        super().validate(value, model_instance)  # type: ignore[misc]
        if not self.blank and isinstance(value, str) and is_blank(value):  # type: ignore[attr-defined]
            raise ValidationError(gettext("This must not be blank."), code="blank")


class LineField(_NormalisedText, models.CharField):  # type: ignore[type-arg]
    """A name, code or other short text; may be blank by default, at most 255 characters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", NAME)
        kwargs.setdefault("blank", True)
        kwargs.setdefault("default", "")
        super().__init__(*args, **kwargs)


class FreeTextField(_NormalisedText, models.TextField):  # type: ignore[type-arg]
    r"""Text of several lines separated by `\n`; may be blank by default, at most 20,000 characters."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", FREE_TEXT)
        kwargs.setdefault("blank", True)
        kwargs.setdefault("default", "")
        super().__init__(*args, **kwargs)
        if self.max_length is not None:
            self.validators.append(MaxLengthValidator(self.max_length))
