"""Upserts of one or many materials, with their history, in a constant number of round trips."""

import uuid
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError
from django.db.models import Model, Q
from django.utils.translation import gettext

from materials.models import Material
from records.history.appending import MARK
from records.history.inserts import insertions
from records.history.sets import among, among_parameter
from records.history.snapshots import Snapshot, columns, differences
from records.history.statements import ANY_SITE, CompiledQuery, Reading, Rows, Statement, compile_rows
from records.history.trail import Author, Trail, now, recording
from records.reference.models import MaterialCategory
from records.sites.checking import check_record
from records.sites.models import EntityFolder
from records.sites.sequences import counting_archived, insert_numbered, take_numbers
from records.sites.targets import UNKNOWN, errors_of, folder_lock_query
from records.sites.text import fault_at, read_uuid
from records.sites.writing import Precondition, RecordNotFoundError, Values, stamp

MOST_MATERIALS = 500
"""The most materials in one call (DECISIONS 3)."""
TRIES = 5
T = TypeVar("T")
ADD, CHANGE, ARCHIVE = "materials.add_material", "materials.change_material", "materials.archive_material"
UPSERT_COLUMNS = (
    "external_id",
    "name",
    "our_code",
    "supplier_code",
    "description",
    "material_category",
    "entity_folder",
    "country_of_origin",
    "risk",
    "reason_for_change",
    "is_archived",
    "revision",
    "last_modified",
    "last_modified_by",
)


@dataclass(slots=True)
class DesiredMaterial:
    """The desired state of one material: values by model field name, its Id if it was given, and the reason.

    `precondition` is called with the material before it is changed, or with None before it is added. An error that it
    raises ends the whole call.
    """

    values: Values
    key: uuid.UUID | None = None
    reason: str = ""
    precondition: Precondition | None = None


@dataclass(frozen=True, slots=True)
class StoredMaterial:
    """The result for a material that was not refused: `Added`, `Changed` or `Unchanged`."""

    material: Material
    outcome: str
    stays_archived: bool = False
    """Whether the material was archived before and still is."""


Outcome = StoredMaterial | Exception
"""The result for a desired material, or the exception that refused it."""


def retry_on_race(write: Callable[[], T]) -> T:
    """Call a write, and again if another caller stored the same external id meanwhile; its transaction is its own.

    Raises IntegrityError if that happens again and again.
    """
    for _ in range(TRIES - 1):
        with suppress(IntegrityError):
            return write()
    return write()


def upsert(
    site_id: uuid.UUID,
    desired: DesiredMaterial,
    *,
    author: Author,
    may: Callable[[str], bool],
    operation: str = "PostMaterial",
) -> StoredMaterial:
    """Add or change one material: by its Id if given, else by a non-empty external id; otherwise a new one is added.

    Raises RecordNotFoundError, PermissionDenied, IntegrityError or ValidationError (code Duplicate); nothing is stored
    in that case.
    """
    outcome = upsert_all(site_id, [desired], author=author, may=may, operation=operation)[0]
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def upsert_all(
    site_id: uuid.UUID,
    upserts: Sequence[DesiredMaterial],
    *,
    author: Author,
    may: Callable[[str], bool],
    operation: str = "PostMaterial",
) -> list[Outcome]:
    """Add or change materials one after the other, each independent of the others; returns the results in order.

    Uses one transaction and a constant number of statements where the database allows it. Locks the materials in the
    order of their ids, and then the site's numbers if a material is new. `may` says whether the caller has a permission
    at the site. Raises IntegrityError if another caller added one of the external ids meanwhile; `retry_on_race` then
    changes that material.
    """
    batch = Batch(site_id, author, may, operation)
    with recording(partial(batch.reading, upserts)) as trail:
        batch.load(trail.answers)
        outcomes = [batch.apply(desired) for desired in upserts]
        batch.store(trail)
    return outcomes


@dataclass(slots=True)
class Step:
    """One change of one material, to be recorded in the history."""

    material: Material
    before: Snapshot
    after: Snapshot
    reason: str


