"""Following a list by time: what X-Modified-Until promises (DECISIONS 11.1)."""

import threading
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, transaction

from materials import upserts
from records.history import moments
from records.history.models import Change
from records.history.moments import until_column, until_of
from records.history.trail import recording
from records.sites.models import Site
from tests import make
from tests.make.following import follow
from tests.make.materials import make_api


def test_every_list_says_up_to_when_changes_are_visible(site: Site, api: Any) -> None:
    make.make_employee(site)
    for path in ("/employee/GetEmployeeList", "/category/GetNatureOfEmploymentList", "/complaint/GetComplaintList"):
        until = api.get(path)["X-Modified-Until"]
        assert len(until) == 24
        datetime.fromisoformat(until)


def test_asking_again_with_it_finds_what_was_changed_since(site: Site, api: Any) -> None:
    make.make_employee(site)
    until = api.get("/employee/GetEmployeeList")["X-Modified-Until"]
    later = make.make_employee(site)
    rows = api.get("/employee/GetEmployeeList", {"modifiedSince": until}).json()
    assert str(later.pk) in [row["Id"] for row in rows]


def visible_until(site: Site) -> datetime:
    column, parameters = until_column(site.pk)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {column}", parameters)
        return until_of(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_it_does_not_pass_the_stamp_of_a_write_that_has_not_ended() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("On SQLite nobody else is stamped while a write is under way.")
    site = make.make_site("Hillside Bakery")
    is_stamped, go_on = threading.Event(), threading.Event()
    employees: list[Any] = []

    def write() -> None:
        with recording():
            employees.append(make.make_employee(site))
            is_stamped.set()
            go_on.wait(20)

    def read() -> Any:
        is_stamped.wait(20)
        make.make_employee(site.__class__.objects.create(name="Another"))
        before = visible_until(site)
        go_on.set()
        return before

    _, before = make.at_once(write, read)
    assert before <= employees[0].last_modified
    assert visible_until(site) > employees[0].last_modified


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("writes_itself", [False, True])
def test_it_does_not_pass_the_stamp_of_a_write_that_has_not_stored_anything_yet(*, writes_itself: bool) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("On SQLite nobody else is stamped while a write is under way.")
    site = make.make_site("Hillside Bakery")
    ready, is_stamped, go_on = threading.Event(), threading.Event(), threading.Event()

    def write() -> Any:
        ready.wait(20)
        with transaction.atomic():
            moments.start_stamping()
            stamp = moments.now()
            is_stamped.set()
            go_on.wait(20)
        connection.larder_clock = None  # type: ignore[attr-defined]
        return stamp

    def read() -> Any:
        with transaction.atomic():
            if writes_itself:
                Site.objects.filter(pk=site.pk).update(name="Hilltop Bakery")
            ready.set()
            is_stamped.wait(20)
            time.sleep(0.01)
            before = visible_until(site)
        go_on.set()
        return before

    stamp, before = make.at_once(write, read)
    assert before <= stamp
    assert visible_until(site) > stamp


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no clock of its own.")
def test_every_change_has_the_time_of_the_database_however_wrong_the_clock_of_the_machine_is(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The changes of several rows are added only while the database stores the rows."""

    class WrongClock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2001, 1, 1, tzinfo=tz)

    monkeypatch.setattr(moments, "datetime", SimpleNamespace(datetime=WrongClock, timedelta=timedelta, UTC=UTC))
    desired = [upserts.DesiredMaterial({"external_id": name, "name": name}) for name in ("rye", "wheat")]
    upserts.upsert_all(site.pk, desired, author=make.SYSTEM, may=lambda permission: True)
    times = Change.objects.filter(model="materials.Material").values_list("at", flat=True)
    assert [at.year > 2001 for at in times] == [True, True]


@pytest.mark.django_db(transaction=True)
def test_a_follower_by_time_misses_no_write_of_six_writers(settings: Any) -> None:
    settings.RATE_LIMIT = 10**6
    api = make_api(make.make_site("Hillside Bakery"))
    stored_ids, followed_ids, polls = follow(api, 2)
    assert polls > 2
    assert len(stored_ids) > 20
    assert stored_ids <= followed_ids, sorted(stored_ids - followed_ids)
