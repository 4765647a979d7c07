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


def months_on(day: datetime.date, count: int) -> datetime.date:
    """Return the first day of the month that is this number of months after the day's month; negative for before."""
    year, index = divmod(day.year * 12 + day.month - 1 + count, 12)
    return datetime.date(year, index + 1, 1)


def last_day(month: datetime.date) -> datetime.date:
    """Return the last day of the month."""
    return month.replace(day=calendar.monthrange(month.year, month.month)[1])
