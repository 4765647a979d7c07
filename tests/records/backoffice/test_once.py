"""A form for a new record that is sent twice adds one record, and text that was typed into it later is not lost."""

import datetime
from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole, Role
from records.audits.models import AuditRecord
from records.history.models import Change
from records.items.models import Item
from records.reference.models import Product
from records.sites.models import Site
from tests import make
from tests.make.audits import make_program
from tests.make.backoffice import browser, form_of, sign_in

pytestmark = pytest.mark.django_db

ADD = reverse("admin:items_item_add")


def test_the_same_form_sent_twice_adds_one_record_and_says_so(site: Any) -> None:
    client = browser(site)
    data = {**form_of(client.get(ADD)), "name": "Oven"}
    assert client.post(ADD, {**data, "_save": "1"}).status_code == 302
    again = client.post(ADD, {**data, "_continue": "1"}, follow=True)
    assert "This form was saved already. Nothing was added again." in again.content.decode()
    assert Item.objects.filter(site=site).count() == 1
    assert Change.objects.filter(operation="AddItem").count() == 1


def test_other_content_or_another_form_or_person_adds_another_record(site: Any) -> None:
    client = browser(site)
    data = {**form_of(client.get(ADD)), "name": "Oven"}
    client.post(ADD, data)
    client.post(ADD, {**data, "name": "Mixer"})
    client.post(ADD, {**form_of(client.get(ADD)), "name": "Oven"})
    browser(site).post(ADD, data)
    client.post(ADD, {**data, "larder_once": ""})
    assert sorted(Item.objects.values_list("name", flat=True)) == ["Mixer", "Oven", "Oven", "Oven", "Oven"]


def test_a_refused_form_keeps_its_id_and_can_be_sent_again(site: Any) -> None:
    client = browser(site)
    data = {**form_of(client.get(ADD)), "name": ""}
    page = client.post(ADD, data)
    assert page.status_code == 200
    assert form_of(page)["larder_once"] == data["larder_once"]
    assert client.post(ADD, {**form_of(page), "name": "Oven"}).status_code == 302
    assert Item.objects.get().name == "Oven"


@pytest.mark.parametrize(("name", "values"), [("plan", {"date": "2031-05-01"}), ("schedule-next", {"count": "1"})])
def test_a_step_that_adds_records_is_taken_once_with_the_same_form(
    site: Site, name: str, values: dict[str, str]
) -> None:
    program = make_program(site, frequency_months=3, next_due_date=datetime.datetime(2031, 3, 1, tzinfo=datetime.UTC))
    client, url = browser(site), reverse("admin:audits_auditprogram_step", args=(program.pk, name))
    data = {**form_of(client.get(url)), **values}
    assert client.post(url, data).status_code == 302
    again = client.post(url, data, follow=True)
    assert "This form was saved already. Nothing was added again." in again.text
    assert AuditRecord.objects.count() == Change.objects.filter(operation="ScheduleAudit").count() == 1
    assert client.post(url, {**form_of(client.get(url)), **values}).status_code == 302
    assert AuditRecord.objects.count() == 2


def test_of_two_people_who_schedule_the_next_audit_one_does_and_the_other_is_told(site: Site) -> None:
    program = make_program(site, frequency_months=3, next_due_date=datetime.datetime(2031, 3, 1, tzinfo=datetime.UTC))
    url = reverse("admin:audits_auditprogram_step", args=(program.pk, "schedule-next"))
    clients = [browser(site) for _ in range(2)]
    forms = [form_of(client.get(url)) for client in clients]
    first, second = (client.post(url, form) for client, form in zip(clients, forms, strict=True))
    assert (first.status_code, second.status_code) == (302, 200)
    assert "Meanwhile, another date is the next one without an audit." in second.text
    assert AuditRecord.objects.count() == 1
    assert clients[1].post(url, form_of(clients[1].get(url))).status_code == 302
    assert AuditRecord.objects.count() == 2


def test_a_refused_step_keeps_its_id_and_can_be_sent_again(site: Site) -> None:
    client, url = browser(site), reverse("admin:audits_auditprogram_step", args=(make_program(site).pk, "plan"))
    data = form_of(client.get(url))
    page = client.post(url, {**data, "date": ""})
    assert (page.status_code, form_of(page)["larder_once"]) == (200, data["larder_once"])
    assert client.post(url, {**form_of(page), "date": "2031-05-01"}).status_code == 302
    assert AuditRecord.objects.count() == 1


@pytest.mark.parametrize("model", [Product, Role])
def test_entries_of_lists_and_roles_are_added_once_too(site: Any, model: Any) -> None:
    client = sign_in(make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR), site)
    add = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
    data = {**form_of(client.get(add)), "name": "Rye loaf"}
    for _ in range(2):
        assert client.post(add, data).status_code == 302
    assert model.objects.filter(name="Rye loaf").count() == 1
