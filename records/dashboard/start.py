"""The back-office's start page: what the person has to do, and charts of the current site."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from records.accounts import access
from records.accounts.models import User
from records.actions.models import Action
from records.backoffice import extension_points
from records.backoffice.current import current_site, show_times_of, user_of, zone_of
from records.backoffice.to_do import sections_for
from records.dashboard import quick_complaint
from records.dashboard.charts import ageing_chart, effectiveness_chart, overdue_chart, score_chart
from records.dashboard.complaint_charts import Scope, complaint_charts, scope_of_site
from records.dashboard.figures import actions
from records.dashboard.figures.drawing import Chart
from records.dashboard.figures.periods import SPANS, Period, read_period
from records.history.counting import Counting
from records.sites.models import Site


def charts_for(user: User, site: Site, period: Period) -> list[Chart]:
    """Return the charts that the user may see at the site; a fixed number of queries, whatever is stored."""
    scope = scope_of_site(site)
    rows, count = actions.visible_actions(site.pk, user), actions.counting_for(user, site.pk, scope.count)
    return _charts(scope, period, access.asking(user, site), rows, count)


def count_ahead_for(site: Site) -> None:
    """Count what the charts of the usual period show to somebody who may see all of it, so that the counts are kept."""
    with timezone.override(zone_of(site)):
        scope, (period, _) = scope_of_site(site), read_period({}, zone_of(site))
        rows = Action.objects.at(site.pk).filter(is_archived=False)
        _charts(scope, period, lambda permission: True, rows, scope.count)


def _charts(
    scope: Scope, period: Period, may: Callable[[str], bool], rows: QuerySet[Action], count: Counting
) -> list[Chart]:
    """Return the charts of the kinds of record that `may` allows; `rows` are the actions, which `count` counts."""
    charts: list[Chart] = []
    key = scope.site.pk
    if may("complaints.view_complaint"):
        charts += complaint_charts(scope, period, may)
    if may("actions.view_action"):
        charts += [ageing_chart(rows, period, count), effectiveness_chart(rows, period, count)]
    if may("audits.view_auditrecord"):
        charts += [score_chart(key, period, scope.count), overdue_chart(key, period, scope.count)]
    return charts


def context(request: HttpRequest) -> dict[str, Any]:
    """Return what the start page shows; a fixed number of queries, however many records there are."""
    site = current_site(request)
    show_times_of(site)
    user: User = user_of(request)
    sections = sections_for(request, extension_points.to_do) if site else []
    period, fault = read_period(request.GET, zone_of(site))
    return {
        "start_site": site,
        "waiting": [section for section in sections if section.total],
        "nothing_waits": [section for section in sections if not section.total],
        "charts": charts_for(user, site, period) if site else [],
        "start_links": quick_complaint.menu_links(request),
        "figures_title": f"{site}, {period.name}",
        "period": period,
        "period_fault": fault,
        "spans": SPANS,
    }
