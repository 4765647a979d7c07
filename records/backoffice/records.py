"""RecordAdmin: the back-office pages of one kind of record. Start here when you write an `admin.py`.

A room's admin says what its pages show and which actions write; everything else is done here: sites and permissions,
the reason for a change, history, conflicts between editors, archiving, times, references within the site.

    @admin.register(Item)
    class ItemAdmin(RecordAdmin):
        list_display = ("site_sequence_id", "name", "code")     # Columns; no query per row.
        search_fields = ("name", "code")                        # Every word, any case, and the number.
        list_filter = (ArchivedFilter,)                         # Given by default; add your own after it.
        fieldsets = ((None, {"fields": ("name", "code", "notes", "entity_folder")}),)
        add_action = staticmethod(actions.add_item)             # (site_id, values, *, author, operation?)
        update_action = staticmethod(actions.update_item)       # (site_id, id, values, *, author, operation, reason,
                                                                #  precondition)

- `values` are what the JSON views hand over: model names to values, child arrays and lists included. On a change only
  what the editor changed is among them.
- Rows of a record: `inlines = [HistoryInline]`, with `class HistoryInline(RowsStacked): model = EmploymentHistory`.
- Date-time fields are days (the same in every zone); name those with a time of day in `moments`.
- `suggestions = {"department": "Department"}` offers a list's names for a free text field.
- `private_fields` with `private_permission` are neither shown to nor overwritten by those who lack it.
- Buttons for transitions are `record_actions` (see records.backoffice.transitions).
- `choices_at(rows, site_id)` says which records other records of the site may point at (default: the site's own).
- Lists are imported and exported by the model's resource (see records.backoffice.transfer.resources).
- Override `add_record` and `update_record` where an action has another shape, `count_unnumbered` where drafts exist.
"""

import uuid
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import helpers
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.core.exceptions import PermissionDenied, ValidationError
from django.forms.formsets import all_valid
from django.http import Http404, HttpRequest, HttpResponse, QueryDict

from records.accounts import access
from records.backoffice import conflicts, extension_points
from records.backoffice.conflicts import Conflict, StaleError
from records.backoffice.current import author_of, current_site, show_times_of, site_at, user_of
from records.backoffice.fields import as_uuid
from records.backoffice.form_errors import show_faults
from records.backoffice.formfields import RecordFields
from records.backoffice.forms import NO_REASON, RecordForm, RecordFormSet
from records.backoffice.history_pages import TrailPages
from records.backoffice.lists import ArchivedFilter, RecordList, UncountedPaginator, search
from records.backoffice.permissions import SitePermissions
from records.backoffice.transfer.pages import TransferPages
from records.backoffice.transitions import ARCHIVE, RESTORE, RecordStep, StepPages
from records.sites.writing import RecordNotFoundError, Values, add_record, apply, archive_record, changing

Action = Callable[..., Any]


