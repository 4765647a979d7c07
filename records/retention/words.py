"""Finds erased values in texts and reasons, in whatever way they are spelled there."""

import re
import unicodedata
from collections.abc import Collection

from records.sites.text import HAN, HANGUL, KANA, fold, one_line

# One spelling for texts that look the same: apostrophes; hyphens, underscores (spaces in names of files), and the dot
# between foreign names in Japanese, as a space; nothing for hyphens and joiners that are invisible.
_ALIKE = {
    **dict.fromkeys(map(ord, "`\u00b4\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201b\u2032\uff07"), "'"),
    **dict.fromkeys((*map(ord, "-_\u2212\u30fb\ufe58\ufe63\uff0d\uff65"), *range(0x2010, 0x2016)), " "),
    **dict.fromkeys((0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF)),
}
_EAST_ASIAN = f"{KANA}{HANGUL}{HAN}\U00020000-\U0003ffff"
_IS_EAST_ASIAN = re.compile(f"[{_EAST_ASIAN}]")
_SPACELESS = f"{_EAST_ASIAN}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
"""The letters of scripts that are written without spaces, or where more follows a name within its word (Korean)."""
_IS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_WITHIN_WORD = re.compile(f"[^\\W{_SPACELESS}]{{2}}")
_AFTER_DIGIT, _BEFORE_DIGIT = re.compile(r"\d[^\W\d]"), re.compile(r"[^\W\d]\d")
_WITHIN_KOREAN = re.compile(f"[{HANGUL}]{{2}}")
_PHONE = re.compile("[\\d ()./+]+")
_BETWEEN_DIGITS = re.compile("(?<=\\d)[ ()./+]+(?=\\d)")
_FEWEST_DIGITS, _LOCAL_DIGITS = 6, 7


class Words:
    """The erased values, prepared for a search in many texts.

    A word has at least two letters, or one East Asian letter, or three other characters. In scripts without spaces it
    may be a part of another word, and a digit does not belong to the word of letters beside it if that has more than
    three. A phone number of at least six digits is found by its last seven, since an area code can be missing.
    """

    def __init__(self, values: Collection[str]) -> None:
        """Prepare the values, each of them also line by line."""
        self._values = {_plain(value) for value in values}
        self._lines = {_plain(line) for value in values for line in value.splitlines()}

    def occur_in(self, text: str) -> bool:
        """Return whether a text contains one of the values, or a line of one, other than as a part of another word."""
        folded_text = _plain(text)
        numbers = _BETWEEN_DIGITS.sub("", folded_text)
        return any(_has_phone(numbers, line) or _has_word(folded_text, line) for line in self._lines)

    def are_quoted_in(self, reason: str) -> bool:
        """Return whether a reason contains one of the values; three characters or more count also within a word."""
        folded_reason = _plain(reason)
        return self.occur_in(reason) or any(len(value) > 2 and value in folded_reason for value in self._values)


def digits_of_phones(values: Collection[str]) -> list[str]:
    """Return the digits by which each of the values that is a phone number is found, without repetitions."""
    return sorted({_local_digits(_plain(value)) for value in values} - {""})


def pattern_of_short(values: Collection[str]) -> str:
    """Return the regular expression, for either database, that finds the values of one or two letters that are words.

    Empty if there are none. In scripts without spaces they may be a part of another word.
    """
    patterns = set()
    for value in map(_plain, values):
        if len(value) < 3 and _is_word(value):
            spellings = "|".join(sorted({value, value.upper()}))
            patterns.add(spellings if _IS_SPACELESS.search(value) else rf"(^|\W|_)({spellings})(\W|_|$)")
    return "|".join(sorted(patterns))


def _plain(text: str) -> str:
    """Return the text in the form for a search: on one line, and without differences such as case or hyphens."""
    return one_line(fold(unicodedata.normalize("NFKC", text.translate(_ALIKE))))


def _has_word(text: str, word: str) -> bool:
    if not _is_word(word):
        return False
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        before, after = text[max(at - 1, 0) : at + 1], text[end - 1 : end + 1]
        # A Korean name of one syllable begins a word: the same syllable is an ending of many others.
        is_ending = len(word) == 1 and _WITHIN_KOREAN.fullmatch(before)
        # In "Meyer2.pdf", the digit counts files. Shorter words are parts of codes too often.
        begins = not _WITHIN_WORD.fullmatch(before) or (len(word) > 3 and _AFTER_DIGIT.fullmatch(before))
        ends = not _WITHIN_WORD.fullmatch(after) or (len(word) > 3 and _BEFORE_DIGIT.fullmatch(after))
        if begins and ends and not is_ending:
            return True
        at = text.find(word, at + 1)
    return False


def _is_word(word: str) -> bool:
    return len(word) > 2 or (word.isalpha() and (len(word) == 2 or _IS_EAST_ASIAN.match(word) is not None))


def _has_phone(text: str, phone: str) -> bool:
    digits = _local_digits(phone)
    return bool(digits) and digits in text


def _local_digits(phone: str) -> str:
    """Return the last digits of a phone number, with which it is found; empty for any other text."""
    digits = "".join(filter(str.isdecimal, phone)) if _PHONE.fullmatch(phone) else ""
    return digits[-_LOCAL_DIGITS:] if len(digits) >= _FEWEST_DIGITS else ""
