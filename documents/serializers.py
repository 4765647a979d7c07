"""The wire shapes of documents and their versions."""

from typing import Any

import msgspec
from django.conf import settings

from documents.content import EncodedFile, FileEmptyError, FileTooLargeError, NotBase64Error
from documents.models import FIRST_VERSION, LAST_VERSION, Document, DocumentVersion, Signature
from records.operations.errors import ApiError
from records.operations.fields import IntegerField, OnDemandField, WireError
from records.operations.serializers import ChildRows, WireSerializer


def too_large() -> ApiError:
    """Return the 413 for a file above the limit."""
    limit = settings.FILE_SIZE_LIMIT
    shown = f"{limit // 1024**2} MiB" if limit % 1024**2 == 0 else f"{limit} bytes"
    return ApiError(413, "PayloadTooLarge", f"FileContent: a file may have {shown} at most.")


class FileContentField(OnDemandField):
    """A file as strict base64 with padding; read from the body's undecoded JSON, so that it is never copied whole."""

    def read(self, value: Any) -> Any:
        """Return the EncodedFile; raises WireError, or the 413 judged before anything is decoded."""
        text = memoryview(value) if isinstance(value, msgspec.Raw) else memoryview(b"")
        if bytes(text[:1]) != b'"':
            raise WireError("InvalidValue", "This must be a string: the file as base64.")
        try:
            return EncodedFile(text[1:-1], settings.FILE_SIZE_LIMIT)
        except FileTooLargeError as error:
            raise too_large() from error
        except FileEmptyError as error:
            raise WireError("RequiredField", "The file is empty; a file must have content.") from error
        except NotBase64Error as error:
            raise WireError("InvalidBase64", "This is no base64 with padding, in the alphabet with + and /.") from error


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
    """A document, in the order of DECISIONS 3; the file fields describe its newest version."""

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
