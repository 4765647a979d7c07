"""The back-office pages of the log of provisioning calls (DECISIONS 7.12)."""

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.models import Directory, Role
from records.backoffice.about import address_of
from records.backoffice.choice_filters import ChoiceFilter, FilterOptions
from records.backoffice.current import current_site, zone_of
from records.backoffice.fields import as_number
from records.backoffice.lists import UnreadableListError
from records.backoffice.logs import LogAdmin, PeriodFilter
from records.backoffice.permissions import Pages
from records.backoffice.saved_filters import SavedFilterPages
from records.employees.models import Employee
from records.operations.values import show_date_time
from records.sites.text import read_uuid
from scim.models import ProvisioningCall

_RESOURCE = re.compile(r"/(?P<kind>Users|Groups)/(?P<id>[0-9a-f-]{36})\b", re.IGNORECASE)


def moment_of(call: ProvisioningCall) -> str:
    """Return when a call was made, in the time zone of its directory's home site, with the name of that zone."""
    zone = zone_of(call.directory.home_site if call.directory else None)
    return f"{call.at.astimezone(zone):%Y-%m-%d %H:%M:%S} {zone.key}"


def json_lines(calls: models.QuerySet[ProvisioningCall]) -> Iterator[str]:
    """Yield one line of JSON for each call; its time is in UTC."""
    columns = ("at", "directory__name", "token_name", "method", "line", "status", "outcome", "body", "request_id")
    names = ("at", "directory", "token", "method", "request", "status", "outcome", "body", "requestId", "durationMs")
    for row in calls.values_list(*columns, "duration_ms").iterator(chunk_size=1000):
        values = dict(zip(names, row, strict=True))
        values["at"], values["requestId"] = show_date_time(values["at"]), str(values["requestId"])
        yield json.dumps(values, ensure_ascii=False) + "\n"


class OutcomeFilter(ChoiceFilter):
    """Filters the log to calls that failed, or to those that did not."""

    title = _("outcome")
    parameter_name = "outcome"
    options: ClassVar[FilterOptions] = {
        "failed": (_("Failed"), Q(status__gte=400)),
        "done": (_("Done"), Q(status__lt=400)),
    }


class DirectoryFilter(admin.RelatedFieldListFilter):
    """Filters the log to the calls of one of the directories whose home is the current site."""

    def field_choices(self, field: object, request: HttpRequest, model_admin: object) -> list[tuple[str, Any]]:
        """Return those directories."""
        return [
            (str(row.pk), row.name)
            for row in Directory.objects.filter(home_site=current_site(request)).order_by("name")
        ]


@admin.register(ProvisioningCall)
class ProvisioningCallAdmin(LogAdmin, SavedFilterPages):
    """The log of the calls that directories made, and how each call ended."""

    site_field = "directory__home_site"
    counted = _("calls")
    list_display = ("when", "token_name", "method", "line", "status", "outcome")
    list_select_related = ("directory__home_site",)
    list_filter = (PeriodFilter, OutcomeFilter, ("directory", DirectoryFilter))
    search_fields: ClassVar[Any] = ("line", "token_name", "outcome")
    ordering: ClassVar[Any] = ("-at", "-id")
    own_pages: ClassVar[Pages] = (("export/", "export_view", "export"),)

    def site_id_of(self, record: Any) -> uuid.UUID | None:
        """Return the home site of the call's directory."""
        return record.directory.home_site_id if record.directory else None

    @admin.display(description=_("when"))
    def when(self, call: ProvisioningCall) -> str:
        """Return when a call was made, in the time zone of its site, with the name of that zone."""
        return moment_of(call)

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Send the log as JSON lines, oldest first: one object for each call in the filtered list."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            calls = self.get_changelist_instance(request).queryset.order_by("at", "id")
        except UnreadableListError as error:
            return self.unreadable(request, error)
        response = StreamingHttpResponse(json_lines(calls), content_type="application/jsonl")
        response["Content-Disposition"] = 'attachment; filename="provisioning-log.jsonl"'
        response["Cache-Control"] = "no-store"
        return response

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Return also the link to the export, and what an empty list says."""
        export = f"{self.url_of('export')}?{request.GET.urlencode()}"
        return {
            **super().list_context(request),
            "exchange": [{"url": export, "label": gettext("Export as JSON lines")}],
            "empty_list": gettext("No directory has called yet. Connect one on its page, under Directories."),
        }

    def entry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show one call with the shape of its body."""
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        key = as_number(object_id, 18)
        call = self.get_queryset(request).filter(pk=key).select_related("directory__home_site").first() if key else None
        if call is None:
            raise Http404(gettext("There is no such call."))
        about = self._resource_of(request, call)
        return self.page_response(
            request,
            "scim/call.html",
            f"{call.method} {call.status}",
            call=call,
            at=moment_of(call),
            about=about,
            about_url=address_of(about) if about else "",
        )

    def _resource_of(self, request: HttpRequest, call: ProvisioningCall) -> Employee | Role | None:
        """Return the employee or role of the log's site whose id is in the address of a call, if the viewer sees it."""
        match = _RESOURCE.search(call.line)
        key = read_uuid(match["id"]) if match else None
        if match is None or key is None:
            return None
        model: type[Employee] | type[Role] = Employee if match["kind"].lower() == "users" else Role
        pages: Any = self.admin_site._registry[model]
        record = model.objects.filter(pk=key, site_id=self.site_id_of(call)).first()
        return record if record is not None and pages.may(request, "view", record) else None
