"""Date-times by the day on which people see them, and the list filter that asks for a span of days.

A bare date is kept as midnight UTC and is that day everywhere (DECISIONS 1.8); every other moment belongs to the day
that the site's clocks show. So the days of a site west of Greenwich begin with one midnight UTC that stands before
their own midnight.
"""

import datetime
import zoneinfo
from typing import Any

from django.contrib.admin import FieldListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from records.backoffice.current import current_site, zone_of
from records.history.trail import now

SINCE, UNTIL = "since", "until"
CALENDAR = zoneinfo.ZoneInfo("UTC")
"""The zone of fields that hold days alone, whatever time of day they were sent with."""


def begins(day: datetime.date, zone: zoneinfo.ZoneInfo) -> datetime.datetime:
    """Return the moment, in UTC, at which the day begins at the site, kept within the calendar."""
    try:
        return datetime.datetime.combine(day, datetime.time(), zone).astimezone(datetime.UTC)
    except OverflowError:
        return bare(day)


def bare(day: datetime.date) -> datetime.datetime:
    """Return the moment as which the day alone is kept: its midnight UTC."""
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC)


def day_of(moment: datetime.datetime, zone: zoneinfo.ZoneInfo) -> datetime.date:
    """Return the day on which people at the site see the moment."""
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
    """Return the condition that the field lies on a day before this one; read from an index on the field."""
    start, midnight = begins(day, zone), bare(day)
    found = Q(**{f"{field}__lt": start})
    return found & ~Q(**{field: midnight}) if midnight < start else found


def on_days(field: str, first: datetime.date, last: datetime.date, zone: zoneinfo.ZoneInfo) -> Q:
    """Return the condition that the field lies on one of the days from first to last; an index on it serves."""
    start, midnight = begins(first, zone), bare(first)
    found = Q(**{f"{field}__gte": min(start, midnight)})
    if midnight < start:
        found &= ~Q(**{f"{field}__gt": midnight, f"{field}__lt": start})
    elif start < midnight:
        found = Q(**{f"{field}__gte": start})
    if last == datetime.date.max:
        return found
    return found & before(field, last + datetime.timedelta(days=1), zone)


def parsed(text: str) -> datetime.date | None:
    """Return the day that `2026-05-17` names, or None."""
    try:
        return datetime.date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


class DaysFilter(FieldListFilter):
    """Narrows a list to days of a date-time field, both ends included: `list_filter = (("date", DaysFilter),)`.

    Days are those of the site's clocks for the admin's `moments`, else as they are kept. Other pages link to a span
    with `address_part`; an address that holds something else than a date is refused with a sentence.
    """

    def __init__(
        self, field: Any, request: HttpRequest, params: Any, model: Any, model_admin: Any, field_path: str
    ) -> None:
        self.names = (f"{field_path}__{SINCE}", f"{field_path}__{UNTIL}")
        super().__init__(field, request, params, model, model_admin, field_path)
        given: Any = self.used_parameters
        self.first, self.last = (parsed(str((given.get(name) or [""])[-1])) for name in self.names)
        texts = [(name, str((given.get(name) or [""])[-1])) for name in self.names]
        self.unreadable = [(name, text) for name, text in texts if text and parsed(text) is None]
        has_time = field.name in getattr(model_admin, "moments", ())
        self.zone = zone_of(current_site(request)) if has_time else CALENDAR

    def expected_parameters(self) -> list[str | None]:
        """Return the names of both ends."""
        return list(self.names)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list."""
        if self.first is None and self.last is None:
            return queryset
        first, last = self.first or datetime.date.min, self.last or datetime.date.max
        return queryset.filter(on_days(self.field_path, first, last, self.zone))

    def choices(self, changelist: Any) -> Any:
        """Yield the usual spans, and the one in the address where it is another."""
        today = today_at(zone_of(current_site(self.request)))
        month = today.replace(day=1)
        last_month = (month - datetime.timedelta(days=1)).replace(day=1)
        last_year = today.replace(year=max(today.year - 1, 1), month=1, day=1)
        spans = (
            ("Any date", None, None),
            ("Last 7 days", today - datetime.timedelta(days=6), today),
            ("This month", month, _last_day(month)),
            ("Last month", last_month, _last_day(last_month)),
            ("Last year", last_year, last_year.replace(month=12, day=31)),
            ("This year", today.replace(month=1, day=1), today.replace(month=12, day=31)),
        )
        chosen = (self.first, self.last)
        for label, *ends in spans:
            given = {name: day.isoformat() for name, day in zip(self.names, ends, strict=True) if day is not None}
            left = [name for name in self.names if name not in given]
            yield {
                "selected": tuple(ends) == chosen,
                "query_string": changelist.get_query_string(given, left),
                "display": label,
            }
        if chosen not in {(first, last) for _, first, last in spans}:
            label = f"{self.first or '…'} to {self.last or '…'}"
            yield {"selected": True, "query_string": changelist.get_query_string(), "display": label}


def address_part(field: str, first: datetime.date | None, last: datetime.date | None) -> dict[str, str]:
    """Return the query parameters by which a list with a DaysFilter on the field shows these days."""
    given = {f"{field}__{SINCE}": first, f"{field}__{UNTIL}": last}
    return {name: day.isoformat() for name, day in given.items() if day is not None}


def _last_day(month: datetime.date) -> datetime.date:
    return (month.replace(day=28) + datetime.timedelta(days=4)).replace(day=1) - datetime.timedelta(days=1)
