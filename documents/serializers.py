"""The wire shapes of documents and their versions, and the same shapes for whoever sees only what is in force."""

from functools import cache

from documents.models import (
    FACTS,
    FIRST_VERSION,
    LAST_VERSION,
    Document,
    DocumentVersion,
    Signature,
    Signer,
    shown_in_force,
)
from records.files.bodies import FileContentField
from records.operations.fields import IntegerField, OnDemandField
from records.operations.plans import ReadPlan
from records.operations.serializers import ChildRows, WireSerializer, source_of


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
        private_permission = Document.SEEN_WHOLE_WITH
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
        fields: tuple[str, ...] = (
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
        private_permission = Document.SEEN_WHOLE_WITH


class SignerSerializer(WireSerializer):
    """Who is asked to sign which version; part of no answer, it tells whose own a version is."""

    class Meta:
        model = Signer
        fields = ("VersionId", "UserId")


class VersionInForceSerializer(DocumentVersionSerializer):
    """A version with its signers, for a caller who sees it only where it is in force or the caller's own."""

    Signer = ChildRows(SignerSerializer, source_name="signers", read_only=True, required=None)

    class Meta(DocumentVersionSerializer.Meta):
        fields: tuple[str, ...] = (*DocumentVersionSerializer.Meta.fields, "Signer")


class DocumentInForceSerializer(DocumentSerializer):
    """A document as it is in force: the file fields describe that version, not a newer one on its way."""

    Signer = ChildRows(SignerSerializer, source_name="signers", read_only=True, required=None)

    class Meta(DocumentSerializer.Meta):
        fields = (*DocumentSerializer.Meta.fields, "Signer")

    @classmethod
    def plan(cls) -> ReadPlan:
        """Return the plan, with the facts of the version in force, or of the newest where none is."""
        return _in_force_plan()


@cache
def _in_force_plan() -> ReadPlan:
    plan, shown = super(DocumentInForceSerializer, DocumentInForceSerializer).plan(), shown_in_force()
    for name, field in DocumentInForceSerializer.wire_fields().items():
        if (source := source_of(name, field)) in FACTS:
            plan.show_instead(name, shown[f"shown_{source}"])
    return plan
