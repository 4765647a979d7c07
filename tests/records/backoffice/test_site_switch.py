"""Where somebody lands who looks at another site from now on, and what becomes of the forms that they had open."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole, RoleMembership, User
from records.backoffice.models import SavedFilter
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.employees.models import Employee
from records.history.models import Change
from records.packs.models import Pack
from records.sites.models import EntityFolder, Site
from tests import make
from tests.make.backoffice import address, form_of, list_address, make_superuser, sign_in
from tests.make.complaints import make_complaint

SOME_ID = str(uuid.UUID(int=7))


def staff_of_both(site: Site, other_site: Site, role: DefaultRole = DefaultRole.MANAGER) -> Client:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    make.give_role(user, other_site, role)
    return sign_in(user, site)


def switch_site(client: Client, to: Site, came_from: str) -> str:
    response: Any = client.post(reverse("admin:switch-site"), {"site": str(to.pk), "from": came_from})
    assert response.status_code == 302
    return str(response.url)


def test_a_list_stays_on_the_screen_and_shows_the_other_site(site: Site, other_site: Site) -> None:
    make.make_employee(site, last_name="Quillmaker")
    make.make_employee(other_site, last_name="Quillfeather")
    client = staff_of_both(site, other_site)
    client.get(list_address(Employee))
    url = switch_site(client, other_site, f"{list_address(Employee)}?q=quill&archived=all&p=3&country={SOME_ID}")
    assert url == f"{list_address(Employee)}?q=quill&archived=all"
    text = client.get(url).content.decode()
    assert "Quillfeather" in text
    assert "Quillmaker" not in text
    # The page's own form says where it stands.
    assert f'name="from" value="{list_address(Employee)}?q=quill&amp;archived=all"' in text


def test_a_record_gives_way_to_the_list_of_its_kind(site: Site, other_site: Site) -> None:
    employee, complaint = make.make_employee(site), make_complaint(site)
    client = staff_of_both(site, other_site)
    for record in (employee, complaint):
        step = f"admin:{record._meta.app_label}_{record._meta.model_name}_step"
        pages = (address(record), address(record, "history"), reverse(step, args=(record.pk, "archive")))
        for page in pages:
            assert switch_site(client, other_site, f"{page}?p=2&q=x") == list_address(type(record))
    assert switch_site(client, other_site, reverse("admin:customers_customer_add")) == list_address(Customer)


@pytest.mark.parametrize("model", [Change, EntityFolder])
def test_who_may_not_see_the_list_there_starts_at_the_start_page(site: Site, other_site: Site, model: Any) -> None:
    user = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR)
    make.make_role(other_site, ["complaints.view_complaint"], [user])
    client = sign_in(user, site)
    assert switch_site(client, site, list_address(model)) == list_address(model)
    assert switch_site(client, other_site, list_address(model)) == reverse("admin:index")
    assert switch_site(client, other_site, list_address(Complaint)) == list_address(Complaint)


def test_pages_of_all_sites_stay(site: Site, other_site: Site) -> None:
    client = staff_of_both(site, other_site)
    search, inbox = reverse("admin:search"), reverse("admin:documents_inbox")
    assert switch_site(client, other_site, f"{search}?q=rye+loaf") == f"{search}?q=rye+loaf"
    assert switch_site(client, site, inbox) == inbox
    assert switch_site(client, site, f"{inbox}{SOME_ID}/") == inbox
    assert switch_site(client, site, reverse("profile")) == reverse("profile")


@pytest.mark.parametrize(
    "elsewhere",
    [
        "",
        "/admin/",
        "/admin/nowhere/",
        "/docs/",
        "//evil.example/admin/employees/employee/",
        "https://evil.example/admin/employees/employee/",
        "/\\evil.example",
        "javascript:alert(1)",
        "/admin/logout/",
        "\x00\r\nLocation: x",
    ],
)
def test_nothing_leads_out_of_the_backoffice(site: Site, other_site: Site, elsewhere: str) -> None:
    client = staff_of_both(site, other_site)
    assert switch_site(client, other_site, elsewhere) == reverse("admin:index")
    assert client.session["site"] == str(other_site.pk)


def test_what_follows_an_own_path_stays_on_that_path(site: Site, other_site: Site) -> None:
    client = staff_of_both(site, other_site)
    nasty = f"{list_address(Employee)}?q=//evil.example\r\nX: y"
    assert switch_site(client, other_site, nasty) == f"{list_address(Employee)}?q=%2F%2Fevil.example%0D%0AX%3A+y"
    assert switch_site(client, other_site, f"{list_address(Employee)}../../../docs/") == list_address(Employee)


def test_a_pack_is_of_the_site_that_its_form_showed(site: Site, other_site: Site) -> None:
    client = staff_of_both(site, other_site)
    page = client.get(reverse("admin:packs_new"))
    assert f"New at <strong>{site}</strong>" in page.text
    switch_site(client, other_site, reverse("admin:index"))
    assert client.post(reverse("admin:packs_new"), {**form_of(page), "count": "1"}).context["record_site"] == site
    text = client.post(reverse("admin:packs_new"), form_of(page), follow=True).text
    assert f"The pack of {site} was queued." in text
    assert [pack.site for pack in Pack.objects.all()] == [site]


def test_a_pack_is_refused_to_whoever_may_make_none_at_its_site_any_more(site: Site, other_site: Site) -> None:
    client = staff_of_both(site, other_site)
    form = form_of(client.get(reverse("admin:packs_new")))
    RoleMembership.objects.filter(role__site=site).delete()
    switch_site(client, other_site, reverse("admin:index"))
    assert client.post(reverse("admin:packs_new"), form).status_code == 403
    assert not Pack.objects.exists()


def test_a_filter_is_saved_at_the_site_whose_list_it_filters(site: Site, other_site: Site) -> None:
    client = staff_of_both(site, other_site)
    page = client.get(list_address(Employee), {"q": "quill"})
    form = {"larder_site": str(page.context["saved_filters"]["site"].pk), "query": "q=quill", "is_shared": "on"}
    assert f'name="larder_site" value="{site.pk}"><input type="hidden" name="query"' in page.text
    switch_site(client, other_site, reverse("admin:index"))
    error_page = client.post(reverse("admin:employees_employee_filters"), {**form, "name": ""})
    assert f"Share with everybody at {site}" in error_page.text
    client.post(reverse("admin:employees_employee_filters"), {**form, **form_of(error_page), "name": "Quills"})
    assert [one.site for one in SavedFilter.objects.all()] == [site]


def test_an_account_belongs_to_the_site_for_which_its_form_was_opened(site: Site, other_site: Site) -> None:
    client = sign_in(make_superuser(), site)
    form = form_of(client.get(reverse("admin:accounts_user_add")))
    switch_site(client, other_site, reverse("admin:index"))
    client.post(reverse("admin:accounts_user_add"), {**form, "user_name": "quinn"})
    assert User.objects.get(user_name="quinn").home_site == site
