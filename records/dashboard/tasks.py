"""The task of the worker that counts for start pages before somebody waits for it."""

from django_tasks import task

from records.backoffice.current import zone_of
from records.dashboard.start import count_ahead_for
from records.history.trail import now
from records.sites.models import Site

EARLY = 2
"""How many hours of a day are its beginning, in which the task runs at least once."""


@task()
def count_ahead() -> int:
    """Count for the start page of each site at which a day has begun; returns the number of sites.

    A count is kept for a day, and with a new month all counts are about other months.
    """
    moment = now()
    sites = [site for site in Site.objects.filter(is_archived=False) if moment.astimezone(zone_of(site)).hour < EARLY]
    for site in sites:
        count_ahead_for(site)
    return len(sites)
