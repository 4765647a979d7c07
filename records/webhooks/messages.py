"""The messages. Each contains one row of the feed, as `GetChangeList` answers it to a Reader of the site."""

import uuid
from collections.abc import Collection
from typing import Any

import orjson

from records.accounts import access, default_roles
from records.accounts.models import DefaultRole
from records.changes import feed
from records.history.trail import now
from records.operations.values import show_date_time
from records.sites.models import permission_on
from records.webhooks.models import Subscription

TEST = "webhook.test"


def _reader() -> access.Permissions:
    return frozenset(default_roles.permissions_of(DefaultRole.READER))


def entities() -> list[str]:
    """Return the kinds of record whose changes a Reader can see, by name."""
    permissions = _reader()
    return sorted(
        name for name, model in feed.entities().items() if access.contains_any(permissions, permission_on(model))
    )


def rows(site_id: uuid.UUID, *, after: int, up_to: int, limit: int, only: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the rows of the site's feed that a Reader sees, in order; one query."""
    return list(feed.rows(site_id, _reader(), after=after, up_to=up_to, limit=limit, only=only))


def row_of(subscription: Subscription, number: int) -> dict[str, Any] | None:
    """Return the row with this number; None if a Reader sees no such row."""
    matches = rows(subscription.site_id, after=number - 1, up_to=number, limit=1)
    return matches[0] if matches else None


def id_of(subscription: Subscription, number: int) -> str:
    """Return the id of a change's message. It stays the same, so that a receiver recognises a repeated message."""
    return f"msg_{subscription.pk.hex}_{number}"


def body_of(row: dict[str, object]) -> bytes:
    """Return the message of a row of the feed."""
    return orjson.dumps({"type": f"{row['Entity']}.{row['Operation']}", "timestamp": row["Date"], "data": row})


def test_body(subscription: Subscription) -> bytes:
    """Return a test message, which is not about any change."""
    return orjson.dumps({"type": TEST, "timestamp": show_date_time(now()), "data": {"Webhook": subscription.name}})
