"""The export of documents. There is no import: files are uploaded on the pages of each document."""

from typing import Any

from documents.models import Document
from documents.serializers import DocumentInForceSerializer, DocumentSerializer
from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.operations.tables import WireTable

EXCLUDED = ("FileContent", "FileURL", "Signer")


@transferable
class DocumentResource(RecordResource):
    """The export of documents with their versions, without their files."""

    model = Document
    table = WireTable(DocumentSerializer, without=EXCLUDED)
    in_force = WireTable(DocumentInForceSerializer, without=(*EXCLUDED, "DocumentVersion"))
    can_import = False

    def __init__(self, **options: Any) -> None:
        """Prepare an export: users who may see only versions in force get the data of those."""
        super().__init__(**options)
        if not self.may(Document.SEEN_WHOLE_WITH):
            self.table = self.in_force  # type: ignore[misc]
