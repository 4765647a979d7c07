"""Resolving the ids in a body: one round trip, all faults at once (DECISIONS 2.6, 4).

Records of another site are excluded here already, not only by the action. Otherwise a body's other faults, a wrong Id
in the path or a stale If-Match would reveal whether an id exists at another site.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from django.db import models

from records.accounts.opening import AccessProof, check
from records.history.sets import id_of
from records.history.statements import ask, rows_with
from records.history.trail import LateStatements, run_at_begin
from records.operations.errors import FieldError
from records.operations.fields import Reference
from records.operations.serializers import WireSerializer, source_of
from records.sites.models import Site
from records.sites.targets import UNKNOWN, mark_valid, unknown_among, validity_of

M = TypeVar("M", bound=models.Model)
VisibleRows = Callable[[models.QuerySet[models.Model]], models.QuerySet[models.Model]]
RecordsByModel = dict[type[models.Model], dict[uuid.UUID, models.Model]]


def resolve_all(
    rows: Sequence[dict[str, Any]],
    serializer: type[WireSerializer],
    site_id: uuid.UUID | None = None,
    visible_rows: VisibleRows | None = None,
    proof: AccessProof | None = None,
    statements_for_next_block: LateStatements | None = None,
) -> list[list[FieldError]]:
    """Replace, in place, every Reference in the bodies by its record; returns a fault for each unknown id.

    Costs one round trip for all models, which also checks the proof; raises StaleAccessError. Within `beginning` it
    begins the write, with `statements_for_next_block` (see `run_at_begin`). The action decides whether a record may
    newly refer to the target, and, if no site is given, whether the target belongs to the site. `visible_rows`
    removes from a kind's rows those that do not exist for the caller.
    """
    ids_by_model: dict[type[models.Model], set[uuid.UUID]] = defaultdict(set)
    for reference in (reference for values in rows for reference in _references(values)):
        ids_by_model[reference.model].add(reference.id)
    queries = [rows_with(model, keys, _rows) for model, keys in ids_by_model.items()]
    validity_statements = {
        model: statement
        for model, keys in ids_by_model.items()
        if site_id is not None and (statement := validity_of(model, keys, site_id)) is not None
    }
    proof_statements = [proof.statement] if proof is not None else []
    run = partial(run_at_begin, statements_for_next_block=statements_for_next_block)
    records, answers = ask(queries, *validity_statements.values(), *proof_statements, run=run)
    if proof is not None:
        check(proof, answers[-1][0][0])
    records_by_model: RecordsByModel = {
        model: {row.pk: row for row in rows_of_model}
        for model, rows_of_model in zip(ids_by_model, records, strict=True)
    }
    if site_id is not None:
        for model, valid in zip(validity_statements, answers, strict=False):
            mark_valid(records_by_model[model].values(), {id_of(key) for (key,) in valid}, site_id)
        for model, rows_by_id in records_by_model.items():
            hidden_ids = _hidden_ids(model, rows_by_id, visible_rows) if visible_rows is not None else set()
            for key in outside(serializer, model, rows_by_id, site_id, hidden_ids):
                del rows_by_id[key]
    faults: list[list[FieldError]] = [[] for _ in rows]
    if ids_by_model:
        for values, row_faults in zip(rows, faults, strict=True):
            _put(values, records_by_model, serializer, "", row_faults)
    return faults


def _rows(model: type[M]) -> models.QuerySet[M]:
    rows = model._default_manager.all()
    return rows.filter(is_archived=False) if model is Site else rows


def _hidden_ids(
    model: type[models.Model], rows_by_id: Mapping[uuid.UUID, models.Model], visible_rows: VisibleRows
) -> set[uuid.UUID]:
    if not rows_by_id or not getattr(model, "SEEN_WHOLE_WITH", ""):
        return set()
    return rows_by_id.keys() - set(
        visible_rows(model._default_manager.filter(pk__in=rows_by_id)).values_list("pk", flat=True)
    )


def outside(
    serializer: type[WireSerializer],
    model: type[models.Model],
    rows_by_id: Mapping[uuid.UUID, models.Model],
    site_id: uuid.UUID,
    hidden_ids: Collection[uuid.UUID] = (),
) -> set[uuid.UUID]:
    """Return those loaded rows that the site's records may not refer to, except rows that one already refers to.

    An account whose access or roles ended can be such an exception: a record that names it can be sent back (DECISIONS
    1.17, 4), and the action refuses it on a record that did not name it. `hidden_ids` are keys of rows that do not
    exist for the caller, who therefore may not name them at all.
    """
    invalid_ids = unknown_among(model, rows_by_id.values(), site_id, serializer.Meta.model)
    mark_valid(rows_by_id.values(), rows_by_id.keys() - invalid_ids, site_id, serializer.Meta.model)
    return (invalid_ids - _pointed_at(serializer, model, invalid_ids, site_id)) | set(hidden_ids)


def _pointed_at(
    serializer: type[WireSerializer], model: type[models.Model], ids: set[uuid.UUID], site_id: uuid.UUID
) -> set[uuid.UUID]:
    """Return the rows that a record of the site already refers to: they may stay, even if their access has ended."""
    holder = serializer.Meta.model
    pointed_ids: set[uuid.UUID] = set()
    for name, field in serializer.wire_fields().items() if ids else ():
        if getattr(field, "model", None) is model and not field.read_only:
            source = source_of(name, field)
            pointing_records = holder._default_manager.filter(**{"site_id": site_id, f"{source}__in": ids})
            pointed_ids |= set(pointing_records.values_list(source, flat=True))
    return pointed_ids


def _references(value: object) -> list[Reference]:
    if isinstance(value, Reference):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [reference for part in parts if isinstance(part, Reference | dict | list) for reference in _references(part)]


def _put(
    values: dict[str, Any],
    records_by_model: RecordsByModel,
    serializer: type[WireSerializer],
    path: str,
    faults: list[FieldError],
) -> None:
    for name, value in values.items():
        if isinstance(value, Reference):
            values[name] = records_by_model[value.model].get(value.id)
            if values[name] is None:
                faults.append(_fault(value, path + serializer.wire_name(name)))
        elif isinstance(value, list) and value:
            place = path + serializer.wire_name(name)
            for index, entry in enumerate(value):
                if isinstance(entry, Reference):
                    value[index] = records_by_model[entry.model].get(entry.id)
                    if value[index] is None:
                        faults.append(_fault(entry, f"{place}[{index}].Id"))
                elif isinstance(entry, dict):
                    field = serializer.wire_fields().get(serializer.wire_name(name))
                    inner = getattr(field, "serializer_class", serializer)
                    _put(entry, records_by_model, inner, f"{place}[{index}].", faults)


def _fault(reference: Reference, field: str) -> FieldError:
    return FieldError(field, "InvalidReference", UNKNOWN.format(name=reference.model._meta.verbose_name))
