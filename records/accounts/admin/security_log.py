"""The page of the security log: what happened to accounts and credentials (DECISIONS 9.9)."""

import datetime
import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import models
from django.db.models import Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.models import SecurityEvent, SecurityKind
from records.accounts.security import ONLY_LOGGED
from records.backoffice.current import current_site, show_times_of, user_of
from records.backoffice.datetimes import NOTHING
from records.backoffice.lists import UnreadableListError
from records.backoffice.logs import LogAdmin, PeriodFilter
from records.backoffice.permissions import Pages
from records.backoffice.saved_filters import SavedFilterPages
from records.backoffice.transfer.sheets import report_file
from records.history.trail import now
from records.sites.models import Site

EXACT = frozenset({"account_id", "author_id", "address"})
"""The columns by which links on the page filter the list."""
STEP = 1_000


class KindFilter(admin.SimpleListFilter):
    """Filters the log to one kind of event."""

    title = _("what")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the kinds that the log can have, ordered by label."""
        kinds = (kind for kind in SecurityKind if kind not in ONLY_LOGGED)
        return sorted(((str(kind.value), str(kind.label)) for kind in kinds), key=lambda pair: pair[1])

    def queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Filter the list."""
        return queryset.filter(kind=self.value()) if self.value() else queryset


def _link(parameter: str, value: object, text: str) -> str:
    if not text:
        return NOTHING
    address = reverse("admin:accounts_securityevent_changelist")
    return format_html('<a href="{}?{}={}">{}</a>', address, parameter, value, text) if value else text


@admin.register(SecurityEvent)
class SecurityEventAdmin(LogAdmin, SavedFilterPages):
    """The security log of the sites whose log the user may read; only superusers see events without a site."""

    list_display = ("at", "what", "account", "from_address", "by", "channel", "detail")
    list_display_links = None
    list_filter = (PeriodFilter, KindFilter)
    search_fields: ClassVar[Any] = ("account_name", "author_name", "address")
    counted = _("events")
    search_help_text = _("Account, person or network address")
    ordering: ClassVar[Any] = ("-at", "-id")
    own_pages: ClassVar[Pages] = (("export/csv/", "export_view", "export"),)

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the events of the sites whose log the user may read; superusers read all."""
        rows: models.QuerySet[Any] = SecurityEvent.objects.all()
        if user_of(request).is_superuser:
            return rows
        return rows.filter(site__in=self.sites_where(request, "view"))

    def at_site(self, rows: models.QuerySet[Any], site: Site | None) -> models.QuerySet[Any]:
        """Return the site's events, and those without a site, which only superusers' rows contain."""
        return rows.filter(Q(site=site) | Q(site=None)) if site is not None else rows.filter(site=None)

    def lookup_allowed(self, lookup: str, value: object, request: HttpRequest | None = None) -> bool:
        """Return whether a query parameter may filter the list; account, author and network address may, too."""
        return lookup in EXACT or super().lookup_allowed(lookup, value, request)

    @admin.display(description=_("account"))
    def account(self, event: SecurityEvent) -> str:
        """Return the account's name as a link to all events of the account."""
        return _link("account_id", event.account_id, event.account_name)

    @admin.display(description=_("from address"))
    def from_address(self, event: SecurityEvent) -> str:
        """Return the network address as a link to all events from that address."""
        return _link("address", event.address, event.address)

    @admin.display(description="by")
    def by(self, event: SecurityEvent) -> str:
        """Return the author as a link to all events that they caused."""
        return _link("author_id", event.author_id, event.author_name)

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Show times in the current site's time zone; return the link to the export and what an empty list says."""
        show_times_of(current_site(request))
        query = f"?{request.GET.urlencode()}" if request.GET else ""
        return {
            **super().list_context(request),
            "exchange": [{"label": gettext("Export CSV"), "url": self.url_of("export") + query}],
            "empty_list": gettext("There are no events yet, or none that match the filters."),
        }

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """Return the log as it is filtered and searched, as a CSV file with times in UTC."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            rows = self.get_changelist_instance(request).queryset
        except UnreadableListError as error:
            return self.unreadable(request, error)
        title = "security log"
        return report_file(_lines(rows), "csv", title, f"{title} {now().date().isoformat()}")


def _lines(rows: models.QuerySet[SecurityEvent]) -> Iterator[list[str]]:
    """Yield the header and a line for each event."""
    yield ["When", "What", "Account", "AccountId", "Address", "By", "ById", "Channel", "Detail", "RequestId"]
    for event in rows.iterator(STEP):
        ids: list[uuid.UUID | None] = [event.account_id, event.author_id]
        account, author = (str(key) if key else "" for key in ids)
        cells = [event.what, event.account_name, account, event.address, event.author_name, author]
        cells += [event.channel, event.detail, event.request_id]
        yield [event.at.astimezone(datetime.UTC).isoformat(), *cells]
