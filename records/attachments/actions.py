"""Writes to attachments, each one transaction with its history."""

import uuid
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Sum
from django.utils.translation import gettext

from records.attachments.models import Attachment
from records.files.content import Incoming
from records.files.names import check_file_name
from records.files.storage import storing
from records.history.statements import Rows, Statement, together
from records.history.trail import Author
from records.sites.about import finding_statements
from records.sites.hidden import exists_for
from records.sites.models import Entity, SiteRecord
from records.sites.sequences import sequence_lock
from records.sites.text import fault_at
from records.sites.writing import Values, add_record, locking

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
    on: SiteRecord | None = None,
    key: uuid.UUID | None = None,
) -> Attachment:
    """Store a file for a record, or for its finding `finding_id` (DECISIONS 12.1).

    The record is `on`, of which drafts have attachments too, or the one that has the Id `record_id`. Everybody who may
    change it may attach files. `key` is the attachment's id (IntegrityError if it is taken).
    Raises PermissionDenied, ValidationError (InvalidReference for a record that does not exist for the author,
    InvalidTransition for an archived one, or for a state in which only others change it), SiteFullError or
    StorageUnavailableError; then nothing is stored.
    """

    def sees(record: SiteRecord) -> bool:
        return author.id is None or exists_for(record, author.id, may)

    check_file_name(values)
    columns = {**values}
    record_id, finding_id = columns.pop("record_id", None), columns.pop("finding_id", None)
    attachment = Attachment(site_id=site_id, **({"id": key} if key else {}))
    record = attachment.point_at(on or record_id, finding_id, sees=sees)
    check_may_attach(record, author, may)
    kind: type[SiteRecord] = type(record)

    def begin() -> list[Statement]:
        """Return the statements that run first; from then on, other adds of attachments at the site wait."""
        findings = finding_statements(kind, record.pk, finding_id)
        return [
            locking(kind).by(record.pk),
            sequence_lock(site_id, Entity.ATTACHMENT),
            _sizes(site_id),
            *findings,
        ]

    def check(answers: list[Rows]) -> None:
        rows, _, sizes, *findings = answers
        [record] = locking(kind).objects(rows)
        # The record can have been archived or closed meanwhile, and the finding removed.
        attachment.set_about(record, finding_id, has_finding=any(findings))
        check_may_attach(record, author, may)
        if _total(sizes) + attachment.file_size > settings.SITE_ATTACHMENTS_LIMIT:
            raise SiteFullError

    with storing(content) as file:
        attachment.path, attachment.file_size, attachment.file_hash = file.path, file.size, file.sha256
        add_record(
            attachment,
            columns,
            author=author,
            operation=operation,
            reason=reason,
            begins_with=begin,
            check=check,
        )
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
        raise fault_at("record_id", text, "InvalidTransition")


def used_by(site_id: uuid.UUID) -> int:
    """Return the size of all attachments of the site in bytes, including archived ones."""
    return _total(*together([_sizes(site_id)]))


def _sizes(site_id: uuid.UUID) -> Statement:
    """Return the statement that sums up the sizes of all attachments of the site; no row if there are none."""
    rows = Attachment.objects.at(site_id).order_by().values("site").annotate(total=Sum("file_size"))
    return rows.values_list("total").query.sql_with_params()


def _total(rows: Rows) -> int:
    return int(rows[0][0]) if rows else 0
