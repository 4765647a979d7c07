"""`python -m deploy.drill`: install, try, lose a web server, fail over, restore, upgrade and roll back.

Everything runs on this machine in folders and on ports of its own: PostgreSQL with a replica, pgbouncer in transaction
mode, Redis, a stand-in for S3, two web servers, a worker, and nginx with TLS in front. Each step prints what it saw,
and the command fails where a step does.
"""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.drill.load import Caller, Load
from deploy.drill.services import (
    ADDRESS,
    TOP,
    Bouncer,
    Postgres,
    Proxy,
    Services,
    free_port,
    start_files,
    start_redis,
    wait_until_healthy,
)
from deploy.drill.smoke import browse, expect, read_from_the_replica, smoke

PROGRAMS = ("nginx", "pgbouncer", "redis-server", "openssl")


@contextmanager
def step(title: str) -> Iterator[list[str]]:
    """Print the step with what was noted in it and how long it took."""
    start, notes = time.monotonic(), list[str]()
    print(f"- {title} …", flush=True)
    yield notes
    print(f"  {'; '.join(notes) or 'done'} ({time.monotonic() - start:.1f} s)", flush=True)


class Drill:
    """One run of the drill in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.services = Services(folder)
        self.prefix, self.etc = folder / "opt", folder / "etc"
        self.etc.mkdir()
        self.web_ports = [free_port(), free_port()]
        self.metrics_ports = [free_port(), free_port()]
        self.demo: dict[str, Any] = {}

    def release(self, *words: str) -> str:
        """Run the shipped release script with the drill's folders and return what it printed."""
        own = {
            "PREFIX": str(self.prefix),
            "ETC": str(self.etc),
            "STATE": str(self.folder / "state"),
            "RUN_AS": "",
            "PYTHON": sys.executable,
            "SERVICES": "true",
        }
        done = subprocess.run(
            [str(TOP / "deploy" / "release.sh"), *words],
            env={**os.environ, **own},
            capture_output=True,
            text=True,
            check=False,
        )
        expect(done.returncode == 0, f"release.sh {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    def settings(self, **changes: str) -> dict[str, str]:
        """Return the settings of the installation."""
        return {**self.environment, **changes}

    def manage(self, *words: str, **changes: str) -> str:
        """Run a management command of the current release and return its standard output."""
        release = self.prefix / "current"
        done = subprocess.run(
            [str(release / ".venv" / "bin" / "python"), "manage.py", *words],
            cwd=release,
            env=self.settings(**changes),
            capture_output=True,
            text=True,
            check=False,
        )
        expect(done.returncode == 0, f"manage.py {' '.join(words)} failed:\n{done.stdout}{done.stderr[-3000:]}")
        return done.stdout

    def start_services(self) -> None:
        """Start everything that is not Larder and write its settings."""
        self.primary, self.replica = Postgres(self.services, "postgres-a"), Postgres(self.services, "postgres-b")
        self.primary.make()
        self.replica.follow(self.primary)
        self.bouncer = Bouncer(self.services)
        self.bouncer.configure(self.primary)
        self.bouncer.start()
        self.proxy = Proxy(self.services)
        seal_key = self.folder / "etc" / "seal.key"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ENV_FILE": "",
            "ENVIRONMENT": "production",
            "BASE_URL": self.proxy.url,
            "SECRET_KEY": secrets.token_urlsafe(48),
            "CREDENTIAL_PEPPERS": secrets.token_urlsafe(48),
            "DATABASE_URL": self.bouncer.url,
            "DATABASE_REPLICA_URL": self.replica.url,
            "DATABASE_PREPARED_STATEMENTS": "off",
            "CACHE_URL": f"redis://{ADDRESS}:{start_redis(self.services)}/0",
            "STORAGE_URL": start_files(self.services),
            "EMAIL_URL": f"file://{self.folder}/mail",
            "TRUSTED_PROXIES": ADDRESS,
            "RATE_LIMIT": "1000000",
            "SEAL_KEY_FILE": str(seal_key),
            "DATA_DIR": str(self.folder / "state"),
        }
        (self.etc / "larder.env").write_text(
            "".join(f"{name}='{value}'\n" for name, value in self.environment.items()), encoding="utf-8"
        )

    def start_web(self, number: int) -> None:
        """Start one web server of the current release, as a machine of its own would."""
        release = (self.prefix / "current").resolve()
        self.services.start(
            f"web-{number}",
            [release / ".venv" / "bin" / "gunicorn", "config.wsgi", "-c", "config/gunicorn.py"],
            cwd=release,
            **self.settings(
                BIND=f"{ADDRESS}:{self.web_ports[number]}",
                METRICS_PORT=str(self.metrics_ports[number]),
                WEB_WORKERS="2",
                DATA_DIR=str(self.folder / f"web-{number}-data"),
            ),
        )
        wait_until_healthy(f"web-{number}", self.web_ports[number])

    def start_worker(self) -> None:
        """Start the worker of the current release."""
        release = (self.prefix / "current").resolve()
        self.services.start(
            "worker", [release / ".venv" / "bin" / "python", "manage.py", "db_worker"], cwd=release, **self.settings()
        )

    def install(self) -> None:
        """Install a release with the shipped script, make the first credentials and start everything."""
        self.release("prepare", str(TOP), "one")
        self.release("switch", "one")
        self.demo = json.loads(
            self.manage("bootstrap", "--site", "Drill Mill", "--email", "drill@example.com", "--json")
        )
        for number in range(2):
            self.start_web(number)
        self.start_worker()
        self.proxy.configure(self.web_ports)
        self.proxy.start()

    def replica_reads(self) -> dict[str, int]:
        """Return how many lists the replica answered, and how many the primary because of what."""
        counts: dict[str, int] = {}
        for port in self.metrics_ports:
            with urllib.request.urlopen(f"http://{ADDRESS}:{port}/metrics", timeout=20) as answer:
                text = answer.read().decode()
            for outcome, count in re.findall(
                r'^larder_replica_reads_total\{outcome="(\w+)"\} (\S+)', text, re.MULTILINE
            ):
                counts[outcome] = counts.get(outcome, 0) + int(float(count))
        return counts

    def caller(self) -> Caller:
        """Return a caller with the Manager's key."""
        return Caller(self.proxy.url, {"Ocp-Apim-Subscription-Key": self.demo["subscription_key"]})

    def load(self) -> Load:
        """Return writers with the Manager's key."""
        return Load(self.proxy.url, self.demo["subscription_key"])


