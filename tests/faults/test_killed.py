"""Web workers that are killed or have no file descriptor left, clients that leave, and a seal that is broken off."""

import json
import os
import resource
import signal
import socket
import struct
import threading
import time
import uuid
from functools import partial
from pathlib import Path

from tests.faults.processes import ON_SQLITE, Answer, Installation, Server, allowed, wait_for, wait_until_back

ABORT = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which closing a socket resets its connection."""
DIES_WHILE_IT_SEALS = """
import os, signal
rename = os.rename
def dying(source, target, **options):
    if "/.history-" in str(source):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(source, target, **options)
os.rename = dying
"""


def is_replaced(server: Server, worker: int) -> bool:
    """Return whether two workers serve, and this one is not among them."""
    return len(server.workers()) == 2 and worker not in server.workers()


@ON_SQLITE
def test_web_workers_that_are_killed_under_load_lose_and_double_nothing(
    own_server: Server, shared: Installation
) -> None:
    before, until = shared.count_items(), time.monotonic() + 8
    writes: list[Answer] = []
    failures: list[Answer] = []

    def add() -> None:
        while time.monotonic() < until:
            key = {"Idempotency-Key": str(uuid.uuid4())}
            while (answer := own_server.add(key)).status != 200:
                failures.append(answer)
                time.sleep(0.05)
            writes.append(answer)

    writers = [threading.Thread(target=add) for _ in range(4)]
    for writer in writers:
        writer.start()
    for _ in range(3):
        time.sleep(1)
        (worker, *_) = own_server.workers()
        os.kill(worker, signal.SIGKILL)
        wait_for(partial(is_replaced, own_server, worker))
    for writer in writers:
        writer.join()
    # The connections of a killed worker are reset; the writers repeat what they do not know.
    assert {answer.status for answer in failures} <= {0, 503}
    ids = {answer.json()["Id"] for answer in writes}
    assert len(ids) == len(writes) > 20 / allowed(1)
    assert shared.count_items() == before + len(writes)
    assert "verified." in shared.manage("verify_history")


@ON_SQLITE
def test_writes_whose_clients_leave_before_the_answer_are_stored_once(server: Server, shared: Installation) -> None:
    before = shared.count_items()
    body = b'{"Name": "Thermometer"}'
    keys = [str(uuid.uuid4()) for _ in range(20)]
    for key in keys:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            head = f"POST /item/AddItem HTTP/1.1\r\nHost: 127.0.0.1\r\nIdempotency-Key: {key}\r\n"
            head += f"Ocp-Apim-Subscription-Key: {server.credentials['subscription_key']}\r\n"
            client.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    answers = [server.add({"Idempotency-Key": key}) for key in keys]
    assert {answer.status for answer in answers} == {200}
    assert len({answer.json()["Id"] for answer in answers}) == 20
    assert shared.count_items() == before + 20
    assert not [line for line in server.lines() if line["level"] == "ERROR"]


@ON_SQLITE
def test_a_worker_without_free_descriptors_answers_what_it_can_and_recovers(shared: Installation) -> None:
    file = json.dumps({"Name": "Plan", "FileType": "text/plain", "FileName": "plan.txt", "FileContent": "cGxhbg=="})
    with shared.server({"WEB_WORKERS": "1"}) as server:
        server.wait_until_loaded(1)
        assert {server.read().status for _ in range(8)} == {200}
        (worker,) = server.workers()
        usual = resource.prlimit(worker, resource.RLIMIT_NOFILE)
        used = {int(path.name) for path in Path(f"/proc/{worker}/fd").iterdir()}
        # One for a connection, and one for what its request opens.
        free = [number for number in range(len(used) + 2) if number not in used]
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (free[1] + 1, usual[1]))
        answers = []
        for _ in range(10):
            answers.append(server.read(timeout=20))
            answers.append(server.send("POST", "/document/AddDocument", file.encode(), server.key, timeout=20))
            answers.append(server.get("/healthz", timeout=20))
        resource.prlimit(worker, resource.RLIMIT_NOFILE, usual)
        assert {answer.status for answer in answers} <= {0, 200, 503}, [answer.body for answer in answers]
        wait_until_back(server.read)
        assert server.send("POST", "/document/AddDocument", file.encode(), server.key).status == 200
        assert server.workers() == [worker]


@ON_SQLITE
def test_a_seal_that_a_killed_worker_broke_off_is_made_by_another_one(
    installation: Installation, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(DIES_WHILE_IT_SEALS)
    seals = installation.folder / "seals"
    with installation.worker(PYTHONPATH=str(tmp_path)) as worker:
        wait_for(lambda: worker.process.poll() == -signal.SIGKILL, 60)
    assert not list(seals.glob("history-*.json"))
    with installation.worker():
        wait_for(lambda: list(seals.glob("history-*.json")), 90)
    (seal,) = seals.glob("history-*.json")
    assert "Nothing was cut or rewritten" in installation.manage("verify_history", "--seal", str(seal))
