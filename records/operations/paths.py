"""Which paths are interfaces for programs and which are pages for people, according to `config/urls.py`."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import ResolverMatch, URLPattern, URLResolver, resolve


def first_part(path: str) -> str:
    """Return the first part of a path: `employee` for `/employee/GetEmployeeList`."""
    return path[1:].partition("/")[0]


def is_interface(path: str) -> bool:
    """Return whether the path is for programs; no middleware for browsers applies to it."""
    return first_part(path) in _first_parts("interfaces")


def is_page(path: str) -> bool:
    """Return whether the path is a page for people; every other path answers in the format of an interface."""
    return first_part(path) in _first_parts("pages")


_ID = re.compile(r"/[0-9A-Fa-f-]{36}/?")
_ANY_ID = "00000000-0000-0000-0000-000000000000"


def view_at(path: str) -> tuple[Callable[..., HttpResponse], Sequence[Any], dict[str, Any]]:
    """Return the view of a path with its arguments; raises Http404.

    The path is searched in the URL configuration once for all ids that it may have, because that takes longer than to
    prepare the answer.
    """
    id_match = _ID.search(path)
    if id_match is None:
        match = _match(settings.ROOT_URLCONF, path)
        return match.func, match.args, match.kwargs
    record_id = id_match[0].strip("/")
    match = _match(settings.ROOT_URLCONF, path.replace(record_id, _ANY_ID, 1))
    if _ANY_ID not in match.kwargs.values():
        match = resolve(path, settings.ROOT_URLCONF)
    return (
        match.func,
        match.args,
        {name: record_id if value == _ANY_ID else value for name, value in match.kwargs.items()},
    )


@lru_cache(1024)
def _match(configuration: str, path: str) -> ResolverMatch:
    return resolve(path, configuration)


@cache
def _first_parts(kind: str) -> frozenset[str]:
    """Return the first parts of the paths in a list of the URL configuration: `interfaces` or `pages`."""
    return frozenset(_starts(getattr(import_module(settings.ROOT_URLCONF), kind)))


def _starts(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        start = str(pattern.pattern).partition("/")[0]
        if start:
            yield start
        elif isinstance(pattern, URLResolver):
            yield from _starts(pattern.url_patterns)
