"""The column with the folded copy of a name or code, so that both databases ignore case when they compare it."""

import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.lookups import Contains, In, StartsWith
from django.db.models.sql.compiler import SQLCompiler

from records.sites.text import NAME, fold, normalise


class FoldedField(models.CharField):  # type: ignore[type-arg]
    """The folded copy of another text column, set by validation and again when the row is stored.

    SQLite's LOWER handles ASCII only and PostgreSQL's depends on the collation; a text folded here is the same in both.
    The column is longer than its source, because folding can lengthen a text (ß becomes ss). Code that calls `update()`
    must set it itself.
    """

    is_folded = True

    def __init__(self, source: str = "", **kwargs: Any) -> None:
        self.source = source
        kwargs.setdefault("max_length", 3 * NAME)
        kwargs.setdefault("default", "")
        kwargs.setdefault("editable", False)
        super().__init__(**kwargs)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """Return what a migration needs to create the field."""
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "source": self.source}

    def clean(self, value: object, model_instance: models.Model | None) -> str:
        """Return the folded source instead of the column's present value, so that constraints check the new text."""
        return self._key(model_instance)

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """Return the folded source, and set it on the instance."""
        key = self._key(model_instance)
        setattr(model_instance, self.attname, key)
        return key

    def _key(self, model_instance: models.Model | None) -> str:
        try:
            return fold(normalise(getattr(model_instance, self.source) or ""))
        except ValidationError:
            # The source's own validation refuses this text; here it only has to become something to search for.
            return ""


@FoldedField.register_lookup
class FoldedStartsWith(StartsWith):
    """`startswith` as a range in binary order, so that SQLite can use an index too (its LIKE never uses one)."""

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_extra: object
    ) -> tuple[str, list[Any]]:
        """Return the range from the beginning itself up to the last text that begins so."""
        if not isinstance(self.rhs, str):
            sql, params = super().as_sql(compiler, connection)
            return sql, [*params]
        column, params = self.process_lhs(compiler, connection)
        return f"({column} >= %s AND {column} < %s)", [*params, self.rhs, *params, self.rhs + chr(sys.maxunicode)]


@FoldedField.register_lookup
class FoldedWholeIn(In):
    """The lookup `whole_in` for a column that is already folded: one of the values, which an index serves."""

    lookup_name = "whole_in"

    def get_prep_lookup(self) -> list[str]:
        """Return the folded values; blanks alone stay, because they do not mean the records without a value."""
        return [fold(str(text)) or str(text) for text in self.rhs]


@FoldedField.register_lookup
class FoldedWithin(Contains):
    """The lookup `within` for a column that is already folded."""

    lookup_name = "within"

    def get_prep_lookup(self) -> str:
        """Return the folded value."""
        return fold(str(self.rhs))

    def get_rhs_op(self, connection: Any, rhs: str) -> str:
        """Return the comparison as `contains` writes it."""
        return connection.operators["contains"] % rhs

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_extra: object
    ) -> tuple[str, list[Any]]:
        """Return a plain search for the text; SQLite's LIKE would ignore the case of each letter once more."""
        column, params = self.process_lhs(compiler, connection)
        return f"INSTR({column}, %s) > 0", [*params, self.rhs]
