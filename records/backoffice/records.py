"""RecordAdmin: the back-office pages of one kind of record. Start here when you write an `admin.py`.

A room's admin defines what its pages show and which actions write; this class does everything else: sites and
permissions, the reason for a change, history, conflicts between editors, archiving, times, references within the site.

    @admin.register(Item)
    class ItemAdmin(RecordAdmin):
        list_display = ("site_sequence_id", "name", "code")     # Columns; no query per row.
        search_fields = ("name", "code")                        # Every word, any case, and the number.
        list_filter = (ArchivedFilter,)                         # The default; add your own after it.
        fieldsets = ((None, {"fields": ("name", "code", "notes", "entity_folder")}),)
        add_action = staticmethod(actions.add_item)             # (site_id, values, *, author, operation?)
        update_action = staticmethod(actions.update_item)       # (site_id, id, values, *, author, operation, reason,
                                                                #  precondition)
        archive_action = staticmethod(actions.archive_program)  # Only if archiving does more: (site_id, id, *,
                                                                #  archived, author, reason)

- `values` are the same as from the JSON views: model names to values, including child arrays and lists. A change
  contains only what the editor changed.
- Rows of a record: `inlines = [HistoryInline]`, with `class HistoryInline(RowsStacked): model = EmploymentHistory`.
- Date-time fields are days (the same in every zone); name those with a time of day in `moments`.
- `suggestions = {"department": "Department"}` offers a list's names for a free text field.
- `private_fields` with `private_permission` are neither shown to nor overwritten by users without it.
- Buttons for transitions are `record_actions` (see records.backoffice.transitions).
- Lists are imported and exported by the model's resource (see records.backoffice.transfer.resources).
- Override `add_record` and `update_record` if an action has other parameters, and `count_unnumbered` if the
  kind has drafts.
"""

import uuid
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext

from records.backoffice import extension_points
from records.backoffice.bulk import BulkPages
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.current import author_of, current_site, form_state, show_times_of
from records.backoffice.form_pages import FormPages
from records.backoffice.formfields import RecordFields
from records.backoffice.list_columns import ColumnPages
from records.backoffice.lists import RecordList, UncountedPaginator, search
from records.backoffice.putting_back import PutBackPages
from records.backoffice.reading import ReadingPage
from records.backoffice.saved_filters import SavedFilterPages
from records.backoffice.statuses import status_column
from records.backoffice.transfer.pages import TransferPages
from records.backoffice.transitions import ARCHIVE, RESTORE, RecordStep
from records.backoffice.wording import field_label
from records.sites.writing import archive_record

LAST = "last"
"""The class of the parts of a form that are shown below the rows of a record; the form's template asks for it."""


