"""The page of the monthly report, its PDF, and its entry in the menu."""

import re

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from records.backoffice.current import site_where, user_of, zone_of
from records.backoffice.date_filters import today_at
from records.backoffice.extension_points import menu_link
from records.backoffice.responses import page_response, pdf_response
from records.dashboard.figures.periods import Period, long_name, read_period
from records.dashboard.monthly.charts import report_of
from records.dashboard.monthly.paper import monthly_paper
from records.sites.models import Site
from records.sites.months import months_on

PARTS = (
    "complaints.view_complaint",
    "actions.view_action",
    "audits.view_auditrecord",
    "documents.view_document",
)
"""The permissions of which one is needed; each shows its part of the report."""


menu_links = menu_link("monthly", _("Monthly report"), "admin:monthly", *PARTS, group="Reports")


def report_page(request: HttpRequest) -> HttpResponse:
    """Show the report of the month in the address (`month=2026-10`), or else of the last month that is over."""
    site = site_where(request, *PARTS)
    period, fault = period_of(request.GET.get("month", ""), site)
    month = period.final_month
    next_month = months_on(month, 1)
    return page_response(
        request,
        "dashboard/monthly.html",
        gettext("Monthly report, %(month)s") % {"month": long_name(month)},
        subtitle=str(site),
        report=report_of(user_of(request), site, period),
        period=period,
        period_fault=fault,
        earlier=f"{months_on(month, -1):%Y-%m}",
        following=f"{next_month:%Y-%m}" if next_month <= period.today else "",
    )


def report_paper(request: HttpRequest) -> HttpResponse:
    """Answer the report as a PDF; a month that cannot be read is taken as the last month that is over."""
    site = site_where(request, *PARTS)
    period, _ = period_of(request.GET.get("month", ""), site)
    report = report_of(user_of(request), site, period)
    content = monthly_paper(report, user_of(request).printed_name, zone_of(site).key)
    place = re.sub(r"[^\w-]+", "-", site.name)[:60].strip("-") or "site"
    name = f"monthly-report-{place}-{report.month:%Y-%m}.pdf"
    return pdf_response(content, name)


def period_of(text: str, site: Site) -> tuple[Period, str]:
    """Return the twelve months that end with the month of the text, and what is wrong with the text, if anything."""
    zone = zone_of(site)
    current_month = today_at(zone).replace(day=1)
    usual, _ = read_period({"to": f"{months_on(current_month, -1):%Y-%m}"}, zone)
    if not text:
        return usual, ""
    period, fault = read_period({"to": text}, zone)
    if fault:
        return usual, fault
    if period.final_month > current_month:
        return usual, gettext("This month has not begun yet.")
    return period, ""


urlpatterns = [
    path("monthly/", require_safe(report_page), name="monthly"),
    path("monthly/paper/", require_safe(report_paper), name="monthly_paper"),
]
