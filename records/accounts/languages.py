"""The languages of pages, mails and papers, and which one a person reads.

Only languages that are complete are offered (`LANGUAGES` in the settings). The interfaces, the logs and everything that
is stored are always in English.
"""

from contextlib import AbstractContextManager

from django.conf import settings
from django.utils.translation import gettext, override

from records.accounts.models import User
from records.history.trail import Author
from records.sites.text import fault_at
from records.sites.writing import changing

LANGUAGES: dict[str, str] = dict(settings.LANGUAGES)
"""The languages by their codes; each is called by its own name."""


def chosen_language(user: object) -> str:
    """Return the language that the person chose, or an empty text if they chose none that is offered."""
    language = getattr(user, "language", None)
    return language if language in LANGUAGES else ""


def in_language_of(user: object) -> AbstractContextManager[None]:
    """Return a block whose texts are in the language that the person chose, otherwise in English: for their mails."""
    return override(chosen_language(user) or settings.LANGUAGE_CODE)


def choose_language(user: User, language: str, *, author: Author) -> None:
    """Store the language that the person wants to read; an empty one follows the browser.

    Raises ValidationError if the language is not offered.
    """
    if language and language not in LANGUAGES:
        raise fault_at("language", gettext("Choose one of the languages."), "InvalidValue")
    with changing(User, None, user.pk, author=author, operation="ChooseLanguage") as locked_user:
        locked_user.language = language or None
