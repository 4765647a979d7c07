"""A disk without space under the database and the files, and a server whose clock is wrong."""

import base64
import datetime
import json
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.faults.browser import Browser
from tests.faults.processes import (
    ON_POSTGRESQL,
    ON_SQLITE,
    Answer,
    Installation,
    Postgres,
    Server,
    wait_for,
    wait_until_back,
)

NEW_PACK = "/admin/packs/new/"
SMALL = 96 * 1024 * 1024
SEGMENT = 16 * 1024 * 1024
"""The size of a file of PostgreSQL's log."""
FAKE_CLOCKS = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


@pytest.fixture
def small_installation(template: Installation, tmp_path: Path) -> Iterator[tuple[Installation, Path]]:
    """Return an installation on a disk of its own, and a file with which to fill that disk."""
    # Beside the template, since PostgreSQL's own user can go there.
    disk = template.folder.parent / "small"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL},mode=755", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        disk.rmdir()
        pytest.skip("This machine lets no small disk be mounted.")
    try:
        (disk / "data").mkdir(mode=0o700)
        if template.pg:
            (disk / "rows").mkdir()
            template.pg.give(disk / "rows")
            with template.pg.connect() as connection:
                connection.execute(f"CREATE TABLESPACE small LOCATION '{disk / 'rows'}'")
        try:
            copy = template.copy(disk / "data", 990, "small")
            copy.logs = tmp_path
            yield copy, disk / "filler"
        finally:
            (disk / "filler").unlink(missing_ok=True)
            if template.pg:
                with template.pg.connect() as connection:
                    connection.execute("DROP DATABASE IF EXISTS faults990 WITH (FORCE)")
                    connection.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
        disk.rmdir()


