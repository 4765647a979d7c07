"""The export of what is known of documents; files come in through the document's own pages, one by one."""

from documents.models import Document
from documents.serializers import DocumentSerializer
from records.backoffice.transfer.registry import transferable
from records.backoffice.transfer.resources import RecordResource
from records.operations.tables import WireTable


@transferable
class DocumentResource(RecordResource):
    """Documents, without their files."""

    model = Document
    table = WireTable(DocumentSerializer, without=("FileContent", "FileURL", "DocumentVersion"))
    can_import = False
