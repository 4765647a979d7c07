"""GetComplaintList: every filter, the order, and what the index serves."""

import datetime
from typing import Any

import pytest
from django.db import connection

from records.complaints.models import Complaint
from records.reference.models import Brand, ComplaintSource, ProductionUnit
from records.sites.sequences import take_numbers
from tests import make
from tests.make.complaints import make_complaint, make_completed, make_entry, required_of

LIST = "/complaint/GetComplaintList"


def numbers(api: Any, **query: Any) -> list[int]:
    answer = api.get(LIST, query)
    assert answer.status_code == 200, answer.content
    values = [row["SiteSequenceId"] for row in answer.json()]
    assert answer["X-Total-Count"] == str(len(values))
    return values


def moment(day: int) -> datetime.datetime:
    return datetime.datetime(2024, 5, day, tzinfo=datetime.UTC)


def test_each_id_filter_finds_its_own(api: Any) -> None:
    site = api.key.site
    brand, unit, source = (make_entry(model, site) for model in (Brand, ProductionUnit, ComplaintSource))
    first, second = make_complaint(site, brand=brand), make_complaint(site, production_unit=unit, source=source)
    assert numbers(api, customerId=first.customer_id) == [1]
    assert numbers(api, productId=second.product_id) == [2]
    assert numbers(api, nonconformanceId=first.nonconformance_id) == [1]
    assert numbers(api, brandId=brand.pk) == [1]
    assert numbers(api, productionUnitId=str(unit.pk).upper()) == [2]
    assert numbers(api, sourceId=source.pk) == [2]
    assert numbers(api, customerId=f"{first.customer_id},{second.customer_id}") == [1, 2]
    assert numbers(api, customerId=first.customer_id, productId=second.product_id) == []


def test_text_status_and_dates_filter(api: Any) -> None:
    site = api.key.site
    required = required_of(site)
    make_complaint(site, date=moment(1), trace_number="LÖT-1", **required)
    make_complaint(site, date=moment(2), trace_number="LÖT-10", **required)
    make_completed(site, date=moment(3), **required)
    assert numbers(api, traceNumber="löt-1") == [1]
    assert numbers(api, traceNumber=["LÖT-1", "LÖT-10"]) == [1, 2]
    assert numbers(api, recordStatus="awaiting review") == [1, 2]
    assert numbers(api, recordStatus="Completed") == [3]
    assert numbers(api, recordStatus="Completed,Awaiting Review") == [1, 2, 3]
    assert numbers(api, dateFrom="2024-05-02") == [2, 3]
    assert numbers(api, dateTo="2024-05-02T00:00:00.000Z") == [1, 2]
    assert numbers(api, dateFrom="2024-05-02", dateTo="2024-05-02") == [2]
    assert numbers(api, search="öt-10") == [2]
    assert numbers(api, search="3") == [3]
    assert numbers(api, sort="Date", order="desc") == [3, 2, 1]


@pytest.mark.parametrize(
    ("query", "code", "hint"),
    [
        ({"CustmerId": "x"}, "UnknownParameter", "customerId"),
        ({"customerId": "abc"}, "InvalidParameter", "customerId"),
        ({"recordStatus": "Complete"}, "InvalidParameter", "Completed"),
        ({"dateFrom": "2024-05-31T08:30:00"}, "InvalidParameter", "dateFrom"),
        ({"sort": "ReasonForChange"}, "InvalidParameter", "sort"),
        ({"startIndex": "9223372036854775808"}, "InvalidParameter", "startIndex"),
        ({"search": "\x00"}, "InvalidParameter", "search"),
    ],
)
def test_a_query_that_means_nothing_is_refused(api: Any, query: dict[str, str], code: str, hint: str) -> None:
    answer = api.get(LIST, query)
    assert (answer.status_code, answer.json()["Error"]) == (400, code)
    assert hint in answer.json()["Message"]


def test_archived_ones_are_listed_only_when_asked_for(api: Any) -> None:
    site = api.key.site
    first = make_complaint(site)
    make_complaint(site)
    make.archive(first, reason="Doubled")
    assert numbers(api) == [2]
    assert numbers(api, isArchived="true") == [1]
    make.archive(first, archived=False, reason="Not doubled")
    assert numbers(api) == [1, 2]


def test_a_walk_over_a_thousand_complaints_of_one_date_meets_each_once(api: Any, settings: Any) -> None:
    from django.db import transaction

    site = api.key.site
    pattern = make_complaint(site, date=moment(1))
    with transaction.atomic():
        first = take_numbers(site.pk, Complaint.ENTITY, 999)
        Complaint.objects.bulk_create(
            Complaint(
                site=site,
                site_sequence_id=first + step,
                date=moment(1),
                customer=pattern.customer,
                product=pattern.product,
                nonconformance=pattern.nonconformance,
            )
            for step in range(999)
        )
    for walk in ("cursor", "index"):
        ids: list[str] = []
        path = f"{LIST}?limit=50&sort=Date"
        while path:
            page = api.get(path)
            assert page["X-Total-Count"] == "1000"
            ids += [row["Id"] for row in page.json()]
            link = page.headers.get("Link", "")
            path = link.partition(">")[0].removeprefix("<").removeprefix(settings.BASE_URL) if link else ""
            if walk == "index" and path:
                path = f"{LIST}?limit=50&sort=Date&startIndex={len(ids)}"
        assert len(ids) == len(set(ids)) == 1000


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="reads PostgreSQL's plan")
@pytest.mark.django_db
def test_the_filters_read_an_index() -> None:
    plans = {
        "trace_number_key__whole_in": "complaint_by_trace_number",
        "customer_id": "complaint_of_customer",
        "product_id": "complaint_of_product",
        "nonconformance_id": "complaint_of_nonconformance",
        "brand_id": "complaint_of_brand",
        "production_unit_id": "complaint_of_production_unit",
        "source_id": "complaint_of_source",
    }
    some = "3f2b8a52-0000-4000-8000-000000000001"
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    for lookup, index in plans.items():
        # On an empty table any index of the site looks as good, so only the text is asked for with the site.
        within = {"site_id": some} if lookup.startswith("trace") else {}
        # Without an order, so that the primary key, which gives one, does not look as cheap on an empty table.
        rows = Complaint.objects.filter(**within, **{lookup: [some] if lookup.endswith("_in") else some}).order_by()
        assert index in rows.explain(), lookup
