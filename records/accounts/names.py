"""Names and addresses that look alike: which characters they may not contain, and the key that look-alikes share.

Names that differ only by ASCII look-alikes (1 and l, rn and m) are different names. Invisible characters and several
scripts within a word are refused. So is a name that looks like another account's name in another script, or with other
Latin letters, such as alpha for a (DECISIONS 13.15). The data comes from Unicode, by way of confusable-homoglyphs.
"""

import re
import unicodedata
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext

from records.sites.text import fault_at, fold, refuse_breaks

if TYPE_CHECKING:
    from records.accounts.models import User

LONGEST_LOOK = 1_020
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_INVISIBLE = re.compile(
    # Letters, marks and symbols that Unicode displays as nothing, including variation selectors.
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_NEUTRAL = frozenset({"COMMON", "INHERITED", "UNKNOWN"})
_WRITTEN_TOGETHER = (
    frozenset({"HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"HAN", "BOPOMOFO"}),
    frozenset({"HAN", "HANGUL"}),
)
"""Scripts that are mixed within words of Japanese, Chinese or Korean."""


def check_user_name(user_name: str, user: "User | None" = None) -> None:
    """Raise ValidationError if the account (None for a new one) may not be given the user name.

    The code is InvalidValue for a name with several lines, with invisible characters, or with several scripts within a
    word, and Duplicate for another account's name or one that looks like it in another script. A name that the account
    already has may stay. One query.
    """
    from records.accounts.models import User

    if user is not None and user_name == user.user_name:
        return
    try:
        # A tab is refused too, because people type the name when they sign in.
        refuse_breaks(user_name.replace("\t", "\n"))
    except ValidationError as fault:
        raise ValidationError({"user_name": fault}) from fault
    invisible = gettext("A user name must not contain invisible characters.")
    mixed_scripts = gettext("A word of a user name must not mix letters of several scripts.")
    if reason := _fault_of(user_name.strip(), invisible, mixed_scripts):
        raise fault_at("user_name", reason, "InvalidValue")
    key = fold(user_name)
    other_users = User.objects.exclude(pk=user.pk) if user is not None else User.objects.all()
    look_alikes = other_users.filter(Q(user_name_key=key) | Q(user_name_look=look_of(user_name)))
    used_keys = set(look_alikes.values_list("user_name_key", flat=True)[:2])
    if key in used_keys:
        raise _duplicate(gettext("Another account has this user name."))
    if used_keys:
        raise _duplicate(gettext("Another account has a user name that looks like this one."))


def check_address(address: str, name: str) -> None:
    """Raise ValidationError, on the field `name`, for an e-mail address that looks like another one.

    Like a user name, an address has no invisible characters, and no word of it mixes several scripts: nobody would see
    that mails go to somebody else. Only new addresses are checked, so that an older one never blocks another change.
    """
    invisible = gettext("An e-mail address must not contain invisible characters.")
    mixed_scripts = gettext("A word of an e-mail address must not mix letters of several scripts.")
    if reason := _fault_of(address, invisible, mixed_scripts):
        raise fault_at(name, reason, "InvalidValue")


def look_of(user_name: str) -> str:
    """Return the key that a name shares with its look-alikes that are not ASCII; ASCII letters remain distinct."""
    text = unicodedata.normalize("NFKC", user_name)
    if text.isascii():
        return fold(text)[:LONGEST_LOOK]
    latin_text = fold("".join(map(_as_latin, text)))
    return fold("".join(map(_as_latin, latin_text)))[:LONGEST_LOOK]


def _as_latin(character: str) -> str:
    """Return the ASCII text that looks like a character; otherwise, and for ligatures such as æ, the character."""
    # The dotless i distinguishes Turkish names, as ł and ü distinguish others.
    if character.isascii() or character == "\u0131":
        return character
    # The tables take a while to load, and few processes need them.
    from confusable_homoglyphs import categories, confusables

    entries: list[dict[str, str]] = confusables.confusables_data.get(character, [])
    lookalikes = (entry["c"] for entry in entries if entry["c"].isascii() and entry["c"].isalnum())
    is_latin = categories.alias(character) == "LATIN"
    return next((text for text in lookalikes if len(text) == 1 or not is_latin), character)


def _fault_of(text: str, invisible: str, mixed_scripts: str) -> str:
    """Return which of two faults the characters of a name or an address have; '' if they have none."""
    if text.isascii():
        return ""
    if _INVISIBLE.search(text) or any(map(_is_invisible, text)):
        return invisible
    from confusable_homoglyphs import categories

    for word in _words(text):
        scripts = {categories.alias(character).upper() for character in word} - _NEUTRAL
        if len(scripts) > 1 and not any(scripts <= together for together in _WRITTEN_TOGETHER):
            return mixed_scripts
    return ""


def _is_invisible(character: str) -> bool:
    category = unicodedata.category(character)
    return category in _INVISIBLE_CATEGORIES or (category == "Zs" and character != " ")


def _words(text: str) -> list[str]:
    """Return the runs of letters, marks and numbers; other characters separate words."""
    return "".join(character if unicodedata.category(character)[0] in "LMN" else " " for character in text).split()


def _duplicate(text: str) -> ValidationError:
    return fault_at("user_name", text, "Duplicate")
