"""The document endpoint. Reads are handled here; writes call the actions."""

import uuid
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import Any

from django.db import models
from django.db.models import Q, Subquery
from django.http import HttpResponse
from rest_framework.request import Request

from documents import actions
from documents.models import IN_FORCE, Document, DocumentVersion
from documents.serializers import (
    DocumentInForceSerializer,
    DocumentSerializer,
    DocumentVersionSerializer,
    UpdateDocumentSerializer,
    VersionInForceSerializer,
)
from documents.visibility import may_read
from records.files.addresses import FileAddresses
from records.files.bodies import FileViewSet
from records.files.names import check_file_name
from records.operations import queries, values
from records.operations.lists import ListRules
from records.operations.plans import KeyQuery, ReadPlan, Shape
from records.operations.serializers import WireSerializer
from records.operations.viewsets import Check
from records.sites.writing import Values

DOCUMENTS = ListRules(search=("name", "description", "file_name"))
DOCUMENTS_IN_FORCE = ListRules(search=("name", "description", "shown_file_name"))
ADDRESSES = FileAddresses("document", DocumentVersion, may_read)
AS_IN_FORCE: dict[type[WireSerializer], type[WireSerializer]] = {
    DocumentSerializer: DocumentInForceSerializer,
    DocumentVersionSerializer: VersionInForceSerializer,
}
"""The serializers for a caller without the permission `documents.view_pending_version`."""

_SITE, _ID, _NUMBER = uuid.uuid4(), uuid.uuid4(), 1_907_348_291
"""The placeholders in the query for the key of a version."""


@cache
def _numbered() -> Subquery:
    """Return the query for the key of the version with a number, given its document's Id or its own."""
    versions = DocumentVersion.objects.at(_SITE).filter(Q(document_id=_ID) | Q(pk=_ID), version=_NUMBER)
    return Subquery(versions.order_by().values("pk")[:1])


class DocumentViewSet(FileViewSet):
    """Documents and their versions at the caller's site."""

    addresses = ADDRESSES

    def checks_of_action(self, record: Any, values: Values, faulty: Collection[str]) -> list[Check]:
        """Return the checks of the file's name and of the approvers."""
        return [partial(check_file_name, values), partial(actions.check_approvers, record, values)]

    def add_document(self, request: Request) -> HttpResponse:
        """Add a document with its first version, which waits for its reviewers and approvers or is in force at once."""
        body = self.body_with_file(DocumentSerializer)
        content = body.pop("file_content")
        document = self.call_action(actions.add_document, self.site_id, body, content, author=self.author)
        return self.write_response(document.pk, document.revision)

    def update_document(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Store the file as the document's next version; earlier versions are kept and can still be read."""
        body = self.body_with_file(UpdateDocumentSerializer)
        content = body.pop("file_content")
        document = self.call_action(
            actions.update_document,
            self.site_id,
            id,
            body,
            content,
            author=self.author,
            precondition=self.precondition,
        )
        return self.write_response(document.pk, document.revision)

    def get_document(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one document; FileContent and FileURL belong to its newest version and are empty unless asked for.

        Callers below Manager see the version in force; for them, a document without a version in force does not exist.
        A caller who uploaded or signs a newer version can read that version with GetDocumentVersion.
        """
        return self.with_file(self.serializer_for(DocumentSerializer), id, self.version_of)

    def get_document_version(self, request: Request, id: uuid.UUID) -> HttpResponse:
        """Read one version, by its own Id or by its document's Id and number.

        For callers below Manager, only the version in force and versions that they uploaded or are asked to sign exist.
        """
        if "version" in self.query:
            number = values.read_integer(self.query["version"][-1], 1, values.INTEGER_LIMIT)
            if number is None:
                raise queries.invalid("version", f"This must be a whole number between 1 and {values.INTEGER_LIMIT}.")
            ids = {_SITE: self.site_id, _ID: id, _NUMBER: number}
            return self.with_file(
                self.serializer_for(DocumentVersionSerializer),
                KeyQuery("version", _numbered(), ids),
                self.version_of,
            )
        return self.with_file(self.serializer_for(DocumentVersionSerializer), id, self.version_of)

    def get_document_list(self, request: Request) -> HttpResponse:
        """List the site's documents, always without file content; callers below Manager see the versions in force."""
        rules = DOCUMENTS if self.sees_all else DOCUMENTS_IN_FORCE
        return self.listing(self.serializer_for(DocumentSerializer), rules)

    # --- Callers who see only versions in force ---------------------------------------------------------------------

    @property
    def sees_all(self) -> bool:
        """Return whether the caller may see versions that are not in force."""
        return self.caller.may(Document.SEEN_WHOLE_WITH)

    def serializer_for(self, serializer: type[WireSerializer]) -> type[WireSerializer]:
        """Return the serializer whose shape the caller sees."""
        return serializer if self.sees_all else AS_IN_FORCE[serializer]

    def fetch_one(
        self, plan: ReadPlan, records: Callable[[], models.QuerySet[Any, Any]], key: uuid.UUID | KeyQuery
    ) -> Sequence[Any] | None:
        """Return one record as a tuple if it exists for the caller, or None."""
        row = super().fetch_one(plan, records, key)
        if row is None or self.sees_all or plan.model is Document:
            return row
        shape = plan.show(row)
        return row if self.is_visible(shape, shape) else None

    def narrow(self, shape: Shape) -> Shape:
        """Return a document's data without the versions that do not exist for the caller."""
        if "Signer" not in shape:
            return shape
        result = {name: value for name, value in shape.items() if name != "Signer"}
        if "DocumentVersion" in shape:
            result["DocumentVersion"] = [line for line in shape["DocumentVersion"] if self.is_visible(line, shape)]
        return result

    def is_visible(self, version: Shape, holder: Shape) -> bool:
        """Return whether a version is in force or the caller's own; `holder` is the data that names the signers."""
        caller = str(self.caller.user_id)
        signer = {"VersionId": str(version["Id"]), "UserId": caller}
        return version["RecordStatus"] in IN_FORCE or str(version["CreatedBy"]) == caller or signer in holder["Signer"]

    def version_of(self, shape: Shape) -> DocumentVersion:
        """Return the version in the data of a document or of a version."""
        document_id = str(shape.get("DocumentId", shape["Id"]))
        return DocumentVersion.objects.at(self.site_id).get(document_id=document_id, version=shape["Version"])
