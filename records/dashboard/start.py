"""The back-office's start page: what waits for me, and charts of the site that I look at."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from records.accounts.models import User
from records.backoffice.current import current_site, show_times_of, user_of, zone_of
from records.dashboard.charts import charts_for
from records.dashboard.figures.periods import SPANS, chosen
from records.dashboard.to_do import Desk


def context(admin_site: AdminSite, request: HttpRequest) -> dict[str, Any]:
    """Return what the start page shows; a fixed number of queries, however many records there are."""
    site = current_site(request)
    show_times_of(site)
    user: User = user_of(request)
    sections = Desk(admin_site, request).sections() if site else []
    period, fault = chosen(request.GET, zone_of(site))
    return {
        "start_site": site,
        "waiting": [section for section in sections if section.total],
        "nothing_waits": [section for section in sections if not section.total],
        "charts": charts_for(admin_site, user, site, period) if site else [],
        "period": period,
        "period_fault": fault,
        "spans": SPANS,
    }
