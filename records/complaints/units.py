"""Writes to the units that a site sold in each month."""

import uuid

from records.complaints.models import UnitsSold
from records.history.trail import Author
from records.sites.writing import Values, add_record, apply, changing


def add_units_sold(site_id: uuid.UUID, values: Values, *, author: Author, reason: str = "") -> UnitsSold:
    """Store the units of a month; raises ValidationError, code Duplicate where the month has units already."""
    return add_record(UnitsSold(site_id=site_id), values, author=author, operation="AddUnitsSold", reason=reason)


def update_units_sold(units: UnitsSold, values: Values, *, author: Author, reason: str) -> UnitsSold:
    """Change the month or the number of an entry, under its lock; raises ValidationError."""
    operation = "UpdateUnitsSold"
    with changing(UnitsSold, units.site_id, units.pk, author=author, operation=operation, reason=reason) as locked:
        apply(locked, values)
    return locked
