"""The form of a record: it shows the form, checks the sent data, compares it with others' changes, and writes it.

What a request decides (whether the record may be changed, which fields, which rows) is decided once, at the beginning
of `changeform_view`, and stored in `FormState`.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, ClassVar, Unpack

from django.contrib.admin import helpers
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model
from django.forms.formsets import all_valid
from django.forms.models import modelform_factory
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext

from records.accounts.access import asking
from records.backoffice import conflicts
from records.backoffice.conflicts import Conflict, StaleError
from records.backoffice.current import (
    FORM_SITE,
    FORM_ZONE,
    FormState,
    author_of,
    form_state,
    show_times_of_form,
    site_at,
    site_of_form,
    state_of,
    user_of,
)
from records.backoffice.form_errors import show_faults
from records.backoffice.forms import NO_REASON, RecordForm, RecordFormSet
from records.backoffice.history_pages import HistoryPages
from records.backoffice.once import FIELD, process_once
from records.backoffice.transitions import StepPages
from records.sites.hidden import hideable_references, hides, keep_hidden, references
from records.sites.models import SiteRecord
from records.sites.writing import RecordNotFoundError, Values, WriteArgs, add_record, apply, changing

Action = Callable[..., Any]


class FormPages(StepPages, HistoryPages):
    """The page of a record's form."""

    add_action: ClassVar[Action | None] = None
    update_action: ClassVar[Action | None] = None

    # --- Writing: a room's actions ---------------------------------------------------------------------------------

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Any:
        """Store a new record through the room's action and return it; raises ValidationError."""
        author = author_of(request)
        if self.add_action is not None:
            return type(self).add_action(site_id, values, author=author)  # type: ignore[misc]
        return add_record(self.model(site_id=site_id), values, author=author, operation=f"Add{self.model.__name__}")

    def update_record(self, request: HttpRequest, record: Any, values: Values, **options: Unpack[WriteArgs]) -> Any:
        """Change a record through the room's action and return it.

        Raises ValidationError, RecordNotFoundError, or what the precondition raises under the record's lock.
        """
        site_id = self.site_in_write(record)
        if self.update_action is not None:
            return type(self).update_action(site_id, record.pk, values, **options)  # type: ignore[misc]
        operation = f"Update{self.model.__name__}"
        with changing(self.model, site_id, record.pk, operation=operation, **options) as locked_record:
            apply(locked_record, values)
        return locked_record

    def site_in_write(self, record: object) -> uuid.UUID | None:
        """Return the site at which a row must still be when it is written; None for rows that are not records."""
        return record.site_id if isinstance(record, SiteRecord) else None

    def needs_reason(self, record: object) -> bool:
        """Return whether a change of the record needs a reason."""
        return True

    def settable_fields(self, request: HttpRequest, record: Model) -> set[str]:
        """Return the names of the record's own fields that its form lets the user set now; no query."""
        if not self.has_change_permission(request, record):
            return set()
        with self.as_form(request, record):
            names = flatten_fieldsets(self.get_fieldsets(request, record))
            readonly = self.get_readonly_fields(request, record)
        return {name for name in names if isinstance(name, str) and name not in readonly}

    @contextmanager
    def as_form(self, request: HttpRequest, record: Model) -> Iterator[None]:
        """Let the block ask which fields the record's form would show, and which of them the user may set."""
        state = state_of(request)
        before, state.form = state.form, FormState(record, self.site_id_of(record), writable=True)
        try:
            yield
        finally:
            state.form = before

    # --- The page ----------------------------------------------------------------------------------------------------

    def get_formset_kwargs(self, request: HttpRequest, obj: Any, inline: Any, prefix: str) -> dict[str, Any]:
        """Return the arguments of a formset; `_conflict` has matched the sent rows with the stored ones."""
        arguments = super().get_formset_kwargs(request, obj, inline, prefix)
        arguments["queryset"] = inline.get_queryset(request)
        state = form_state(request)
        if state is not None and state.data is not None:
            arguments["data"] = state.data
        return arguments

    def form_for(self, record: Any) -> type[RecordForm]:
        """Return the form to which the fields of the record's page are added; None is a new record."""
        return RecordForm

    def _form_class(self, request: HttpRequest, state: FormState) -> Any:
        """Return the form class for the fields that the page shows and lets the user change; built once per request."""
        names = flatten_fieldsets(state.fieldsets) if state.writable else []
        fields = [name for name in names if not callable(name) and name not in state.readonly]
        callback = partial(self.formfield_for_dbfield, request=request)
        return modelform_factory(
            self.model, form=self.form_for(state.record), fields=fields, formfield_callback=callback
        )

    def _rows_of_form(self, request: HttpRequest, instance: object) -> tuple[Any, Any]:
        """Return the formsets of the child rows, and the inlines that they belong to."""
        if not self.inlines:
            return [], []
        return self._create_formsets(request, instance, change=not instance._state.adding)  # type: ignore[attr-defined]

    def get_formsets_with_inlines(self, request: HttpRequest, obj: object = None) -> Any:
        """Return the formset class and the inline of each relation of child rows; built once per request."""
        state = form_state(request)
        if state is None:
            return super().get_formsets_with_inlines(request, obj)
        if state.rows is None:
            state.rows = list(super().get_formsets_with_inlines(request, obj))
        return state.rows

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Show the record's form, or write the sent data; everything that a save writes is one transaction."""
        record = self.record_to_edit(request, object_id) if object_id is not None else None
        writable = self.has_change_permission(request, record) if record else self.has_add_permission(request)
        if not writable and record is not None and request.method == "POST":
            writable = self._was_writable(request, record)
        if not writable and (record is None or request.method == "POST"):
            raise PermissionDenied
        if record is not None:
            self.hide_targets(request, record)
        site_id = self.site_id_of(record) if record is not None else self._site_for_new(request)
        state = state_of(request).form = FormState(record, site_id, writable)
        zone = show_times_of_form(request, site_at(request, site_id))
        state.readonly = self.get_readonly_fields(request, record) if writable else ()
        state.fieldsets = self.get_fieldsets(request, record)
        form_class = self._form_class(request, state)
        instance = copy(record) if record is not None else self._new_instance(site_id)  # typed values go here
        if request.method == "POST":
            return self._write(request, state, instance, form_class, extra_context)
        initial = self.get_changeform_initial_data(request) if record is None else {}
        tokens = {"larder_seen": record.newest_change if record else "", FORM_SITE: site_id or "", FORM_ZONE: zone}
        if record is None:
            site = site_of_form(request)
            tokens |= {FIELD: str(uuid.uuid4()), FORM_SITE: site.pk if site else ""}
        form = form_class(instance=instance, initial={**initial, **tokens})
        formsets, inlines = self._rows_of_form(request, instance)
        return self._show(request, state, form, formsets, inlines, None, extra_context)

    def _was_writable(self, request: HttpRequest, record: object) -> bool:
        """Return whether only the record's present status prevents the user from changing it.

        Somebody may have archived it, or changed its status, while the user had its form open. The form is then shown
        with what was typed and with what happened, and the action refuses to save it.
        """
        is_record = isinstance(record, SiteRecord)
        return is_record and self.may(request, "change", record) and self.has_change_permission(request)

    def response_post_save_add(self, request: HttpRequest, obj: object) -> HttpResponseRedirect:
        """Redirect to the page of the record that was added."""
        return self._to_record(request, obj) or super().response_post_save_add(request, obj)

    def response_post_save_change(self, request: HttpRequest, obj: object) -> HttpResponseRedirect:
        """Redirect to the page of the record that was saved."""
        return self._to_record(request, obj) or super().response_post_save_change(request, obj)

    def _response_unchanged(self, request: HttpRequest, record: object) -> HttpResponse:
        """Redirect where the pressed button leads, as after saving."""
        self.message_user(request, gettext("Nothing was changed."))
        if "_continue" in request.POST:
            return redirect(request.get_full_path())
        if "_addanother" in request.POST:
            return redirect(self.url_of("add"))
        return self.response_post_save_change(request, record)

    def _to_record(self, request: HttpRequest, record: Any) -> HttpResponseRedirect | None:
        """Return the redirect to the record's page; None if the user may not see the record."""
        may_see = self.has_view_permission(request, record)
        if may_see and hides(self.model, asking(request.user, self.site_id_of(record))):
            may_see = self.get_queryset(request).filter(pk=record.pk).exists()
        return redirect(self.page_of(record.pk)) if may_see else None

    def _site_for_new(self, request: HttpRequest) -> uuid.UUID | None:
        """Return the site of a new record: the one for which its form was opened, otherwise the current one."""
        if not self.site_field:
            return None
        site = site_of_form(request)
        if site is None or site.pk not in self.sites_where(request, "add"):
            raise PermissionDenied
        return site.pk

    def _new_instance(self, site_id: uuid.UUID | None) -> Any:
        return self.model(**{f"{self.site_field}_id": site_id}) if self.site_field else self.model()

    def _write(
        self,
        request: HttpRequest,
        state: FormState,
        instance: Any,
        form_class: Any,
        extra_context: dict[str, Any] | None,
    ) -> HttpResponse:
        record, data = state.record, request.POST.copy()
        seen_change = data.get("larder_seen", "")
        conflict = self._conflict(request, record, form_class, data) if record is not None else None
        state.data = data
        formsets, inlines = self._rows_of_form(request, instance)
        form = form_class(data, request.FILES, instance=instance)
        valid = form.is_valid()
        valid = all_valid(formsets) and valid
        has_changes = bool(form.content_changed) or any(formset.has_changed() for formset in formsets)
        reason = form.reason()
        lacks_reason = record is not None and has_changes and not reason and self.needs_reason(record)
        if lacks_reason and "change_reason" not in form.errors:
            form.add_error("change_reason", NO_REASON)
            valid = False
        if valid and conflict is None:
            if record is not None and not has_changes:
                return self._response_unchanged(request, record)
            values = form.values(change=record is not None)
            values |= {formset.relation: formset.rows() for formset in formsets if formset.has_changed()}
            try:
                result = self._act(request, state, values, reason, seen_change)
            except ValidationError as fault:
                show_faults(form, formsets, fault)
            except StaleError:
                # Somebody changed the record between reading and locking it: read it again, and show the changes.
                state.record = self.record_to_edit(request, str(record.pk))
                self.hide_targets(request, state.record)
                return self._write(request, state, copy(state.record), form_class, extra_context)
            except RecordNotFoundError:
                raise Http404 from None
            else:
                # Django's responses need the form's instance, so it takes the columns of the record that was stored.
                vars(instance).update({**vars(result), "_state": instance._state})
                if record is None:
                    return self.response_add(request, instance)
                return self.response_change(request, instance)
        return self._show(request, state, form, formsets, inlines, conflict, extra_context)

    def _act(self, request: HttpRequest, state: FormState, values: Values, reason: str, seen_change: str) -> Any:
        record = state.record
        if record is None:
            with process_once(request, self.url_of("changelist")):
                return self.add_record(request, state.site_id, values)  # type: ignore[arg-type]
        if hideable_references(self.model) and references(self.model, asking(request.user, state.site_id)):
            stored_record = self.model._default_manager.get(pk=record.pk)
            values = keep_hidden(stored_record, values, user_of(request).pk, asking(request.user, state.site_id))
        return self.update_record(
            request,
            record,
            values,
            reason=reason,
            author=author_of(request),
            precondition=partial(conflicts.refuse_when_stale, seen_change=seen_change),
        )

    def _conflict(self, request: HttpRequest, record: Any, form_class: Any, data: QueryDict) -> Conflict | None:
        """Update the sent data with the stored record, and return others' changes meanwhile, if there are any."""
        changes = conflicts.take_changes_meanwhile(record, data)
        conflict = conflicts.merge(self.model, data, form_class(instance=record), changes) if changes else None
        for formset_class, inline in self.get_formsets_with_inlines(request, record) if self.inlines else ():
            rows: RecordFormSet = formset_class(
                instance=record, prefix=formset_class.get_default_prefix(), queryset=inline.get_queryset(request)
            )
            conflicts.reconcile_rows(data, rows, changes)
        return conflict

    def _show(
        self,
        request: HttpRequest,
        state: FormState,
        form: Any,
        formsets: Any,
        inlines: Any,
        conflict: Conflict | None,
        extra_context: dict[str, Any] | None,
    ) -> HttpResponse:
        record, writable, fieldsets = state.record, state.writable, state.fieldsets
        readonly = state.readonly if writable else flatten_fieldsets(fieldsets)
        admin_form = helpers.AdminForm(form, list(fieldsets), {}, readonly, model_admin=self)
        inline_formsets = self.get_inline_formsets(request, formsets, inlines, record)
        title = (
            gettext("Add %(kind)s") % {"kind": self.opts.verbose_name}
            if record is None
            else gettext("Edit %(record)s") % {"record": record}
            if writable
            else str(record)
        )
        context = {
            **self.admin_site.each_context(request),
            "title": title,
            "subtitle": None,
            "adminform": admin_form,
            "object_id": str(record.pk) if record else None,
            "original": record,
            "is_popup": False,
            "to_field": None,
            "inline_admin_formsets": inline_formsets,
            "errors": helpers.AdminErrorList(form, formsets),
            "preserved_filters": self.get_preserved_filters(request),
            "record_site": site_at(request, state.site_id),
            "reading_url": self.page_of(record.pk) if record else "",
            "conflict": self.conflict_context(request, record, form, conflict) if conflict else None,
            "record_steps": self.steps_for(request, record) if record else [],
            **(self.additions_to(request, record) if record else {}),
            "show_history": record is not None and self.has_history_permission(request, record),
            "show_save_and_add_another": record is None and writable,
            "show_save_and_continue": writable,
            "show_save": writable,
            "show_delete_link": False,
            **(extra_context or {}),
        }
        return self.render_change_form(request, context, add=record is None, change=record is not None, obj=record)
