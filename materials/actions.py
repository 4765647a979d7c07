"""Adds, changes and archives single materials; `materials.upserts` writes the materials that an ERP system sends."""

import uuid
from collections.abc import Callable
from typing import Unpack

from django.db import IntegrityError
from django.db.models import Q

from materials.models import Material
from materials.upserts import DesiredMaterial, duplicate, upsert
from records.history.trail import Author, recording
from records.sites.text import read_uuid
from records.sites.writing import Values, WriteArgs, apply, changing


def add_material(
    site_id: uuid.UUID, values: Values, *, author: Author, may: Callable[[str], bool], operation: str = "AddMaterial"
) -> Material:
    """Add a material. Raises PermissionDenied, or ValidationError (code Duplicate if its external id is in use)."""
    try:
        with recording():
            _refuse_duplicate(site_id, values.get("external_id", ""))
            return upsert(site_id, DesiredMaterial(values), author=author, may=may, operation=operation).material
    except IntegrityError as error:
        raise duplicate() from error


def update_material(
    site_id: uuid.UUID,
    material_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "UpdateMaterial",
    **options: Unpack[WriteArgs],
) -> Material:
    """Change a material; raises RecordNotFoundError, ValidationError (code Duplicate) or the precondition's error."""
    try:
        with changing(Material, site_id, material_id, operation=operation, **options) as material:
            apply(material, values)
            material.reason_for_change = options.get("reason", "")
            _refuse_duplicate(site_id, material.external_id, but=material_id)
    except IntegrityError as error:
        raise duplicate() from error
    return material


def _refuse_duplicate(site_id: uuid.UUID, external_id: str, but: uuid.UUID | None = None) -> None:
    """Raise ValidationError if another material of the site has this text as its external id or as its Id."""
    if not external_id:
        return
    condition = Q(external_id=external_id)
    if (as_key := read_uuid(external_id)) is not None:
        condition |= Q(pk=as_key)
    rows = Material.objects.at(site_id).filter(condition)
    if (rows if but is None else rows.exclude(pk=but)).exists():
        raise duplicate()


def archive_material(
    site_id: uuid.UUID,
    material_id: uuid.UUID,
    *,
    archived: bool,
    operation: str = "",
    **options: Unpack[WriteArgs],
) -> Material:
    """Archive or restore a material; repeating it changes nothing.

    `operation` replaces the usual name in the history. Raises RecordNotFoundError, or the error of `precondition`.
    """
    name = operation or ("ArchiveMaterial" if archived else "RestoreMaterial")
    with changing(Material, site_id, material_id, operation=name, **options) as material:
        if material.is_archived != archived:
            material.is_archived, material.reason_for_change = archived, options.get("reason", "")
    return material
