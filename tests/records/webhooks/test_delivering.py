"""Delivering: signed, in order, at least once, retried for three days, by one worker at a time."""

import datetime
import logging
import threading
import time
from functools import partial
from typing import Any

import orjson
import pytest
from django.db import connection
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from config import metrics
from records.accounts.models import DefaultRole
from records.changes import feed
from records.employees import actions as employees
from records.history.models import Change
from records.history.trail import now
from records.sites.models import Site
from records.webhooks import actions, deliverer, sending, signing, tasks
from records.webhooks.models import Delivery, Kind, Outcome, State, Subscription
from tests import make
from tests.conftest import Api
from tests.make.signing_in import run_tasks
from tests.make.webhooks import Receiver, make_webhook, secret_of

HOUR = datetime.timedelta(hours=1)


def change(api: Api, count: int = 1) -> None:
    """Add items."""
    for number in range(count):
        assert api.post("/item/AddItem", {"Name": f"Detector {number}"}).status_code == 200


def _unchanged(moment: datetime.datetime) -> datetime.datetime:
    return moment


def verify(webhook: Subscription, message: Any) -> Any:
    return Webhook(secret_of(webhook)).verify(message.body, message.headers)


def test_each_change_is_sent_in_order_as_the_feed_shows_it_to_a_reader(
    receiver: Receiver, site: Site, api: Api, api_of: Any
) -> None:
    change(api)
    webhook = make_webhook(site, receiver.address)
    change(api, 3)
    assert api.post("/employee/AddEmployee", make.employee_body()).status_code == 200
    assert tasks.deliver.call() == 4
    feed = api_of(DefaultRole.READER).get("/change/GetChangeList", {"after": str(webhook.position)}).json()
    messages = [verify(webhook, message) for message in receiver.got]
    assert [message["data"] for message in messages] == feed
    assert [message["type"] for message in messages] == ["Item.AddItem"] * 3 + ["Employee.AddEmployee"]
    assert [message["timestamp"] for message in messages] == [row["Date"] for row in feed]
    assert receiver.got[0].path == "/larder?from=test"
    assert receiver.got[0].headers["content-type"] == "application/json"
    webhook.refresh_from_db()
    assert webhook.delivered == 4
    assert tasks.deliver.call() == 0


def test_only_the_chosen_kinds_of_record_are_sent_and_the_rest_is_passed_over(
    receiver: Receiver, site: Site, other_site: Site, api: Api, api_of: Any
) -> None:
    webhook = make_webhook(site, receiver.address, ["Employee"])
    change(api)
    change(api_of(at=other_site))
    assert tasks.deliver.call() == 0
    assert not tasks.is_waiting()
    api.post("/employee/AddEmployee", make.employee_body())
    assert tasks.is_waiting()
    tasks.deliver.call()
    assert [verify(webhook, message)["data"]["Entity"] for message in receiver.got] == ["Employee"]


def test_what_was_added_after_other_kinds_were_chosen_is_not_passed_over(
    receiver: Receiver, site: Site, api: Api, monkeypatch: Any
) -> None:
    webhook = make_webhook(site, receiver.address, ["Item"])
    make.make_employee(site)

    def last_number(site_id: Any) -> int:
        monkeypatch.undo()
        actions.update_subscription(None, webhook.pk, {"entities": ["Employee"]}, author=make.SYSTEM)
        make.make_employee(site, first_name="Ada")
        return feed.last_number(site_id)

    monkeypatch.setattr(feed, "last_number", last_number)
    tasks.deliver.call()
    tasks.deliver.call()
    assert [verify(webhook, message)["data"]["Entity"] for message in receiver.got] == ["Employee"] * 2


