"""What can be done to several records of a list at once, with one reason: archive, restore, move to a folder, assign.

Users tick records of one page, or choose all records that the list is filtered to. The room's normal action writes each
record, with its own Change; up to BATCH records share a transaction. A record that cannot be written is named on the
result page with the reason, and does not prevent the others.
"""

import hashlib
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import FieldDoesNotExist, PermissionDenied, ValidationError
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.about import address_of
from records.backoffice.current import FormState, author_of, current_site, show_times_of, state_of
from records.backoffice.form_pages import FormPages
from records.backoffice.forms import ReasonForm
from records.backoffice.lists import UnreadableListError
from records.backoffice.permissions import Pages
from records.backoffice.transitions import RecordStep
from records.history.retrying import retry_transaction
from records.history.trail import recording
from records.sites.text import read_uuid
from records.sites.writing import RecordNotFoundError

STEPS = ("archive", "restore")
"""The buttons of a record's page that a list offers too, if they ask for nothing but a reason."""
FIELDS = {"entity_folder": _("Move to a folder"), "owner": _("Assign to an owner")}
EMPTY = {
    "entity_folder": _("Leave this empty to remove them from their folders."),
    "owner": _("Leave this empty for no owner."),
}
MOST_RECORDS = 2000
"""The maximum number of records at once, as in an import."""
BATCH = 100
"""The number of records that are written in one transaction."""
MOST_LISTED = 50
"""The number of records that the page for the reason lists."""
MOST_NAMED = 500
"""The number of records that the result page names; further ones are counted."""
RESULT = "larder_left_as_it_was"
"""The session's key for the result of the last bulk action, until its list is opened."""


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

    own_pages: ClassVar[Pages] = (
        ("bulk/", "bulk_view", "bulk"),
        ("bulk/result/", "bulk_result_view", "bulk_result"),
    )

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Return also the actions for several of the list's records."""
        request.session.pop(RESULT, None)
        context = super().list_context(request)
        if self.has_view_permission(request):
            address = f"{self.url_of('bulk')}?{request.GET.urlencode()}"
            context["bulk"] = {"steps": self.bulk_steps(request), "address": address}
        return context

    def get_actions(self, request: HttpRequest) -> Any:
        """Return a placeholder action if the user can do something to several records: the list then has checkboxes."""
        return {"bulk": (None, "bulk", gettext("For the chosen records"))} if self.bulk_steps(request) else {}

    def response_action(self, request: HttpRequest, queryset: object, *args: object, **options: object) -> HttpResponse:
        """Redirect to the list: its checkboxes belong to our own form."""
        return redirect(request.get_full_path())

    def action_checkbox(self, obj: Model) -> SafeString:
        """Return the checkbox of a row, which belongs to the form above the table."""
        return format_html(
            '<input type="checkbox" name="{}" value="{}" form="bulk" class="action-select" aria-label="{}">',
            ACTION_CHECKBOX_NAME,
            obj.pk,
            gettext("Choose %(record)s") % {"record": obj},
        )

    def bulk_steps(self, request: HttpRequest) -> list[Bulk]:
        """Return what the user may do to several records of the list at the current site; no query."""
        site = current_site(request)
        steps = []
        for step in self.record_actions:
            is_plain = step.name in STEPS and step.form is ReasonForm and "." not in step.permission
            if is_plain and self.may(request, step.permission):
                fault, act = partial(self._fault_of_step, request, step), partial(self._take_step, request, step)
                steps.append(Bulk(step.name, step.label, fault, act))
        editable = [name for name in FIELDS if self._has_field(name)]
        if site is not None and self.may(request, "change"):
            for name in editable:
                fault, act = partial(self._fault_of_field, request, name), partial(self._set_field, request, name)
                steps.append(Bulk(name, str(FIELDS[name]), fault, act, name))
        return steps

    def _has_field(self, name: str) -> bool:
        try:
            return bool(self.opts.get_field(name).editable)
        except FieldDoesNotExist:
            return False

    # --- One record ---------------------------------------------------------------------------------------------------

    def _fault_of_step(self, request: HttpRequest, step: RecordStep, record: object) -> str:
        if not step.applies(record):
            return gettext("“%(label)s” is not possible now.") % {"label": step.label}
        return "" if self.may_step(request, step, record) else gettext("You may not do this.")

    def _take_step(self, request: HttpRequest, step: RecordStep, record: object, reason: str, value: object) -> None:
        step.act(self, request, record, reason, {})

    def _fault_of_field(self, request: HttpRequest, name: str, record: Any) -> str:
        if not self.has_change_permission(request, record):
            return gettext("It is archived.") if record.is_archived else gettext("You may not change it now.")
        return "" if name in self.settable_fields(request, record) else gettext("This field cannot be changed now.")

    def _set_field(self, request: HttpRequest, name: str, record: Model, reason: str, value: object) -> None:
        self.update_record(request, record, {name: value}, author=author_of(request), reason=reason)

    # --- Several records ----------------------------------------------------------------------------------------------

    def bulk_view(self, request: HttpRequest) -> HttpResponse:
        """Show the selected records and ask for the reason; once it is given, write each and report the results.

        Without records, such as after a sign-in that interrupted it, the page returns to the list.
        """
        back = self._list_url(request)
        if request.method != "POST":
            return redirect(back)
        bulk = next((step for step in self.bulk_steps(request) if step.name == request.POST.get("step")), None)
        if bulk is None:
            raise PermissionDenied if request.POST.get("step") in (*STEPS, *FIELDS) else Http404
        try:
            keys = self._selected_keys(request)
        except UnreadableListError as error:
            return self.unreadable(request, error)
        if not keys:
            messages.warning(
                request,
                gettext("Choose at least one of the %(kinds)s first.") % {"kinds": self.opts.verbose_name_plural},
            )
            return redirect(back)
        if len(keys) > MOST_RECORDS:
            text = gettext("More than %(most)s %(kinds)s match. Filter the list first.") % {
                "most": MOST_RECORDS,
                "kinds": self.opts.verbose_name_plural,
            }
            messages.warning(request, text)
            return redirect(back)
        form = self._bulk_form(request, bulk)
        digest = hashlib.sha256(b"".join(key.bytes for key in sorted(keys))).hexdigest()
        is_same = request.POST.get("seen", digest) == digest
        if form.is_bound and form.is_valid() and is_same:
            value = form.cleaned_data.get(bulk.field) if bulk.field else None
            failures = self._write_all(request, bulk, keys, form.cleaned_data["change_reason"].strip(), value)
            return self._report(request, bulk, len(keys), failures)
        kind = self.opts.verbose_name if len(keys) == 1 else self.opts.verbose_name_plural
        return self.page_response(
            request,
            "backoffice/bulk.html",
            f"{bulk.label}: {len(keys)} {kind}",
            bulk=bulk,
            rows=[{"record": row, "fault": bulk.fault_of(row)} for row in self._rows(request, keys[:MOST_LISTED])],
            count=len(keys),
            keys=[] if request.POST.get("all") else keys,
            seen=digest,
            has_changed=not is_same,
            is_unsent=not form.is_bound,
            form=form,
            back=back,
        )

    def _list_url(self, request: HttpRequest) -> str:
        url = self.url_of("changelist")
        return f"{url}?{request.GET.urlencode()}" if request.GET else url

    def _bulk_form(self, request: HttpRequest, bulk: Bulk) -> ReasonForm:
        """Return the form for the reason and, if the action sets a field, for its value."""
        page: Any = self
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
        return form

    def _selected_keys(self, request: HttpRequest) -> list[uuid.UUID]:
        """Return the keys of the selected records that the user sees at the site, at most MOST_RECORDS and one more.

        These are the ticked ones, or all that the list with the URL's filters contains. Raises UnreadableListError.
        """
        if request.POST.get("all"):
            rows = self.get_changelist_instance(request).queryset
            return list(rows.values_list("pk", flat=True)[: MOST_RECORDS + 1])
        keys = [
            key for text in request.POST.getlist(ACTION_CHECKBOX_NAME)[: MOST_RECORDS + 1] if (key := read_uuid(text))
        ]
        return [row.pk for row in self._rows(request, keys)]

    def _rows(self, request: HttpRequest, keys: Sequence[uuid.UUID]) -> list[Any]:
        """Return the records with these keys that the user sees at the current site, in the same order; one query."""
        rows = self.at_site(self.get_queryset(request), current_site(request)).select_related(*self.foreign_keys)
        by_key = {row.pk: row for row in rows.filter(pk__in=keys).order_by()}
        return [by_key[key] for key in dict.fromkeys(keys) if key in by_key]

    def _write_all(
        self, request: HttpRequest, bulk: Bulk, keys: Sequence[uuid.UUID], reason: str, value: Any
    ) -> list[tuple[Any, str]]:
        """Write the records, BATCH in a transaction; return those that were left as they were, each with the reason."""

        def write(batch: Sequence[uuid.UUID]) -> list[tuple[Any, str]]:
            with recording():
                done = [(record, _write(bulk, record, reason, value)) for record in self._rows(request, batch)]
            return [(record, fault) for record, fault in done if fault]

        # If a batch loses a deadlock, only that batch begins again: the batches before it are stored.
        steps = (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))
        return [failure for batch in steps for failure in retry_transaction(partial(write, batch))]

    def _report(
        self, request: HttpRequest, bulk: Bulk, count: int, failures: Sequence[tuple[Any, str]]
    ) -> HttpResponse:
        """Return to the list, or to the page that names the records that were left as they were."""
        if not failures:
            messages.success(
                request, gettext("%(label)s: %(count)s of %(count)s done.") % {"label": bulk.label, "count": count}
            )
            return redirect(self._list_url(request))
        request.session[RESULT] = {
            "model": self.opts.label,
            "title": gettext("%(label)s: %(value)s of %(count)s done")
            % {"label": bulk.label, "value": count - len(failures), "count": count},
            "left": [[str(record.pk), fault] for record, fault in failures[:MOST_NAMED]],
            "more": max(len(failures) - MOST_NAMED, 0),
            "back": self._list_url(request),
        }
        return redirect(self.url_of("bulk_result"))

    def bulk_result_view(self, request: HttpRequest) -> HttpResponse:
        """Show what the last bulk action left as it was, and why; redirect to the list if there is nothing to show.

        The session keeps no names: only records that the user still sees are named, and the others are counted.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        result = request.session.get(RESULT, {})
        if result.get("model") != self.opts.label:
            return redirect(self._list_url(request))
        faults = {uuid.UUID(key): fault for key, fault in result["left"]}
        rows = self._rows(request, list(faults))
        failures = [{"name": str(row), "url": address_of(row), "fault": faults[row.pk]} for row in rows]
        return self.page_response(
            request,
            "backoffice/bulk_result.html",
            result["title"],
            failures=failures,
            more=result["more"] + len(faults) - len(failures),
            back=result["back"],
        )


def _write(bulk: Bulk, record: Model, reason: str, value: object) -> str:
    """Write the record; return an empty text, or why it was left as it was."""
    if fault := bulk.fault_of(record):
        return fault
    try:
        bulk.act(record, reason, value)
    except ValidationError as error:
        return " ".join(error.messages)
    except RecordNotFoundError:
        return gettext("It does not exist any more.")
    except PermissionDenied:
        return gettext("You may not do this.")
    return ""
