"""The document endpoint: reads stop here, writes call the actions."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pybase64
from django.conf import settings
from django.db.models import Q
from django.http import HttpResponse, StreamingHttpResponse
from rest_framework.request import Request

from documents import actions, downloads
from documents.models import DocumentVersion
from documents.serializers import DocumentSerializer, DocumentVersionSerializer, UpdateDocumentSerializer
from documents.storage import StorageUnavailableError
from records.operations import bodies, errors, lists, values
from records.operations.lists import ListRules
from records.operations.plans import Shape
from records.operations.serializers import WireSerializer
from records.operations.viewsets import OperationViewSet

DOCUMENTS = ListRules(search=("name", "description", "file_name"))
BESIDE_THE_FILE = 1024 * 1024
"""How much of a body may be something else than the file's base64 text."""
WHOLE = 3 * 64 * 1024


class DocumentViewSet(OperationViewSet):
    """Documents and their versions at the caller's site."""

    def add_document(self, request: Request) -> HttpResponse:
        """Add a document with its first version; it waits for its reviewers and approvers, or is in force at once."""
        found = self.document_body(DocumentSerializer)
        content = found.pop("file_content")
        document = self.acting(actions.add_document, self.site_id, found, content, author=self.author)
        return self.written(document.pk, document.revision)

    def update_document(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Store the file as the document's next version; earlier versions stay and can be read."""
        found = self.document_body(UpdateDocumentSerializer)
        content = found.pop("file_content")
        document = self.acting(
            actions.update_document,
            self.site_id,
            id,
            found,
            content,
            author=self.author,
            precondition=self.precondition,
        )
        return self.written(document.pk, document.revision)

    def get_document(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one document; FileContent and FileURL are of its newest version, and empty unless asked for."""
        return self.with_file(DocumentSerializer, id, Q(document_id=id))

    def get_document_version(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one version, by its own Id or by its document's Id and number."""
        if "version" in self.query:
            number = values.read_integer(self.query["version"][-1], 1, values.INTEGER_LIMIT)
            if number is None:
                raise lists.invalid("version", f"This must be a whole number between 1 and {values.INTEGER_LIMIT}.")
            versions = DocumentVersion.objects.filter(Q(document_id=id) | Q(pk=id), site_id=self.site_id)
            key = versions.filter(version=number).values_list("pk", flat=True).first()
            if key is None:
                raise errors.not_found()
            id = key
        return self.with_file(DocumentVersionSerializer, id, Q(pk=id))

    def get_document_list(self, request: Request) -> HttpResponse:
        """List the site's documents, never with content."""
        return self.listing(DocumentSerializer, DOCUMENTS)

    # --- The file in ------------------------------------------------------------------------------------------------

    def largest_body(self) -> int:
        """Return the limit of a body: the largest file as base64 with its escapes, and the other fields."""
        return settings.FILE_SIZE_LIMIT * 3 // 2 + BESIDE_THE_FILE

    def document_body(self, serializer: type[WireSerializer]) -> dict[str, Any]:
        """Return the body's values, the file as an EncodedFile over the body's own bytes; raises as `body` does."""
        raw = self.raw_body()
        if not raw:
            raise errors.ApiError(400, "MalformedJson", "The body is empty; a JSON object is expected.")
        members = bodies.decode_shallow(raw)
        content: Any = members.pop("FileContent", ...)
        if sum(len(memoryview(member)) for member in members.values()) > BESIDE_THE_FILE:
            raise errors.ApiError(413, "PayloadTooLarge", "The fields beside FileContent are larger than 1 MiB.")
        body = {name: bodies.decode(member) for name, member in members.items()}
        counted = body if content is ... else {**body, "FileContent": None}
        bodies.refuse_repeated_names(raw, counted, passing=b"" if content is ... else memoryview(content))
        if content is not ...:
            body["FileContent"] = None if bytes(memoryview(content)[:4]) == b"null" else content
        return self.checked(body, serializer)

    def acting(self, action: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call an action; a storage that cannot be written is the 503."""
        try:
            return super().acting(action, *args, **kwargs)
        except StorageUnavailableError as error:
            raise downloads.storage_unavailable() from error

    # --- The file out -----------------------------------------------------------------------------------------------

    def with_file(self, serializer: type[WireSerializer], record_id: uuid.UUID, where: Q) -> HttpResponse:
        """Return a record, with FileURL and FileContent of its version where the caller asks for them.

        An answer that carries an address is never a 304: the one that the caller holds expires.
        """
        with_content, with_url = self.flag("WithContent"), self.flag("WithURL")
        if not with_content and not with_url:
            return self.record(serializer, record_id)
        if with_url:
            self.http_request.META.pop("HTTP_IF_NONE_MATCH", None)

        def show(shape: Shape) -> Any:
            version = DocumentVersion.objects.get(where, version=shape["Version"], site_id=self.site_id)
            if with_url:
                shape["FileURL"] = downloads.url_of(version.pk, self.caller.key_id)
            return self.streamed(shape, version) if with_content else self.json(shape)

        return self.record(serializer, record_id, show=show)

    def streamed(self, shape: Shape, version: DocumentVersion) -> Any:
        """Return the shape with the file's base64 text, read and sent piece by piece once its SHA-256 is checked."""
        opened = downloads.whole(version)
        mark = uuid.uuid4().hex.encode()
        before, after = orjson.dumps({**shape, "FileContent": mark.decode()}).split(mark)
        length = len(before) + len(after) + (version.file_size + 2) // 3 * 4
        headers = {"Content-Length": str(length), "Content-Type": "application/json", "Cache-Control": "no-store"}
        if self.request.method == "HEAD":
            opened.close()
            return HttpResponse(headers=headers)
        return StreamingHttpResponse(Encoded(before, opened, after), headers=headers)


class Encoded:
    """JSON around a file's base64 text, piece by piece; closes the file however the answer ends."""

    def __init__(self, before: bytes, opened: Any, after: bytes) -> None:
        self._before, self._file, self._after = before, opened, after

    def __iter__(self) -> Iterator[bytes]:
        yield self._before
        while piece := self._file.read(WHOLE):
            # A storage may hand out less than was asked for; only whole threes encode without padding between.
            while len(piece) % 3 and (more := self._file.read(3 - len(piece) % 3)):
                piece += more
            yield pybase64.b64encode(piece)
        yield self._after

    def close(self) -> None:
        """Close the file (called by Django when the answer is done or broken off)."""
        self._file.close()
