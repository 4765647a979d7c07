"""Who must read which version in force, and the confirmation of having read it (DECISIONS 12.4).

The members of a document's `must_read` roles are asked once for each version in force. A confirmation for an older
version has expired: it does not count for a newer one.
"""

import datetime
import uuid
import zoneinfo
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from documents.models import IN_FORCE, Document, DocumentVersion, Reading
from records.accounts import access
from records.accounts.models import User
from records.accounts.roles_held import people_of
from records.backoffice.date_filters import bare, day_of
from records.history.counting import UNCACHED, Counting
from records.history.trail import Author, now, recording
from records.sites.text import refuse
from records.sites.writing import RecordNotFoundError, add_record

READ_WITHIN = datetime.timedelta(days=14)
"""The time within which a version must be read after it came into force."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Who must read a version in force by when, and how many of them have read it."""

    version_id: uuid.UUID
    document_id: uuid.UUID
    due: datetime.datetime
    readers: frozenset[uuid.UUID]
    read_count: int

    @property
    def missing_count(self) -> int:
        """Return how many people have not read it yet."""
        return len(self.readers) - self.read_count


def progress(site_ids: Collection[uuid.UUID], count: Counting = UNCACHED) -> list[Progress]:
    """Return every version in force at these sites that has required readers, by name; four queries at most.

    The readings are counted in the database, and the versions are not loaded: a site may have hundreds of thousands of
    readings, and a thousand versions, of which a page shows a few (`shown_versions`). `count` is for a single site.
    """
    versions = count(versions_to_read(site_ids).values_list("pk", "document_id", "in_force_since", "created"))
    readers_by_document = readers_of([document for _, document, _, _ in versions], count)
    versions_by_readers: dict[frozenset[uuid.UUID], list[uuid.UUID]] = defaultdict(list)
    for key, document, _, _ in versions:
        versions_by_readers[readers_by_document[document]].append(key)
    condition = Q(pk__in=())
    for readers, keys in versions_by_readers.items():
        condition |= Q(version__in=keys, user__in=sorted(readers))
    readings = Reading.objects.filter(condition).order_by().values_list("version").annotate(count=Count("*"))
    counts = dict(count(readings))
    return [
        Progress(key, document, _due(since, created), readers_by_document[document], counts.get(key, 0))
        for key, document, since, created in versions
    ]


def shown_versions(entries: Collection[Progress]) -> dict[uuid.UUID, DocumentVersion]:
    """Return the versions of the entries with their documents, by the version's Id; one query."""
    rows = DocumentVersion.objects.select_related("document").only("version", "site", "document__name")
    return rows.in_bulk([entry.version_id for entry in entries])


def missing_readers(
    entries: Collection[Progress], users: Collection[uuid.UUID] | None = None
) -> dict[uuid.UUID, frozenset[uuid.UUID]]:
    """Return who has not read each version yet, by the version's Id, among the users or everybody; one query."""
    rows = Reading.objects.filter(version__in=[entry.version_id for entry in entries])
    if users is not None:
        rows = rows.filter(user__in=users)
    have_read: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
    for version_id, user_id in rows.values_list("version_id", "user_id"):
        have_read[version_id].add(user_id)
    user_ids = None if users is None else set(users)
    return {
        entry.version_id: (entry.readers if user_ids is None else entry.readers & user_ids)
        - have_read[entry.version_id]
        for entry in entries
    }


def readers_of(documents: Collection[uuid.UUID], count: Counting = UNCACHED) -> dict[uuid.UUID, frozenset[uuid.UUID]]:
    """Return the people who must read each document, by the document's Id; two queries.

    Documents that the same roles must read share one set, because a site may ask a hundred people to read each of a
    thousand documents.
    """
    roles_of: dict[uuid.UUID, set[uuid.UUID]] = {key: set() for key in documents}
    pairs = Document.must_read.through.objects.filter(document__in=documents).values_list("document_id", "role_id")
    for document, role in count(pairs):
        roles_of[document].add(role)
    role_ids: set[uuid.UUID] = set().union(*roles_of.values())
    people = people_of(role_ids) if role_ids else {}

    @cache
    def members(roles: frozenset[uuid.UUID]) -> frozenset[uuid.UUID]:
        return frozenset().union(*(people[role] for role in roles))

    return {document: members(frozenset(roles)) for document, roles in roles_of.items()}


def versions_to_read(site_ids: Collection[uuid.UUID]) -> QuerySet[DocumentVersion]:
    """Return the versions in force at these sites that have required readers, with their documents."""
    must_read = Document.must_read.through.objects.filter(document=OuterRef("document"))
    rows = DocumentVersion.objects.filter(
        Exists(must_read), site__in=site_ids, record_status__in=IN_FORCE, document__is_archived=False
    )
    return rows.select_related("document__site").order_by("document__name", "document_id")


def waiting_for(user: User) -> QuerySet[DocumentVersion]:
    """Return the versions in force that the person must still read. The person's roles are queried immediately."""
    roles = access.roles_held(user.pk) if user.is_active and not user.is_service_account else {}
    must_read_by_user = Document.must_read.through.objects.filter(
        document=OuterRef("document"), role__in=[role for at_site in roles.values() for role, _ in at_site]
    )
    have_read = Reading.objects.filter(version=OuterRef("pk"), user=user)
    return versions_to_read(list(roles)).filter(Exists(must_read_by_user), ~Exists(have_read))


def due(version: DocumentVersion) -> datetime.datetime:
    """Return the day by which a version in force must have been read, on the site's calendar, as midnight UTC."""
    zone = zoneinfo.ZoneInfo(version.document.site.time_zone)
    return bare(day_of(_due(version.in_force_since, version.created), zone))


def _due(in_force_since: datetime.datetime | None, created: datetime.datetime) -> datetime.datetime:
    return (in_force_since or created) + READ_WITHIN


def confirm(version_id: uuid.UUID, user: User, *, author: Author) -> Reading:
    """Record that the person has read and understood a version in force; repeating it changes nothing.

    Raises RecordNotFoundError for a version that this person need not read, and ValidationError (InvalidTransition) for
    one that is not in force any more.
    """
    with recording():
        version = DocumentVersion.objects.select_related("document").filter(pk=version_id).first()
        if version is None:
            raise RecordNotFoundError
        # This runs under the document's lock, so that a newer version comes into force either before or after it.
        Document.objects.select_for_update(of=("self",), no_key=True).get(pk=version.document_id)
        version.refresh_from_db(fields=["record_status"])
        earlier = Reading.objects.filter(version=version, user=user).first()
        if earlier is not None:
            return earlier
        if user.pk not in readers_of([version.document_id])[version.document_id]:
            raise RecordNotFoundError
        if version.record_status not in IN_FORCE or version.document.is_archived:
            raise refuse(gettext("This version is not in force any more. Read the one that is."))
        reading = Reading(
            site_id=version.site_id,
            document=version.document,
            version=version,
            user=user,
            user_name=user.printed_name[:255],
            date=now(),
            file_hash=version.file_hash,
        )
        add_record(reading, author=author, operation="ConfirmReading", skip=("site", "document", "version", "user"))
    return reading
