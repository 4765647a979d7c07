"""The history of a site: every change of every kind of record, read-only, for Managers and above."""

import uuid
from typing import Any, ClassVar

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.exceptions import NotRegistered
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import NoReverseMatch, reverse
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.access import asking
from records.backoffice.about import name_pointers
from records.backoffice.current import current_site, show_times_of, site_at, user_of
from records.backoffice.datetimes import format_datetime, moment_column
from records.backoffice.history_export import TOO_MANY, history_file, is_too_long, kind_of
from records.backoffice.history_pages import lines_of, visible_changes
from records.backoffice.lists import UnreadableListError
from records.backoffice.logs import LogAdmin, PeriodFilter
from records.backoffice.permissions import Pages
from records.backoffice.saved_filters import SavedFilterPages
from records.backoffice.transfer.sheets import KINDS
from records.backoffice.wording import operation_label, operation_words
from records.history.models import Change, ChangeQuerySet
from records.history.proofs import last_proof, named_at
from records.history.snapshots import kinds_with_history
from records.sites.hidden import revealing_fields
from records.sites.text import read_uuid


class ModelFilter(admin.SimpleListFilter):
    """Filters the history by the kind of record."""

    title = _("kind of record")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the kinds that have a history of their own."""
        labels = ((model._meta.label, str(model._meta.verbose_name_plural)) for model in kinds_with_history())
        return sorted(((label, capfirst(name)) for label, name in labels), key=lambda pair: pair[1])

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Filter the list."""
        return queryset.filter(model=self.value()) if self.value() else queryset


@admin.register(Change)
class ChangeAdmin(LogAdmin, SavedFilterPages):
    """The list of changes and the page of one change."""

    list_display = ("number", "at", "who", "channel", "did", "kind", "record_name", "reason")
    list_filter = (PeriodFilter, "channel", ModelFilter)
    search_fields: ClassVar[Any] = ("record_name", "author_name", "operation", "reason")
    search_help_text = _("Record, person, operation or reason")
    ordering: ClassVar[Any] = ("-at", "-number", "id")
    own_pages: ClassVar[Pages] = (("export/<str:kind>/", "export_view", "export"),)

    def get_queryset(self, request: HttpRequest) -> ChangeQuerySet:
        """Return the changes of the sites whose history the user may read; superusers also see those of no site."""
        rows: ChangeQuerySet = Change.objects.all()
        if user_of(request).is_superuser:
            return rows
        sites = self.sites_where(request, "view")
        return visible_changes(user_of(request), rows.filter(site__in=sites), sites)

    def export_view(self, request: HttpRequest, kind: str) -> HttpResponseBase:
        """Return the list, as it is filtered and searched, as a CSV or XLSX file."""
        if kind not in KINDS:
            raise Http404
        if current_site(request) is None or not self.has_view_permission(request):
            raise PermissionDenied
        show_times_of(current_site(request))
        try:
            rows = self.get_changelist_instance(request).queryset
        except UnreadableListError as error:
            return self.unreadable(request, error)
        if is_too_long(rows):
            self.message_user(request, TOO_MANY, messages.ERROR)
            return redirect(f"{self.url_of('changelist')}?{request.GET.urlencode()}")
        return history_file(
            rows, kind, gettext("History"), user_of(request), lambda change: self._lines(request, change)
        )

    @admin.display(description=_("who"))
    def who(self, change: Change) -> str:
        """Return the printed name of the author."""
        return change.author_name

    @admin.display(description=_("operation"))
    def did(self, change: Change) -> str:
        """Return the operation in words."""
        return operation_label(change.operation, change.model)

    @admin.display(description=_("kind"))
    def kind(self, change: Change) -> str:
        """Return the kind of record in words."""
        return kind_of(change)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Return the changes that contain every word of the term."""
        return super().get_search_results(request, queryset, operation_words(search_term))

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Show times in the site's time zone; return also the exports and when the history was last verified."""
        site = current_site(request)
        show_times_of(site)
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        exports = [(kind.upper(), self.url_of("export", kind) + query) for kind in KINDS]
        return {**super().list_context(request), **_proof_context(site.pk if site else None), "exports": exports}

    def entry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show one change, field by field."""
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        key = read_uuid(object_id)
        change = self.get_queryset(request).filter(pk=key).first() if key else None
        if change is None or not self.has_view_permission(request, change):
            raise Http404(gettext("There is no such change."))
        show_times_of(site_at(request, change.site_id))
        name_pointers(user_of(request), [change])
        proof_context = _proof_context(change.site_id)
        return self.page_response(
            request,
            "history/change.html",
            gettext("Change %(number)s") % {"number": change.number},
            **proof_context,
            is_later=proof_context["proof"] is not None and change.at > proof_context["proof"].at,
            change_shown=change,
            kind=self.kind(change),
            did=self.did(change),
            at=moment_column("at", "when", day=False)(change),
            lines=self._lines(request, change),
            record_url=_record_url(change.model, change.record_id),
        )

    def _lines(self, request: HttpRequest, change: Change) -> list[dict[str, str]]:
        try:
            model = apps.get_model(change.model)
            page: Any = self.admin_site.get_model_admin(model)
        except (LookupError, NotRegistered):
            return lines_of(Change, change.fields, (), lambda name: False)
        may = asking(request.user, change.site_id)
        private = getattr(page, "private_fields", ())
        hidden_fields = () if not private or may(page.private_permission) else private
        return lines_of(model, change.fields, [*hidden_fields, *revealing_fields(model, may)], page.is_day)


def _proof_context(site_id: uuid.UUID | None) -> dict[str, Any]:
    """Return what the pages say about the last proof of the history; one query."""
    proof = last_proof()
    at = format_datetime(proof.at) if proof is not None else ""
    return {"proof": proof, "proof_at": at, "named": named_at(proof, site_id)}


def _record_url(label: str, record_id: uuid.UUID) -> str:
    try:
        return reverse(f"admin:{label.lower().replace('.', '_')}_read", args=(record_id,))
    except NoReverseMatch:  # its kind has no page
        return ""
