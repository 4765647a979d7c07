"""The operations of the category endpoint, one for each list of the registry; start reading here."""

from records.category import examples
from records.category.serializers import RatingSerializer, UserEntrySerializer
from records.category.views import (
    LIST_SERIALIZERS,
    CategoryViewSet,
    FolderEntrySerializer,
    SiteEntrySerializer,
)
from records.operations.operation import READER, SITE_ADMINISTRATOR, Operation, Parameter, operation_urls, permits
from records.reference.lists import LISTS, SITE_LISTS
from records.sites.models import FILED

NAME_OR_CODE = (Parameter("name"), Parameter("code"))
ENTRY_NAME_OR_CODE = (Parameter("name", lookup="name_key"), Parameter("code", lookup="code_key"))

# A site's own lists and folders are its administrator's; the shared lists are a superuser's.
for _model in SITE_LISTS.values():
    permits(f"reference.add_{_model._meta.model_name}", SITE_ADMINISTRATOR)
    permits(f"reference.change_{_model._meta.model_name}", SITE_ADMINISTRATOR)
permits("sites.add_entityfolder", SITE_ADMINISTRATOR)
permits("sites.change_entityfolder", SITE_ADMINISTRATOR)

urlpatterns = operation_urls(
    CategoryViewSet,
    *(
        Operation(
            method="GET",
            name=f"Get{name}List",
            permission=f"reference.view_{model._meta.model_name}",
            role=READER,
            many=True,
            response=LIST_SERIALIZERS[name],
            parameters=ENTRY_NAME_OR_CODE,
            examples=examples.GET_LIST[name],
        )
        for name, model in LISTS.items()
    ),
    Operation(
        method="GET",
        name="GetRating",
        permission="reference.view_rating",
        role=READER,
        takes_id=True,
        response=RatingSerializer,
        examples=examples.GET_RATING,
    ),
    Operation(
        method="GET",
        name="GetFolderList",
        permission="sites.view_entityfolder",
        role=READER,
        many=True,
        response=FolderEntrySerializer,
        parameters=(*NAME_OR_CODE, Parameter("entity", "choice", choices=[str(entity.value) for entity in FILED])),
        examples=examples.GET_FOLDER_LIST,
    ),
    Operation(
        method="GET",
        name="GetSiteList",
        permission="sites.view_site",
        role=READER,
        many=True,
        response=SiteEntrySerializer,
        parameters=NAME_OR_CODE,
        examples=examples.GET_SITE_LIST,
    ),
    Operation(
        method="GET",
        name="GetUserList",
        permission="accounts.view_user",
        role=READER,
        many=True,
        response=UserEntrySerializer,
        parameters=NAME_OR_CODE,
        examples=examples.GET_USER_LIST,
    ),
)
