"""Which records refer to a record or a list entry: their number by kind, and the names of the first of them."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Q

from records.sites.about import about_models
from records.sites.models import ChildRow, SiteRecord

MOST_NAMED = 3
BY_THE_SYSTEM = {"created_by", "last_modified_by", "user"}


@dataclass(frozen=True, slots=True)
class Use:
    """How many records of one kind refer to the target, and the names of the first of them."""

    count: int
    kind: str
    first: tuple[str, ...]

    def __str__(self) -> str:
        ellipsis = ", …" if self.count > len(self.first) else ""
        return f"{self.count} {self.kind} ({', '.join(self.first)}{ellipsis})"


def uses_of(target: Any, visible: Callable[[type[models.Model]], "models.QuerySet[models.Model] | None"]) -> list[Use]:
    """Return which records refer to the target, directly or from a child row; archived ones count as well.

    Only records that exist for the user are counted and named: `visible` returns those of a kind, or None if there are
    none. For a target of a site, only records of that site count. Two queries for each kind of record that can refer
    to it.
    """
    uses = []
    for model, condition in _pointing(target).items():
        rows = visible(model)
        if rows is None:
            continue
        candidates = model._default_manager.filter(condition)
        if getattr(target, "site_id", None) is not None:
            candidates = candidates.filter(site_id=target.site_id)
        if isinstance(target, model):
            candidates = candidates.exclude(pk=target.pk)
        rows = rows.filter(pk__in=candidates.values("pk")).order_by("site_sequence_id", "pk")
        count = rows.count()
        if count:
            kind = model._meta.verbose_name if count == 1 else model._meta.verbose_name_plural
            uses.append(Use(count, str(kind), tuple(str(row) for row in rows[:MOST_NAMED])))
    return uses


def used_among(model: type[models.Model], keys: Collection[uuid.UUID]) -> dict[uuid.UUID, set[str]]:
    """Return the records that other records or rows refer to, each with the kinds that refer to it, in the plural.

    Archived ones and records among `keys` do not count. One query for each column that can refer to them.
    """
    kinds_by_key: dict[uuid.UUID, set[str]] = defaultdict(set)
    child_models = {model._meta.get_field(name).related_model for name in getattr(model, "HISTORY_CHILDREN", ())}
    columns = [(holder, name, Q()) for holder, name in _columns_to(model) if holder not in child_models]
    if issubclass(model, SiteRecord):
        columns += [(rows, "record_id", Q(entity=model.ENTITY)) for rows in about_models()]
    for holder, name, of_kind in columns:
        rows: Any = holder._base_manager.filter(of_kind, **{f"{name}__in": keys})
        if any(field.name == "is_archived" for field in holder._meta.concrete_fields):
            rows = rows.filter(is_archived=False)
        if holder is model:
            rows = rows.exclude(pk__in=keys)
        for key in rows.order_by().values_list(name, flat=True).distinct():
            if key in keys:
                kinds_by_key[key].add(str(holder._meta.verbose_name_plural))
    return kinds_by_key


def pointing_at(target: models.Model) -> Iterator[tuple[type[models.Model], Q, str]]:
    """Yield each kind of record that can refer to the target, the condition, and its column if only one can."""
    columns = defaultdict(set)
    for model, name in _columns_to(target):
        columns[model].add(name)
    for model, condition in _pointing(target).items():
        names = columns[model]
        has_one_column = len(names) == 1 and not model._meta.get_field(next(iter(names))).many_to_many
        yield model, condition, next(iter(names)) if has_one_column else ""


def _pointing(target: models.Model) -> dict[type[models.Model], Q]:
    """Return, by kind of record, the condition under which a record refers to the target."""
    conditions: dict[type[models.Model], Q] = defaultdict(Q)
    for model, name in _columns_to(target):
        if issubclass(model, SiteRecord):
            conditions[model] |= Q(**{name: target})
        elif issubclass(model, ChildRow):
            for owner in model._meta.concrete_fields:
                kind = owner.related_model
                if isinstance(kind, type) and issubclass(kind, SiteRecord) and owner.name != name:
                    back = owner.remote_field.get_accessor_name()  # type: ignore[union-attr]
                    if back in getattr(kind, "HISTORY_CHILDREN", ()):
                        conditions[kind] |= Q(**{f"{owner.related_query_name()}__{name}": target})  # type: ignore[attr-defined]
    return conditions


def _columns_to(target: models.Model | type[models.Model]) -> Iterator[tuple[type[models.Model], str]]:
    """Yield each foreign key or list, by model and name, that can refer to the target."""
    for relation in target._meta.get_fields(include_hidden=True):
        if not isinstance(relation, models.ForeignObjectRel) or relation.related_model._meta.auto_created:
            continue
        if relation.field.name not in BY_THE_SYSTEM:
            yield relation.related_model, relation.field.name
