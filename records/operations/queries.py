"""Reads the parameters of a query: texts, numbers, times, filters (DECISIONS 3); faults are 400 InvalidParameter."""

import datetime
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import chain
from operator import or_
from typing import TypeVar
from urllib.parse import unquote_to_bytes, urlencode

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.http import HttpRequest

from records.operations import values
from records.operations.errors import ApiError
from records.operations.names import match_name, nearest
from records.operations.operation import Parameter
from records.sites.text import normalise, read_uuid

M = TypeVar("M", bound=models.Model)
R = TypeVar("R")
IN_FOLDERS = "entityFolderId"
"""The list parameter that only lists of records in folders take."""
PLAIN_LENGTH = 2000
"""How many characters a query that is read without Django's limit on the number of parameters may have."""
_SPACE_FOR_PLUS = re.compile(r"(.*:\d{2}(?:\.\d+)?) (\d{2}:\d{2})", re.ASCII)


def invalid(name: str, message: str) -> ApiError:
    """Return the 400 for a query parameter's value."""
    return ApiError(400, "InvalidParameter", f"{name}: {message}")


def archive_states(query: Mapping[str, list[str]]) -> set[bool]:
    """Return which values of `is_archived` the query asks for; the default is active records only.

    `any` asks for both, and so do `true` and `false` together. Raises the 400 InvalidParameter.
    """
    states: set[bool] = set()
    for text in _pieces(query.get("isArchived", ["false"])):
        value = values.read_boolean(text)
        if value is None and text.casefold() != "any":
            raise invalid("isArchived", "This must be true, false or any.")
        states |= {True, False} if value is None else {value}
    return states


def _pieces(texts: Sequence[str]) -> list[str]:
    """Return the values of a repeated parameter, each split at its commas."""
    return list(dict.fromkeys(piece.strip() for text in texts for piece in text.split(",")))


def integer(query: Mapping[str, list[str]], name: str, usual: int, lowest: int, highest: int) -> int:
    """Return a whole number of the query, or the default; raises the 400 InvalidParameter."""
    if name not in query:
        return usual
    number = values.read_integer(query[name][-1], lowest, highest)
    if number is None:
        raise invalid(name, f"This must be a whole number between {lowest} and {highest}.")
    return number


def filter_rows(
    records: models.QuerySet[models.Model, object],
    rows: models.QuerySet[M, R],
    query: Mapping[str, list[str]],
    filters: Sequence[Parameter],
) -> models.QuerySet[M, R]:
    """Return those of the `rows` that the query's filters choose; `records` are all of the list."""
    many = False
    for parameter in filters:
        rows = rows.filter(
            reduce(or_, (_condition(parameter, lookup, query[parameter.name], records) for lookup in parameter.lookups))
        )
        many = many or any(_crosses_rows(records.model, lookup) for lookup in parameter.lookups)
    if "modifiedSince" in query:
        rows = rows.filter(last_modified__gte=_moment("modifiedSince", query["modifiedSince"][-1]))
    if IN_FOLDERS in query:
        rows = rows.filter(_condition(Parameter(IN_FOLDERS, "id"), "entity_folder_id", query[IN_FOLDERS], records))
    return rows.distinct() if many else rows


def _crosses_rows(model: type[models.Model], lookup: str) -> bool:
    first = lookup.split("__")[0]
    field = next((candidate for candidate in model._meta.get_fields() if candidate.name == first), None)
    return bool(field is not None and (field.many_to_many or field.one_to_many))


def _condition(
    parameter: Parameter, lookup: str, texts: Sequence[str], records: models.QuerySet[models.Model, object]
) -> Q:
    """Return the condition of a filter. A repeated parameter means any of its values, and so does a comma in it.

    A comma in a text or a date-time belongs to the value (DECISIONS 3).
    """
    if parameter.kind == "text":
        return _any_text(parameter, lookup, texts, records)
    pieces = [text.strip() for text in texts] if parameter.kind == "date-time" else _pieces(texts)
    return reduce(or_, (_single(parameter, lookup, piece) for piece in pieces))


