"""The pages of import and export: upload, dry run with its report, confirmation, and the filtered list as a file."""

import base64
import binascii
import datetime
import uuid
from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.contrib import messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from records.backoffice.current import current_site, show_times_of, user_of
from records.backoffice.fields import as_number
from records.backoffice.forms import ReasonForm
from records.backoffice.lists import UnreadableListError
from records.backoffice.once import DoneAlreadyError
from records.backoffice.transfer import files, sheets
from records.backoffice.transfer.children import owner_heading
from records.backoffice.transfer.lines import Export
from records.backoffice.transfer.matching import ways_to_match
from records.backoffice.transfer.past_import_pages import PastImportPages
from records.backoffice.transfer.past_imports import store_import
from records.backoffice.transfer.registry import resource_of
from records.backoffice.transfer.resources import RecordResource
from records.backoffice.transfer.rows import Outcome
from records.backoffice.transfer.table import Column
from records.sites.models import Site

SALT = "larder.import"
LIFETIME = datetime.timedelta(hours=1)
LONGEST_REPORT = 500
LONGEST_REQUEST = files.MOST_BYTES * 2 + 64 * 1024
"""The maximum size of a request: the file itself, or the file as the report's page sends it with the confirmation."""


INTERFACE = "interface"
"""The part of an export's address that asks for the interface's words."""


