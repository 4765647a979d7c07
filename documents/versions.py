"""Adds versions and changes their status; the caller of each function must hold the lock of the document's row."""

import uuid
from collections.abc import Sequence

from django.db.models import F
from django.utils.translation import gettext

from documents import notices
from documents.models import IN_FORCE, LAST_VERSION, Document, DocumentVersion, Duty, Signer, Status
from records.accounts.models import User
from records.files.storage import StoredFile
from records.history.inserts import insertions, update_of
from records.history.trail import now
from records.sites.text import fault_at
from records.sites.values import LockedContent

AWAITING = (Status.AWAITING_REVIEW, Status.AWAITING_APPROVAL, Status.AWAITING_CHANGE)


def first_status(reviewers: Sequence[User], approvers: Sequence[User]) -> Status:
    """Return the first status of a new version: awaiting review or approval, or issued unsigned (DECISIONS 5)."""
    if reviewers:
        return Status.AWAITING_REVIEW
    return Status.AWAITING_APPROVAL if approvers else Status.ISSUED


def next_number(document: Document) -> int:
    """Return the last number + 1; the caller holds the document's lock. Raises ValidationError at LAST_VERSION."""
    if document.version >= LAST_VERSION:
        text = gettext("A document cannot have more versions than number %(last_version)s.") % {
            "last_version": LAST_VERSION
        }
        raise fault_at("version", text, "InvalidValue")
    return document.version + 1


def copy_newest_version(document: Document, number: int, file: StoredFile, status: Status) -> None:
    """Copy the data of the newest version to the document; the caller saves it."""
    document.version = number
    document.record_status = status
    document.file_size, document.file_hash = file.size, file.sha256
    if status in IN_FORCE:
        document.effective_version = number


def new_version(
    document: Document,
    file: StoredFile,
    *,
    author_id: uuid.UUID | None,
    reviewers: Sequence[User],
    approvers: Sequence[User],
) -> tuple[DocumentVersion, list[Signer]]:
    """Return the version that the document describes, with its signers; the caller stores them."""
    status = Status(document.record_status)
    version = DocumentVersion(
        site_id=document.site_id,
        document=document,
        version=document.version,
        record_status=status,
        in_force_since=now() if status in IN_FORCE else None,
        file_type=document.file_type,
        file_name=document.file_name,
        file_size=file.size,
        file_hash=file.sha256,
        path=file.path,
        created_by_id=author_id,
    )
    signers = [
        Signer(document=document, version=version, user=user, duty=duty, idx=idx)
        for duty, users in ((Duty.APPROVE, approvers), (Duty.REVIEW, reviewers))
        for idx, user in enumerate(users)
    ]
    return version, signers


def replace_versions(document: Document, version: DocumentVersion, signers: list[Signer]) -> None:
    """Store a new version of a document that is being changed, and supersede the versions that it replaces.

    Any newer file supersedes a version that waits for signatures or for a change. The version in force is superseded
    only by a version that itself comes into force (DECISIONS 5).
    """
    rows, present_signers = (list(LockedContent.rows(document, relation)) for relation in ("versions", "signers"))
    statuses = (*AWAITING, *(IN_FORCE if version.record_status in IN_FORCE else ()))
    superseded_rows = [row for row in rows if row.record_status in statuses]
    for row in superseded_rows:
        row.record_status, row.revision = Status.SUPERSEDED, row.revision + 1
    statements = [*map(update_of, superseded_rows), *insertions([version])]
    LockedContent.put(document, "versions", [*rows, version], statements, [version])
    LockedContent.put(
        document, "signers", [*present_signers, *signers], insertions(signers), [signer.user for signer in signers]
    )


def supersede(document: Document, statuses: Sequence[Status]) -> None:
    """Set the status of the document's versions with one of these statuses to Superseded."""
    versions = DocumentVersion.objects.filter(document=document, record_status__in=statuses)
    versions.update(record_status=Status.SUPERSEDED, revision=F("revision") + 1)


def set_status(document: Document, version: DocumentVersion, status: Status) -> None:
    """Set a version's status, and update the data that the document shows.

    A version that comes into force first supersedes the previous one in the same transaction, because only one may be
    in force. Sets the document's columns; the caller saves it.
    """
    if status in IN_FORCE:
        supersede(document, IN_FORCE)
        document.effective_version = version.version
        version.in_force_since = now()
    version.record_status = status
    version.revision += 1
    version.save(update_fields=["record_status", "in_force_since", "revision"])
    if version.version == document.version:
        document.record_status = status
    notices.notify(version)


def increase_revision(version: DocumentVersion) -> None:
    """Increase the version's revision, which is its ETag, because its signers changed."""
    DocumentVersion.objects.filter(pk=version.pk).update(revision=F("revision") + 1)
    version.revision += 1
