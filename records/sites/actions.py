"""Writes to the folders of records, each one transaction with its history.

A site's folders change one at a time: every action locks the site's row first, so that two simultaneous moves cannot
create a cycle and two active folders beside each other cannot have the same name.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext

from records.history.trail import Author, recording
from records.sites.models import Entity, EntityFolder, Site
from records.sites.reasons import required_reason
from records.sites.targets import ARCHIVED, UNKNOWN
from records.sites.text import fault_at, fold
from records.sites.writing import RecordNotFoundError, add_record, changing

DEEPEST = 20
"""The maximum depth of a tree of folders."""


def add_folder(
    site_id: uuid.UUID,
    entity: Entity,
    name: str,
    *,
    parent_id: uuid.UUID | None = None,
    idx: int = 0,
    author: Author,
) -> EntityFolder:
    """Add a folder for records of one entity, inside `parent` or at the top.

    Raises ValidationError. Locks the site's row.
    """
    folder = EntityFolder(site_id=site_id, entity=entity, name=name, idx=idx)

    def check(_: object) -> None:
        _lock(site_id)
        _place(folder, parent_id)

    return add_record(folder, author=author, operation="AddFolder", check=check)


def folder_named(site_id: uuid.UUID, entity: Entity, name: str, *, author: Author) -> EntityFolder:
    """Return the topmost active folder with that name (in any case); if there is none, add it at the top.

    Locks the site's row only if it adds one. Raises ValidationError.
    """
    with recording():
        folder = _folder_named(site_id, entity, name)
        if folder is None:
            _lock(site_id)
            folder = _folder_named(site_id, entity, name)
        return folder or add_folder(site_id, entity, name, author=author)


def _folder_named(site_id: uuid.UUID, entity: Entity, name: str) -> EntityFolder | None:
    matches = [(depth, folder) for folder, depth in folder_tree(site_id, entity) if fold(folder.name) == fold(name)]
    return min(matches, key=lambda match: match[0])[1] if matches else None


def rename_folder(
    site_id: uuid.UUID, folder_id: uuid.UUID, name: str, *, author: Author, reason: str = ""
) -> EntityFolder:
    """Give a folder another name. Locks the site's row; raises RecordNotFoundError or ValidationError."""
    with _changing(site_id, folder_id, author=author, operation="RenameFolder", reason=reason) as folder:
        folder.name = name
    return folder


def move_folder(
    site_id: uuid.UUID,
    folder_id: uuid.UUID,
    parent_id: uuid.UUID | None,
    *,
    idx: int | None = None,
    author: Author,
    reason: str = "",
) -> EntityFolder:
    """Move a folder, with everything in it, into another one of its site and entity, or to the top.

    `idx` is its new position there. Locks the site's row; raises RecordNotFoundError, or ValidationError if the folder
    would end up inside itself.
    """
    with _changing(site_id, folder_id, author=author, operation="MoveFolder", reason=reason) as folder:
        if idx is not None:
            folder.idx = idx
        if parent_id != folder.parent_id:
            _place(folder, parent_id)
    return folder


def archive_folder(site_id: uuid.UUID, folder_id: uuid.UUID, *, author: Author, reason: str) -> EntityFolder:
    """Archive an empty folder; repeating it changes nothing. Locks the site's row and the folder's.

    Raises RecordNotFoundError, or ValidationError, code InUse, which lists what is still in it.
    """
    with _changing(site_id, folder_id, author=author, operation="ArchiveFolder", reason=reason) as folder:
        required_reason(reason)
        if not folder.is_archived and (contained := contents(folder)):
            raise ValidationError(
                gettext("“%(name)s” still contains %(held)s. Move them first.")
                % {"name": folder.name, "held": contents_text(contained)},
                code="InUse",
            )
        folder.is_archived = True
    return folder


def restore_folder(site_id: uuid.UUID, folder_id: uuid.UUID, *, author: Author, reason: str) -> EntityFolder:
    """Restore an archived folder to its previous place; repeating it changes nothing.

    Locks the site's row; raises RecordNotFoundError, or ValidationError if its parent folder is archived too or its
    name is now taken.
    """
    with _changing(site_id, folder_id, author=author, operation="RestoreFolder", reason=reason) as folder:
        required_reason(reason)
        if folder.is_archived and folder.parent is not None and folder.parent.is_archived:
            text = gettext("Restore the folder “%(name)s” around it first.") % {"name": folder.parent.name}
            raise ValidationError(text, code="InvalidReference")
        folder.is_archived = False
    return folder


