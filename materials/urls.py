"""The operations of the materials endpoint. Start reading here."""

from django.urls import register_converter

from materials import examples, views
from materials.paths import AnyText
from materials.serializers import MaterialResult, MaterialSerializer
from materials.upserts import MOST
from records.operations.error_handlers import answer_below
from records.operations.operation import MANAGER, READER, Operation, Parameter, operation_urls, permits
from records.operations.schema import WriteResult

register_converter(AnyText, "any_text")
answer_below("materials", views.outside)

permits("materials.change_material", MANAGER)
permits("materials.archive_material", MANAGER)

SITE = Parameter("siteId", "id", description="The site whose materials are meant.", required=True, filters=False)

urlpatterns = operation_urls(
    views.MaterialViewSet,
    Operation(
        method="POST",
        name="PostMaterial",
        permission="materials.add_material",
        role=MANAGER,
        route="/",
        request=MaterialSerializer,
        response=WriteResult,
        each=MaterialResult,
        most=MOST,
        parameters=(SITE,),
        examples=examples.POST_MATERIAL,
    ),
    Operation(
        method="GET",
        name="GetListOfMaterial",
        permission="materials.view_material",
        role=READER,
        route="/",
        many=True,
        response=MaterialSerializer,
        parameters=(SITE, Parameter("externalId", separable=True)),
        examples=examples.GET_LIST_OF_MATERIAL,
    ),
    Operation(
        method="GET",
        name="GetMaterialById",
        permission="materials.view_material",
        role=READER,
        route="/<any_text:id>",
        takes_id=True,
        response=MaterialSerializer,
        parameters=(SITE,),
        examples=examples.GET_MATERIAL_BY_ID,
    ),
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
