"""Which versions of a document a user sees, on pages and in files.

Managers and above hold `documents.view_pending_version`. A user without it sees the version in force as the newest one.
For this user, other versions do not exist, and a document without a version in force does not exist either. However, a
user who uploaded a version, or is or was asked to sign it, sees that version too.
"""

import uuid
from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.query import ModelIterable

from documents.models import FACTS, IN_FORCE, Document, DocumentVersion, shown_in_force
from records.accounts import access
from records.accounts.models import User
from records.backoffice.about import existing_for

SEE_PENDING = Document.SEEN_WHOLE_WITH


def may_see(user: User, version: DocumentVersion) -> bool:
    """Return whether a version exists for a user who may see documents at its site; one query at most."""
    if version.record_status in IN_FORCE or version.created_by_id == user.pk:
        return True
    if access.may(user, version.site_id, SEE_PENDING):
        return True
    return DocumentVersion.of_participant(user.pk).filter(pk=version.pk).exists()


def may_read(user: User, version: DocumentVersion) -> bool:
    """Return whether the account may read a version's file because it may see documents at the version's site."""
    return access.may(user, version.site_id, "documents.view_document") and may_see(user, version)


def versions_for(user: User, document: Document) -> QuerySet[DocumentVersion]:
    """Return the versions of a document that exist for a user who may see the document."""
    rows = DocumentVersion.objects.filter(document=document)
    if access.may(user, document.site_id, SEE_PENDING):
        return rows
    return rows.filter(Q(record_status__in=IN_FORCE) | Q(pk__in=DocumentVersion.of_participant(user.pk).values("pk")))


def documents_for(user: User, rows: QuerySet[Document], sites: Collection[uuid.UUID]) -> QuerySet[Document]:
    """Return the documents of these sites that exist for the user, each with the data that this user sees."""
    return as_shown_to(user, existing_for(user, rows, sites), sites)


def as_shown_to(user: User, rows: QuerySet[Document], sites: Collection[uuid.UUID]) -> QuerySet[Document]:
    """Return documents of these sites, all of which exist for the user, with the data that this user sees.

    At a site where the user does not see pending versions, a loaded document has the data of its version in force
    instead of its newest version. Use such a document for display only; writes load their own.
    """
    unrestricted = [site for site in sites if access.may(user, site, SEE_PENDING)]
    if len(unrestricted) == len(sites):
        return rows
    is_whole = Case(When(site__in=unrestricted, then=Value(value=True)), default=Value(value=False))
    adapted = rows.annotate(is_whole=is_whole, **shown_in_force())
    adapted._iterable_class = _AsSeen
    return adapted


class _AsSeen(ModelIterable):  # type: ignore[type-arg]
    """Loads documents with the data of the version in force, unless the reader may see the newest version."""

    def __iter__(self) -> Iterator[Any]:
        for document in super().__iter__():
            for name in () if document.is_whole else FACTS:
                setattr(document, name, getattr(document, f"shown_{name}"))
            yield document
