"""Rejected versions: their uploader is told by mail and on the start page, until a new version or a dismissal."""

from django.db.models import Exists, OuterRef, QuerySet

from documents.models import DocumentVersion, Meaning, Notice, Signature, Status
from records.accounts import access
from records.accounts.models import User
from records.history.trail import now


def rejections_of(version: DocumentVersion) -> QuerySet[Signature]:
    """Return the signatures that rejected a version, oldest first."""
    return version.signatures.filter(meaning=Meaning.REJECTED).order_by("date", "id")


def waiting_for(user: User) -> QuerySet[DocumentVersion]:
    """Return the rejected versions that the person uploaded and has not dismissed, at sites where they hold a role."""
    dismissed = Notice.objects.filter(
        version=OuterRef("pk"), user=user, kind=Notice.Kind.REJECTED, dismissed__isnull=False
    )
    rows = DocumentVersion.objects.filter(
        ~Exists(dismissed),
        created_by=user,
        record_status=Status.AWAITING_CHANGE,
        document__is_archived=False,
        site__in=access.sites_where(user),
    )
    return rows.select_related("document__site").order_by("created", "id")


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
