"""Which paths are interfaces for programs and which are pages for people, according to `config/urls.py`."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module

from django.conf import settings
from django.urls import URLPattern, URLResolver


def first_part(path: str) -> str:
    """Return the first part of a path: `employee` for `/employee/GetEmployeeList`."""
    return path[1:].partition("/")[0]


def is_interface(path: str) -> bool:
    """Return whether the path is for programs; no middleware for browsers applies to it."""
    return first_part(path) in _first_parts("interfaces")


def is_page(path: str) -> bool:
    """Return whether the path is a page for people; every other path answers in the format of an interface."""
    return first_part(path) in _first_parts("pages")


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
