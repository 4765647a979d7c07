"""Addresses of lists that cannot be read: filters that nobody knows, and pages behind the last one."""

import pytest
from django.contrib import admin
from django.urls import reverse

from records.accounts.models import DefaultRole, Role, User
from records.customers.models import Customer
from records.employees.models import Employee
from records.sites.models import EntityFolder, Site
from tests import make
from tests.make.backoffice import address, browser, list_address, make_superuser, sign_in
from tests.make.transfer import page

UNREADABLE = ("foo=1", "created__year=99999999", "created__gte=yesterday", "site__id__exact=x")


@pytest.mark.parametrize("query", UNREADABLE)
@pytest.mark.parametrize("model", [Employee, Customer, User, EntityFolder])
def test_a_filter_that_cannot_be_read_is_named_on_a_page_of_its_own(model: type, query: str, site: Site) -> None:
    make.make_employee(site)
    answer = sign_in(make_superuser(), site).get(f"{list_address(model)}?{query}")
    text = answer.content.decode()
    assert answer.status_code == 400
    assert f"The list cannot be filtered by “{query}”." in text


@pytest.mark.parametrize("query", ["nationality__isnull=True", "date_of_birth__year=1980", "_to_field=phone"])
def test_a_filter_that_one_may_not_use_is_answered_as_one_that_does_not_exist(query: str, site: Site) -> None:
    client = browser(site, DefaultRole.READER)
    for url in (list_address(Employee), page(Employee, "export", "csv")):
        answer = client.get(f"{url}?{query}")
        assert answer.status_code == 400
        assert "The list cannot be filtered by" in answer.text


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("query", UNREADABLE)
def test_an_export_with_a_filter_that_cannot_be_read_is_refused_in_words(kind: str, query: str, site: Site) -> None:
    answer = browser(site).get(f"{page(Customer, 'export', kind)}?{query}")
    assert answer.status_code == 400
    assert "text/html" in answer["Content-Type"]


def test_no_list_fails_on_a_filter_that_nobody_knows(site: Site) -> None:
    client = sign_in(make_superuser(), site)
    for model in admin.site._registry:
        for query in ("foo=1", "id__year=99999999", "e=1"):
            assert client.get(f"{list_address(model)}?{query}").status_code in (200, 400), (model, query)


def test_a_page_behind_the_last_one_shows_the_last_one(site: Site) -> None:
    last, *_ = [make.make_employee(site) for _ in range(52)]
    client = browser(site)
    for number in ("9999", "999999999999999999999", "2"):
        answer = client.get(f"{list_address(Employee)}?p={number}")
        text = answer.content.decode()
        assert answer.status_code == 200
        assert "Page 2" in text
        assert last.last_name in text
    for number in ("0", "-3", "x"):
        assert "Page 1" in client.get(f"{list_address(Employee)}?p={number}").content.decode()


def test_the_history_and_the_members_of_a_role_show_their_last_page_too(site: Site) -> None:
    employee, member = make.make_employee(site), make.make_user(site=site, role=DefaultRole.STANDARD)
    role = Role.objects.get(site=site, default_role=DefaultRole.STANDARD)
    client = sign_in(make_superuser(), site)
    history = client.get(f"{address(employee, 'history')}?p=9999").content.decode()
    assert "Added" in history
    assert "Page 1" in history
    members = client.get(f"{reverse('admin:accounts_role_members', args=(role.pk,))}?p=9999").content.decode()
    assert member.user_name in members
