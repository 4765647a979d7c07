"""How the status of a record is shown in lists and on its page."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.db.models import Model
from django.utils.html import format_html
from django.utils.text import slugify

from records.backoffice.datetimes import NOTHING

TONES = {
    "draft": "quiet",
    "scheduled": "quiet",
    "in-progress": "warn",
    "awaiting-review": "warn",
    "awaiting-approval": "warn",
    "open": "warn",
    "done": "good",
    "completed": "good",
    "closed": "good",
    "approved": "good",
    "in-force": "good",
    "rejected": "bad",
    "cancelled": "quiet",
    "withdrawn": "quiet",
    "superseded": "quiet",
}
"""The meaning of a status for somebody who scans a list: nothing to do, waiting, done, or failed."""


def status_tag(record: Model) -> str:
    """Return the record's status as a tag, empty if its kind has none; the text says the same as the colour."""
    value = getattr(record, "record_status", "")
    if not value:
        return ""
    words = record.get_record_status_display() if hasattr(record, "get_record_status_display") else value
    return format_html('<span class="tag tone-{}">{}</span>', _tone(str(value)), words)


@cache
def _tone(status: str) -> str:
    return TONES.get(slugify(status), "quiet")


@cache
def status_column(label: str) -> Callable[[Any], Any]:
    """Return the list's status column, the same object each time."""

    def record_status(record: Model) -> str:
        return status_tag(record) or NOTHING

    record_status.short_description = label  # type: ignore[attr-defined]
    record_status.admin_order_field = "record_status"  # type: ignore[attr-defined]
    return record_status
