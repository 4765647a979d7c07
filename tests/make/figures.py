"""Plain functions that make many complaints at once, for tests of what is counted among them."""

import datetime
from collections.abc import Iterable
from typing import Any

from records.complaints.models import Complaint, RecordStatus
from records.sites.models import Entity, Site
from records.sites.sequences import take_numbers
from tests.make.complaints import required_of


def noon(day: str) -> datetime.datetime:
    """Return noon UTC of a day such as `2026-03-05`."""
    return datetime.datetime.fromisoformat(f"{day}T12:00:00+00:00")


def make_complaints(site: Site, dates: Iterable[datetime.datetime], **fields: Any) -> list[Complaint]:
    """Make a complaint on each date, as the action would number them."""
    required = {} if {"customer", "product", "nonconformance"} <= fields.keys() else required_of(site)
    values = {**required, "record_status": RecordStatus.AWAITING_REVIEW, **fields}
    return Complaint.objects.bulk_create(
        Complaint(site=site, site_sequence_id=take_numbers(site.pk, Entity.COMPLAINT), date=date, **values)
        for date in dates
    )
