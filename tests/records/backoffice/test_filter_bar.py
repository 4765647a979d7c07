"""The filter bar: several filters at once, chips that take one away, and sentences for what cannot be read."""

import datetime
from typing import Any

import pytest

from documents.models import Document
from records.actions.models import Action
from records.attachments.models import Attachment
from records.audits.models import AuditProgram, AuditRecord
from records.backoffice import date_filters
from records.backoffice.date_filters import spans
from records.backoffice.filter_bar import chips
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.employees.models import Employee, JobDescription
from records.items.models import Item
from records.reference.models import Cause, ComplaintMethod, Nonconformance, Product
from records.sites.models import Entity
from tests import make
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.backoffice import address, browser, list_address
from tests.make.complaints import make_complaint, make_entry
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item

pytestmark = pytest.mark.django_db


def row_ids(page: Any) -> set[Any]:
    assert page.status_code == 200
    return {row.pk for row in page.context["cl"].result_list}


def test_several_filters_narrow_at_once_and_each_chip_takes_one_away(site: Any) -> None:
    rye, oat = make_entry(Product, site, "Rye loaf"), make_entry(Product, site, "Oat loaf")
    metal = make_entry(Nonconformance, site, "Metal")
    hit = make_complaint(site, product=rye, nonconformance=metal)
    other_product = make_complaint(site, product=oat, nonconformance=metal)
    make_complaint(site, product=rye)
    client = browser(site)
    query = f"product__id__exact={rye.pk}&nonconformance__id__exact={metal.pk}"
    page = client.get(f"{list_address(Complaint)}?{query}")
    assert row_ids(page) == {hit.pk}
    without_product, without_metal = chips(page.context["cl"])
    assert (without_product["text"], without_metal["text"]) == ("Product: Rye loaf", "Nonconformance: Metal")
    assert row_ids(client.get(list_address(Complaint) + without_product["url"])) == {hit.pk, other_product.pk}
    both = f"product__id__exact={rye.pk}&product__id__exact={oat.pk}&nonconformance__id__exact={metal.pk}"
    page = client.get(f"{list_address(Complaint)}?{both}")
    assert row_ids(page) == {hit.pk, other_product.pk}
    assert f'<option value="{rye.pk}" selected>Rye loaf</option>' in page.content.decode()


