"""Which day a moment belongs to, in the database as on the page."""

import datetime
import zoneinfo

import pytest

from records.backoffice.date_filters import before, day_of, on_days
from records.complaints.models import Complaint
from records.sites.models import Site
from tests.make.complaints import make_complaint, required_of

DAY = datetime.date(2026, 3, 1)
MOMENTS = [
    datetime.datetime(2026, 2, 28, 9, 59, 59, tzinfo=datetime.UTC),
    datetime.datetime(2026, 2, 28, 10, 0, tzinfo=datetime.UTC),
    datetime.datetime(2026, 2, 28, 23, 59, 59, tzinfo=datetime.UTC),
    datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.UTC),
    datetime.datetime(2026, 3, 1, 4, 59, 59, tzinfo=datetime.UTC),
    datetime.datetime(2026, 3, 1, 5, 0, tzinfo=datetime.UTC),
    datetime.datetime(2026, 3, 1, 23, 30, tzinfo=datetime.UTC),
    datetime.datetime(2026, 3, 2, 0, 0, tzinfo=datetime.UTC),
    datetime.datetime(2026, 3, 2, 4, 30, tzinfo=datetime.UTC),
    datetime.datetime(2026, 3, 2, 5, 0, tzinfo=datetime.UTC),
]


@pytest.mark.parametrize("name", ["UTC", "America/New_York", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kolkata"])
def test_a_bare_date_is_its_day_everywhere_and_a_moment_that_of_the_sites_clocks(site: Site, name: str) -> None:
    zone = zoneinfo.ZoneInfo(name)
    required = required_of(site)
    for moment in MOMENTS:
        make_complaint(site, date=moment, **required)

    def dates(condition: object) -> list[datetime.datetime | None]:
        return list(Complaint.objects.filter(condition).order_by("date").values_list("date", flat=True))

    assert dates(on_days("date", DAY, DAY, zone)) == [moment for moment in MOMENTS if day_of(moment, zone) == DAY]
    assert dates(before("date", DAY, zone)) == [moment for moment in MOMENTS if day_of(moment, zone) < DAY]


def test_new_york_counts_a_midnight_as_the_day_it_names_and_the_evening_before_as_the_day_before() -> None:
    zone = zoneinfo.ZoneInfo("America/New_York")
    assert day_of(datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC), zone) == DAY
    assert day_of(datetime.datetime(2026, 3, 1, 0, 30, tzinfo=datetime.UTC), zone) == datetime.date(2026, 2, 28)


def test_the_ends_of_the_calendar_are_days_too(site: Site) -> None:
    zone = zoneinfo.ZoneInfo("Pacific/Auckland")
    last = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC)
    first = datetime.datetime(1, 1, 1, 0, 30, tzinfo=datetime.UTC)
    for moment in (first, last):
        make_complaint(site, date=moment)
    assert Complaint.objects.filter(on_days("date", datetime.date.min, datetime.date.max, zone)).count() == 2
