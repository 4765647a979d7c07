"""The pages of sites."""

import uuid
import zoneinfo
from typing import Any, ClassVar

from django.contrib import admin
from django.db import models
from django.http import HttpRequest

from records.accounts import access
from records.accounts.actions import add_site
from records.backoffice.current import author_of, user_of
from records.backoffice.formfields import Suggestions
from records.backoffice.plain_records import PlainAdmin
from records.backoffice.transitions import RecordStep
from records.sites.models import Site
from records.sites.writing import Values


@admin.register(Site)
class SiteAdmin(PlainAdmin):
    """Sites: superusers add and archive them; a site's administrators change its details."""

    site_field = None
    list_display = ("name", "code", "time_zone")
    fieldsets: ClassVar[Any] = ((None, {"fields": ("name", "code", "time_zone", "demands_approver")}),)

    def site_id_of(self, record: models.Model) -> uuid.UUID | None:
        """Return the site itself."""
        return record.pk

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the sites that the user may see; only superusers see archived ones."""
        rows = super().get_queryset(request)
        if user_of(request).is_superuser:
            return rows
        return rows.filter(pk__in=self.sites_where(request, "view"))

    def may(self, request: HttpRequest, action: str, record: Site | None = None) -> bool:
        """Return whether the user may do this: superusers may do everything, others what their roles there permit."""
        user = user_of(request)
        if user.is_superuser:
            return True
        if action in ("add", "archive"):
            return False
        permission = self.permission(action)
        return access.may(user, record, permission) if record is not None else access.may_anywhere(user, permission)

    def may_step(self, request: HttpRequest, step: RecordStep, record: object) -> bool:
        """Return whether the user may archive or restore a site: only superusers may."""
        return bool(user_of(request).is_superuser)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: object) -> Any:
        """Suggest the names of time zones."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "time_zone":
            field.widget = Suggestions(sorted(zoneinfo.available_timezones()))
            field.widget.is_required = True
        return field

    def add_record(self, request: HttpRequest, site_id: uuid.UUID | None, values: Values) -> Site:
        """Add a site with its default roles."""
        return add_site(Site(**values), author=author_of(request))
