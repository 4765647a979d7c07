"""The page with charts of the complaints that the filtered list shows, and the list's button that leads to it."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.translation import gettext

from records.accounts import access
from records.backoffice.about import list_of
from records.backoffice.current import current_site, show_times_of, zone_of
from records.backoffice.extension_points import RecordLink
from records.backoffice.lists import UnreadableListError, list_of_query
from records.backoffice.responses import page_response
from records.complaints.models import Complaint
from records.dashboard.complaint_charts import complaint_charts, scope_of_list
from records.dashboard.figures.periods import SPANS, read_period, spanning

PERIOD = ("from", "to", "months")


def list_links(request: HttpRequest, model: type[Any]) -> Sequence[RecordLink]:
    """Return the button of the complaints' list that leads to its charts, under the same filters."""
    if model is not Complaint:
        return ()
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    return (RecordLink("charts", gettext("Show as charts"), reverse("admin:complaint_charts") + query),)


def figures(request: HttpRequest) -> HttpResponse:
    """Show the charts of the complaints that the address selects; a fixed number of queries.

    Without a period in the address, it is that of the list's filter by date, or else the last twelve months.
    """
    model_admin, site = admin.site.get_model_admin(Complaint), current_site(request)
    if site is None or not model_admin.has_view_permission(request):
        raise PermissionDenied
    show_times_of(site)
    query = request.GET.copy()
    period_parameters = {name: values[-1] for name in PERIOD if (values := query.pop(name, None))}
    try:
        changelist = list_of_query(model_admin, request, query)
    except UnreadableListError as error:
        response: HttpResponse = model_admin.unreadable(request, error)  # type: ignore[attr-defined]
        return response
    changelist.url_parameters = request.GET.copy()
    scope = scope_of_list(site, changelist, query)
    period, fault = read_period(period_parameters, zone_of(site))
    if not period_parameters and (own_period := spanning(*scope.days.get("date", (None, None)), period)):
        period = own_period
    return page_response(
        request,
        "dashboard/complaint_charts.html",
        gettext("Complaints as charts"),
        subtitle=str(site),
        cl=changelist,
        charts=complaint_charts(scope, period, access.asking(request.user, site)),
        figures_title=period.name,
        period=period,
        period_fault=fault,
        spans=SPANS,
        period_query=f"{query.urlencode()}&" if query else "",
        narrowed_by=[(name, value) for name, values in query.lists() for value in values],
        list_address=f"{list_of(Complaint)}?{query.urlencode()}",
    )


urlpatterns = [path("complaints/complaint/charts/", figures, name="complaint_charts")]
