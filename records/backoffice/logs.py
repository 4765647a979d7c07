"""The admin pages of a log: the product writes its entries, and people only read them."""

import datetime
from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from records.backoffice.choice_filters import ChoiceFilter, FilterOptions
from records.backoffice.datetimes import moment_column
from records.backoffice.lists import RecordList, UncountedPaginator, search
from records.backoffice.permissions import SitePermissions
from records.history.trail import now


def _since(days: int) -> Callable[[HttpRequest], Q]:
    return lambda request: Q(at__gte=now() - datetime.timedelta(days=days))


class PeriodFilter(ChoiceFilter):
    """Filters a log to the last few days; its entries have their time in `at`."""

    title = _("period")
    parameter_name = "days"
    options: ClassVar[FilterOptions] = {
        "1": (_("Last 24 hours"), _since(1)),
        "7": (_("Last 7 days"), _since(7)),
        "30": (_("Last 30 days"), _since(30)),
        "365": (_("Last 365 days"), _since(365)),
    }


class LogAdmin(SitePermissions):
    """A list that does not count its rows, and that nobody adds to or edits."""

    search_fields: ClassVar[Any] = ()
    list_per_page = 50
    paginator = UncountedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    actions: Any = None

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return whether the user may read the log of the site."""
        return self.may(request, "view", obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: only the product adds entries."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False: an entry is never edited."""
        return False

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns, with the entry's time in the site's time zone."""
        return [moment_column("at", "when", day=False) if name == "at" else name for name in self.list_display]

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[RecordList]:
        """Return the list class that does not count the rows."""
        return RecordList

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Return the entries that contain every word of the search term, if the log can be searched."""
        return (search(queryset, self.search_fields, search_term) if self.search_fields else queryset), False

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show one entry, which a log that has pages for them does in `entry_view`."""
        if object_id is None:
            raise PermissionDenied
        return self.entry_view(request, object_id)

    def entry_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Answer 404: the list shows everything about an entry."""
        raise Http404

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        """Answer 404: an entry has no history of its own."""
        raise Http404
