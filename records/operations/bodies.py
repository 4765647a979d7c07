"""Reading a request's body: its size, its media type and its JSON (DECISIONS 1.10, 1.12)."""

from decimal import Decimal
from typing import Any

import msgspec
from django.http import HttpRequest

from records.operations.errors import Refusal

CHUNK = 256 * 1024
BODY_LIMIT = 16 * 1024 * 1024
DRAINED = 128 * 1024 * 1024
"""How much of a refused body is read and thrown away, so that the client reads the answer instead of a broken pipe."""

_decoder = msgspec.json.Decoder(float_hook=Decimal)
_shallow_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def check_media_type(request: HttpRequest) -> None:
    """Raise the 415 unless the body is JSON in UTF-8; a body without Content-Type is read as JSON."""
    declared = request.META.get("CONTENT_TYPE", "")
    if not declared.strip():
        return
    kind, _, rest = declared.partition(";")
    kind = kind.strip().lower()
    charset = ""
    for parameter in rest.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip("\"'").lower()
    known = kind in ("application/json", "text/json") or (kind.startswith("application/") and kind.endswith("+json"))
    if not known or charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Refusal(415, "UnsupportedMediaType", "Send the body as application/json in UTF-8.")


def too_large(limit: int) -> Refusal:
    """Return the 413 for a body above limit bytes."""
    size = f"{limit // 1024**2} MiB" if limit >= 1024**2 else f"{limit // 1024} KiB"
    return Refusal(413, "PayloadTooLarge", f"The body is larger than {size}.")


def read(request: HttpRequest, limit: int = BODY_LIMIT) -> bytes | bytearray:
    """Return the body's bytes, held once in memory; raises the 413 above limit bytes, judged before reading.

    A chunked body, which has no length, is read until its end. Django's own `request.body` would hold it twice.
    """
    if hasattr(request, "_body"):
        if len(request.body) > limit:
            raise too_large(limit)
        return request.body
    declared = request.META.get("CONTENT_LENGTH") or ""
    chunked = "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower()
    if not declared.isdigit():
        return _read_chunked(request, limit) if chunked else b""
    length = int(declared)
    if length > limit:
        _drain(request, length)
        raise too_large(limit)
    body = bytearray(length)
    view, filled = memoryview(body), 0
    while filled < length:
        try:
            piece = request.read(min(CHUNK, length - filled))
        except OSError as error:
            raise Refusal(400, "MalformedJson", "The body ended too early.") from error
        if not piece:
            raise Refusal(400, "MalformedJson", "The body is shorter than its Content-Length.")
        view[filled : filled + len(piece)] = piece
        filled += len(piece)
    return body


def _read_chunked(request: HttpRequest, limit: int) -> bytearray:
    stream = request.META["wsgi.input"]
    body = bytearray()
    while True:
        try:
            piece = stream.read(CHUNK)
        except Exception as error:  # each server has an exception of its own for a chunk that is none
            raise Refusal(400, "MalformedJson", "The chunks of the body cannot be read.") from error
        if not piece:
            return body
        body += piece
        if len(body) > limit:
            raise too_large(limit)


def _drain(request: HttpRequest, length: int) -> None:
    left = min(length, DRAINED)
    try:
        while left > 0:
            piece = request.read(min(CHUNK, left))
            if not piece:
                return
            left -= len(piece)
    except OSError:
        return


def decode(body: bytes | bytearray | memoryview | msgspec.Raw) -> Any:
    """Return the JSON value; numbers with a fraction as Decimal, without loss. Raises the 400 MalformedJson."""
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError, ValueError, ArithmeticError) as error:
        raise malformed(error) from error


def decode_shallow(body: bytes | bytearray) -> dict[str, msgspec.Raw]:
    """Return an object's members undecoded, so that a large one is never copied. Raises the 400 MalformedJson."""
    try:
        return _shallow_decoder.decode(body)
    except msgspec.ValidationError as error:
        raise Refusal(400, "MalformedJson", "The body must be a JSON object.") from error
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise malformed(error) from error


def malformed(error: Exception) -> Refusal:
    """Return the 400 for what is no JSON."""
    text = "nested too deeply" if isinstance(error, RecursionError) else str(error)
    return Refusal(400, "MalformedJson", f"The body is not valid JSON: {text[:200]}.")


def decode_object(body: bytes | bytearray) -> dict[str, Any]:
    """Return the JSON object of a body. Raises the 400 MalformedJson for anything else."""
    if not body:
        raise Refusal(400, "MalformedJson", "The body is empty; a JSON object is expected.")
    value = decode(body)
    if not isinstance(value, dict):
        raise Refusal(400, "MalformedJson", "The body must be a JSON object.")
    return value
