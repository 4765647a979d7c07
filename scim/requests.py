"""Reads a request: its body, its query, and the attributes that it asks for."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Never

from django.core.exceptions import ValidationError
from django.http import HttpRequest

from records.operations import bodies, queries
from records.operations.errors import ApiError
from records.operations.near_misses import is_near
from records.sites.text import normalise
from scim.errors import MEDIA_TYPE, ScimError

LARGEST_BODY = 10 * 1024 * 1024
DEEPEST = 50
"""How many levels of arrays and objects a body may have; what reads it goes down level by level."""
TOO_DEEP = "The body is nested too deeply."
DEFAULT_COUNT = 100
LARGEST_COUNT = 200
LONGEST_NUMBER = 100
LONGEST_NAMES = 20_000
"""The most characters that `attributes` or `excludedAttributes` may have."""


def read_body(request: HttpRequest, largest: int = LARGEST_BODY) -> dict[str, object]:
    """Return the body's JSON object; raises ScimError (400) or ApiError (400, 413, 415).

    A body without a media type is read as JSON, and a byte order mark is skipped.
    """
    bodies.check_media_type(request, MEDIA_TYPE)
    try:
        # Kept with the request, because it is read again if the caller has to be looked up meanwhile.
        content = request._body = bytes(bodies.read(request, largest))
        text = content.decode("utf-8-sig")
        body = json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_integer,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError as error:
        raise ScimError(400, "The body is not in UTF-8.", "invalidSyntax") from error
    except RecursionError as error:
        raise ScimError(400, TOO_DEEP, "invalidSyntax") from error
    except ValueError as error:
        raise ScimError(400, f"The body is not valid JSON: {error}", "invalidSyntax") from error
    if not isinstance(body, dict):
        raise ScimError(400, "The body must be a JSON object.", "invalidSyntax")
    is_plain = content.isascii() and b"\\" not in content  # Then JSON allows no character that is refused here.
    for part in parts_of(body):
        if is_plain:
            continue
        for text in part if isinstance(part, dict) else [part] if isinstance(part, str) else ():
            refuse_odd_text(text, "invalidValue")
    return body


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; raises ValueError if a name occurs twice in any case, because one value would be lost."""
    result = dict(pairs)
    if len({name.lower() for name in result}) != len(pairs):
        raise ValueError("a name occurs twice in one object.")
    return result


def refuse_odd_text(text: str, scim_type: str) -> None:
    """Raise ScimError for text that no record may hold (DECISIONS 1.9), before it is folded, compared or stored."""
    try:
        normalise(text)
    except ValidationError as fault:
        raise ScimError(400, " ".join(fault.messages), scim_type) from fault


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not a JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is out of range")
    return value


