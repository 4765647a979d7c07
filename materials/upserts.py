"""Upserts of one or many materials, with their history, in a constant number of round trips."""

import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from materials.models import Material
from records.history.inserts import insertions
from records.history.snapshots import Snapshot, columns, differences
from records.history.statements import Asked, Rows, Statement, asked, reading
from records.history.trail import Author, Trail, now, recording
from records.reference.models import MaterialCategory
from records.sites.models import EntityFolder
from records.sites.sequences import counting_archived, take_numbers_and_ask
from records.sites.targets import UNKNOWN, errors_of, holding_folders
from records.sites.text import read_uuid
from records.sites.writing import Precondition, RecordNotFoundError, Values, check_record, stamp

MOST = 500
"""The most materials in one call (DECISIONS 3)."""
TRIES = 5
ADD, CHANGE, ARCHIVE = "materials.add_material", "materials.change_material", "materials.archive_material"
WRITTEN = (
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


class ConcurrentWriteError(Exception):
    """Raised when another caller stored the same external id in the meantime; the call is then repeated."""


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
class Stored:
    """The result for a material that was not refused: `Added`, `Changed` or `Unchanged`."""

    material: Material
    outcome: str
    stays_archived: bool = False
    """Whether the material was archived before and still is."""


Outcome = Stored | Exception
"""The result for a desired material, or the exception that refused it."""


def upsert(
    site_id: uuid.UUID,
    desired: DesiredMaterial,
    *,
    author: Author,
    may: Callable[[str], bool],
    operation: str = "PostMaterial",
) -> Stored:
    """Add or change one material: by its Id if given, else by a non-empty external id; otherwise a new one is added.

    Raises RecordNotFoundError, PermissionDenied, ConcurrentWriteError or ValidationError (code Duplicate); nothing is
    stored in that case.
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
    order of their ids, and then the site's numbers if a material is new. Concurrent callers with the same external id
    therefore end up with one material. `may` says whether the caller has a permission at the site.
    """
    for attempt in range(TRIES):
        try:
            batch = Batch(site_id, author, may, operation)
            with recording(lambda: batch.reading(upserts)) as trail:  # noqa: B023 (called at once)
                batch.load(trail.answers)
                outcomes = [batch.one(desired) for desired in upserts]
                batch.store(trail)
                return outcomes
        except (ConcurrentWriteError, IntegrityError):
            if attempt == TRIES - 1:
                raise
    raise ConcurrentWriteError


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
    stored: dict[uuid.UUID, tuple[str, bool]] = field(default_factory=dict)
    """The external id and archive flag that each loaded material has in the database."""
    folders: dict[uuid.UUID, EntityFolder] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    touched: dict[uuid.UUID, Material] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def reading(self, upserts: Iterable[DesiredMaterial]) -> list[Statement]:
        """Return the statements that lock the materials that the upserts may concern and the folders that they name."""
        external_ids, keys, folders = set(), set(), set()
        for desired in upserts:
            external_id = desired.values.get("external_id")
            if external_id:
                external_ids.add(external_id)
                if (as_key := read_uuid(external_id)) is not None:
                    keys.add(as_key)
            if desired.key is not None:
                keys.add(desired.key)
            if (folder := desired.values.get("entity_folder")) is not None:
                folders.add(folder.pk)
            if (category := desired.values.get("material_category")) is not None:
                self.names[str(category.pk)] = str(category)
        self.asked = [locking(self.site_id, external_ids, keys)] if external_ids or keys else []
        self.asked += [holding_folders(folders)] if folders else []
        return [query.statement for query in self.asked]

    def load(self, answers: Sequence[Rows]) -> None:
        """Load the rows that the statements of `reading` returned."""
        found = [row for query, rows in zip(self.asked, answers, strict=True) for row in query.reading.objects(rows)]
        for row in found:
            if isinstance(row, EntityFolder):
                self.folders[row.pk] = row
                continue
            self.by_key[row.pk] = row
            if row.external_id:
                self.by_external_id[row.external_id] = row
            self.stored[row.pk] = (row.external_id, row.is_archived)
        self.names |= {str(folder.pk): str(folder) for folder in self.folders.values()}

    def one(self, desired: DesiredMaterial) -> Outcome:
        """Apply one desired state in memory; if it is refused, the material keeps its state."""
        try:
            material = self._target(desired)
        except (RecordNotFoundError, PermissionDenied) as refusal:
            return refusal
        if desired.precondition is not None:
            desired.precondition(material if material.pk in self.by_key else None)
        kept, number_of_steps = dict(material.__dict__), len(self.steps)
        is_new, was_archived = material.pk not in self.by_key, material.is_archived
        try:
            self._apply(material, desired)
        except (ValidationError, PermissionDenied) as refusal:
            material.__dict__.clear()
            material.__dict__.update(kept)
            return refusal
        outcome = "Added" if is_new else "Changed" if len(self.steps) > number_of_steps else "Unchanged"
        return Stored(material, outcome, stays_archived=not is_new and was_archived and material.is_archived)

    def _target(self, desired: DesiredMaterial) -> Material:
        external_id = desired.values.get("external_id")
        found: Material | None
        if desired.key is not None:
            found = self.by_key.get(desired.key)
            if found is None:
                raise RecordNotFoundError
        else:
            found = self.by_external_id.get(external_id) if external_id else None
        permission = ADD if found is None else CHANGE
        if not self.may(permission):
            raise PermissionDenied
        return found or Material(site_id=self.site_id)

    def _apply(self, material: Material, desired: DesiredMaterial) -> None:
        is_new = material.pk not in self.by_key
        before = {} if is_new else columns(material)
        was_called, was_archived = material.external_id, material.is_archived
        for name, value in desired.values.items():
            setattr(material, name, value)
        after = columns(material)
        changed = [name for name in after if after[name] != before.get(name)]
        if not is_new and not changed:
            return
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
        self.by_key[material.pk] = self.touched[material.pk] = material
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
            wrong = UNKNOWN.format(name="folder")
            if folder is not None:
                wrong = errors_of(EntityFolder, [folder], self.site_id, Material).get(folder.pk, "")
            if wrong:
                faults["entity_folder"] = [ValidationError(wrong, code="InvalidReference")]
        if faults:
            raise ValidationError(faults)

    def _refuse_duplicate(self, material: Material) -> None:
        if not material.external_id:
            return
        as_key = read_uuid(material.external_id)
        others = [self.by_external_id.get(material.external_id), self.by_key.get(as_key) if as_key else None]
        if any(other is not None and other is not material for other in others):
            raise duplicate()

    def store(self, trail: Trail) -> None:
        """Store all new and changed rows and record the changes; raises ConcurrentWriteError after a lost race."""
        if not self.steps:
            return
        new = [material for key, material in self.touched.items() if key not in self.stored]
        old = [material for key, material in self.touched.items() if key in self.stored]
        if new:
            # From here on, no other caller can add materials to the site; callers that were faster have committed.
            called = [one.external_id for one in new if one.external_id]
            others = Material.objects.exclude(pk__in=[one.pk for one in old]).order_by()
            lost = [asked(others.filter(site_id=self.site_id, external_id__in=called)[:1])] if called else []
            number, found = take_numbers_and_ask(self.site_id, Material.ENTITY, len(new), lost)
            if any(found):
                raise ConcurrentWriteError
            for material in new:
                material.site_sequence_id, number = number, number + 1
        archived = sum(one.is_archived for one in new) + sum(one.is_archived - self.stored[one.pk][1] for one in old)
        if archived:
            trail.store([counting_archived(self.site_id, Material.ENTITY, archived)])
        self._write(old, new, trail)
        self._note(trail)

    def _write(self, old: list[Material], new: list[Material], trail: Trail) -> None:
        """Write all rows in one round trip. External ids that move from one material to another are cleared first."""
        taken = {one.external_id for one in [*old, *new] if one.external_id}
        giving = [one.pk for one in old if (was := self.stored[one.pk][0]) in taken and was != one.external_id]
        if giving:
            Material.objects.filter(pk__in=giving).update(external_id="")
        trail.store(insertions([*old, *new], replacing=WRITTEN))

    def _note(self, trail: Trail) -> None:
        names = self._printed_names()
        for step in self.steps:
            if not step.before:
                step.after["site_sequence_id"] = step.material.site_sequence_id
            trail.add(
                step.material,
                differences(step.material, step.before, step.after, names=names),
                author=self.author,
                operation=self.operation,
                reason=step.reason,
            )

    def _printed_names(self) -> dict[str, str]:
        """Return the names of all targets of the changes; one query for each reference list that is not yet known."""
        names = dict(self.names)
        for field_name, model in (("material_category", MaterialCategory), ("entity_folder", EntityFolder)):
            ids = {key for step in self.steps if (key := step.before.get(field_name))} - names.keys()
            if ids:
                found: Any = model.objects.filter(pk__in=ids)
                names |= {str(row.pk): str(row) for row in found}
        return names


_SITE, _TEXT, _KEY = uuid.uuid4(), str(uuid.uuid4()), uuid.uuid4()
"""The placeholders in the compiled query for one material."""


def locking(site_id: uuid.UUID, external_ids: Collection[str], keys: Collection[uuid.UUID]) -> Asked:
    """Return the query of `locked`; that for one material is compiled once for each process."""
    texts, ids = len(external_ids), len(keys)
    if max(texts, ids) > 1:
        return asked(locked(site_id, external_ids, keys))
    read = reading((Material, "upsert", texts, ids), lambda _: locked(_SITE, [_TEXT] * texts, [_KEY] * ids))
    given = {_SITE: site_id} | dict(zip([_TEXT], external_ids, strict=False)) | dict(zip([_KEY], keys, strict=False))
    return Asked(read, read.given(given))


def locked(site_id: uuid.UUID, external_ids: Iterable[str], keys: Iterable[uuid.UUID]) -> QuerySet[Material]:
    """Return the query that locks the site's materials with these external ids or Ids, in the order of their Ids."""
    rows = Material.objects.at(site_id).select_for_update(of=("self",), no_key=True)
    return rows.filter(Q(external_id__in=list(external_ids)) | Q(pk__in=list(keys))).order_by("pk")


def duplicate() -> ValidationError:
    """Return the error for an external id that another material of the site has."""
    text = gettext("Another material of the site has this external id, or has it as its Id.")
    return ValidationError({"external_id": ValidationError(text, code="Duplicate")})
