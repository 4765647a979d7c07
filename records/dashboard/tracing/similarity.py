"""Which texts are similar to a lot: it may have been misread, mistyped, or written with other separators."""

import difflib
import re
from collections.abc import Iterable

from records.sites.text import fold

MOST_SIMILAR = 5
LIKE = 0.7
"""The share of equal characters from which two lots count as similar."""
_MISREAD = str.maketrans({"o": "0", "i": "1", "l": "1", "s": "5", "b": "8", "z": "2"})


def nearest(lot: str, candidates: Iterable[str]) -> list[str]:
    """Return up to five candidates that are similar to the lot, the most similar ones first."""
    lot_shape = _shape(lot)
    similar = []
    for text in set(candidates):
        shape = _shape(text)
        if shape == lot_shape:
            share = 1.0
        else:
            matcher = difflib.SequenceMatcher(None, lot_shape, shape, autojunk=False)
            share = matcher.ratio() if matcher.real_quick_ratio() >= LIKE and matcher.quick_ratio() >= LIKE else 0.0
        if share >= LIKE:
            similar.append((-share, text))
    return [text for _, text in sorted(similar)[:MOST_SIMILAR]]


def letters_and_digits(text: str) -> str:
    """Return the letters and digits of the text in lower case, without zeros in front."""
    return _without_separators(text).lstrip("0")


def _without_separators(text: str) -> str:
    return re.sub(r"[\W_]+", "", fold(text))


def _shape(text: str) -> str:
    """Return the text without separators, with letters that look like digits replaced by these digits."""
    return _without_separators(text).translate(_MISREAD)
