"""A plain function that checks a chain of changes one by one, without the queries of the product's own verification."""

import uuid
from collections.abc import Iterator

from records.history.digests import digest
from records.history.models import Change


def broken_links(chain: uuid.UUID) -> Iterator[Change]:
    """Yield each change of a chain with a wrong number, previous hash or own hash; reads in steps."""
    expected, previous = 1, ""
    for change in Change.objects.filter(chain=chain).order_by("number").iterator(chunk_size=1000):
        if change.number != expected or change.previous_hash != previous or change.hash != digest(change):
            yield change
        expected, previous = change.number + 1, change.hash
