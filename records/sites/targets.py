"""What a record of a site may refer to: one rule for every interface (DECISIONS 2.6, 4).

A model that is referred to says where its site is (`SITE_PATH`); a model that refers says which targets it also accepts
from other sites (`TAKES_FROM_OTHER_SITES`). Accounts are valid at the sites where they hold a role; records.accounts
registers that rule.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, models
from django.utils.translation import gettext_lazy as _

from records.history.statements import (
    ANY_ROW,
    ANY_SITE,
    CompiledQuery,
    Reading,
    Statement,
    ask,
    compile_query,
    compile_rows,
    rows_with,
)
from records.sites.models import EntityFolder

_VALID_AT = "_larder_valid_at"
"""The attribute by which a loaded row notes where it is valid: the site, and the model that refers to it."""
UNKNOWN = _("No such {name} at this site.")
ARCHIVED = _("This {name} is archived and cannot be chosen any more.")

Model = type[models.Model]
AccountsAt = Callable[[uuid.UUID], models.QuerySet[models.Model]]
_accounts: list[tuple[Model, AccountsAt]] = []


def accounts_are(model: Model, valid_at_site: AccountsAt) -> None:
    """Register the model of the accounts and which of them are valid at a site (called by records.accounts)."""
    _accounts[:] = [(model, valid_at_site)]


def existing_at(target: Model, site_id: uuid.UUID, holder: Model | None = None) -> models.QuerySet[Any]:
    """Return the rows that exist for a record of the site, including archived ones.

    `holder` is the model that refers to them: it can use folders of its own kind, and it may accept people of other
    sites. A row that belongs to no site and is not shared by all of them, such as a directory, exists for no record.
    """
    account, accounts_at = _accounts[0]
    if target is account:
        return accounts_at(site_id)
    rows = target._default_manager.all()
    path = _site_path(target)
    if path is None:
        return rows.none()
    if not path:
        return rows
    at_site = models.Q(**{f"{path}_id" if "__" not in path else path: site_id})
    if _takes_people(target, holder):
        at_site |= models.Q(user__in=accounts_at(site_id).order_by().values("pk"))
    rows = rows.filter(at_site)
    entity = getattr(holder, "ENTITY", None)
    return rows.filter(entity=entity) if target is EntityFolder and entity is not None else rows


def valid_at(target: Model, site_id: uuid.UUID, holder: Model | None = None) -> models.QuerySet[Any]:
    """Return the rows that a record of the site may newly refer to: the existing ones that are not archived."""
    rows = existing_at(target, site_id, holder)
    archivable = any(field.name == "is_archived" for field in target._meta.concrete_fields)
    return rows.filter(is_archived=False) if archivable else rows


def unknown_among(
    target: Model, rows: Iterable[models.Model], site_id: uuid.UUID, holder: Model | None = None
) -> set[Any]:
    """Return the keys of those loaded rows that do not exist for a record of the site.

    Runs no query if the rows' own site decides, or for rows that `mark_valid` has noted; otherwise one query for all of
    them (accounts, people, other paths).
    """
    marks = ((site_id, holder), (site_id, None))
    by_key = {row.pk: row for row in rows if vars(row).get(_VALID_AT) not in marks}
    if not by_key:
        return set()
    if target is not _accounts[0][0] and _site_path(target) in ("", "site"):
        by_key = {key: row for key, row in by_key.items() if not _is_own(row, site_id, holder)}
        if not _takes_people(target, holder):
            return set(by_key)
    if not by_key:
        return set()
    return by_key.keys() - set(existing_at(target, site_id, holder).filter(pk__in=by_key).values_list("pk", flat=True))


def validity_of(target: Model, keys: Collection[uuid.UUID], site_id: uuid.UUID) -> Statement | None:
    """Return the statement that finds which of these accounts are valid at the site; None for any other target.

    It can run in the round trip that loads the accounts; `mark_valid` notes those that it finds.
    """
    account, accounts_at = _accounts[0]
    if target is not account or not keys:
        return None
    if len(keys) == 1:
        (key,) = keys
        return _one_account().with_values({ANY_SITE: site_id, ANY_ROW: key})
    query = compile_rows(accounts_at(site_id).filter(pk__in=keys).order_by().only("pk"))
    return query.sql, query.parameters


def mark_valid(
    rows: Iterable[models.Model], keys: Collection[uuid.UUID], site_id: uuid.UUID, holder: Model | None = None
) -> None:
    """Note at the loaded rows with these keys that they exist for a record of the site, for any holder or for one."""
    for row in rows:
        if row.pk in keys:
            vars(row).setdefault(_VALID_AT, (site_id, holder))


def mark_valid_together(records: Sequence[models.Model], site_id: uuid.UUID) -> None:
    """Note which of the loaded rows that the records of one model refer to exist for a record of the site.

    At most one query for each foreign key, however many records there are.
    """
    holder = type(records[0])
    for field in holder._meta.concrete_fields:
        if isinstance(field, models.ForeignKey):
            rows = [getattr(record, field.name) for record in records if field.is_cached(record)]
            targets = [row for row in rows if row is not None]
            unknown = unknown_among(field.related_model, targets, site_id, holder)
            mark_valid(targets, {row.pk for row in targets} - unknown, site_id, holder)


@cache
def _one_account() -> Reading:
    return compile_rows(_accounts[0][1](ANY_SITE).filter(pk=ANY_ROW).order_by().only("pk"))


def errors_of(
    target: Model, rows: Collection[models.Model], site_id: uuid.UUID, holder: Model | None = None
) -> dict[object, str]:
    """Return why a record of the site may not newly refer to the rows: a message for each invalid row, by key.

    A row of another site gets the message of one that does not exist. At most one query, and none if the rows' own site
    decides.
    """
    unknown = unknown_among(target, rows, site_id, holder)
    archived = {row.pk for row in rows if getattr(row, "is_archived", False)}
    if not unknown and not archived:
        return {}
    name = str(target._meta.verbose_name)
    return {
        row.pk: (UNKNOWN if row.pk in unknown else ARCHIVED).format(name=name)
        for row in rows
        if row.pk in unknown or row.pk in archived
    }


def check_references(
    record: models.Model,
    site_id: uuid.UUID,
    changed: Iterable[str],
    *,
    skip: Iterable[str] = (),
    folders: Mapping[uuid.UUID, EntityFolder] | None = None,
) -> None:
    """Raise ValidationError for each changed foreign key with a target that is not allowed, or without a needed one.

    Uses the related objects that the caller has already loaded; loads the others, one query each. Folders are read
    again under a lock (`lock_folders`), unless `folders` has those that were.
    """
    errors: dict[str, object] = {}
    left_out = {"site", *skip}
    for name in changed:
        field = record._meta.get_field(name)
        if name in left_out or not isinstance(field, models.ForeignKey) or not field.editable:
            continue
        if getattr(record, field.attname) is None:
            if not field.null:
                errors[name] = ValidationError(field.error_messages["null"], code="null")
        elif error := _error_of(record, field, site_id, folders):
            errors[name] = ValidationError(error, code="InvalidReference")
    if errors:
        raise ValidationError(errors)


def check_lists(
    record: models.Model,
    site_id: uuid.UUID,
    lists: Mapping[str, Sequence[models.Model]],
    stored: Mapping[str, Collection[uuid.UUID]],
) -> None:
    """Raise ValidationError for each newly listed target that is not allowed; what a record already lists may stay.

    `stored` has the keys of what it lists. The errors have relation, idx and name, as those of child rows do. Entries
    that were not resolved are skipped. At most one query for each kind of target.
    """
    new: dict[Any, list[tuple[str, int, models.Model]]] = defaultdict(list)
    for field in record._meta.many_to_many:
        stored_keys = stored.get(field.name, ())
        for idx, target in enumerate(lists.get(field.name, ())):
            if target is not None and target.pk not in stored_keys:
                new[field.related_model].append((field.name, idx, target))
    faults: list[ValidationError] = []
    for kind, places in new.items():
        errors = errors_of(kind, [target for *_, target in places], site_id, type(record))
        faults += [
            ValidationError(
                errors[target.pk], code="InvalidReference", params={"relation": name, "idx": idx, "name": "id"}
            )
            for name, idx, target in places
            if target.pk in errors
        ]
    if faults:
        raise ValidationError(faults)


def _error_of(
    record: models.Model, field: Any, site_id: uuid.UUID, folders: Mapping[uuid.UUID, EntityFolder] | None
) -> str:
    key, target = getattr(record, field.attname), field.related_model
    row: models.Model | None
    if target is EntityFolder:
        row = (lock_folders([key]) if folders is None else folders).get(key)
    else:
        row = getattr(record, field.name) if field.is_cached(record) else target._base_manager.filter(pk=key).first()
    if row is None:
        return UNKNOWN.format(name=target._meta.verbose_name)
    return errors_of(target, [row], site_id, type(record)).get(row.pk, "")


def lock_folders(folder_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, EntityFolder]:
    """Return the present folders and keep them from being archived before the transaction ends; one query.

    The lock is shared, so writers who use the same folder do not wait for each other. SQLite has only one writer
    anyway.
    """
    keys = set(folder_ids)
    results, _ = ask([folder_lock_query(keys)] if keys else [])
    return {folder.pk: folder for folders in results for folder in folders}


def folder_lock_query(folder_ids: Iterable[uuid.UUID]) -> CompiledQuery:
    """Return the query of `lock_folders`, to be run together with others."""
    keys = set(folder_ids)
    if len(keys) == 1:
        query, (sql, parameters) = rows_with(EntityFolder, keys)
    else:
        query, (sql, parameters) = compile_query(EntityFolder.objects.filter(pk__in=keys).order_by("pk"))
    # The foreign key itself is checked only at the end of the transaction, too late to notice an archived folder.
    lock = " FOR KEY SHARE" if connection.vendor == "postgresql" else ""
    return CompiledQuery(query, (sql + lock, parameters))


@cache
def _site_path(target: Model) -> str | None:
    """Return the lookup of the target's site: "" if all sites share the model, None if it has no site."""
    path: str | None = getattr(target, "SITE_PATH", None)
    if path is not None:
        return path
    return "site" if any(field.name == "site" for field in target._meta.concrete_fields) else None


def _is_own(row: models.Model, site_id: uuid.UUID, holder: Model | None) -> bool:
    """Return whether the row is shared or belongs to the site, and, for a folder, to the holder's kind of record."""
    if getattr(row, "site_id", None) not in (None, site_id):
        return False
    return not isinstance(row, EntityFolder) or getattr(holder, "ENTITY", row.entity) == row.entity


def _takes_people(target: Model, holder: Model | None) -> bool:
    """Return whether the holder also accepts people of other sites whose account has a role here (DECISIONS 2.6)."""
    return target._meta.label in getattr(holder, "TAKES_FROM_OTHER_SITES", ())
