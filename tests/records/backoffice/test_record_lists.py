"""What every list of records and every field's choices see to, shown on employees."""

from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.employees.admin import EmployeeAdmin
from records.employees.models import Employee
from records.reference.admin import EntryAdmin
from records.reference.models import Product
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, browser, form_of, list_address
from tests.make.complaints import make_entry


@pytest.mark.parametrize(
    "query", ["?p=0", "?p=x", "?o=99", "?q=%00", "?q=Baker", "?archived=yes", "?archived=all", "?zz=1"]
)
def test_odd_list_addresses_answer(site: Site, query: str) -> None:
    make.make_employee(site)
    assert browser(site).get(list_address(Employee) + query).status_code == (400 if query == "?zz=1" else 200)


def test_a_list_costs_the_same_for_few_and_for_many_rows(site: Site, django_assert_max_num_queries: Any) -> None:
    client = browser(site)
    counts = []
    for number in (3, 40):
        while Employee.objects.count() < number:
            make.make_employee(site, reporting_to=Employee.objects.first())
        client.get(list_address(Employee))
        with django_assert_max_num_queries(30) as queries:
            page = client.get(list_address(Employee))
        counts.append(len(queries.captured_queries))
        assert not [q for q in queries.captured_queries if "COUNT(" in q["sql"]]
    assert counts[0] == counts[1]
    assert "40 employees" in page.content.decode()


def test_a_list_longer_than_its_page_says_how_many_it_has_as_far_as_is_known(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmployeeAdmin, "list_per_page", 2)
    monkeypatch.setattr(EntryAdmin, "list_per_page", 2)
    for number in range(5):
        make.make_employee(site, first_name=f"Ada {number}")
        make_entry(Product, site, f"Loaf {number}")
    client = browser(site)
    for page, total in (
        ("", "5 employees"),
        ("?q=ada", "more than 2 employees"),
        ("?q=ada&p=2", "more than 4 employees"),
        ("?q=ada&p=3", "5 employees"),
    ):
        assert f'<span class="total">{total}</span>' in client.get(list_address(Employee) + page).content.decode()
    for page, total in (("", "more than 2 products"), ("?p=3", "5 products")):
        assert f'<span class="total">{total}</span>' in client.get(list_address(Product) + page).content.decode()


def test_choices_are_those_of_the_records_site(site: Site, other_site: Site) -> None:
    own, foreign = make.make_employee(site, last_name="Zane"), make.make_employee(other_site, last_name="Zane")
    guest_account = make.make_user(site=other_site, role=DefaultRole.MANAGER)
    guest = make.make_employee(other_site, id=guest_account.pk, user=guest_account, last_name="Zane")
    make.give_role(guest_account, site, DefaultRole.READER)
    client = browser(site)
    field = {"field": "employees.employee.reporting_to", "site": str(site.pk), "q": "zan"}
    rows = client.get(reverse("admin:choose"), field).json()["results"]
    assert {row["id"] for row in rows} == {str(own.pk), str(guest.pk)}
    assert client.get(reverse("admin:choose"), {**field, "site": str(other_site.pk)}).status_code == 403
    assert client.get(reverse("admin:choose"), {**field, "field": "accounts.user.password"}).status_code == 404
    data = form_of(client.get(address(own)))
    response = client.post(address(own), {**data, "reporting_to": str(foreign.pk), "change_reason": "New chief"})
    assert "Choose one of the entries that are offered." in response.content.decode()
    assert foreign.last_name not in str(response.context["adminform"].form["reporting_to"])


@pytest.mark.parametrize(
    "query",
    ["date_of_birth__gte=1980-01-01", "nationality__id__exact=x", "first_name__startswith=A", "created_by__password=x"],
)
def test_a_list_cannot_be_probed_for_what_the_user_may_not_see(site: Site, query: str) -> None:
    make.make_employee(site)
    assert browser(site, DefaultRole.READER).get(f"{list_address(Employee)}?{query}").status_code == 400


def test_a_list_is_narrowed_by_a_reference_in_its_address(site: Site) -> None:
    chief = make.make_employee(site)
    make.make_employee(site, reporting_to=chief, last_name="Under")
    page = browser(site).get(f"{list_address(Employee)}?reporting_to__id__exact={chief.pk}")
    assert [row.last_name for row in page.context["cl"].result_list] == ["Under"]
