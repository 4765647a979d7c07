"""“Put this value back”: the value that a field had before a change becomes the record's value again.

It is an ordinary change: the action that saves the form writes it, with its checks, a reason and a Change of its own.
Only plain fields that the form lets the user set are offered: no child rows, lists of records, statuses, files, or
erased values.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.about import address_of
from records.backoffice.conflicts import StaleError, last_change, refuse_when_stale, trail_of
from records.backoffice.current import show_times_of, site_at
from records.backoffice.datetimes import shown
from records.backoffice.form_errors import show_faults
from records.backoffice.form_pages import FormPages
from records.backoffice.forms import ReasonForm
from records.backoffice.history_pages import no_offers
from records.backoffice.permissions import Pages
from records.backoffice.wording import field_label, printed
from records.history.digests import is_erased
from records.history.erasure import is_mark
from records.history.models import Change
from records.history.snapshots import columns
from records.sites.models import SiteRecord
from records.sites.targets import UNKNOWN, errors_of
from records.sites.writing import RecordNotFoundError

TEXTS = (models.CharField, models.TextField)
PLAIN = (
    *TEXTS,
    models.IntegerField,
    models.DecimalField,
    models.FloatField,
    models.BooleanField,
    models.DateField,
    models.ForeignKey,
)
"""The kinds of fields whose values can be put back; a date-time field is a date field too."""

SAME = _("The record has this value already.")


@dataclass(frozen=True, slots=True)
class OldValue:
    """The value that a field had before a change: the change, its entry, the field, and the value to write."""

    change: Change
    entry: Mapping[str, Any]
    field: Any
    value: Any


class PutBackPages(FormPages):
    """What the history page offers to put back, and the page that asks for the reason."""

    own_pages: ClassVar[Pages] = (
        ("<str:object_id>/history/<uuid:change_id>/<str:name>/", "put_back_view", "put_back"),
    )

    def offers_on(self, request: HttpRequest, record: Any) -> Callable[[Change], Mapping[str, str]]:
        """Return a function that takes a change and returns, by field name, the pages that put the old values back.

        Costs one query, and none if the user may change nothing.
        """
        fields = self._plain_fields(request, record)
        if not fields:
            return no_offers
        first = self._first_number(record)

        def offers(change: Change) -> Mapping[str, str]:
            entries = [] if change.number == first else change.fields
            names = [
                entry["field"]
                for entry in entries
                if entry["field"] in fields and not fault_of(record, fields[entry["field"]], entry)
            ]
            return {name: self.url_of("put_back", quote(record.pk), change.pk, name) for name in names}

        return offers

    def _plain_fields(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        if not isinstance(record, SiteRecord):
            return {}
        settable = self.settable_fields(request, record) - {*self.hidden_in_history(request, record)}
        columns_of = self.opts.concrete_fields
        return {field.name: field for field in columns_of if field.name in settable and isinstance(field, PLAIN)}

    @staticmethod
    def _first_number(record: Any) -> int | None:
        """Return the number of the change that added the record; there are no older values."""
        return trail_of(record).order_by("number").values_list("number", flat=True).first()

    def put_back_view(
        self, request: HttpRequest, object_id: str, change_id: uuid.UUID, name: str, *, is_stale: bool = False
    ) -> HttpResponse:
        """Show the present and the old value and ask for the reason; once it is given, write the old value.

        If somebody has changed the record since the page was shown (`is_stale`), the page is shown again with a note.
        """
        record = self.record_or_404(request, object_id)
        if not self.has_history_permission(request, record):
            raise PermissionDenied
        history = self.url_of("history", quote(record.pk))
        label = field_label(self.model, name)
        try:
            old = self._old_value(request, record, change_id, name)
        except ValidationError as refused:
            text = gettext("%(label)s: nothing was put back. %(names)s") % {
                "label": label,
                "names": " ".join(refused.messages),
            }
            self.message_user(request, text, messages.WARNING)
            return redirect(history)
        form = ReasonForm(request.POST if request.method == "POST" else None)
        try:
            if is_stale:
                form.add_error(None, _what_happened(record))
            elif form.is_bound and form.is_valid() and self._put_back(request, record, old, form):
                self.message_user(
                    request, gettext("%(label)s: the earlier value was put back.") % {"label": label}, messages.SUCCESS
                )
                return redirect(history)
        except StaleError:
            return self.put_back_view(request, object_id, change_id, name, is_stale=True)
        except RecordNotFoundError:
            raise Http404 from None
        show_times_of(site_at(request, self.site_id_of(record)))
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Put a value back: %(record)s") % {"record": record},
            "opts": self.opts,
            "original": record,
            "change": old.change,
            "at": shown(old.change.at),
            "label": label,
            "now": printed(_as_the_trail_says(record, old.field), day=self.is_day(name)),
            "then": printed(old.entry.get("old"), day=self.is_day(name)),
            "seen": last_change(record),
            "form": form,
            "back": address_of(record),
            "history": history,
        }
        return TemplateResponse(request, "backoffice/put_back.html", context)

    def _old_value(self, request: HttpRequest, record: Any, change_id: uuid.UUID, name: str) -> OldValue:
        """Return the old value that the URL names.

        Raises PermissionDenied, Http404 if the change has no such value, and ValidationError if the value cannot be
        put back now.
        """
        if not self.has_change_permission(request, record):
            if self.may(request, "change", record) and getattr(record, "is_archived", False):
                raise ValidationError(
                    gettext("This %(kind)s is archived. Restore it before you change it.")
                    % {"kind": self.opts.verbose_name}
                )
            raise PermissionDenied
        field = self._plain_fields(request, record).get(name)
        change = trail_of(record).filter(pk=change_id).first()
        entry = next((one for one in change.fields if one["field"] == name), None) if change is not None else None
        if field is None or change is None or entry is None or change.number == self._first_number(record):
            raise Http404
        if fault := fault_of(record, field, entry):
            raise ValidationError(fault)
        return OldValue(change, entry, field, self._value_of(request, record, field, entry.get("old")))

    def _put_back(self, request: HttpRequest, record: Any, old: OldValue, form: ReasonForm) -> bool:
        """Write the value as the form would, and return True; or False, and the form then has the errors."""
        seen = request.POST.get("larder_seen", "")
        try:
            self.update_record(
                request,
                record,
                {old.field.name: old.value},
                reason=form.cleaned_data["change_reason"].strip(),
                precondition=lambda locked: refuse_when_stale(locked, seen),
            )
        except ValidationError as fault:
            show_faults(form, (), fault)
            return False
        return True

    def _value_of(self, request: HttpRequest, record: Any, field: Any, old: Any) -> Any:
        """Return a value of the history in the form that an action accepts.

        Raises ValidationError for a record that does not exist any more, is archived, or that the user may not choose.
        """
        if is_nothing(old):
            return None if field.null else ""
        if not field.is_relation:
            return field.to_python(old)
        site_id = self.site_id_of(record)
        page: Any = self
        row = page.field_choices(request, field, site_id).filter(pk=old["id"]).first()
        if row is not None:
            return row
        target = field.related_model
        stored = target._base_manager.filter(pk=old["id"]).first()
        why = errors_of(target, [stored], site_id, self.model).get(stored.pk) if stored is not None else None  # type: ignore[arg-type]
        raise ValidationError(why or UNKNOWN.format(name=target._meta.verbose_name), code="InvalidReference")


def is_nothing(value: Any) -> bool:
    """Return whether a value of the history means that the field was empty."""
    return value is None or value == ""


def fault_of(record: Any, field: Any, entry: Mapping[str, Any]) -> str:
    """Return why the old value of a change's entry cannot be put back; empty if it can. Runs no query."""
    old, new, now = entry.get("old"), entry.get("new"), getattr(record, field.attname)
    if any(is_erased(value) or is_mark(value) for value in (old, new, now)):
        return gettext("The value was erased for good.")
    if is_nothing(old):
        if is_nothing(now):
            return gettext("The field is empty already.")
        may_be_empty = field.blank and (field.null or isinstance(field, TEXTS))
        return "" if may_be_empty else gettext("The field must not be empty.")
    if field.is_relation:
        if not isinstance(old, dict) or "id" not in old:
            return gettext("The history does not know the Id of the earlier value, so it cannot be put back.")
        return str(SAME) if str(now) == str(old["id"]) else ""
    try:
        is_same = columns(record)[field.name] == old or field.to_python(old) == now
    except ValidationError as fault:
        return " ".join(fault.messages)
    return str(SAME) if is_same else ""


def _what_happened(record: Any) -> str:
    newest = trail_of(record).first()
    person = newest.author_name if newest is not None and newest.author_name else gettext("The system")
    return gettext(
        "%(person)s changed this record while this page was open. Look at the value now, then confirm again."
    ) % {"person": person}


def _as_the_trail_says(record: Any, field: Any) -> Any:
    """Return the record's value in the form of the history, in which a reference is the name of its target."""
    if not field.is_relation:
        return columns(record)[field.name]
    target = getattr(record, field.name)
    return None if target is None else str(target)
