"""The writes to documents. Each is one transaction with its history; signing is in `documents.approvals`."""

import uuid
from collections.abc import Sequence
from typing import Any, Unpack

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

from documents import notices, versions
from documents.models import FIRST_VERSION, WAITING, Document
from records.accounts.models import User
from records.files.content import Incoming
from records.files.names import check_file_name
from records.files.storage import storing
from records.history.trail import Author, recording
from records.sites.models import Site
from records.sites.writing import (
    Precondition,
    Recorded,
    RecordNotFoundError,
    Values,
    adding,
    apply,
    archive_record,
    changing,
)

USERS = ("user_to_review", "user_to_approve", "user_to_notify")
SIGNERS = ("user_to_review", "user_to_approve")


def add_document(
    site_id: uuid.UUID, values: Values, content: Incoming, *, author: Author, operation: str = "AddDocument"
) -> Document:
    """Add a document with its first version, whose number is `version` (default 1).

    Raises ValidationError or StorageUnavailableError; nothing is stored in that case.
    """
    check_file_name(values)
    given = {**values}
    number = given.pop("version", None) or FIRST_VERSION
    document = Document(site_id=site_id)
    reviewers, approvers = given.get("user_to_review", []), given.get("user_to_approve", [])
    check_approvers(site_id, approvers)
    with storing(content) as file:
        versions.describe(document, number, file, versions.first_status(reviewers, approvers))
        with adding(document, given, author=author, operation=operation):
            versions.add_version(document, file, author_id=author.id, reviewers=reviewers, approvers=approvers)
    return document


def update_document(
    site_id: uuid.UUID,
    document_id: uuid.UUID,
    values: Values,
    content: Incoming,
    *,
    author: Author,
    operation: str = "UpdateDocument",
    reason: str = "",
    precondition: Precondition | None = None,
) -> Document:
    """Store a file as the document's next version, which gets the last number + 1 under the document's lock.

    Earlier versions are kept. Signers and notified users that are missing from `values` stay as they are. Raises
    RecordNotFoundError, ValidationError, StorageUnavailableError, or the error of the precondition.
    """
    known = Document.objects.at(site_id).filter(pk=document_id).first()
    if known is None:
        raise RecordNotFoundError
    if precondition is not None:
        precondition(known)
    check_file_name(values)
    with (
        storing(content) as file,
        changing(
            Document,
            site_id,
            document_id,
            author=author,
            operation=operation,
            reason=reason,
            precondition=precondition,
        ) as document,
    ):
        apply(document, values, in_order=USERS)
        reviewers, approvers = (
            list(dict.fromkeys(values[name])) if name in values else list(_ordered(document, name)) for name in SIGNERS
        )
        check_approvers(site_id, approvers)
        status = versions.first_status(reviewers, approvers)
        versions.describe(document, versions.next_number(document), file, status)
        document.clean_fields(exclude=["site", "entity_folder", "created_by", "last_modified_by"])
        versions.add_version(document, file, author_id=author.id, reviewers=reviewers, approvers=approvers)
    return document


def change_details(
    site_id: uuid.UUID,
    document_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "ChangeDetails",
    **recorded: Unpack[Recorded],
) -> Document:
    """Change a document's details without a new version (back-office only).

    The reviewers and approvers apply to the next version. While a version waits for its signers, they can only be
    replaced one by one with `approvals.replace_signer`. Raises RecordNotFoundError, ValidationError, or the error of
    the precondition.
    """
    with changing(Document, site_id, document_id, operation=operation, **recorded) as document:
        before = users_of(document)
        if document.record_status in WAITING:
            text = gettext("These people still have to sign a version. Use “Replace” on its page.")
            faults = {
                name: ValidationError(text, code="InvalidTransition")
                for name in SIGNERS
                if name in values and {user.pk for user in values[name]} != before[name]
            }
            if faults:
                raise ValidationError(faults)
        apply(document, values)
        check_approvers(site_id, list(_ordered(document, "user_to_approve")))
        if "must_read" in values:
            notices.notify_readers(document)
    return document


def archive_document(
    site_id: uuid.UUID, document_id: uuid.UUID, *, archived: bool, author: Author, reason: str
) -> Document:
    """Archive or restore a document, with a reason.

    After a restore, the signers of a waiting version are asked again by mail. Raises RecordNotFoundError.
    """
    with recording():
        document = archive_record(Document, site_id, document_id, archived=archived, author=author, reason=reason)
        if not archived:
            notices.requeue_notices(document)
    return document


def users_of(document: Document) -> dict[str, set[uuid.UUID]]:
    """Return the ids of the users on the document's three lists; one query for each list."""
    return {name: set(getattr(document, name).values_list("pk", flat=True)) for name in USERS}


def _ordered(document: Document, name: str) -> Any:
    manager = getattr(document, name)
    rows = manager.through._base_manager.filter(document=document).select_related("user").order_by("pk")
    return (row.user for row in rows)


def check_approvers(site_id: uuid.UUID, approvers: Sequence[User]) -> None:
    """Raise ValidationError if the site demands an approver and none is named (DECISIONS 5)."""
    if not approvers and Site.objects.filter(pk=site_id, demands_approver=True).exists():
        text = gettext("Every document of this site needs an approver.")
        raise ValidationError({"user_to_approve": ValidationError(text, code="RequiredField")})
