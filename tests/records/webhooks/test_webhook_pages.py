"""The pages of webhooks, for Site Administrators of the site alone."""

import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.history.models import Change
from records.history.trail import now
from records.sites.models import Site
from records.webhooks import signing, tasks
from records.webhooks.models import Delivery, Kind, Outcome, State, Subscription
from tests.conftest import Api
from tests.make.backoffice import address, browser, form_of, list_address, press, save
from tests.make.signing_in import run_tasks
from tests.make.webhooks import Receiver, make_webhook, secret_of

ADD = "/admin/webhooks/subscription/add/"


@pytest.fixture
def admin(site: Site) -> Any:
    """Return a browser of a Site Administrator."""
    return browser(site, DefaultRole.SITE_ADMINISTRATOR)


def secret_page(webhook: Subscription) -> str:
    return reverse("admin:webhooks_subscription_secret", args=(webhook.pk,))


def step(webhook: Subscription, name: str) -> str:
    return reverse("admin:webhooks_subscription_step", args=(webhook.pk, name))


def test_a_webhook_is_added_and_its_secret_is_shown_once(receiver: Receiver, site: Site, admin: Any, api: Api) -> None:
    data = {**form_of(admin.get(ADD)), "name": "ERP", "address": receiver.address, "entities": ["Item", "Material"]}
    answer = admin.post(ADD, data, follow=True)
    webhook = Subscription.objects.get()
    assert answer.redirect_chain[-1][0] == secret_page(webhook)
    assert webhook.entities == ["Item", "Material"]
    assert secret_of(webhook) not in answer.text
    page = admin.post(secret_page(webhook), {"do": "show"}, follow=True)
    assert secret_of(webhook) in page.text
    assert f"Times are those of {site.time_zone}." in page.text
    assert "no-store" in page["Cache-Control"]
    assert secret_of(webhook) not in admin.get(secret_page(webhook)).text
    again = admin.post(secret_page(webhook), {"do": "show"}, follow=True)
    assert secret_of(webhook) not in again.text
    assert "shown already" in again.text
    api.post("/item/AddItem", {"Name": "Detector"})
    assert tasks.deliver.call() == 1


def test_a_new_secret_is_shown_once_and_the_page_says_how_long_the_old_one_signs(
    receiver: Receiver, site: Site, admin: Any
) -> None:
    webhook = make_webhook(site, receiver.address)
    admin.post(secret_page(webhook), {"do": "show"})
    old = secret_of(webhook)
    answer = admin.post(secret_page(webhook), {"do": "rotate"}, follow=True)
    assert secret_of(webhook) != old
    assert secret_of(webhook) in answer.text
    assert "Messages are also signed with the former secret until" in answer.text
    operations = Change.objects.filter(record_id=webhook.pk).values_list("operation", flat=True)
    assert set(operations) == {"AddWebhook", "ShowWebhookSecret", "RotateWebhookSecret"}
    assert signing.PREFIX not in str(list(Change.objects.values()))
    assert admin.post(secret_page(webhook), {"do": "read"}).status_code == 403


@pytest.mark.parametrize("address", ["http://warehouse.example.com/", "https://169.254.169.254/", "https://localhost/"])
def test_the_form_refuses_an_address_with_a_sentence_at_its_field(site: Site, admin: Any, address: str) -> None:
    answer = admin.post(ADD, {**form_of(admin.get(ADD)), "name": "ERP", "address": address})
    assert answer.status_code == 200
    assert "errorlist" in answer.text
    assert "field-address" in answer.text
    assert not Subscription.objects.exists()


def test_a_change_needs_a_reason_and_is_in_the_history(receiver: Receiver, site: Site, admin: Any) -> None:
    webhook = make_webhook(site, receiver.address)
    assert "Say why" in save(admin, webhook, name="Store").text
    save(admin, webhook, name="Store", entities=["Item"], change_reason="The warehouse moved.")
    webhook.refresh_from_db()
    assert (webhook.name, webhook.entities) == ("Store", ["Item"])
    assert "The warehouse moved." in admin.get(address(webhook, "history")).text


def test_pause_resume_test_and_send_again_are_buttons(receiver: Receiver, site: Site, admin: Any, api: Api) -> None:
    webhook = make_webhook(site, receiver.address)
    api.post("/item/AddItem", {"Name": "Detector"})
    receiver.status, receiver.body = 500, b"<b>no</b>"
    tasks.deliver.call()
    page = admin.get(address(webhook)).text
    assert "Failing since" in page
    assert "1 Versuch" in admin.get(address(webhook), headers={"Accept-Language": "de"}).text
    assert "Delivered up to change" in page
    press(admin, step(webhook, "pause"), {"change_reason": "Waiting for the receiver."})
    webhook.refresh_from_db()
    assert webhook.state == State.PAUSED
    assert "Waiting for the receiver." in admin.get(list_address(Subscription)).text
    receiver.status = 200
    assert "gets a test" in press(admin, step(webhook, "test"), follow=True).text
    run_tasks()
    assert Delivery.objects.filter(kind=Kind.TEST, outcome=Outcome.DELIVERED).count() == 1
    delivery = Delivery.objects.get(outcome=Outcome.FAILED)
    page = admin.get(address(delivery))
    assert "&lt;b&gt;no&lt;/b&gt;" in page.text
    assert "500 Internal Server Error" in page.text
    assert "is sent again" in admin.post(address(delivery), follow=True).text
    run_tasks()
    assert Delivery.objects.filter(kind=Kind.AGAIN, outcome=Outcome.DELIVERED).count() == 1
    press(admin, step(webhook, "resume"), {})
    assert tasks.deliver.call() == 1
    assert "All changes are delivered." in admin.get(address(webhook)).text
    operations = Change.objects.filter(record_id=webhook.pk).order_by("number").values_list("operation", flat=True)
    expected = ["AddWebhook", "PauseWebhook", "TestWebhook", "SendWebhookAgain", "ResumeWebhook"]
    assert list(operations) == expected


