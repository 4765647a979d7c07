"""Response headers that the product makes itself, as most of an answer's headers are."""

from collections.abc import Mapping

from django.http.response import HttpResponseBase


def put(response: HttpResponseBase, headers: Mapping[str, str], *, unless_set: bool = False) -> None:
    """Set headers whose names and values are ASCII text of the product; with `unless_set`, those that are not set yet.

    Django checks and converts each name and value, because they may come from outside. For a dozen headers that takes
    longer than to build the answer, and the server checks them again anyway.
    """
    store = response.headers._store
    for name, value in headers.items():
        key = name.lower()
        if not unless_set or key not in store:
            store[key] = (name, value)


def pairs(response: HttpResponseBase) -> list[tuple[str, str]]:
    """Return the names and values of all headers, without looking up each name again as Django's `items` does."""
    return list(response.headers._store.values())
