"""Workers that are stopped or killed during a delivery or a pack, and names that the network does not resolve."""

import io
import signal
import threading
import uuid
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.faults.browser import Browser
from tests.faults.mails import Mails, ids_of, mails_to
from tests.faults.processes import ON_SQLITE, Installation, wait_for
from tests.make.webhooks import Receiver, receiving

PRIVATE_ADDRESSES = {"WEBHOOK_ALLOW_PRIVATE": "on"}
LEAN = {"WEB_WORKERS": "1"}

# Names that end in .test are resolved as a file says.
RESOLVER = """
import pathlib, socket, time

resolve, state = socket.getaddrinfo, pathlib.Path({!r})

def getaddrinfo(host, *args, **kwargs):
    if str(host).endswith(".test"):
        while state.read_text() == "hangs":
            time.sleep(0.1)
        if state.read_text() == "fails":
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        host = "127.0.0.1"
    return resolve(host, *args, **kwargs)

socket.getaddrinfo = getaddrinfo
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def lead_webhook_to(installation: Installation, address: str) -> None:
    """Let the demo's webhook send every further change to an address."""
    newest = "(SELECT number FROM history_chainhead WHERE chain = webhooks_subscription.site_id)"
    installation.rows(
        f"UPDATE webhooks_subscription SET address = '{address}', entities = '[]', state = 'Active', "  # noqa: S608
        f"position = {newest}"
    )


def expire_claims(installation: Installation) -> None:
    """Cut short the minute after which another worker takes up what a killed one had begun."""
    installation.rows("UPDATE operations_heartbeat SET at = '2020-01-01 00:00:00' WHERE name LIKE 'worker:%'")
    installation.rows("UPDATE django_tasks_database_dbtaskresult SET started_at = '2020-01-01 00:00:00'")
    installation.rows("UPDATE webhooks_subscription SET claimed_until = NULL, next_attempt = NULL")


def let_retries_be_due(installation: Installation) -> None:
    """Cut short the time until a mail or a message that failed is tried again."""
    installation.rows("UPDATE django_tasks_database_dbtaskresult SET run_after = enqueued_at WHERE status = 'READY'")
    installation.rows("UPDATE webhooks_subscription SET next_attempt = NULL")


def last_sign(installation: Installation) -> Any:
    """Return when a worker gave its last sign of life."""
    return installation.rows("SELECT max(at) FROM operations_heartbeat WHERE name LIKE 'worker:%'")[0][0]


def test_a_worker_that_is_stopped_or_killed_during_a_delivery_loses_and_changes_nothing(
    installation: Installation, receiver: Receiver
) -> None:
    lead_webhook_to(installation, receiver.address)
    with installation.server(LEAN) as server:
        for how in (signal.SIGTERM, signal.SIGKILL):
            answers, before = threading.Event(), len(receiver.got)
            receiver.before_answer = partial(answers.wait, 60)
            with installation.worker(**PRIVATE_ADDRESSES) as worker:
                assert server.add().status == 200
                wait_for(lambda: len(receiver.got) > before, 60)  # noqa: B023 (awaited within the turn)
                worker.signal(how)
                if how == signal.SIGKILL:
                    worker.process.wait()
                answers.set()
                assert worker.process.wait(60) == (0 if how == signal.SIGTERM else -how)
        receiver.before_answer = lambda: None
        expire_claims(installation)
        with installation.worker(**PRIVATE_ADDRESSES):
            assert server.add().status == 200
            wait_for(lambda: len(receiver.got) >= 4, 60)
    first, interrupted, again, last = [message.headers["webhook-id"] for message in receiver.got]
    assert interrupted == again
    assert len({first, interrupted, last}) == 3
    assert receiver.numbers == sorted(receiver.numbers)
    assert receiver.got[1].body == receiver.got[2].body


@ON_SQLITE
def test_names_that_are_not_resolved_lose_neither_a_mail_nor_a_message(
    inviting: Installation, mails: Mails, receiver: Receiver, tmp_path: Path
) -> None:
    names = tmp_path / "names"
    names.write_text("fails")
    (tmp_path / "sitecustomize.py").write_text(RESOLVER.format(str(names)))
    lead_webhook_to(inviting, receiver.address.replace("127.0.0.1", "hook.test"))
    url = {"EMAIL_URL": f"smtp://mail.test:{mails.server_address[1]}"}

    def unresolved_invitation() -> Any:
        text = "%could not be resolved%"
        return inviting.rows(f"SELECT count(*) FROM webhooks_delivery WHERE fault LIKE '{text}' AND number > 0")[0][0]  # noqa: S608

    with (
        inviting.server({**LEAN, **url}) as server,
        inviting.worker(PYTHONPATH=str(tmp_path), **PRIVATE_ADDRESSES, **url) as worker,
    ):
        assert server.provision("nora").status == 201
        wait_for(lambda: any("could not be sent" in line["message"] for line in worker.lines()), 60)
        wait_for(unresolved_invitation, 60)
        names.write_text("hangs")
        let_retries_be_due(inviting)
        # A mail waits for as long as the system's resolver does; the worker gives signs of life meanwhile.
        before = last_sign(inviting)
        wait_for(lambda: last_sign(inviting) > before, 30)
        assert server.get("/readyz").json()["worker"] == "ok"
        assert worker.process.poll() is None
        names.write_text("works")
        let_retries_be_due(inviting)
        wait_for(lambda: mails_to(mails, "nora@example.com"), 60)
        wait_for(lambda: receiver.got, 60)
        assert len(set(ids_of(mails_to(mails, "nora@example.com")))) == 1
        assert receiver.numbers == sorted(set(receiver.numbers))


@ON_SQLITE
def test_a_pack_whose_worker_is_killed_is_made_by_another_one(installation: Installation) -> None:
    def status() -> str:
        return str(installation.rows("SELECT status FROM packs_pack ORDER BY created DESC LIMIT 1")[0][0])

    with installation.server(LEAN) as server:
        person = Browser(server, installation.credentials["people"]["manager"])
        fields = {**person.form("/admin/packs/new/"), "kinds": ["complaints"]}
        assert person.post("/admin/packs/new/", fields).status == 302
        before = installation.files()
        with installation.worker() as worker:
            wait_for(lambda: status() != "Waiting", 60, 0.02)
            worker.signal(signal.SIGKILL)
            worker.process.wait()
        expire_claims(installation)
        with installation.worker():
            wait_for(lambda: status() == "Ready", 120)
        (key,) = installation.rows("SELECT id FROM packs_pack ORDER BY created DESC LIMIT 1")[0]
        answer = person.get(f"/admin/packs/{uuid.UUID(str(key))}/file/")
        assert answer.status == 200
        with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
            assert archive.testzip() is None
        assert len(installation.files() - before) == 1
