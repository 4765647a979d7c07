"""What a room defines for the import and export of its records, and how an import runs.

A room's `resources.py` contains one class for each kind of record:

    @transferable
    class CustomerResource(RecordResource):
        model = Customer
        table = WireTable(CustomerSerializer)
        add_action = staticmethod(actions.add_customer)         # (site_id, values, *, author, reason)
        update_action = staticmethod(actions.update_customer)   # (site_id, id, values, *, author, reason)

`RecordAdmin` finds it by the model and offers the pages (records.backoffice.transfer.pages).

The rules of an import:

- A row with an Id, or with another key of the kind (`key`), changes that record; a row without a key
  adds one, unless the person who imports chose to match such rows by code or by name (`match`).
- Headings and values are read in people's words and in the interface's, also both in one file.
- A column that the file leaves out keeps its value; an empty cell clears it. What the system sets (numbers, stamps,
  states) is ignored.
- Either all rows are applied or none: one faulty row stops the whole import. Everything is one transaction.
- Rows go through the room's actions, so that checks, numbers and history are the same as for every other interface;
  a row that changes nothing leaves no trace.
- A dry run does exactly the same and then rolls it back, so its report is what the import would write.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import IntegrityError, models
from django.utils.translation import gettext

from records.backoffice.once import claim
from records.backoffice.transfer.cells import as_text
from records.backoffice.transfer.children import ChildSheet, assign_children, read_children, titles_of
from records.backoffice.transfer.files import FileError, Sheet
from records.backoffice.transfer.headings import Headings, headings, in_words
from records.backoffice.transfer.matching import NOT_HERE, find_same, find_targets
from records.backoffice.transfer.name_resolution import Names, unknown
from records.backoffice.transfer.rows import (
    Outcome,
    Row,
    digest_of,
    in_order,
    is_blank,
    is_so_already,
    take_over_ids,
)
from records.backoffice.transfer.table import Column, Table
from records.backoffice.wording import choice_label, format_value
from records.history.models import Change
from records.history.trail import Author, RollBackError, Trail, recording
from records.sites.hidden import keep_hidden, visible_to
from records.sites.models import permission_on
from records.sites.writing import RecordNotFoundError, Values

AfterImport = Callable[[Sequence[Row], Sequence[Change]], Any]


class RecordResource:
    """The import and export of one kind of record; see the module."""

    model: ClassVar[type[models.Model]]
    table: ClassVar[Table]
    key: ClassVar[str] = ""
    """A column besides Id that identifies the record, such as the identifier in an ERP."""
    can_import: ClassVar[bool] = True

    def __init__(
        self,
        *,
        site_id: uuid.UUID,
        author: Author,
        may: Callable[[str], bool],
        reason: str = "",
        once: str = "",
        expected: str = "",
        match: str = "",
    ) -> None:
        """Prepare one import or export.

        `once` identifies an upload that must be imported only once; `expected` is the digest of the confirmed report;
        `match` says by what rows without an Id are matched with records: `code`, `name`, or "" for nothing.
        """
        self.site_id, self.author, self.may, self.reason, self.once = site_id, author, may, reason, once
        self.expected, self.match = expected, match
        self.is_applied = False
        self.after_import: AfterImport | None = None
        """Called at the end of an import that is stored, with its rows and the changes of their records."""
        self.names = Names(site_id, self.model, partial(visible_to, author.id, may))
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.headings = Headings([])

    # --- What a room says --------------------------------------------------------------------------------------------

    add_action: ClassVar[Callable[..., Any]]
    update_action: ClassVar[Callable[..., Any]]

    def add(self, values: Values) -> Any:
        """Store a new record through the room's action and return it."""
        return type(self).add_action(self.site_id, values, author=self.author, reason=self.reason)

    def change(self, record: Any, values: Values) -> Any:
        """Change a record of the site through the room's action and return it."""
        return type(self).update_action(self.site_id, record.pk, values, author=self.author, reason=self.reason)

    def add_all(self, rows: Sequence[Values]) -> Sequence[Any] | None:
        """Store many new records in a few statements; return None if the room has no such action."""
        return None

    def write(self, rows: Sequence[Row]) -> None:
        """Write rows: new ones all at once if that succeeds, otherwise one by one; sets each row's record or faults.

        Every action has its own savepoint, so a refused row does not affect the others.
        """
        new = [row for row in rows if row.is_new]
        try:
            records = self.add_all([row.values for row in new]) if new else None
        except (ValidationError, IntegrityError):
            # One by one, so that the report shows which row is at fault.
            records = None
        for row, record in zip(new, records or (), strict=False):
            row.record = record
        for row in rows:
            if row.record is not None:
                continue
            try:
                row.record = self.add(row.values) if row.is_new else self.change(row.target, row.values)
            except (ValidationError, RecordNotFoundError, PermissionDenied, IntegrityError) as refusal:
                row.faults += self.sentences(refusal)

    def describe(self, values: Sequence[dict[str, Any]]) -> None:
        """Put texts in place of the ids to which no field of the model leads, for an export in people's words.

        The values are those of some records; a fixed number of queries.
        """

    def sentences(self, refusal: Exception) -> list[str]:
        """Return why an action refused a row."""
        if isinstance(refusal, ValidationError):
            faults = self.table.faults(refusal)
            return [f"{in_words(at, self.table, self.headings)}: {text}" if at else text for at, text in faults]
        if isinstance(refusal, RecordNotFoundError):
            return [NOT_HERE.format(name=self.model._meta.verbose_name, key="Id")]
        if isinstance(refusal, PermissionDenied):
            return [gettext("You may not do this to the record.")]
        return [gettext("Somebody else has stored the same in the meantime. Try again.")]

    # --- Columns -----------------------------------------------------------------------------------------------------

    @property
    def hidden_names(self) -> set[str]:
        """Return the columns that the user may neither see nor set."""
        permission = self.table.private_permission
        if not permission or self.may(permission):
            return set()
        return {name for name, column in self.table.columns.items() if column.private}

    def columns(self) -> list[Column]:
        """Return the columns that the user may see, in the wire's order."""
        hidden_names = self.hidden_names
        return [column for name, column in self.table.columns.items() if name not in hidden_names]

    def sheet_titles(self) -> dict[str, Column]:
        """Return the columns of child rows by the titles, in lower case, of the sheets that can hold them."""
        return titles_of(self.columns())

    def _read_header(self, sheet: Sheet) -> None:
        """Set the headings; raises FileError, with all faults together."""
        hidden_names = self.hidden_names

        def takes(column: Column) -> bool:
            return column.name not in hidden_names and (column.writable or column.name in ("Id", self.key))

        self.headings = headings(self.table, sheet.headers, takes)
        if not sheet.further and not any(column.writable for column in self.headings.used):
            raise FileError(
                gettext("No column of the file can be imported. The first row must contain the names of the columns.")
            )
        if self.headings.ignored:
            self.notes.append(gettext("Not imported: %(names)s.") % {"names": ", ".join(self.headings.ignored)})
        if sheet.ignored:
            self.notes.append(gettext("Sheets that were not read: %(names)s.") % {"names": ", ".join(sheet.ignored)})

    def _read_further_sheets(self, sheet: Sheet) -> list[ChildSheet]:
        """Return the child rows of the further sheets. Raises FileError."""
        titles = self.sheet_titles()
        child_sheets: list[ChildSheet] = []
        for further_sheet in sheet.further:
            column = titles[further_sheet.title.strip().casefold()]
            if any(child_sheet.column.name == column.name for child_sheet in child_sheets):
                raise FileError(gettext("Two sheets contain %(label)s. Keep one of them.") % {"label": column.label})
            try:
                child_sheets.append(
                    read_children(further_sheet, column, self.table.children[column.name], self.model, self._row)
                )
            except FileError as fault:
                raise FileError(
                    gettext("Sheet %(title)s: %(fault)s") % {"title": further_sheet.title, "fault": fault}
                ) from fault
            if left_out := child_sheets[-1].headings.ignored:
                self.notes.append(
                    gettext("Not imported from the sheet %(title)s: %(names)s.")
                    % {"title": further_sheet.title, "names": ", ".join(left_out)}
                )
        return child_sheets

    # --- An import ---------------------------------------------------------------------------------------------------

    def import_sheet(self, sheet: Sheet, *, dry_run: bool) -> Counter[Outcome]:
        """Import a file, or report what importing it would do; nothing is stored if any row is faulty.

        One transaction; `is_applied` says whether it was committed. `rows` say what happened to each row, `notes` which
        columns were ignored. Returns the number of rows by result. Raises FileError or DoneAlreadyError.
        """
        self._read_header(sheet)
        child_sheets = self._read_further_sheets(sheet)
        with suppress(RollBackError):
            with recording() as trail:
                start = len(trail.pending)
                self._claim()
                self.rows = [self._row(*row, self.headings, sheet, self.table) for row in sheet.rows]
                self._resolve(self.rows, self.headings)
                self._resolve_rows()
                orphans: list[Row] = []
                for child_sheet in child_sheets:
                    self._resolve(child_sheet.rows, child_sheet.headings)
                    orphans += assign_children(child_sheet, self.rows, self.model)
                find_same(self.rows, self.model, self.site_id, self.key, self.match)
                key = self.table.columns[self.key].source if self.key else ""
                find_targets(self.rows, self.model, self.site_id, key)
                self.rows += orphans
                self.write(in_order([row for row in self.rows if self._is_to_be_written(row)]))
                self._note(trail, start)
                faulty = any(row.faults for row in self.rows)
                if dry_run or faulty or (self.expected and self.digest() != self.expected):
                    raise RollBackError
                if self.after_import is not None:
                    self.after_import(
                        self.rows,
                        [change for change in trail.pending[start:] if change.model == self.model._meta.label],
                    )
            self.is_applied = True
        return Counter(row.outcome for row in self.rows)

    def _claim(self) -> None:
        """Record, in the same transaction, that this upload was imported, so that it cannot be imported again."""
        if self.once and self.author.id is not None:
            claim(self.author.id, self.site_id, f"Import{self.model.__name__}", self.once)

    def _row(self, number: int, cells: Sequence[Any], heads: Headings, sheet: Sheet, table: Table) -> Row:
        row = Row(number)
        if any(cell not in (None, "") for cell in cells[len(heads.columns) :]):
            row.faults.append(gettext("The row has more cells than the header."))
        for place, column in enumerate(heads.columns):
            if column is None:
                continue
            try:
                text = as_text(cells[place] if place < len(cells) else None, column.kind, sheet)
                if column.name == "Id":
                    row.key = text.strip()
                elif column.kind == "boolean" and not text.strip():
                    # A value that is neither true nor false counts as not given.
                    continue
                elif column.kind in ("reference", "references"):
                    row.values[column.source] = self._reference_texts(column, text)
                else:
                    row.values[column.source] = table.parse(column, text)
            except ValidationError as fault:
                row.faults.append(f"{heads.title(column)}: {' '.join(fault.messages)}")
            except ValueError as fault:
                row.faults.append(f"{heads.title(column)}: {fault}")
        return row

    def _reference_texts(self, column: Column, text: str) -> list[str] | None:
        """Return the texts by which the cell refers to records, not resolved yet."""
        entries = self.table.entries(text) if column.kind == "references" else [text.strip()]
        return [entry for entry in entries if entry] or None

    def _resolve(self, rows: Sequence[Row], heads: Headings) -> None:
        """Replace the texts by which cells refer to records by the records; one or two queries per kind of record."""
        texts_of: dict[Any, set[str]] = {}
        reference_columns = [column for column in heads.used if column.kind in ("reference", "references")]
        for column in reference_columns:
            for row in rows:
                texts_of.setdefault(column.target, set()).update(row.values.get(column.source) or ())
        answers = {model: self._resolve_at_site(model, texts) for model, texts in texts_of.items()}
        for column in reference_columns:
            for row in rows:
                if column.source not in row.values:
                    continue
                targets = [answers[column.target][text] for text in row.values[column.source] or ()]
                row.faults += [f"{heads.title(column)}: {target}" for target in targets if isinstance(target, str)]
                is_list = column.kind == "references"
                row.values[column.source] = targets if is_list else targets[0] if targets else None

    def _resolve_at_site(self, model: type[models.Model], texts: Iterable[str]) -> dict[str, models.Model | str]:
        """Return the record or the fault of each text at the site; records of other sites count as not existing."""
        answers = self.names.resolve(model, texts)
        records = {target.pk: target for target in answers.values() if not isinstance(target, str)}
        outside = self.table.outside(model, records, self.site_id) if records else set()
        return {
            text: target if isinstance(target, str) or target.pk not in outside else unknown(model, text)
            for text, target in answers.items()
        }

    def _resolve_rows(self) -> None:
        """Replace the ids in child rows that a cell contains by the records."""
        sources = [column.source for column in self.headings.used if column.kind == "rows"]
        references = [{source: row.values[source] for source in sources if row.values.get(source)} for row in self.rows]
        for row, faults in zip(self.rows, self.table.resolve_rows(references), strict=True):
            row.faults += faults

    def _is_to_be_written(self, row: Row) -> bool:
        """Return whether a row without faults changes anything; keeps only the changed values of the row."""
        if row.faults:
            return False
        if row.target is not None:
            row.values = keep_hidden(row.target, row.values, self.author.id, self.may)
            for name, value in row.values.items():
                take_over_ids(row.target, name, value)
            row.values = {
                name: value for name, value in row.values.items() if not is_so_already(row.target, name, value)
            }
            if not row.values:
                return False
        row.faults += self._missing(row)
        verb = "add" if row.is_new else "change"
        text = gettext("You may not add %(kinds)s at this site.")
        text = text if row.is_new else gettext("You may not change %(kinds)s at this site.")
        if not self.may(permission_on(self.model, verb)):
            row.faults.append(text % {"kinds": self.model._meta.verbose_name_plural})
        elif getattr(row.target, "is_archived", False) and row.values.get("is_archived", True):
            row.faults.append(gettext("The record is archived. Restore it before you change it."))
        return not row.faults

    def _missing(self, row: Row) -> list[str]:
        """Return a fault for each required field that a new row lacks or that a change would clear."""
        return [
            gettext("%(title)s: This field is required.") % {"title": self.headings.title(column)}
            for column in self.table.columns.values()
            if column.required
            and not column.may_be_blank
            and (row.is_new or column.source in row.values)
            and is_blank(row.values.get(column.source))
        ]

    def _note(self, trail: Trail, start: int) -> None:
        """Copy what the history is about to store into the report; a row without a change is marked as unchanged."""
        hidden_names = self.hidden_names
        file_fields = {name for row in self.rows for name in row.values}
        fields_of: dict[Any, list[dict[str, Any]]] = {}
        for change in trail.pending[start:]:
            if change.model == self.model._meta.label:
                fields_of.setdefault(change.record_id, []).extend(change.fields)
        for row in self.rows:
            if row.record is None or row.faults:
                continue
            fields = fields_of.get(row.record.pk, [])
            if not fields and not row.is_new:
                row.record = None
            for entry in fields:
                name = self.table.wire_name(entry["field"])
                field = entry["field"].partition(".")[0]
                if name.partition(".")[0] not in hidden_names and (not row.is_new or field in file_fields):
                    old, new = (
                        format_value(choice_label(self.model, entry["field"], entry.get(side)))
                        for side in ("old", "new")
                    )
                    row.lines.append({"name": in_words(name, self.table, self.headings), "old": old, "new": new})

    def digest(self) -> str:
        """Return the digest of the report, so that a confirmed import does exactly what was shown, or nothing."""
        return digest_of(self.rows)
