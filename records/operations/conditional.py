"""ETag, If-Match and If-None-Match (DECISIONS 1.13)."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from django.db.models import Model
from django.http import HttpRequest

from records.operations.errors import ApiError
from records.sites.writing import Precondition

_TAG = re.compile(r'"([^"]*)"')
"""A tag in a header. The weak mark `W/`, which a compressing proxy adds, makes no difference (DECISIONS 1.13)."""
_OF_RECORD = re.compile(r"(\d+)(?:-[a-z]+)?")
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


def etag(revision: int, *, with_private: bool = True, variant: str = "") -> str:
    """Return the tag of a record at a revision.

    The view without private fields and each further media type (`variant`, a letter) have their own tags.
    """
    marks = ("" if with_private else "r") + variant
    return f'"{revision}-{marks}"' if marks else f'"{revision}"'


def fingerprint(values: Sequence[object]) -> str:
    """Return a text for a view's tag, which differs if the view shows other values of the records that it refers to."""
    digest = hashlib.sha256(repr([str(value) for value in values]).encode()).hexdigest()[:16]
    return digest.translate(_LETTERS)


def as_variant(tag: str, variant: str) -> str:
    """Return the tag of another media type for the same revision, for records without private fields."""
    match = _OF_RECORD.fullmatch(tag.strip('"'))
    return etag(int(match[1]), variant=variant) if match else tag


def matches(header: str, tag: str) -> bool:
    """Return whether an If-None-Match or If-Match header contains the tag, compared weakly, or any tag (`*`)."""
    plain_tag = tag.removeprefix("W/")
    return header.strip() == "*" or any(f'"{match[1]}"' == plain_tag for match in _TAG.finditer(header))


def is_current(request: HttpRequest, tag: str) -> bool:
    """Return whether the caller has the version with this tag already, by its If-None-Match header."""
    return matches(request.META.get("HTTP_IF_NONE_MATCH", ""), tag)


def precondition(if_match: str | None, if_none_match: str | None = None) -> Precondition | None:
    """Return the check that the two headers ask for, to be run on the locked record; it raises the 412.

    The tag of any view of the record matches, also in its weak form. Nothing matches a record that does not exist, so
    `If-Match` refuses to add it, and `If-None-Match: *` refuses everything but adding it.
    """
    if if_match is None and if_none_match is None:
        return None

    def check(record: Model) -> None:
        if if_match is not None and not _names(if_match, record):
            raise ApiError(412, "PreconditionFailed", "The record has changed since it was read. Read it again.")
        if if_none_match is not None and _names(if_none_match, record):
            raise ApiError(412, "PreconditionFailed", "The record matches If-None-Match.")

    return check


def _names(header: str, record: Any) -> bool:
    """Return whether a header of tags names the record as it is, in any of its views."""
    if record is None or header.strip() == "*":
        return record is not None
    tags = (_OF_RECORD.fullmatch(match[1]) for match in _TAG.finditer(header))
    return str(record.revision) in {tag[1] for tag in tags if tag}
