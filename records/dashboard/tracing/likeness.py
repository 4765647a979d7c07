"""Which texts are nearly a lot that somebody wrote: as it is misread, mistyped, or written with other separators."""

import difflib
import re
from collections.abc import Iterable

from records.sites.text import fold

MOST = 5
LIKE = 0.7
"""From which share of equal letters on two lots are like each other."""
_MISREAD = str.maketrans({"o": "0", "i": "1", "l": "1", "s": "5", "b": "8", "z": "2"})


def nearest(lot: str, candidates: Iterable[str]) -> list[str]:
    """Return up to five of the candidates that are like the lot, the likest first."""
    asked = _shape(lot)
    scored = []
    for text in set(candidates):
        shape = _shape(text)
        if shape == asked:
            share = 1.0
        else:
            matcher = difflib.SequenceMatcher(None, asked, shape, autojunk=False)
            share = matcher.ratio() if matcher.real_quick_ratio() >= LIKE and matcher.quick_ratio() >= LIKE else 0.0
        if share >= LIKE:
            scored.append((-share, text))
    return [text for _, text in sorted(scored)[:MOST]]


def _shape(text: str) -> str:
    """Return the text without separators, letters that look like digits as those."""
    return re.sub(r"[\W_]+", "", fold(text)).translate(_MISREAD)
