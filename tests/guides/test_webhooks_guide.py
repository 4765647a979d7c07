"""The receiver in the guide to webhooks takes what Larder sends, as it stands in the guide."""

import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from records.sites.models import Site
from records.webhooks import actions, tasks
from records.webhooks.models import Delivery, Kind, Outcome, State
from tests import make
from tests.faults.processes import free_port
from tests.guides.conftest import COMMAND, blocks
from tests.make.items import make_item
from tests.make.webhooks import make_webhook, secret_of

GUIDE = "guides/webhooks.md"


@contextmanager
def running(port: int, secrets: str, state: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run the guide's receiver."""
    environment = {"SECRETS": secrets, "STATE": str(state), "PORT": str(port), "PATH": os.environ["PATH"]}
    code = "\n".join(blocks(GUIDE, "python"))
    program = subprocess.Popen([*COMMAND["python"], "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            except urllib.error.HTTPError:
                break  # It answers: a GET is not what it is there for.
            except OSError:
                time.sleep(0.1)
        yield program
    finally:
        program.terminate()
        program.wait(10)


def operations_of(program: "subprocess.Popen[str]") -> list[str]:
    """End the receiver and return the operations that it told of."""
    program.terminate()
    return [line.split()[1] for line in program.communicate(timeout=10)[0].splitlines()]


@pytest.mark.django_db
def test_the_receiver_takes_each_change_once_over_a_change_of_the_secret(
    site: Site, settings: Any, tmp_path: Path
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    port = free_port()
    webhook = make_webhook(site, f"http://127.0.0.1:{port}/larder")
    old = secret_of(webhook)
    with running(port, old, tmp_path / "number") as program:
        make_item(site, name="Scale")
        make_item(site, name="Thermometer")
        assert tasks.deliver.call() == 2
        first = Delivery.objects.filter(kind=Kind.CHANGE).order_by("pk")[0]
        assert tasks.send_one.call(actions.request_resend(first, author=make.SYSTEM).pk)
        assert tasks.send_one.call(actions.request_test(webhook, author=make.SYSTEM).pk)
        new = actions.rotate_secret(webhook, author=make.SYSTEM)
        make_item(site, name="Mixer")
        assert tasks.deliver.call() == 1
        assert operations_of(program) == ["AddItem"] * 3
    with running(port, f"{old} {new}", tmp_path / "number") as program:
        make_item(site, name="Oven")
        assert tasks.deliver.call() == 1
        assert operations_of(program) == ["AddItem"]


@pytest.mark.django_db
def test_the_receiver_refuses_another_secret(site: Site, settings: Any, tmp_path: Path) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    port = free_port()
    webhook = make_webhook(site, f"http://127.0.0.1:{port}/larder")
    with running(port, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", tmp_path / "number") as program:
        make_item(site, name="Scale")
        assert tasks.deliver.call() == 0
        assert (Delivery.objects.get().outcome, Delivery.objects.get().status) == (Outcome.FAILED, 401)
        assert operations_of(program) == []
    webhook.refresh_from_db()
    assert webhook.state == State.ACTIVE
