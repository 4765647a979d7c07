"""Queries of any form that are read together have the rows that each has by itself."""

from typing import Any

import pytest
from django.db import connection
from django.db.models import Count, F, Prefetch
from django.test.utils import CaptureQueriesContext

from records.complaints.models import Complaint
from records.customers.models import Customer
from records.history.statements import count_together, read_together
from records.sites.models import Site
from tests.make.complaints import make_complaint

pytestmark = pytest.mark.django_db


def queries_at(site: Site) -> list[Any]:
    """Return queries of each form that a page has."""
    rows = Complaint.objects.at(site).order_by("site_sequence_id")
    return [
        rows.select_related("product", "customer")[:2],
        rows.values("pk", "product__name"),
        rows.values_list("pk", "date"),
        rows.values_list("customer__name", flat=True),
        rows.annotate(name_of_product=F("product__name")).only("date"),
        rows.order_by().values_list("record_status").annotate(count=Count("*")),
        rows.filter(pk__in=[]),
        rows.prefetch_related(Prefetch("customer", Customer.objects.all())),
    ]


def values(rows: Any) -> list[Any]:
    """Return the rows with all that is loaded of them."""
    return [{**vars(row), "_state": None} if hasattr(row, "_state") else row for row in rows]


def test_each_query_has_its_rows_and_none_is_read_twice(site: Site, monkeypatch: Any) -> None:
    for _ in range(3):
        make_complaint(site)
    expected = [values(rows) for rows in queries_at(site)]
    queries, trips, together = queries_at(site), [], connection.together  # type: ignore[attr-defined]

    def count(statements: Any) -> Any:
        trips.append(len(statements))
        return together(statements)

    monkeypatch.setattr(connection, "together", count)
    read_together(*queries)
    assert trips == [7]
    with CaptureQueriesContext(connection) as again:
        assert [str(values(rows)) for rows in queries] == [str(rows) for rows in expected]
    # The query that can have no rows is not sent, and Django does not send it either.
    assert len(again) == 0
    assert expected[0] != expected[-1]
    assert [len(rows) for rows in expected] == [2, 3, 3, 3, 3, 1, 0, 3]


def test_a_query_that_is_derived_from_one_that_was_read_has_its_own_rows(site: Site) -> None:
    first, second = make_complaint(site), make_complaint(site)
    rows = Complaint.objects.at(site).order_by("site_sequence_id")
    read_together(rows)
    assert list(rows) == [first, second]
    assert list(rows.filter(pk=second.pk)) == [second]
    assert list(rows.values_list("pk", flat=True)) == [first.pk, second.pk]


def test_rows_are_counted_within_the_limits_of_each_query(site: Site) -> None:
    for _ in range(3):
        make_complaint(site)
    rows = Complaint.objects.at(site).select_related("product").order_by("-date", "id")
    assert count_together(rows, rows.none(), rows[:2], rows.filter(pk__in=()), rows.filter(site=None)) == [
        3,
        0,
        2,
        0,
        0,
    ]
    assert count_together() == []


def test_nothing_is_read_for_no_queries() -> None:
    with CaptureQueriesContext(connection) as none:
        read_together()
        read_together(Complaint.objects.none())
    assert len(none) == 0
