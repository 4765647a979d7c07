"""What an import did, kept so that it can be undone as a whole.

Undoing archives what the import added and puts back the fields that it changed, as ordinary changes with a reason.
Whatever somebody touched since then stays as it is, and is reported with the reason.
"""

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from records.backoffice.models import FileImport, ImportedRecord
from records.backoffice.old_values import before
from records.backoffice.transfer.matching import lock, with_children
from records.backoffice.transfer.name_resolution import chunks, name_list
from records.backoffice.transfer.resources import RecordResource
from records.backoffice.transfer.rows import Row
from records.backoffice.wording import field_label
from records.history.digests import FieldChange
from records.history.models import Change
from records.history.trail import RollBackError, now, recording
from records.sites.models import permission_on
from records.sites.uses import used_among
from records.sites.writing import RecordNotFoundError

ARCHIVED, PUT_BACK, LEAVE = gettext_noop("Archive"), gettext_noop("Put back"), gettext_noop("Leave")
Archive = Callable[[Any], Any]
NOT_FOUND = _("It does not exist any more.")


class AlreadyUndoneError(Exception):
    """Raised for an import that was taken back already."""


@dataclass(slots=True)
class Line:
    """What undoing does to one record: archive it, put fields back, or leave it, and why something stays."""

    row: int
    record: Any
    outcome: str = LEAVE
    fields: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def store_import(
    rows: Sequence[Row], changes: Sequence[Change], *, resource: RecordResource, file_name: str
) -> FileImport | None:
    """Store what an import wrote, in its transaction; nothing for an import that wrote nothing."""
    if not changes or resource.author.id is None:
        return None
    by_record = {row.record.pk: row for row in rows if row.record is not None}
    file_import = FileImport.objects.create(
        site_id=resource.site_id,
        listing=resource.model._meta.label_lower,
        file_name=file_name[:255],
        reason=resource.reason,
        user_id=resource.author.id,
        added=sum(row.is_new for row in by_record.values()),
        changed=sum(not row.is_new for row in by_record.values()),
    )
    ImportedRecord.objects.bulk_create(
        [
            ImportedRecord(
                file_import=file_import,
                record_id=change.record_id,
                change_id=change.pk,
                row=by_record[change.record_id].number,
                is_new=by_record[change.record_id].is_new,
            )
            for change in changes
            if change.record_id in by_record
        ]
    )
    return file_import


def undo_import(
    file_import: FileImport, resource: RecordResource, archive: Archive, *, rehearse: bool = False, expected: str = ""
) -> tuple[list[Line], bool]:
    """Undo an import in one transaction; returns what happened to each record, and whether it was stored.

    `archive` archives one record. A rehearsal does the same and rolls it back. Nothing is stored if every record has
    to stay as it is, or if the result is not the one whose digest was `expected`. Raises AlreadyUndoneError.
    """
    lines: list[Line] = []
    is_stored = False
    with suppress(RollBackError), recording():
        locked_import = FileImport.objects.select_for_update(no_key=True).get(pk=file_import.pk)
        if locked_import.taken_back is not None:
            raise AlreadyUndoneError
        lines = _Undoing(locked_import, resource, archive).lines()
        is_empty = all(line.outcome == LEAVE for line in lines)
        if rehearse or is_empty or (expected and digest_of(lines) != expected):
            raise RollBackError
        locked_import.taken_back, locked_import.taken_back_by_id = now(), resource.author.id
        locked_import.save(update_fields=["taken_back", "taken_back_by"])
        is_stored = True
    return lines, is_stored


def digest_of(lines: Iterable[Line]) -> str:
    """Return the digest of what undoing would do, so that exactly what was shown is done after the confirmation."""
    content = [(line.row, str(line.record), line.outcome, line.fields, line.reasons) for line in lines]
    return hashlib.sha256(repr(content).encode()).hexdigest()


