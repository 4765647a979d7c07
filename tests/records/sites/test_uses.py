"""Who uses a record or entry, by kind and name."""

from typing import Any

from records.reference.models import Title
from records.sites.models import Site
from records.sites.uses import Use, uses_of
from tests import make
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer


def all_uses(target: Any) -> list[Use]:
    """Return the uses that somebody sees from whom no record is hidden."""
    return uses_of(target, lambda model: model._default_manager.all())


def test_a_record_that_points_from_its_columns_and_its_rows_counts_once(site: Site) -> None:
    title = Title.objects.get(code="DR")
    assert all_uses(title) == []
    make_customer(site, name="Harbour Foods", party_contacts=[{"title": title}, {"title": title}])
    make_complaint(site, consumer_salutation=title)
    make.make_employee(site, first_name="Ann", last_name="Baker", title=title)
    assert sorted(map(str, all_uses(title))) == [
        "1 complaint (Complaint 1)",
        "1 customer (Harbour Foods)",
        "1 employee (Ann Baker)",
    ]


def test_a_list_of_records_counts_and_bookkeeping_does_not(site: Site) -> None:
    employee = make.make_employee(site, last_name="Baker")
    make.make_employee(site, first_name="Noor", last_name="Hale", reporting_to=employee)
    make.make_job_description(site, name="Line lead", employees=[employee])
    assert sorted(map(str, all_uses(employee))) == ["1 employee (Noor Hale)", "1 job description (Line lead)"]


def test_more_than_three_are_named_by_their_first(site: Site) -> None:
    customer = make_customer(site)
    for _ in range(4):
        make_complaint(site, customer=customer)
    assert [str(use) for use in all_uses(customer)] == ["4 complaints (Complaint 1, Complaint 2, Complaint 3, …)"]
