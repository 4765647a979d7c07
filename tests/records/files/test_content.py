"""A file in a JSON body: it stays where the server keeps the body, and is never in memory as a whole."""

import base64
import hashlib
import io
import json
import os
import tempfile
import tracemalloc
from typing import Any

import pytest

from records.files import content
from records.files.content import EncodedFile, FileTooLargeError, JsonText, NotBase64Error, without_long_texts
from tests.make import documents as docs

LONG = "QUJD" * 5 + "/+ab"


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 16, 1000])
@pytest.mark.parametrize(
    "body",
    [
        {"FileContent": LONG},
        {"Name": "short", "FileContent": LONG, "Rows": [{"Id": "x", "Text": 'a "quoted" \\ one'}], "Number": 5},
        {"Name": "\\", "Other": '\\"', LONG: LONG, "Empty": ""},
        ["no", "object", LONG + '"' + LONG],
    ],
)
def test_long_strings_are_left_in_the_file_wherever_the_pieces_end(monkeypatch: Any, piece: int, body: Any) -> None:
    monkeypatch.setattr(content, "PIECE", piece)
    for text in (json.dumps(body), json.dumps(body, indent=1).replace("/", "\\/")):
        text_left, long_texts = without_long_texts(io.BytesIO(text.encode()), 20, 10_000)
        for mark, long in long_texts.items():
            text_left = text_left.replace(mark.encode(), json.dumps(b"".join(long.pieces()).decode())[1:-1].encode())
        assert json.loads(text_left) == body
        assert long_texts


def test_a_body_that_ends_within_a_string_stays_malformed() -> None:
    for end in ("", "\\"):
        text_left, long_texts = without_long_texts(io.BytesIO(f'{{"FileContent": "{LONG}{end}'.encode()), 20, 10_000)
        assert not long_texts
        with pytest.raises(ValueError, match="Unterminated"):
            json.loads(text_left)


def test_what_is_not_a_long_string_may_only_have_so_many_bytes() -> None:
    body = json.dumps({"Rows": ["a"] * 1000, "FileContent": "A" * 5000}).encode()
    assert len(without_long_texts(io.BytesIO(body), 20, 6000)[0]) < 6000
    with pytest.raises(FileTooLargeError):
        without_long_texts(io.BytesIO(body), 20, 4000)


@pytest.mark.parametrize("piece", [5, 7, 64])
def test_escapes_are_understood_wherever_the_pieces_end(monkeypatch: Any, piece: int) -> None:
    monkeypatch.setattr(content, "PIECE", piece)
    data = bytes(range(256))
    text = base64.b64encode(data).decode().replace("/", "\\/").replace("+", "\\u002B")
    file = EncodedFile(JsonText(io.BytesIO(text.encode()), 0, len(text)), 256)
    assert (file.size, file.sha256) == (256, hashlib.sha256(data).hexdigest())
    assert b"".join(file.pieces()) == data


def test_text_that_is_not_base64_is_refused_wherever_the_pieces_end(monkeypatch: Any) -> None:
    monkeypatch.setattr(content, "PIECE", 8)
    for text in ("QUJDQUJDQ", "QUJDQUJD====", "QQ==QUJDQUJD", "QUJDQUJD\\n", "QUJDQUJDÄÄ", "QUJDQUJ\\"):
        data = text.encode()
        with pytest.raises(NotBase64Error):
            EncodedFile(JsonText(io.BytesIO(data), 0, len(data)), 1000)


def test_a_large_file_is_never_in_memory_as_a_whole() -> None:
    size = 12 * 1024 * 1024
    with tempfile.TemporaryFile() as body:
        body.write(b'{"Name": "large", "FileContent": "')
        for _ in range(16):
            body.write(base64.b64encode(os.urandom(size // 16)))
        body.write(b'"}')
        body.seek(0)
        tracemalloc.start()
        try:
            text_left, long_texts = without_long_texts(body, 1024 * 1024, 2 * 1024 * 1024)
            file = EncodedFile(long_texts[json.loads(text_left)["FileContent"]], size)
            read = sum(len(piece) for piece in file.pieces())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert read == file.size == size
    assert peak < size / 3


def test_a_file_of_several_mebibytes_is_stored_as_it_was_sent(api: Any) -> None:
    content = os.urandom(3 * 1024 * 1024)
    answer = api.post("/document/AddDocument", docs.document_body(content))
    assert answer.status_code == 200, answer.content
    shape = api.get(f"/document/GetDocument/{answer.json()['Id']}").json()
    assert (shape["FileSize"], shape["FileHash"]) == (len(content), docs.sha256(content))


@pytest.mark.parametrize("field", ["Description", "FileType"])
def test_large_fields_beside_a_file_are_413(api: Any, field: str) -> None:
    answer = api.post("/document/AddDocument", {**docs.document_body(), field: "x" * 2 * 1024 * 1024})
    assert answer.status_code == 413, answer.content
    assert "beside FileContent" in answer.json()["Message"]