def test_what_a_reader_does_not_see_is_not_sent(receiver: Receiver, site: Site) -> None:
    employee = make.make_employee(site)
    webhook = make_webhook(site, receiver.address)
    for values in ({"phone": "1"}, {"phone": "2", "code": "E9"}):
        employees.update_employee(site.pk, employee.pk, values, author=make.SYSTEM)
    tasks.deliver.call()
    assert [verify(webhook, message)["data"]["Fields"] for message in receiver.got] == [["Code"]]


def test_another_secret_or_an_altered_body_does_not_verify(receiver: Receiver, site: Site, api: Api) -> None:
    webhook = make_webhook(site, receiver.address)
    change(api)
    tasks.deliver.call()
    message = receiver.got[0]
    with pytest.raises(WebhookVerificationError):
        Webhook(signing.new_secret()).verify(message.body, message.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret_of(webhook)).verify(message.body.replace(b"AddItem", b"AddItems"), message.headers)


def test_a_new_secret_signs_beside_the_old_one_for_a_day(receiver: Receiver, site: Site, api: Api) -> None:
    webhook = make_webhook(site, receiver.address)
    old = secret_of(webhook)
    new = actions.rotate_secret(webhook, author=make.SYSTEM)
    assert new == secret_of(webhook) != old
    change(api)
    tasks.deliver.call()
    message = receiver.got[0]
    assert len(message.headers["webhook-signature"].split(" ")) == 2
    for secret in (old, new):
        Webhook(secret).verify(message.body, message.headers)
    Subscription.objects.update(former_until=now() - datetime.timedelta(seconds=1))
    change(api)
    tasks.deliver.call()
    message = receiver.got[1]
    Webhook(new).verify(message.body, message.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(message.body, message.headers)
    tasks.clean_up.call()
    webhook.refresh_from_db()
    assert (webhook.former_secret, webhook.former_until) == ("", None)


def test_a_failure_stops_the_row_and_those_behind_it_until_the_next_attempt(
    receiver: Receiver, site: Site, api: Api, caplog: Any
) -> None:
    webhook = make_webhook(site, receiver.address)
    change(api, 2)
    receiver.status, receiver.body = 500, b"out of\x00 order " + secret_of(webhook).encode()
    with caplog.at_level(logging.INFO):
        assert tasks.deliver.call() == 0
    assert secret_of(webhook) not in caplog.text
    assert secret_of(webhook)[6:] not in str(list(Delivery.objects.values()))
    delivery = Delivery.objects.get()
    assert (delivery.outcome, delivery.status, delivery.attempt) == (Outcome.FAILED, 500, 1)
    assert delivery.answer == "out of\N{REPLACEMENT CHARACTER} order …"
    assert tasks.deliver.call() == 0
    assert len(receiver.got) == 1
    receiver.status = 200
    Subscription.objects.update(next_attempt=now())
    assert tasks.deliver.call() == 2
    assert receiver.numbers == sorted(receiver.numbers)
    assert receiver.got[0].headers["webhook-id"] == receiver.got[1].headers["webhook-id"]
    assert receiver.got[1].headers["webhook-id"] != receiver.got[2].headers["webhook-id"]
    webhook.refresh_from_db()
    assert (webhook.failures, webhook.failing_since, webhook.failed, webhook.delivered) == (0, None, 1, 2)


def test_attempts_grow_rarer_and_after_three_days_the_webhook_is_paused_with_a_mail(
    receiver: Receiver, site: Site, api: Api, mailoutbox: Any
) -> None:
    make.make_user("admin", site=site, role=DefaultRole.SITE_ADMINISTRATOR, email="admin@corp.local")
    make.make_user("manager", site=site, role=DefaultRole.MANAGER, email="manager@corp.local")
    webhook = make_webhook(site, receiver.address)
    change(api)
    receiver.status = 503
    start = clock = now()
    gaps = []
    while True:
        deliverer.deliver_to(webhook.pk, clock=partial(_unchanged, clock))
        webhook.refresh_from_db()
        if webhook.state == State.PAUSED:
            break
        assert webhook.next_attempt is not None
        gaps.append(webhook.next_attempt - clock)
        clock = webhook.next_attempt
    assert clock - start == deliverer.GIVES_UP_AFTER
    assert datetime.timedelta(seconds=4) <= gaps[0] <= datetime.timedelta(seconds=6)
    assert max(gaps) <= deliverer.LONGEST_DELAY * 1.2
    assert 20 < len(gaps) < 60
    assert "for 3 days" in webhook.pause_reason
    pause = Change.objects.get(operation="PauseWebhook")
    assert pause.author_name == "Webhook deliverer"
    run_tasks()
    assert [message.to for message in mailoutbox] == [["admin@corp.local"]]
    assert str(webhook.pk) in mailoutbox[0].body
    assert "for 3 days" in mailoutbox[0].body
    receiver.status = 200
    change(api)
    assert tasks.deliver.call() == 0
    actions.resume(webhook, author=make.SYSTEM)
    assert tasks.deliver.call() == 2


def test_a_receiver_that_is_gone_pauses_the_webhook_at_once(receiver: Receiver, site: Site, api: Api) -> None:
    webhook = make_webhook(site, receiver.address)
    change(api)
    receiver.status = 410
    tasks.deliver.call()
    webhook.refresh_from_db()
    assert webhook.state == State.PAUSED
    assert "410" in webhook.pause_reason


def test_a_receiver_says_how_long_it_wants_to_be_left_alone(receiver: Receiver, site: Site, api: Api) -> None:
    webhook = make_webhook(site, receiver.address)
    change(api)
    receiver.status, receiver.headers = 429, {"Retry-After": "3600"}
    tasks.deliver.call()
    webhook.refresh_from_db()
    assert webhook.next_attempt is not None
    assert HOUR * 0.9 < webhook.next_attempt - now() <= HOUR


def test_an_answer_is_taken_however_long_it_asks_to_be_left_alone(receiver: Receiver, site: Site, api: Api) -> None:
    make_webhook(site, receiver.address)
    change(api)
    receiver.headers = {"Retry-After": "9" * 5_000}
    assert tasks.deliver.call() == 1


@pytest.mark.parametrize("status", [410, 503])
@pytest.mark.parametrize("earlier", [0, 1])
def test_what_a_former_address_answers_does_not_hold_up_the_new_one(
    receiver: Receiver, site: Site, api: Api, monkeypatch: Any, status: int, earlier: int
) -> None:
    webhook = make_webhook(site, receiver.address.replace("larder", "former"))
    change(api)
    receiver.status = 503
    for _ in range(earlier):
        tasks.deliver.call()
        Subscription.objects.update(failing_since=now() - datetime.timedelta(days=4), next_attempt=None)
    send = deliverer.send

    def correct(*args: Any) -> Any:
        monkeypatch.undo()
        actions.update_subscription(None, webhook.pk, {"address": receiver.address}, author=make.SYSTEM)
        return send(*args)

    monkeypatch.setattr(deliverer, "send", correct)
    receiver.status = status
    assert tasks.deliver.call() == 0
    receiver.status = 204
    assert tasks.deliver.call() == 1
    assert [message.path for message in receiver.got[earlier:]] == ["/former?from=test", "/larder?from=test"]


def test_redirects_are_not_followed(receiver: Receiver, site: Site, api: Api) -> None:
    make_webhook(site, receiver.address)
    change(api)
    receiver.status, receiver.headers = 307, {"Location": receiver.address.replace("larder", "elsewhere")}
    tasks.deliver.call()
    assert [message.path for message in receiver.got] == ["/larder?from=test"]
    assert "redirects are not followed" in Delivery.objects.get().fault


def test_a_slow_receiver_is_cut_off(receiver: Receiver, site: Site, api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr(sending, "WHOLE_SECONDS", 0.3)
    release = threading.Event()
    receiver.before_answer = lambda: release.wait(60)
    make_webhook(site, receiver.address)
    change(api)
    start = time.monotonic()
    tasks.deliver.call()
    release.set()
    assert time.monotonic() - start < 30
    assert Delivery.objects.get().fault == sending.TOO_SLOW


def test_only_the_beginning_of_an_answer_is_read_and_kept(receiver: Receiver, site: Site, api: Api) -> None:
    make_webhook(site, receiver.address)
    change(api)
    receiver.status, receiver.body = 200, b"x" * 1_000_000
    tasks.deliver.call()
    assert Delivery.objects.get().answer == "x" * 1024


def test_nothing_is_delivered_while_paused_or_archived_and_everything_afterwards(
    receiver: Receiver, site: Site, api: Api
) -> None:
    webhook = make_webhook(site, receiver.address)
    actions.pause(webhook, author=make.SYSTEM, reason="The warehouse moves.")
    change(api)
    assert not tasks.is_waiting()
    assert tasks.deliver.call() == 0
    actions.resume(webhook, author=make.SYSTEM)
    actions.archive_subscription(webhook, archived=True, author=make.SYSTEM)
    assert tasks.deliver.call() == 0
    actions.archive_subscription(webhook, archived=False, author=make.SYSTEM)
    change(api)
    assert tasks.deliver.call() == 2
    operations = Change.objects.filter(record_id=webhook.pk).order_by("number").values_list("operation", flat=True)
    assert list(operations) == ["AddWebhook", "PauseWebhook", "ResumeWebhook", "ArchiveWebhook", "RestoreWebhook"]


def test_a_worker_that_dies_behind_the_sending_leaves_a_repeat_with_the_same_id(
    receiver: Receiver, site: Site, api: Api, monkeypatch: Any
) -> None:
    webhook = make_webhook(site, receiver.address)
    change(api)

    class WorkerKilled(BaseException):
        pass

    send = deliverer.send

    def kill(*args: Any) -> None:
        send(*args)
        raise WorkerKilled

    monkeypatch.setattr(deliverer, "send", kill)
    with pytest.raises(WorkerKilled):
        deliverer.deliver_to(webhook.pk)
    monkeypatch.setattr(deliverer, "send", send)
    # A process that is killed does not give its claim back.
    Subscription.objects.update(claim=webhook.pk, claimed_until=now() + HOUR)
    assert tasks.deliver.call() == 0
    Subscription.objects.update(claimed_until=now() - datetime.timedelta(seconds=1))
    assert tasks.deliver.call() == 1
    first, second = receiver.got
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    webhook.refresh_from_db()
    assert webhook.claim is None


@pytest.mark.django_db(transaction=True)
def test_two_workers_do_not_deliver_at_the_same_time(receiver: Receiver, site: Site, api: Api) -> None:
    webhook = make_webhook(site, receiver.address)
    change(api, 6)
    active, most = [0], [0]
    lock = threading.Lock()

    def answer() -> None:
        with lock:
            active[0] += 1
            most[0] = max(most[0], active[0])
        time.sleep(0.05)
        with lock:
            active[0] -= 1

    receiver.before_answer = answer
    counts = make.at_once(*[lambda: deliverer.deliver_to(webhook.pk)] * 3)
    assert sorted(counts) == [0, 0, 6], counts
    assert most[0] == 1
    assert receiver.numbers == sorted(set(receiver.numbers))
    connection.close()


def test_a_worker_that_lost_its_claim_stops_and_moves_nothing(receiver: Receiver, site: Site, api: Api) -> None:
    webhook = make_webhook(site, receiver.address)
    before = webhook.position
    change(api, 2)
    receiver.before_answer = lambda: Subscription.objects.update(claim=site.pk)
    claim = webhook.pk
    Subscription.objects.update(claim=claim, claimed_until=now() + HOUR)
    webhook.refresh_from_db()
    turn = deliverer._Turn(webhook.pk, claim, now, sending.Connection())
    Subscription.objects.filter(pk=webhook.pk).update(claim=site.pk)
    assert turn.run() == 0
    assert receiver.got == []
    webhook.refresh_from_db()
    assert webhook.position == before


def test_a_test_and_a_repeat_are_sent_when_asked_and_move_nothing(receiver: Receiver, site: Site, api: Api) -> None:
    webhook = make_webhook(site, receiver.address)
    change(api)
    tasks.deliver.call()
    webhook.refresh_from_db()
    position = webhook.position
    test_delivery = actions.request_test(webhook, author=make.SYSTEM)
    assert test_delivery.outcome == Outcome.WAITING
    assert tasks.send_one.call(test_delivery.pk) is True
    again = actions.request_resend(Delivery.objects.get(kind=Kind.CHANGE), author=make.SYSTEM)
    assert tasks.send_one.call(again.pk) is True
    assert tasks.send_one.call(again.pk) is False
    first, test, repeat = receiver.got
    assert verify(webhook, test) == {
        "type": "webhook.test",
        "timestamp": orjson.loads(test.body)["timestamp"],
        "data": {"Webhook": "Warehouse"},
    }
    assert (repeat.body, repeat.headers["webhook-id"]) == (first.body, first.headers["webhook-id"])
    webhook.refresh_from_db()
    assert (webhook.position, webhook.delivered) == (position, 3)
    again.refresh_from_db()
    assert (again.outcome, again.status) == (Outcome.DELIVERED, 204)


def test_old_deliveries_are_deleted(receiver: Receiver, site: Site, api: Api) -> None:
    make_webhook(site, receiver.address)
    change(api, 2)
    tasks.deliver.call()
    oldest = Delivery.objects.order_by("pk")[0]
    Delivery.objects.filter(pk=oldest.pk).update(at=now() - datetime.timedelta(days=31))
    assert tasks.clean_up.call()["deliveries"] == 1
    assert Delivery.objects.count() == 1


def test_secrets_are_encrypted_and_outlive_a_new_secret_key(
    receiver: Receiver, site: Site, api: Api, settings: Any
) -> None:
    webhook = make_webhook(site, receiver.address)
    secret = secret_of(webhook)
    assert secret[6:] not in str(Subscription.objects.values().get())
    assert secret[6:] not in str(list(Change.objects.values()))
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another-key-" * 5
    assert tasks.clean_up.call()["secrets"] == 1
    assert tasks.clean_up.call()["secrets"] == 0
    settings.SECRET_KEY_FALLBACKS = []
    assert secret_of(webhook) == secret
    settings.SECRET_KEY = "a-third-key-" * 5
    change(api)
    tasks.deliver.call()
    webhook.refresh_from_db()
    assert webhook.state == State.PAUSED
    assert "SECRET_KEY" in webhook.pause_reason
    assert receiver.got == []


def test_metrics_tell_the_outcomes_and_how_old_the_backlog_is(receiver: Receiver, site: Site, api: Api) -> None:
    def metric_values() -> tuple[Any, ...]:
        figures = {name: value for name, _, value in metrics.figures()}
        return (
            figures["larder_webhook_backlog_age_seconds"],
            figures["larder_webhooks_paused"],
            metrics.webhook_deliveries(),
        )

    assert metric_values() == (0.0, 0.0, {"delivered": 0, "failed": 0})
    webhook = make_webhook(site, receiver.address)
    change(api, 2)
    receiver.status = 500
    tasks.deliver.call()
    age, pauses, counts = metric_values()
    assert 0 < age < 60
    assert (pauses, counts) == (0.0, {"delivered": 0, "failed": 1})
    receiver.status = 200
    Subscription.objects.update(next_attempt=None)
    tasks.deliver.call()
    assert metric_values() == (0.0, 0.0, {"delivered": 2, "failed": 1})
    actions.pause(webhook, author=make.SYSTEM)
    change(api)
    assert metric_values() == (0.0, 1.0, {"delivered": 2, "failed": 1})
