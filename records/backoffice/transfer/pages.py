"""The pages of import and export: upload, dry run with its report, confirmation, and the filtered list as a file."""

import base64
import binascii
import datetime
import uuid
from collections import Counter
from typing import Any

from django.contrib import messages
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from records.accounts import access
from records.backoffice.current import author_of, current_site, show_times_of, user_of
from records.backoffice.fields import as_number
from records.backoffice.forms import ReasonForm
from records.backoffice.lists import UnreadableListError
from records.backoffice.permissions import SitePermissions
from records.backoffice.transfer import files, sheets
from records.backoffice.transfer.registry import resource_of
from records.backoffice.transfer.resources import AlreadyImportedError, RecordResource
from records.backoffice.transfer.rows import Outcome
from records.history.models import Channel
from records.sites.models import Site

SALT = "larder.import"
LIFETIME = datetime.timedelta(hours=1)
LONGEST_REPORT = 500
LONGEST_REQUEST = files.MOST_BYTES * 2 + 64 * 1024
"""The maximum size of a request: the file itself, or the file as the report's page sends it with the confirmation."""


class TransferPages(SitePermissions):
    """Import and export of a list of records, for models that have a resource."""

    def get_urls(self) -> Any:
        """Return the admin's URLs, preceded by those of import and export."""
        if resource_of(self.model) is None:
            return super().get_urls()
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        # The inner view checks the CSRF token, after the size of the request has been checked.
        view = csrf_exempt(self.import_view)
        return [
            path("import/", self.admin_site.admin_view(view), name=f"{name}_import"),
            path("export/<str:kind>/", self.admin_site.admin_view(self.export_view), name=f"{name}_export"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show the list with its links to import and export."""
        return super().changelist_view(request, {**self._transfer_links(request), **(extra_context or {})})

    def _transfer_links(self, request: HttpRequest) -> dict[str, Any]:
        resource = resource_of(self.model)
        if resource is None:
            return {}
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}"
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        links = [
            {"label": f"Export {kind.upper()}", "url": reverse(f"{name}_export", args=(kind,)) + query}
            for kind in sheets.KINDS
        ]
        if resource.can_import and self._may_import(request):
            links.append({"label": "Import", "url": reverse(f"{name}_import")})
        return {"exchange": links}

    def _may_import(self, request: HttpRequest) -> bool:
        return self.may(request, "add") or self.may(request, "change")

    def _resource_at(self, request: HttpRequest, site: Site, **given: Any) -> RecordResource:
        user = user_of(request)
        chosen = resource_of(self.model)
        if chosen is None:
            raise Http404
        return chosen(
            site_id=site.pk,
            author=author_of(request, Channel.IMPORT),
            may=lambda permission: access.may(user, site, permission),
            **given,
        )

    # --- Export ------------------------------------------------------------------------------------------------------

    def export_view(self, request: HttpRequest, kind: str) -> Any:
        """Return the list, as it is filtered, searched and sorted, as a file."""
        site = current_site(request)
        if kind not in sheets.KINDS:
            raise Http404
        if site is None or not self.has_view_permission(request):
            raise PermissionDenied
        resource = self._resource_at(request, site)
        try:
            found = sheets.lines(resource, self.get_changelist_instance(request).queryset)
        except UnreadableListError as error:
            return self.unreadable(request, error)
        title = str(self.opts.verbose_name_plural)
        try:
            file = sheets.write_csv(found) if kind == "csv" else sheets.write_xlsx(found, title.capitalize())
        except sheets.TooLongError as refusal:
            self.message_user(request, str(refusal), messages.ERROR)
            return redirect(self._list_address())
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        return FileResponse(file, as_attachment=True, filename=f"{title} {day}.{kind}", content_type=sheets.KINDS[kind])

    def _list_address(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")

    # --- Import ------------------------------------------------------------------------------------------------------

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Ask for a file, report what importing it would do, and import it once this is confirmed."""
        length = as_number(request.META.get("CONTENT_LENGTH") or "0")
        if length is None or length > LONGEST_REQUEST:
            return HttpResponse(
                f"The file is larger than {files.MOST_BYTES // 1024**2} MiB. Split it into several files.",
                status=413,
                content_type="text/plain; charset=utf-8",
            )
        return csrf_protect(self._import_steps)(request)

    def _import_steps(self, request: HttpRequest) -> HttpResponse:
        site = current_site(request)
        offered = resource_of(self.model)
        if offered is None or not offered.can_import:
            raise Http404
        if site is None or not self._may_import(request):
            raise PermissionDenied
        show_times_of(site)
        if request.method != "POST":
            return self._ask_for_file(request, site)
        if "upload" in request.POST:
            return self._confirm_import(request, site)
        file = request.FILES.get("file")
        if file is None:
            return self._ask_for_file(request, site, "Choose a file.")
        if (file.size or 0) > files.MOST_BYTES:
            return self._ask_for_file(request, site, f"The file is larger than {files.MOST_BYTES // 1024**2} MiB.")
        return self._check_file(request, site, file.read(), str(file.name))

    def _ask_for_file(self, request: HttpRequest, site: Site, fault: str = "") -> HttpResponse:
        columns = [
            {"name": column.name, "required": column.required, "holds": _HOLDS.get(column.kind, "text")}
            for column in self._resource_at(request, site).columns()
            if column.writable or column.name == "Id"
        ]
        return self._import_page(
            request, "backoffice/import.html", fault=fault, columns=columns, most_rows=files.MOST_ROWS
        )

    def _check_file(
        self, request: HttpRequest, site: Site, data: bytes, name: str, changed: bool = False
    ) -> HttpResponse:
        resource = self._resource_at(request, site)
        try:
            outcomes = resource.import_sheet(files.read(data), dry_run=True)
        except files.FileError as fault:
            return self._ask_for_file(request, site, str(fault))
        upload = {
            "data": base64.b64encode(data).decode(),
            "name": name,
            "digest": resource.digest(),
            "once": str(uuid.uuid4()),
            **self._upload_stamp(request, site),
        }
        return self._show_report(
            request, resource, outcomes, signing.dumps(upload, salt=SALT, compress=True), name, changed
        )

    def _show_report(
        self,
        request: HttpRequest,
        resource: RecordResource,
        outcomes: Counter[Outcome],
        upload: str,
        name: str,
        changed: bool,
        form: ReasonForm | None = None,
    ) -> HttpResponse:
        faulty = [row for row in resource.rows if row.faults]
        telling = faulty or [row for row in resource.rows if row.outcome is not Outcome.UNCHANGED]
        return self._import_page(
            request,
            "backoffice/import_report.html",
            file_name=name,
            rows=telling[:LONGEST_REPORT],
            left_out=max(len(telling) - LONGEST_REPORT, 0),
            added=outcomes[Outcome.ADDED],
            changed_count=outcomes[Outcome.CHANGED],
            unchanged=outcomes[Outcome.UNCHANGED],
            faulty=outcomes[Outcome.FAULTY],
            notes=resource.notes,
            upload="" if faulty or len(telling) == 0 else upload,
            moved_on=changed,
            form=form or ReasonForm(),
        )

    def _confirm_import(self, request: HttpRequest, site: Site) -> HttpResponse:
        try:
            upload = signing.loads(request.POST["upload"], salt=SALT, max_age=LIFETIME)
            data = base64.b64decode(upload["data"])
        except signing.SignatureExpired:
            return self._ask_for_file(request, site, "The report is more than an hour old. Upload the file again.")
        except (signing.BadSignature, binascii.Error, KeyError):
            return self._ask_for_file(request, site, "The report cannot be used. Upload the file again.")
        if any(upload[name] != value for name, value in self._upload_stamp(request, site).items()):
            return self._ask_for_file(request, site, "The report was made at another site. Upload the file again.")
        form = ReasonForm(request.POST)
        if not form.is_valid():
            resource = self._resource_at(request, site)
            outcomes = resource.import_sheet(files.read(data), dry_run=True)
            return self._show_report(request, resource, outcomes, request.POST["upload"], upload["name"], False, form)
        reason = form.cleaned_data["change_reason"].strip()
        resource = self._resource_at(request, site, reason=reason, once=upload["once"], expected=upload["digest"])
        try:
            outcomes = resource.import_sheet(files.read(data), dry_run=False)
        except AlreadyImportedError:
            self.message_user(request, "This file was imported already; nothing was imported again.", messages.WARNING)
            return redirect(self._list_address())
        if not resource.applied:
            return self._check_file(request, site, data, upload["name"], changed=True)
        counts = ", ".join(f"{outcomes[one]} {one}" for one in (Outcome.ADDED, Outcome.CHANGED, Outcome.UNCHANGED))
        self.message_user(request, f"Imported: {counts}.", messages.SUCCESS)
        return redirect(self._list_address())

    def _upload_stamp(self, request: HttpRequest, site: Site) -> dict[str, str]:
        """Return what an upload is bound to: its user, the site, and the kind of record."""
        return {"user": str(user_of(request).pk), "site": str(site.pk), "model": self.opts.label}

    def _import_page(self, request: HttpRequest, template: str, **context: Any) -> HttpResponse:
        return TemplateResponse(
            request,
            template,
            {
                **self.admin_site.each_context(request),
                "title": f"Import {self.opts.verbose_name_plural}",
                "opts": self.opts,
                "back": self._list_address(),
                **context,
            },
        )


_HOLDS = {
    "date": "date as 2024-05-31, or time as 2024-05-31T08:30:00Z",
    "number": "number, with a point before its decimals",
    "integer": "whole number",
    "boolean": "true or false",
    "choice": "one of the words that the form offers",
    "texts": "several texts, separated by semicolons",
    "id": "Id of the record to change; empty to add one",
    "reference": "name, code or Id",
    "references": "several names, codes or Ids, separated by semicolons",
    "rows": "rows as an export writes them",
}
