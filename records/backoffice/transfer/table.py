"""What an import or export needs to know about the columns of a kind of record.

The serializers of the interface provide it: a room's resource has `table = WireTable(ItsSerializer)`
(records.operations.tables). These protocols connect the two rooms, so that neither imports the other.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from django.core.exceptions import ValidationError
from django.db import models


class Column(Protocol):
    """One column: its name, its label for people, the model's name of the field, and the kind of its cells."""

    @property
    def name(self) -> str:
        """Return the name in the interface, which a header may contain."""

    @property
    def label(self) -> str:
        """Return what people call the field, which a header may contain too."""

    @property
    def english_label(self) -> str:
        """Return the label of an English file, which is read in every language."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Return what people call each word of a choice, in the language of the reader; empty for other columns."""

    @property
    def source(self) -> str:
        """Return the model's name of the field."""

    @property
    def kind(self) -> str:
        """Return the kind of its cells: text, choice, date, number, integer, boolean, texts, id, reference(s), rows."""

    @property
    def target(self) -> type[models.Model] | None:
        """Return the model that a reference, or an id other than the record's own, points at."""

    @property
    def writable(self) -> bool:
        """Return whether an import sets it."""

    @property
    def required(self) -> bool:
        """Return whether a new record needs it."""

    @property
    def may_be_blank(self) -> bool:
        """Return whether a required column may be empty."""

    @property
    def private(self) -> bool:
        """Return whether users need the table's private permission to see it."""


class Table(Protocol):
    """The columns of a kind of record, and how their values are read from cells and written into them."""

    private_permission: str

    @property
    def columns(self) -> Mapping[str, Column]:
        """Return the columns by name, in the order of the wire."""

    @property
    def children(self) -> Mapping[str, "Table"]:
        """Return the tables of the child rows, by the names of their columns."""

    @property
    def ignored(self) -> Iterable[str]:
        """Return the names that a header may contain although they are not columns."""

    def column_of(self, header: str) -> Column | None:
        """Return the column of a header, which is its name or its label, in any case."""

    def refusal_of(self, header: str) -> str:
        """Return the message that refuses an unknown header."""

    def wire_name(self, name: str) -> str:
        """Return the name in a file of a model's field; `relation.field` for child rows."""

    def fetch(
        self, queryset: models.QuerySet[Any, Any], step: int, user_id: uuid.UUID | None, may: Callable[[str], bool]
    ) -> Iterator[dict[str, Any]]:
        """Yield the values of each record by column, without what does not exist for the user."""

    def text_of(self, kind: str, value: Any) -> str:
        """Return a value that is neither a number nor a reference as the text of a cell."""

    def parse(self, column: Any, text: str) -> Any:
        """Return the value of a cell's text; raises ValueError with a message."""

    def entries(self, text: str) -> list[str]:
        """Return the entries of a cell that contains a list; raises ValueError with a message."""

    def resolve_rows(self, values: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Replace the ids inside child rows by the records; returns the faults of each record's values."""

    def outside(
        self, model: type[models.Model], records: Mapping[uuid.UUID, models.Model], site_id: uuid.UUID
    ) -> set[uuid.UUID]:
        """Return those loaded records that no record of the site may refer to."""

    def faults(self, error: ValidationError) -> list[tuple[str, str]]:
        """Return the faults of a check or an action: each one's place in wire names, which can be empty, and text."""
