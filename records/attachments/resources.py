"""The export of the list of attachments. There is no import: files are attached on the pages of their records."""

from records.attachments.models import Attachment
from records.attachments.serializers import AttachmentSerializer
from records.backoffice.transfer.about import AboutResource
from records.backoffice.transfer.registry import transferable
from records.operations.tables import WireTable


@transferable
class AttachmentResource(AboutResource):
    """The export of the data of each attachment; its file is downloaded from its page."""

    model = Attachment
    table = WireTable(AttachmentSerializer, without=("FileContent", "FileURL"))
