"""What the start page counts among a site's actions: which are unfinished, and how many of those closed worked."""

import uuid

from django.db.models import Count, Q, QuerySet

from records.actions.models import UNFINISHED, Action, Status
from records.dashboard.figures.periods import Period


def unfinished(site_id: uuid.UUID) -> QuerySet[Action]:
    """Return the site's actions that are Open, or Done and not yet judged."""
    return Action.objects.at(site_id).filter(is_archived=False, record_status__in=UNFINISHED)


def effectiveness(site_id: uuid.UUID, period: Period) -> tuple[int, int]:
    """Return how many actions closed in the period worked, and how many did not; one query."""
    closed = Action.objects.at(site_id).filter(
        period.covers("closed_date"), is_archived=False, record_status=Status.CLOSED
    )
    counts = closed.aggregate(
        worked=Count("effective", filter=Q(effective=True)), failed=Count("effective", filter=Q(effective=False))
    )
    return counts["worked"], counts["failed"]
