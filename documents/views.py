"""The document endpoint: reads stop here, writes call the actions."""

import uuid

from django.db.models import Q
from django.http import HttpResponse
from rest_framework.request import Request

from documents import actions
from documents.models import DocumentVersion
from documents.serializers import DocumentSerializer, DocumentVersionSerializer, UpdateDocumentSerializer
from records.accounts import access
from records.files.addresses import FileAddresses
from records.files.bodies import FileViewSet
from records.operations import errors, lists, values
from records.operations.lists import ListRules
from records.operations.plans import Shape

DOCUMENTS = ListRules(search=("name", "description", "file_name"))
ADDRESSES = FileAddresses(
    "document",
    DocumentVersion,
    lambda user, version: access.may(user, version.site_id, "documents.view_document"),
)


class DocumentViewSet(FileViewSet):
    """Documents and their versions at the caller's site."""

    addresses = ADDRESSES

    def add_document(self, request: Request) -> HttpResponse:
        """Add a document with its first version; it waits for its reviewers and approvers, or is in force at once."""
        found = self.body_with_file(DocumentSerializer)
        content = found.pop("file_content")
        document = self.acting(actions.add_document, self.site_id, found, content, author=self.author)
        return self.written(document.pk, document.revision)

    def update_document(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Store the file as the document's next version; earlier versions stay and can be read."""
        found = self.body_with_file(UpdateDocumentSerializer)
        content = found.pop("file_content")
        document = self.acting(
            actions.update_document,
            self.site_id,
            id,
            found,
            content,
            author=self.author,
            precondition=self.precondition,
        )
        return self.written(document.pk, document.revision)

    def get_document(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one document; FileContent and FileURL are of its newest version, and empty unless asked for."""
        return self.with_file(DocumentSerializer, id, self.version_of)

    def get_document_version(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one version, by its own Id or by its document's Id and number."""
        if "version" in self.query:
            number = values.read_integer(self.query["version"][-1], 1, values.INTEGER_LIMIT)
            if number is None:
                raise lists.invalid("version", f"This must be a whole number between 1 and {values.INTEGER_LIMIT}.")
            versions = DocumentVersion.objects.filter(Q(document_id=id) | Q(pk=id), site_id=self.site_id)
            key = versions.filter(version=number).values_list("pk", flat=True).first()
            if key is None:
                raise errors.not_found()
            id = key
        return self.with_file(DocumentVersionSerializer, id, self.version_of)

    def get_document_list(self, request: Request) -> HttpResponse:
        """List the site's documents, never with content."""
        return self.listing(DocumentSerializer, DOCUMENTS)

    def version_of(self, shape: Shape) -> DocumentVersion:
        """Return the version that a document's shape, or its own, describes."""
        document_id = str(shape.get("DocumentId", shape["Id"]))
        return DocumentVersion.objects.get(document_id=document_id, version=shape["Version"], site_id=self.site_id)
