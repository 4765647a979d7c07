"""Chains of changes: a plain check of one, without the queries of the verification, and access to all rows."""

import uuid
from collections.abc import Iterator
from typing import Any

from django.db import models

from records.history.digests import digest
from records.history.models import Change
from records.history.verification import verify
from records.sites.models import Site


def broken_links(chain: uuid.UUID) -> Iterator[Change]:
    """Yield each change of a chain with a wrong number, previous hash or own hash; reads in steps."""
    expected, previous = 1, ""
    for change in Change.objects.filter(chain=chain).order_by("number").iterator(chunk_size=1000):
        if change.number != expected or change.previous_hash != previous or change.hash != digest(change):
            yield change
        expected, previous = change.number + 1, change.hash


def texts() -> list[str]:
    """Verify the history and return the faults, in words."""
    return [fault.text for fault in verify().faults]


def rows(**conditions: Any) -> Any:
    """Return changes with everything that the product's own manager refuses."""
    return models.QuerySet(Change).filter(**conditions)


def last(site: Site) -> int:
    """Return the number of the last change in the site's chain."""
    number = rows(chain=site.pk).aggregate(models.Max("number"))["number__max"]
    assert isinstance(number, int)
    return number
