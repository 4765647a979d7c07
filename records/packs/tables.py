"""Records as tables and papers: every visible field with its label, and names instead of ids."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.db.models import Prefetch
from django.utils.text import capfirst

from records.attachments.models import Attachment
from records.backoffice.transfer.formulas import guard
from records.backoffice.transfer.sheets import LONGEST_CELL, Cell, Line
from records.dashboard.printing.layouts import value_of
from records.dashboard.printing.paper import Paper, Part, Value
from records.dashboard.search import name_of
from records.packs.kinds import Kind, Rows
from records.sites.about import AboutRecord, kinds
from records.sites.hidden import visible_to, without_hidden
from records.sites.models import Entity

STEP = 250
"""The number of records that are read at a time and printed into one PDF."""
NOT_SHOWN = frozenset({"id", "site", "revision", "path", "idx", "entity", "record_id", "finding_id"})
LAST = ("entity_folder", "is_archived", "created", "created_by", "last_modified", "last_modified_by")
"""The columns that follow a record's own data."""
CUT = " … (cut here; the PDF holds all of it)"
May = Callable[[str], bool]


class Sheet:
    """The columns of one kind of record, or of the rows of one, with the values of each record."""

    def __init__(self, model: Any, *, left_out: Sequence[str] = (), moments: Sequence[str] = ()) -> None:
        self.model = model
        self.left_out = NOT_SHOWN | set(left_out)
        fields = [field for field in model._meta.concrete_fields if not getattr(field, "is_folded", False)]
        visible_fields = [field for field in (*fields, *model._meta.many_to_many) if field.name not in self.left_out]
        self.fields = sorted(visible_fields, key=lambda field: LAST.index(field.name) if field.name in LAST else -1)
        self.moments = (*moments, *(field.name for field in self.fields if not field.editable))
        self.pointers = [field.name for field in self.fields if field.many_to_one or field.one_to_one]
        self.lists = [field.name for field in self.fields if field.many_to_many]
        self.labels = [capfirst(str(field.verbose_name)) for field in self.fields]

    def expand(self, rows: Rows) -> Rows:
        """Return the rows with everything that they refer to."""
        return rows.select_related(*self.pointers).prefetch_related(*self.lists)

    def values(self, record: Any) -> list[Value]:
        """Return the values of the record, by label."""
        return [value_of(record, field.name, self.moments) for field in self.fields]

    def cells(self, record: Any) -> list[Cell]:
        """Return the values of the record as cells: numbers as numbers, everything else as text."""
        pairs = zip(self.fields, self.values(record), strict=True)
        return [_cell(getattr(record, field.attname, None), value.text) for field, value in pairs]


