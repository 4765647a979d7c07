"""Operations of migrations that run while the service does, under the name by which migrations know them."""

from records.history.indexes import AddIndexInBackground, AddMissingField

__all__ = ("AddIndexInBackground", "AddMissingField")
