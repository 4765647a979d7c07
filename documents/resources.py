"""The export of what is known of documents; files come in through the document's own pages, one by one."""

from typing import Any

from documents.models import Document
from documents.serializers import DocumentInForceSerializer, DocumentSerializer
from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.operations.tables import WireTable

LEFT_OUT = ("FileContent", "FileURL", "DocumentVersion", "Signer")


@transferable
class DocumentResource(RecordResource):
    """Documents, without their files."""

    model = Document
    table = WireTable(DocumentSerializer, without=LEFT_OUT)
    in_force = WireTable(DocumentInForceSerializer, without=LEFT_OUT)
    can_import = False

    def __init__(self, **given: Any) -> None:
        """Prepare an export: of the facts in force for whoever sees no others."""
        super().__init__(**given)
        if not self.may(Document.SEEN_WHOLE_WITH):
            self.table = self.in_force  # type: ignore[misc]
