"""The pages of past imports: their list, and undoing one."""

import uuid
from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from records.accounts import access
from records.backoffice.current import author_of, current_site, show_times_of, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.fields import as_number
from records.backoffice.forms import ReasonForm
from records.backoffice.models import FileImport
from records.backoffice.permissions import SitePermissions
from records.backoffice.transfer.past_imports import (
    ARCHIVED,
    LEAVE,
    PUT_BACK,
    AlreadyUndoneError,
    Line,
    digest_of,
    undo_import,
)
from records.backoffice.transfer.registry import resource_of
from records.backoffice.transfer.resources import RecordResource
from records.history.models import Channel
from records.sites.models import Site

PAGE = 25
LONGEST = 500
"""How many records the page of an import lists."""


class PastImportPages(SitePermissions):
    """What the pages of import and export share, and the pages of past imports."""

    def _may_import(self, request: HttpRequest) -> bool:
        return self.may(request, "add") or self.may(request, "change")

    def _resource_at(self, request: HttpRequest, site: Site, **options: Any) -> RecordResource:
        user = user_of(request)
        resource_class = resource_of(self.model)
        if resource_class is None:
            raise Http404
        return resource_class(
            site_id=site.pk,
            author=author_of(request, Channel.IMPORT),
            may=access.asking(user, site),
            **options,
        )

    def _importing_site(self, request: HttpRequest) -> Site:
        """Return the site at which the user may import; raises Http404 or PermissionDenied."""
        site = current_site(request)
        resource_class = resource_of(self.model)
        if resource_class is None or not resource_class.can_import:
            raise Http404
        if site is None or not self._may_import(request):
            raise PermissionDenied
        show_times_of(site)
        return site

    def _import_page(self, request: HttpRequest, template: str, *, title: str = "", **context: object) -> HttpResponse:
        title = title or gettext("Import %(kinds)s") % {"kinds": self.opts.verbose_name_plural}
        return self.page_response(request, template, title, back=self.url_of("changelist"), **context)

    # --- Past imports ------------------------------------------------------------------------------------------------

    def imports_view(self, request: HttpRequest) -> HttpResponse:
        """Show the imports of the list at the current site, newest first; a fixed number of queries a page."""
        site = self._importing_site(request)
        page = max(as_number(request.GET.get("p", "1"), 6) or 1, 1)
        rows = FileImport.objects.filter(site=site, listing=self.opts.label_lower)
        page_rows = list(rows.select_related("user", "taken_back_by")[(page - 1) * PAGE : page * PAGE + 1])
        return self._import_page(
            request,
            "backoffice/imports.html",
            title=gettext("Imports of %(kinds)s") % {"kinds": self.opts.verbose_name_plural},
            lines=[
                {
                    "row": row,
                    "at": format_datetime(row.at),
                    "taken_back": format_datetime(row.taken_back),
                    "address": self.url_of("take_back", row.pk),
                }
                for row in page_rows[:PAGE]
            ],
            page=page,
            previous=f"?p={page - 1}" if page > 1 else "",
            next=f"?p={page + 1}" if len(page_rows) > PAGE else "",
        )

    def undo_import_view(self, request: HttpRequest, key: uuid.UUID) -> HttpResponse:
        """Show what undoing an import would do, and do it once a reason is given."""
        site = self._importing_site(request)
        file_import = (
            FileImport.objects.filter(pk=key, site=site, listing=self.opts.label_lower).select_related("user").first()
        )
        if file_import is None:
            raise Http404
        form = ReasonForm(request.POST if request.method == "POST" else None)
        moved_on = False
        try:
            if form.is_bound and form.is_valid():
                reason = form.cleaned_data["change_reason"].strip()
                lines, is_stored = self._undo(request, site, file_import, reason, request.POST.get("seen", ""))
                if is_stored:
                    self._say_what_happened(request, file_import, lines)
                    return redirect(self.url_of("imports"))
                moved_on = True
            lines, _ = self._undo(request, site, file_import, "Rehearsal", "", rehearse=True)
        except AlreadyUndoneError:
            self.message_user(
                request, gettext("The import of %(kept)s was already undone.") % {"kept": file_import}, messages.WARNING
            )
            return redirect(self.url_of("imports"))
        return self._import_page(
            request,
            "backoffice/undo_import.html",
            title=gettext("Undo the import of %(kept)s") % {"kept": file_import},
            file_import=file_import,
            at=format_datetime(file_import.at),
            lines=lines[:LONGEST],
            left_out=max(len(lines) - LONGEST, 0),
            archived=sum(line.outcome == ARCHIVED for line in lines),
            put_back=sum(line.outcome == PUT_BACK for line in lines),
            staying=sum(line.outcome == LEAVE for line in lines),
            seen=digest_of(lines),
            moved_on=moved_on,
            form=form,
            imports=self.url_of("imports"),
        )

    def _undo(
        self,
        request: HttpRequest,
        site: Site,
        file_import: FileImport,
        reason: str,
        digest: str,
        rehearse: bool = False,
    ) -> tuple[list[Line], bool]:
        text = f"Import of {file_import} undone: {reason}"
        resource = self._resource_at(request, site, reason=text)
        archive = partial(self._archive_one, request, text)
        return undo_import(file_import, resource, archive, rehearse=rehearse, expected=digest)

    def _archive_one(self, request: HttpRequest, reason: str, record: Model) -> None:
        if not self.has_archive_permission(request, record):
            raise PermissionDenied
        page: Any = self
        page.archive(request, record, archived=True, reason=reason)

    def _say_what_happened(self, request: HttpRequest, file_import: FileImport, lines: list[Line]) -> None:
        counts = {outcome: sum(line.outcome == outcome for line in lines) for outcome in (ARCHIVED, PUT_BACK, LEAVE)}
        self.message_user(
            request,
            gettext(
                "The import of %(kept)s was undone: %(archived)s archived, %(put_back)s put back, %(left)s left as "
                "they are."
            )
            % {"kept": file_import, "archived": counts[ARCHIVED], "put_back": counts[PUT_BACK], "left": counts[LEAVE]},
            messages.SUCCESS,
        )
        for line in [line for line in lines if line.reasons][:20]:
            record = "" if line.record is None else f", {line.record}"
            self.message_user(
                request,
                gettext("Row %(row)s%(record)s: %(names)s")
                % {"row": line.row, "record": record, "names": " ".join(line.reasons)},
                messages.WARNING,
            )