@dataclass(slots=True)
class Batch:
    """The materials of one call: the stored ones, to which the upserts are applied in memory one after the other."""

    site_id: uuid.UUID
    author: Author
    may: Callable[[str], bool]
    operation: str
    by_key: dict[uuid.UUID, Material] = field(default_factory=dict)
    by_external_id: dict[str, Material] = field(default_factory=dict)
    states: dict[uuid.UUID, tuple[str, bool]] = field(default_factory=dict)
    """The external id and archive flag that each loaded material has in the database."""
    folders: dict[uuid.UUID, EntityFolder] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    pending: dict[uuid.UUID, Material] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    queries: list[CompiledQuery] = field(default_factory=list)

    def reading(self, upserts: Sequence[DesiredMaterial]) -> list[Statement]:
        """Return the statements of `asking`."""
        self.queries = asking(self.site_id, upserts)
        return [query.statement for query in self.queries]

    def load(self, answers: Sequence[Rows]) -> None:
        """Load the rows that the statements of `reading` returned."""
        rows = [row for query, rows in zip(self.queries, answers, strict=True) for row in query.reading.objects(rows)]
        for row in rows:
            if isinstance(row, EntityFolder):
                self.folders[row.pk] = row
                continue
            self.by_key[row.pk] = row
            if row.external_id:
                self.by_external_id[row.external_id] = row
            self.states[row.pk] = (row.external_id, row.is_archived)
        self.names |= {str(folder.pk): str(folder) for folder in self.folders.values()}

    def apply(self, desired: DesiredMaterial) -> Outcome:
        """Apply one desired state in memory; if it is refused, the material keeps its state."""
        try:
            material = self._target(desired)
        except (RecordNotFoundError, PermissionDenied) as refusal:
            return refusal
        if desired.precondition is not None:
            desired.precondition(material if material.pk in self.by_key else None)
        attributes, number_of_steps = dict(material.__dict__), len(self.steps)
        is_new, was_archived = material.pk not in self.by_key, material.is_archived
        try:
            self._change(material, desired)
        except (ValidationError, PermissionDenied) as refusal:
            material.__dict__.clear()
            material.__dict__.update(attributes)
            return refusal
        outcome = "Added" if is_new else "Changed" if len(self.steps) > number_of_steps else "Unchanged"
        return StoredMaterial(material, outcome, stays_archived=not is_new and was_archived and material.is_archived)

    def _target(self, desired: DesiredMaterial) -> Material:
        external_id = desired.values.get("external_id")
        material: Material | None
        if desired.key is not None:
            material = self.by_key.get(desired.key)
            if material is None:
                raise RecordNotFoundError
        else:
            material = self.by_external_id.get(external_id) if external_id else None
        permission = ADD if material is None else CHANGE
        if not self.may(permission):
            raise PermissionDenied
        return material or Material(site_id=self.site_id)

    def _change(self, material: Material, desired: DesiredMaterial) -> None:
        is_new = material.pk not in self.by_key
        changed = [name for name, value in desired.values.items() if differs(material, name, value)]
        if not is_new and not changed:
            return
        before = {} if is_new else columns(material)
        was_called, was_archived = material.external_id, material.is_archived
        for name in changed:
            setattr(material, name, desired.values[name])
        if (category := desired.values.get("material_category")) is not None:
            self.names[str(category.pk)] = str(category)
        self._check(material, changed, is_new=is_new)
        if material.is_archived != was_archived and not self.may(ARCHIVE):
            raise PermissionDenied
        self._refuse_duplicate(material)
        after = columns(material)
        if not is_new and after == before:
            return
        material.reason_for_change = desired.reason
        if is_new:
            material.created = material.last_modified = now()
            material.created_by_id = material.last_modified_by_id = self.author.id
        else:
            stamp(material, self.author)
            if self.by_external_id.get(was_called) is material:
                del self.by_external_id[was_called]
        self.by_key[material.pk] = self.pending[material.pk] = material
        if material.external_id:
            self.by_external_id[material.external_id] = material
        self.steps.append(Step(material, before, after, desired.reason))

    def _check(self, material: Material, changed: Sequence[str], *, is_new: bool) -> None:
        """Check columns and references without a query; raises ValidationError with all faults."""
        faults: dict[str, Any] = {}
        try:
            check_record(material, changed=None if is_new else changed, skip=["entity_folder"])
        except ValidationError as fault:
            faults = fault.update_error_dict(faults)
        if material.entity_folder_id is not None and (is_new or "entity_folder" in changed):
            folder = self.folders.get(material.entity_folder_id)
            folder_fault = UNKNOWN.format(name="folder")
            if folder is not None:
                folder_fault = errors_of(EntityFolder, [folder], self.site_id, Material).get(folder.pk, "")
            if folder_fault:
                faults["entity_folder"] = [ValidationError(folder_fault, code="InvalidReference")]
        if faults:
            raise ValidationError(faults)

    def _refuse_duplicate(self, material: Material) -> None:
        if not material.external_id:
            return
        as_key = read_uuid(material.external_id)
        owners = [self.by_external_id.get(material.external_id), self.by_key.get(as_key) if as_key else None]
        if any(owner is not None and owner is not material for owner in owners):
            raise duplicate()

    def store(self, trail: Trail) -> None:
        """Store all new and changed rows and record the changes."""
        new = [material for key, material in self.pending.items() if key not in self.states]
        old = [material for key, material in self.pending.items() if key in self.states]
        self._write(old, new, trail)
        archived = sum(material.is_archived for material in new) + sum(
            material.is_archived - self.states[material.pk][1] for material in old
        )
        if archived:
            trail.store([counting_archived(self.site_id, Material.ENTITY, archived)])
        note = partial(self._note, trail, self._printed_names())
        if len(self.steps) > 1:
            trail.note(note)
        else:
            note()

    def _write(self, old: list[Material], new: list[Material], trail: Trail) -> None:
        """Write all rows in one round trip. External ids that move from one material to another are cleared first."""
        external_ids = {material.external_id for material in [*old, *new] if material.external_id}
        previous_holder_ids = [
            material.pk
            for material in old
            if (was := self.states[material.pk][0]) in external_ids and was != material.external_id
        ]
        if previous_holder_ids:
            Material.objects.filter(pk__in=previous_holder_ids).update(external_id="")
        if len(new) == 1:
            insert_numbered(new[0], trail)
        elif new:
            # From here on, no other caller can add materials to the site; callers that were faster have committed.
            number = take_numbers(self.site_id, Material.ENTITY, len(new))
            for material in new:
                material.site_sequence_id, number = number, number + 1
        trail.store(insertions([*old, *(new if len(new) > 1 else ())], replacing=UPSERT_COLUMNS))

    def _note(self, trail: Trail, names: dict[str, str]) -> None:
        for step in self.steps:
            number = step.material.site_sequence_id
            if not step.before:
                step.after["site_sequence_id"] = number
            trail.add(
                step.material,
                differences(step.material, step.before, step.after, names=names),
                author=self.author,
                operation=self.operation,
                reason=step.reason,
                counts="site_sequence_id" if number == MARK and not step.before else "",
            )

    def _printed_names(self) -> dict[str, str]:
        """Return the names of all targets of the changes; one query for each reference list that is not yet known."""
        names = dict(self.names)
        for field_name, model in (("material_category", MaterialCategory), ("entity_folder", EntityFolder)):
            ids = {key for step in self.steps if (key := step.before.get(field_name))} - names.keys()
            if ids:
                targets: Any = model.objects.filter(pk__in=ids)
                names |= {str(row.pk): str(row) for row in targets}
        return names


