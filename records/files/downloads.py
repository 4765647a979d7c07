"""Serving files as answers that no browser runs (DECISIONS 5); signed addresses of them are in addresses.py."""

import io
import re
import tempfile
from collections.abc import Iterator
from typing import IO
from urllib.parse import quote

from django.core.files import File
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from records.files import storage
from records.files.models import FileRecord
from records.files.names import without_hidden
from records.operations import conditional, errors
from records.operations.error_handlers import refusal_response

PIECE = 128 * 1024

_MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+(?: ?; ?[\w.+-]+=(?:[\w.+-]+|\"[\w.+ -]*\"))*", re.ASCII)
_RANGE = re.compile(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.ASCII)


def open_file(row: FileRecord) -> File[bytes]:
    """Open a row's file after a check of its SHA-256; raises the 503 for a damaged file or unavailable storage."""
    try:
        return storage.open_served(row)
    except storage.FileDamagedError as error:
        raise errors.ApiError(503, "Unavailable", str(error)) from error
    except storage.StorageUnavailableError as error:
        raise storage_unavailable() from error


def storage_unavailable() -> errors.ApiError:
    """Return the 503 for a storage that cannot be read or written."""
    text = "The file storage cannot be reached. Try again."
    return errors.ApiError(503, "Unavailable", text, headers={"Retry-After": "30"})


def serve(request: HttpRequest, row: FileRecord) -> HttpResponseBase:
    """Answer with the file, or the one range of it that was asked for; raises the 416 or 503.

    Whatever its type, the file is an attachment in a sandbox.
    """
    size, tag = row.file_size, f'"{row.file_hash}"'
    headers = _headers(row, tag)
    if conditional.is_current(request, tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    byte_range = None
    if request.method == "GET" and request.META.get("HTTP_IF_RANGE", tag) == tag:
        byte_range = range_of(request.META.get("HTTP_RANGE", ""), size)
    file = open_file(row)
    start, length, status = 0, size, 200
    if byte_range is not None:
        start, length, status = *byte_range, 206
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{size}"
    headers["Content-Length"] = str(length)
    if request.method == "HEAD":
        file.close()
        return HttpResponse(status=status, headers=headers)
    return FileAnswer(Pieces(file, start, length), status=status, headers=headers)


def serve_on_page(request: HttpRequest, row: FileRecord) -> HttpResponseBase:
    """Answer as `serve` does, and with a page for a refusal."""
    try:
        return serve(request, row)
    except errors.ApiError as refusal:
        return refusal_response(request, refusal)


def _headers(row: FileRecord, tag: str) -> dict[str, str]:
    kind = row.file_type if _MEDIA_TYPE.fullmatch(row.file_type) else "application/octet-stream"
    return {
        "Content-Type": kind,
        "Content-Disposition": disposition(row.file_name),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "private, no-store",
        "Accept-Ranges": "bytes",
        "ETag": tag,
    }


def disposition(name: str) -> str:
    """Return an attachment's Content-Disposition, with the name in any script and in plain ASCII (RFC 6266).

    Invisible characters, which older names can hold, are left out.
    """
    name = without_hidden(name).replace("\\", "/").rpartition("/")[2].strip() or "file"
    ascii_name = re.sub(r"[^ !#-\[\]-~]|%", "_", name)
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{quote(name, safe='')}"


def range_of(header: str, size: int) -> tuple[int, int] | None:
    """Return start and length of the one range asked for, or None for the whole file; raises the 416.

    Several ranges, or another unit, are answered with the whole file, as RFC 9110 allows.
    """
    match = _RANGE.fullmatch(header)
    if match is None or not (match[1] or match[2]):
        return None
    if match[1]:
        start = int(match[1])
        end = min(int(match[2]), size - 1) if match[2] else size - 1
        if match[2] and int(match[2]) < start:
            return None
    else:
        start, end = max(size - int(match[2]), 0), size - 1
    if start >= size or start > end:
        text = f"The file has {size} bytes."
        headers = {"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"}
        raise errors.ApiError(416, "RangeNotSatisfiable", text, headers=headers)
    return start, end - start + 1


class Pieces:
    """The bytes of an open file from start on, in pieces; closes the file however the answer ends.

    The server can send a file that has a descriptor without reading it here, beginning at `tell()`.
    """

    def __init__(self, file: File[bytes] | IO[bytes], start: int, length: int) -> None:
        self._file, self._bytes_left = file, length
        self._file.seek(start)

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read(PIECE):
            yield piece

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, b"" at the end; raises OSError if the file has become shorter."""
        if self._bytes_left <= 0:
            return b""
        piece: bytes = self._file.read(min(size, self._bytes_left))
        if not piece:
            raise OSError("The file became shorter while it was being served.")
        self._bytes_left -= len(piece)
        return piece

    def fileno(self) -> int:
        """Return the file's descriptor; raises io.UnsupportedOperation or AttributeError if it has none."""
        if isinstance(getattr(self._file, "file", None), tempfile.SpooledTemporaryFile):
            # What came from a bucket is in memory, and would be written to the disk first.
            raise io.UnsupportedOperation("fileno")
        return int(self._file.fileno())

    def tell(self) -> int:
        """Return the position in the file of what is read next."""
        return int(self._file.tell())

    def close(self) -> None:
        """Close the file (called by Django when the answer was sent or interrupted)."""
        self._file.close()


class FileAnswer(StreamingHttpResponse):
    """An answer whose file the server may send by itself (`wsgi.file_wrapper`, PEP 3333)."""

    block_size = PIECE

    def __init__(self, pieces: Pieces, **kwargs: object) -> None:
        super().__init__(pieces, **kwargs)
        self.file_to_stream = pieces
