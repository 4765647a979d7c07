"""Rejected versions: the uploader is notified by mail, on the start page and in reminders until there is a new version.

A service account, and somebody who lost access or every role at the site, cannot be notified. The people who may upload
a new version at the site are notified instead, if they may see versions that are not in force (DECISIONS 9.11). Each of
them, and the uploader, can dismiss the notice.
"""

import datetime
import uuid
from collections.abc import Collection
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils.translation import gettext

from documents.models import Document, DocumentVersion, Meaning, Notice, Signature, Status
from records.accounts import access
from records.accounts.models import RoleMembership, User
from records.accounts.roles_held import people_with
from records.history.trail import now

CHANGE = "documents.change_document"
CHANGE_WITHIN = datetime.timedelta(days=7)
"""How long after a version was rejected its change is due."""

_ROLES = RoleMembership.objects.filter(
    user=OuterRef("created_by"), role__site=OuterRef("site"), role__is_archived=False
)
_IS_REACHABLE = Q(created_by__isnull=False, created_by__is_active=True, created_by__is_service_account=False) & (
    Q(created_by__is_superuser=True) | Q(Exists(_ROLES))
)
"""Whether the uploader of a version is somebody who can read and act on its rejection."""


def rejections_of(version: DocumentVersion) -> QuerySet[Signature]:
    """Return the signatures that rejected a version, oldest first."""
    return version.signatures.filter(meaning=Meaning.REJECTED).order_by("date", "id")


def _waiting_for_change() -> QuerySet[Any]:
    """Return every rejected version that was not replaced, oldest first, with the time of its rejection, `rejected`."""
    last = Signature.objects.filter(version=OuterRef("pk"), meaning=Meaning.REJECTED).order_by("-date")
    rows = DocumentVersion.objects.filter(record_status=Status.AWAITING_CHANGE, document__is_archived=False)
    rows = rows.select_related("document__site", "created_by").order_by("created", "id")
    return rows.annotate(rejected=Subquery(last.values("date")[:1]))


def _not_dismissed_by(user: User | OuterRef) -> Q:
    notices = Notice.objects.filter(version=OuterRef("pk"), kind=Notice.Kind.REJECTED, dismissed__isnull=False)
    return Q(~Exists(notices.filter(user=user)))


def of_reachable_uploaders() -> QuerySet[Any]:
    """Return the rejected versions whose uploader is notified and has not dismissed the notice."""
    return _waiting_for_change().filter(_IS_REACHABLE, _not_dismissed_by(OuterRef("created_by")))


def of_unreachable_uploaders() -> QuerySet[Any]:
    """Return the rejected versions whose uploader cannot be notified."""
    return _waiting_for_change().filter(~_IS_REACHABLE)


def waiting_for(user: User) -> QuerySet[Any]:
    """Return the rejected versions that are shown to the person, at all of their sites: those not dismissed by them."""
    own_versions = Q(created_by=user, site__in=access.sites_where(user))
    sites = {*access.sites_where(user, CHANGE)} & {*access.sites_where(user, Document.SEEN_WHOLE_WITH)}
    for_others = Q(site__in=sites) & ~_IS_REACHABLE
    return _waiting_for_change().filter(own_versions | for_others, _not_dismissed_by(user))


def notified_instead(sites: Collection[uuid.UUID]) -> dict[uuid.UUID, set[uuid.UUID]]:
    """Return the people at each site who are notified instead of an uploader who cannot be; four queries."""
    may_change, may_see = people_with(CHANGE, sites), people_with(Document.SEEN_WHOLE_WITH, sites)
    return {site: people & may_see[site] for site, people in may_change.items()}


def uploader_of(version: DocumentVersion) -> str:
    """Return the name of the uploader, in the active language."""
    return str(version.created_by or gettext("the system"))


def people_to_notify(version: DocumentVersion) -> set[uuid.UUID]:
    """Return who gets a mail about a rejected version: not the person who rejected it; six queries at most."""
    users: set[uuid.UUID | None] = {version.created_by_id}
    if of_unreachable_uploaders().filter(pk=version.pk).exists():
        users = {*notified_instead([version.site_id])[version.site_id]}
    return {user for user in users - {*rejections_of(version).values_list("user_id", flat=True)} if user is not None}


def dismiss(version: DocumentVersion, user: User) -> None:
    """Stop showing a rejected version to the person; the version, and what others see of it, do not change."""
    moment = now()
    Notice.objects.update_or_create(
        version=version,
        user=user,
        kind=Notice.Kind.REJECTED,
        defaults={"dismissed": moment},
        create_defaults={"dismissed": moment, "sent": moment},
    )
