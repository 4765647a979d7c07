"""Whether a record may point where it points: existence, site, archive state (DECISIONS 2.6, 4)."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, models

from records.sites.models import EntityFolder

UNKNOWN = "No such {name} at this site."
ARCHIVED = "This {name} is archived and cannot be chosen any more."


def reference_fault(target: models.Model | None, model: type[models.Model], site_id: uuid.UUID) -> str:
    """Return why the site's record may not newly point at target, or an empty text; runs no query.

    A target of another site is worded as one that does not exist.
    """
    name = str(model._meta.verbose_name)
    if target is None or getattr(target, "site_id", None) not in (None, site_id):
        return UNKNOWN.format(name=name)
    if getattr(target, "is_archived", False):
        return ARCHIVED.format(name=name)
    return ""


def check_references(
    record: models.Model, site_id: uuid.UUID, changed: Iterable[str], *, skip: Iterable[str] = ()
) -> None:
    """Raise ValidationError naming each changed foreign key that may not point where it points.

    Uses the related objects that the caller has already loaded; loads the others, one query each. Folders must be of
    the record's own entity, and are read anew under a lock (`hold_folder`).
    """
    faults: dict[str, Any] = {}
    left_out = {"site", *skip}
    for name in changed:
        field = record._meta.get_field(name)
        if name in left_out or not isinstance(field, models.ForeignKey):
            continue
        if getattr(record, field.attname) is None:
            continue
        target: models.Model | None
        if name == "entity_folder":
            target = hold_folder(getattr(record, field.attname))
        else:
            target = getattr(record, name) if field.is_cached(record) else _load(field, getattr(record, field.attname))
        fault = reference_fault(target, field.related_model, site_id)
        if not fault and name == "entity_folder" and target is not None:
            entity = getattr(record, "ENTITY", None)
            if getattr(target, "entity", None) != entity:
                fault = UNKNOWN.format(name="folder")
        if fault:
            faults[name] = ValidationError(fault, code="InvalidReference")
    if faults:
        raise ValidationError(faults)


def hold_folder(folder_id: uuid.UUID) -> EntityFolder | None:
    """Return the folder as it is now and keep it from being archived until the transaction ends; one query."""
    return hold_folders([folder_id]).get(folder_id)


def hold_folders(folder_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, EntityFolder]:
    """Return the folders as they are now and keep them from being archived until the transaction ends; one query.

    The lock is shared, so writers who file into one folder do not wait for each other. SQLite has one writer anyway.
    """
    keys = list(set(folder_ids))
    if not keys:
        return {}
    if connection.vendor != "postgresql":
        return EntityFolder.objects.in_bulk(keys)
    table = connection.ops.quote_name(EntityFolder._meta.db_table)
    # The foreign key itself is checked at the end of the transaction only: too late to see the folder archived.
    sql = f"SELECT * FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"  # noqa: S608 (no outside text)
    return {folder.pk: folder for folder in EntityFolder.objects.raw(sql, [keys])}


def _load(field: Any, key: Any) -> models.Model | None:
    return field.related_model._base_manager.filter(pk=key).first()
