"""A request as it arrives: its head, and its body in memory or, above 64 KiB, in an unnamed temporary file."""

import io
import re
import tempfile
from collections.abc import Mapping
from typing import IO

from gunicorn.http import errors

from config.server.heads import LONGEST_LINE, Head

HEAD_LIMIT = 128 * 1024
"""The maximum size of a request line and its headers together, in bytes."""
MEMORY_LIMIT = 64 * 1024
LONGEST_CHUNK_LINE = 4096
LINES_AT_ONCE = 1_000
"""How many chunks or trailers of a body are read before other connections have their turn."""
FRAMING_LIMIT = 16 * 1024
"""How many bytes of chunk sizes and extensions a body may have beyond twice its content, and of trailers."""
END_OF_HEAD = b"\r\n\r\n"
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters that no line of a chunked body may contain; another server could take a line feed for the line's end."""


class BodyTooLargeError(Exception):
    """Raised if a body is, or announces that it will be, larger than its path allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def read_head(buffer: bytearray, shared: Mapping[str, object]) -> Head | None:
    """Remove a request's head from the received bytes and return it; None if it is not complete yet.

    Raises gunicorn's ParseException for a head that cannot be parsed or that is larger than the limits.
    """
    while buffer.startswith(b"\r\n"):
        del buffer[:2]
    end = buffer.find(END_OF_HEAD)
    if end < 0:
        if len(buffer) > LONGEST_LINE + 2 and buffer.find(b"\r\n") < 0:
            raise errors.LimitRequestLine(len(buffer), LONGEST_LINE)
        if len(buffer) > HEAD_LIMIT:
            raise errors.LimitRequestHeaders("The head is larger than the limit.")
        return None
    if end > HEAD_LIMIT:
        raise errors.LimitRequestHeaders("The head is larger than the limit.")
    text = bytes(buffer[: end + len(END_OF_HEAD)])
    head = Head(text, shared)
    del buffer[: len(text)]
    return head


def body_of(head: Head, limit: int) -> "Body":
    """Return the object that collects the request's body; raises BodyTooLargeError if Content-Length is too high."""
    if head.is_chunked:
        return ChunkedBody(limit)
    if head.length > limit:
        raise BodyTooLargeError(limit)
    return Body(head.length)


class Body:
    """A body of known length, in bytes."""

    is_paused = False
    """Whether there is more to take from the bytes that have arrived, after other connections had their turn."""

    def __init__(self, length: int) -> None:
        self.remaining = length
        self.size = 0
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(MEMORY_LIMIT) if length else io.BytesIO()  # noqa: SIM115 (closed with the request)

    @property
    def complete(self) -> bool:
        """Return whether the whole body has arrived."""
        return self.remaining == 0

    def take(self, buffer: bytearray) -> None:
        """Remove the bytes of the body from the received bytes; raises OSError if the disk is full."""
        piece = buffer[: self.remaining]
        self.file.write(piece)
        self.size += len(piece)
        self.remaining -= len(piece)
        del buffer[: len(piece)]

    def rewind(self) -> IO[bytes]:
        """Return the body as a file, positioned at its start."""
        self.file.seek(0)
        return self.file


class ChunkedBody(Body):
    """A body in chunks (RFC 9112, 7.1); extensions and trailers are read and ignored."""

    def __init__(self, limit: int) -> None:
        super().__init__(0)
        self.file = tempfile.SpooledTemporaryFile(MEMORY_LIMIT)  # noqa: SIM115 (closed with the request)
        self.limit = limit
        self._framing_left = FRAMING_LIMIT
        self._at_end_of_chunk = self._in_trailers = self._is_at_end = False

    @property
    def complete(self) -> bool:
        """Return whether the last chunk and the trailers have arrived."""
        return self._is_at_end

    def take(self, buffer: bytearray) -> None:
        """Remove some chunks from the received bytes; raises ParseException (malformed), BodyTooLargeError, OSError."""
        pieces: list[bytearray] = []
        at, lines_left = 0, LINES_AT_ONCE
        while lines_left and not self._is_at_end:
            if self.remaining:
                piece = buffer[at : at + self.remaining]
                if not piece:
                    break
                pieces.append(piece)
                at, self.remaining, self.size = at + len(piece), self.remaining - len(piece), self.size + len(piece)
                self._at_end_of_chunk = not self.remaining
            elif self._at_end_of_chunk:
                end = buffer[at : at + 2]
                if len(end) < 2:
                    break
                if end != b"\r\n":
                    raise errors.ChunkMissingTerminator(b"")
                at, self._at_end_of_chunk = at + 2, False
            else:
                end_of_line = buffer.find(b"\r\n", at, at + LONGEST_CHUNK_LINE)
                if end_of_line < 0:
                    if len(buffer) - at >= LONGEST_CHUNK_LINE:
                        raise errors.InvalidChunkSize(b"")
                    break
                self._read_line(bytes(buffer[at:end_of_line]))
                at, lines_left = end_of_line + 2, lines_left - 1
        self.is_paused = not lines_left and not self._is_at_end
        self.file.write(b"".join(pieces))
        del buffer[:at]

    def _read_line(self, line: bytes) -> None:
        """Read the line with the size of a chunk, or a trailer."""
        self._framing_left -= len(line) + 2
        if self._framing_left < 0 or _CONTROL.search(line):
            raise errors.InvalidChunkSize(b"")
        if self._in_trailers:
            self._is_at_end = not line
            return
        digits = line.partition(b";")[0].rstrip(b" \t")
        if not 1 <= len(digits) <= 16 or digits.strip(b"0123456789abcdefABCDEF"):
            raise errors.InvalidChunkSize(b"")
        self.remaining = int(digits, 16)
        if self.size + self.remaining > self.limit:
            raise BodyTooLargeError(self.limit)
        # A body that is mostly framing is refused, because parsing it costs more than the content is worth.
        self._framing_left += 2 * self.remaining
        if not self.remaining:
            self._in_trailers, self._framing_left = True, FRAMING_LIMIT
