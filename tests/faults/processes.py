"""The processes of an installation, and how to hurt them."""

import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from tests import postgres

ROOT = Path(__file__).resolve().parent.parent.parent
SCIM = "urn:ietf:params:scim"
UNSET = ("PORT", "BIND", "DATABASE_URL", "CACHE_URL", "STORAGE_URL", "EMAIL_URL", "BASE_URL", "ENVIRONMENT")

ON_SQLITE = pytest.mark.parametrize("template", ["sqlite"], indirect=True, scope="session")
"""Marks a test of something that does not depend on the database."""
ON_POSTGRESQL = pytest.mark.parametrize("template", ["postgresql"], indirect=True, scope="session")
"""Marks a test of a fault that does not exist on SQLite."""


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], Any], seconds: float = 20, every: float = 0.1) -> float:
    """Wait until the condition holds and return after how many seconds; fails when it does not hold in time."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < allowed(seconds), f"This did not come true within {seconds} s."
        time.sleep(every)
    return time.monotonic() - start


calls: list[tuple[str, "Answer"]] = []
"""Every path that the running test has asked for, and its answer; the figures of the test are made from them."""
notes: list[str] = []
"""What the running test has measured otherwise."""


def figures() -> str:
    """Return what the running test has seen: the answers by status with the slowest of each, and its notes."""
    seconds: dict[str, list[float]] = {}
    for path, answer in calls:
        kind = f"{path} " if path in ("/healthz", "/readyz") else ""
        seconds.setdefault(f"{kind}{answer.status or 'broken'}", []).append(answer.seconds)
    counts = [f"{len(took)} x {kind}, slowest {max(took):.2f} s" for kind, took in sorted(seconds.items())]
    return "; ".join([*notes, *counts])


def wait_until_back(ask: Callable[[], "Answer"], seconds: float = 5) -> None:
    """Wait until a request is answered with 200 again, and note how long that took; fails where it takes too long."""
    took = wait_for(lambda: ask().status == 200, seconds)
    notes.append(f"back after {took:.1f} s")


def allowed(seconds: float) -> float:
    """Return how many seconds something may take: those promised, and more where the machine is busy with other work.

    Nothing is added while the load average, which the test's own processes raise as well, is at most twice the number
    of cores.
    """
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) - 1)


class Answer(NamedTuple):
    """An answer, and how long it took in seconds; status 0 where the connection broke."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    seconds: float

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


