"""The operations of the materials endpoint. Start reading here."""

from django.urls import register_converter

from materials import examples, views
from materials.paths import AnyText
from materials.serializers import MaterialResult, MaterialSerializer
from materials.upserts import MOST_MATERIALS
from records.operations.operation import (
    MANAGER,
    Operation,
    Parameter,
    WriteResult,
    adds,
    declare_permission,
    lists,
    operation_urls,
    reads,
)

register_converter(AnyText, "any_text")

declare_permission("materials.change_material", MANAGER)
declare_permission("materials.archive_material", MANAGER)

SITE = Parameter("siteId", "id", description="The site whose materials are meant.", required=True, filters=False)

urlpatterns = operation_urls(
    views.MaterialViewSet,
    adds(
        "PostMaterial",
        MANAGER,
        MaterialSerializer,
        examples.POST_MATERIAL,
        SITE,
        route="/",
        entry_response=MaterialResult,
        most_entries=MOST_MATERIALS,
    ),
    lists(
        "GetListOfMaterial",
        MaterialSerializer,
        examples.GET_LIST_OF_MATERIAL,
        SITE,
        Parameter("externalId", separable=True),
        route="/",
    ),
    reads("GetMaterialById", MaterialSerializer, examples.GET_MATERIAL_BY_ID, SITE, route="/<any_text:id>"),
    Operation(
        method="DELETE",
        name="DeleteMaterial",
        permission="materials.archive_material",
        role=MANAGER,
        route="/<any_text:id>",
        takes_id=True,
        response=WriteResult,
        parameters=(
            SITE,
            Parameter("reasonForChange", description="Why it is archived; kept in the history.", filters=False),
        ),
        examples=examples.DELETE_MATERIAL,
    ),
)
