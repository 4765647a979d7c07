"""Retention periods: set by Site Administrators for each kind of record, shown on records, and deleting nothing."""

import datetime

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.complaints.models import Complaint
from records.history.models import Change
from records.operations.housekeeping import clean_up
from records.retention.actions import kept_until
from records.retention.models import RetentionPeriod
from records.sites.models import Site
from records.sites.months import months_after
from tests import make
from tests.make.backoffice import address, browser, form_of, list_address, press, save
from tests.make.chains import texts
from tests.make.complaints import make_complaint, make_period

ADD = "admin:retention_retentionperiod_add"


def make_complaint_on(site: Site, moment: datetime.datetime) -> Complaint:
    """Return a complaint that was entered at the moment."""
    complaint = make_complaint(site, consumer_last_name="Przybylski")
    Complaint.objects.filter(pk=complaint.pk).update(created=moment)
    complaint.refresh_from_db()
    return complaint


@pytest.mark.parametrize(
    ("day", "months", "until"),
    [
        ("2026-01-31", 1, "2026-02-28"),
        ("2024-02-29", 12, "2025-02-28"),
        ("2026-11-15", 2, "2027-01-15"),
        ("2026-12-01", 60, "2031-12-01"),
    ],
)
def test_months_are_counted_on_the_calendar(day: str, months: int, until: str) -> None:
    assert months_after(datetime.date.fromisoformat(day), months) == datetime.date.fromisoformat(until)


def test_a_site_administrator_sets_a_period_and_records_of_the_kind_show_it(site: Site, other_site: Site) -> None:
    moment = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    complaint, other = make_complaint_on(site, moment), make_complaint_on(other_site, moment)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert "Kept at least" not in client.get(address(complaint, "read")).text
    add = reverse(ADD)
    data = form_of(client.get(add)) | {"entity": "complaint", "months": "24"}
    assert client.post(add, data).status_code == 302
    assert "Kept at least until 2028-03-01." in client.get(address(complaint, "read")).text
    assert kept_until(other) is None
    assert kept_until(make.make_employee(site)) is None
    again = client.post(add, data | {"larder_once": ""})
    assert (again.status_code, RetentionPeriod.objects.count()) == (200, 1)
    period = RetentionPeriod.objects.get()
    assert save(client, period, months="36", change_reason="New rule").status_code == 302
    assert kept_until(complaint) == datetime.date(2029, 3, 1)
    assert save(client, period, months="0", change_reason="None").status_code == 200
    assert [one.operation for one in Change.objects.filter(record_id=period.pk).order_by("number")] == [
        "AddRetentionPeriod",
        "UpdateRetentionPeriod",
    ]
    archive = reverse("admin:retention_retentionperiod_step", args=(period.pk, "archive"))
    assert press(client, archive, {"change_reason": "No rule"}).status_code == 302
    assert kept_until(complaint) is None
    assert {text.rpartition(": ")[2] for text in texts()} == {"created"}  # which `make_complaint_on` set


def test_what_may_be_erased_by_now_says_so_and_stays(site: Site) -> None:
    complaint = make_complaint_on(site, datetime.datetime(2001, 3, 1, 12, tzinfo=datetime.UTC))
    make_period(site, months=24)
    clean_up.call()
    page = browser(site, DefaultRole.READER).get(address(complaint, "read")).text
    assert "Kept at least until 2003-03-01. It may be erased from that day on; nothing is deleted by itself." in page
    assert kept_until(complaint) == datetime.date(2003, 3, 1)


def test_the_day_is_that_of_the_site(site: Site) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone="Pacific/Auckland")
    complaint = make_complaint_on(site, datetime.datetime(2026, 2, 28, 20, tzinfo=datetime.UTC))
    make_period(site, months=1)
    assert kept_until(complaint) == datetime.date(2026, 4, 1)


def test_managers_read_periods_and_other_sites_have_none_of_them(site: Site, other_site: Site) -> None:
    period = make_period(site, months=24)
    manager = browser(site)
    assert "Complaints" in manager.get(list_address(RetentionPeriod)).text
    assert manager.get(reverse(ADD)).status_code == 403
    stranger = browser(other_site, DefaultRole.SITE_ADMINISTRATOR)
    assert stranger.get(address(period)).status_code == 404
    assert browser(site, DefaultRole.STANDARD).get(list_address(RetentionPeriod)).status_code == 403


def test_within_the_period_a_consumer_is_erased_and_the_complaint_stays(site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Przybylski")
    make_period(site, months=24)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    url = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
    assert "The complaint is kept at least until" in client.get(url).text
    assert press(client, url, {"change_reason": "Asked by letter"}).status_code == 302
    complaint.refresh_from_db()
    assert complaint.consumer_last_name.startswith("erased-")
    assert not texts()
