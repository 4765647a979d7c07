"""Items: the equipment and other things that the site keeps track of."""

from typing import ClassVar

from django.db import models

from records.reference.folding import FoldedField
from records.sites.models import Entity, SiteRecord, site_record_constraints
from records.sites.text import FreeTextField, LineField


def _by(name: str) -> models.Index:
    """Return the index by which items are found by a text in any case."""
    return models.Index(
        fields=("site", f"{name}_key"),
        opclasses=["uuid_ops", "varchar_pattern_ops"],
        name=f"item_by_{name}",
    )


class Item(SiteRecord):
    """A piece of equipment, an instrument or another thing with a name and a place."""

    ENTITY = Entity.ITEM
    SEARCHED: ClassVar[tuple[str, ...]] = ("name_key", "code_key", "serial_number_key", "location_key", "notes")
    HISTORY_EXCLUDE: ClassVar[tuple[str, ...]] = (
        *SiteRecord.HISTORY_EXCLUDE,
        "name_key",
        "code_key",
        "serial_number_key",
        "location_key",
    )

    name = LineField(blank=False)
    name_key = FoldedField("name")
    code = LineField()
    code_key = FoldedField("code")
    serial_number = LineField()
    serial_number_key = FoldedField("serial_number")
    location = LineField()
    location_key = FoldedField("location")
    notes = FreeTextField()

    class Meta:
        ordering = ("site_sequence_id", "id")
        constraints = site_record_constraints("item")
        indexes = (
            _by("name"),
            _by("code"),
            _by("serial_number"),
            _by("location"),
            models.Index(fields=("site", "name", "id"), name="item_in_order_of_name"),
            models.Index(fields=("site", "last_modified", "id"), name="item_by_last_modified"),
        )
        permissions = (("archive_item", "Can archive and restore items"),)
