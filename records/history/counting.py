"""Counts of a site's records, which are kept until something of the site changes.

Every write adds a change to the chain of its site in the same transaction. While the head of the chain is the same, a
query that reads nothing but records of the site has the same answer. The answer is therefore kept in the cache with the
hash of the head, and is counted again only when the head has moved.
"""

import hashlib
import uuid
from collections.abc import Callable
from typing import Any

from django.core.cache import cache
from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from records.history.models import ChainHead

Count = Callable[[QuerySet[Any]], list[Any]]
"""Returns the rows of a query that counts records: `list`, or what `counting` returns."""
KEPT = 24 * 60 * 60
"""How many seconds an answer is kept for a site that does not change. Each query keeps one answer only."""


def counting(site_id: uuid.UUID) -> Count:
    """Return the function that gives the rows of a query about the site, which are kept where possible; one query.

    The query must name the site, and its rows must depend on nothing that has its history elsewhere, such as accounts.
    A write that is stored after this call is either counted or not; the next call sees it.
    """
    head = ChainHead.objects.filter(chain=site_id).values_list("hash", flat=True).first()

    def count(rows: QuerySet[Any]) -> list[Any]:
        if not head:
            return list(rows)
        try:
            statement = repr(rows.query.sql_with_params())
        except EmptyResultSet:
            return []
        key = f"counted-{hashlib.sha256(statement.encode()).hexdigest()}"
        kept_head, found = cache.get(key) or ("", [])
        if kept_head != head:
            found = list(rows)
            cache.set(key, (head, found), KEPT)
        return found

    return count
