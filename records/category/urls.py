"""The operations of the category endpoint, one for each list of the registry; start reading here."""

from records.category import examples
from records.category.serializers import RatingSerializer, UserEntrySerializer
from records.category.views import (
    LIST_SERIALIZERS,
    CategoryViewSet,
    FolderEntrySerializer,
    SiteEntrySerializer,
)
from records.operations.operation import SITE_ADMINISTRATOR, Parameter, declare_permission, lists, operation_urls, reads
from records.reference.lists import LISTS, SITE_LISTS
from records.sites.models import FOLDER_ENTITIES

NAME_OR_CODE = (Parameter("name"), Parameter("code"))
ENTRY_NAME_OR_CODE = (Parameter("name", lookup="name_key"), Parameter("code", lookup="code_key"))

# A site's own lists and folders are its administrator's; the shared lists are a superuser's.
for _model in SITE_LISTS.values():
    declare_permission(f"reference.add_{_model._meta.model_name}", SITE_ADMINISTRATOR)
    declare_permission(f"reference.change_{_model._meta.model_name}", SITE_ADMINISTRATOR)
declare_permission("sites.add_entityfolder", SITE_ADMINISTRATOR)
declare_permission("sites.change_entityfolder", SITE_ADMINISTRATOR)

urlpatterns = operation_urls(
    CategoryViewSet,
    *(
        lists(
            f"Get{name}List",
            LIST_SERIALIZERS[name],
            examples.GET_LIST[name],
            *ENTRY_NAME_OR_CODE,
        )
        for name, model in LISTS.items()
    ),
    reads("GetRating", RatingSerializer, examples.GET_RATING),
    lists(
        "GetFolderList",
        FolderEntrySerializer,
        examples.GET_FOLDER_LIST,
        *NAME_OR_CODE,
        Parameter("entity", "choice", choices=[str(entity.value) for entity in FOLDER_ENTITIES]),
    ),
    lists("GetSiteList", SiteEntrySerializer, examples.GET_SITE_LIST, *NAME_OR_CODE),
    lists("GetUserList", UserEntrySerializer, examples.GET_USER_LIST, *NAME_OR_CODE),
)
