"""Writes to items, each one transaction with its history."""

import uuid
from typing import Unpack

from records.history.statements import new_row
from records.history.trail import Author
from records.items.models import Item
from records.sites.writing import Values, WriteArgs, add_record, apply, changing


def add_item(
    site_id: uuid.UUID, values: Values, *, author: Author, operation: str = "AddItem", reason: str = ""
) -> Item:
    """Add an item to the site. Raises ValidationError."""
    return add_record(new_row(Item, site_id=site_id), values, author=author, operation=operation, reason=reason)


def update_item(
    site_id: uuid.UUID,
    item_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "UpdateItem",
    **options: Unpack[WriteArgs],
) -> Item:
    """Change an item. Raises RecordNotFoundError, ValidationError, or what the precondition raises."""
    with changing(Item, site_id, item_id, operation=operation, **options) as item:
        apply(item, values)
    return item
