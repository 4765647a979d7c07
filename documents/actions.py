"""The writes to documents. Each is one transaction with its history; signing is in `documents.approvals`."""

import uuid
from collections.abc import Mapping
from functools import cache
from typing import Any, Unpack

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext

from documents import notices, versions
from documents.models import FIRST_VERSION, WAITING, Document
from records.accounts.models import User
from records.files.content import Incoming
from records.files.names import check_file_name
from records.files.storage import storing
from records.history.statements import CompiledQuery, Reading, ask, reading, rows_with
from records.history.trail import Author, recording
from records.sites.models import Site
from records.sites.text import fault_at, refuse
from records.sites.values import LockedContent, listed_keys
from records.sites.writing import (
    RecordNotFoundError,
    Values,
    WriteArgs,
    add_record,
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
    columns = {**values}
    number = columns.pop("version", None) or FIRST_VERSION
    document = Document(site_id=site_id)
    reviewers, approvers, recipients = (list(dict.fromkeys(columns.get(name, ()))) for name in USERS)
    check_approvers(document, {"user_to_approve": approvers})

    def first_version(document: Document) -> dict[str, list[Any]]:
        version, signers = versions.new_version(
            document, file, author_id=author.id, reviewers=reviewers, approvers=approvers
        )
        notices.notify_first(version, signers, recipients, [role.pk for role in columns.get("must_read", ())])
        return {"versions": [version], "signers": signers}

    with storing(content) as file:
        versions.copy_newest_version(document, number, file, versions.first_status(reviewers, approvers))
        add_record(document, columns, author=author, operation=operation, parts=first_version)
    return document


def update_document(
    site_id: uuid.UUID,
    document_id: uuid.UUID,
    values: Values,
    content: Incoming,
    *,
    operation: str = "UpdateDocument",
    **options: Unpack[WriteArgs],
) -> Document:
    """Store a file as the document's next version, which gets the last number + 1 under the document's lock.

    Earlier versions are kept. Signers and notified users that are missing from `values` stay as they are. People on the
    lists whose access or roles ended stay too, whether they are sent back or left out: the version waits for such a
    signer until a Manager replaces them (DECISIONS 4, 5); only a newly named one is refused. Raises
    RecordNotFoundError, ValidationError, StorageUnavailableError, or the error of the precondition.
    """
    unlocked, people = _as_stored(site_id, document_id)
    if unlocked is None:
        raise RecordNotFoundError
    if (precondition := options.get("precondition")) is not None:
        precondition(unlocked)
    check_file_name(values)
    with (
        storing(content) as file,
        changing(Document, site_id, document_id, operation=operation, **options) as document,
    ):
        document.site = unlocked.site
        LockedContent.note_names(document, people.values())
        reviewers, approvers, recipients = _people(document, values, people)
        check_approvers(document, values)
        apply(document, values, in_order=USERS)
        status = versions.first_status(reviewers, approvers)
        versions.copy_newest_version(document, versions.next_number(document), file, status)
        document.clean_fields(exclude=["site", "entity_folder", "created_by", "last_modified_by"])
        author_id = options["author"].id
        version, signers = versions.new_version(
            document, file, author_id=author_id, reviewers=reviewers, approvers=approvers
        )
        versions.replace_versions(document, version, signers)
        notices.notify_first(version, signers, recipients, listed_keys(document, "must_read"))
    return document


def change_details(
    site_id: uuid.UUID,
    document_id: uuid.UUID,
    values: Values,
    *,
    operation: str = "ChangeDetails",
    **options: Unpack[WriteArgs],
) -> Document:
    """Change a document's details without a new version (back-office only).

    The reviewers and approvers apply to the next version. While a version waits for its signers, they can only be
    replaced one by one with `approvals.replace_signer`. Raises RecordNotFoundError, ValidationError, or the error of
    the precondition.
    """
    with changing(Document, site_id, document_id, operation=operation, **options) as document:
        before = {name: set(listed_keys(document, name)) for name in USERS}  # one query for each list at most
        if document.record_status in WAITING:
            text = gettext("These people still have to sign a version. Use “Replace” on its page.")
            faults = {
                name: refuse(text)
                for name in SIGNERS
                if name in values and {user.pk for user in values[name]} != before[name]
            }
            if faults:
                raise ValidationError(faults)
        apply(document, values)
        check_approvers(document, values)
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


def _as_stored(site_id: uuid.UUID, document_id: uuid.UUID) -> tuple[Document | None, dict[uuid.UUID, User]]:
    """Return the document with its site, and the users on its lists by their Ids; one round trip."""
    (documents, sites, users), _ = ask(
        [
            rows_with(Document, {document_id}),
            rows_with(Site, {site_id}),
            CompiledQuery(listing := _listed_people(), listing.by(document_id)),
        ]
    )
    if not documents or documents[0].site_id != site_id:
        return None, {}
    documents[0].site = sites[0]
    return documents[0], {user.pk: user for user in users}


@cache
def _listed_people() -> Reading:
    """Return the compiled query for the users on a document's lists, by the document's Id."""
    throughs = [getattr(Document, name).through for name in USERS]

    def rows(document_id: uuid.UUID) -> QuerySet[User]:
        links = [through._base_manager.filter(document=document_id).order_by().values("user") for through in throughs]
        return User._base_manager.filter(pk__in=links[0].union(*links[1:])).order_by()

    return reading(rows)


def _people(document: Document, values: Values, people: Mapping[uuid.UUID, User]) -> list[list[User]]:
    """Return the reviewers, approvers and users to notify of the next version; `people` are loaded already."""
    keys = [[user.pk for user in values[name]] if name in values else listed_keys(document, name) for name in USERS]
    users = {**people, **{user.pk: user for name in USERS for user in values.get(name, ())}}
    if unknown_ids := {key for keys_of_list in keys for key in keys_of_list} - users.keys():
        users |= User.objects.in_bulk(unknown_ids)
    return [[users[key] for key in dict.fromkeys(keys_of_list)] for keys_of_list in keys]


def check_approvers(document: Document, values: Values) -> None:
    """Raise ValidationError if the site demands an approver and neither values nor document name one (DECISIONS 5)."""
    name = "user_to_approve"
    approvers = values[name] if name in values else listed_keys(document, name)
    if not approvers and document.site.demands_approver:
        raise fault_at("user_to_approve", gettext("Every document of this site needs an approver."), "RequiredField")