def lose_a_web_server(drill: Drill, notes: list[str]) -> None:
    """Kill one of two web servers under load; the other one answers, and no acknowledged write is lost."""
    with drill.load() as load:
        time.sleep(3)
        drill.services.end("web-0", signal.SIGKILL)
        before, deadline = len(load.items), time.monotonic() + 60
        # What was added before may be noted after: each of the writers has one request under way.
        while len(load.items) <= before + load.writers and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(3)
        after = len(load.items)
    expect(after > before + load.writers, "Nothing was added after the loss.")
    expect(not load.lost_items(), "Acknowledged items are gone.")
    notes.append(f"{len(load.items)} added, {len(load.refusals)} refused, {load.errors} unanswered, none lost")
    drill.start_web(0)


def fail_over(drill: Drill, notes: list[str]) -> None:
    """Stop the primary under load, promote the replica and send everybody there, as the runbook says."""
    with drill.load() as load:
        time.sleep(2)
        drill.services.end("postgres-a", signal.SIGINT)
        start = time.monotonic()
        drill.replica.promote()
        drill.bouncer.point_at(drill.replica)
        before = len(load.items)
        while len(load.items) == before and time.monotonic() - start < 60:
            time.sleep(0.1)
        away = time.monotonic() - start
        time.sleep(3)
    expect(len(load.items) > before, "Nothing was added after the failover.")
    expect(not load.lost_items(), "Acknowledged items are gone.")
    notes.append(f"writes again after {away:.1f} s; {len(load.items)} added, {len(load.refusals)} refused, none lost")


def restore_elsewhere(drill: Drill, notes: list[str]) -> None:
    """Back up under load and restore into an empty database and folder of its own."""
    archive = drill.folder / "larder.backup"
    with drill.load():
        time.sleep(1)
        drill.manage("backup", str(archive))
    drill.replica.run("CREATE DATABASE restored", database="postgres")
    elsewhere = {
        "DATABASE_URL": drill.replica.url.removesuffix("larder") + "restored",
        "STORAGE_URL": (drill.folder / "restored-files").as_uri(),
        "DATA_DIR": str(drill.folder / "restored"),
    }
    drill.manage("restore", str(archive), **elsewhere)
    drill.manage("verify_history", **elsewhere)
    notes.append(f"{archive.stat().st_size // 1024} KiB restored and verified")


def upgrade_and_go_back(drill: Drill, notes: list[str]) -> None:
    """Bring up a second release one web server at a time under load, then go back to the first."""
    drill.release("prepare", str(TOP), "two")
    with drill.load() as load:
        time.sleep(1)
        for words in (("switch", "two"), ("rollback",)):
            drill.release(*words)
            for number in range(2):
                drill.services.end(f"web-{number}", signal.SIGTERM)
                drill.start_web(number)
    expect((drill.prefix / "current").resolve().name == "one", "The release is not the one before.")
    expect(not load.lost_items(), "Acknowledged items are gone.")
    notes.append(f"{len(load.items)} added, {len(load.refusals)} refused, {load.errors} unanswered, none lost")


def main() -> int:
    """Run every step and return the exit code."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None and not Path("/usr/sbin", name).exists()]
    if missing:
        print(f"The drill needs {', '.join(missing)}: install them from Debian's packages.", file=sys.stderr)
        return 2
    start = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="larder-drill-"))
    drill = Drill(folder)
    try:
        with step("Start PostgreSQL with a replica, pgbouncer, Redis and the store"):
            drill.start_services()
        with step("Install a release, migrate, make the first credentials, start web, worker and proxy"):
            drill.install()
        for title, run in (
            ("Smoke test through the proxy", smoke),
            ("Sign in with a browser", browse),
            ("Read lists from the replica", read_from_the_replica),
            ("Kill a web server under load", lose_a_web_server),
            ("Fail over to the replica under load", fail_over),
            ("Back up under load and restore elsewhere", restore_elsewhere),
            ("Upgrade and roll back under load", upgrade_and_go_back),
            ("Smoke test through the proxy again", smoke),
        ):
            with step(title) as notes:
                run(drill, notes)
        with step("Verify the history"):
            drill.manage("verify_history")
    except (AssertionError, TimeoutError, subprocess.SubprocessError, OSError) as error:
        print(f"The drill failed: {error}\nIts logs are in {folder}.", file=sys.stderr)
        return 1
    finally:
        drill.services.end_all()
    shutil.rmtree(folder, ignore_errors=True)
    print(f"The drill passed in {time.monotonic() - start:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