class RecordAdmin(TransferPages, RecordFields, StepPages, TrailPages, SitePermissions):
    """The list, form and history pages of one kind of record; see the module."""

    form: Any = RecordForm
    add_action: ClassVar[Action | None] = None
    update_action: ClassVar[Action | None] = None
    record_actions: Sequence[RecordStep] = (ARCHIVE, RESTORE)
    private_fields: ClassVar[tuple[str, ...]] = ()
    private_permission: ClassVar[str] = ""

    actions = None
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

    # --- Writing: a room's actions ---------------------------------------------------------------------------------

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Any:
        """Store a new record through the room's action and return it; raises ValidationError."""
        author = author_of(request)
        if self.add_action is not None:
            return type(self).add_action(site_id, values, author=author)  # type: ignore[misc]
        return add_record(self.model(site_id=site_id), values, author=author, operation=f"Add{self.model.__name__}")

    def update_record(
        self, request: HttpRequest, record: Any, values: Values, *, reason: str, precondition: Callable[[Any], None]
    ) -> Any:
        """Change a record through the room's action and return it.

        Raises ValidationError, RecordNotFoundError, or what the precondition raises under the record's lock.
        """
        author, site_id = author_of(request), self.site_id_of(record)
        if self.update_action is not None:
            action = type(self).update_action
            return action(  # type: ignore[misc]
                site_id, record.pk, values, author=author, reason=reason, precondition=precondition
            )
        with changing(
            self.model,
            site_id,  # type: ignore[arg-type]
            record.pk,
            author=author,
            operation=f"Update{self.model.__name__}",
            reason=reason,
            precondition=precondition,
        ) as locked:
            apply(locked, values)
        return locked

    def archive(self, request: HttpRequest, record: Any, *, archived: bool, reason: str) -> Any:
        """Archive or restore a record; override where more follows from it, in one transaction."""
        return archive_record(
            self.model,
            self.site_id_of(record),  # type: ignore[arg-type]
            record.pk,
            archived=archived,
            author=author_of(request),
            operation=f"{'Archive' if archived else 'Restore'}{self.model.__name__}",
            reason=reason,
        )

    def needs_reason(self, record: Any) -> bool:
        """Return whether a change of the record must be explained."""
        return True

    # --- What the pages show ---------------------------------------------------------------------------------------

    def hidden_fields(self, request: HttpRequest, record: Any = None) -> tuple[str, ...]:
        """Return the private fields that this user neither sees nor sets on the record."""
        if not self.private_fields:
            return ()
        site = current_site(request)
        site_id = self.site_id_of(record) if record is not None else site.pk if site else None
        return () if access.may(user_of(request), site_id, self.private_permission) else self.private_fields

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the room's fieldsets without hidden fields, with the reason and the stamps where they belong."""
        hidden = self.hidden_fields(request, obj)
        writable = obj is None or self.has_change_permission(request, obj)
        shown = []
        for title, options in self.own_fieldsets(request, obj):
            names = _without(options["fields"], hidden)
            if not writable:
                names = _map(names, self.read_only_name_of)
            if names:
                shown.append((title, {**options, "fields": names}))
        if obj is not None:
            if writable:
                shown.append(("Why", {"fields": ("change_reason",)}))
            shown.append(("Record", {"fields": [self.display_name_of(name) for name in self.stamps]}))
        return shown

    def own_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the room's own fieldsets; override where a new record's page differs from a stored one's."""
        return self.fieldsets or ((None, {"fields": self.get_fields(request, obj)}),)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields of an admin without fieldsets: every editable one of the model."""
        if self.fields:
            return self.fields
        names = [field.name for field in self.opts.concrete_fields if field.editable and not field.primary_key]
        names += [field.name for field in self.opts.many_to_many if field.editable]
        return [name for name in names if name != self.site_field]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what the system sets, beside what the room names."""
        stamps = [self.display_name_of(name) for name in self.stamps]
        return (*super().get_readonly_fields(request, obj), *stamps)

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns, date-times through our own column; private ones only to those who may see them."""
        hidden = self.hidden_fields(request)
        return [self.display_name_of(name) for name in super().get_list_display(request) if name not in hidden]

    def get_list_select_related(self, request: HttpRequest) -> Any:
        """Return the foreign keys among the columns, nullable ones too, so that rows cost no query."""
        if named := super().get_list_select_related(request):
            return named
        foreign = {field.name for field in self.opts.concrete_fields if field.is_relation}
        return [name for name in self.list_display if name in foreign] or False

    def count_unnumbered(self, site_id: uuid.UUID) -> tuple[int, int]:
        """Return how many records of the site have no number, and how many of them are archived."""
        return 0, 0

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the list that counts nothing."""
        return RecordList

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """Return the rows that hold every word of the term, and that none of them comes twice."""
        return search(queryset, self.get_search_fields(request), search_term), False

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        """Return a record that the user may see, with what it points at, or None."""
        key = as_uuid(object_id)
        if key is None:
            return None
        foreign = [field.name for field in self.opts.concrete_fields if field.is_relation]
        return self.get_queryset(request).select_related(*foreign).filter(pk=key).first()

    def found(self, request: HttpRequest, object_id: str) -> Any:
        """Return a record that the user may see; raises Http404 for others, as for one that does not exist."""
        record = self.get_object(request, unquote(object_id))
        if record is None or not self.has_view_permission(request, record):
            raise Http404(f"There is no such {self.opts.verbose_name}.")
        return record

    def get_formset_kwargs(self, request: HttpRequest, obj: Any, inline: Any, prefix: str) -> dict[str, Any]:
        """Return what a formset is made of; sent rows are first matched with the rows that are stored now."""
        given = super().get_formset_kwargs(request, obj, inline, prefix)
        given["queryset"] = inline.get_queryset(request)
        data = getattr(request, "larder_data", None)
        if data is not None:
            given["data"] = data
        return given

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show the current site's list in the site's time."""
        show_times_of(current_site(request))
        return super().changelist_view(request, extra_context)

    # --- The form page ---------------------------------------------------------------------------------------------

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the record's form, or write what was sent; the action opens the one transaction of the write."""
        record = self.found(request, object_id) if object_id is not None else None
        writable = self.has_change_permission(request, record) if record else self.has_add_permission(request)
        if not writable and (record is None or request.method == "POST"):
            raise PermissionDenied
        site_id = self.site_id_of(record) if record is not None else self._site_for_new(request)
        request.larder_record_site = site_id  # type: ignore[attr-defined]
        request.larder_may_write = writable  # type: ignore[attr-defined]
        show_times_of(site_at(request, site_id))
        fieldsets = self.get_fieldsets(request, record)
        form_class = self.get_form(request, record, change=record is not None, fields=_names(fieldsets))
        instance = copy(record) if record is not None else self._new_instance(site_id)  # Takes what is typed.
        if request.method != "POST":
            initial = self.get_changeform_initial_data(request) if record is None else {}
            tokens = {"larder_seen": conflicts.last_change(record) if record else "", "larder_site": site_id or ""}
            form = form_class(instance=instance, initial={**initial, **tokens})
            formsets, inlines = self._create_formsets(request, instance, change=record is not None)  # type: ignore[attr-defined]
            return self._show(request, record, form, formsets, inlines, fieldsets, None, extra_context)
        return self._write(request, record, instance, form_class, fieldsets, extra_context)

    def _site_for_new(self, request: HttpRequest) -> uuid.UUID | None:
        """Return the site that a new record belongs to: the one its form was opened for, else the current one."""
        if not self.site_field:
            return None
        asked = as_uuid(request.POST.get("larder_site", "")) if request.method == "POST" else None
        site = site_at(request, asked) if asked else current_site(request)
        if site is None or site.pk not in self.sites_where(request, "add"):
            raise PermissionDenied
        return site.pk

    def _new_instance(self, site_id: uuid.UUID | None) -> Any:
        return self.model(**{f"{self.site_field}_id": site_id}) if self.site_field else self.model()

    def _write(
        self, request: HttpRequest, record: Any, instance: Any, form_class: Any, fieldsets: Any, extra_context: Any
    ) -> HttpResponse:
        data = request.POST.copy()
        seen = data.get("larder_seen", "")
        conflict = self._conflict(request, record, form_class, data) if record is not None else None
        request.larder_data = data  # type: ignore[attr-defined]
        form = form_class(data, request.FILES, instance=instance)
        formsets, inlines = self._create_formsets(request, instance, change=record is not None)  # type: ignore[attr-defined]
        valid = form.is_valid()
        valid = all_valid(formsets) and valid
        changes = bool(form.content_changed()) or any(formset.has_changed() for formset in formsets)
        silent = record is None or not changes or form.reason() or not self.needs_reason(record)
        if not silent and "change_reason" not in form.errors:
            form.add_error("change_reason", NO_REASON)
            valid = False
        if valid and conflict is None:
            if record is not None and not changes:
                self.message_user(request, "Nothing was changed.")
                return self.response_post_save_change(request, record)
            try:
                written = self._act(request, record, form, formsets, seen)
            except ValidationError as fault:
                show_faults(form, formsets, fault)
            except StaleError:
                # Somebody was faster between our look and our lock: look again, and show what happened.
                fresh = self.found(request, str(record.pk))
                return self._write(request, fresh, copy(fresh), form_class, fieldsets, extra_context)
            except RecordNotFoundError:
                raise Http404 from None
            else:
                vars(instance).update({key: value for key, value in vars(written).items() if key != "_state"})
                if record is None:
                    return self.response_add(request, instance)
                return self.response_change(request, instance)
        return self._show(request, record, form, formsets, inlines, fieldsets, conflict, extra_context)

    def _act(self, request: HttpRequest, record: Any, form: RecordForm, formsets: Any, seen: str) -> Any:
        values = form.values(change=record is not None)
        for formset in formsets:
            if formset.has_changed():
                values[formset.relation] = formset.rows()
        if record is None:
            return self.add_record(request, request.larder_record_site, values)  # type: ignore[attr-defined]
        return self.update_record(
            request,
            record,
            values,
            reason=form.reason(),
            precondition=lambda locked: conflicts.refuse_when_stale(locked, seen),
        )

    def _conflict(self, request: HttpRequest, record: Any, form_class: Any, data: QueryDict) -> Conflict | None:
        """Bring the sent data up to date with the stored record, and return what others did meanwhile, if anything."""
        newest, seen = conflicts.last_change(record), str(data.get("larder_seen", ""))
        changes = [] if seen == newest else conflicts.changes_since(record, seen)
        stored = form_class(instance=record)
        conflict = conflicts.merge(data, stored, changes) if changes else None
        for inline in self.get_inline_instances(request, record):
            formset_class: Any = inline.get_formset(request, record)
            rows: RecordFormSet = formset_class(
                instance=record, prefix=formset_class.get_default_prefix(), queryset=inline.get_queryset(request)
            )
            conflicts.reconcile_rows(data, rows, changes)
        data["larder_seen"] = newest
        return conflict

    def _show(
        self,
        request: HttpRequest,
        record: Any,
        form: Any,
        formsets: Any,
        inlines: Any,
        fieldsets: Any,
        conflict: Conflict | None,
        extra_context: Any,
    ) -> HttpResponse:
        writable = bool(request.larder_may_write)  # type: ignore[attr-defined]
        readonly = self.get_readonly_fields(request, record) if writable else flatten_fieldsets(fieldsets)
        admin_form = helpers.AdminForm(form, list(fieldsets), {}, readonly, model_admin=self)
        inline_formsets = self.get_inline_formsets(request, formsets, inlines, record)
        media = self.media + admin_form.media
        for inline_formset in inline_formsets:
            media += inline_formset.media
        verb = "Add" if record is None else "Change" if writable else "View"
        context = {
            **self.admin_site.each_context(request),
            "title": f"{verb} {self.opts.verbose_name}",
            "subtitle": str(record) if record else None,
            "adminform": admin_form,
            "object_id": str(record.pk) if record else None,
            "original": record,
            "is_popup": False,
            "to_field": None,
            "media": media,
            "inline_admin_formsets": inline_formsets,
            "errors": helpers.AdminErrorList(form, formsets),
            "preserved_filters": self.get_preserved_filters(request),
            "record_site": site_at(request, request.larder_record_site),  # type: ignore[attr-defined]
            "conflict": self.conflict_context(request, record, form, conflict) if conflict else None,
            "record_steps": self.steps_for(request, record) if record else [],
            "record_links": extension_points.links_for(request, record) if record else [],
            "show_history": record is not None and self.has_history_permission(request, record),
            "show_save_and_add_another": record is None and writable,
            "show_save_and_continue": writable,
            "show_save": writable,
            "show_delete_link": False,
            **(extra_context or {}),
        }
        return self.render_change_form(request, context, add=record is None, change=record is not None, obj=record)


def _without(names: Any, hidden: Sequence[str]) -> list[Any]:
    """Return names, which may hold lines of several names, without the hidden ones."""
    kept = []
    for name in names:
        if isinstance(name, list | tuple):
            line = [inner for inner in name if inner not in hidden]
            kept += [line] if line else []
        elif name not in hidden:
            kept.append(name)
    return kept


def _map(names: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    return [[change(inner) for inner in name] if isinstance(name, list | tuple) else change(name) for name in names]


def _names(fieldsets: Any) -> list[Any]:
    return [name for name in flatten_fieldsets(fieldsets) if not callable(name)]
