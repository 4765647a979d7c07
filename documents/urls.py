"""The operations of the document endpoint and the address that serves files. Start reading here."""

from documents import examples
from documents.models import Document, Status
from documents.serializers import DocumentSerializer, DocumentVersionSerializer, UpdateDocumentSerializer
from documents.views import ADDRESSES, DocumentViewSet
from records.files.bodies import SWITCHES
from records.operations.operation import (
    MANAGER,
    Parameter,
    adds,
    declare_permission,
    lists,
    operation_urls,
    reads,
    updates,
)

declare_permission("documents.archive_document", MANAGER)
declare_permission("documents.replace_signer", MANAGER)
declare_permission("documents.view_reading", MANAGER)
declare_permission(Document.SEEN_WHOLE_WITH, MANAGER)

urlpatterns = [
    *operation_urls(
        DocumentViewSet,
        adds("AddDocument", MANAGER, DocumentSerializer, examples.ADD_DOCUMENT),
        updates("UpdateDocument", MANAGER, UpdateDocumentSerializer, examples.UPDATE_DOCUMENT),
        reads("GetDocument", DocumentSerializer, examples.GET_DOCUMENT, *SWITCHES),
        reads(
            "GetDocumentVersion",
            DocumentVersionSerializer,
            examples.GET_DOCUMENT_VERSION,
            Parameter("version", "integer", description="With a document's Id: which of its versions."),
            *SWITCHES,
            permission="documents.view_document",
        ),
        lists(
            "GetDocumentList",
            DocumentSerializer,
            examples.GET_DOCUMENT_LIST,
            Parameter("recordStatus", "choice", choices=Status.values),
            Parameter("name"),
            Parameter("fileType"),
        ),
    ),
    *ADDRESSES.urls(),
]
