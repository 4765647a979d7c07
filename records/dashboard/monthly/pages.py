"""The page of the monthly report and its paper, and the menu's line."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from records.accounts import access
from records.backoffice.current import current_site, show_times_of, user_of, zone_of
from records.backoffice.date_filters import today_at
from records.backoffice.extension_points import RecordLink
from records.dashboard.figures.periods import Period, chosen, long_name, months_on
from records.dashboard.monthly.charts import report_of
from records.dashboard.monthly.figures import month_before
from records.dashboard.monthly.paper import monthly_paper
from records.sites.models import Site

PARTS = (
    "complaints.view_complaint",
    "actions.view_action",
    "audits.view_auditrecord",
    "documents.view_document",
)
"""The permissions of which one is needed; each shows its part of the report."""


def addresses(admin_site: AdminSite) -> Sequence[Any]:
    """Return the addresses below /admin/."""
    view = admin_site.admin_view
    return [
        path("monthly/", view(require_safe(partial(report_page, admin_site))), name="monthly"),
        path("monthly/paper/", view(require_safe(partial(report_paper, admin_site))), name="monthly_paper"),
    ]


def menu_links(request: HttpRequest) -> Sequence[RecordLink]:
    """Return the menu's line, for those who may see at least one part of the report."""
    if not _may_see(request, current_site(request)):
        return ()
    return (RecordLink("monthly", gettext("Monthly report"), reverse("admin:monthly"), "Reports"),)


def report_page(admin_site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Show the report of the month in the address (`month=2026-10`), or else of the last month that is over."""
    site = _site(request)
    period, fault = period_of(request.GET.get("month", ""), site)
    month = period.final_month
    following = months_on(month, 1)
    context = {
        **admin_site.each_context(request),
        "title": gettext("Monthly report, %(month)s") % {"month": long_name(month)},
        "subtitle": str(site),
        "report": report_of(admin_site, user_of(request), site, period),
        "period": period,
        "period_fault": fault,
        "earlier": f"{month_before(month):%Y-%m}",
        "following": f"{following:%Y-%m}" if following <= period.today else "",
    }
    return TemplateResponse(request, "dashboard/monthly.html", context)


def report_paper(admin_site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Answer the report as a PDF; a month that cannot be read is taken as the last month that is over."""
    site = _site(request)
    period, _ = period_of(request.GET.get("month", ""), site)
    report = report_of(admin_site, user_of(request), site, period)
    content = monthly_paper(report, user_of(request).printed_name, zone_of(site).key)
    place = re.sub(r"[^\w-]+", "-", site.name)[:60].strip("-") or "site"
    name = f"monthly-report-{place}-{report.month:%Y-%m}.pdf"
    headers = {"Content-Disposition": content_disposition_header(True, name) or "attachment"}
    return HttpResponse(content, content_type="application/pdf", headers=headers)


def period_of(text: str, site: Site) -> tuple[Period, str]:
    """Return the twelve months that end with the month of the text, and what is wrong with the text, if anything."""
    zone = zone_of(site)
    running = today_at(zone).replace(day=1)
    usual, _ = chosen({"to": f"{month_before(running):%Y-%m}"}, zone)
    if not text:
        return usual, ""
    period, fault = chosen({"to": text}, zone)
    if fault:
        return usual, fault
    if period.final_month > running:
        return usual, gettext("This month has not begun yet.")
    return period, ""


def _may_see(request: HttpRequest, site: Site | None) -> bool:
    return site is not None and any(access.may(user_of(request), site, permission) for permission in PARTS)


def _site(request: HttpRequest) -> Site:
    """Return the current site and show its times; raises PermissionDenied for those who may see no part."""
    site = current_site(request)
    if site is None or not _may_see(request, site):
        raise PermissionDenied
    show_times_of(site)
    return site