def fill(path: Path) -> None:
    """Write until the disk has no space left."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return


def attach(server: Server, record: str) -> Answer:
    """Send a file of a megabyte to a record."""
    content = base64.b64encode(os.urandom(1024 * 1024)).decode()
    body = {"RecordId": record, "FileName": "crate.png", "FileType": "image/png", "FileContent": content}
    return server.send("POST", "/attachment/AddAttachment", json.dumps(body).encode(), server.key)


@ON_SQLITE
def test_a_disk_that_cannot_be_written_is_an_outage_and_no_error_of_ours(
    small_installation: tuple[Installation, Path],
) -> None:
    installation, filler = small_installation

    def remount(how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(filler.parent)], check=True)

    remount("ro")
    try:
        with installation.server({"WEB_WORKERS": "1"}) as server:
            assert server.read().status == 503
            assert server.read_user().status == 503
            assert server.get("/admin/login/").status in (200, 503)
            assert server.add().status == 503
            answer = server.get("/readyz")
            assert (answer.status, answer.json()["database"], answer.json()["files"]) == (503, "away", "failing")
            assert server.get("/healthz").status == 200
            remount("rw")
            wait_until_back(server.add)
            wait_for(lambda: server.get("/readyz").json()["database"] == "ok", 20)
            assert not [line for line in server.lines() if line["level"] == "ERROR"]
    finally:
        remount("rw")


def test_a_full_disk_is_named_loses_nothing_and_leaves_no_file(small_installation: tuple[Installation, Path]) -> None:
    installation, filler = small_installation
    with installation.server() as server:
        first = server.add()
        assert first.status == 200, first.body
        assert attach(server, first.json()["Id"]).status == 200
        before, files = installation.rows("SELECT count(*) FROM items_item")[0][0], installation.files()
        installation.let_notes_of_use_be_due()
        fill(filler)
        answers: list[int] = []

        def add() -> int:
            answer = server.add()
            answers.append(answer.status)
            assert answer.status == 200 or "no space left" in answer.json()["Message"], answer.body
            return answer.status

        wait_for(lambda: add() == 503, 60, 0)
        assert server.read().status == 200
        assert server.read_user().status == 200
        assert attach(server, first.json()["Id"]).status == 503
        assert installation.files() == files
        wait_for(lambda: add() and server.get("/readyz").json()["writes"] == "failing", 20)
        answer = server.get("/readyz")
        assert (answer.status, answer.json()["status"], answer.json()["files"]) == (200, "degraded", "failing")
        assert any(line.get("sqlstate") for line in server.lines())
        filler.unlink()
        wait_for(lambda: add() == 200, 5)
        wait_for(lambda: server.get("/readyz").json()["writes"] == "ok", 30)
        assert attach(server, first.json()["Id"]).status == 200
        assert set(answers) == {200, 503}
        # What was acknowledged is there: no more, no less.
        assert installation.rows("SELECT count(*) FROM items_item")[0][0] == before + answers.count(200)
    # A server on SQLite keeps files beside the database while it runs; that of a stopped one is whole by itself.
    assert not list(installation.folder.glob("larder.sqlite3-*"))


@ON_SQLITE
def test_what_is_made_on_a_full_disk_is_refused_in_words_and_leaves_nothing(
    small_installation: tuple[Installation, Path], tmp_path: Path
) -> None:
    installation, filler = small_installation
    # The database lies on another disk than the files.
    database = installation.folder / "larder.sqlite3"
    shutil.move(database, tmp_path / "larder.sqlite3")
    database.symlink_to(tmp_path / "larder.sqlite3")
    scratch = filler.parent / "scratch"
    scratch.mkdir()

    def pack() -> tuple[str, str]:
        rows = installation.rows("SELECT status, problem FROM packs_pack ORDER BY created DESC LIMIT 1")
        return (str(rows[0][0]), str(rows[0][1])) if rows else ("", "")

    with installation.server({"WEB_WORKERS": "1", "TMPDIR": str(scratch)}) as server, installation.worker():
        person = Browser(server, installation.credentials["people"]["manager"])
        form, files = person.form(NEW_PACK), installation.files()
        fill(filler)
        for kind in ("csv", "xlsx"):
            export = person.get(f"/admin/complaints/complaint/export/{kind}/")
            assert export.status == 503, export.body[:200]
            assert b"no space left" in export.body
        with pytest.raises(AssertionError, match=r"could not be made: .*No space left"):
            installation.manage("backup", str(filler.parent / "b.tar.gz"))
        assert person.post(NEW_PACK, form).status == 302
        wait_for(lambda: pack()[0] == "Failed", 90)
        assert pack()[1] == "The disk is full."
        assert person.get("/admin/packs/").status == 200
        assert installation.files() == files
        assert {path.name for path in filler.parent.iterdir()} <= {"filler", "data", "rows", "scratch"}
        assert not list(scratch.iterdir())
        filler.unlink()
        assert person.get("/admin/complaints/complaint/export/xlsx/").status == 200
        assert person.post(NEW_PACK, person.form(NEW_PACK)).status == 302
        wait_for(lambda: pack()[0] == "Ready", 90)
        assert len(installation.files()) == len(files) + 1


@pytest.fixture
def small_log(pg: Postgres) -> Iterator[Path]:
    """Let PostgreSQL write its log to a disk of its own, and return a file with which to fill that disk."""
    with pg.connect() as connection:
        connection.execute("CHECKPOINT")
    pg.stop(signal.SIGINT)
    log, disk = pg.folder / "data" / "pg_wal", pg.folder / "small"
    disk.mkdir()
    size = sum(path.stat().st_size for path in log.rglob("*")) + 8 * SEGMENT
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(disk)]
    is_mounted = not subprocess.run(mount, check=False, capture_output=True).returncode
    try:
        if is_mounted:
            subprocess.run(["cp", "-a", log, disk / "pg_wal"], check=True)
            log.rename(pg.folder / "kept")
            log.symlink_to(disk / "pg_wal")
            pg.start()
            wait_for(pg.answers, 30)
            yield disk / "filler"
            (disk / "filler").unlink(missing_ok=True)
            if pg.process.poll() is None:
                pg.stop(signal.SIGINT)
            log.unlink()
            subprocess.run(["cp", "-a", disk / "pg_wal", log], check=True)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=is_mounted)
        disk.rmdir()
        shutil.rmtree(pg.folder / "kept", ignore_errors=True)
        pg.start()
        wait_for(pg.answers, 30)
    if not is_mounted:
        pytest.skip("This machine lets no small disk be mounted.")


@ON_POSTGRESQL
def test_a_full_disk_under_the_log_of_postgresql_loses_nothing(
    pg: Postgres, small_log: Path, installation: Installation
) -> None:
    # As it is by default: what is acknowledged is in the log. The other tests go without it to be faster.
    installation.rows(f"ALTER DATABASE {installation.name} SET synchronous_commit = on")
    with installation.server() as server:
        before = installation.rows("SELECT count(*) FROM items_item")[0][0]
        answers = [server.add() for _ in range(5)]
        fill(small_log)

        def add() -> bool:
            # The server takes a new file of its log when it is told to; it keeps some that it can use again.
            with suppress(psycopg.Error), pg.connect() as connection:
                connection.execute("SELECT pg_switch_wal()")
            answers.append(server.add())
            return answers[-1].status == 503

        def started_again() -> bool:
            # PostgreSQL ends when it cannot write its log, now or in a moment, and is then started by its operator.
            if pg.process.poll() is not None:
                pg.start()
            return pg.answers()

        wait_for(add, 60, 0)
        assert server.get("/healthz").status == 200
        small_log.unlink()
        wait_for(started_again, 60)
        wait_until_back(server.add)
        assert {answer.status for answer in answers} == {200, 503}
        refusals = sum(answer.status == 503 for answer in answers)
        beyond = installation.rows("SELECT count(*) FROM items_item")[0][0] - before - (len(answers) - refusals)
        # One more was added last. What broke off in its commit may be stored although nobody was told so.
        assert 1 <= beyond <= 1 + refusals
        assert not [line for line in server.lines() if line["level"] == "ERROR"]


def under_a_fake_clock(folder: Path) -> dict[str, str]:
    """Return the variables of a server that has a clock of its own."""
    # libfaketime must leave waiting alone, and then time.sleep does not work under it.
    (folder / "sitecustomize.py").write_text(
        "import select, time\ntime.sleep = lambda s: select.select([], [], [], s)\n"
    )
    return {
        "WEB_WORKERS": "1",
        "LD_PRELOAD": str(FAKE_CLOCKS[0]),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(folder),
    }


# SQLite has the clock of the machine that serves.
@ON_POSTGRESQL
@pytest.mark.skipif(not FAKE_CLOCKS, reason="libfaketime is not installed.")
def test_a_clock_that_is_set_back_and_forth_while_serving_repeats_no_write_and_stamps_it_rightly(
    installation: Installation, tmp_path: Path
) -> None:
    shift = tmp_path / "shift"
    shift.write_text("+0")
    # Without the pause of a second libfaketime would read the file whenever anything asks for the time.
    clock = {"FAKETIME_TIMESTAMP_FILE": str(shift), "FAKETIME_CACHE_DURATION": "1"}
    key = {"Idempotency-Key": str(uuid.uuid4())}

    def is_shown(moment: datetime.datetime) -> bool:
        date = parsedate_to_datetime(server.get("/healthz").headers["Date"])
        return abs(date - moment) < datetime.timedelta(minutes=5)

    with installation.server({**under_a_fake_clock(tmp_path), **clock}) as server, installation.worker():
        server.wait_until_loaded(1)
        first = server.add(key)
        assert first.status == 200
        for hours in (25, -25, 0):
            shift.write_text(f"{hours:+d}h")
            now = datetime.datetime.now(datetime.UTC)
            wait_for(partial(is_shown, now + datetime.timedelta(hours=hours)))
            again = server.add(key)
            assert (again.status, again.headers["Idempotency-Replayed"]) == (200, "true")
            assert again.json() == first.json()
            assert server.read().status == 200
            assert server.read_user().status == 200
            assert server.add().status == 200
            stamp = installation.rows("SELECT max(created) FROM items_item")[0][0]
            assert abs(stamp - now) < datetime.timedelta(minutes=5)
            wait_for(lambda: server.get("/readyz").json()["worker"] == "ok", 30)
        assert not [line for line in server.lines() if line["level"] == "ERROR"]
