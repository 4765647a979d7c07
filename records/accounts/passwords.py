"""Refuses passwords that are long but easily guessed, or that contain names (DECISIONS 9.8)."""

import re
import string

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator, MinimumLengthValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from records.accounts.models import User
from records.sites.models import Site
from records.sites.text import fold

LEAST_DIFFERENT = 5
SHORTEST_NAME = 4
_AROUND = string.digits + string.punctuation + string.whitespace
_LETTERS = str.maketrans("0134578@$!", "oieastbasi")


class LengthValidator(MinimumLengthValidator):
    """Refuses short passwords, in the words of the other messages."""

    def get_error_message(self) -> str:
        """Return the message for a password that is too short."""
        return gettext("This password is too short. It must have at least %(length)s characters.") % {
            "length": self.min_length
        }

    def get_help_text(self) -> str:
        """Return the help text of the form."""
        return gettext("It must have at least %(length)s characters.") % {"length": self.min_length}


class GuessablePasswordValidator(CommonPasswordValidator):
    """Refuses common passwords (also with added digits or digits for letters), keyboard rows and repetitions."""

    def validate(self, password: str, user: object = None) -> None:
        """Raise ValidationError for a password that attackers try first."""
        text = fold(password)
        core = text.strip(_AROUND)
        words = {text, core, text.translate(_LETTERS), core.translate(_LETTERS).strip(_AROUND)}
        if any(word in self.passwords for word in words if len(word) >= SHORTEST_NAME):
            raise ValidationError(gettext("This password is too common."), code="password_too_common")
        if text.isdecimal():
            raise ValidationError(gettext("This password is only digits."), code="password_entirely_numeric")
        if len(set(text)) < LEAST_DIFFERENT or _is_repetition(text) or _is_row(text):
            raise ValidationError(gettext("This password repeats itself too much."), code="password_repeats")

    def get_help_text(self) -> str:
        """Return the help text of the form."""
        return gettext("It must not be a common password, only digits, or a repetition.")


class NameInPasswordValidator:
    """Refuses passwords that contain a name of the organisation, of one of its sites, or of the person."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ValidationError if the password contains a word of such a name with four letters or more."""
        text = fold(password)
        names = [settings.ORGANISATION_NAME, *Site.objects.values_list("name", flat=True)]
        if user is not None:
            names += [user.user_name, user.given_name, user.family_name, user.display_name]
        words = {word for name in names for word in re.findall(r"\w+", fold(name)) if len(word) >= SHORTEST_NAME}
        if any(word in text for word in words):
            raise ValidationError(
                gettext("This password contains your name, or the name of your site or organisation."),
                code="password_has_name",
            )

    def get_help_text(self) -> str:
        """Return the help text of the form."""
        return gettext("It must not contain your name, or the name of your site or organisation.")


def _is_repetition(text: str) -> bool:
    """Return whether the text repeats one part, such as "bread!bread!"."""
    return len(text) > 1 and text in (text + text)[1:-1] and len(text) // (text + text).index(text, 1) >= 3


_ROWS = ("abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "01234567890")


def _is_row(text: str) -> bool:
    """Return whether the text is a sequence of letters or keys, forwards or backwards."""
    return any(text in row * 2 or text[::-1] in row * 2 for row in _ROWS)
