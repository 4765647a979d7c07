"""Who sees which attachment: whoever may see its record, with the record's private rules (DECISIONS 13.6)."""

from collections.abc import Callable
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from records.accounts import access
from records.accounts.models import User
from records.attachments.models import Attachment
from records.sites.about import kinds
from records.sites.models import Entity

May = Callable[[str], bool]


def hidden_kinds(may: May) -> list[Entity]:
    """Return the kinds of record whose attachments are hidden from somebody, by a question about permissions."""
    return [entity for entity in kinds() if not sees(entity, may)]


def sees(entity: Entity | str, may: May) -> bool:
    """Return whether somebody sees the attachments of records of this kind."""
    model = kinds()[Entity(entity)]
    view = f"{model._meta.app_label}.view_{model._meta.model_name}"
    return may(view) and (not model.ATTACHMENTS_SEEN_WITH or may(model.ATTACHMENTS_SEEN_WITH))


def without_drafts(rows: QuerySet[Attachment]) -> QuerySet[Any]:
    """Leave out what is on a draft of a complaint, which only the back-office shows."""
    drafts = kinds()[Entity.COMPLAINT]._base_manager.filter(site_sequence_id__isnull=True)
    return rows.exclude(Exists(drafts.filter(pk=OuterRef("record_id"))))


def may_read(user: User, attachment: Attachment) -> bool:
    """Return whether the account may read the attachment's file."""

    def may(permission: str) -> bool:
        return access.may(user, attachment.site_id, permission)

    return may("attachments.view_attachment") and sees(attachment.entity, may)
