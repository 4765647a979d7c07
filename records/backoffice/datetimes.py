"""How stored values are shown: days are the same in every zone, times use the site's time zone."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from functools import cache

from django.utils import timezone
from django.utils.translation import gettext

MIDNIGHT = datetime.time(0, 0)
NOTHING = "\N{EN DASH}"
"""What is shown for a missing value."""


def wall_clock(value: datetime.datetime) -> tuple[datetime.datetime, bool]:
    """Return what to show for a stored date-time, without zone, and whether it is a bare day.

    Midnight UTC represents a day (DECISIONS 1.8), so it is that day everywhere. A date-time that would be outside the
    years 0001 to 9999 in the site's time zone is shown in UTC.
    """
    utc = value.astimezone(datetime.UTC)
    if utc.time() == MIDNIGHT:
        return utc.replace(tzinfo=None), True
    try:
        return utc.astimezone(timezone.get_current_timezone()).replace(tzinfo=None), False
    except (OverflowError, ValueError):
        return utc.replace(tzinfo=None), False


def format_datetime(value: datetime.datetime | None, *, day: bool = False) -> str:
    """Return the date-time for users: `2024-05-17` or `2024-05-17 14:30`.

    `day` is for a field that contains only days, whatever time of day was sent; see `format_day` for any other.
    """
    if value is None:
        return ""
    if day:
        return value.astimezone(datetime.UTC).date().isoformat()
    clock, is_day = wall_clock(value)
    return clock.date().isoformat() if is_day else f"{clock.date().isoformat()} {clock:%H:%M}"


def format_day(moment: datetime.datetime) -> str:
    """Return the day on which something happened, in the page's time zone: `2024-05-17`."""
    return wall_clock(moment)[0].date().isoformat()


def times_are_in() -> str:
    """Return the sentence that names the time zone of the page, which is that of the record's site."""
    return gettext("Times are those of %(get_current_timezone_name)s.") % {
        "get_current_timezone_name": timezone.get_current_timezone_name()
    }


@cache
def moment_column(name: str, label: str, *, day: bool) -> Callable[[object], str]:
    """Return a display column for a date-time field that never fails near the ends of the calendar.

    It returns the same object each time, since the admin compares its read-only fields by identity.
    """

    def column(record: object) -> str:
        return format_datetime(getattr(record, name), day=day) or NOTHING

    column.__name__ = name
    column.short_description = label  # type: ignore[attr-defined]
    column.admin_order_field = name  # type: ignore[attr-defined]
    return column


def plain_number(value: Decimal) -> str:
    """Return the number without trailing zeros: `1`, not `1.0000`."""
    return f"{value.normalize():f}"


@cache
def number_column(name: str, label: str) -> Callable[[object], str]:
    """Return a display column for a decimal number, the same object each time."""

    def column(record: object) -> str:
        value = getattr(record, name)
        return NOTHING if value is None else plain_number(value)

    column.__name__ = name
    column.short_description = label  # type: ignore[attr-defined]
    return column