def differs(material: Material, name: str, value: object) -> bool:
    """Return whether a column of the material has another value."""
    column: Any = Material._meta.get_field(name)
    stored_value = getattr(material, column.attname)
    return bool(stored_value != (value.pk if isinstance(value, Model) else value))


def asking(site_id: uuid.UUID, upserts: Sequence[DesiredMaterial]) -> list[CompiledQuery]:
    """Return the queries that lock the materials that the upserts may concern and the folders that they name.

    The references of the upserts need not be resolved yet.
    """
    values = [desired.values for desired in upserts]
    external_ids = dict.fromkeys(text for upsert_values in values if (text := upsert_values.get("external_id")))
    ids = [desired.key for desired in upserts] + [read_uuid(text) for text in external_ids]
    keys = dict.fromkeys(key for key in ids if key is not None)
    folders = dict.fromkeys(
        folder.id for upsert_values in values if (folder := upsert_values.get("entity_folder")) is not None
    )
    queries = [locking(site_id, external_ids, keys)] if external_ids or keys else []
    return [*queries, folder_lock_query(folders)] if folders else queries


_TEXTS, _KEYS = str(uuid.uuid4()), uuid.uuid4()
"""The placeholders in the compiled queries."""


def locking(site_id: uuid.UUID, external_ids: Collection[str], keys: Collection[uuid.UUID]) -> CompiledQuery:
    """Return the query that locks the site's materials with these external ids or Ids, in the order of their Ids.

    It is compiled once for each process: for one material, of which PostgreSQL keeps the plan, and for many.
    """
    alone = (len(external_ids), len(keys)) if max(len(external_ids), len(keys)) == 1 else None
    values: dict[Any, Any] = {ANY_SITE: site_id}
    if alone:
        values |= dict(zip([_TEXTS], external_ids, strict=False)) | dict(zip([_KEYS], keys, strict=False))
    else:
        values |= {_TEXTS: among_parameter(external_ids), _KEYS: among_parameter(keys)}
    query = _locking(alone)
    return CompiledQuery(query, query.with_values(values))


@cache
def _locking(alone: tuple[int, int] | None) -> Reading:
    rows = Material.objects.at(ANY_SITE).select_for_update(of=("self",), no_key=True)
    if alone:
        conditions = Q(external_id__in=[_TEXTS] * alone[0]), Q(pk__in=[_KEYS] * alone[1])
    else:
        conditions = Q(among("external_id", "text", _TEXTS)), Q(among("id", "uuid", _KEYS))
    # PostgreSQL uses the index of the external ids only for a query that says that they are not empty.
    return compile_rows(rows.filter((conditions[0] & ~Q(external_id="")) | conditions[1]).order_by("pk"))


def duplicate() -> ValidationError:
    """Return the error for an external id that another material of the site has."""
    text = gettext("Another material of the site has this external id, or has it as its Id.")
    return fault_at("external_id", text, "Duplicate")
