"""The addresses of print views, and the button that leads there from a record's page."""

from functools import partial
from typing import Any

from django.contrib.admin.utils import quote
from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.http import content_disposition_header
from django.utils.text import slugify
from django.utils.translation import gettext

from records.backoffice.current import show_times_of, site_at, user_of
from records.backoffice.extension_points import RecordLink
from records.dashboard.printing.paper import printed
from records.dashboard.printing.papers import PAPERS


def addresses(admin_site: Any) -> list[Any]:
    """Return the address of print views: `print/complaint/<Id>/` and the like."""
    return [
        path("print/<str:kind>/<str:object_id>/", admin_site.admin_view(partial(print_view, admin_site)), name="print")
    ]


def links(request: HttpRequest, record: Any) -> list[RecordLink]:
    """Return the print button of records that can be printed; whoever sees the record may print it."""
    if type(record) not in PAPERS:
        return []
    address = reverse("admin:print", args=(record._meta.model_name, quote(record.pk)))
    return [RecordLink("print", gettext("Print (PDF)"), address)]


def print_view(admin_site: Any, request: HttpRequest, kind: str, object_id: str) -> HttpResponse:
    """Answer the record as a PDF to be saved; 404 for what the user may not see, as for what does not exist."""
    model = next((model for model in PAPERS if model._meta.model_name == kind), None)
    if model is None or not admin_site.is_registered(model):
        raise Http404
    model_admin = admin_site.get_model_admin(model)
    record = model_admin.found(request, object_id)
    site = site_at(request, record.site_id)
    if site is None:
        raise ImproperlyConfigured("A record was shown to somebody who holds no role at its site.")
    show_times_of(site)
    paper = PAPERS[model](record, site, user_of(request), model_admin.moments)
    name = f"{slugify(str(model._meta.verbose_name))}-{record.site_sequence_id or 'draft'}.pdf"
    return HttpResponse(
        printed(paper),
        content_type="application/pdf",
        headers={"Content-Disposition": content_disposition_header(True, name) or "attachment"},
    )
