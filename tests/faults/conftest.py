"""Installations to hurt: each test gets a copy of one that was filled once."""

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.processes import Installation, Postgres, wait_for

_numbers = itertools.count(1)


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest) -> Iterator[Installation]:
    """Return an installation with the demo that nobody changes, on each database."""
    with tempfile.TemporaryDirectory(prefix="larder-faults-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        pg = None
        if request.param == "postgresql":
            (folder / "pg").mkdir()
            pg = Postgres(folder / "pg")
        (folder / "filled").mkdir(mode=0o700)
        installation = Installation(folder / "filled", pg)
        installation.fill()
        yield installation
        if pg:
            pg.stop()


@pytest.fixture
def installation(filled: Installation, tmp_path: Path) -> Installation:
    """Return an installation of the test's own."""
    return filled.copy(tmp_path / "data", next(_numbers))


@pytest.fixture
def pg(installation: Installation) -> Iterator[Postgres]:
    """Return the installation's PostgreSQL, which runs again after the test; tests of it are left out on SQLite."""
    if installation.pg is None:
        pytest.skip("This fault does not exist on SQLite.")
    yield installation.pg
    if installation.pg.process.poll() is not None:
        installation.pg.start()
    wait_for(installation.pg.answers, 30)
