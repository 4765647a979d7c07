"""Where webhooks may lead: https addresses of the public internet, whatever a name says today or tomorrow."""

import datetime
import socket
import ssl
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from records.sites.models import Site
from records.webhooks import actions, destinations, sending, tasks
from records.webhooks.models import Delivery, Subscription
from tests import make
from tests.conftest import Api
from tests.make.webhooks import Receiver, certificate, make_webhook

PUBLIC = "93.184.215.14"


def answers(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Let every name have these addresses, and return a list that grows by each name that is asked for."""
    hosts: list[str] = []

    def resolve(host: str, port: int, **options: Any) -> Any:
        hosts.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(destinations, "getaddrinfo", resolve)
    return hosts


@pytest.mark.parametrize(
    "address",
    [
        "http://warehouse.example.com/",
        "ftp://warehouse.example.com/",
        "//warehouse.example.com/",
        "warehouse.example.com",
        "https://",
        "https:///larder",
        "https://user:password@warehouse.example.com/",
        "https://user@warehouse.example.com/",
        "https://warehouse.example.com/#part",
        "https://warehouse.example.com:99999/",
        "https://warehouse.example.com:port/",
        "https://warehouse.example.com/a b",
        "https://warehouse.example.com/\r\nX: 1",
        "https://lagerhöfe.example.com/",
        "https://[::1",
        "https://127.0.0.1/",
        "https://127.9.9.9:8443/",
        "https://10.1.2.3/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://169.254.169.254/latest/meta-data/",
        "http://169.254.169.254/",
        "https://168.63.129.16/",
        "https://100.100.100.200/",
        "https://0.0.0.0/",
        "https://255.255.255.255/",
        "https://224.0.0.1/",
        "https://[::1]/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[::127.0.0.1]/",
        "https://[fe80::1]/",
        "https://[fec0::1]/",
        "https://[fd00:ec2::254]/",
        "https://[fc00::1]/",
        "https://[ff02::1]/",
        "https://[64:ff9b::10.0.0.1]/",
        "https://[64:ff9b:1:a00:0:100:8.8.8.8]/",
        "https://[fe80::1%25eth0]/",
        "https://[2002:7f00:1::1]/",
    ],
)
def test_an_address_that_no_webhook_may_have_is_refused_when_it_is_entered(site: Site, address: str) -> None:
    with pytest.raises(ValidationError) as error_info:
        make_webhook(site, address)
    assert set(error_info.value.message_dict) == {"address"}
    assert not Subscription.objects.exists()


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "::1", "::ffff:10.0.0.1", "fd00::1", "169.254.169.254", "64:ff9b::7f00:1"]
)
def test_a_name_that_leads_into_a_private_network_is_refused(site: Site, monkeypatch: Any, address: str) -> None:
    answers(monkeypatch, PUBLIC, address)
    with pytest.raises(ValidationError, match="private network"):
        make_webhook(site, "https://warehouse.example.com/")


@pytest.mark.parametrize(
    "address", ["2130706433", "127.1", "0x7f.1", "0177.0.0.1", "0x7f000001", "10.1", "0", "localhost"]
)
def test_other_ways_to_write_this_machine_are_refused(site: Site, address: str) -> None:
    with pytest.raises(ValidationError, match="private network"):
        make_webhook(site, f"https://{address}/")


@pytest.mark.parametrize("address", [PUBLIC, "2606:4700::1111", "64:ff9b::5db8:d70e", "::ffff:93.184.215.14"])
def test_public_addresses_are_public(address: str) -> None:
    assert destinations.is_public(address)


def test_a_name_without_an_answer_is_accepted_and_judged_again_at_each_delivery(
    site: Site, api: Api, monkeypatch: Any
) -> None:
    def fails(*args: Any, **options: Any) -> Any:
        raise socket.gaierror("no answer")

    monkeypatch.setattr(destinations, "getaddrinfo", fails)
    make_webhook(site, "https://warehouse.example.com/")
    api.post("/item/AddItem", {"Name": "Detector"})
    tasks.deliver.call()
    assert "could not be resolved" in Delivery.objects.get().fault


def test_a_resolver_that_does_not_answer_is_not_waited_for(
    site: Site, api: Api, monkeypatch: Any, settings: Any
) -> None:
    monkeypatch.setattr(destinations, "RESOLVE_SECONDS", 0.1)
    release = threading.Event()
    monkeypatch.setattr(destinations, "getaddrinfo", lambda *args, **options: release.wait(60) and [])
    make_webhook(site, "https://warehouse.example.com/")
    api.post("/item/AddItem", {"Name": "Detector"})
    tasks.deliver.call()
    assert not release.is_set()
    release.set()
    assert "could not be resolved" in Delivery.objects.get().fault


def test_a_name_that_changes_its_address_is_refused_when_it_is_called(
    receiver: Receiver, site: Site, api: Api, monkeypatch: Any, settings: Any
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False
    answers(monkeypatch, PUBLIC)
    port = receiver.address.split(":")[2].partition("/")[0]
    webhook = make_webhook(site, f"https://warehouse.example.com:{port}/")
    hosts = answers(monkeypatch, "127.0.0.1")
    api.post("/item/AddItem", {"Name": "Detector"})
    tasks.deliver.call()
    assert "private network" in Delivery.objects.get().fault
    assert hosts == ["warehouse.example.com"]
    assert receiver.got == []
    webhook.refresh_from_db()
    assert webhook.failing_since is not None


def test_a_name_is_asked_for_once_and_the_connection_goes_to_that_answer(
    receiver: Receiver, site: Site, api: Api, monkeypatch: Any
) -> None:
    port = receiver.address.split(":")[2].partition("/")[0]
    webhook = make_webhook(site, receiver.address)
    Subscription.objects.update(address=f"http://warehouse.example.com:{port}/in")
    hosts = answers(monkeypatch, "127.0.0.1")
    api.post("/item/AddItem", {"Name": "Detector"})
    tasks.deliver.call()
    assert hosts == ["warehouse.example.com"]
    assert receiver.got[0].headers["host"] == f"warehouse.example.com:{port}"
    webhook.refresh_from_db()
    assert webhook.delivered == 1


def test_private_addresses_and_plain_http_are_taken_where_they_are_allowed(site: Site, settings: Any) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    for address in ("http://127.0.0.1:8000/", "https://10.0.0.1/", "https://[::1]/"):
        make_webhook(site, address)
    with pytest.raises(ValidationError):
        make_webhook(site, "https://user:password@10.0.0.1/")


def test_a_new_address_is_judged_like_the_first_and_tried_at_once(receiver: Receiver, site: Site, api: Api) -> None:
    webhook = make_webhook(site, "http://127.0.0.1:1/")
    api.post("/item/AddItem", {"Name": "Detector"})
    tasks.deliver.call()
    assert "nothing listens there" in Delivery.objects.get().fault
    with pytest.raises(ValidationError):
        actions.update_subscription(None, webhook.pk, {"address": "ftp://10.0.0.1/"}, author=make.SYSTEM)
    actions.update_subscription(None, webhook.pk, {"address": receiver.address}, author=make.SYSTEM)
    assert tasks.deliver.call() == 1


@pytest.mark.parametrize(("name", "is_valid"), [("warehouse.example.com", True), ("another.example.com", False)])
def test_the_certificate_is_checked_for_the_name_and_not_for_the_address(
    settings: Any, monkeypatch: Any, tmp_path: Path, name: str, is_valid: bool
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    key, certificate_file = certificate(tmp_path, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file, key)
    server_names: list[Any] = []
    context.sni_callback = lambda connection, server_name, context: server_names.append(server_name)
    client_context = ssl.create_default_context(cafile=str(certificate_file))
    monkeypatch.setattr(sending, "tls", lambda: client_context)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            plain, _ = server.accept()
            try:
                with context.wrap_socket(plain, server_side=True) as connection:
                    data = b""
                    while not data.endswith(b"{}"):
                        data += connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
            except OSError:
                plain.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        answers(monkeypatch, "127.0.0.1")
        with closing(sending.Connection()) as connection:
            answer = connection.post(f"https://warehouse.example.com:{server.getsockname()[1]}/", b"{}", {})
        thread.join(10)
    assert server_names == ["warehouse.example.com"]
    assert answer.is_success is is_valid
    assert ("certificate" in answer.fault) is not is_valid


def test_a_site_has_a_limited_number_of_webhooks(site: Site, settings: Any, monkeypatch: Any) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    monkeypatch.setattr(actions, "MOST_WEBHOOKS", 2)
    first, _ = (make_webhook(site, "http://127.0.0.1:1/") for _ in range(2))
    with pytest.raises(ValidationError, match="at most 2"):
        make_webhook(site, "http://127.0.0.1:1/")
    actions.archive_subscription(first, archived=True, author=make.SYSTEM)
    second = make_webhook(site, "http://127.0.0.1:1/")
    with pytest.raises(ValidationError, match="at most 2"):
        actions.archive_subscription(first, archived=False, author=make.SYSTEM)
    actions.archive_subscription(second, archived=False, author=make.SYSTEM)
    actions.archive_subscription(second, archived=True, author=make.SYSTEM)
    actions.archive_subscription(first, archived=False, author=make.SYSTEM)


def test_an_attempt_never_takes_longer_than_a_claim() -> None:
    from records.webhooks.deliverer import LEASE

    assert datetime.timedelta(seconds=sending.WHOLE_SECONDS) * 2 < LEASE
