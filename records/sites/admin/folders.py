"""The pages of folders."""

import uuid
from functools import partial
from typing import Any, ClassVar, Unpack

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext

from records.backoffice.autocomplete import choose_url
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.current import author_of, form_state
from records.backoffice.plain_records import PlainAdmin
from records.history.trail import recording
from records.sites import actions
from records.sites.admin.folder_tree import FolderTree
from records.sites.models import Entity, EntityFolder, Site
from records.sites.writing import Values, WriteArgs


@admin.register(EntityFolder)
class EntityFolderAdmin(FolderTree, PlainAdmin):
    """Folders of a site: a tree per kind of record."""

    list_display = ("name", "entity", "parent", "idx")
    list_filter = (ArchivedFilter, "entity")
    ordering: ClassVar[Any] = ("entity", "idx", "name", "id")
    fieldsets: ClassVar[Any] = ((None, {"fields": ("entity", "name", "parent", "idx")}),)
    # The records in a folder are of its kind.
    fixed_fields = ("entity",)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: object) -> Any:
        """Make the choice of a parent follow the kind of record that is chosen beside it."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "entity":
            field.label = gettext("Kind of record")
        if db_field.name == "parent":
            state = form_state(request)
            folder, site_id = (state.record, state.site_id) if state is not None else (None, None)
            entity = request.GET.get("entity", "") if folder is None else folder.entity
            field.widget.address = partial(choose_url, db_field, site_id, entity=entity)
            field.widget.attrs["data-choose-with"] = "entity"
        return field

    def field_choices(self, request: HttpRequest, field: object, site_id: uuid.UUID | None) -> Any:
        """Return the folders that can contain one of this kind; the action checks the submitted value."""
        rows = super().field_choices(request, field, site_id)
        entity = request.GET.get("entity", "")
        return rows.filter(entity=entity) if request.method == "GET" and entity else rows

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> EntityFolder:
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
        self, request: HttpRequest, record: EntityFolder, values: Values, **options: Unpack[WriteArgs]
    ) -> EntityFolder:
        """Rename or move a folder, or both in one transaction."""
        author, reason, precondition = options["author"], options["reason"], options.get("precondition")
        site_id, folder = record.site_id, record
        with recording():
            Site.objects.select_for_update(no_key=True).filter(pk=site_id).first()
            if precondition is not None:
                precondition(record)
            if "name" in values:
                folder = actions.rename_folder(site_id, record.pk, values["name"], author=author, reason=reason)
            if values.keys() & {"parent", "idx"}:
                parent = values.get("parent", folder.parent)
                parent_id = parent.pk if parent else None
                idx = values.get("idx")
                folder = actions.move_folder(site_id, record.pk, parent_id, idx=idx, author=author, reason=reason)
        return folder

    def archive(self, request: HttpRequest, record: EntityFolder, *, archived: bool, reason: str) -> EntityFolder:
        """Archive an empty folder, or restore one."""
        act = actions.archive_folder if archived else actions.restore_folder
        return act(record.site_id, record.pk, author=author_of(request), reason=reason)
