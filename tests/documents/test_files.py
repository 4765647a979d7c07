"""The stored files: swept, verified, and kept in a bucket just as in a folder."""

import io
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from moto.server import ThreadedMotoServer

from records.files import orphans, storage
from records.sites.models import Site
from tests.documents.conftest import files_in
from tests.make import documents as docs


def run(*words: str, **options: Any) -> str:
    """Run a command and return what it printed."""
    out = io.StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue()


def age(path: Path, hours: float) -> None:
    """Make the file look as if it had been stored that many hours ago."""
    moment = time.time() - hours * 3600
    os.utime(path, (moment, moment))


def test_sweeping_removes_old_orphans_and_never_a_file_that_is_pointed_at(site: Site, files: Path) -> None:
    document = docs.make_document(site, b"kept")
    path_of_document = files_in(files)[0]
    old, young = (files / storage.store(docs.incoming()).path for _ in range(2))
    for path in (path_of_document, old):
        age(path, 25)
    assert "1 orphaned file(s) found" in run("sweep_files", dry_run=True)
    assert old.exists()
    assert "1 orphaned file(s) removed" in run("sweep_files")
    assert files_in(files) == sorted([path_of_document, young])
    with storage.open_whole(docs.version_of(document)) as file:
        assert file.read() == b"kept"
    assert "0 orphaned" in run("sweep_files", older_than=2)
    for wrong in (0, 0.5, -3, float("nan")):
        with pytest.raises(CommandError):
            run("sweep_files", older_than=wrong)


def test_the_daily_sweep_removes_orphans_of_a_week_and_leaves_many_for_a_person(
    site: Site, files: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    docs.make_document(site, b"kept")
    path_of_document = files_in(files)[0]
    week, days = (files / storage.store(docs.incoming()).path for _ in range(2))
    for path, hours in ((path_of_document, 24 * 30), (week, 24 * 7 + 1), (days, 24 * 6)):
        age(path, hours)
    monkeypatch.setattr(orphans, "MOST_SWEPT", 0)
    assert orphans.sweep.call() == 0
    assert "check that the database belongs to these files" in caplog.text
    assert week.exists()
    monkeypatch.setattr(orphans, "MOST_SWEPT", 1)
    assert orphans.sweep.call() == 1
    assert files_in(files) == sorted([path_of_document, days])
    assert "records.files.orphans.sweep" in settings.REGULAR_JOBS


def test_sweeping_an_empty_storage_finds_nothing(db: None, files: Path) -> None:
    assert "0 orphaned" in run("sweep_files")
    assert "0 file(s) whole" in run("verify_files")


def test_verifying_names_every_missing_or_altered_file(site: Site, files: Path) -> None:
    documents = [docs.make_document(site, f"content {index}".encode()) for index in range(3)]
    assert "3 file(s) whole" in run("verify_files")
    paths = [files / docs.version_of(document).path for document in documents]
    paths[0].unlink()
    paths[2].write_bytes(b"CONTENT 2")
    out = io.StringIO()
    with pytest.raises(CommandError, match="2 of 3"):
        call_command("verify_files", stdout=out)
    lines = sorted(out.getvalue().splitlines())
    assert len(lines) == 2
    text = "\n".join(lines)
    assert f"({documents[0].pk}), version 1" in text
    assert "missing" in text
    assert f"({documents[2].pk}), version 1" in text
    assert "differs" in text
    assert str(documents[1].pk) not in text


def test_files_and_folders_are_closed_to_other_users_of_the_machine(site: Site, files: Path) -> None:
    docs.make_document(site)
    path = files_in(files)[0]
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


@pytest.fixture(scope="module")
def bucket() -> Iterator[dict[str, Any]]:
    """Serve a stand-in for S3 with one empty bucket, and yield the storage options that reach it."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = {
        "bucket_name": "larder",
        "location": "kept",
        "endpoint_url": f"http://{host}:{port}",
        "region_name": "eu-central-1",
        "access_key": "any",
        "secret_key": "any",
        "file_overwrite": False,
        "default_acl": None,
    }
    client = boto3.client(
        "s3",
        endpoint_url=options["endpoint_url"],
        region_name="eu-central-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    client.create_bucket(Bucket="larder", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    yield {"options": options, "client": client}
    server.stop()


@pytest.fixture
def in_bucket(settings: Any, bucket: dict[str, Any]) -> Any:
    """Keep the test's files in the bucket, and return its client."""
    storage = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": bucket["options"]}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    return bucket["client"]


def test_a_bucket_keeps_versions_as_a_folder_does(api: Any, in_bucket: Any) -> None:
    contents = [os.urandom(9_000_000), b"two"]
    key = api.post("/document/AddDocument", docs.document_body(contents[0])).json()["Id"]
    assert api.put(f"/document/UpdateDocument/{key}", docs.document_body(contents[1])).status_code == 200
    for number, content in enumerate(contents, start=1):
        answer = api.get(f"/document/GetDocumentVersion/{key}?version={number}&WithContent=true")
        assert answer.status_code == 200
        assert docs.base64_of(content).encode() in answer.getvalue()
    url = api.get(f"/document/GetDocumentVersion/{key}?version=1&WithURL=true").json()["FileURL"]
    part = api.get(url.removeprefix("http://127.0.0.1:8000"), **{"Range": "bytes=8999990-"})
    assert part.status_code == 206
    assert part.getvalue() == contents[0][-10:]
    assert "2 file(s) whole" in run("verify_files")
    orphan = storage.store(docs.incoming())
    assert default_storage.exists(orphan.path)
    assert "1 orphaned file(s) found" not in run("sweep_files", dry_run=True)
    version = docs.version_of(docs.Document.objects.get(pk=key), 1)
    in_bucket.put_object(Bucket="larder", Key=f"kept/{version.path}", Body=b"other")
    assert api.get(f"/document/GetDocumentVersion/{key}?version=1&WithContent=true").status_code == 503
    in_bucket.delete_object(Bucket="larder", Key=f"kept/{version.path}")
    answer = api.get(f"/document/GetDocumentVersion/{key}?version=1&WithContent=true")
    assert answer.status_code == 503
    assert "missing" in answer.json()["Message"]


def test_what_came_from_a_bucket_stays_in_memory_while_it_is_served(api: Any, in_bucket: Any) -> None:
    """A server that asked for the file's descriptor would make the library write the whole file to the disk first."""
    key = api.post("/document/AddDocument", docs.document_body(b"from afar")).json()["Id"]
    url = api.get(f"/document/GetDocument/{key}?WithURL=true").json()["FileURL"]
    answer = api.get(url.removeprefix("http://127.0.0.1:8000"))
    with pytest.raises(io.UnsupportedOperation):
        answer.file_to_stream.fileno()
    assert answer.getvalue() == b"from afar"


def test_a_bucket_that_does_not_answer_is_503_and_leaves_nothing(api: Any, settings: Any, bucket: Any) -> None:
    options = {**bucket["options"], "bucket_name": "no-such-bucket"}
    storage = {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    answer = api.post("/document/AddDocument", docs.document_body())
    assert answer.status_code == 503, answer.content
    assert api.get("/document/GetDocumentList").json() == []
