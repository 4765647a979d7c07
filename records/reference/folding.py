"""The column that keeps a name or code folded, so that both databases compare and search it without regard to case."""

import sys
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.lookups import Contains, Exact, StartsWith

from records.sites.text import NAME, fold, normalise


class FoldedField(models.CharField):  # type: ignore[type-arg]
    """The folded copy of another text column, set by validation and again on the way into the database.

    SQLite's LOWER knows ASCII only and PostgreSQL's depends on the collation; a key folded here is the same in both.
    Folding can make a text longer (ß becomes ss), hence the length. Rows changed by `update()` must set it themselves.
    """

    is_folded = True

    def __init__(self, source: str = "", **kwargs: Any) -> None:
        self.source = source
        kwargs.setdefault("max_length", 3 * NAME)
        kwargs.setdefault("default", "")
        kwargs.setdefault("editable", False)
        super().__init__(**kwargs)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """Return what a migration needs to make the field again."""
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "source": self.source}

    def clean(self, value: Any, model_instance: models.Model | None) -> str:
        """Return the folded source, whatever the column held, so that constraints are judged by it."""
        return self._key(model_instance)

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """Return the folded source and keep it on the instance."""
        key = self._key(model_instance)
        setattr(model_instance, self.attname, key)
        return key

    def _key(self, model_instance: models.Model | None) -> str:
        try:
            return fold(normalise(getattr(model_instance, self.source) or ""))
        except ValidationError:
            # The source's own validation refuses it; the key need only be something that can be looked for.
            return ""


@FoldedField.register_lookup
class FoldedStartsWith(StartsWith):
    """`startswith` that an index answers on SQLite too, whose LIKE never uses one: as a range of the binary order."""

    def as_sqlite(self, compiler: Any, connection: Any, **_extra: Any) -> tuple[str, list[Any]]:
        """Return the range from the beginning itself up to the last text that begins so."""
        if not isinstance(self.rhs, str):
            sql, given = super().as_sql(compiler, connection)
            return sql, [*given]
        column, params = self.process_lhs(compiler, connection)
        return f"({column} >= %s AND {column} < %s)", [*params, self.rhs, *params, self.rhs + chr(sys.maxunicode)]


@FoldedField.register_lookup
class FoldedWhole(Exact):
    """`whole`, as every text column has it, on a column that is folded already: plain equality, read from an index."""

    lookup_name = "whole"

    def get_prep_lookup(self) -> str:
        """Return the folded value."""
        return fold(str(self.rhs))

    def get_rhs_op(self, connection: Any, rhs: str) -> str:
        """Return the comparison as `exact` writes it."""
        return connection.operators["exact"] % rhs


@FoldedField.register_lookup
class FoldedWithin(Contains):
    """`within`, as every text column has it, on a column that is folded already."""

    lookup_name = "within"

    def get_prep_lookup(self) -> str:
        """Return the folded value."""
        return fold(str(self.rhs))

    def get_rhs_op(self, connection: Any, rhs: str) -> str:
        """Return the comparison as `contains` writes it."""
        return connection.operators["contains"] % rhs

    def as_sqlite(self, compiler: Any, connection: Any, **_extra: Any) -> tuple[str, list[Any]]:
        """Return a plain search of the text: SQLite's LIKE would fold once more, letter by letter."""
        column, params = self.process_lhs(compiler, connection)
        return f"INSTR({column}, %s) > 0", [*params, self.rhs]
