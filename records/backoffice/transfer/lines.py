"""What an export contains: a line for each record, and in people's words a line for each of its child rows.

In people's words, headings are the fields' labels, ids are names, choices are in the reader's language, times are those
of the site, and child rows are on sheets of their own. In the interface's words, an export is what the interface
answers; a cell holds child rows as JSON.
"""

import datetime
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext

from records.backoffice.datetimes import wall_clock
from records.backoffice.fields import to_utc
from records.backoffice.transfer.children import owner_heading
from records.backoffice.transfer.formulas import guard
from records.backoffice.transfer.resources import RecordResource
from records.backoffice.transfer.rows import name_sources
from records.backoffice.transfer.sheets import Cell, FurtherSheet, Line, clock_text
from records.backoffice.transfer.table import Column, Table

STEP = 1_000
Values = dict[str, Any]
Names = dict[tuple[Any, bool], dict[uuid.UUID, str]]
"""The texts for the ids of each kind of record, for columns that an import reads and for those that it does not."""
Keep = Callable[[str, Line], None]


class Export:
    """The lines of one export; `sheets` are those of the child rows, which `lines` fills."""

    def __init__(self, resource: RecordResource, rows: models.QuerySet[Any, Any], *, in_words: bool) -> None:
        self.resource, self.rows, self.in_words = resource, rows, in_words
        self.table = resource.table
        columns = resource.columns()
        self.columns = [column for column in columns if not in_words or self._is_shown(column, self.table)]
        self.children = {column.name: column for column in columns if in_words and column.kind == "rows"}
        self.naming = self._naming()
        self.is_numbered = "SiteSequenceId" in self.table.columns
        self.labels: dict[Column, Mapping[str, str]] = {}

    def _is_shown(self, column: Column, table: Table) -> bool:
        if column.name == "Id":
            # Only an import needs it.
            return self.resource.can_import
        return column.kind != "rows"

    def _naming(self) -> list[Column]:
        """Return the columns that name a record on the sheets of its child rows."""
        by_source = {column.source: column for column in self.columns}
        for fields in name_sources(self.resource.model):
            if by_source.keys() >= set(fields):
                return [by_source[name] for name in fields]
        return [column for column in self.columns if column.kind == "reference"][:1]

    # --- The records -------------------------------------------------------------------------------------------------

    def lines(self, further: Sequence[FurtherSheet] = ()) -> Iterator[Line]:
        """Yield the header and a line for each record; a fixed number of statements for every 1,000 records.

        The lines of the child rows are added to the further sheets, in the order of `children`.
        """
        yield [column.label if self.in_words else column.name for column in self.columns]
        sheets = dict(zip(self.children, further, strict=False))
        for batch in self._batches():
            names = self._names(self.table, self.columns, batch)
            if self.in_words:
                self.resource.describe(batch)
            for values in batch:
                yield self._line(self.table, self.columns, values, names)
            for name, sheet in sheets.items():
                for line in self._child_batch(name, batch):
                    sheet.add(line)

    def further_sheets(self) -> list[FurtherSheet]:
        """Return the sheets of the child rows, each with its header."""
        return [FurtherSheet(column.label, self.child_header(name)) for name, column in self.children.items()]

    def child_lines(self, name: str) -> Iterator[Line]:
        """Yield the header and a line for each child row of a column."""
        yield self.child_header(name)
        for batch in self._batches():
            yield from self._child_batch(name, batch)

    def child_header(self, name: str) -> Line:
        """Return the header of the child rows of a column: first the record that each row belongs to."""
        kind = capfirst(str(self.resource.model._meta.verbose_name))
        number = [gettext("Number")] if self.is_numbered else []
        owner_id = [gettext("%(kind)s Id") % {"kind": kind}] if self.resource.can_import else []
        owner = owner_heading(self.resource.model, self.table.children[name])
        return [*number, owner, *owner_id, *(column.label for column in self._child_columns(name))]

    def _child_columns(self, name: str) -> list[Column]:
        table = self.table.children[name]
        return [column for column in table.columns.values() if self._is_shown(column, table)]

    def _batches(self) -> Iterator[list[Values]]:
        batch: list[Values] = []
        for values in self.table.fetch(self.rows, STEP, self.resource.author.id, self.resource.may):
            batch.append(values)
            if len(batch) == STEP:
                yield batch
                batch = []
        yield batch

    def _child_batch(self, name: str, batch: Sequence[Values]) -> Iterator[Line]:
        table, columns = self.table.children[name], self._child_columns(name)
        by_name = table.columns
        entries = [
            {key: _read(by_name[key], value) for key, value in entry.items() if key in by_name}
            for values in batch
            for entry in values[name]
        ]
        owner_names = self._names(self.table, self.naming, batch)
        names = self._names(table, columns, entries)
        rows = iter(entries)
        for values in batch:
            texts = self._line(self.table, self.naming, values, owner_names)
            owner: list[Cell] = [values["SiteSequenceId"]] if self.is_numbered else []
            owner += [" ".join(str(text) for text in texts if text)]
            owner += [str(values["Id"])] if self.resource.can_import else []
            for _ in values[name]:
                yield [*owner, *self._line(table, columns, next(rows), names)]

    # --- Cells -------------------------------------------------------------------------------------------------------

    def _names(self, table: Table, columns: Sequence[Column], batch: Sequence[Values]) -> Names:
        ids: dict[tuple[Any, bool], set[uuid.UUID]] = {}
        for column in columns:
            if self._is_named(column):
                keys = ids.setdefault((column.target, self._is_read(column)), set())
                keys.update(key for values in batch for key in _keys(values[column.name]))
        names = self.resource.names
        return {
            (model, is_read): (names.spell if is_read else names.display_names)(model, keys)
            for (model, is_read), keys in ids.items()
            if keys
        }

    def _is_named(self, column: Column) -> bool:
        return column.target is not None and (self.in_words or column.kind != "id")

    def _is_read(self, column: Column) -> bool:
        """Return whether an import reads the column, so that it must find the same record by the text."""
        return not self.in_words or (self.resource.can_import and column.writable)

    def _line(self, table: Table, columns: Sequence[Column], values: Values, names: Names) -> list[Cell]:
        return [self._cell(table, column, values[column.name], names) for column in columns]

    def _cell(self, table: Table, column: Column, value: Any, names: Names) -> Cell:
        if value is None:
            return None
        if self._is_named(column):
            names_by_id = names.get((column.target, self._is_read(column)), {})
            texts = [names_by_id[key] for key in _keys(value)]
            return guard(table.text_of("texts", texts) if column.kind == "references" else "".join(texts))
        if column.kind == "integer":
            return int(value)
        if column.kind == "number":
            return Decimal(value)
        if self.in_words and column.kind == "date":
            return _local(value, table)
        if self.in_words and column.kind == "choice":
            if column not in self.labels:
                self.labels[column] = column.labels
            return guard(self.labels[column].get(value, value))
        if self.in_words and column.kind == "boolean":
            return gettext("Yes") if value else gettext("No")
        return guard(table.text_of(column.kind, value))


def _keys(value: Any) -> list[uuid.UUID]:
    if value is None:
        return []
    return [uuid.UUID(entry["Id"]) for entry in value] if isinstance(value, list) else [value]


def _read(column: Column, value: Any) -> object:
    """Return a value of a child row, which is as the interface answers it, as that of a record would be."""
    if value is None or value == "":
        return None
    if column.kind in ("reference", "id"):
        return uuid.UUID(str(value))
    if column.kind == "date":
        return datetime.datetime.fromisoformat(value)
    return Decimal(orjson.dumps(value).decode()) if column.kind in ("number", "integer") else value


def _local(moment: datetime.datetime, table: Table) -> Cell:
    """Return a day, or a local time of the site; a time that the clocks repeat is written with its zone."""
    clock, is_day = wall_clock(moment)
    if is_day:
        return clock.date()
    try:
        is_plain = to_utc(clock.replace(fold=0)) == moment
    except ValidationError:
        is_plain = False
    if not is_plain:
        return table.text_of("date", moment)
    return clock_text(clock) if clock.time() == datetime.time() else clock
