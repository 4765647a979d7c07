"""Backup and restore: everything comes back as it was, on either database, or nothing is touched."""

import errno
import gc
import io
import os
import subprocess
import sys
import tarfile
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import OperationalError

from records.backoffice import passwords
from records.backoffice.tasks import mail_links
from records.files import storage
from records.history.models import ChainHead, Change, Proof
from records.recovery import archive, rows
from records.recovery.management.commands import restore
from records.sites.models import Site
from tests import make
from tests.make import signing_in
from tests.make.complaints import make_completed
from tests.make.documents import make_document
from tests.scim import people

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _own_seals(settings: Any, tmp_path: Path) -> None:
    settings.SEAL_KEY_FILE = str(tmp_path / "seal_key.pem")


def contents() -> dict[str, list[bytes]]:
    """Return the rows of every table, as a backup holds them."""
    return {
        model._meta.label: sorted(line for piece, _ in rows.dump(model) for line in piece.splitlines())
        for model in rows.saved_models()
        if model is not Proof
    }


def files() -> dict[str, bytes]:
    """Return the content of every stored file."""
    contents_by_path = {}
    for path in storage.walk():
        with default_storage.open(path) as file:
            contents_by_path[path] = file.read()
    return contents_by_path


def make_data() -> Site:
    site = make.make_site("Hillside Bakery")
    make_document(site, b"Wash your hands.")
    make_completed(site, consumer_last_name="Größe 🍞", quantity="1.2500")
    make.make_key(site)
    make.make_employee(site, employment_history=[{"company": "Mill"}])
    return site


def empty_place() -> None:
    """Take everything away, as a fresh installation is."""
    call_command("flush", interactive=False, verbosity=0, inhibit_post_migrate=True)
    for path in list(storage.walk()):
        default_storage.delete(path)


def backup(path: Path) -> str:
    output = StringIO()
    call_command("backup", path, stdout=output)
    return output.getvalue()


