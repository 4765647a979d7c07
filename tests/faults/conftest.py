"""Installations to hurt: each test gets a copy of a template that is filled once."""

import fcntl
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults import processes
from tests.faults.mails import Mails
from tests.faults.processes import Installation, Postgres, Server, wait_for

_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def figures(record_property: Callable[[str, object], None]) -> Iterator[None]:
    """Keep what the test measures for the summary at the end."""
    processes.calls.clear()
    processes.notes.clear()
    yield
    record_property("figures", processes.figures())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what each test has measured, for docs/reliability.md."""
    terminalreporter.section("figures")
    for report in terminalreporter.getreports(""):
        for name, value in report.user_properties:
            if report.when == "teardown" and name == "figures" and value:
                terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {value}")


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def template(request: pytest.FixtureRequest) -> Iterator[Installation]:
    """Return an installation with the demo that nobody changes, on each database."""
    with tempfile.TemporaryDirectory(prefix="larder-faults-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if request.param == "sqlite":
            yield _fill_once(Path(os.environ.get("FAULTS_FILLED", folder)))
            return
        (folder / "pg").mkdir()
        pg = Postgres(folder / "pg")
        (folder / "template").mkdir(mode=0o700)
        installation = Installation(folder / "template", pg)
        installation.fill()
        yield installation
        pg.stop()


def _fill_once(folder: Path) -> Installation:
    """Return the SQLite installation in a folder, which the first of several test runs fills."""
    installation = Installation(folder / "template", None)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (installation.folder / "credentials.json").exists():
            installation.folder.mkdir(mode=0o700)
            installation.fill()
    return installation


@pytest.fixture
def installation(template: Installation, tmp_path: Path) -> Installation:
    """Return an installation of the test's own."""
    return template.copy(tmp_path / "data", next(_numbers))


@pytest.fixture(scope="module")
def shared(template: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Return an installation that the tests of a module share."""
    return template.copy(tmp_path_factory.mktemp("shared"), next(_numbers))


@pytest.fixture(scope="module")
def server(shared: Installation) -> Iterator[Server]:
    """Return a server that the tests of a module share: it has to outlive each of their faults."""
    with shared.server() as running:
        running.wait_until_loaded()
        for _ in range(8):
            running.read()
        yield running


@pytest.fixture
def own_server(shared: Installation) -> Iterator[Server]:
    """Return a server of the test's own."""
    with shared.server() as running:
        yield running


@pytest.fixture
def pg(template: Installation) -> Iterator[Postgres]:
    """Return the PostgreSQL server, which runs again after the test."""
    assert template.pg is not None, "Mark the test with ON_POSTGRESQL."
    yield template.pg
    if template.pg.process.poll() is not None:
        template.pg.start()
    wait_for(template.pg.answers, 30)


@pytest.fixture
def mails() -> Iterator[Mails]:
    """Return a mail server."""
    with Mails() as server:
        yield server
        server.shutdown()


@pytest.fixture
def inviting(installation: Installation) -> Installation:
    """Return an installation whose directory invites the people that it adds."""
    installation.rows("UPDATE accounts_directory SET sends_invitations = true")
    return installation
