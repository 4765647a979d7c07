"""What the start page counts among a site's actions: which are unfinished, and how many of those closed worked."""

import uuid

from django.db.models import Count, QuerySet

from records.accounts import access
from records.accounts.models import User
from records.actions.models import UNFINISHED, Action, Status
from records.backoffice.about import existing_for
from records.dashboard.figures.periods import Period
from records.history.counting import UNCACHED, Counting
from records.sites.hidden import hides


def visible_actions(site_id: uuid.UUID, user: User) -> QuerySet[Action]:
    """Return the site's active actions that exist for the user, as the list does to which the figures lead."""
    return existing_for(user, Action.objects.at(site_id).filter(is_archived=False), [site_id])


def counting_for(user: User, site_id: uuid.UUID, count: Counting) -> Counting:
    """Return `count` if no action of the site is hidden from the user; otherwise counts are not cached."""
    return UNCACHED if hides(Action, access.asking(user, site_id)) else count


def unfinished(rows: QuerySet[Action]) -> QuerySet[Action]:
    """Return the actions that are Open, or Done and not yet judged."""
    return rows.filter(record_status__in=UNFINISHED)


def effectiveness(rows: QuerySet[Action], period: Period, count: Counting = UNCACHED) -> tuple[int, int]:
    """Return how many of the actions closed in the period worked, and how many did not; one query."""
    closed_actions = rows.filter(period.covers("closed_date"), record_status=Status.CLOSED)
    counts = dict(count.sums(closed_actions.filter(effective__isnull=False), "effective", count=Count("*")))
    return counts.get(True, 0), counts.get(False, 0)