def test_any_range_of_dates_and_last_year_are_filters(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    monkeypatch.setattr(date_filters, "today_at", lambda zone: today)
    last_year = today.year - 1
    old = make_complaint(site, date=datetime.datetime(last_year, 6, 1, 12, tzinfo=datetime.UTC))
    make_complaint(site)
    client = browser(site)
    page = client.get(f"{list_address(Complaint)}?date__since={last_year}-05-31&date__until={last_year}-06-02")
    assert row_ids(page) == {old.pk}
    assert '<option value="last-year">Last year</option>' in page.content.decode()
    for name, day in (("date__since", f"{last_year}-05-31"), ("date__until", f"{last_year}-06-02")):
        assert f'id="filter-{name}" name="{name}" value="{day}"' in page.content.decode()
    for query in ("date__span=last-year", f"date__since={last_year}-01-01&date__until={last_year}-12-31"):
        page = client.get(f"{list_address(Complaint)}?{query}")
        assert row_ids(page) == {old.pk}
        assert [chip["text"] for chip in chips(page.context["cl"])] == ["Date: Last year"]
    page = client.get(f"{list_address(Complaint)}?date__span=last-year&date__since={last_year}-06-02")
    assert row_ids(page) == set()
    assert [chip["text"] for chip in chips(page.context["cl"])] == [f"Date: Last year, {last_year}-06-02 to …"]


@pytest.mark.parametrize("day", ["2024-02-29", "2026-01-01", "2026-12-31", "0001-02-01"])
def test_the_usual_spans_are_whole_months_and_years_on_every_day(day: str) -> None:
    today = datetime.date.fromisoformat(day)
    days_by_span = {key: ends for key, (_, *ends) in spans(today).items()}
    assert days_by_span["last-month"][1] + datetime.timedelta(days=1) == days_by_span["this-month"][0]
    assert days_by_span["this-year"] == [today.replace(month=1, day=1), today.replace(month=12, day=31)]
    assert all(first <= last for first, last in days_by_span.values())


@pytest.mark.parametrize(
    "query", ["date__since=yesterday", "date__span=last-decade", "archived=maybe", "product__id__exact=rye"]
)
def test_a_filter_that_cannot_be_read_is_named_instead_of_showing_everything(site: Any, query: str) -> None:
    page = browser(site).get(f"{list_address(Complaint)}?{query}")
    assert page.status_code == 400
    assert f"“{query}”" in page.content.decode()


def test_the_search_and_the_order_of_the_list_stay_when_a_filter_is_chosen(site: Any) -> None:
    page = browser(site).get(f"{list_address(Employee)}?q=ada&o=2&p=3")
    text = page.content.decode()
    assert '<input type="hidden" name="q" value="ada">' in text
    assert '<input type="hidden" name="o" value="2">' in text
    assert 'type="hidden" name="p"' not in text


def test_a_list_of_employees_is_narrowed_by_who_they_report_to(site: Any) -> None:
    chief = make.make_employee(site)
    baker = make.make_employee(site, reporting_to=chief)
    page = browser(site).get(f"{list_address(Employee)}?reporting_to__id__exact={chief.pk}")
    assert row_ids(page) == {baker.pk}
    assert address(baker, "read") in page.content.decode()


@pytest.mark.parametrize("model", [Customer, Document, Employee, Item], ids=lambda model: model.__name__)
def test_lists_are_narrowed_to_a_folder(site: Any, model: Any) -> None:
    makers: dict[Any, Any] = {
        Customer: make_customer,
        Document: make_document,
        Employee: make.make_employee,
        Item: make_item,
    }
    folder = make.make_folder(site, Entity(model._meta.model_name), "Line 2")
    inside = makers[model](site, entity_folder=folder)
    makers[model](site)
    page = browser(site).get(f"{list_address(model)}?entity_folder__id__exact={folder.pk}")
    assert row_ids(page) == {inside.pk}
    assert [chip["text"] for chip in chips(page.context["cl"])] == ["Folder: Line 2"]
    assert f'<option value="{folder.pk}" selected>Line 2</option>' in page.content.decode()


def test_reviews_of_jobs_and_days_of_attachments_are_filters(site: Any) -> None:
    due = make.make_job_description(site, review_date=datetime.datetime(2026, 5, 4, tzinfo=datetime.UTC))
    make.make_job_description(site)
    client = browser(site)
    page = client.get(f"{list_address(JobDescription)}?review_date__since=2026-05-04&review_date__until=2026-05-04")
    assert row_ids(page) == {due.pk}
    photo = make_attachment(site)
    assert row_ids(client.get(f"{list_address(Attachment)}?created__span=this-year")) == {photo.pk}
    assert row_ids(client.get(f"{list_address(Attachment)}?created__until=2001-01-01")) == set()


def test_how_a_complaint_came_and_what_caused_an_action_are_filters(site: Any) -> None:
    phone, cause = make_entry(ComplaintMethod, site, "Telephone"), make_entry(Cause, site, "Worn sieve")
    complaint, action = make_complaint(site, method=phone), make_action(site, cause=cause)
    make_complaint(site)
    make_action(site)
    client = browser(site)
    page = client.get(f"{list_address(Complaint)}?method__id__exact={phone.pk}")
    assert row_ids(page) == {complaint.pk}
    assert [chip["text"] for chip in chips(page.context["cl"])] == ["Method: Telephone"]
    page = client.get(f"{list_address(Action)}?cause__id__exact={cause.pk}")
    assert row_ids(page) == {action.pk}
    assert [chip["text"] for chip in chips(page.context["cl"])] == ["Cause: Worn sieve"]


def test_empty_lists_of_what_is_not_added_above_them_say_where_it_comes_from(site: Any) -> None:
    client = browser(site)
    audits = client.get(list_address(AuditRecord)).content.decode()
    assert "An audit is scheduled on the page of its program." in audits
    assert f'href="{list_address(AuditProgram)}">Audit programs</a>' in audits
    assert "Files are attached on the page of the record" in client.get(list_address(Attachment)).content.decode()
    assert "Add the first item" in client.get(list_address(Item)).content.decode()
