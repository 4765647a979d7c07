"""Files in the JSON interface: the FileContent of a body, and what the viewsets of endpoints with files share."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import IO, Any

import orjson
import pybase64
from django.conf import settings
from django.core.files import File
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from records.files import downloads
from records.files.addresses import FileAddresses
from records.files.content import (
    EncodedFile,
    FileEmptyError,
    FileTooLargeError,
    JsonText,
    NotBase64Error,
    without_long_texts,
)
from records.files.models import FileRecord
from records.files.storage import StorageUnavailableError
from records.operations import bodies
from records.operations.errors import ApiError
from records.operations.fields import OnDemandField, WireError
from records.operations.operation import Parameter
from records.operations.plans import KeyQuery, Shape
from records.operations.serializers import WireSerializer
from records.operations.viewsets import OperationViewSet

SWITCHES = (
    Parameter("WithContent", "boolean", description="Adds FileContent, the file as base64."),
    Parameter("WithURL", "boolean", description="Adds FileURL, an address that serves the file for 30 minutes."),
)
BESIDE_THE_FILE = 1024 * 1024
"""How large a body may be without the base64 text of its file, and how much of a body is kept in memory at least."""
PIECE = 3 * 64 * 1024


def too_large() -> ApiError:
    """Return the 413 for a file above the limit."""
    limit = settings.FILE_SIZE_LIMIT
    size = f"{limit // 1024**2} MiB" if limit % 1024**2 == 0 else f"{limit} bytes"
    return ApiError(413, "PayloadTooLarge", f"FileContent: a file may have {size} at most.")


def _other_fields_too_large() -> ApiError:
    return ApiError(413, "PayloadTooLarge", "The fields beside FileContent are larger than 1 MiB.")


class FileContentField(OnDemandField):
    """A file as strict base64 with padding; its text stays in the body's file and is never in memory as a whole."""

    def read(self, value: Any) -> Any:
        """Return the EncodedFile; raises WireError, or the 413 before anything is decoded."""
        if not isinstance(value, JsonText):
            raise WireError("InvalidValue", "This must be a string: the file as base64.")
        try:
            return EncodedFile(value, settings.FILE_SIZE_LIMIT)
        except FileTooLargeError as error:
            raise too_large() from error
        except FileEmptyError as error:
            raise WireError("RequiredField", "The file is empty; a file must have content.") from error
        except NotBase64Error as error:
            raise WireError("InvalidBase64", "This is not padded base64 in the alphabet with + and /.") from error


class FileViewSet(OperationViewSet):
    """What all endpoints with files share: they read a large body, and answer the file together with the record."""

    addresses: FileAddresses
    reads_ids = False  # The body is large, so a caller whose access has ended must not send it.

    # --- Requests ---------------------------------------------------------------------------------------------------

    def largest_body(self) -> int:
        """Return the maximum size of a body: the largest file as base64 with its escapes, and the other fields."""
        return settings.FILE_SIZE_LIMIT * 3 // 2 + BESIDE_THE_FILE

    @cached_property
    def body_file(self) -> IO[bytes]:
        """Return the body as a file; raises the 413."""
        return bodies.stream(self.http_request, self.largest_body())

    def body_parts(self) -> Iterable[bytes | bytearray]:
        """Return the body's bytes in pieces, from the start."""
        self.body_file.seek(0)
        return iter(partial(self.body_file.read, bodies.CHUNK), b"")

    def body_with_file(self, serializer: type[WireSerializer]) -> dict[str, Any]:
        """Return the body's values, the file as an EncodedFile over the body's own file; raises as `body` does."""
        self.body_file.seek(0)
        try:
            text, long_texts = without_long_texts(self.body_file, BESIDE_THE_FILE, 2 * BESIDE_THE_FILE)
        except FileTooLargeError as error:
            raise _other_fields_too_large() from error
        body = bodies.decode_object(text)
        content = body.get("FileContent")
        if isinstance(content, str):
            body["FileContent"] = long_texts.pop(content, None) or JsonText.of(content)
        if long_texts:
            raise _other_fields_too_large()
        return self.read_values(body, serializer)

    def call_action(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call an action; if the storage cannot be written, raises the 503."""
        try:
            return super().call_action(action, *args, **kwargs)
        except StorageUnavailableError as error:
            raise downloads.storage_unavailable() from error

    # --- Responses --------------------------------------------------------------------------------------------------

    def with_file(
        self, serializer: type[WireSerializer], record_id: uuid.UUID | KeyQuery, row_of: Callable[[Shape], Any]
    ) -> HttpResponse:
        """Return a record, with FileURL and FileContent if the caller asks for them.

        `row_of` returns the FileRecord of a shape. An answer with an address is never a 304, because the
        address in an earlier answer expires.
        """
        with_content, with_url = self.flag("WithContent"), self.flag("WithURL")
        if not with_content and not with_url:
            return self.record(serializer, record_id)
        if with_url:
            self.http_request.META.pop("HTTP_IF_NONE_MATCH", None)

        def show(shape: Shape) -> HttpResponseBase:
            row = row_of(shape)
            if with_url:
                shape["FileURL"] = self.addresses.url_of(row.pk, self.caller.key_id)
            return self.stream_file(shape, row) if with_content else self.json(shape)

        return self.record(serializer, record_id, show=show)

    def stream_file(self, shape: Shape, row: FileRecord) -> HttpResponseBase:
        """Return the shape with the file's base64 text, which is sent in pieces after a check of its SHA-256."""
        file = downloads.open_file(row)
        mark = uuid.uuid4().hex.encode()
        before, after = orjson.dumps({**shape, "FileContent": mark.decode()}).split(mark)
        length = len(before) + len(after) + (row.file_size + 2) // 3 * 4
        headers = {"Content-Length": str(length), "Content-Type": "application/json"}
        if self.request.method == "HEAD":
            file.close()
            return HttpResponse(headers=headers)
        return StreamingHttpResponse(EncodedPieces(before, file, after), headers=headers)


class EncodedPieces:
    """JSON with a file's base64 text, in pieces; closes the file however the answer ends."""

    def __init__(self, before: bytes, file: File[bytes], after: bytes) -> None:
        self._before, self._file, self._after = before, file, after

    def __iter__(self) -> Iterator[bytes]:
        yield self._before
        while piece := self._file.read(PIECE):
            # A storage may return less than was asked for. Only multiples of three bytes are encoded without padding.
            while len(piece) % 3 and (further_bytes := self._file.read(3 - len(piece) % 3)):
                piece += further_bytes
            yield pybase64.b64encode(piece)
        yield self._after

    def close(self) -> None:
        """Close the file (called by Django when the answer was sent or interrupted)."""
        self._file.close()
