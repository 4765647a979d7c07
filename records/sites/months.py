"""Counting in months: how long something is kept, counts or recurs."""

import calendar
import datetime
from typing import TypeVar

Day = TypeVar("Day", bound=datetime.date)


def months_after(day: Day, months: int) -> Day | None:
    """Return the same day (and time) this number of months later, or the last day of that month if it is shorter.

    Returns None for a year after 9999. A negative number counts backwards.
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        return None
    return day.replace(year=year, month=month + 1, day=min(day.day, calendar.monthrange(year, month + 1)[1]))