def contents(folder: EntityFolder) -> list[tuple[int, str]]:
    """Return how many of each kind the folder contains: records of any room (also archived ones) and active folders.

    One query for each kind of record that is kept in folders.
    """
    counts = []
    for model in filed_models():
        count = model._default_manager.filter(entity_folder_id=folder.pk).count()
        if count:
            counts.append((count, str(model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural)))
    inner = folder.children.filter(is_archived=False).count()
    if inner:
        counts.append((inner, "folder" if inner == 1 else "folders"))
    return counts


def contents_text(counts: list[tuple[int, str]]) -> str:
    """Return the contents in words, such as "3 employees and 1 folder"."""
    words = [f"{count} {name}" for count, name in counts]
    return gettext(" and ").join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def filed_models() -> list[type[models.Model]]:
    """Return the models whose rows are kept in folders."""
    return [
        model
        for model in apps.get_models()
        if any(field.name == "entity_folder" for field in model._meta.concrete_fields)
    ]


def _lock(site_id: uuid.UUID) -> None:
    # The weaker lock is enough: adding a record to a folder refers to the site and must not wait for folder changes.
    if Site.objects.select_for_update(no_key=True).filter(pk=site_id).first() is None:
        raise RecordNotFoundError


@contextmanager
def _changing(
    site_id: uuid.UUID, folder_id: uuid.UUID, *, author: Author, operation: str, reason: str
) -> Iterator[EntityFolder]:
    """Lock the site and one of its folders, let the block change the folder, then check, store and record it."""
    with recording():
        _lock(site_id)
        with changing(EntityFolder, site_id, folder_id, author=author, operation=operation, reason=reason) as folder:
            yield folder


def _place(folder: EntityFolder, parent_id: uuid.UUID | None) -> None:
    """Put the folder inside another one of its site and entity, or at the top; one query per level up and down."""
    fault = ""
    parent = None if parent_id is None else EntityFolder.objects.at(folder.site_id).filter(pk=parent_id).first()
    if parent_id is not None:
        if parent is None or parent.entity != folder.entity:
            fault = UNKNOWN.format(name="folder")
        elif parent.is_archived:
            fault = ARCHIVED.format(name="folder")
        else:
            above = _above(parent)
            if folder.pk in above:
                fault = gettext("A folder cannot be moved into itself or into a folder that is in it.")
            elif len(above) + _levels(folder) > DEEPEST:
                fault = gettext("Folders can be nested %(deepest)s levels deep at most.") % {"deepest": DEEPEST}
    if fault:
        raise fault_at("parent", fault, "InvalidReference")
    folder.parent = parent


def _above(folder: EntityFolder) -> list[uuid.UUID]:
    """Return the folder's own id and those of its ancestors, innermost first."""
    ids: list[uuid.UUID] = []
    step: uuid.UUID | None = folder.pk
    while step is not None and step not in ids:
        ids.append(step)
        step = EntityFolder.objects.filter(pk=step).values_list("parent_id", flat=True).first()
    return ids


def _levels(folder: EntityFolder) -> int:
    """Return the number of levels of the folder and what is in it."""
    levels, step = 0, {folder.pk}
    while step and levels <= DEEPEST:
        levels += 1
        step = set(EntityFolder.objects.filter(parent_id__in=step).values_list("pk", flat=True))
    return levels


def folder_tree(site_id: uuid.UUID, entity: Entity) -> list[tuple[EntityFolder, int]]:
    """Return the active folders of a tree in reading order, each with its depth from 0; one query."""
    inside: dict[uuid.UUID | None, list[EntityFolder]] = defaultdict(list)
    for folder in EntityFolder.objects.at(site_id).filter(entity=entity, is_archived=False):
        inside[folder.parent_id].append(folder)
    tree: list[tuple[EntityFolder, int]] = []
    pending_folders = [(folder, 0) for folder in reversed(inside[None])]
    while pending_folders:
        folder, depth = pending_folders.pop()
        tree.append((folder, depth))
        pending_folders += [(inner, depth + 1) for inner in reversed(inside[folder.pk])]
    return tree
