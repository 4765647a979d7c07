"""Writes to attachments, each one transaction with its history."""

import uuid
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Sum
from django.utils.translation import gettext

from records.attachments.models import Attachment
from records.files.content import Incoming
from records.files.names import check_file_name
from records.files.storage import storing
from records.history.trail import Author, recording
from records.sites.models import Entity, SiteRecord
from records.sites.writing import Values, add_record

May = Callable[[str], bool]
"""Returns whether the person who attaches a file has a permission at the site."""


class SiteFullError(Exception):
    """Raised if the attachments of a site would become larger than `SITE_ATTACHMENTS_LIMIT`."""


def add_attachment(
    site_id: uuid.UUID,
    values: Values,
    content: Incoming,
    *,
    author: Author,
    may: May,
    operation: str = "AddAttachment",
    reason: str = "",
    drafts: bool = False,
    key: uuid.UUID | None = None,
) -> Attachment:
    """Store a file for the record `record_id`, or for its finding `finding_id` (DECISIONS 12.1).

    Everybody who may change the record may attach files. `key` is the attachment's id (IntegrityError if it is taken).
    Raises PermissionDenied, ValidationError (InvalidTransition for an archived record, or a state in which only others
    change it), SiteFullError or StorageUnavailableError; then nothing is stored.
    """
    check_file_name(values)
    given = {**values}
    record_id, finding_id = given.pop("record_id"), given.pop("finding_id", None)
    attachment = Attachment(site_id=site_id, **({"id": key} if key else {}))
    record = attachment.point_at(record_id, finding_id, drafts=drafts)
    check_may_attach(record, author, may)
    with storing(content) as file, recording():
        attachment.path, attachment.file_size, attachment.file_hash = file.path, file.size, file.sha256
        lock_active(record)
        if finding_id is not None:
            attachment.point_at(record_id, finding_id, drafts=drafts)  # It can have been removed meanwhile.
        add_record(attachment, given, author=author, operation=operation, reason=reason)
        # Whoever adds another attachment waits for the site's next number, so no two are counted without each other.
        if used_by(site_id) > settings.SITE_ATTACHMENTS_LIMIT:
            raise SiteFullError
    return attachment


def check_may_attach(record: SiteRecord, author: Author, may: May) -> None:
    """Raise PermissionDenied, or ValidationError if only the record's status prevents the person from changing it.

    The owner of an action attaches evidence to it, whatever their role is.
    """
    if record.ENTITY == Entity.ACTION and author.id is not None and getattr(record, "owner_id", None) == author.id:
        return
    if not may(SiteRecord.permission_to_change(record)):
        raise PermissionDenied
    if not may(record.permission_to_change()):
        text = gettext("This %(kind)s is closed; only a Manager can still attach files to it.") % {
            "kind": record._meta.verbose_name
        }
        raise ValidationError({"record_id": ValidationError(text, code="InvalidTransition")})


def lock_active(record: SiteRecord) -> None:
    """Keep the record from being archived before the transaction ends; raises ValidationError if it is archived."""
    rows = type(record)._base_manager.select_for_update(of=("self",), no_key=True)
    if rows.filter(pk=record.pk).values_list("is_archived", flat=True).get():
        text = gettext("This %(kind)s is archived; restore it first.") % {"kind": record._meta.verbose_name}
        raise ValidationError({"record_id": ValidationError(text, code="InvalidTransition")})


def used_by(site_id: uuid.UUID) -> int:
    """Return the size of all attachments of the site in bytes, including archived ones."""
    return Attachment.objects.at(site_id).aggregate(total=Sum("file_size"))["total"] or 0
