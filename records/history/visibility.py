"""Who may see a Change in the feed: the lowest default role, which is stored with the change (DECISIONS 13.13).

A model declares this role by `history_role()`, and by `HISTORY_PRIVATE` which of its fields only higher roles see. The
changes of other models (accounts, roles, keys) are not in the feed.
"""

from collections.abc import Iterable, Mapping

from django.db import models

from records.history.digests import FieldChange

NOBODY, READER, STANDARD, MANAGER, SITE_ADMINISTRATOR = "", "reader", "standard", "manager", "site_administrator"
ROLES = (READER, STANDARD, MANAGER, SITE_ADMINISTRATOR)
"""The default roles by their stored names, lowest first."""


def private_fields(model: type[models.Model]) -> Mapping[str, str]:
    """Return the model's fields that not every reader sees, each with the lowest default role that sees it."""
    return getattr(model, "HISTORY_PRIVATE", {})


def lowest_role(record: models.Model, changed: Iterable[FieldChange]) -> str:
    """Return the lowest default role that may see a change of these fields; empty if the feed never shows it.

    A change of only private fields is visible to everybody who sees one of them.
    """
    private = private_fields(type(record))
    lowest = min(ROLES.index(private.get(entry["field"].partition(".")[0], READER)) for entry in changed)
    role: str = record.history_role(changed) if hasattr(record, "history_role") else NOBODY
    return ROLES[max(lowest, ROLES.index(role))] if role else NOBODY
