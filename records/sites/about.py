"""Rows about another record of any kind: which record an Id means, and whether a row may be about it.

The record is identified by its kind and Id, not by a foreign key. One table serves every kind, no room needs to know
the others, and a kind's name (`Entity`) is the same in every installation and stays when a model moves, unlike content
types and model labels.
"""

import uuid
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, ClassVar

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext

from records.history.statements import ANY_ROW, ANY_SITE, CompiledQuery, Reading, Statement, ask, compile_rows, together
from records.sites.models import Entity, SiteRecord
from records.sites.targets import UNKNOWN
from records.sites.text import fault_at, read_uuid

POINTERS = ("record_id", "finding_id")
"""The columns by which a row refers to the record that it is about."""
NOT_ABOUT = (Entity.ATTACHMENT,)
"""Kinds that no row can be about."""


@cache
def kinds() -> Mapping[Entity, type[SiteRecord]]:
    """Return the model of each kind of record."""
    models_of_records = (model for model in apps.get_models() if issubclass(model, SiteRecord))
    return {model.ENTITY: model for model in models_of_records}


_FINDING = uuid.uuid4()
"""The placeholder in the query for a finding of a record."""


def pointer_to(record: SiteRecord) -> str:
    """Return the kind and the Id of a record in one text, as addresses and forms carry them."""
    return f"{record.ENTITY.value}:{record.pk}"


def record_at(site_id: uuid.UUID, pointer: str, entities: Collection[Entity]) -> SiteRecord | None:
    """Return the site's record of one of these kinds to which a text of `pointer_to` points; one round trip.

    None for any other text, and for a draft, which has no number.
    """
    kind, _, text = pointer.partition(":")
    key = read_uuid(text)
    match = _record_and_finding(site_id, key, None, (Entity(kind),)) if key is not None and kind in entities else None
    return match[0] if match is not None else None


def _record_and_finding(
    site_id: uuid.UUID, record_id: uuid.UUID, finding_id: uuid.UUID | None, entities: Collection[Entity]
) -> tuple[SiteRecord | None, bool]:
    """Return the record, and whether it has the finding; one round trip with one statement for each kind.

    An Id alone does not say which is meant if records of two kinds have it, so neither is returned. Nor are drafts,
    which have no number; only the back-office shows them.
    """
    candidates = [
        model for kind, model in kinds().items() if kind not in NOT_ABOUT and (not entities or kind in entities)
    ]
    values: dict[uuid.UUID | str, uuid.UUID | str] = {ANY_SITE: site_id, ANY_ROW: record_id}
    queries = [CompiledQuery(query, query.with_values(values)) for query in map(_numbered, candidates)]
    about_finding = [
        statement for model in candidates for statement in finding_statements(model, record_id, finding_id)
    ]
    answers, findings = ask(queries, *about_finding)
    matches = [record for records in answers for record in records]
    return matches[0] if len(matches) == 1 else None, any(findings)


@cache
def _numbered(model: type[SiteRecord]) -> Reading:
    rows = model._base_manager.filter(pk=ANY_ROW, site_id=ANY_SITE, site_sequence_id__isnull=False)
    return compile_rows(rows.order_by())


def about(record: SiteRecord) -> models.Q:
    """Return the condition for the rows about a record."""
    return models.Q(entity=record.ENTITY, record_id=record.pk)


def in_history_of(record: SiteRecord) -> models.Q:
    """Return the condition for the changes of the record and of all rows about it; two queries."""
    condition = models.Q(model=record._meta.label, record_id=record.pk)
    for model in about_models():
        rows = model._base_manager.filter(about(record)).values_list("pk", flat=True)
        condition |= models.Q(model=model._meta.label, record_id__in=list(rows))
    return condition


def names_of(
    site_id: uuid.UUID,
    keys: Collection[uuid.UUID],
    visible: Callable[[models.QuerySet[SiteRecord]], models.QuerySet[SiteRecord]],
) -> dict[tuple[str, uuid.UUID], str]:
    """Return the names of the site's records with these Ids, by kind and Id; one query for each kind.

    `visible` removes the records of a kind that do not exist for the user.
    """
    names: dict[tuple[str, uuid.UUID], str] = {}
    for entity, model in kinds().items() if keys else ():
        pointers = [field.name for field in model._meta.concrete_fields if field.many_to_one]
        rows = visible(model._base_manager.filter(site_id=site_id, pk__in=keys))
        kind = capfirst(str(model._meta.verbose_name))
        for record in rows.select_related(*pointers):
            name = str(record)
            names[entity, record.pk] = (
                name if name.startswith(kind) else f"{kind} {record.site_sequence_id or ''}: {name}"
            )
    return names


def findings_called(
    site_id: uuid.UUID,
    keys: Collection[uuid.UUID],
    visible: Callable[[models.QuerySet[SiteRecord]], models.QuerySet[SiteRecord]],
    *,
    removed_name: str = "",
) -> dict[uuid.UUID, str]:
    """Return the questions of the findings with these Ids; at most two queries for each kind that has findings.

    `visible` removes the records of a kind that do not exist for the user. `removed_name` is the name of a finding
    that its record no longer has, for somebody who sees records of the kind; without it, such findings are left out.
    """
    names: dict[uuid.UUID, str] = {}
    for model in kinds().values() if keys else ():
        relation: Any = next((field for field in model._meta.related_objects if field.name == "findings"), None)
        if relation is not None:
            records = visible(model._base_manager.filter(site_id=site_id)).values("pk")
            rows = relation.related_model._base_manager.filter(pk__in=keys)
            names |= {row.pk: str(row) for row in rows.filter(**{f"{relation.field.name}__in": records})}
            missing_keys = {*keys} - names.keys()
            if removed_name and missing_keys and not records.query.is_empty():
                names |= dict.fromkeys(missing_keys - {*rows.values_list("pk", flat=True)}, removed_name)
    return names


