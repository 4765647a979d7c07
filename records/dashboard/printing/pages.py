"""The addresses of print views, and the buttons that lead there from records' pages and lists."""

from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.text import slugify
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents.models import Document
from records.backoffice.about import reads_first
from records.backoffice.current import current_site, show_times_of, site_at, user_of
from records.backoffice.extension_points import RecordLink
from records.backoffice.lists import UnreadableListError
from records.backoffice.responses import pdf_response
from records.dashboard.printing.layouts import PAPERS, paper_of_page
from records.dashboard.printing.lists import list_pdf
from records.dashboard.printing.paper import render_pdf
from records.history.trail import now

PRINT = _("Print (PDF)")


def record_links(request: HttpRequest, record: Any) -> list[RecordLink]:
    """Return the print button of a record; everybody who may see the record may print it."""
    if not reads_first(type(record)):
        return []
    # A document also has a button that prints its file.
    label = gettext("Print the details (PDF)") if isinstance(record, Document) else str(PRINT)
    address = reverse("admin:print", args=(record._meta.model_name, quote(record.pk)))
    return [RecordLink("print", label, address)]


def list_links(request: HttpRequest, model: type[Any]) -> list[RecordLink]:
    """Return the print button of a list, which keeps the filters, the search and the order of the page."""
    if not reads_first(model):
        return []
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    return [RecordLink("print", str(PRINT), reverse("admin:print_list", args=(model._meta.model_name,)) + query)]


def print_view(request: HttpRequest, kind: str, object_id: str) -> HttpResponse:
    """Answer the record as a PDF for saving; 404 if it does not exist or the user may not see it."""
    model_admin = _admin_of(kind)
    record = model_admin.record_or_404(request, object_id)
    site, user = site_at(request, model_admin.site_id_of(record)), user_of(request)
    show_times_of(site)
    make_paper = PAPERS.get(type(record))
    if make_paper is not None and site is not None:
        paper = make_paper(record, site, user, model_admin.moments)
    else:
        paper = paper_of_page(record, site, user, model_admin.content_of(request, record))
    number = getattr(record, "site_sequence_id", record.pk) or "draft"
    return pdf_response(render_pdf(paper), f"{slugify(str(record._meta.verbose_name))}-{number}.pdf")


def print_list_view(request: HttpRequest, kind: str) -> HttpResponse:
    """Answer the filtered list of the current site, with the user's columns, as a PDF for saving."""
    model_admin, site = _admin_of(kind), current_site(request)
    if site is None or not model_admin.has_view_permission(request):
        raise PermissionDenied
    show_times_of(site)
    try:
        changelist = model_admin.get_changelist_instance(request)
        content = list_pdf(changelist, site, user_of(request))
    except UnreadableListError as error:
        return cast("HttpResponse", model_admin.unreadable(request, error))
    return pdf_response(content, f"{slugify(str(model_admin.opts.verbose_name_plural))}-{now().date().isoformat()}.pdf")


def _admin_of(kind: str) -> Any:
    """Return the admin of a kind of record that can be printed; raises Http404."""
    model = next((model for model in admin.site._registry if model._meta.model_name == kind), None)
    if model is None or not reads_first(model):
        raise Http404
    return admin.site.get_model_admin(model)


urlpatterns = [
    path("print/<str:kind>/", print_list_view, name="print_list"),
    path("print/<str:kind>/<str:object_id>/", print_view, name="print"),
]
