"""Due dates on pages: marked if they have passed, and the list filter for them."""

import datetime
from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.current import current_site, zone_of
from records.backoffice.date_filters import bare, today_at
from records.backoffice.datetimes import NOTHING, format_datetime


def format_due_date(due: datetime.datetime | None, *, is_open: bool = True) -> str:
    """Return a due date for a page, marked if it has passed on the site's calendar (the page's time zone)."""
    if due is None:
        return NOTHING
    day = format_html('<span class="moment">{}</span>', format_datetime(due, day=True))
    if not is_open or not is_overdue(due):
        return day
    return format_html('{} <strong class="tag overdue">{}</strong>', day, gettext("Overdue"))


def is_overdue(due: datetime.datetime) -> bool:
    """Return whether the day of a due date has passed in the page's time zone."""
    today = datetime.datetime.now(timezone.get_current_timezone()).date()
    return due < bare(today)


class DueFilter(admin.SimpleListFilter):
    """Shows the unfinished rows that are overdue or due within the next 30 days."""

    title = _("overdue or due soon")
    parameter_name = "due"
    field = "due_date"
    open_statuses: ClassVar[Sequence[str]] = ()
    """The statuses in which a row can be due; if empty, any status."""

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        """Return the choices."""
        return [("overdue", gettext("Overdue")), ("soon", gettext("In the next 30 days"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Filter the list."""
        if self.value() not in ("overdue", "soon"):
            return queryset
        today = bare(today_at(zone_of(current_site(request))))
        rows = queryset.filter(record_status__in=self.open_statuses) if self.open_statuses else queryset
        if self.value() == "overdue":
            return rows.filter(**{f"{self.field}__lt": today})
        until = today + datetime.timedelta(days=30)
        return rows.filter(**{f"{self.field}__gte": today, f"{self.field}__lt": until})
