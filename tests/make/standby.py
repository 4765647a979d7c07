"""A replica of the server that the tests use: a second PostgreSQL that follows it."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection

from tests import postgres

PATIENCE = 60.0


def wait_until(condition: Callable[[], Any], what: str) -> None:
    """Wait until the condition holds; fails with the sentence if it does not within a minute."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class Standby:
    """A PostgreSQL server that follows the one of the tests."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="larder-standby-"))
        self.binaries = postgres.find_binaries()
        self.user = postgres.non_root_prefix(self.folder)
        primary = connection.get_connection_params()
        command = [self.binaries / "pg_basebackup", "-h", primary["host"], "-U", primary["user"]]
        options = ["-D", self.folder / "data", "-R", "-X", "stream", "-c", "fast", "--no-sync"]
        subprocess.run([str(word) for word in [*self.user, *command, *options]], check=True, capture_output=True)
        self.start()

    @property
    def settings(self) -> dict[str, Any]:
        """Return Django's settings for this server."""
        own = connection.settings_dict
        options = {**own["OPTIONS"], "host": str(self.folder)}
        return {**own, "HOST": "", "OPTIONS": options, "TEST": {**own["TEST"], "MIRROR": "default"}}

    def start(self) -> None:
        """Start the server and wait until it answers."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            "hot_standby_feedback": "on",
            **postgres.FAST,
        }
        words = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.user, str(self.binaries / "postgres"), "-D", str(self.folder / "data"), *words],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self.answers, "The replica does not start.")

    def run(self, sql: str) -> Any:
        """Run a statement on the replica and return the first value of its answer."""
        name = connection.settings_dict["NAME"]
        with psycopg.connect(
            host=str(self.folder), user="larder", dbname=name, autocommit=True, connect_timeout=5
        ) as own:
            row = own.execute(sql.encode()).fetchone()
            return row and row[0]

    def answers(self) -> bool:
        """Return whether the server takes connections."""
        try:
            self.run("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def catch_up(self) -> None:
        """Wait until everything that was committed on the primary can be read here."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_current_wal_insert_lsn()")
            (lsn,) = cursor.fetchone()
            # A commit without effect lets the server flush what it has not flushed yet.
            cursor.execute("SELECT pg_logical_emit_message(false, 'tests', 'flush')")
        wait_until(
            lambda: self.run(f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'"),
            "The replica does not catch up.",
        )

    def pause(self) -> None:
        """Let the replica receive changes without showing them."""
        self.run("SELECT pg_wal_replay_pause()")
        wait_until(lambda: self.run("SELECT pg_get_wal_replay_pause_state()") == "paused", "The replica goes on.")

    def go_on(self) -> None:
        """Let the replica show changes again."""
        self.run("SELECT pg_wal_replay_resume()")

    def freeze(self) -> None:
        """Stop all processes of the server without closing a connection."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let the processes of the server run again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        """Send a signal to the server and to its processes, each of which leads a group of its own."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in (self.process.pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def stop(self) -> None:
        """Stop the server as a power cut would."""
        if self.process.poll() is None:
            self.thaw()
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(30)

    def remove(self) -> None:
        """Stop the server and remove its files."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
