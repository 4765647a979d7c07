"""Reading a request's body: its size, its media type and its JSON (DECISIONS 1.10, 1.12)."""

import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import IO, Any, cast

import msgspec
from django.http import HttpRequest

from records.operations.errors import ApiError

CHUNK = 256 * 1024
BODY_LIMIT = 16 * 1024 * 1024
MOST_VALUES = 200_000
"""How many values a body may have: several times as many as the largest body that an operation accepts."""
DRAIN_LIMIT = 128 * 1024 * 1024
"""How much of a refused body is read and discarded, so that the client reads the answer instead of a broken pipe."""

_LARGEST = sys.float_info.max
_decoder = msgspec.json.Decoder(float_hook=Decimal)
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"\s*+(:?)', re.DOTALL)
"""A JSON string, including the colon after it if it is a name. Possessive quantifiers keep the memory use constant."""

Bytes = bytes | bytearray


def check_encoding(request: HttpRequest) -> None:
    """Raise the 415 for a compressed body, which would otherwise be read as plain JSON (RFC 9110, 15.5.16)."""
    coding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if coding not in ("", "identity"):
        message = "Send the body without Content-Encoding."
        raise ApiError(415, "UnsupportedMediaType", message, headers={"Accept-Encoding": "identity"})


def check_media_type(request: HttpRequest, usual: str = "application/json") -> None:
    """Raise the 415 unless the body is plain JSON in UTF-8; a body without Content-Type is read as JSON.

    `usual` is the media type of the interface, which the error message recommends; `application/json` is one as well.
    """
    check_encoding(request)
    content_type = request.META.get("CONTENT_TYPE", "")
    if not content_type.strip():
        return
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    charset = ""
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip("\"'").lower()
    if kind not in ("application/json", usual) or charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise ApiError(415, "UnsupportedMediaType", f"Send the body as {usual} in UTF-8.")


def too_large(limit: int) -> ApiError:
    """Return the 413 for a body of more than `limit` bytes."""
    size = f"{limit // 1024**2} MiB" if limit >= 1024**2 else f"{limit // 1024} KiB"
    return ApiError(413, "PayloadTooLarge", f"The body is larger than {size}.")


def read(request: HttpRequest, limit: int = BODY_LIMIT) -> bytes | bytearray:
    """Return the body's bytes, in memory only once; raises the 413, before reading, if the body exceeds `limit` bytes.

    A chunked body, which has no length, is read to its end. Django's own `request.body` would keep it in memory twice.
    """
    if hasattr(request, "_body"):
        if len(request.body) > limit:
            raise too_large(limit)
        return request.body
    content_length = request.META.get("CONTENT_LENGTH") or ""
    is_chunked = "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
    if not content_length.isdecimal():
        return _read_chunked(request, limit) if is_chunked else b""
    length = int(content_length)
    if length > limit:
        _drain(request.read, length)
        raise too_large(limit)
    body = bytearray(length)
    view, size = memoryview(body), 0
    while size < length:
        try:
            piece = request.read(min(CHUNK, length - size))
        except OSError as error:
            raise ApiError(400, "MalformedJson", "The body ended too early.") from error
        if not piece:
            raise ApiError(400, "MalformedJson", "The body is shorter than its Content-Length.")
        view[size : size + len(piece)] = piece
        size += len(piece)
    return body


def stream(request: HttpRequest, limit: int) -> IO[bytes]:
    """Return the body as a file that can be read again and again; raises as `read` does.

    The server keeps a large body in a file, which is used as it is. Only another server's body is read into memory.
    """
    body_file: Any = request.META.get("wsgi.input")
    if hasattr(request, "_body") or not getattr(body_file, "seekable", bool)():
        return io.BytesIO(read(request, limit))
    if body_file.seek(0, io.SEEK_END) > limit:
        raise too_large(limit)
    body_file.seek(0)
    return cast(IO[bytes], body_file)


