"""The columns of a list that each person chooses, and what stays private in them."""

from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice.models import ListColumns
from records.complaints.models import Complaint
from records.employees.models import Employee
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make.backoffice import browser, list_address, sign_in
from tests.make.complaints import make_complaint, required_of

pytestmark = pytest.mark.django_db

COLUMNS = reverse("admin:complaints_complaint_columns")


def column_names(client: Any, at: str = list_address(Complaint)) -> list[str]:
    page = client.get(at)
    return [row["name"] for row in page.context["columns"]["rows"] if row["checked"]]


def test_columns_are_kept_for_the_person_and_reset_to_the_usual_ones(site: Site) -> None:
    complaint = make_complaint(site, trace_number="L-1", quantity="2.5")
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    client: Any = sign_in(user, site)
    usual = column_names(client)
    answer = client.post(f"{COLUMNS}?archived=all&o=3", {"column": ["quantity", "brand", "nonsense", "number"]})
    assert answer.url == f"{list_address(Complaint)}?archived=all"
    assert column_names(sign_in(user, site)) == ["number", "date", "quantity", "brand"]
    page = client.get(list_address(Complaint)).content.decode()
    assert ">2.5</td>" in page
    assert "field-trace_number" not in page
    assert f'aria-label="Choose {complaint}"' in page
    assert column_names(browser(site)) == usual
    client.post(COLUMNS, {"reset": "yes"})
    assert column_names(client) == usual
    assert not ListColumns.objects.exists()
    operations = Change.objects.filter(model="backoffice.ListColumns", author_id=user.pk)
    assert [change.operation for change in operations] == ["ChooseColumns", "ChooseColumns"]


def test_what_is_private_can_neither_be_chosen_nor_stays_when_a_role_ends(site: Site) -> None:
    make.make_employee(site, phone="555-0100")
    address, page = list_address(Employee), reverse("admin:employees_employee_columns")
    reader, manager = browser(site, DefaultRole.READER), browser(site)
    for client in (reader, manager):
        client.post(page, {"column": ["phone"]})
    assert "555-0100" in manager.get(address).content.decode()
    assert "555-0100" not in reader.get(address).content.decode()
    assert "phone" not in [row["name"] for row in reader.get(address).context["columns"]["rows"]]
    ListColumns.objects.update(columns=["phone", "gone"])
    assert "555-0100" not in reader.get(address).content.decode()


def test_a_list_is_only_changed_by_those_who_see_it(site: Site) -> None:
    stranger = make.make_user(site=site)
    make.make_role(site, ["items.view_item"], [stranger])
    client = sign_in(stranger, site)
    assert client.post(COLUMNS, {"column": ["quantity"]}).status_code == 403
    assert browser(site).get(COLUMNS).status_code == 405


def test_chosen_columns_cost_no_query_a_row(site: Site, django_assert_max_num_queries: Any) -> None:
    client, costs = browser(site, DefaultRole.MANAGER), []
    names = [row["name"] for row in client.get(list_address(Complaint)).context["columns"]["rows"]]
    client.post(COLUMNS, {"column": names})
    client.get(list_address(Complaint))
    for _ in range(2):
        for _ in range(3):
            make_complaint(site, **required_of(site))
        with django_assert_max_num_queries(40) as queries:
            client.get(list_address(Complaint))
        costs.append(len(queries))
    assert costs[0] == costs[1]
