"""A file on its way in: base64 text of a body or an uploaded form file, read in slices, never copied whole."""

import hashlib
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec
import pybase64

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


class EncodedFile:
    r"""A file as base64 text, which stays where the body holds it; JSON's escapes (`\/`, `\u002B`) are understood.

    Raises FileTooLargeError by the length alone, FileEmptyError or NotBase64Error.
    """

    def __init__(self, text: memoryview, limit: int) -> None:
        """Check the text between the quotes of a JSON string against the limit in bytes, and decode it once to hash."""
        self._text = text
        self._escaped, length = _measure(text)
        if not length:
            raise FileEmptyError
        if length // 4 * 3 - 2 > limit:
            raise FileTooLargeError
        if length % 4:
            raise NotBase64Error
        digest, size = hashlib.sha256(), 0
        for piece in self.pieces():
            digest.update(piece)
            size += len(piece)
        if size > limit:
            raise FileTooLargeError
        self.size, self.sha256 = size, digest.hexdigest()

    def pieces(self) -> Iterator[bytes]:
        """Yield the decoded bytes; raises NotBase64Error at the first fault."""
        held: bytes = b""
        ended = False
        for text in _unescaped(self._text) if self._escaped else _slices(self._text):
            block: bytes | memoryview = held + bytes(text) if held else text
            view = memoryview(block)
            whole = len(view) // 4 * 4
            held = bytes(view[whole:])
            if not whole:
                continue
            if ended:
                raise NotBase64Error
            piece = _decode(view[:whole])
            ended = len(piece) < whole // 4 * 3
            yield piece
        if held:
            raise NotBase64Error


class UploadedPart:
    """A file that came with a form, already on disk or in memory; hashed once."""

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


def _measure(text: memoryview) -> tuple[bool, int]:
    """Return whether the text has escapes, and its length without them."""
    escapes = wide = 0
    for start in range(0, len(text), PIECE):
        piece = bytes(text[start : start + PIECE + 1])
        found = piece.count(b"\\", 0, PIECE)
        if found:
            escapes += found
            wide += piece.count(b"\\u")
    return bool(escapes), len(text) - escapes - 4 * wide


def _slices(text: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def _unescaped(text: memoryview) -> Iterator[bytes]:
    """Yield the text with its escapes resolved; none is cut in two."""
    held = b""
    for piece in _slices(text):
        block = held + bytes(piece)
        cut = block.rfind(b"\\", max(0, len(block) - 5))
        cut = len(block) if cut < 0 else cut
        held = block[cut:]
        yield _resolve(block[:cut])
    if held:
        yield _resolve(held)


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
    # Bits behind the last byte that are not zero would be lost without a word.
    if len(piece) % 3 and pybase64.b64encode(piece[len(piece) // 3 * 3 :]) != bytes(text[-4:]):
        raise NotBase64Error
    return piece
