"""The months that the charts show, as they are chosen in the address."""

import datetime
import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, IntegerField, Q, Value, When
from django.utils import dateformat
from django.utils.translation import gettext

from records.backoffice.date_filters import before, on_days, today_at
from records.sites.months import last_day, months_on

USUAL_MONTHS = 12
MOST_MONTHS = 60
SPANS = (3, 6, 12, 24, 36)
"""The spans up to today, in months, that the page offers."""

_MONTH = re.compile(r"(\d{4})-(\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Period:
    """Whole months at a site, from the first day of the first month to the last day of the last month."""

    first: datetime.date
    final_month: datetime.date
    zone: zoneinfo.ZoneInfo
    today: datetime.date

    @property
    def months(self) -> list[datetime.date]:
        """Return the first day of each month."""
        months = [self.first]
        while months[-1] < self.final_month:
            months.append(months_on(months[-1], 1))
        return months

    @property
    def last(self) -> datetime.date:
        """Return the last day."""
        return last_day(self.final_month)

    @property
    def name(self) -> str:
        """Return the period as it is printed: `December 2025 to November 2026`."""
        first, final = (long_name(month) for month in (self.first, self.final_month))
        return first if first == final else gettext("%(first)s to %(final)s") % {"first": first, "final": final}

    def covers(self, field: str) -> Q:
        """Return the condition that the field's day is in the period."""
        return on_days(field, self.first, self.last, self.zone)

    def is_over(self, month: datetime.date) -> bool:
        """Return whether the month has ended at the site."""
        return last_day(month) < self.today


def long_name(month: datetime.date) -> str:
    """Return a month as it is printed: `November 2026`."""
    return dateformat.format(month, "F Y")


def short_name(month: datetime.date) -> str:
    """Return a month where there is little room: `Nov 2026`."""
    return f"{month_letters(month)} {month.year:04}"


def month_letters(month: datetime.date) -> str:
    """Return a month's first letters: `Nov`."""
    return dateformat.format(month, "M")


def month_index(field: str, period: Period, zone: zoneinfo.ZoneInfo) -> Any:
    """Return the expression that numbers the period's months, from 0 on, by a date-time field.

    Rows before the period have the number -1, and rows after it the number of months. The database halves the months
    that are left with each comparison, because a site has a hundred thousand rows to number.
    """
    starts = [*period.months, months_on(period.final_month, 1)]

    def number(low: int, high: int) -> Case | Value:
        """Return the number, from low to high, of a row that lies in none of the other months."""
        if low == high:
            return Value(low)
        middle = (low + high) // 2
        earlier = When(before(field, starts[middle + 1], zone), then=number(low, middle))
        return Case(earlier, default=number(middle + 1, high), output_field=IntegerField())

    return number(-1, len(period.months))


def read_period(parameters: Mapping[str, str], zone: zoneinfo.ZoneInfo) -> tuple[Period, str]:
    """Return the period of `from` and `to` (as `2026-05`) or of `months`, and a message if they cannot be read.

    The period is then the usual one: the last twelve months including the present one.
    """
    today = today_at(zone)
    current_month = today.replace(day=1)
    usual = Period(months_on(current_month, 1 - USUAL_MONTHS), current_month, zone, today)
    given_first, given_final = parameters.get("from", "").strip(), parameters.get("to", "").strip()
    if not given_first and not given_final:
        months = parameters.get("months", "")
        if months in {str(span) for span in SPANS}:
            return Period(months_on(current_month, 1 - int(months)), current_month, zone, today), ""
        return usual, "" if not months else gettext("Choose one of %(names)s months.") % {
            "names": ", ".join(map(str, SPANS))
        }
    final = _month(given_final) if given_final else current_month
    first = _month(given_first) if given_first else (months_on(final, 1 - USUAL_MONTHS) if final else None)
    if first is None or final is None:
        return usual, gettext("Write a month as year and month, such as 2026-05, from 1950 to 2999.")
    if final < first:
        return usual, gettext("The first month is after the last one.")
    if months_on(first, MOST_MONTHS) <= final:
        return usual, gettext("Choose at most %(most_months)s months.") % {"most_months": MOST_MONTHS}
    return Period(first, final, zone, today), ""


def spanning(first: datetime.date | None, last: datetime.date | None, usual: Period) -> Period | None:
    """Return the period of the months of these days, limited to the newest ones; None without a first day."""
    if first is None:
        return None
    final = min(last, usual.today) if last is not None else usual.today
    final = max(final, first).replace(day=1)
    return Period(max(first.replace(day=1), months_on(final, 1 - MOST_MONTHS)), final, usual.zone, usual.today)


def _month(text: str) -> datetime.date | None:
    match = _MONTH.fullmatch(text)
    year, month = (int(part) for part in match.groups()) if match else (0, 0)
    return datetime.date(year, month, 1) if 1950 <= year <= 2999 and 1 <= month <= 12 else None
