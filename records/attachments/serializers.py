"""The wire shape of attachments."""

from records.attachments.models import Attachment
from records.files.bodies import FileContentField
from records.operations.fields import OnDemandField
from records.operations.serializers import WireSerializer


class AttachmentSerializer(WireSerializer):
    """A file on a record; FileContent and FileURL are read when the caller asks for them (DECISIONS 13.22)."""

    FileContent = FileContentField(required=True)
    FileURL = OnDemandField(read_only=True)

    class Meta:
        model = Attachment
        fields = (
            "Id",
            "RecordId",
            "FindingId",
            "Name",
            "Description",
            "FileName",
            "FileType",
            "FileSize",
            "FileHash",
            "FileContent",
            "FileURL",
            "IsArchived",
            "Created",
            "CreatedBy",
        )
        required = ("RecordId", "FileName", "FileType", "FileContent")
        read_only = ("FileSize", "FileHash")