def test_a_failed_test_is_a_failure_of_the_webhook(receiver: Receiver, site: Site, admin: Any) -> None:
    webhook = make_webhook(site, receiver.address)
    receiver.status = 500
    press(admin, step(webhook, "test"))
    run_tasks()
    assert "The newest message (Test) failed at" in admin.get(address(webhook)).text
    receiver.status = 200
    press(admin, step(webhook, "test"))
    run_tasks()
    assert "The newest message" not in admin.get(address(webhook)).text


def test_the_list_of_deliveries_has_pages_filters_and_an_empty_state(
    receiver: Receiver, site: Site, admin: Any
) -> None:
    webhook = make_webhook(site, receiver.address)
    place = list_address(Delivery)
    assert "Nothing was delivered" in admin.get(place).text
    rows = [
        Delivery(subscription=webhook, kind=Kind.CHANGE, number=n, message_id=f"m{n}", outcome=Outcome.DELIVERED)
        for n in range(60)
    ]
    Delivery.objects.bulk_create(rows)
    first, second = admin.get(f"{place}?subscription__id__exact={webhook.pk}").text, admin.get(f"{place}?p=2").text
    assert "Change 59" in first
    assert "Change 9<" not in first
    assert "Change 9<" in second
    assert "Change 59" not in admin.get(f"{place}?outcome=Failed").text
    assert admin.get(f"{place}?outcome=Perhaps").status_code == 400


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER])
def test_other_roles_see_nothing_of_it(receiver: Receiver, site: Site, role: DefaultRole) -> None:
    webhook = make_webhook(site, receiver.address)
    delivery = Delivery.objects.create(
        subscription=webhook, kind=Kind.CHANGE, number=1, message_id="m", outcome=Outcome.DELIVERED
    )
    client = browser(site, role)
    assert "webhooks/" not in client.get("/admin/").text
    for place in (list_address(Subscription), list_address(Delivery), ADD):
        assert client.get(place).status_code == 403
    for place in (address(webhook), address(delivery), secret_page(webhook), step(webhook, "test")):
        assert client.get(place).status_code in (302, 403, 404)
    assert client.post(secret_page(webhook), {"do": "rotate"}).status_code in (403, 404)
    assert client.post(address(delivery)).status_code in (403, 404)


def test_webhooks_of_another_site_do_not_exist(receiver: Receiver, site: Site, other_site: Site, admin: Any) -> None:
    webhook = make_webhook(other_site, receiver.address, name="Dairy ERP")
    delivery = Delivery.objects.create(
        subscription=webhook, kind=Kind.CHANGE, number=1, message_id="m", outcome=Outcome.DELIVERED
    )
    assert "Dairy ERP" not in admin.get(list_address(Subscription)).text
    assert "Dairy ERP" not in admin.get(f"{list_address(Delivery)}?subscription__id__exact={webhook.pk}").text
    for place in (address(delivery), secret_page(webhook), step(webhook, "test")):
        assert admin.get(place).status_code == 404
    assert admin.post(address(delivery)).status_code == 404
    assert admin.post(secret_page(webhook), {"do": "rotate"}).status_code == 404


def test_an_archived_webhook_sends_no_test_and_nothing_again(receiver: Receiver, site: Site, admin: Any) -> None:
    webhook = make_webhook(site, receiver.address)
    delivery = Delivery.objects.create(
        subscription=webhook, kind=Kind.CHANGE, number=1, message_id="m", outcome=Outcome.DELIVERED
    )
    press(admin, step(webhook, "archive"), {"change_reason": "The ERP was replaced."})
    assert "Archived: nothing is delivered" in admin.get(address(webhook)).text
    assert admin.post(address(delivery)).status_code == 403
    assert admin.post(secret_page(webhook), {"do": "rotate"}).status_code == 403
    assert Delivery.objects.count() == 1


def test_a_page_of_deliveries_costs_the_same_however_many_there_are(receiver: Receiver, site: Site, admin: Any) -> None:
    webhook = make_webhook(site, receiver.address)
    costs = []
    for count in (1, 30):
        Delivery.objects.bulk_create(
            Delivery(subscription=webhook, kind=Kind.CHANGE, number=n, message_id="m", outcome=Outcome.DELIVERED)
            for n in range(count)
        )
        with CaptureQueriesContext(connection) as queries:
            admin.get(list_address(Delivery))
        costs.append(len(queries))
    assert costs[0] == costs[1]


def test_a_secret_that_cannot_be_read_is_made_anew(receiver: Receiver, site: Site, admin: Any, settings: Any) -> None:
    webhook = make_webhook(site, receiver.address)
    Subscription.objects.update(secret=signing.encrypt("whsec_AAAA").replace("A", "B", 3))
    assert "can no longer be read" in admin.post(secret_page(webhook), {"do": "show"}, follow=True).text
    assert now() - webhook.secret_made < datetime.timedelta(minutes=1)
