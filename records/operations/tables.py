"""The columns of a record's table for import and export: wire names, and each value as the text of a cell.

A room builds `WireTable(ItsSerializer)` and gives it to its resource (records.backoffice.transfer.resources).
"""

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import orjson
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.history.english import in_english
from records.operations import errors
from records.operations import fields as wire
from records.operations.names import nearest
from records.operations.references import outside, resolve_all
from records.operations.serializers import ChildRows, IdList, WireSerializer, source_of
from records.operations.values import read_boolean, show_date_time

_ROWS = msgspec.json.Decoder(float_hook=Decimal)
MOST_SUGGESTED = 4
LONGEST_SHOWN = 100
SPOKEN = {"yes": True, "no": False}


class CellError(ValueError):
    """Raised for a cell that cannot be read, with a message for users."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its wire name, the field of the model, that field's name, and the kind of its cells.

    `kind` is text, choice, date, number, integer, boolean, texts, id, reference, references or rows; `target` is the
    model that a reference, or an id other than the record's own, points at.
    """

    name: str
    relation: Any
    source: str
    kind: str
    target: type[models.Model] | None
    writable: bool
    required: bool
    may_be_blank: bool
    private: bool
    field: Any

    @property
    def label(self) -> str:
        """Return what people call the field; for child rows and lists of the other side, the name of their rows."""
        if self.relation.auto_created and not self.relation.concrete:
            return capfirst(str(self.relation.related_model._meta.verbose_name_plural))
        return "Id" if self.relation.primary_key else capfirst(str(self.relation.verbose_name))

    @property
    def english_label(self) -> str:
        """Return the label of an English file, which an import reads in every language."""
        with in_english():
            return self.label

    @property
    def labels(self) -> dict[str, str]:
        """Return what people call each word of a choice, in the language of the reader; empty for other columns."""
        choices: Mapping[Any, Any] = self.field.choices if self.kind == "choice" else {}
        return {str(word): str(label) for word, label in choices.items()}


_KINDS: tuple[tuple[type, str], ...] = (
    (wire.ReferenceField, "reference"),
    (wire.IdField, "id"),
    (wire.DateTimeField, "date"),
    (wire.NumberField, "number"),
    (wire.IntegerField, "integer"),
    (wire.BooleanField, "boolean"),
    (wire.TextListField, "texts"),
    (wire.ChoiceTextField, "choice"),
    (IdList, "references"),
    (ChildRows, "rows"),
)


