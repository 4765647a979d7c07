"""The pages of sites and of the folders that records are filed in."""

import uuid
import zoneinfo
from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin
from django.db import models
from django.http import HttpRequest
from django.utils.http import urlencode

from records.accounts import access
from records.accounts.actions import add_site
from records.accounts.default_roles import register
from records.accounts.models import DefaultRole
from records.backoffice.current import author_of, user_of
from records.backoffice.formfields import Suggestions
from records.backoffice.lists import ArchivedFilter
from records.dashboard.administration.editing import PlainAdmin
from records.dashboard.administration.foldertree import FolderTree
from records.history.trail import recording
from records.sites import actions
from records.sites.models import Entity, EntityFolder, Site
from records.sites.writing import Values

register("sites.change_site", DefaultRole.SITE_ADMINISTRATOR)


@admin.register(Site)
class SiteAdmin(PlainAdmin):
    """Sites: superusers add and archive them, a site's administrators change its details."""

    site_field = None
    list_display = ("name", "code", "time_zone")
    fieldsets: ClassVar[Any] = ((None, {"fields": ("name", "code", "time_zone", "demands_approver")}),)

    def site_id_of(self, record: Any) -> uuid.UUID | None:
        """Return the site itself."""
        return record.pk

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Return the sites that the user may see; archived ones only for superusers."""
        rows = super().get_queryset(request)
        if user_of(request).is_superuser:
            return rows
        return rows.filter(pk__in=self.sites_where(request, "view"))

    def may(self, request: HttpRequest, action: str, record: Any = None) -> bool:
        """Return whether the user may do this: superusers everything, others what their roles at the site allow."""
        user = user_of(request)
        if user.is_superuser:
            return True
        if action in ("add", "archive"):
            return False
        permission = self.permission(action)
        return access.may(user, record, permission) if record is not None else access.may_anywhere(user, permission)

    def may_step(self, request: HttpRequest, step: Any, record: Any) -> bool:
        """Return whether the user may archive or restore a site: superusers only."""
        return bool(user_of(request).is_superuser)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Suggest the names of time zones."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "time_zone":
            field.widget = Suggestions(sorted(zoneinfo.available_timezones()))
            field.widget.is_required = True
        return field

    def add_record(self, request: HttpRequest, site_id: uuid.UUID | None, values: Values) -> Any:
        """Add a site with its default roles."""
        return add_site(Site(**values), author=author_of(request))


@admin.register(EntityFolder)
class EntityFolderAdmin(FolderTree, PlainAdmin):
    """Folders of a site: a tree per kind of record."""

    list_display = ("name", "entity", "parent", "idx")
    list_filter = (ArchivedFilter, "entity")
    ordering: ClassVar[Any] = ("entity", "idx", "name", "id")
    fieldsets: ClassVar[Any] = ((None, {"fields": ("entity", "name", "parent", "idx")}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the kind of record as fixed once the folder exists: records are filed by it."""
        fixed = super().get_readonly_fields(request, obj)
        return (*fixed, "entity") if obj is not None else fixed

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form, for the kind of record that the folder is or shall be for."""
        request.larder_entity = obj.entity if obj is not None else request.GET.get("entity", "")  # type: ignore[attr-defined]
        return super().get_form(request, obj, change=change, **kwargs)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Let the choice of a parent follow the kind of record that is chosen beside it."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "entity":
            field.label = "Kind of record"
        if db_field.name == "parent":
            query = urlencode({"entity": getattr(request, "larder_entity", "")})
            field.widget.attrs["data-choose"] += f"&{query}"
            field.widget.attrs["data-choose-with"] = "entity"
        return field

    def field_choices(self, request: HttpRequest, field: Any, site_id: uuid.UUID | None) -> Any:
        """Return the folders that can hold one of this kind; what is sent is judged by the action."""
        rows = super().field_choices(request, field, site_id)
        entity = request.GET.get("entity", "")
        return rows.filter(entity=entity) if request.method == "GET" and entity else rows

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Any:
        """Add a folder."""
        parent = values["parent"]
        return actions.add_folder(
            site_id,
            Entity(values["entity"]),
            values["name"],
            parent_id=parent.pk if parent else None,
            idx=values["idx"],
            author=author_of(request),
        )

    def update_record(
        self, request: HttpRequest, record: Any, values: Values, *, reason: str, precondition: Callable[[Any], None]
    ) -> Any:
        """Rename or move a folder, or both in one transaction."""
        author, site_id, written = author_of(request), record.site_id, record
        with recording():
            Site.objects.select_for_update(no_key=True).filter(pk=site_id).first()
            precondition(record)
            if "name" in values:
                written = actions.rename_folder(site_id, record.pk, values["name"], author=author, reason=reason)
            if values.keys() & {"parent", "idx"}:
                parent = values.get("parent", written.parent)
                parent_id = parent.pk if parent else None
                idx = values.get("idx")
                written = actions.move_folder(site_id, record.pk, parent_id, idx=idx, author=author, reason=reason)
        return written

    def archive(self, request: HttpRequest, record: Any, *, archived: bool, reason: str) -> Any:
        """Archive an empty folder, or restore one."""
        act = actions.archive_folder if archived else actions.restore_folder
        return act(record.site_id, record.pk, author=author_of(request), reason=reason)
