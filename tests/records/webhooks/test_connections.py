"""One connection for all messages of a turn, and how long a turn and a pass take."""

import ssl
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from records.sites.models import Site
from records.webhooks import deliverer, destinations, sending, tasks
from records.webhooks.models import Delivery, Outcome, Subscription
from tests.conftest import Api
from tests.make.webhooks import Receiver, certificate, make_webhook, receiving


def change(api: Api, count: int = 1) -> None:
    """Add items."""
    for number in range(count):
        assert api.post("/item/AddItem", {"Name": f"Detector {number}"}).status_code == 200


def test_the_messages_of_a_turn_share_one_connection(receiver: Receiver, site: Site, api: Api) -> None:
    make_webhook(site, receiver.address)
    change(api, 5)
    assert tasks.deliver.call() == 5
    assert (len(receiver.got), receiver.connections) == (5, 1)
    change(api)
    assert tasks.deliver.call() == 1
    assert receiver.connections == 2


def test_a_connection_that_the_receiver_closed_is_no_failure(receiver: Receiver, site: Site, api: Api) -> None:
    make_webhook(site, receiver.address)
    change(api, 3)
    receiver.closes_silently = True
    assert tasks.deliver.call() == 3
    assert receiver.numbers == sorted(set(receiver.numbers))
    assert receiver.connections == 3
    assert not Delivery.objects.exclude(outcome=Outcome.DELIVERED).exists()


def test_the_rest_of_a_long_answer_does_not_stand_before_the_next_one(receiver: Receiver, site: Site, api: Api) -> None:
    make_webhook(site, receiver.address)
    change(api, 3)
    receiver.status, receiver.body = 200, b"HTTP/1.1 500 Not an answer\r\n\r\n" * 100
    assert tasks.deliver.call() == 3
    assert [one.status for one in Delivery.objects.all()] == [200, 200, 200]


def test_a_pass_ends_in_time_and_leaves_the_rest_to_the_next(
    receiver: Receiver, site: Site, api: Api, monkeypatch: Any
) -> None:
    webhooks = [make_webhook(site, receiver.address, name=f"Warehouse {number}") for number in range(3)]
    change(api, 9)
    seconds = [0.0]
    clock = SimpleNamespace(monotonic=lambda: seconds[0])
    for module in (tasks, deliverer):
        monkeypatch.setattr(module, "time", clock)

    def answer() -> None:
        seconds[0] += 6

    receiver.before_answer = answer
    # Ten seconds for the first, ten for the second, of which eight were left, and nothing for the third.
    assert tasks.deliver.call() == 4
    assert seconds[0] == 24
    assert tasks.is_waiting() is False  # It is queued.
    seconds[0], receiver.before_answer = 0, lambda: None
    assert tasks.deliver.call() == 3 * 9 - 4
    assert {webhook.delivered for webhook in Subscription.objects.filter(pk__in=[one.pk for one in webhooks])} == {9}


def test_messages_share_one_secure_connection(settings: Any, monkeypatch: Any, tmp_path: Path) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    key, certificate_file = certificate(tmp_path, "warehouse.example.com")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file, key)
    client_context = ssl.create_default_context(cafile=str(certificate_file))
    monkeypatch.setattr(sending, "tls", lambda: client_context)
    with receiving(context) as receiver, closing(sending.Connection()) as connection:
        port = receiver.address.split(":")[2].partition("/")[0]
        resolve = destinations.getaddrinfo
        hosts: list[str] = []

        def answer(host: str, *args: Any, **options: Any) -> Any:
            hosts.append(host)
            return resolve("127.0.0.1", *args, **options)

        monkeypatch.setattr(destinations, "getaddrinfo", answer)
        for number in range(3):
            response = connection.post(f"https://warehouse.example.com:{port}/{number}", b"{}", {})
            assert (response.status, response.fault) == (204, "")
        assert connection.post(f"https://other.example.com:{port}/", b"{}", {}).status is None
        assert connection.post(f"https://warehouse.example.com:{port}/3", b"{}", {}).status == 204
    assert [message.path for message in receiver.got] == ["/0", "/1", "/2", "/3"]
    assert hosts == ["warehouse.example.com", "other.example.com", "warehouse.example.com"]
    assert receiver.connections == 2  # The one for the other name was never agreed on.
