"""The registry of reference lists: wire name to model, and whose entries a site sees."""

import uuid
from typing import Any

from django.db import models

from records.reference import models as entries
from records.reference.models import ReferenceEntry, SiteEntry, SystemEntry
from records.sites.text import fold


def _lists(base: Any) -> dict[str, type[ReferenceEntry]]:
    """Return the lists that derive from an abstract base, by name, in the order in which models.py declares them."""
    return {
        name: model
        for name, model in vars(entries).items()
        if isinstance(model, type)
        and issubclass(model, ReferenceEntry)
        and issubclass(model, base)
        and not model._meta.abstract
    }


SYSTEM_LISTS = _lists(SystemEntry)
"""The lists that all sites share, by the name that `GET /category/Get<List>List` gives them."""

SITE_LISTS = _lists(SiteEntry)
"""The lists that each site keeps for itself."""

LISTS = {**SYSTEM_LISTS, **SITE_LISTS}
"""Every list of DECISIONS 4."""


def entries_at(model: type[ReferenceEntry], site_id: uuid.UUID) -> models.QuerySet[Any, Any]:
    """Return the entries of a list that exist for a site, archived ones included."""
    rows: models.QuerySet[Any, Any] = model._default_manager.all()
    return rows.filter(site_id=site_id) if issubclass(model, SiteEntry) else rows


def starting_with(rows: models.QuerySet[Any, Any], text: str) -> models.QuerySet[Any, Any]:
    """Return the active entries whose name or code begins with the text, in any case, sorted by name.

    Indexes serve both comparisons, so the costs depend on what is shown and not on the length of the list.
    """
    rows, key = rows.filter(is_archived=False), fold(text)
    if not key:
        return rows
    begins = models.Q(name_key__startswith=key) | models.Q(code_key__startswith=key)
    return rows.filter(begins).order_by("name_key", "code_key", "id")