def about_models() -> list[type["AboutRecord"]]:
    """Return the models whose rows are about other records."""
    return [model for model in kinds().values() if issubclass(model, AboutRecord)]


class AboutRecord(models.Model):
    """A row about one record of its site, or about one finding of an audit; `entity` is empty if there is no record."""

    ABOUT: ClassVar[tuple[Entity, ...]] = ()
    """The kinds of record that it can be about; if empty, any kind."""

    entity = models.CharField("kind of record", max_length=20, choices=Entity.choices, blank=True, editable=False)
    record_id = models.UUIDField("record", null=True, blank=True, editable=False)
    finding_id = models.UUIDField("finding", null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    def point_at(
        self: Any,
        target: SiteRecord | uuid.UUID | None,
        finding_id: uuid.UUID | None,
        *,
        sees: Callable[[SiteRecord], bool] = lambda record: True,
    ) -> Any:
        """Set or clear the record that the row is about; return the record. The caller saves the row.

        The target is a record of the site, or the Id of one whose kind is not known. Raises ValidationError:
        InvalidReference for an Id that no record or more than one has, for a record that `sees` refuses, or for another
        record's finding; InvalidTransition for an archived record.
        """
        record, has_finding = None, False
        if isinstance(target, SiteRecord):
            record = target
            has_finding = any(together(finding_statements(type(record), record.pk, finding_id)))
        elif target is not None:
            record, has_finding = _record_and_finding(self.site_id, target, finding_id, self.ABOUT)
        if target is not None and (record is None or not sees(record)):
            raise unknown("record_id", "record")
        self.set_about(record, finding_id, has_finding=has_finding)
        return record

    def point_as(
        self: Any,
        values: dict[str, object],
        sees: Callable[[SiteRecord], bool] = lambda record: True,
        *,
        on: SiteRecord | None = None,
    ) -> None:
        """Take `record_id` and `finding_id` out of the values and point at them if they differ; raises as `point_at`.

        An absent name keeps its value. `on` is the record itself, if the caller knows it.
        """
        stored = [self.record_id, self.finding_id]
        record_id, finding_id = (values.pop(name, old) for name, old in zip(POINTERS, stored, strict=True))
        if on is not None or [record_id, finding_id] != stored:
            self.point_at(on or record_id, finding_id, sees=sees)

    def set_about(self, record: SiteRecord | None, finding_id: uuid.UUID | None, *, has_finding: bool) -> None:
        """Set or clear the record; raises as `point_at` does, for a record and a finding that were read already."""
        if finding_id is not None and not has_finding:
            raise unknown("finding_id", gettext("finding of this record"))
        if record is not None and record.is_archived:
            text = gettext("This %(kind)s is archived; restore it first.") % {"kind": record._meta.verbose_name}
            raise fault_at("record_id", text, "InvalidTransition")
        self._about = record
        self.entity = "" if record is None else record.ENTITY
        self.record_id, self.finding_id = None if record is None else record.pk, finding_id

    @classmethod
    def contradicting(cls) -> dict[str, models.QuerySet[Any]]:
        """Return the rows whose `entity` is not the kind of the record that they are about."""
        consistent = models.Q(entity="", record_id=None)
        for entity, model in kinds().items():
            record = model._base_manager.filter(pk=models.OuterRef("record_id"), site=models.OuterRef("site"))
            consistent |= models.Q(models.Exists(record), entity=entity)
        return {"entity": cls._base_manager.exclude(consistent)}

    def is_about(self, record: SiteRecord) -> bool:
        """Return whether the row is about this record."""
        return (self.entity, self.record_id) == (record.ENTITY, record.pk)

    def about(self) -> SiteRecord | None:
        """Return the record that the row is about, or None; one query unless it was loaded already."""
        if self.__dict__.get("_about") is None and self.record_id is not None:
            self._about = kinds()[Entity(self.entity)]._base_manager.get(pk=self.record_id)
        record: SiteRecord | None = self.__dict__.get("_about")
        return record


def finding_statements(model: type[SiteRecord], record_id: uuid.UUID, finding_id: uuid.UUID | None) -> list[Statement]:
    """Return the statement that finds a finding of a record, if the kind of record has findings and one is named."""
    query = None if finding_id is None else _finding(model)
    return (
        [] if query is None or finding_id is None else [query.with_values({ANY_ROW: record_id, _FINDING: finding_id})]
    )


@cache
def _finding(model: type[SiteRecord]) -> Reading | None:
    relation: Any = next((field for field in model._meta.related_objects if field.name == "findings"), None)
    if relation is None:
        return None
    rows = relation.related_model._base_manager.filter(**{relation.field.name: ANY_ROW}, pk=_FINDING)
    return compile_rows(rows.order_by())


def unknown(field: str, name: str) -> ValidationError:
    """Return the error InvalidReference of a row whose record or finding, as `name` says, does not exist."""
    return fault_at(field, UNKNOWN.format(name=name), "InvalidReference")
