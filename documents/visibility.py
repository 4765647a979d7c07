"""Who sees which version of a document, for pages and files.

Whoever lacks `documents.view_pending_version` (Manager and above hold it) sees a document as it is in force: its
version in force counts as the newest, others do not exist, and neither does a document of which no version is in force.
Whoever uploaded a version, or is or was asked to sign it, sees that version too.
"""

import uuid
from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.query import ModelIterable

from documents.models import FACTS, IN_FORCE, Document, DocumentVersion, shown_in_force
from records.accounts import access
from records.accounts.models import User

SEE_PENDING = Document.SEEN_WHOLE_WITH


def may_see(user: User, version: DocumentVersion) -> bool:
    """Return whether a version exists for somebody who may see documents at its site; one query at most."""
    if version.record_status in IN_FORCE or version.created_by_id == user.pk:
        return True
    return access.may(user, version.site_id, SEE_PENDING) or DocumentVersion.of(user.pk).filter(pk=version.pk).exists()


def may_read(user: User, version: DocumentVersion) -> bool:
    """Return whether the account may read a version's file as one of those who see documents at its site."""
    return access.may(user, version.site_id, "documents.view_document") and may_see(user, version)


def versions_for(user: User, document: Document) -> QuerySet[DocumentVersion]:
    """Return the versions of a document that exist for the user, who may see the document."""
    rows = DocumentVersion.objects.filter(document=document)
    if access.may(user, document.site_id, SEE_PENDING):
        return rows
    return rows.filter(Q(record_status__in=IN_FORCE) | Q(pk__in=DocumentVersion.of(user.pk).values("pk")))


def documents_for(user: User, rows: QuerySet[Document], sites: Collection[uuid.UUID]) -> QuerySet[Document]:
    """Return those of the sites' documents that exist for the user; each shows what this user sees of it.

    At a site where the user does not see pending versions, a loaded document has the facts of its version in force in
    the place of its newest one's. Such a document is for showing; writes load their own.
    """
    whole = [site for site in sites if access.may(user, site, SEE_PENDING)]
    if len(whole) == len(sites):
        return rows
    here = Case(When(site__in=whole, then=Value(value=True)), default=Value(value=False))
    hidden = Document.hidden_from(user.pk).order_by().values("pk")
    seen = rows.filter(Q(site__in=whole) | ~Q(pk__in=hidden)).annotate(is_whole=here, **shown_in_force())
    seen._iterable_class = _AsSeen
    return seen


class _AsSeen(ModelIterable):  # type: ignore[type-arg]
    """Loads documents that show their facts in force, except where their reader sees the newest version's."""

    def __iter__(self) -> Iterator[Any]:
        for document in super().__iter__():
            for name in () if document.is_whole else FACTS:
                setattr(document, name, getattr(document, f"shown_{name}"))
            yield document
