"""Finds the material that a path names, by external id or by Id; an external id that matches has priority."""

import uuid
from functools import cache
from urllib.parse import unquote_to_bytes

from django.core.exceptions import ValidationError
from django.db.models import Subquery, UUIDField, Value
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest
from django.urls.converters import StringConverter

from materials.models import Material
from records.operations.errors import ApiError
from records.operations.plans import KeyQuery
from records.sites.text import normalise, read_uuid

_SITE, _ID, _TEXT = uuid.uuid4(), uuid.uuid4(), str(uuid.uuid4())
"""The placeholders in the query for a material's key."""


class AnyText(StringConverter):
    """Matches the rest of a path with any characters, including line breaks and slashes."""

    regex = "(?s:.+)"


def spellings(request: HttpRequest, decoded: str) -> list[str]:
    """Return the possible meanings of the path's text, likeliest first; raises the 400 InvalidId if it is not text.

    WSGI decodes the path, so that an encoded slash at its end looks like the trailing slash that every path may have.
    If the server passes on the raw address, it shows which of them was sent; otherwise both meanings are returned.
    """
    raw = (request.META.get("RAW_URI") or request.META.get("REQUEST_URI") or "").partition("?")[0]
    try:
        unquote_to_bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise ApiError(400, "InvalidId", "The path is not text in UTF-8.") from error
    is_raw = bool(raw) and unquote_to_bytes(raw).endswith(decoded.encode("utf-8", "surrogatepass"))
    if is_raw:
        meanings = [decoded[:-1] if raw.endswith("/") else decoded]
    else:
        meanings = [decoded, decoded[:-1]] if decoded.endswith("/") else [decoded]
    try:
        return [normalise(text) for text in meanings if text]
    except ValidationError as error:
        raise ApiError(400, "InvalidId", "The path contains control characters.") from error


def by_text(site_id: uuid.UUID, text: str) -> KeyQuery:
    """Return the query for the key of the site's material with this external id, else for the Id in the text."""
    return KeyQuery("external id", _key(), {_SITE: site_id, _TEXT: text, _ID: read_uuid(text)})


@cache
def _key() -> Coalesce:
    key = Material.objects.at(_SITE).filter(external_id=_TEXT).order_by().values("pk")[:1]
    return Coalesce(Subquery(key), Value(_ID, UUIDField()))


def material_id(site_id: uuid.UUID, texts: list[str]) -> uuid.UUID:
    """Return the Id of the site's material with this external id, else the Id in the text; raises Http404."""
    keys = dict(
        Material.objects.at(site_id).filter(external_id__in=texts).values_list("external_id", "pk") if texts else ()
    )
    for text in texts:
        if text in keys:
            return keys[text]
        if (key := read_uuid(text)) is not None:
            return key
    raise Http404
