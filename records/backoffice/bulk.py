"""What can be done to several records of a list at once, with one reason: archive, restore, move to a folder, assign.

The normal action writes each record in its own transaction, with its own Change. A record that cannot be written is
reported with the reason, and does not prevent the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import FieldDoesNotExist, PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from records.backoffice.current import FormState, current_site, show_times_of, state_of
from records.backoffice.fields import as_uuid
from records.backoffice.form_pages import FormPages
from records.backoffice.forms import ReasonForm
from records.sites.writing import RecordNotFoundError

STEPS = ("archive", "restore")
"""The buttons of a record's page that a list offers too, if they ask for nothing but a reason."""
FIELDS = {"entity_folder": "Move to a folder", "owner": "Assign to an owner"}
EMPTY = {"entity_folder": "Empty: out of every folder.", "owner": "Empty: to nobody."}
MOST = 200


@dataclass(frozen=True, slots=True)
class Bulk:
    """One thing to do to several records: its name and label, why a record does not allow it, and the function."""

    name: str
    label: str
    fault_of: Callable[[Any], str]
    act: Callable[[Any, str, Any], Any]
    field: str = ""


class BulkPages(FormPages):
    """Selecting several records of a list, and the page that asks for the reason."""

    def get_urls(self) -> Any:
        """Return the admin's URLs, preceded by that of the page."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_together"
        view = self.admin_site.admin_view(require_POST(self.together_view))
        return [path("together/", view, name=name), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show the list with the actions for several of its records."""
        found = {}
        if self.has_view_permission(request):
            address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_together")
            found = {"bulk": {"steps": self.bulk_steps(request), "address": f"{address}?{request.GET.urlencode()}"}}
        return super().changelist_view(request, {**found, **(extra_context or {})})

    def get_actions(self, request: HttpRequest) -> Any:
        """Return a placeholder action if the user can do something to several records: the list then has checkboxes."""
        return {"together": (None, "together", "Together")} if self.bulk_steps(request) else {}

    def response_action(self, request: HttpRequest, queryset: Any, *args: Any, **options: Any) -> HttpResponse:
        """Redirect to the list: its checkboxes belong to our own form."""
        return redirect(request.get_full_path())

    def action_checkbox(self, obj: Any) -> Any:
        """Return the checkbox of a row, which belongs to the form above the table."""
        return format_html(
            '<input type="checkbox" name="{}" value="{}" form="together" class="action-select" aria-label="Choose {}">',
            ACTION_CHECKBOX_NAME,
            obj.pk,
            obj,
        )

    def bulk_steps(self, request: HttpRequest) -> list[Bulk]:
        """Return what the user may do to several records of the list at the current site; no query."""
        site = current_site(request)
        found = []
        for step in self.record_actions:
            if step.name in STEPS and step.form is ReasonForm and self._may_bulk(request, step.permission):
                fault, act = partial(self._fault_of_step, request, step), partial(self._take_step, request, step)
                found.append(Bulk(step.name, step.label, fault, act))
        editable = [name for name in FIELDS if self._has_field(name)]
        if site is not None and self.may(request, "change"):
            for name in editable:
                fault, act = partial(self._fault_of_field, request, name), partial(self._set_field, request, name)
                found.append(Bulk(name, FIELDS[name], fault, act, name))
        return found

    def _may_bulk(self, request: HttpRequest, permission: str) -> bool:
        return "." not in permission and self.may(request, permission)

    def _has_field(self, name: str) -> bool:
        try:
            return bool(self.opts.get_field(name).editable)
        except FieldDoesNotExist:
            return False

    # --- One record ---------------------------------------------------------------------------------------------------

    def _fault_of_step(self, request: HttpRequest, step: Any, record: Any) -> str:
        if not step.applies(record):
            return f"“{step.label}” is not possible now."
        return "" if self.may_step(request, step, record) else "You may not do this."

    def _take_step(self, request: HttpRequest, step: Any, record: Any, reason: str, value: Any) -> None:
        step.act(self, request, record, reason, {})

    def _fault_of_field(self, request: HttpRequest, name: str, record: Any) -> str:
        if not self.has_change_permission(request, record):
            return "It is archived." if record.is_archived else "You may not change it now."
        return "" if name in self.settable_fields(request, record) else "This cannot be set on it now."

    def _set_field(self, request: HttpRequest, name: str, record: Any, reason: str, value: Any) -> None:
        self.update_record(request, record, {name: value}, reason=reason, precondition=lambda locked: None)

    # --- Several records ----------------------------------------------------------------------------------------------

    def together_view(self, request: HttpRequest) -> HttpResponse:
        """Show the selected records and ask for the reason; once it is given, write each and report the results."""
        page: Any = self
        bulk = next((one for one in self.bulk_steps(request) if one.name == request.POST.get("step")), None)
        back = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        back += f"?{request.GET.urlencode()}" if request.GET else ""
        if bulk is None:
            raise PermissionDenied if request.POST.get("step") in (*STEPS, *FIELDS) else Http404
        chosen = self._chosen_records(request)
        if not chosen:
            messages.warning(request, f"Choose at least one of the {self.opts.verbose_name_plural} first.")
            return redirect(back)
        site = current_site(request)
        show_times_of(site)
        state_of(request).form = FormState(None, site.pk if site else None, writable=True)
        form = ReasonForm(request.POST if "confirm" in request.POST else None)
        if bulk.field:
            field = self.opts.get_field(bulk.field)
            form.fields[bulk.field] = page.formfield_for_dbfield(field, request)
            form.fields[bulk.field].required = not field.null
            form.fields[bulk.field].help_text = EMPTY[bulk.field] if field.null else ""
            form.order_fields([bulk.field, "change_reason"])
        if form.is_bound and form.is_valid():
            value = form.cleaned_data.get(bulk.field) if bulk.field else None
            self._write_all(request, bulk, chosen, form.cleaned_data["change_reason"].strip(), value)
            return redirect(back)
        kind = self.opts.verbose_name if len(chosen) == 1 else self.opts.verbose_name_plural
        context = {
            **self.admin_site.each_context(request),
            "title": f"{bulk.label}: {len(chosen)} {kind}",
            "opts": self.opts,
            "bulk": bulk,
            "rows": [{"record": record, "fault": bulk.fault_of(record)} for record in chosen],
            "form": form,
            "media": forms.Media(),
            "back": back,
        }
        return TemplateResponse(request, "backoffice/together.html", context)

    def _chosen_records(self, request: HttpRequest) -> Sequence[Any]:
        """Return the selected records that the user sees in the list of the current site, in its order; one query."""
        keys = [key for text in request.POST.getlist(ACTION_CHECKBOX_NAME)[:MOST] if (key := as_uuid(text))]
        foreign = [field.name for field in self.opts.concrete_fields if field.is_relation]
        rows = self.at_site(self.get_queryset(request), current_site(request)).select_related(*foreign)
        return list(rows.filter(pk__in=keys).order_by(*self.get_ordering(request)))

    def _write_all(self, request: HttpRequest, bulk: Bulk, chosen: Sequence[Any], reason: str, value: Any) -> None:
        done, left = [], []
        for record in chosen:
            fault = bulk.fault_of(record)
            try:
                if not fault:
                    bulk.act(record, reason, value)
            except ValidationError as refused:
                fault = " ".join(refused.messages)
            except RecordNotFoundError:
                fault = "It is not there any more."
            except PermissionDenied:
                fault = "You may not do this."
            if fault:
                left.append(f"{record}: {fault}")
            else:
                done.append(str(record))
        if done:
            messages.success(request, f"{bulk.label}: {len(done)} of {len(chosen)} done.")
        for text in left:
            messages.warning(request, f"Left as it was: {text}")
