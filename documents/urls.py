"""The operations of the document endpoint and the address that serves files. Start reading here."""

from documents import examples
from documents.models import Document, Status
from documents.serializers import DocumentSerializer, DocumentVersionSerializer, UpdateDocumentSerializer
from documents.views import ADDRESSES, DocumentViewSet
from records.files.bodies import SWITCHES
from records.operations.operation import MANAGER, READER, Operation, Parameter, operation_urls, permits
from records.operations.schema import WriteResult

permits("documents.archive_document", MANAGER)
permits("documents.replace_signer", MANAGER)
permits("documents.view_reading", MANAGER)
permits(Document.SEEN_WHOLE_WITH, MANAGER)

urlpatterns = [
    *operation_urls(
        DocumentViewSet,
        Operation(
            method="POST",
            name="AddDocument",
            examples=examples.ADD_DOCUMENT,
            permission="documents.add_document",
            role=MANAGER,
            request=DocumentSerializer,
            response=WriteResult,
        ),
        Operation(
            method="PUT",
            name="UpdateDocument",
            examples=examples.UPDATE_DOCUMENT,
            permission="documents.change_document",
            role=MANAGER,
            takes_id=True,
            request=UpdateDocumentSerializer,
            response=WriteResult,
        ),
        Operation(
            method="GET",
            name="GetDocument",
            examples=examples.GET_DOCUMENT,
            permission="documents.view_document",
            role=READER,
            takes_id=True,
            response=DocumentSerializer,
            parameters=SWITCHES,
        ),
        Operation(
            method="GET",
            name="GetDocumentVersion",
            examples=examples.GET_DOCUMENT_VERSION,
            permission="documents.view_document",
            role=READER,
            takes_id=True,
            response=DocumentVersionSerializer,
            parameters=(
                Parameter("version", "integer", description="With a document's Id: which of its versions."),
                *SWITCHES,
            ),
        ),
        Operation(
            method="GET",
            name="GetDocumentList",
            examples=examples.GET_DOCUMENT_LIST,
            permission="documents.view_document",
            role=READER,
            many=True,
            response=DocumentSerializer,
            parameters=(
                Parameter("recordStatus", "choice", choices=Status.values),
                Parameter("name"),
                Parameter("fileType"),
            ),
        ),
    ),
    *ADDRESSES.urls(),
]
