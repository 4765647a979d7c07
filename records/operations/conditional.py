"""ETag, If-Match and If-None-Match (DECISIONS 1.13)."""

import re
from typing import Any

from records.operations.errors import Refusal
from records.sites.writing import Precondition

_TAG = re.compile(r'(W/)?"([^"]*)"')
RESTRICTED = "-r"


def etag(revision: int, *, with_private: bool = True) -> str:
    """Return the tag of a record at a revision; the restricted view of private fields has a tag of its own."""
    return f'"{revision}{"" if with_private else RESTRICTED}"'


def matches(header: str, tag: str) -> bool:
    """Return whether an If-None-Match header names the tag (weak comparison)."""
    wanted = tag.removeprefix("W/")
    return header.strip() == "*" or any(f'"{found[2]}"' == wanted for found in _TAG.finditer(header))


def precondition(header: str | None) -> Precondition | None:
    """Return the check that an If-Match header asks for, to be made on the locked record; raises the 412 when stale."""
    if header is None:
        return None
    revisions = {found[2].removesuffix(RESTRICTED) for found in _TAG.finditer(header) if not found[1]}
    anything = header.strip() == "*"

    def check(record: Any) -> None:
        if not anything and str(record.revision) not in revisions:
            raise Refusal(412, "PreconditionFailed", "The record has changed since it was read. Read it again.")

    return check
