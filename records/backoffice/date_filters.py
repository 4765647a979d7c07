"""Date-times by the day on which people see them, and the list filter for a range of days.

A bare date is stored as midnight UTC and is the same day everywhere (DECISIONS 1.8); every other date-time belongs to
the day in the site's time zone. So west of Greenwich, a day at a site includes a midnight UTC that comes before the
site's own midnight.
"""

import datetime
import zoneinfo
from collections.abc import Iterator
from typing import Any

from django.contrib.admin import FieldListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from records.backoffice.current import current_site, zone_of
from records.history.trail import now
from records.sites.months import last_day, months_on

SINCE, UNTIL, SPAN = "since", "until", "span"
CALENDAR = zoneinfo.ZoneInfo("UTC")
"""The time zone of fields that contain only days, whatever time of day was sent."""


def begins(day: datetime.date, zone: zoneinfo.ZoneInfo) -> datetime.datetime:
    """Return the date-time, in UTC, at which the day begins at the site, limited to the calendar."""
    try:
        return datetime.datetime.combine(day, datetime.time(), zone).astimezone(datetime.UTC)
    except OverflowError:
        return bare(day)


def bare(day: datetime.date) -> datetime.datetime:
    """Return the date-time that represents the bare day: its midnight UTC."""
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC)


def day_of(moment: datetime.datetime, zone: zoneinfo.ZoneInfo) -> datetime.date:
    """Return the day on which people at the site see the date-time."""
    utc = moment.astimezone(datetime.UTC)
    if utc.time() == datetime.time():
        return utc.date()
    try:
        return utc.astimezone(zone).date()
    except OverflowError:
        return utc.date()


def today_at(zone: zoneinfo.ZoneInfo) -> datetime.date:
    """Return today's date at the site."""
    return now().astimezone(zone).date()


def before(field: str, day: datetime.date, zone: zoneinfo.ZoneInfo) -> Q:
    """Return the condition that the field is on a day before this one; an index on the field serves it."""
    start, midnight = begins(day, zone), bare(day)
    condition = Q(**{f"{field}__lt": start})
    return condition & ~Q(**{field: midnight}) if midnight < start else condition


def on_days(field: str, first: datetime.date, last: datetime.date, zone: zoneinfo.ZoneInfo) -> Q:
    """Return the condition that the field is on one of the days from first to last; an index on it serves it."""
    start, midnight = begins(first, zone), bare(first)
    condition = Q(**{f"{field}__gte": min(start, midnight)})
    if midnight < start:
        condition &= ~Q(**{f"{field}__gt": midnight, f"{field}__lt": start})
    elif start < midnight:
        condition = Q(**{f"{field}__gte": start})
    if last == datetime.date.max:
        return condition
    return condition & before(field, last + datetime.timedelta(days=1), zone)


def parse_day(text: str) -> datetime.date | None:
    """Return the day of a text such as `2026-05-17`, or None."""
    try:
        return datetime.date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def spans(today: datetime.date) -> dict[str, tuple[str, datetime.date, datetime.date]]:
    """Return the usual periods by their value in a URL: the label, the first day and the last day.

    They move with the calendar, so a filter saved as `last-month` still means the last month next year.
    """
    month, year = today.replace(day=1), today.replace(month=1, day=1)
    last_month = months_on(today, -1)
    last_year = year.replace(year=max(year.year - 1, 1))
    return {
        "last-7-days": (gettext("Last 7 days"), today - datetime.timedelta(days=6), today),
        "last-30-days": (gettext("Last 30 days"), today - datetime.timedelta(days=29), today),
        "this-month": (gettext("This month"), month, last_day(month)),
        "last-month": (gettext("Last month"), last_month, last_day(last_month)),
        "this-year": (gettext("This year"), year, year.replace(month=12, day=31)),
        "last-year": (gettext("Last year"), last_year, last_year.replace(month=12, day=31)),
    }


class DaysFilter(FieldListFilter):
    """Filters a list by days of a date-time field, both ends included: `list_filter = (("date", DaysFilter),)`.

    For fields in the admin's `moments`, days are those in the site's time zone, otherwise those that are stored. The
    URL contains both ends (`date__since`, `date__until`; other pages link to them with `address_part`) or one of the
    usual `spans` (`date__span=last-year`); with both, the days that are in both. Unreadable values are refused.
    """

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        self.names = (f"{field_path}__{SINCE}", f"{field_path}__{UNTIL}")
        self.span_name = f"{field_path}__{SPAN}"
        super().__init__(field, request, params, model, model_admin, field_path)
        parameters: Any = self.used_parameters
        *texts, self.span = (str((parameters.get(name) or [""])[-1]) for name in (*self.names, self.span_name))
        self.days = tuple(parse_day(text) for text in texts)
        self.first, self.last = self.days
        self.spans = spans(today_at(zone_of(current_site(request))))
        ends = zip(self.names, texts, self.days, strict=True)
        self.unreadable = [(name, text) for name, text, day in ends if text and day is None]
        if self.span in self.spans:
            _, first, last = self.spans[self.span]
            self.first, self.last = max(self.first or first, first), min(self.last or last, last)
        elif self.span:
            self.unreadable.append((self.span_name, self.span))
        has_time = field.name in getattr(model_admin, "moments", ())
        self.zone = zone_of(current_site(request)) if has_time else CALENDAR

    def expected_parameters(self) -> list[str | None]:
        """Return the parameter names of both ends and of the period."""
        return [*self.names, self.span_name]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Filter the list."""
        if self.first is None and self.last is None:
            return queryset
        first, last = self.first or datetime.date.min, self.last or datetime.date.max
        return queryset.filter(on_days(self.field_path, first, last, self.zone)) if first <= last else queryset.none()

    def choices(self, changelist: object) -> Iterator[Any]:
        """Yield nothing: the filter bar has its own inputs for days."""
        yield from ()

    def description(self) -> str:
        """Return the days in words: the period's name, or both ends."""
        ends = (
            gettext("%(value)s to %(value2)s") % {"value": self.days[0] or "…", "value2": self.days[1] or "…"}
            if any(self.days)
            else ""
        )
        span = self.spans[self.span][0] if self.span in self.spans else ""
        if ends and not span:
            labels = (label for label, *days in self.spans.values() if tuple(days) == self.days)
            return next(labels, ends)
        return ", ".join(part for part in (span, ends) if part)


def address_part(field: str, first: datetime.date | None, last: datetime.date | None) -> dict[str, str]:
    """Return the query parameters with which a list with a DaysFilter on the field shows these days."""
    days = {f"{field}__{SINCE}": first, f"{field}__{UNTIL}": last}
    return {name: day.isoformat() for name, day in days.items() if day is not None}
