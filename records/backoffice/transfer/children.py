"""The child rows of an import: each row of a further sheet says which record it belongs to.

A record that such a sheet names gets all of its rows from the sheet: those with an Id are changed, those without are
added, and those that are left out are removed. A record that the sheet does not name keeps its rows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.transfer.cells import as_text
from records.backoffice.transfer.files import Sheet
from records.backoffice.transfer.headings import Headings, headings
from records.backoffice.transfer.rows import Row, name_sources
from records.backoffice.transfer.table import Column, Table
from records.history.english import stored_text
from records.sites.text import fold, read_uuid

NUMBER = "number"
Reader = Callable[[int, Sequence[Any], Headings, Sheet, Table], Row]


@dataclass(slots=True)
class ChildSheet:
    """One further sheet: the column of the record that it fills, and its rows with the record that each names."""

    column: Column
    table: Table
    headings: Headings
    title: str
    rows: list[Row] = field(default_factory=list)
    owners: list[tuple[str, str]] = field(default_factory=list)
    """The Id and the name or code of the record, as each row gives them."""


def owner_heading(model: type[models.Model], table: Table, words: Callable[[object], str] = str) -> str:
    """Return the heading of the column that names the record of each row: its kind, unless a column is called so.

    `words` puts it into the reader's language (str) or into English (stored_text).
    """
    kind = capfirst(words(model._meta.verbose_name))
    column_names = {
        text.casefold() for other in table.columns.values() for text in (other.name, other.label, other.english_label)
    }
    return words(_("%(kind)s name")) % {"kind": kind} if kind.casefold() in column_names else kind


def titles_of(columns: Iterable[Column]) -> dict[str, Column]:
    """Return the columns of child rows by the titles, in lower case, that their sheets can have."""
    by_title: dict[str, Column] = {}
    for column in columns:
        if column.kind == "rows" and column.writable:
            titles = (column.english_label, column.label)
            by_title |= {column.name.casefold(): column, **{title[:31].casefold(): column for title in titles}}
    return by_title


def read_children(sheet: Sheet, column: Column, table: Table, model: type[models.Model], read: Reader) -> ChildSheet:
    """Return the rows of a further sheet, whose references are not resolved yet. Raises FileError."""
    kinds = [owner_heading(model, table, words).casefold() for words in (str, stored_text)]
    owner_ids = [f"{text(model._meta.verbose_name).casefold()} id" for text in (str, stored_text)]
    further_headings = (*kinds, *owner_ids, NUMBER, gettext("Number").casefold())
    heads = headings(
        table, sheet.headers, lambda candidate: candidate.writable or candidate.name == "Id", further_headings
    )
    child_sheet = ChildSheet(column, table, heads, sheet.title)
    for number, cells in sheet.rows:
        row = read(number, cells, heads, sheet, table)
        row.sheet = sheet.title
        child_sheet.rows.append(row)
        child_sheet.owners.append((_first(owner_ids, cells, heads, sheet), _first(kinds, cells, heads, sheet)))
    return child_sheet


def _first(names: Iterable[str], cells: Sequence[object], heads: Headings, sheet: Sheet) -> str:
    """Return the text below the first of the headings that the sheet has."""
    return next((_text(cells, heads.places[name], sheet) for name in names if name in heads.places), "")


def _text(cells: Sequence[Any], place: int | None, sheet: Sheet) -> str:
    if place is None or place >= len(cells):
        return ""
    try:
        return as_text(cells[place], "text", sheet).strip()
    except ValueError:
        return ""


def assign_children(sheet: ChildSheet, rows: Sequence[Row], model: type[models.Model]) -> list[Row]:
    """Add the rows of a further sheet to the values of their records; returns those that belong to no row.

    A fault of a child row is a fault of its record's row, so that nothing of the file is imported.
    """
    by_id = {row.key.casefold(): row for row in rows if row.key}
    by_text: dict[str, list[Row]] = defaultdict(list)
    sources = name_sources(model)
    for row in rows:
        texts = {fold(" ".join(str(row.values.get(name) or "") for name in fields).strip()) for fields in sources}
        for text in texts - {""}:
            by_text[text].append(row)
    orphans: list[Row] = []
    entries: dict[int, list[dict[str, object]]] = {}
    kind = str(model._meta.verbose_name)
    source = sheet.column.source
    for child, (owner_id, text) in zip(sheet.rows, sheet.owners, strict=True):
        if owner_id:
            candidates = [by_id[owner_id.casefold()]] if owner_id.casefold() in by_id else []
        else:
            candidates = by_text.get(fold(text), [])
        if len(candidates) != 1:
            child.faults.append(_why_not(kind, owner_id or text, candidates))
            orphans.append(child)
            continue
        owner = candidates[0]
        owner.faults += [
            gettext("%(title)s, row %(number)s: %(fault)s")
            % {"title": sheet.title, "number": child.number, "fault": fault}
            for fault in child.faults
        ]
        if owner.number not in entries and owner.values.get(source):
            owner.faults.append(
                gettext("%(title)s: the rows are both in a column and on a sheet; keep one of them.")
                % {"title": sheet.title}
            )
        entry = dict(child.values)
        if child.key:
            entry["id"] = read_uuid(child.key)
            if entry["id"] is None:
                owner.faults.append(
                    gettext("%(title)s, row %(number)s: Id: This is not an Id.")
                    % {"title": sheet.title, "number": child.number}
                )
        entries.setdefault(owner.number, []).append(entry)
        owner.values[source] = entries[owner.number]
    return orphans


def _why_not(kind: str, text: str, candidates: Sequence[Row]) -> str:
    if not text:
        return gettext("Say which %(kind)s the row belongs to.") % {"kind": kind}
    if candidates:
        numbers = gettext(" and ").join(str(row.number) for row in candidates[:10])
        return gettext(
            "Several rows of the first sheet are called %(text)s: %(numbers)s. Write the Id of the %(kind)s instead."
        ) % {"numbers": numbers, "text": text[:100], "kind": kind}
    return gettext("No row of the first sheet is the %(kind)s %(text)s.") % {"kind": kind, "text": text[:100]}