class Process:
    """A process with its log, which ends with the test."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path, code: Path = ROOT) -> None:
        self.log = log
        self.before = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, env=environment, cwd=code, stdout=output, stderr=output, start_new_session=True
            )

    def signal(self, number: int) -> None:
        """Send a signal to the process and its children."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self) -> None:
        """Stop the process, by force if need be."""
        self.signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait(10)

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of the log that were written since the process was started."""
        text = self.log.read_bytes()[self.before :].decode()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Server(Process):
    """A running server."""

    def __init__(self, environment: dict[str, str], log: Path, credentials: dict[str, Any], code: Path) -> None:
        self.port = int(environment["PORT"])
        self.credentials = credentials
        self.key = {"Ocp-Apim-Subscription-Key": credentials["subscription_key"]}
        super().__init__(
            [sys.executable, "-m", "gunicorn", "config.wsgi", "-c", "config/gunicorn.py"], environment, log, code
        )
        wait_for(lambda: self.get("/healthz").status == 200, 60)

    def wait_until_loaded(self, workers: int = 2) -> None:
        """Wait until each worker has loaded what it loads in the background, so that it does not slow down a test."""
        wait_for(lambda: self.log.read_bytes()[self.before :].count(b"The worker has loaded what") >= workers, 60)

    def get(self, path: str, headers: Mapping[str, str] | None = None, *, timeout: float = 60) -> Answer:
        """Send a GET on a connection of its own."""
        return self.send("GET", path, headers=headers, timeout=timeout)

    def read(self, **options: Any) -> Answer:
        """Read a short list with the demo's key."""
        return self.get("/item/GetItemList?limit=2", self.key, **options)

    def provision(self, name: str, method: str = "POST", key: str = "") -> Answer:
        """Add a person, or change the one with an id, with the demo's token for the standard's shapes."""
        body: dict[str, Any] = {"schemas": [f"{SCIM}:schemas:core:2.0:User"], "userName": f"{name}@example.com"}
        body |= {"name": {"givenName": name, "familyName": "Field"}, "emails": [{"value": f"{name}@example.com"}]}
        if method == "PATCH":
            change = {"op": "replace", "path": "name.givenName", "value": name}
            body = {"schemas": [f"{SCIM}:api:messages:2.0:PatchOp"], "Operations": [change]}
        headers = {"Authorization": f"Bearer {self.credentials['scim_rfc_token']}"}
        headers["Content-Type"] = "application/scim+json"
        return self.send(method, f"/scim/Users/{key}".rstrip("/"), json.dumps(body).encode(), headers)

    def read_user(self, **options: Any) -> Answer:
        """Read a user with the demo's provisioning token."""
        token = {"Authorization": f"Bearer {self.credentials['scim_token']}"}
        return self.get("/scim/Users?count=1", token, **options)

    def add(self, headers: Mapping[str, str] | None = None, **options: Any) -> Answer:
        """Add an item with the demo's key."""
        return self.send(
            "POST", "/item/AddItem", b'{"Name": "Thermometer"}', {**self.key, **(headers or {})}, **options
        )

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float = 60,
    ) -> Answer:
        """Send a request on a connection of its own."""
        start = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read(), 0)  # type: ignore[arg-type]
        except (OSError, http.client.HTTPException) as error:
            answer = Answer(0, {}, repr(error).encode(), 0)
        finally:
            connection.close()
        answer = answer._replace(seconds=time.monotonic() - start)
        calls.append((path, answer))
        return answer

    def workers(self) -> list[int]:
        """Return the ids of the worker processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in children.split()]

    def memory(self) -> int:
        """Return the largest resident memory of a worker, in bytes."""
        sizes = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.workers()]
        return max(sizes) * os.sysconf("SC_PAGESIZE")


class Postgres:
    """A PostgreSQL server of our own that can be stopped, started and frozen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.binaries = postgres.find_binaries()
        self.user = postgres.non_root_prefix(folder)
        postgres.initialise(self.binaries, folder, self.user)
        self.start()
        postgres.create_database(folder, folder / "log")

    def start(self) -> None:
        """Start the server; does not wait until it answers."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "100",
            **postgres.FAST,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as output:
            self.process = subprocess.Popen(
                [*self.user, str(self.binaries / "postgres"), "-D", str(self.folder / "data"), *options],
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def stop(self, how: int = signal.SIGQUIT) -> None:
        """Stop the server at once, as a power cut would, or with SIGINT in good order."""
        self.process.send_signal(how)
        self.process.wait(60)

    def answers(self) -> bool:
        """Return whether the server takes connections."""
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def backends(self, name: str) -> list[int]:
        """Return the process ids of a database's connections."""
        with self.connect() as connection:
            rows = connection.execute("SELECT pid FROM pg_stat_activity WHERE datname = %s", [name]).fetchall()
        return [row[0] for row in rows]

    def signal_all(self, number: int) -> None:
        """Send a signal to the server and each of its processes."""
        for child in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(child), number)
        os.kill(self.process.pid, number)

    def connect(self, name: str = "postgres") -> psycopg.Connection[Any]:
        """Return a connection of a superuser's, beside those of the product."""
        return psycopg.connect(host=str(self.folder), user="larder", dbname=name, autocommit=True)

    def give(self, folder: Path) -> None:
        """Let the server use a folder."""
        if self.user[:1] == ["setpriv"]:
            os.chown(folder, postgres.NOBODY, postgres.NOBODY)

    def url(self, name: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://larder@/{name}?host={self.folder}"


class Installation:
    """A migrated database with the demo, in a folder of its own."""

    def __init__(self, folder: Path, pg: Postgres | None, number: int = 0) -> None:
        self.folder, self.pg, self.name = folder, pg, f"faults{number}" if number else "larder"
        self.logs = folder
        self.environment = {name: value for name, value in os.environ.items() if name not in UNSET} | {
            "DATA_DIR": str(folder),
            "ENV_FILE": "",
            "STATIC_COLLECTED": "off",
            "RATE_LIMIT": "1000000",
            "AUTH_FAILURE_LIMIT": "1000000",
            **({"DATABASE_URL": pg.url(self.name)} if pg else {}),
        }

    def fill(self) -> None:
        """Migrate and fill the demo."""
        self.run("-m", "tests.migrated")
        (self.folder / "credentials.json").write_text(self.manage("demo", "--json"))
        # The workers of the tests do their own work only, and not the demo's.
        self.rows("DELETE FROM django_tasks_database_dbtaskresult")

    def copy(self, folder: Path, number: int, tablespace: str = "pg_default") -> "Installation":
        """Return another installation that starts with the same data."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        if self.pg:
            with self.pg.connect() as connection:
                connection.execute(f"CREATE DATABASE faults{number} TEMPLATE {self.name} TABLESPACE {tablespace}")
                # PostgreSQL logs the values of a sequence 32 ahead. The log of a copy does not hold those until a
                # checkpoint, so a copy that is killed before one would give out the same values again.
                connection.execute("CHECKPOINT")
        return Installation(folder, self.pg, number)

    def rows(self, statement: str) -> list[Any]:
        """Run a statement beside the product, and return its rows."""
        if self.pg:
            with self.pg.connect(self.name) as connection:
                cursor = connection.execute(statement)
                return cursor.fetchall() if cursor.description else []
        with closing(sqlite3.connect(self.folder / "larder.sqlite3", isolation_level=None)) as connection:
            return connection.execute(statement).fetchall()

    def count_items(self) -> int:
        """Return how many items are stored."""
        return int(self.rows("SELECT count(*) FROM items_item")[0][0])

    def files(self) -> set[Path]:
        """Return the paths of the stored files."""
        return {path for path in (self.folder / "files").rglob("*") if path.is_file()}

    def let_notes_of_use_be_due(self) -> None:
        """Let the next call of a token, or of a key that a server does not remember, be one that notes its use."""
        for table in ("provisioningtoken", "subscriptionkey"):
            self.rows(f"UPDATE accounts_{table} SET last_used = '2020-01-01 00:00:00'")  # noqa: S608

    @property
    def credentials(self) -> dict[str, Any]:
        """Return the demo's credentials."""
        credentials: dict[str, Any] = json.loads((self.folder / "credentials.json").read_text())
        return credentials

    def manage(self, *arguments: str, **variables: str) -> str:
        """Run a command of manage.py and return what it prints."""
        return self.run("manage.py", *arguments, **variables)

    def run(self, *arguments: str, **variables: str) -> str:
        """Run a Python program in the installation's environment and return what it prints."""
        done = subprocess.run(
            [sys.executable, *arguments],
            env=self.environment | variables,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def server(self, variables: Mapping[str, str] | None = None, *, code: Path = ROOT) -> Iterator[Server]:
        """Run a server with variables of its own, from the code in a folder."""
        environment = self.environment | {"PORT": str(free_port())} | dict(variables or {})
        server = Server(environment, self.logs / "server.log", self.credentials, code)
        try:
            yield server
        finally:
            server.end()

    @contextmanager
    def worker(self, **variables: str) -> Iterator[Process]:
        """Run the worker of the background tasks."""
        command = [sys.executable, "manage.py", "db_worker", "--interval", "0.5", "--no-startup-delay"]
        worker = Process(command, self.environment | variables, self.logs / "worker.log")
        try:
            yield worker
        finally:
            worker.end()
