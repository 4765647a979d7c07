"""The JSON shapes of documents and versions, also for callers who see only versions in force."""

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
from records.operations.serializers import STAMPS, ChildRows, WireSerializer, source_of


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
    """A document with its file, as the body of UpdateDocument; the file becomes a new version."""

    FileContent = FileContentField(required=True)
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
            *STAMPS,
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
    """One signature on a version."""

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
    """A person who is asked to sign a version. It is in no answer; it decides which versions are the caller's own."""

    class Meta:
        model = Signer
        fields = ("VersionId", "UserId")


class VersionInForceSerializer(DocumentVersionSerializer):
    """A version with its signers, for a caller who sees only versions in force and their own versions."""

    Signer = ChildRows(SignerSerializer, source_name="signers", read_only=True, required=None)

    class Meta(DocumentVersionSerializer.Meta):
        fields: tuple[str, ...] = (*DocumentVersionSerializer.Meta.fields, "Signer")


class DocumentInForceSerializer(DocumentSerializer):
    """A document with the version in force: the file fields describe that version instead of a newer one."""

    Signer = ChildRows(SignerSerializer, source_name="signers", read_only=True, required=None)

    class Meta(DocumentSerializer.Meta):
        fields = (*DocumentSerializer.Meta.fields, "Signer")

    @classmethod
    def plan(cls) -> ReadPlan:
        """Return the plan, with the data of the version in force, or of the newest version if none is in force."""
        return _in_force_plan()


@cache
def _in_force_plan() -> ReadPlan:
    plan, expressions = super(DocumentInForceSerializer, DocumentInForceSerializer).plan(), shown_in_force()
    for name, field in DocumentInForceSerializer.wire_fields().items():
        if (source := source_of(name, field)) in FACTS:
            plan.show_instead(name, expressions[f"shown_{source}"])
    return plan