def _integer(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number has more than {LONGEST_NUMBER} digits")
    return int(text)


def parts_of(value: object) -> Iterator[object]:
    """Yield a JSON value and every value inside it, level by level; raises ScimError (400) for too many levels."""
    level = [value]
    for _ in range(DEEPEST + 1):
        yield from level
        inner: list[object] = []
        for part in level:
            if isinstance(part, dict):
                inner += part.values()
            elif isinstance(part, list):
                inner += part
        if not inner:
            return
        level = inner
    raise ScimError(400, TOO_DEEP, "invalidSyntax")


@dataclass(frozen=True, slots=True)
class Query:
    """What a list or read asks for: filter, page, order and attributes."""

    filter: str = ""
    start_index: int = 1
    count: int = DEFAULT_COUNT
    sort_by: str = ""
    descending: bool = False
    attributes: tuple[str, ...] = ()
    excluded_attributes: tuple[str, ...] = ()
    cursor: str | None = None
    """Where the page starts: '' for the first page, or None if the page is given by startIndex."""


QUERY_NAMES = ("filter", "startIndex", "count", "cursor", "sortBy", "sortOrder", "attributes", "excludedAttributes")
"""The query parameters of a list or read."""
SHOWN_NAMES = ("attributes", "excludedAttributes")
"""Those of them that a read or write of one resource has too."""
_NAMES = frozenset(name.lower() for name in QUERY_NAMES)
_FLAG = "aadoptscim062020"
"""The switch that Microsoft Entra ID adds to every address; it concerns what Entra sends."""


def query_of(parameters: Mapping[str, object]) -> Query:
    """Return the query from parameters or the body of a .search, with names in any case; raises ScimError."""
    refuse_misspelt(parameters, QUERY_NAMES)
    values = {name.lower(): value for name, value in parameters.items() if value is not None}
    attributes = _names(values.get("attributes"))
    excluded = _names(values.get("excludedattributes"))
    if attributes and excluded:
        raise ScimError(400, "Send attributes or excludedAttributes, not both.", "invalidValue")
    cursor = values.get("cursor")
    if cursor is not None and values.get("startindex") is not None:
        raise ScimError(400, "Send startIndex or cursor, not both.", "invalidValue")
    order = str(values.get("sortorder") or "ascending").lower()
    if order not in ("ascending", "descending"):
        raise ScimError(400, "sortOrder is ascending or descending.", "invalidValue")
    return Query(
        filter=_filter(values.get("filter")),
        start_index=max(1, _number("startIndex", values.get("startindex"), 1)),
        count=min(LARGEST_COUNT, max(0, _number("count", values.get("count"), DEFAULT_COUNT))),
        sort_by=_text("sortBy", values.get("sortby")),
        descending=order == "descending",
        attributes=attributes,
        excluded_attributes=excluded,
        cursor=None if cursor is None else _text("cursor", cursor),
    )


def refuse_misspelt(names: Iterable[str], known_names: Sequence[str]) -> None:
    """Raise ScimError for a name that is one typing error away from a known one: `filtr` would select everybody.

    Other unknown names are ignored, because some directories add names of their own.
    """
    for name in _unknown(names, known_names):
        near = [known_name for known_name in known_names if is_near(name.lower(), known_name.lower())]
        if near:
            raise ScimError(400, f"There is no {name[:100]!r}. Did you mean {near[0]}?", "invalidSyntax")


def unread_names(names: Iterable[str], known_names: Sequence[str]) -> list[str]:
    """Return the names of a message that nothing reads; raises ScimError for one that is a typing error."""
    refuse_misspelt(names, known_names)
    return [name for name in _unknown(names, known_names) if name.lower() != _FLAG]


def _unknown(names: Iterable[str], known_names: Sequence[str]) -> list[str]:
    """Return those of the given names that are not known, in whatever case."""
    lower_names = {name.lower() for name in known_names}
    return [name for name in names if name.lower() not in lower_names]


def query_of_request(request: HttpRequest) -> Query:
    """Return the query in the request's address.

    Raises ScimError if a name, in any case, has two values, and for what is not UTF-8.
    """
    try:
        queries.check_utf8(request)
    except ApiError as error:
        is_filter = error.message.lower().startswith("filter:")
        raise ScimError(400, error.message, "invalidFilter" if is_filter else "invalidValue") from None
    values_by_name: dict[str, set[str]] = {}
    for name, values in request.GET.lists():
        values_by_name.setdefault(name.lower(), set()).update(map(str, values))
    for name, different in values_by_name.items():
        if len(different) > 1 and name in _NAMES:
            raise ScimError(400, f"{name} has more than one value; send one.", "invalidValue")
    return query_of({name: request.GET[name] for name in request.GET})


def _filter(value: object) -> str:
    """Return the filter; raises ScimError for an empty one, because the caller never means to select everything."""
    text = _text("filter", value)
    if value is not None and not text:
        raise ScimError(400, "The filter is empty.", "invalidFilter")
    return text


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ScimError(400, f"{name} must be text.", "invalidValue")
    refuse_odd_text(value, "invalidFilter" if name == "filter" else "invalidValue")
    return value.strip()


def _number(name: str, value: object, default: int) -> int:
    if value is None or value == "":
        return default
    if isinstance(value, bool) or not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", str(value)):
        raise ScimError(400, f"{name} must be a whole number.", "invalidValue")
    return int(str(value))


def _names(value: Any) -> tuple[str, ...]:
    """Return the attribute names in a comma-separated text or an array, without any filter in brackets."""
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) for item in items):
        raise ScimError(400, "attributes must be names.", "invalidValue")
    text = ",".join(items)
    if len(text) > LONGEST_NAMES:
        raise ScimError(400, f"attributes may have {LONGEST_NAMES} characters.", "invalidValue")
    # Brackets cannot be nested: looking for the end again at each of many opening brackets would take quadratic time.
    text = re.sub(r"\[[^\[\]]*\]", "", text)
    return tuple(name.strip() for name in text.split(",") if name.strip())
