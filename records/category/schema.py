"""How the lists differ from records in the OpenAPI document: they are sorted by name and lie in no folder."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from records.operations.schema import OperationSchema

SORT = OpenApiParameter("sort", OpenApiTypes.STR, description="A field of the row; usually Name.")


class CategorySchema(OperationSchema):
    """Describes a list's operation by its row."""

    def get_override_parameters(self) -> list[Any]:
        """Return the row's parameters and the list parameters that apply."""
        kept = [known for known in super().get_override_parameters() if known.name != "entityFolderId"]
        return [SORT if known.name == "sort" else known for known in kept]
