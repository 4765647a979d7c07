"""The worker counts what a start page shows at the beginning of a site's day, before somebody waits for it."""

import datetime
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.dashboard import tasks
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action
from tests.make.backoffice import browser
from tests.make.complaints import make_complaint

pytestmark = pytest.mark.django_db


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> datetime.datetime:
    """Return the time at which the task runs: half past midnight in UTC."""
    at = datetime.datetime(2026, 12, 1, 0, 30, tzinfo=datetime.UTC)
    monkeypatch.setattr(tasks, "now", lambda: at)
    return at


def count_queries(site: Site) -> int:
    """Open the start page of a site; return how many queries count by groups."""
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(reverse("admin:index")).status_code == 200
    return sum("COUNT(" in query["sql"] and "GROUP BY" in query["sql"] for query in queries)


def test_what_was_counted_ahead_is_not_counted_again(site: Site, moment: Any) -> None:
    make_action(site, about=make_complaint(site))
    assert count_queries(site) > 5
    make_action(site, about=make_complaint(site))
    assert tasks.count_ahead.call() == 1
    assert count_queries(site) == 0


def test_only_sites_where_a_day_begins_are_counted(site: Site, moment: datetime.datetime) -> None:
    make_complaint(site)
    for zone in ("Asia/Tokyo", "Europe/Berlin", "America/New_York"):
        make_complaint(make.make_site(zone, time_zone=zone))
    archived = make.make_site("Closed")
    Site.objects.filter(pk=archived.pk).update(is_archived=True)
    assert tasks.count_ahead.call() == 2
    assert tasks.EARLY * datetime.timedelta(hours=1) > settings.REGULAR_JOBS[tasks.count_ahead.module_path]
