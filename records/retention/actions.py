"""Retention periods and legal holds: how they are read and written.

A legal hold is read from the record's own changes, so the verification of the history also proves the hold. Nobody can
remove it unnoticed by changing another row.
"""

import datetime
import uuid
import zoneinfo
from dataclasses import dataclass
from functools import partial

from django.utils.translation import gettext

from records.history.models import Change
from records.history.trail import Author
from records.retention.models import RetentionPeriod
from records.sites.about import kinds
from records.sites.models import SiteRecord
from records.sites.months import months_after
from records.sites.reasons import required_reason
from records.sites.text import refuse
from records.sites.writing import changing

SET, LIFT = "SetLegalHold", "LiftLegalHold"


def on_hold_since(record: SiteRecord) -> datetime.datetime | None:
    """Return the moment at which the record was put on legal hold, or None without a hold; one query.

    A writer that depends on the result first locks the record's row, as `set_hold` and `lift_hold` do.
    """
    changes = Change.objects.filter(record_id=record.pk, model=record._meta.label, operation__in=(SET, LIFT))
    newest = changes.order_by("-number").values_list("operation", "at").first()
    return newest[1] if newest is not None and newest[0] == SET else None


@dataclass(frozen=True, slots=True)
class Hold:
    """A legal hold that lasts: the record's kind and Id, its printed name, and who set it when and why."""

    model: type[SiteRecord]
    record_id: uuid.UUID
    name: str
    since: datetime.datetime
    author: str
    reason: str


def holds_at(site_id: uuid.UUID) -> list[Hold]:
    """Return the legal holds that last at a site, newest first; one query."""
    by_label = {model._meta.label: model for model in kinds().values()}
    changes = Change.objects.filter(site_id=site_id, operation__in=(SET, LIFT)).order_by("-number")
    newest: dict[tuple[str, uuid.UUID], Change] = {}
    for change in changes.filter(model__in=by_label):
        newest.setdefault((change.model, change.record_id), change)
    return [
        Hold(by_label[change.model], change.record_id, change.record_name, change.at, change.author_name, change.reason)
        for change in newest.values()
        if change.operation == SET
    ]


def change_hold(
    model: type[SiteRecord], site_id: uuid.UUID, record_id: uuid.UUID, *, author: Author, reason: str, on_hold: bool
) -> SiteRecord:
    """Put a record on legal hold, in any state, or lift its hold; the record's own values stay as they are.

    Needs a reason. Raises RecordNotFoundError, or ValidationError: RequiredField at reason, InvalidTransition if the
    record is on hold already, or if there is no hold to lift.
    """
    with changing(
        model,
        site_id,
        record_id,
        author=author,
        operation=SET if on_hold else LIFT,
        reason=required_reason(reason),
        notes=[{"field": "legal_hold", "old": not on_hold, "new": on_hold}],
    ) as record:
        if (on_hold_since(record) is not None) == on_hold:
            text = gettext("This %(kind)s is already on legal hold.")
            text = text if on_hold else gettext("This %(kind)s is not on legal hold.")
            raise refuse(text % {"kind": record._meta.verbose_name})
    return record


set_hold, lift_hold = partial(change_hold, on_hold=True), partial(change_hold, on_hold=False)


def refusal_on_hold(record: SiteRecord) -> str:
    """Return why nothing of a record that is on legal hold may be erased."""
    return gettext(
        "This %(kind)s is on legal hold, so no part of it may be erased. A Site Administrator can lift the hold."
    ) % {"kind": record._meta.verbose_name}


def refuse_on_hold(record: SiteRecord) -> None:
    """Raise ValidationError, code InvalidTransition, if the locked record is on legal hold; one query."""
    if on_hold_since(record) is not None:
        raise refuse(refusal_on_hold(record))


def kept_until(record: SiteRecord) -> datetime.date | None:
    """Return the day, on the site's calendar, until which the record is kept at least; None without a period.

    Costs one query, and one more if the record's site was not loaded.
    """
    periods = RetentionPeriod.objects.at(record.site_id).filter(entity=record.ENTITY, is_archived=False)
    months = periods.values_list("months", flat=True).first()
    if months is None:
        return None
    return months_after(record.created.astimezone(zoneinfo.ZoneInfo(record.site.time_zone)).date(), months)
