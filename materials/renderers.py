"""Renders every answer of the endpoint as XML, which is well-formed whatever the text contains (DECISIONS 6)."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse

from records.operations import errors
from records.operations.media_types import preference

JSON, XML, TEXT_XML = "application/json", "application/xml", "text/xml"
MEDIA_TYPES = (JSON, XML, TEXT_XML)
VARIANT = "x"
"""The suffix that marks the ETags of answers in XML."""

DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
MATERIAL, RESULT, REFUSAL, FAULT = "ExternalIdMaterialDto", "ExternalIdMaterialResult", "ErrorResult", "FieldError"
_ENTRIES = {"countryOfOrigin": "string", "Fields": FAULT}
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROLS = bytes(byte for byte in range(32) if byte not in (9, 10, 13))
_NONCHARACTERS = ("\ufffe", "\uffff")


def negotiate(accept: str) -> str | None:
    """Return the media type of the answer, or None if the caller accepts none of those that are offered.

    The highest quality wins; among equals, the more specific range wins, and then JSON.
    """
    if not accept.strip():
        return JSON
    best, media_type = (0.0, 0), None
    for candidate in MEDIA_TYPES:
        weight = preference(accept, candidate)
        if weight[0] > 0 and weight > best:
            best, media_type = weight, candidate
    return media_type


def in_xml(request: HttpRequest) -> str:
    """Return the XML media type that the request asks for, or an empty text if the answer is to be in JSON."""
    media_type = negotiate(request.META.get("HTTP_ACCEPT", ""))
    return media_type if media_type in (XML, TEXT_XML) else ""


def as_xml(response: HttpResponse, media_type: str) -> HttpResponse:
    """Return a JSON answer as XML with the same status and headers; an answer without a body remains empty."""
    if response.content and response.get("Content-Type", "").startswith(JSON):
        response.content = document(orjson.loads(response.content))
        response["Content-Type"] = f"{media_type}; charset=utf-8"
    return response


def document(value: Any) -> bytes:
    """Return a material, a list of them, a result or an error as an XML document."""
    if isinstance(value, list):
        root = MATERIAL if not value or "name" in value[0] else RESULT
        return encode(f"<{root}Array>{''.join(_element(root, entry) for entry in value)}</{root}Array>")
    root = REFUSAL if "RequestId" in value else MATERIAL if "externalId" in value else RESULT
    return encode(_element(root, value))


def refusal(request: HttpRequest, error: errors.ApiError) -> HttpResponse:
    """Answer a refusal below /materials in the media type that the request asks for."""
    response = errors.answer(request, error)
    response["Vary"] = "Accept"
    media_type = in_xml(request)
    return as_xml(response, media_type) if media_type else response


def encode(text: str) -> bytes:
    """Return the document's bytes; characters that XML does not allow become U+FFFD."""
    content = (DECLARATION + text).encode("utf-8", "replace")
    if len(content.translate(None, _CONTROLS)) == len(content) and not any(
        character in text for character in _NONCHARACTERS
    ):
        return content
    return (DECLARATION + _ILLEGAL.sub("\ufffd", text)).encode()


def _element(name: str, fields: Mapping[str, object]) -> str:
    return _template(name, tuple(fields)) % tuple(
        [
            _escape(value) if type(value) is str else _text_of(field, value)  # Most values are text.
            for field, value in fields.items()
        ]
    )


@cache
def _template(name: str, fields: tuple[str, ...]) -> str:
    """Return a template of the element with a placeholder for each field's text; it is built once for each shape."""
    return f"<{name}>{''.join(f'<{field}>%s</{field}>' for field in fields)}</{name}>"


def _text_of(field: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return _entries(_ENTRIES[field], value) if isinstance(value, list) else str(value)


def _entries(name: str, entries: Sequence[Any]) -> str:
    return "".join(
        _element(name, entry) if isinstance(entry, dict) else f"<{name}>{_escape(entry)}</{name}>" for entry in entries
    )


def _escape(text: str) -> str:
    if "&" in text or "<" in text or ">" in text or "\r" in text:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")
    return text
