"""Who sees which attachment: everybody who may see its record and the record's private facts (DECISIONS 13.6)."""

import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import CharField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery

from records.accounts import access
from records.accounts.models import User
from records.attachments.models import Attachment
from records.operations.plans import KeyQuery
from records.sites.about import kinds
from records.sites.hidden import hides, sees_attachments
from records.sites.models import Entity

May = Callable[[str], bool]


def hidden_condition(user_id: uuid.UUID, may: May) -> Q:
    """Return the condition for attachments that an account may not see, because their record or its kind is hidden.

    `may` returns whether the account has a permission at the site. The condition is empty if nothing is hidden.
    """
    condition = Q()
    for entity, model in kinds().items():
        if not sees(entity, may):
            condition |= Q(entity=entity)
        elif hides(model, may):
            condition |= Q(entity=entity, record_id__in=model.hidden_from(user_id).order_by().values("pk"))
    return condition


_ID, _READER = uuid.uuid4(), uuid.uuid4()
"""The placeholders in the query for the key of an attachment."""


def visible(key: uuid.UUID, user_id: uuid.UUID, may: May) -> uuid.UUID | KeyQuery:
    """Return the key of an attachment, or the query that finds it only if the account may see the attachment."""
    condition = hidden_condition(_READER, may)
    if not condition:
        return key
    name = ", ".join(f"{entity} {sees(entity, may)} {hides(model, may)}" for entity, model in kinds().items())
    rows = Attachment.objects.filter(~condition, pk=_ID).order_by().values("pk")
    return KeyQuery(name, Subquery(rows), {_ID: key, _READER: user_id})


def sees(entity: Entity | str, may: May) -> bool:
    """Return whether a person sees the attachments of records of this kind."""
    return sees_attachments(kinds()[Entity(entity)], may)


def without_drafts(rows: QuerySet[Attachment]) -> QuerySet[Any]:
    """Leave out the attachments of drafts of complaints, which only the back-office shows."""
    drafts = kinds()[Entity.COMPLAINT]._base_manager.filter(site_sequence_id__isnull=True)
    entity = ExpressionWrapper(OuterRef("entity"), output_field=CharField())
    of_row = drafts.alias(entity_of_row=entity).filter(entity_of_row=Entity.COMPLAINT, pk=OuterRef("record_id"))
    return rows.exclude(Exists(of_row))


def may_read(user: User, attachment: Attachment) -> bool:
    """Return whether the account may read the attachment's file."""
    may = access.asking(user, attachment.site_id)
    if not may("attachments.view_attachment") or not sees(attachment.entity, may):
        return False
    if not hides(kinds()[Entity(attachment.entity)], may):
        return True
    return not Attachment.objects.filter(hidden_condition(user.pk, may), pk=attachment.pk).exists()