def _read_chunked(request: HttpRequest, limit: int) -> bytearray:
    stream = request.META["wsgi.input"]
    body = bytearray()
    while True:
        try:
            piece = stream.read(CHUNK)
        except Exception as error:  # Each server raises its own exception for a malformed chunk.
            raise ApiError(400, "MalformedJson", "The chunks of the body cannot be read.") from error
        if not piece:
            return body
        body += piece
        if len(body) > limit:
            _drain(stream.read, DRAIN_LIMIT - len(body))
            raise too_large(limit)


def _drain(read_bytes: Callable[[int], bytes], length: int) -> None:
    remaining = min(length, DRAIN_LIMIT)
    with suppress(Exception):  # As above. The body is refused, however reading it ends.
        while remaining > 0 and (piece := read_bytes(min(CHUNK, remaining))):
            remaining -= len(piece)


def decode(body: Bytes) -> object:
    """Return the JSON value; numbers with a fraction become Decimal, without loss.

    Raises the 400 MalformedJson, and the 413 before millions of small values take many seconds.
    """
    if body.count(b",") > MOST_VALUES and _TEXT.sub(b"", body).count(b",") > MOST_VALUES:
        raise ApiError(413, "PayloadTooLarge", f"The body has more than {MOST_VALUES:,} values.")
    try:
        value = _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError, ArithmeticError) as error:
        raise malformed_body(error, body) from error
    refuse_repeated_names(body, value)
    return value


def refuse_repeated_names(body: Bytes, value: object) -> None:
    """Raise the 400 MalformedJson if an object of the body repeats a name, since all values but the last would be lost.

    `value` is the decoded body.
    """
    if _TEXT.findall(body).count(b":") != _names_in(value):
        raise ApiError(400, "MalformedJson", f"{_repeated_name(body)} occurs twice in one object of the body.")


def _names_in(value: object) -> int:
    """Return how many names the objects of a decoded value have."""
    return sum(len(part) for part in _parts_of(value) if type(part) is dict)


def is_out_of_range(value: object) -> bool:
    """Return whether a decoded value is or contains a number that no double holds, such as 1e400 (DECISIONS 1.10)."""
    items = (item for part in _parts_of([value]) for item in _items_of(part))
    return any(isinstance(item, int | Decimal) and not -_LARGEST <= item <= _LARGEST for item in items)


def _parts_of(value: object) -> Iterator[dict[str, object] | list[object]]:
    """Yield each object and array of a decoded value; not recursive, so that any depth is possible."""
    queue: list[Any] = [value] if type(value) in (dict, list) else []
    while queue:
        part = queue.pop()
        yield part
        queue += [item for item in _items_of(part) if type(item) in (dict, list)]


def _items_of(part: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return part.values() if isinstance(part, dict) else part


def _repeated_name(body: Bytes) -> str:
    names: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        names.extend(name for name, number in Counter(name for name, _ in pairs).items() if number > 1)

    try:
        json.loads(bytes(body), object_pairs_hook=note)
    except (ValueError, RecursionError):
        return "A name"
    return f"The name {names[0][:100]!r}" if names else "A name"


def malformed_body(error: Exception, body: Bytes) -> ApiError:
    """Return the 400 for text that is not JSON; some tools write a byte order mark, which is invisible."""
    text = str(error)
    if bytes(body[:3]) == b"\xef\xbb\xbf":
        text = "it begins with a byte order mark; send UTF-8 without one"
    elif isinstance(error, UnicodeDecodeError):
        text = "it is not text in UTF-8"
    elif isinstance(error, RecursionError):
        text = "nested too deeply"
    elif isinstance(error, ArithmeticError) or "out of range" in text:
        text = "a number is out of range"
    return ApiError(400, "MalformedJson", f"The body is not valid JSON: {text[:200]}.")


def decode_object(body: bytes | bytearray) -> dict[str, object]:
    """Return the JSON object of a body. Raises the 400 MalformedJson for anything else."""
    if not body:
        raise ApiError(400, "MalformedJson", "The body is empty; a JSON object is expected.")
    value = decode(body)
    if not isinstance(value, dict):
        raise ApiError(400, "MalformedJson", "The body must be a JSON object.")
    return value