class _Undoing:
    """One import that is being taken back."""

    def __init__(self, file_import: FileImport, resource: RecordResource, archive: Archive) -> None:
        self.resource, self.model, self.archive = resource, resource.model, archive
        self.hidden_sources = {resource.table.columns[name].source for name in resource.hidden_names}
        self.entries: dict[uuid.UUID, list[ImportedRecord]] = defaultdict(list)
        for entry in file_import.records.all():
            self.entries[entry.record_id].append(entry)

    def lines(self) -> list[Line]:
        """Do what can be done, and return it by record in the order of the file."""
        keys = list(self.entries)
        at_site: Any = self.model._default_manager.filter(site_id=self.resource.site_id)
        lock(at_site, keys)
        records = {record.pk: record for part in chunks(keys) for record in with_children(at_site.filter(pk__in=part))}
        changes_by_record = self._changes_by_record(keys)
        in_use = used_among(self.model, [key for key, entries in self.entries.items() if entries[0].is_new])
        lines: list[Line] = []
        rows: list[tuple[Line, Row]] = []
        for key, entries in self.entries.items():
            record = records.get(key)
            line = Line(entries[0].row, record)
            lines.append(line)
            import_changes = {entry.change_id for entry in entries}
            changes = changes_by_record.get(key, [])
            later = _later(changes, import_changes)
            if record is None:
                line.reasons.append(str(NOT_FOUND))
            elif record.is_archived:
                line.reasons.append(gettext("It is archived."))
            elif entries[0].is_new:
                self._archive(line, later, in_use.get(key, set()))
            else:
                values = self._values(line, [change for change in changes if change.pk in import_changes], later)
                if values:
                    rows.append((line, Row(line.row, values=values, target=record)))
        self._put_back(rows)
        return lines

    def _changes_by_record(self, keys: Sequence[uuid.UUID]) -> dict[uuid.UUID, list[Change]]:
        """Return the changes of the records, oldest first."""
        changes_by_record: dict[uuid.UUID, list[Change]] = defaultdict(list)
        for part in chunks(keys):
            for change in Change.objects.filter(record_id__in=part, model=self.model._meta.label).order_by("number"):
                changes_by_record[change.record_id].append(change)
        return changes_by_record

    def _archive(self, line: Line, later: Sequence[Change], in_use: Collection[str]) -> None:
        if later:
            line.reasons.append(gettext("%(who)s has changed it since.") % {"who": _who(later[-1])})
        elif in_use:
            line.reasons.append(gettext("It is used by %(value)s.") % {"value": name_list(sorted(in_use))})
        elif fault := _fault_of(lambda: self.archive(line.record), self.resource):
            line.reasons += fault
        else:
            line.outcome = ARCHIVED

    def _values(self, line: Line, import_changes: Sequence[Change], later: Sequence[Change]) -> dict[str, Any]:
        """Return the values that the fields had before the import, as an action takes them."""
        later_changes = {entry["field"].partition(".")[0]: change for change in later for entry in change.fields}
        entries: dict[str, list[FieldChange]] = defaultdict(list)
        for change in import_changes:
            for entry in change.fields:
                entries[entry["field"].partition(".")[0]].append(entry)
        values: dict[str, Any] = {}
        for name, entries_of_field in entries.items():
            label = field_label(self.model, name)
            if name in self.hidden_sources:
                line.reasons.append(f"{label}: {gettext('You may not change it.')}")
                continue
            if name in later_changes:
                line.reasons.append(
                    gettext("%(label)s: %(who)s has changed it since.")
                    % {"label": label, "who": _who(later_changes[name])}
                )
                continue
            try:
                values[name] = before(line.record, name, entries_of_field)
            except (ValidationError, LookupError) as fault:
                texts = fault.messages if isinstance(fault, ValidationError) else [str(fault.args[0])]
                line.reasons.append(f"{label}: {' '.join(texts)}")
            else:
                line.fields.append(label)
        return values

    def _put_back(self, rows: Sequence[tuple[Line, Row]]) -> None:
        """Write the old values through the room's action, as an import would write them."""
        if not self.resource.may(permission_on(self.model, "change")):
            for _, row in rows:
                row.faults.append(gettext("You may not change it."))
        self.resource.write(sorted((row for _, row in rows if not row.faults), key=lambda row: str(row.target.pk)))
        for line, row in rows:
            if row.record is None and not row.faults:
                row.faults.append(gettext("Somebody else has stored the same in the meantime. Try again."))
            if row.faults:
                line.fields = []
                line.reasons += row.faults
            else:
                line.outcome = PUT_BACK


def _later(changes: Sequence[Change], import_changes: set[uuid.UUID]) -> list[Change]:
    """Return the changes after the last one of the import."""
    numbers = [change.number for change in changes if change.pk in import_changes]
    return [change for change in changes if numbers and change.number > max(numbers)]


def _who(change: Change) -> str:
    return change.author_name or gettext("The system")


def _fault_of(act: Callable[[], Any], resource: RecordResource) -> list[str]:
    """Act, and return why that was refused; empty if it was done."""
    try:
        with recording():
            act()
    except (ValidationError, RecordNotFoundError, PermissionDenied) as refusal:
        return resource.sentences(refusal)
    return []