class TransferPages(PastImportPages):
    """Import and export of a list of records, for models that have a resource."""

    def get_urls(self) -> list[URLPattern]:
        """Return the admin's URLs, preceded by those of import and export."""
        if resource_of(self.model) is None:
            return super().get_urls()
        name, view = self.page_name, self.admin_site.admin_view
        return [
            # The inner view checks the CSRF token, after the size of the request has been checked.
            path("import/", view(csrf_exempt(self.import_view)), name=name("import")),
            path("import/done/", view(self.imports_view), name=name("imports")),
            path("import/done/<uuid:key>/", view(self.undo_import_view), name=name("take_back")),
            path("export/<str:kind>/", view(self.export_view), name=name("export")),
            path("export/<str:kind>/<str:part>/", view(self.export_view), name=name("export")),
            *super().get_urls(),
        ]

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Return also the list's links to import and export."""
        context = super().list_context(request)
        resource = resource_of(self.model)
        if resource is None:
            return context
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        links = [
            {
                "label": gettext("Export %(kind)s") % {"kind": kind.upper()},
                "url": self.url_of("export", kind) + query,
            }
            for kind in sheets.KINDS
        ]
        if resource.can_import and self._may_import(request):
            links.append({"label": gettext("Import"), "url": self.url_of("import")})
        site = current_site(request)
        columns = self._resource_at(request, site).columns() if site is not None else []
        further_columns = [
            (gettext("%(label)s as CSV") % {"label": column.label}, "csv", column.name)
            for column in columns
            if column.kind == "rows"
        ]
        further_columns += [
            (gettext("%(kind)s with the interface's names") % {"kind": kind.upper()}, kind, INTERFACE)
            for kind in sheets.KINDS
        ]
        more_links = [{"label": label, "url": self.url_of("export", *args) + query} for label, *args in further_columns]
        return {**context, "exchange": links, "more_exports": more_links}

    # --- Export ------------------------------------------------------------------------------------------------------

    def export_view(self, request: HttpRequest, kind: str, part: str = "") -> HttpResponseBase:
        """Return the list, as it is filtered, searched and sorted, as a file.

        `part` is empty for a file in people's words, `interface` for one in the interface's words, or the column of the
        child rows that a CSV file shall contain.
        """
        site = current_site(request)
        if kind not in sheets.KINDS:
            raise Http404
        if site is None or not self.has_view_permission(request):
            raise PermissionDenied
        show_times_of(site)
        resource = self._resource_at(request, site)
        try:
            rows = self.get_changelist_instance(request).queryset
        except UnreadableListError as error:
            return self.unreadable(request, error)
        export = Export(resource, rows, in_words=part != INTERFACE)
        title = str(self.opts.verbose_name_plural)
        if part in export.children and kind == "csv":
            lines, title = export.child_lines(part), f"{title} {export.children[part].label.lower()}"
        elif part in ("", INTERFACE):
            further = export.further_sheets() if kind == "xlsx" else []
            lines = export.lines(further)
        else:
            raise Http404
        try:
            file = sheets.write_csv(lines) if kind == "csv" else sheets.write_xlsx(lines, title.capitalize(), further)
        except sheets.TooLongError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
            return redirect(self.url_of("changelist"))
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        return FileResponse(file, as_attachment=True, filename=f"{title} {day}.{kind}", content_type=sheets.KINDS[kind])

    # --- Import ------------------------------------------------------------------------------------------------------

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Ask for a file, report what importing it would do, and import it once this is confirmed."""
        length = as_number(request.META.get("CONTENT_LENGTH") or "0")
        if length is None or length > LONGEST_REQUEST:
            return HttpResponse(
                gettext("The file is larger than %(value)s MiB. Split it into several files.")
                % {"value": files.MOST_BYTES // 1024**2},
                status=413,
                content_type="text/plain; charset=utf-8",
            )
        return csrf_protect(self._import_steps)(request)

    def _import_steps(self, request: HttpRequest) -> HttpResponse:
        site = self._importing_site(request)
        if request.method != "POST":
            return self._ask_for_file(request, site)
        if "upload" in request.POST:
            return self._confirm_import(request, site)
        file = request.FILES.get("file")
        if file is None:
            return self._ask_for_file(request, site, gettext("Choose a file."))
        if (file.size or 0) > files.MOST_BYTES:
            return self._ask_for_file(
                request,
                site,
                gettext("The file is larger than %(value)s MiB.") % {"value": files.MOST_BYTES // 1024**2},
            )
        return self._check_file(request, site, file.read(), str(file.name), request.POST.get("match", ""))

    def _ask_for_file(self, request: HttpRequest, site: Site, fault: str = "") -> HttpResponse:
        resource = self._resource_at(request, site)
        return self._import_page(
            request,
            "backoffice/import.html",
            fault=fault,
            columns=_column_help(resource.columns()),
            sheets=[
                {
                    "title": column.label,
                    "owner": owner_heading(self.model, resource.table.children[column.name]),
                    "columns": _column_help(resource.table.children[column.name].columns.values(), "row"),
                }
                for column in resource.columns()
                if column.kind == "rows" and column.writable
            ],
            sheet_titles=", ".join(
                column.label for column in resource.columns() if column.kind == "rows" and column.writable
            ),
            kind=self.opts.verbose_name,
            ways=_ways(self.model, resource),
            match=request.POST.get("match", ""),
            most_rows=files.MOST_ROWS,
            done=self.url_of("imports"),
        )

    def _check_file(
        self, request: HttpRequest, site: Site, data: bytes, name: str, match: str, has_changed: bool = False
    ) -> HttpResponse:
        resource = self._resource_at(request, site, match=match)
        try:
            outcomes = resource.import_sheet(files.read(data, resource.sheet_titles()), dry_run=True)
        except files.FileError as fault:
            return self._ask_for_file(request, site, str(fault))
        upload = {
            "match": match,
            "data": base64.b64encode(data).decode(),
            "name": name,
            "digest": resource.digest(),
            "once": str(uuid.uuid4()),
            **self._upload_stamp(request, site),
        }
        return self._show_report(
            request, resource, outcomes, signing.dumps(upload, salt=SALT, compress=True), name, has_changed
        )

    def _show_report(
        self,
        request: HttpRequest,
        resource: RecordResource,
        outcomes: Counter[Outcome],
        upload: str,
        name: str,
        has_changed: bool,
        form: ReasonForm | None = None,
    ) -> HttpResponse:
        faulty = [row for row in resource.rows if row.faults]
        report_rows = faulty or [row for row in resource.rows if row.outcome is not Outcome.UNCHANGED]
        # What is to be looked at comes first, so that it is among the rows that are shown.
        report_rows.sort(key=lambda row: not row.warnings)
        return self._import_page(
            request,
            "backoffice/import_report.html",
            file_name=name,
            rows=report_rows[:LONGEST_REPORT],
            left_out=max(len(report_rows) - LONGEST_REPORT, 0),
            added=outcomes[Outcome.ADDED],
            changed_count=outcomes[Outcome.CHANGED],
            unchanged=outcomes[Outcome.UNCHANGED],
            faulty=outcomes[Outcome.FAULTY],
            notes=resource.notes,
            warned=sum(bool(row.warnings) for row in resource.rows),
            ways=_ways(self.model, resource),
            match=resource.match,
            checked=upload,
            upload="" if faulty or len(report_rows) == 0 else upload,
            moved_on=has_changed,
            form=form or ReasonForm(),
        )

    def _confirm_import(self, request: HttpRequest, site: Site) -> HttpResponse:
        try:
            upload = signing.loads(request.POST["upload"], salt=SALT, max_age=LIFETIME)
            data = base64.b64decode(upload["data"])
        except signing.SignatureExpired:
            return self._ask_for_file(
                request, site, gettext("The report is more than an hour old. Upload the file again.")
            )
        except (signing.BadSignature, binascii.Error, KeyError):
            return self._ask_for_file(request, site, gettext("The report cannot be used. Upload the file again."))
        if any(upload[name] != value for name, value in self._upload_stamp(request, site).items()):
            return self._ask_for_file(
                request, site, gettext("The report was made at another site. Upload the file again.")
            )
        if "check" in request.POST:
            return self._check_file(request, site, data, upload["name"], request.POST.get("match", ""))
        # A report of the release before does not say it.
        match = upload.get("match", "")
        form = ReasonForm(request.POST)
        if not form.is_valid():
            resource = self._resource_at(request, site, match=match)
            outcomes = resource.import_sheet(files.read(data, resource.sheet_titles()), dry_run=True)
            return self._show_report(request, resource, outcomes, request.POST["upload"], upload["name"], False, form)
        reason = form.cleaned_data["change_reason"].strip()
        options = {"reason": reason, "once": upload["once"], "expected": upload["digest"], "match": match}
        resource = self._resource_at(request, site, **options)
        resource.after_import = partial(store_import, resource=resource, file_name=upload["name"])
        try:
            outcomes = resource.import_sheet(files.read(data, resource.sheet_titles()), dry_run=False)
        except DoneAlreadyError:
            self.message_user(
                request, gettext("This file was imported already; nothing was imported again."), messages.WARNING
            )
            return redirect(self.url_of("changelist"))
        if not resource.is_applied:
            return self._check_file(request, site, data, upload["name"], match, has_changed=True)
        counts = ", ".join(
            f"{outcomes[outcome]} {gettext(outcome)}" for outcome in (Outcome.ADDED, Outcome.CHANGED, Outcome.UNCHANGED)
        )
        text = format_html(
            '{} <a href="{}">{}</a>',
            gettext("Imported: %(counts)s.") % {"counts": counts},
            self.url_of("imports"),
            gettext("Earlier imports of this list, to undo one"),
        )
        self.message_user(request, text, messages.SUCCESS)
        return redirect(self.url_of("changelist"))

    def _upload_stamp(self, request: HttpRequest, site: Site) -> dict[str, str]:
        """Return what an upload is bound to: its user, the site, and the kind of record."""
        return {"user": str(user_of(request).pk), "site": str(site.pk), "model": self.opts.label}


def _column_help(columns: Iterable[Column], kind: str = "record") -> list[dict[str, Any]]:
    """Return what the page says of the columns that an import reads; `kind` is what a row of the sheet is called."""
    return [
        {
            "label": column.label,
            "name": column.name if column.name != column.label else "",
            "required": column.required,
            "holds": _HOLDS.get(column.kind, "text").format(kind=kind),
        }
        for column in columns
        if column.writable or column.name == "Id"
    ]


def _ways(model: type[Model], resource: RecordResource) -> list[tuple[str, str]]:
    """Return the choices of what a row without an Id does; none if there is only one."""
    ways = ways_to_match(model, resource.key)
    name = model._meta.verbose_name
    changing = [
        (
            way,
            gettext("Change the %(name)s that has the same %(way)s; add it if there is none")
            % {"name": name, "way": gettext(way)},
        )
        for way in ways
    ]
    return [("", gettext("Add a new %(name)s") % {"name": name}), *changing] if ways else []


_HOLDS = {
    "date": _("date as 2024-05-31 or 31.05.2024, or local time as 2024-05-31 08:30"),
    "number": _("number, such as 12.5 or 12,5"),
    "integer": _("whole number"),
    "boolean": _("yes or no"),
    "choice": _("one of the words that the form offers"),
    "texts": _("several texts, separated by semicolons"),
    "id": _("Id of the {kind} to change; empty to add one"),
    "reference": _("name, code or Id"),
    "references": _("several names, codes or Ids, separated by semicolons"),
    "rows": _("rows, on a sheet of their own"),
}
