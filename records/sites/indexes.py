"""Creating an index on a table that already has rows, under the name by which migrations know it."""

from records.history.indexes import AddIndexInBackground

__all__ = ("AddIndexInBackground",)
