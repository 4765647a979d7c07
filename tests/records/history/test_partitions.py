"""The product on a history that was taken over into partitions, in each step of the plan of docs/scale.md."""

from typing import Any

import pytest
from django.db import connection

from bench import partitions as plan
from records.complaints import actions
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.history.models import Change
from records.history.verification import verify
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.complaints import make_complaint

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no partitions.")


def run(sql: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else []


def tables(site: Site) -> list[tuple[str, int]]:
    """Return in which tables the site's changes are, in the order of their numbers, and how many each has."""
    return run(
        f"SELECT tableoid::regclass::text, count(*) FROM history_change WHERE chain = '{site.pk}' "  # noqa: S608
        "GROUP BY 1 ORDER BY min(number)"
    )


def head(site: Site) -> int:
    return Change.objects.filter(chain=site.pk).order_by("number").values_list("number", flat=True).last() or 0


def update(complaint: Complaint, text: str) -> None:
    actions.update_complaint_detail(
        complaint.site_id,
        complaint.pk,
        {"consumer_address": text},
        author=make.SYSTEM,
        may_change_completed=True,
        reason="Moved",
    )


def test_records_are_written_read_erased_and_verified_in_every_step_of_the_plan(
    site: Site, other_site: Site, api: Api
) -> None:
    run("SET CONSTRAINTS ALL IMMEDIATE")  # otherwise no table could be altered in this transaction
    complaint = make_complaint(site, consumer_last_name="Przybylski", consumer_address="Elm Street 1")
    plan.take_over(run)
    update(complaint, "Elm Street 2")
    assert [name for name, _ in tables(site)] == [plan.REST]

    begins = head(site) + 2
    plan.promise(run, {site.pk: (begins, None)}, "ends")
    plan.prove(run, "ends")
    plan.begin(run, site.pk, begins)
    for number in range(3, 6):
        update(complaint, f"Elm Street {number}")
    make_complaint(other_site)
    assert tables(site) == [(plan.REST, begins - 1), (plan.name_of(site.pk, begins), 2)]

    plan.promise(run, {site.pk: (0, begins)}, "leave")
    plan.move_rows(run, site.pk, begins)
    plan.prove(run, "leave")
    plan.attach(run, site.pk, begins)
    assert [name for name, _ in tables(site)] == [plan.name_of(site.pk, 0), plan.name_of(site.pk, begins)]
    assert [name for name, _ in tables(other_site)] == [plan.REST]

    end = head(site) + 1
    run(f"ALTER TABLE {plan.name_of(site.pk, begins)} ADD CHECK (number < {end})")
    plan.close(run, site.pk, begins, end)
    update(complaint, "Elm Street 6")
    assert tables(site)[2:] == [(plan.name_of(site.pk, end), 1)]

    rows = api.get("/change/GetChangeList", {"entity": "Complaint"}).json()
    numbers = list(Change.objects.filter(record_id=complaint.pk).order_by("number").values_list("number", flat=True))
    assert [row["Number"] for row in rows if row["RecordId"] == str(complaint.pk)] == numbers
    assert len(numbers) == 6
    assert not verify().faults
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="A request")
    assert "Elm Street" not in str(list(Change.objects.values_list("fields")))
    assert not verify().faults


def test_a_default_partition_that_proved_its_end_is_not_read_when_a_partition_begins(site: Site) -> None:
    run("SET CONSTRAINTS ALL IMMEDIATE")
    make_complaint(site)
    plan.take_over(run)
    plan.promise(run, {site.pk: (head(site) + 1, None)}, "ends")
    plan.prove(run, "ends")
    notices: list[str] = []
    connection.connection.add_notice_handler(lambda note: notices.append(note.message_primary or ""))
    run("SET LOCAL client_min_messages = debug1")
    plan.begin(run, site.pk, head(site) + 1)
    assert any("is implied by existing constraints" in text for text in notices), notices