class WireTable:
    """The table of one serializer; `without` lists fields without a column, such as a file's content."""

    def __init__(self, serializer: type[WireSerializer], *, without: Iterable[str] = ()) -> None:
        self.serializer = serializer
        self.private_permission: str = getattr(serializer.Meta, "private_permission", "")
        left_out = set(without)
        self.children: dict[str, WireTable] = {}
        self.columns: dict[str, Column] = {
            name: self._column(name, field)
            for name, field in serializer.wire_fields().items()
            if name not in left_out and not field.write_only
        }
        # An import has one reason for all rows, so a column with this name is known but ignored.
        self.ignored = left_out | (serializer.wire_fields().keys() - self.columns.keys())

    def _column(self, name: str, field: Any) -> Column:
        source = source_of(name, field)
        kind = next((kind for base, kind in _KINDS if isinstance(field, base)), "text")
        relation: Any = self.serializer.Meta.model._meta.get_field(source)
        is_reason = source == "reason_for_change"
        if kind == "rows":
            self.children[name] = WireTable(field.serializer_class)
        return Column(
            name=name,
            relation=relation,
            source=source,
            kind=kind,
            target=relation.related_model if kind in ("reference", "references", "id") else None,
            writable=not field.read_only and not is_reason and kind != "id",
            required=name in self.serializer.option("required"),
            may_be_blank=name in self.serializer.option("may_be_blank"),
            private=name in self.serializer.option("private"),
            field=field,
        )

    def column_of(self, header: str) -> Column | None:
        """Return the column of a header, which is its wire name or its label, in any case."""
        lower_header = header.strip().casefold()
        for name, column in self.columns.items():
            if name.casefold() == lower_header:
                return column
        plain_header = " ".join(lower_header.rstrip(" *:").split())
        for attribute in ("label", "english_label"):
            columns = [
                column for column in self.columns.values() if getattr(column, attribute).casefold() == plain_header
            ]
            if len(columns) == 1:
                return columns[0]
        return None

    def refusal_of(self, header: str) -> str:
        """Return the message that refuses an unknown header.

        It suggests the labels that contain the header's words, as `Postal address city` does for `City`, or else the
        most similar name.
        """
        labels = [column.label for column in self.columns.values()]
        words = set(header.casefold().split())
        near = [label for label in labels if words and words <= set(label.casefold().split())][:MOST_SUGGESTED]
        near = near or list(filter(None, [nearest(header, [*labels, *self.columns])]))
        short_header = header if len(header) <= LONGEST_SHOWN else f"{header[:LONGEST_SHOWN]}…"
        refusal = gettext("There is no column “%(header)s”.") % {"header": short_header}
        if not near:
            return refusal
        return f"{refusal} {gettext('Did you mean %(names)s?') % {'names': gettext(' or ').join(near)}}"

    def wire_name(self, name: str) -> str:
        """Return the wire name of a model's field; `relation.field` for child rows."""
        return self.serializer.wire_name(name)

    # --- Out ---------------------------------------------------------------------------------------------------------

    def fetch(
        self, queryset: models.QuerySet[Any, Any], step: int, user_id: uuid.UUID | None, may: Callable[[str], bool]
    ) -> Iterator[dict[str, object]]:
        """Yield each record's values by column, read in batches: times, decimals, ids and lists of objects.

        One statement for any number of records. References to records that do not exist for the user are empty; `may`
        asks what the user may do at the site.
        """
        plan = self.serializer.plan().as_seen_by(user_id, may).for_rows()
        for row in plan.fetching(queryset, as_stored=True).iterator(chunk_size=step):
            yield {
                name: convert(value) if convert is not None and name in plan.rows else value
                for name, convert, value in zip(plan.names, plan.steps, row, strict=False)
                if name in self.columns
            }

    @staticmethod
    def text_of(kind: str, value: Any) -> str:
        """Return a value that is neither a number nor a reference as the text of a cell; `parse` can read it again."""
        if value is None:
            return ""
        if kind == "date":
            moment = show_date_time(value) or ""
            return moment.removesuffix("T00:00:00.000Z")
        if kind == "boolean":
            return "true" if value else "false"
        if kind == "rows":
            return orjson.dumps(value).decode() if value else ""
        if kind == "texts":
            return join_texts(value)
        return str(value)

    # --- In ----------------------------------------------------------------------------------------------------------

    def parse(self, column: Column, text: str) -> object:
        """Return the value of a cell's text; raises CellError. The caller resolves references."""
        field = column.field
        if column.kind not in ("text", "texts"):
            text = text.strip()
        if text == "":
            return field.empty
        if column.kind == "choice":
            text = _word(column, text)
        try:
            return field.read(self._json(column.kind, text))
        except wire.WireError as fault:
            at = f"{fault.path.lstrip('.')}: " if fault.path else ""
            raise CellError(f"{at}{_DATES if fault.code == 'InvalidDate' else fault.message}") from fault
        except wire.CompositeError as several:
            raise CellError(" ".join(f"{fault.path}: {fault.message}" for fault in several.faults)) from several

    def _json(self, kind: str, text: str) -> object:
        if kind == "number":
            return _decimal(text)
        if kind == "integer":
            number = _decimal(text)
            if number != number.to_integral_value() or abs(number) >= 10**12:
                raise CellError(gettext("This must be a whole number."))
            return int(number)
        if kind == "boolean":
            spoken = {**SPOKEN, gettext("Yes").casefold(): True, gettext("No").casefold(): False}
            value = spoken.get(text.casefold(), read_boolean(text))
            if value is None:
                raise CellError(gettext("This must be true or false."))
            return value
        if kind == "rows":
            try:
                return _ROWS.decode(text)
            except (msgspec.DecodeError, RecursionError, ValueError, ArithmeticError) as error:
                raise CellError(
                    gettext("This must be the rows as an export writes them: a JSON array of objects.")
                ) from error
        return split(text) if kind == "texts" else text

    @staticmethod
    def entries(text: str) -> list[str]:
        """Return the entries of a cell that contains a list; raises CellError."""
        return split(text)

    def resolve_rows(self, values: Sequence[dict[str, object]]) -> list[list[str]]:
        """Replace the ids inside child rows by the records; returns the faults of each record's values.

        One query per model that is referred to, for any number of records.
        """
        return [
            [f"{fault.field}: {fault.message}" for fault in faults] for faults in resolve_all(values, self.serializer)
        ]

    def outside(
        self, model: type[models.Model], rows_by_id: Mapping[uuid.UUID, models.Model], site_id: uuid.UUID
    ) -> set[uuid.UUID]:
        """Return those loaded records that no record of the site may refer to, as if their ids did not exist."""
        return outside(self.serializer, model, rows_by_id, site_id)

    def faults(self, error: ValidationError) -> list[tuple[str, str]]:
        """Return the faults of a check or an action: each one's place in wire names, which can be empty, and text."""
        return [(fault.field, fault.message) for fault in errors.faults_of(error, self.wire_name)]


_DATES = _("Write a date as 2024-05-31, or a time as 2024-05-31 08:30.")
_COMMA = re.compile(r"[+-]?\d+,(\d{1,2}|\d{4,})", re.ASCII)
"""A number with a comma before its decimals; three digits after a comma could be thousands, so they are refused."""


def _word(column: Column, text: str) -> str:
    """Return the word of a choice that a cell holds, or what people call it, in any case; raises CellError."""
    labels = column.labels
    words = {**{label.casefold(): word for word, label in labels.items()}, **{word.casefold(): word for word in labels}}
    word = words.get(text.casefold())
    if word is None:
        raise CellError(gettext("Allowed are: %(words)s.") % {"words": ", ".join(labels.values())})
    return word


def _decimal(text: str) -> Decimal:
    if _COMMA.fullmatch(text):
        text = text.replace(",", ".")
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not text.isascii() or "_" in text or not number.is_finite() or len(text) > 60 or abs(number.adjusted()) > 30:
        raise CellError(gettext("This must be a number, with a point before its decimals, such as 12.5."))
    return number


def join_texts(entries: Sequence[str]) -> str:
    """Return a list of texts as one cell: separated by semicolons, or as JSON if that could not be read back."""
    joined_text = "; ".join(entries)
    return (
        joined_text
        if split_plain(joined_text) == list(entries) and not joined_text.startswith("[")
        else orjson.dumps(entries).decode()
    )


def split_plain(text: str) -> list[str]:
    """Return the entries of a text in which semicolons or line breaks separate them."""
    parts = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", ";").split(";")
    return [part.strip() for part in parts if part.strip()]


def split(text: str) -> list[str]:
    """Return the entries of a cell that contains a list of texts; raises CellError."""
    if not text.lstrip().startswith("["):
        return split_plain(text)
    try:
        entries = orjson.loads(text)
    except orjson.JSONDecodeError:
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise CellError(gettext("This begins like a JSON array, but is not an array of texts."))
    return entries
