"""Records of a site that some accounts must not see, and what happens to references to them.

A kind of record names the permission with which all its records are visible (`SEEN_WHOLE_WITH`), and returns those that
are hidden from an account without it (`hidden_from`). Through every interface, a hidden record does not exist for that
account: it is in no list, and where another record refers to it, the reference is empty. If the account saves the
record without a reference that it cannot see, the stored reference stays.

In this module, `may` asks what the account may do at the site of the records.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from django.db import models
from django.db.models import Exists, OuterRef, Q

from records.sites.about import POINTERS, AboutRecord, kinds
from records.sites.models import SiteRecord, permission_on

May = Callable[[str], bool]


def hides(model: type[models.Model], may: May) -> bool:
    """Return whether some records of a kind can be hidden from the account."""
    permission = getattr(model, "SEEN_WHOLE_WITH", "")
    return bool(permission) and not may(permission)


def sees_attachments(model: type[SiteRecord], may: May) -> bool:
    """Return whether the account sees the attachments of records of this kind, as far as it sees the records."""
    return may(permission_on(model)) and (not model.ATTACHMENTS_SEEN_WITH or may(model.ATTACHMENTS_SEEN_WITH))


def visible_to(user_id: uuid.UUID | None, may: May, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
    """Return those of one site's rows of one kind that exist for an account; all of them for the product itself."""
    if user_id is None or not hides(rows.model, may):
        return rows
    return rows.exclude(pk__in=rows.model.hidden_from(user_id).order_by().values("pk"))


def exists_for(record: SiteRecord, user_id: uuid.UUID, may: May) -> bool:
    """Return whether a record exists for an account that may see its kind; one query if some of the kind do not."""
    return not hides(type(record), may) or not type(record).hidden_from(user_id).filter(pk=record.pk).exists()


def is_hidden(model: Any, user_id: uuid.UUID, key: str) -> Exists:
    """Return the condition that the record of a kind whose key is in the column `key` is hidden from the account."""
    return Exists(model.hidden_from(user_id).order_by().filter(pk=OuterRef(key)))


def is_about_hidden(user_id: uuid.UUID, may: May) -> Q:
    """Return the condition that a row is about a record that is hidden from the account; empty if none can be."""
    condition = Q()
    for entity, model in kinds().items():
        if hides(model, may):
            condition |= Q(is_hidden(model, user_id, "record_id"), entity=entity)
    return condition


def references(model: type[models.Model], may: May) -> list[Any]:
    """Return the foreign keys and lists of a kind whose targets can be hidden from the account."""
    return [field for field in hideable_references(model) if hides(field.related_model, may)]


def _hideable_references(model: type[models.Model]) -> tuple[Any, ...]:
    fields = (*model._meta.concrete_fields, *model._meta.many_to_many)
    return tuple(field for field in fields if getattr(field.related_model, "SEEN_WHOLE_WITH", ""))


hideable_references: Callable[[type[models.Model]], tuple[Any, ...]] = cache(_hideable_references)
"""Returns the foreign keys and lists of a kind whose targets can be hidden from some account."""


def revealing_fields(model: type[models.Model], may: May) -> set[str]:
    """Return the names of the fields of a kind that would reveal hidden records, for its history."""
    names = {field.name for field in references(model, may)}
    if issubclass(model, AboutRecord) and any(hides(kind, may) for kind in kinds().values()):
        names |= {*POINTERS}
    return names


def without_hidden(user_id: uuid.UUID, may: May, records: Iterable[models.Model], *, lists: bool = True) -> None:
    """Empty the references of loaded records of one kind to what is hidden from the account.

    Only the objects in memory change. Never save them: that would remove the stored references.

    Two queries for each list and one for each foreign key whose targets can be hidden, however many records there are.
    """
    rows = list(records)
    for field in references(type(rows[0]), may) if rows else ():
        kind = field.related_model
        if field.many_to_many and not lists:
            continue
        if field.many_to_many:
            targets_of = _lists(field, rows, visible_to(user_id, may, kind._default_manager.all()))
            for record in rows:
                record.__dict__.setdefault("_prefetched_objects_cache", {})[field.name] = targets_of[record.pk]
            continue
        keys = {getattr(record, field.attname) for record in rows} - {None}
        hidden_keys = set(kind.hidden_from(user_id).filter(pk__in=keys).values_list("pk", flat=True)) if keys else set()
        for record in rows:
            if getattr(record, field.attname) in hidden_keys:
                setattr(record, field.name, None)


def _lists(field: Any, rows: list[models.Model], visible: models.QuerySet[Any]) -> dict[object, models.QuerySet[Any]]:
    """Return the targets of each record's list, as the manager of the list keeps them once they are read."""
    owner, target = field.m2m_field_name(), field.m2m_reverse_field_name()
    links = field.remote_field.through._default_manager.filter(**{f"{owner}__in": [record.pk for record in rows]})
    targets: dict[object, set[object]] = defaultdict(set)
    for record, key in links.values_list(f"{owner}_id", f"{target}_id"):
        targets[record].add(key)
    target_rows = list(visible.filter(pk__in=set().union(*targets.values())))
    rows_by_record = {}
    for record in rows:
        queryset: Any = visible.filter(pk__in=targets[record.pk])
        queryset._result_cache = [row for row in target_rows if row.pk in targets[record.pk]]
        queryset._prefetch_done = True
        rows_by_record[record.pk] = queryset
    return rows_by_record


def keep_hidden(record: models.Model, values: Mapping[str, Any], user_id: uuid.UUID | None, may: May) -> dict[str, Any]:
    """Return values for a stored record, completed by the references to hidden records that they would remove.

    A hidden target stays in its list, and an empty value leaves a hidden target as it is. Two queries for each list,
    one for each foreign key, and none if the account sees everything.
    """
    result = dict(values)
    if user_id is None:
        return result
    for field in references(type(record), may):
        if field.name not in result:
            continue
        hidden_rows = field.related_model.hidden_from(user_id)
        if field.many_to_many:
            links = field.remote_field.through._default_manager.filter(**{field.m2m_field_name(): record})
            keys = {target.pk for target in result[field.name]}
            targets = hidden_rows.filter(pk__in=links.values(f"{field.m2m_reverse_field_name()}_id"))
            result[field.name] = [
                *result[field.name],
                *(target for target in targets if target.pk not in keys),
            ]
        elif result[field.name] is None and hidden_rows.filter(pk=getattr(record, field.attname)).exists():
            del result[field.name]
    if isinstance(record, AboutRecord) and "record_id" in result and result["record_id"] is None:
        about = record.about()
        if about is not None and not exists_for(about, user_id, may):
            result = {name: value for name, value in result.items() if name not in POINTERS}
    return result