def _any_text(
    parameter: Parameter, lookup: str, texts: Sequence[str], records: models.QuerySet[models.Model, object]
) -> Q:
    """Return the condition that a text is one of the given ones, compared as a whole and in any case.

    If the parameter is `separable`, a value with commas that no record of the site has means any of its parts.
    """
    condition = _one_of(lookup, texts)
    for text in texts:
        pieces = [piece for piece in _pieces([text]) if piece]
        if parameter.separable and "," in text and pieces:
            has_record = models.Exists(records.filter(_one_of(lookup, [text])))
            condition |= _one_of(lookup, pieces) & ~Q(has_record)
    return condition


def _one_of(lookup: str, texts: Sequence[str]) -> Q:
    """Return the condition that a text is one of the given ones, as sent or without the blanks around it."""
    # A value of blanks alone does not mean the records without a value.
    spellings = list(dict.fromkeys(value for text in texts for value in (text, text.strip() or text)))
    return Q(**{f"{lookup}__whole_in": spellings})


def _single(parameter: Parameter, lookup: str, text: str) -> Q:
    if parameter.kind == "id":
        key = read_uuid(text)
        if key is None:
            raise invalid(parameter.name, "This must be an Id: a UUID of 36 characters.")
        return Q(**{lookup: key})
    if parameter.kind == "date-time":
        moment = _moment(parameter.name, text)
        if lookup.endswith("__lte") and values.is_day(text):
            moment += datetime.timedelta(days=1, milliseconds=-1)  # All stored times are whole milliseconds.
        return Q(**{lookup: moment})
    if parameter.kind == "choice":
        choice = match_name(text, parameter.choices)
        if choice is None:
            near = nearest(text, parameter.choices)
            hint = f" Did you mean {near}?" if near else ""
            raise invalid(parameter.name, f"Allowed are: {', '.join(parameter.choices)}.{hint}")
        return Q(**{lookup: choice})
    if parameter.kind == "boolean":
        value = values.read_boolean(text)
        if value is None:
            raise invalid(parameter.name, "This must be true or false.")
        return Q(**{lookup: value})
    raise NotImplementedError(parameter.kind)


def read_text(name: str, value: str) -> str:
    """Return a query value under the rules for text, so that everything that can be stored can be asked for.

    Raises the 400.
    """
    try:
        return normalise(value)
    except ValidationError as error:
        raise invalid(name, error.messages[0]) from error


_PLAIN = re.compile(r"[A-Za-z0-9_.~,:=&-]*")
"""A query, or parts of one, without anything that is encoded or would have to be."""


def query_parameters(request: HttpRequest) -> Mapping[str, list[str]]:
    """Return the values of each parameter of the query, as `request.GET` has them; most queries need no decoding."""
    query = request.META.get("QUERY_STRING", "")
    if len(query) > PLAIN_LENGTH or not _PLAIN.fullmatch(query):
        return dict(request.GET.lists())
    parameters: dict[str, list[str]] = {}
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        parameters.setdefault(name, []).append(value)
    return parameters


def encode_query(parameters: Sequence[tuple[str, object]]) -> str:
    """Return parameters as the query of an address, in which commas and colons stay as they are."""
    pairs = [(name, str(value)) for name, value in parameters]
    text = "".join(chain.from_iterable(pairs))
    if "=" in text or "&" in text or not _PLAIN.fullmatch(text):
        return urlencode(pairs, safe=",:")
    return "&".join([f"{name}={value}" for name, value in pairs])


def check_utf8(request: HttpRequest) -> None:
    """Raise the 400 for a query that is not UTF-8, which Django would replace by text that nobody sent."""
    query = request.META.get("QUERY_STRING", "")
    if "%" not in query and query.isascii():
        return
    for pair in query.encode("latin-1", "replace").split(b"&"):
        try:
            unquote_to_bytes(pair).decode()
        except UnicodeDecodeError as error:
            name = unquote_to_bytes(pair.partition(b"=")[0]).decode("utf-8", "replace")
            raise invalid(name[:100], "This is not text in UTF-8.") from error


def _moment(name: str, text: str) -> datetime.datetime:
    """Return the time in a query value; a `+` that was sent unencoded arrives as a space."""
    if match := _SPACE_FOR_PLUS.fullmatch(text):
        text = f"{match[1]}+{match[2]}"
    try:
        return values.read_date_time(text)
    except ValueError as error:
        raise invalid(name, str(error)) from error