class RecordAdmin(
    TransferPages, SavedFilterPages, ColumnPages, BulkPages, PutBackPages, RecordFields, ReadingPage, FormPages
):
    """The list, form and history pages of one kind of record; see the module."""

    record_actions: Sequence[RecordStep] = (ARCHIVE, RESTORE)
    archive_action: ClassVar[Callable[..., Any] | None] = None
    fixed_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that can be chosen for a new record only."""

    list_filter: ClassVar[Any] = (ArchivedFilter,)
    list_per_page = 50
    paginator = UncountedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    save_on_top = False
    view_on_site = False
    ordering: ClassVar[Any] = ("-site_sequence_id",)
    stamps: ClassVar[tuple[str, ...]] = (
        "site_sequence_id",
        "created",
        "created_by",
        "last_modified",
        "last_modified_by",
    )

    def archive(self, request: HttpRequest, record: Any, *, archived: bool, reason: str) -> Any:
        """Archive or restore a record, through the room's action if more has to happen then."""
        archive: Any = type(self).archive_action or partial(archive_record, self.model)
        return archive(
            self.site_in_write(record), record.pk, archived=archived, author=author_of(request), reason=reason
        )

    # --- What the pages show ---------------------------------------------------------------------------------------

    def excluded_fields(self, record: object) -> Sequence[str]:
        """Return the fields that the page of the record leaves out for all users; None is a new record."""
        return ()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the room's fieldsets without hidden fields, but with the reason and the stamps."""
        own_fieldsets = self.own_fieldsets(request, obj)
        hidden_fields = (*self.hidden_fields(request, obj), *self.excluded_fields(obj))
        state = form_state(request)
        writable = state is not None and state.writable
        fieldsets = []
        for title, options in own_fieldsets:
            names = _without(options["fields"], hidden_fields) if hidden_fields else options["fields"]
            if not writable:
                names = _map(names, self.read_only_name_of)
            if names:
                fieldsets.append((title, {**options, "fields": names}))
        if obj is not None:
            if writable:
                fieldsets.append((gettext("Why"), {"fields": ("change_reason",), "classes": (LAST,)}))
            fieldsets.append((gettext("Record"), {"fields": self._stamps_shown, "classes": (LAST,)}))
        return fieldsets

    def own_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the room's own fieldsets; override it if a new record's page differs from a stored one's."""
        return self.fieldsets or ((None, {"fields": self.get_fields(request, obj)}),)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the fields of an admin without fieldsets: all editable fields of the model."""
        if self.fields:
            return self.fields
        names = [field.name for field in self.opts.concrete_fields if field.editable and not field.primary_key]
        names += [field.name for field in self.opts.many_to_many if field.editable]
        return [name for name in names if name != self.site_field]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the fields that the system sets, in addition to those that the room lists."""
        fixed_fields = self.fixed_fields if obj is not None else ()
        return (*super().get_readonly_fields(request, obj), *fixed_fields, *self._stamps_shown)

    @cached_property
    def _stamps_shown(self) -> list[Any]:
        return [self.display_name_of(name) for name in self.stamps]

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns that the user chose and may see; date-times use our own column."""
        return [self._column_of(name) for name in self.chosen_columns(request)]

    def get_sortable_by(self, request: HttpRequest) -> Any:
        """Return the columns by which the list can be sorted: those of the usual columns, which have indexes."""
        usual = self.list_display if self.sortable_by is None else self.sortable_by
        return [self._column_of(name) for name in usual]

    def _column_of(self, name: object) -> Any:
        if name == "record_status":
            return status_column(field_label(self.model, name))
        return self.display_name_of(name) if name in self.list_display else self.read_only_name_of(name)

    def get_list_select_related(self, request: HttpRequest) -> Any:
        """Return the foreign keys among the columns, including nullable ones, so that rows need no queries."""
        if foreign_keys := super().get_list_select_related(request):
            return foreign_keys
        columns = dict.fromkeys([*map(str, self.list_display), *self.chosen_columns(request)])
        return [name for name in columns if name in self.foreign_keys] or False

    def count_unnumbered(self, site_id: uuid.UUID) -> tuple[int, int]:
        """Return how many records of the site have no number, and how many of them are archived."""
        return 0, 0

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[RecordList]:
        """Return the list class that does not count the rows."""
        return RecordList

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Return the rows that contain every word of the term, and False: no row is returned twice."""
        return search(queryset, self.get_search_fields(request), search_term), False

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        """Return the columns that the list searches, without those that the user may not see."""
        hidden_fields = self.hidden_fields(request)
        return [name for name in super().get_search_fields(request) if name not in hidden_fields]

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Show times in the current site's time zone; return also the list's links and what an empty list says."""
        show_times_of(current_site(request))
        links = extension_points.all_of(extension_points.list_links, request, self.model)
        return {**super().list_context(request), "list_links": links, "empty_list": self.empty_list(request)}

    def empty_list(self, request: HttpRequest) -> str:
        """Return what an empty list says, where its records are not added above it; override it with the next step."""
        return ""


def _without(names: Any, hidden_fields: Sequence[str]) -> list[Any]:
    """Return the names without the hidden ones; an entry can be a line of several names."""
    visible = []
    for name in names:
        if isinstance(name, list | tuple):
            line = [inner for inner in name if inner not in hidden_fields]
            visible += [line] if line else []
        elif name not in hidden_fields:
            visible.append(name)
    return visible


def _map(names: Sequence[object], change: Callable[[object], object]) -> list[Any]:
    return [[change(inner) for inner in name] if isinstance(name, list | tuple) else change(name) for name in names]
