"""How the lists differ from records in the OpenAPI document: they lie in no folder."""

from typing import Any

from records.operations.schema import OperationSchema


class CategorySchema(OperationSchema):
    """Describes a list's operation by its row."""

    def get_override_parameters(self) -> list[Any]:
        """Return the row's parameters and the list parameters that apply."""
        return [known for known in super().get_override_parameters() if known.name != "entityFolderId"]
