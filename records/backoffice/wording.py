"""How fields, values and operations are named for users, in the history and in PDFs."""

import datetime
import re
from html import unescape
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext, pgettext

from records.backoffice.datetimes import NOTHING, format_datetime
from records.history.digests import ERASED, is_erased

VERBS = {
    "Accept": "Accepted",
    "Add": "Added",
    "Answer": "Answered",
    "Approve": "Approved",
    "Archive": "Archived",
    "Ask": "Asked",
    "Cancel": "Cancelled",
    "Change": "Changed",
    "Choose": "Chose",
    "Close": "Closed",
    "Complete": "Completed",
    "Confirm": "Confirmed",
    "Delete": "Deleted",
    "End": "Ended",
    "Erase": "Erased",
    "Fill": "Filled",
    "Give": "Gave",
    "Import": "Imported",
    "Invite": "Invited",
    "Issue": "Made",
    "Lift": "Lifted",
    "Make": "Made",
    "Move": "Moved",
    "Open": "Opened",
    "Pause": "Paused",
    "Reject": "Rejected",
    "Remove": "Removed",
    "Rename": "Renamed",
    "Reopen": "Reopened",
    "Replace": "Replaced",
    "Reset": "Reset",
    "Restore": "Restored",
    "Resume": "Resumed",
    "Review": "Reviewed",
    "Revoke": "Revoked",
    "Rotate": "Rotated",
    "Save": "Saved",
    "Schedule": "Scheduled",
    "Set": "Set",
    "Share": "Shared",
    "Show": "Showed",
    "Sign": "Signed",
    "Start": "Started",
    "Stop": "Stopped",
    "Submit": "Submitted",
    "Triage": "Triaged",
    "Update": "Changed",
    "Withdraw": "Withdrew",
}
"""The first word of an operation's name, and the word that users read instead, translated with the words after it."""

_LINE_END = re.compile(r"<(?:br|/p|/li|/div)\b[^>]*>")
_ICON = re.compile(r'<img src="[^"]*/icon-(yes|no|unknown)[^"]*"[^>]*>')
_ONE_TEXT = re.compile(r'(?:<(?!img|br)\w+(?: [\w-]+="[^"<>]*")*>)*([^<>&]*)(?:</\w+>)*')
"""A text between tags, as most values are; a parser of HTML takes twenty times as long to find it."""
_PICTURE = re.compile(r'<img\b[^>]*?\balt="([^"]*)"[^>]*>')
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def field_label(model: type[models.Model], name: str) -> str:
    """Return a field's label; `Employment history: company` for a cell of a child row."""
    parts: list[str] = []
    owner: Any = model
    for part in name.split("."):
        try:
            field = owner._meta.get_field(part)
        except (FieldDoesNotExist, AttributeError):
            parts.append(part.replace("_", " "))
            owner = None
            continue
        if field.auto_created and not field.concrete:
            owner = field.related_model
            parts.append(str(owner._meta.verbose_name_plural))
        else:
            parts.append(str(field.verbose_name))
            owner = getattr(field, "related_model", None)
    return capfirst(": ".join(parts))


def with_article(name: object) -> str:
    """Return the name of a kind of record after its English article; a translation may leave the article out."""
    text = gettext("an %(kind)s") if str(name).startswith(tuple("aeio")) else gettext("a %(kind)s")
    return text % {"kind": name}


def choice_label(model: type[models.Model], name: str, value: object) -> object:
    """Return a stored choice, such as a status, as the reader's language calls it, also among the cells of a row.

    A row gets the labels of its cells; every other value stays as it is.
    """
    owner: Any = model
    field: Any = None
    for part in name.split("."):
        try:
            field = owner._meta.get_field(part)
        except (FieldDoesNotExist, AttributeError):
            return value
        owner = field.related_model
    if field.one_to_many and isinstance(value, dict) and not is_erased(value):
        return {
            field_label(owner, cell): choice_label(owner, cell, part) for cell, part in value.items() if cell != "idx"
        }
    choices = dict(getattr(field, "flatchoices", ())) if isinstance(value, str) else {}
    return str(choices.get(value, value)) if choices else value


def in_words(markup: object) -> str:
    """Return a value of Django's, as HTML, with words for its icons: a tick could mark a failure as good."""
    words = {"yes": gettext("Yes"), "no": gettext("No"), "unknown": NOTHING}
    return _ICON.sub(lambda icon: words[icon[1]], str(markup))


def breakable(heading: object) -> str:
    """Return the heading of a column with soft hyphens in long words, so that a list fits where they are many.

    The browser's own hyphenation is not enough: it may have no dictionary of the language. Markup stays as it is.
    """
    if isinstance(heading, SafeString):
        return heading
    parts = pgettext("words of headings, each with | where it may be broken", "Nonconfor|mance").split()
    broken = {part.replace("|", ""): part.replace("|", "\u00ad") for part in parts}
    return " ".join(broken.get(word, word) for word in str(heading).split(" "))


def without_markup(markup: str) -> str:
    """Return the text of a value that a page shows as HTML: its lines, and the alternative text of pictures."""
    if match := _ONE_TEXT.fullmatch(markup):
        return match[1].strip()
    return unescape(strip_tags(_PICTURE.sub(r"\1", _LINE_END.sub("\n", markup)))).strip()


def operation_label(operation: str, model: str) -> str:
    """Return an operation in words, without the kind of its record, whose class or label is `model`.

    `UpdateComplaintDetail` of a complaint is `Changed`, and `SetSites` of a directory is `Set sites`.
    """
    verb, *words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+", operation) or [operation]
    kind, operation_words = model.rpartition(".")[2].lower(), "".join(words).lower()
    if verb in VERBS and (
        operation_words.startswith(kind) or kind.startswith(operation_words) or kind.endswith(operation_words)
    ):
        return gettext(VERBS[verb])
    return gettext(" ".join([VERBS.get(verb, verb), *(word.lower() for word in words)]))


def operation_words(text: str) -> str:
    """Return a text that users search operations for, with the stored words instead of those that users read."""
    verbs = {past.lower(): verb for verb, past in VERBS.items()} | {"changed": "Update", "made": "Issue"}
    verbs |= {gettext(past.capitalize()).lower(): verb for past, verb in verbs.items()}
    return " ".join(verbs.get(word.lower(), word) for word in text.split())


def format_value(value: object, *, day: bool = False) -> str:
    """Return a value of the history in readable form."""
    if value is None or value in ("", [], {}):
        return NOTHING
    if isinstance(value, bool):
        return gettext("Yes") if value else gettext("No")
    if isinstance(value, dict):
        if value.keys() == {"id", "name"}:
            return str(value["name"] or value["id"])
        if is_erased(value):
            return gettext("Erased (%(value)s)") % {"value": value[ERASED]}
        return "; ".join(
            f"{key.replace('_', ' ')}: {format_value(part, day=day)}" for key, part in value.items() if key != "idx"
        )
    if isinstance(value, list):
        return ", ".join(format_value(part, day=day) for part in value)
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        return format_datetime(datetime.datetime.fromisoformat(value), day=day)
    return str(value)
