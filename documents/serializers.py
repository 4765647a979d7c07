"""The wire shapes of documents and their versions."""

from documents.models import FIRST_VERSION, LAST_VERSION, Document, DocumentVersion, Signature
from records.files.bodies import FileContentField
from records.operations.fields import IntegerField, OnDemandField
from records.operations.serializers import ChildRows, WireSerializer


class VersionLineSerializer(WireSerializer):
    """One version in a document's list of versions."""

    class Meta:
        model = DocumentVersion
        fields = (
            "Id",
            "Version",
            "FileName",
            "FileType",
            "FileSize",
            "FileHash",
            "RecordStatus",
            "Created",
            "CreatedBy",
        )


class UpdateDocumentSerializer(WireSerializer):
    """A document with its file: the body of UpdateDocument; the file becomes a new version."""

    FileContent = FileContentField(required=True, max_length=None)
    FileURL = OnDemandField(read_only=True)
    DocumentVersion = ChildRows(VersionLineSerializer, source_name="versions", read_only=True, required=None)

    class Meta:
        model = Document
        fields: tuple[str, ...] = (
            "Id",
            "SiteSequenceId",
            "RecordStatus",
            "Name",
            "Description",
            "Version",
            "EffectiveVersion",
            "FileType",
            "FileName",
            "FileSize",
            "FileHash",
            "FileContent",
            "FileURL",
            "EntityFolderId",
            "UserToReview",
            "UserToApprove",
            "UserToNotify",
            "DocumentVersion",
            "Created",
            "CreatedBy",
            "LastModified",
            "LastModifiedBy",
        )
        required = ("Name", "FileType", "FileName", "FileContent")
        read_only: tuple[str, ...] = ("RecordStatus", "Version", "EffectiveVersion", "FileSize", "FileHash")


class DocumentSerializer(UpdateDocumentSerializer):
    """A document; the file fields describe its newest version (DECISIONS 3)."""

    Version = IntegerField(min_value=FIRST_VERSION, max_value=LAST_VERSION, required=False)

    class Meta(UpdateDocumentSerializer.Meta):
        read_only = ("RecordStatus", "EffectiveVersion", "FileSize", "FileHash")


class SignatureSerializer(WireSerializer):
    """One signature under a version."""

    class Meta:
        model = Signature
        fields = ("UserId", "UserName", "Meaning", "Comment", "Date")


class DocumentVersionSerializer(WireSerializer):
    """One version of a document with its signatures."""

    FileContent = OnDemandField(read_only=True)
    FileURL = OnDemandField(read_only=True)
    Signature = ChildRows(SignatureSerializer, source_name="signatures", read_only=True, required=None)

    class Meta:
        model = DocumentVersion
        fields = (
            "Id",
            "DocumentId",
            "Version",
            "RecordStatus",
            "FileType",
            "FileName",
            "FileSize",
            "FileHash",
            "FileContent",
            "FileURL",
            "Signature",
            "Created",
            "CreatedBy",
        )