def test_every_row_file_hash_and_chain_comes_back(tmp_path: Path) -> None:
    make_data()
    before, files_before = contents(), files()
    output = backup(tmp_path / "b.tar.gz")
    assert "1 file(s) saved" in output
    assert (tmp_path / "b.tar.gz").stat().st_mode & 0o777 == 0o600
    empty_place()
    assert not Change.objects.exists()
    restore_output = StringIO()
    call_command("restore", tmp_path / "b.tar.gz", stdout=restore_output)
    assert contents() == before
    assert files() == files_before
    assert "Nothing was cut or rewritten since the seal" in restore_output.getvalue()
    assert "1 file(s) whole." in restore_output.getvalue()
    site = Site.objects.get()
    number = ChainHead.objects.get(chain=site.pk).number
    make.make_employee(site)
    assert ChainHead.objects.get(chain=site.pk).number == number + 1


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_a_truncated_archive_is_refused_and_leaves_the_place_empty(tmp_path: Path, share: float) -> None:
    make_data()
    path = tmp_path / "b.tar.gz"
    backup(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    empty_place()
    with pytest.raises(CommandError, match=r"cut short|not a backup"):
        call_command("restore", path)
    assert not Change.objects.exists()
    assert not Site.objects.exists()
    assert not files()


def test_an_altered_archive_is_refused(tmp_path: Path) -> None:
    make_data()
    path, other = tmp_path / "b.tar.gz", tmp_path / "altered.tar.gz"
    backup(path)
    with tarfile.open(path) as source, tarfile.open(other, "w:gz") as target:
        for member in source:
            content = source.extractfile(member).read()  # type: ignore[union-attr]
            if member.name.startswith("files/"):
                content = content.swapcase()
            target.addfile(member, io.BytesIO(content))
    empty_place()
    with pytest.raises(CommandError, match="altered or damaged"):
        call_command("restore", other)
    assert not Site.objects.exists()


@pytest.mark.parametrize(
    "members",
    [
        {"manifest.json": b"Our cakes", "end.json": b"{}"},
        {"manifest.json": b"[]", "end.json": b"{}"},
        {"manifest.json": b'{"format": "larder-backup-1"}', "end.json": b""},
        {"manifest.json": b'{"format": "larder-backup-1"}', "end.json": b"7"},
        {},
    ],
)
def test_a_tar_file_of_something_else_is_refused_in_words(tmp_path: Path, members: dict[str, bytes]) -> None:
    path = tmp_path / "b.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    with pytest.raises(archive.ArchiveError, match=r"not a backup|altered or damaged"):
        archive.check(path)


def test_a_place_that_is_not_empty_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    make_data()
    backup(tmp_path / "b.tar.gz")
    before = contents()
    with pytest.raises(CommandError, match="not empty"):
        call_command("restore", tmp_path / "b.tar.gz")
    assert contents() == before
    with pytest.raises(CommandError, match="already exists"):
        backup(tmp_path / "b.tar.gz")


def test_a_place_that_is_not_empty_is_refused_before_it_is_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_data()
    backup(tmp_path / "b.tar.gz")
    commands: list[str] = []
    monkeypatch.setattr(restore, "call_command", lambda name, **_: commands.append(name))
    with pytest.raises(CommandError, match="not empty"):
        call_command("restore", tmp_path / "b.tar.gz")
    assert commands == []


class FullDisk(io.FileIO):
    """A file on a disk that has space for 10 kB."""

    def write(self, data: Any) -> int:
        """Write, or fail as a full disk does."""
        if self.tell() + len(data) > 10_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_a_backup_on_a_full_disk_is_refused_in_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = make_data()
    make_document(site, os.urandom(100_000))
    monkeypatch.setattr(archive, "open", lambda file, mode: io.BufferedWriter(FullDisk(file, mode)), raising=False)
    with pytest.raises(CommandError, match=r"could not be made: .*No space left"):
        call_command("backup", tmp_path / "b.tar.gz")
    gc.collect()
    assert [path.name for path in tmp_path.iterdir() if "b.tar.gz" in path.name] == []
    assert "ignored" not in capsys.readouterr().err
    monkeypatch.undo()
    assert "saved" in backup(tmp_path / "b.tar.gz")


def test_a_restore_that_a_full_disk_ends_leaves_the_place_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_document(make_data())
    backup(tmp_path / "b.tar.gz")
    empty_place()
    save, names = default_storage.save, list[str]()

    def save_one(name: str, content: Any) -> str:
        if names:
            raise OSError(errno.ENOSPC, "No space left on device")
        names.append(name)
        return save(name, content)

    monkeypatch.setattr(restore, "default_storage", SimpleNamespace(save=save_one, delete=default_storage.delete))
    with pytest.raises(CommandError, match=r"Nothing was restored: .*No space left"):
        call_command("restore", tmp_path / "b.tar.gz")
    assert names
    assert not files()
    assert not Site.objects.exists()
    monkeypatch.undo()
    call_command("restore", tmp_path / "b.tar.gz", stdout=StringIO())
    assert Site.objects.count() == 1


def test_a_database_that_is_away_ends_backup_and_restore_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_data()
    backup(tmp_path / "b.tar.gz")

    def fail(*_: Any) -> Any:
        raise OperationalError("connection refused")

    empty_place()
    monkeypatch.setattr(rows, "load", fail)
    monkeypatch.setattr(rows, "dump", fail)
    with pytest.raises(CommandError, match="Nothing was restored: connection refused"):
        call_command("restore", tmp_path / "b.tar.gz")
    with pytest.raises(CommandError, match="could not be made: connection refused"):
        call_command("backup", tmp_path / "c.tar.gz")
    assert not files()


def test_a_restore_without_the_secrets_names_the_digest_that_it_expects(tmp_path: Path, settings: Any) -> None:
    make_data()
    backup(tmp_path / "b.tar.gz")
    empty_place()
    settings.CREDENTIAL_PEPPERS = ["another pepper, long enough to be one of them"]
    settings.SEAL_KEY_FILE = str(tmp_path / "nothing.pem")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another secret key, long enough to be one", []
    with pytest.raises(CommandError) as error:
        call_command("restore", tmp_path / "b.tar.gz")
    for name in ("SECRET_KEY", "CREDENTIAL_PEPPERS", "SEAL_KEY_FILE"):
        assert f"{name} must contain the secret with the digest" in str(error.value)
    assert not Site.objects.exists()
    call_command("restore", tmp_path / "b.tar.gz", without_secrets=True, stdout=StringIO())
    assert Site.objects.count() == 1


def test_a_backup_holds_no_secret_and_no_session(tmp_path: Path, settings: Any, client: Any) -> None:
    site = make_data()
    root = make.make_user("root", is_superuser=True)
    client.force_login(root)
    signing_in.give_app(root)
    credentials = [
        signing_in.SECRET,
        *signing_in.recovery_codes(root),
        make.PASSWORD,
        make.make_key(site, user=root).secret,
        people.make_token(people.make_directory(site)),
        passwords.password_link(root, passwords.INVITATION).rstrip("/").rpartition("/")[2],
    ]
    mail_links.enqueue("root@example.org")
    backup(tmp_path / "b.tar.gz")
    with tarfile.open(tmp_path / "b.tar.gz") as tar:
        names = tar.getnames()
        text = b"".join(tar.extractfile(one).read() for one in tar)  # type: ignore[union-attr]
    assert not [name for name in names if "ession" in name.partition("tables/")[2].partition("/")[0]]
    credentials += Path(settings.SEAL_KEY_FILE).read_text().splitlines()[1:-1]
    for secret in (settings.SECRET_KEY, *settings.CREDENTIAL_PEPPERS, client.session.session_key, *credentials):
        assert secret.encode() not in text


def test_a_backup_taken_while_writers_write_is_consistent(tmp_path: Path) -> None:
    site = make_data()

    def write() -> None:
        for _ in range(10):
            make_document(site)

    *_, outcome = make.at_once(write, write, lambda: backup(tmp_path / "b.tar.gz"))
    assert not isinstance(outcome, Exception), outcome
    empty_place()
    output = StringIO()
    call_command("restore", tmp_path / "b.tar.gz", stdout=output)
    assert "verified" in output.getvalue()
    assert "whole." in output.getvalue()


def test_a_backup_names_each_file_that_is_missing_and_saves_the_rest(tmp_path: Path) -> None:
    site = make_data()
    make_document(site)
    missing = next(storage.walk())
    default_storage.delete(missing)
    output = StringIO()
    with pytest.raises(CommandError, match=r"1 file\(s\) are missing"):
        call_command("backup", tmp_path / "b.tar.gz", stdout=output)
    assert missing in output.getvalue()
    assert (tmp_path / "b.tar.gz").exists()


@pytest.mark.long
def test_a_backup_of_the_demo_on_sqlite_is_restored(tmp_path: Path, settings: Any) -> None:
    folder = tmp_path / "sqlite"
    environment = {
        "PATH": os.environ["PATH"],
        "ENV_FILE": "",
        "DATA_DIR": str(folder),
        "SECRET_KEY": settings.SECRET_KEY,
        "CREDENTIAL_PEPPERS": ",".join(settings.CREDENTIAL_PEPPERS),
        "SEAL_KEY_FILE": settings.SEAL_KEY_FILE,
        "STATIC_COLLECTED": "off",
    }
    code = "import sys; from django.core.management import call_command; from tests import migrated; migrated.main(); "
    code += "call_command('demo'); call_command('backup', sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path / "b.tar.gz")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    empty_place()
    output = StringIO()
    call_command("restore", tmp_path / "b.tar.gz", stdout=output)
    assert "record(s) verified" in output.getvalue()
    assert Site.objects.count() == 2
    make.make_employee(Site.objects.earliest("name"))
