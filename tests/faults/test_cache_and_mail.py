"""Redis that is killed or frozen, a mail server that stalls, and workers that are killed or lose their database."""

import json
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import redis as redis_client

from tests.faults.mails import Mails, ids_of, invitations, mails_to
from tests.faults.processes import (
    ON_POSTGRESQL,
    ON_SQLITE,
    Installation,
    Postgres,
    Server,
    allowed,
    free_port,
    wait_for,
    wait_until_back,
)

PASSWORD = "another password"  # gitleaks:allow (of a test)
LEAN = {"WEB_WORKERS": "1"}
"""For tests in which the server is only asked, so that it starts faster."""


class Redis:
    """A Redis server of our own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.start()

    def start(self) -> None:
        """Start the server and wait until it listens."""
        options = ["--port", str(self.port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
        options += ["--enable-debug-command", "local"]
        self.process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL, start_new_session=True)
        wait_for(self.answers)

    def answers(self) -> bool:
        """Return whether the server takes commands."""
        with suppress(redis_client.RedisError):
            return bool(self.client().ping())
        return False

    def kill(self) -> None:
        """Kill the server."""
        self.process.kill()
        self.process.wait()

    def break_down(self, how: str) -> None:
        """Kill, freeze or slow the server, take its memory, change its password, or make it a read-only replica."""
        client = self.client()
        if how == "killed":
            self.kill()
        elif how == "frozen":
            self.process.send_signal(signal.SIGSTOP)
        elif how == "slow":
            self.slow_until = threading.Event()
            threading.Thread(target=self.answer_slowly).start()
        elif how == "full":
            client.config_set("maxmemory", 1)
        elif how == "locked":
            client.config_set("requirepass", PASSWORD)
            redis_client.Redis(port=self.port, password=PASSWORD).client_kill_filter(_type="normal")
        else:
            client.replicaof("127.0.0.1", str(free_port()))

    def mend(self, how: str) -> None:
        """Undo `break_down`."""
        if how == "killed":
            self.start()
        elif how == "frozen":
            self.process.send_signal(signal.SIGCONT)
        elif how == "slow":
            self.slow_until.set()
        elif how == "full":
            self.client().config_set("maxmemory", 0)
        elif how == "locked":
            redis_client.Redis(port=self.port, password=PASSWORD).config_set("requirepass", "")
        else:
            self.client().replicaof("NO", "ONE")

    def answer_slowly(self) -> None:
        """Let every command wait for 0.3 seconds, which is less than what a client takes for a fault."""
        client = self.client()
        while not self.slow_until.is_set():
            client.execute_command("DEBUG", "SLEEP", "0.3")

    def client(self) -> "redis_client.Redis":
        """Return a client of the server, beside those of the product."""
        return redis_client.Redis(port=self.port)


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed.")
    redis = Redis()
    yield redis
    redis.kill()


@pytest.fixture(scope="module")
def limited_server(shared: Installation, redis: Redis) -> Iterator[Server]:
    """Return a server that counts its limits in Redis."""
    with shared.server({"CACHE_URL": f"redis://127.0.0.1:{redis.port}/0"}) as server:
        for _ in range(8):
            assert server.read().status == 200
        yield server


@ON_SQLITE
@pytest.mark.parametrize("how", ["killed", "frozen", "slow", "a replica", "full", "locked"])
def test_without_redis_each_process_counts_for_itself(limited_server: Server, redis: Redis, how: str) -> None:
    wait_for(lambda: limited_server.get("/readyz").json()["cache"] == "ok", 10)
    redis.break_down(how)
    if how == "slow":
        wait_for(lambda: all(limited_server.read().seconds < allowed(0.25) for _ in range(6)))
    answers = [ask() for _ in range(15) for ask in (limited_server.read, lambda: limited_server.get("/healthz"))]
    assert {answer.status for answer in answers} == {200}
    assert sum(answer.seconds > allowed(0.4) for answer in answers) <= 6
    wait_for(lambda: limited_server.get("/readyz").json()["cache"] == "away", 10)
    answer = limited_server.get("/readyz")
    assert (answer.status, answer.json()["status"]) == (200, "degraded")
    # Each of the two processes writes a line about it at most once a minute.
    lines: dict[str, int] = {}
    for line in limited_server.lines():
        if line["logger"] == "larder.cache" and "not answer" in line["message"]:
            lines[line["time"][:16]] = lines.get(line["time"][:16], 0) + 1
    assert lines
    assert max(lines.values()) <= 2
    redis.mend(how)
    wait_for(lambda: limited_server.read().status == 200 and limited_server.get("/readyz").json()["cache"] == "ok", 15)


def invite(server: Server) -> str:
    """Provision a person, who is invited by mail, and return the address."""
    answer = server.provision("nora")
    assert answer.status == 201, answer.body
    return "nora@example.com"


def ask_for_review(server: Server) -> str:
    """Add a document that somebody has to review, who gets a mail, and return the address."""
    people = server.get("/category/GetUserList", server.key).json()
    reviewer = next(person for person in people if person["EmailAddress"])
    body: dict[str, Any] = {"Name": "Silo 77", "FileType": "text/plain", "FileName": "a.txt", "FileContent": "YQ=="}
    body |= {"UserToReview": [{"Id": reviewer["Id"]}]}
    answer = server.send("POST", "/document/AddDocument", json.dumps(body).encode(), server.key)
    assert answer.status == 200, answer.body
    return str(reviewer["EmailAddress"])


def test_a_worker_that_is_killed_shows_in_readyz_and_its_mail_is_sent_within_a_minute_under_the_same_id(
    inviting: Installation, mails: Mails
) -> None:
    kill_while_sending(inviting, mails, invite, "")


@ON_SQLITE
def test_a_request_for_a_review_whose_worker_is_killed_is_sent_under_the_same_id(
    inviting: Installation, mails: Mails
) -> None:
    kill_while_sending(inviting, mails, ask_for_review, "Please review: Silo 77")


def kill_while_sending(inviting: Installation, mails: Mails, cause: Callable[[Server], str], about: str) -> None:
    """Kill the worker while it sends a mail, and let another one send it again."""
    url = f"smtp://127.0.0.1:{mails.server_address[1]}"
    with inviting.server({**LEAN, "EMAIL_URL": url}) as server:
        assert server.get("/readyz").json()["worker"] == "missing"
        address = mails.stalls_for = cause(server)
        with inviting.worker(EMAIL_URL=url) as worker:
            wait_for(lambda: mails_to(mails, address, about), 60)
            wait_for(lambda: server.get("/readyz").json()["worker"] == "ok", 30)
            worker.signal(signal.SIGKILL)
        mails.stalls_for = ""
        # A request for a review that another worker has is left alone for 45 seconds, which are cut short here.
        inviting.rows("UPDATE documents_notice SET due = created WHERE sent IS NULL")
        if not about:
            wait_for(lambda: server.get("/readyz").json()["worker"] == "missing", 60, 1)
        with inviting.worker(EMAIL_URL=url):
            wait_for(lambda: len(mails_to(mails, address, about)) > 1, 60)
        assert len(set(ids_of(mails_to(mails, address, about)))) == 1


@ON_SQLITE
def test_a_mail_server_that_stalls_costs_neither_the_mail_nor_the_worker(inviting: Installation, mails: Mails) -> None:
    url = f"smtp://127.0.0.1:{mails.server_address[1]}"
    with inviting.server({**LEAN, "EMAIL_URL": url}) as server, inviting.worker(EMAIL_URL=url) as worker:
        mails.stalls_for = "nora@example.com"
        invite(server)
        wait_for(lambda: invitations(mails), 60)
        # The worker gives the mail up after 10 s, and tries again a minute later; that minute is cut short here.
        wait_for(lambda: any("could not be sent" in line["message"] for line in worker.lines()), 30)
        assert worker.process.poll() is None
        assert server.get("/readyz").json()["worker"] == "ok"
        mails.stalls_for = ""
        inviting.rows("UPDATE django_tasks_database_dbtaskresult SET run_after = enqueued_at WHERE status = 'READY'")
        wait_for(lambda: len(invitations(mails)) > 1, 30)
        assert len(set(ids_of(invitations(mails)))) == 1


@ON_POSTGRESQL
def test_the_worker_outlives_its_database(pg: Postgres, inviting: Installation, mails: Mails) -> None:
    url = f"smtp://127.0.0.1:{mails.server_address[1]}"
    with inviting.server({**LEAN, "EMAIL_URL": url}) as server, inviting.worker(EMAIL_URL=url) as worker:
        wait_for(lambda: server.get("/readyz").json()["worker"] == "ok", 30)
        for pid in pg.backends(inviting.name):
            with pg.connect() as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", [pid])
        time.sleep(2)
        pg.stop()
        time.sleep(5)
        assert worker.process.poll() is None
        pg.start()
        wait_for(pg.answers, 60)
        wait_until_back(server.read)
        invite(server)
        wait_for(lambda: invitations(mails), 60)
        assert worker.process.poll() is None
        wait_for(lambda: server.get("/readyz").json()["worker"] == "ok", 30)