class Table:
    """One kind of record in a pack: its sheet, the sheets of its child rows, and its printed papers."""

    def __init__(self, kind: Kind, user_id: uuid.UUID, may: May) -> None:
        self.user_id, self.may = user_id, may
        page: Any = admin.site.get_model_admin(kind.model)
        private = page.private_fields if page.private_permission and not may(page.private_permission) else ()
        self.kind, self.private = kind, private
        self.is_about = issubclass(kind.model, AboutRecord)
        self.sheet = Sheet(kind.model, left_out=(*kind.left_out, *private), moments=page.moments)
        relations: dict[str, Any] = {name: kind.model._meta.get_field(name) for name in kind.children}
        self.children = {
            name: Sheet(relation.related_model, left_out=(relation.field.name,)) for name, relation in relations.items()
        }

    def title_of(self, child: str) -> str:
        """Return the name of the rows of a relation."""
        relation: Any = self.kind.model._meta.get_field(child)
        return capfirst(str(relation.related_model._meta.verbose_name_plural))

    def steps(self, rows: Rows) -> Iterator[list[Any]]:
        """Yield the records in batches, with child rows and the records that they are about; fixed queries a batch."""
        keys = list(rows.values_list("pk", flat=True))
        prefetch = [Prefetch(name, self.children[name].expand(query())) for name, query in self.kind.children.items()]
        for start in range(0, len(keys), STEP):
            step_keys = keys[start : start + STEP]
            rows_loaded = self.sheet.expand(self.kind.model._default_manager.all()).prefetch_related(*prefetch)
            records = rows_loaded.in_bulk(step_keys)
            without_hidden(self.user_id, self.may, records.values())
            yield [records[key] for key in step_keys if key in records]

    def lines(self, rows: Rows) -> Iterator[Line]:
        """Yield the header and a line for each record."""
        yield [*(("About",) if self.is_about else ()), *self.sheet.labels]
        for step in self.steps(rows):
            about = names_of_records(step, self.user_id, self.may) if self.is_about else {}
            for record in step:
                first = [guard(about.get(record.pk, ""))] if self.is_about else []
                yield [*first, *self.sheet.cells(record)]

    def child_lines(self, rows: Rows, child: str) -> Iterator[Line]:
        """Yield the header and a line for each row of the relation, which begins with its record's number and name."""
        sheet = self.children[child]
        yield ["Number", capfirst(str(self.kind.model._meta.verbose_name)), *sheet.labels]
        for step in self.steps(rows):
            for record in step:
                for row in getattr(record, child).all():
                    yield [record.site_sequence_id, guard(str(record)), *sheet.cells(row)]

    def papers(self, rows: Rows, subtitle: str, foot: str) -> Iterator[tuple[str, Paper]]:
        """Yield papers of up to 250 records, each with the numbers of its first and last record: `1-250`."""
        for step in self.steps(rows):
            if not step:
                continue
            about = names_of_records(step, self.user_id, self.may) if self.is_about else {}
            first, last = step[0].site_sequence_id, step[-1].site_sequence_id
            span = f"{first}-{last}" if first != last else str(first)
            parts = [Part(name_of(record), self._values(record, about)) for record in step]
            yield span, Paper(f"{self.kind.title} {span}", subtitle, parts, foot)

    def _values(self, record: Any, about: dict[Any, str]) -> list[Value]:
        values = [Value("About", about[record.pk])] if record.pk in about else []
        values += [value for value in self.sheet.values(record) if value.text]
        for name, sheet in self.children.items():
            label = capfirst(str(sheet.model._meta.verbose_name))
            for number, row in enumerate(getattr(record, name).all(), 1):
                text = "\n".join(f"{value.label}: {value.text}" for value in sheet.values(row) if value.text)
                values.append(Value(f"{label} {number}", text))
        return values


def names_of_records(rows: Sequence[Any], user_id: uuid.UUID, may: May) -> dict[Any, str]:
    """Return the name of the record that each row is about; one query for each kind of record.

    The name of a record that does not exist for the account is empty.
    """
    keys_by_entity: dict[str, set[Any]] = defaultdict(set)
    for row in rows:
        if row.record_id is not None:
            keys_by_entity[row.entity].add(row.record_id)
    names_by_key: dict[tuple[str, Any], str] = {}
    for entity, keys in keys_by_entity.items():
        model = kinds()[Entity(entity)]
        names = Sheet(model).pointers
        for key, record in visible_to(user_id, may, model._base_manager.select_related(*names)).in_bulk(keys).items():
            kind, name = capfirst(str(model._meta.verbose_name)), str(record)
            names_by_key[entity, key] = name if name.startswith(kind) else f"{kind} {record.site_sequence_id}: {name}"
    return {row.pk: names_by_key.get((row.entity, row.record_id), "") for row in rows if row.record_id is not None}


ATTACHMENT = Sheet(Attachment, left_out=("entity_folder",))


def _cell(value: Any, text: str) -> Cell:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return value
    return cut(guard(text))


def cut(text: str) -> str:
    """Return the text in a form that an XLSX cell can contain."""
    text = text.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - len(CUT)] + CUT
