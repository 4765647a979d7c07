"""The address that serves a file: who gets it, for how long, in which form."""

import os
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core import signing
from django.test import Client

from documents.views import ADDRESSES
from records.accounts import actions as account_actions
from records.accounts import keys
from records.files import storage
from records.sites.models import Site
from tests import make
from tests.make import documents as docs

CONTENT = bytes(range(256)) * 1000


def address(api: Any, site: Site, content: bytes = CONTENT, **fields: Any) -> str:
    """Return the path of a new document's file."""
    document = docs.make_document(site, content, **fields)
    url: str = api.get(f"/document/GetDocument/{document.pk}?WithURL=true").json()["FileURL"]
    return url.removeprefix("http://127.0.0.1:8000")


def test_the_file_is_an_attachment_that_no_browser_runs(api: Any, site: Site) -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    path = address(api, site, svg, file_type="image/svg+xml", file_name='Plan "A"\r\nSet-Cookie: x=1; ä 你好.svg')
    answer = fetch(path)
    assert answer.status_code == 200
    assert answer.body == svg
    assert answer["Content-Type"] == "image/svg+xml"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer["Content-Length"] == str(len(svg))
    assert "Set-Cookie" not in answer
    disposition = answer["Content-Disposition"]
    assert disposition.startswith("attachment; filename=")
    assert disposition.endswith("filename*=UTF-8''" + quote('Plan "A"\nSet-Cookie: x=1; ä 你好.svg', safe=""))
    assert disposition.isascii()


def fetch(path: str, headers: dict[str, str] | None = None) -> Any:
    """Fetch an address without any credential, and read the answer to its end."""
    answer: Any = Client().get(path, headers=headers or {})
    answer.body = answer.getvalue()
    return answer


@pytest.mark.parametrize("kind", ["text/html\nX-Evil: 1", "nonsense", "text/plain; charset=\u00e4", 'a/b; c="d\ne"'])
def test_a_file_type_that_is_no_media_type_is_served_as_bytes(api: Any, site: Site, kind: str) -> None:
    answer = fetch(address(api, site, b"x", file_type=kind))
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/octet-stream"
    assert "X-Evil" not in answer


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ("bytes=0-9", (0, 10)),
        ("bytes=1000-", (1000, len(CONTENT))),
        ("bytes=-5", (len(CONTENT) - 5, len(CONTENT))),
        ("bytes=-999999999", (0, len(CONTENT))),
        ("bytes=255990-999999999", (255990, len(CONTENT))),
    ],
)
def test_one_range_is_served_alone(api: Any, site: Site, ranges: str, expected: tuple[int, int]) -> None:
    start, end = expected
    answer = fetch(address(api, site), headers={"Range": ranges})
    assert answer.status_code == 206
    assert answer.body == CONTENT[start:end]
    assert answer["Content-Range"] == f"bytes {start}-{end - 1}/{len(CONTENT)}"
    assert answer["Content-Length"] == str(end - start)


@pytest.mark.parametrize("ranges", ["bytes=256000-", "bytes=-0", "bytes=999999-1000000"])
def test_a_range_outside_the_file_is_416(api: Any, site: Site, ranges: str) -> None:
    answer = fetch(address(api, site), headers={"Range": ranges})
    assert answer.status_code == 416
    assert answer["Content-Range"] == f"bytes */{len(CONTENT)}"


@pytest.mark.parametrize("ranges", ["bytes=0-1,5-6", "items=0-5", "bytes=9-3", "bytes=-", "bytes=a-b", "0-5"])
def test_a_range_that_is_not_understood_is_answered_with_the_whole_file(api: Any, site: Site, ranges: str) -> None:
    answer = fetch(address(api, site), headers={"Range": ranges})
    assert answer.status_code == 200
    assert answer.body == CONTENT


def test_if_range_and_if_none_match_are_honoured(api: Any, site: Site) -> None:
    path = address(api, site)
    tag = fetch(path)["ETag"]
    assert fetch(path, headers={"Range": "bytes=0-9", "If-Range": tag}).status_code == 206
    assert fetch(path, headers={"Range": "bytes=0-9", "If-Range": '"other"'}).status_code == 200
    assert fetch(path, headers={"If-None-Match": tag}).status_code == 304


