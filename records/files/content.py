"""A file that is received: base64 text of a body or a file of a form, read in pieces and never in memory as a whole."""

import hashlib
import io
import re
import uuid
from collections.abc import Iterator
from typing import IO, Any, Protocol

import msgspec
import orjson
import pybase64
from django.conf import settings
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext

from records.files.names import without_hidden
from records.sites.text import fault_at

PIECE = 256 * 1024
"""How much is decoded at a time; a multiple of four."""


class NotBase64Error(ValueError):
    """Raised for text that is not strict, padded base64."""


class FileTooLargeError(Exception):
    """Raised for a file above the limit, before anything of it is decoded."""


class FileEmptyError(ValueError):
    """Raised for a file without a single byte."""


class Incoming(Protocol):
    """A file that can be stored: its size, its SHA-256 and its bytes in pieces."""

    size: int
    sha256: str

    def pieces(self) -> Iterator[bytes]:
        """Yield the file's bytes from the start; may be called again."""
        ...


class JsonText:
    r"""A string of a JSON body, which stays in the body's file; JSON's escapes (`\/`, `\u002B`) are resolved."""

    def __init__(self, file: IO[bytes], start: int, end: int) -> None:
        """Name the place of the string in the file, without its quotation marks."""
        self._file, self._start, self.size = file, start, end - start

    @classmethod
    def of(cls, text: str) -> "JsonText":
        """Return a decoded text in the same form."""
        escaped_text = orjson.dumps(text)[1:-1]
        return cls(io.BytesIO(escaped_text), 0, len(escaped_text))

    def pieces(self) -> Iterator[bytes]:
        """Yield the text from the start, without escapes; raises NotBase64Error for text that is not ASCII."""
        bytes_left, rest = self.size, b""
        self._file.seek(self._start)
        while bytes_left:
            block = self._file.read(min(PIECE, bytes_left))
            bytes_left -= len(block)
            block = rest + block
            # An escape must not be split.
            cut = block.rfind(b"\\", max(0, len(block) - 5)) if bytes_left else -1
            rest = block[cut:] if cut >= 0 else b""
            yield _resolve(block[:cut] if rest else block)


def without_long_texts(body: IO[bytes], longest: int, most: int) -> tuple[bytes, dict[str, JsonText]]:
    """Return a JSON body with a mark instead of each string of more than `longest` bytes, and these strings by mark.

    The body is read in pieces from its start and is not checked otherwise. A mark is a random text, which no body
    contains. Raises FileTooLargeError if more than `most` bytes are left.
    """
    remainder, texts = bytearray(), {}
    position = start = text_from = 0
    rest, mark, inside = b"", "", False
    while piece := body.read(PIECE):
        piece = rest + piece
        rest, at, has_escapes = b"", 0, b"\\" in piece
        while at < len(piece):
            if not inside:
                end = piece.find(b'"', at) + 1
                inside, end = end > 0, end or len(piece)
                remainder += piece[at:end]
                at, start, text_from, mark = end, position + end, len(remainder), ""
                continue
            end = _end_of_string(piece, at, has_escapes=has_escapes)
            if not mark:
                remainder += piece[at:end]
                if len(remainder) - text_from > longest:
                    mark = uuid.uuid4().hex
                    remainder[text_from:] = mark.encode()
            at = end
            if piece[end : end + 1] == b'"':
                if mark:
                    texts[mark] = JsonText(body, start, position + end)
                inside, at = False, end + 1
                remainder += b'"'
            elif end < len(piece):  # The second character of this escape is in the next piece.
                rest = piece[end:]
                break
        if len(remainder) > most:
            raise FileTooLargeError
        position += len(piece) - len(rest)
    return bytes(remainder), texts


_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""The inside of a JSON string. Possessive quantifiers keep the memory use constant."""


def _end_of_string(piece: bytes, at: int, *, has_escapes: bool) -> int:
    """Return where the string ends or, if it continues, the piece without an incomplete escape at its end."""
    if not has_escapes:  # This search is many times faster.
        end = piece.find(b'"', at)
        return len(piece) if end < 0 else end
    inside = _INSIDE.match(piece, at)
    return inside.end() if inside else at


class EncodedFile:
    """A file as base64 text. Raises FileTooLargeError by the length alone, FileEmptyError or NotBase64Error."""

    def __init__(self, text: JsonText, limit: int) -> None:
        """Check the text against the limit in bytes, and decode it once to hash."""
        self._text = text
        if not text.size:
            raise FileEmptyError
        if _decoded_size(text.size) > limit and _decoded_size(sum(map(len, text.pieces()))) > limit:
            raise FileTooLargeError
        digest, size = hashlib.sha256(), 0
        for piece in self.pieces():
            digest.update(piece)
            size += len(piece)
        if size > limit:
            raise FileTooLargeError
        self.size, self.sha256 = size, digest.hexdigest()

    def pieces(self) -> Iterator[bytes]:
        """Yield the decoded bytes; raises NotBase64Error at the first fault."""
        rest: bytes = b""
        is_last = False
        for text in self._text.pieces():
            block = rest + text if rest else text
            length = len(block) // 4 * 4
            rest = block[length:]
            if not length:
                continue
            if is_last:
                raise NotBase64Error
            piece = _decode(memoryview(block)[:length])
            is_last = len(piece) < length // 4 * 3
            yield piece
        if rest:
            raise NotBase64Error


def _decoded_size(length: int) -> int:
    """Return the minimum number of bytes that base64 text of this length contains."""
    return length // 4 * 3 - 2


class UploadedPart:
    """A file that was sent with a form, already on disk or in memory; its hash is computed once."""

    def __init__(self, upload: Any, limit: int) -> None:
        """Read the upload (a file with `chunks()` and `size`) once. Raises FileEmptyError or FileTooLargeError."""
        self._upload = upload
        if not upload.size:
            raise FileEmptyError
        if upload.size > limit:
            raise FileTooLargeError
        digest, size = hashlib.sha256(), 0
        for piece in self.pieces():
            digest.update(piece)
            size += len(piece)
        self.size, self.sha256 = size, digest.hexdigest()

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes from the start."""
        self._upload.seek(0)
        return iter(self._upload.chunks(PIECE))


def read_upload(upload: Any) -> tuple[UploadedPart, dict[str, object]]:
    """Return a file of a form, with its name and type; raises ValidationError for one that cannot be stored."""
    try:
        content = UploadedPart(upload, settings.FILE_SIZE_LIMIT)
    except FileEmptyError:
        raise fault_at("file", gettext("The file is empty."), "RequiredField") from None
    except FileTooLargeError:
        text = gettext("A file may have %(filesizeformat)s at most.")
        text %= {"filesizeformat": filesizeformat(settings.FILE_SIZE_LIMIT)}
        raise fault_at("file", text, "PayloadTooLarge") from None
    kind = upload.content_type or "application/octet-stream"
    return content, {"file_name": without_hidden(upload.name), "file_type": kind}


def _resolve(text: bytes) -> bytes:
    if b"\\" not in text:
        return text
    try:
        return msgspec.json.decode(b'"' + text + b'"', type=str).encode("ascii")
    except (msgspec.DecodeError, UnicodeError) as error:
        raise NotBase64Error from error


def _decode(text: memoryview) -> bytes:
    try:
        piece = pybase64.b64decode(text, validate=True)
    except ValueError as error:
        raise NotBase64Error from error
    # Bits after the last byte that are not zero would be lost unnoticed.
    if len(piece) % 3 and pybase64.b64encode(piece[len(piece) // 3 * 3 :]) != bytes(text[-4:]):
        raise NotBase64Error
    return piece