def test_an_unchanged_file_is_compared_once_and_a_changed_one_again(
    api: Any, site: Site, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths: list[Any] = []
    compare = storage._compare

    def note(row: Any, file: Any) -> None:
        paths.append(row.path)
        compare(row, file)

    monkeypatch.setattr(storage, "_compare", note)
    monkeypatch.setattr(storage, "COMPARED_EVERY", 1e12)  # So no hour ends within this test.
    monkeypatch.setattr(storage, "SETTLED_SECONDS", 3600.0)
    path = address(api, site)
    assert fetch(path).status_code == fetch(path).status_code == 200
    assert len(paths) == 2, "a change right after the comparison might not change the file's times"
    monkeypatch.setattr(storage, "SETTLED_SECONDS", -1.0)
    assert fetch(path).body == fetch(path).body == CONTENT
    assert fetch(path, headers={"Range": "bytes=5-9"}).body == CONTENT[5:10]
    assert Client().head(path).status_code == 200
    assert len(paths) == 3
    place = files / paths[0]
    before = place.stat()
    place.write_bytes(b"?" + CONTENT[1:])
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert fetch(path).status_code == Client().head(path).status_code == 503
    place.write_bytes(CONTENT)
    assert fetch(path).body == fetch(path).body == CONTENT
    monkeypatch.setattr(storage, "COMPARED_EVERY", 1e-6)
    assert fetch(path).body == fetch(path).body == CONTENT
    assert len(paths) == 8


def test_head_has_the_headers_and_no_body_and_other_methods_are_405(api: Any, site: Site) -> None:
    path = address(api, site)
    head = Client().head(path)
    assert (head.status_code, head["Content-Length"], head.content) == (200, str(len(CONTENT)), b"")
    for method in ("POST", "PUT", "DELETE"):
        answer = Client(enforce_csrf_checks=True).generic(method, path)
        assert answer.status_code == 405
        assert answer["Allow"] == "GET, HEAD, OPTIONS"
        assert answer.json()["Error"] == "MethodNotAllowed"


def test_an_address_lives_for_thirty_minutes(api: Any, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    path = address(api, site)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 29 * 60)
    assert fetch(path).status_code == 200
    monkeypatch.setattr(time, "time", lambda: real() + 31 * 60)
    answer = fetch(path)
    assert answer.status_code == 403
    assert "expired" in answer.json()["Message"]


def test_a_changed_or_made_up_address_is_404(api: Any, site: Site, other_site: Site) -> None:
    path = address(api, site)
    foreign = docs.version_of(docs.make_document(other_site))
    token = path.rpartition("/")[2]
    head, _, rest = token.partition(".")
    assert head != foreign.pk.hex
    forged_token = signing.TimestampSigner(salt="other").sign(f"{foreign.pk.hex}.{api.key.user.pk.hex}")
    for name in (f"{foreign.pk.hex}.{rest}", token[:-1], "x", forged_token, token + "x", "\u00e4", "%00"):
        answer = fetch(f"/document/File/{name}")
        assert answer.status_code == 404, name


def test_an_address_ends_with_the_key_or_the_access_that_asked_for_it(api: Any, site: Site) -> None:
    path = address(api, site)
    assert fetch(path).status_code == fetch(path + "/").status_code == 200
    key = keys.live_keys(api.key.user, site)[0]
    keys.revoke_key(key.pk, author=make.SYSTEM)
    assert fetch(path).status_code == 403
    other = docs.make_signer(site)
    key, _ = keys.issue_key(other, site, "k", author=make.SYSTEM)
    version = docs.version_of(docs.make_document(site))
    path = ADDRESSES.url_of(version.pk, key.pk).removeprefix("http://127.0.0.1:8000")
    assert fetch(path).status_code == 200
    account_actions.end_access(other, author=make.SYSTEM)
    assert fetch(path).status_code == 403
