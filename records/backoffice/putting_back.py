"""“Put this value back”: the value that a field had before a change becomes the record's value again.

It is an ordinary change: the action that saves the form writes it, with its checks, a reason and a Change of its own.
The page offers what the form lets the user set: plain fields, lists of records, child rows and their cells. A row that
was removed comes back with a new Id, and one that was added is removed. Statuses, files and erased values are not
offered.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.utils import flatten_fieldsets, quote
from django.core.exceptions import FieldDoesNotExist, PermissionDenied, ValidationError
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.utils.translation import gettext

from records.backoffice.conflicts import StaleError, changes_of, refuse_when_stale
from records.backoffice.current import author_of, show_times_of, site_at
from records.backoffice.datetimes import format_datetime
from records.backoffice.form_errors import show_faults
from records.backoffice.form_pages import FormPages
from records.backoffice.forms import ReasonForm
from records.backoffice.history_pages import Place, no_offers, place_of
from records.backoffice.old_values import TEXTS, before, fault_of, is_nothing, keys_of
from records.backoffice.permissions import Pages
from records.backoffice.wording import choice_label, field_label, format_value
from records.history.digests import FieldChange
from records.history.models import Change
from records.history.snapshots import Snapshot, differences, snapshot
from records.sites.models import SiteRecord
from records.sites.targets import UNKNOWN, errors_of
from records.sites.writing import RecordNotFoundError

KINDS = (
    *TEXTS,
    models.IntegerField,
    models.DecimalField,
    models.FloatField,
    models.BooleanField,
    models.DateField,
    models.ForeignKey,
    models.ManyToManyField,
    models.ManyToOneRel,
)
"""The kinds of fields whose values can be put back; a date-time field is a date field too."""


@dataclass(frozen=True, slots=True)
class OldValue:
    """The value that a field had before a change: the change, its entry, and the field's name and value to write."""

    change: Change
    entry: FieldChange
    name: str
    value: Any
    current_value: Any


class PutBackPages(FormPages):
    """What the history page offers to put back, and the page that asks for the reason."""

    own_pages: ClassVar[Pages] = (
        ("<str:object_id>/history/<uuid:change_id>/<str:name>/", "put_back_view", "put_back"),
    )

    def offers_on(self, request: HttpRequest, record: Any) -> Callable[[Change], Mapping[Place, str]]:
        """Return a function that takes a change and returns, by place, the pages that put the old values back.

        Costs one query and those of the record's lists and rows, and none if the user may change nothing.
        """
        fields = self._settable(request, record)
        if not fields:
            return no_offers
        first, content = self._first_number(record), snapshot(record)

        def address(change: Change, entry: FieldChange) -> str:
            page = self.url_of("put_back", quote(record.pk), change.pk, entry["field"])
            return f"{page}?{urlencode({'row': entry['row']})}" if "row" in entry else page

        def offers(change: Change) -> Mapping[Place, str]:
            entries = [] if change.number == first else change.fields
            return {
                place_of(entry): address(change, entry)
                for entry in entries
                if entry["field"] in fields and not fault_of(fields[entry["field"]], entry, content)
            }

        return offers

    def _settable(self, request: HttpRequest, record: models.Model) -> dict[str, object]:
        """Return what the record's form lets the user set: fields and relations, and cells as `relation.field`."""
        if not isinstance(record, SiteRecord) or not self.has_change_permission(request, record):
            return {}
        with self.as_form(request, record):
            names = self.settable_fields(request, record)
            for inline in self.get_inline_instances(request, record):
                if inline.has_change_permission(request, record):
                    rows: Any = inline.get_formset(request, record)
                    relation = rows.fk.remote_field.get_accessor_name()
                    cells = flatten_fieldsets(inline.get_fieldsets(request, record))
                    names |= {relation, *(f"{relation}.{cell}" for cell in cells)}
        hidden_fields = self.hidden_in_history(request, record)
        fields = {name: _field_at(self.model, name) for name in names if name.partition(".")[0] not in hidden_fields}
        return {name: field for name, field in fields.items() if isinstance(field, KINDS)}

    @staticmethod
    def _first_number(record: models.Model) -> int | None:
        """Return the number of the change that added the record; there are no older values."""
        return changes_of(record).order_by("number").values_list("number", flat=True).first()

    def put_back_view(
        self, request: HttpRequest, object_id: str, change_id: uuid.UUID, name: str, *, is_stale: bool = False
    ) -> HttpResponse:
        """Show the present and the old value and ask for the reason; once it is given, write the old value.

        If somebody has changed the record since the page was shown (`is_stale`), the page is shown again with a note.
        """
        record = self.record_to_edit(request, object_id)
        if not self.has_history_permission(request, record):
            raise PermissionDenied
        history = self.url_of("history", quote(record.pk))
        label = field_label(self.model, name)
        try:
            old = self._old_value(request, record, change_id, (name, request.GET.get("row", "")))
        except ValidationError as error:
            text = gettext("%(label)s: nothing was put back. %(names)s") % {
                "label": label,
                "names": " ".join(error.messages),
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
        return self.page_response(
            request,
            "backoffice/put_back.html",
            gettext("Put a value back: %(record)s") % {"record": record},
            original=record,
            change=old.change,
            at=format_datetime(old.change.at),
            label=label,
            now=format_value(choice_label(self.model, name, old.current_value), day=self.is_day(name)),
            then=format_value(choice_label(self.model, name, old.entry.get("old")), day=self.is_day(name)),
            seen=record.newest_change,
            form=form,
            back=self.page_of(record.pk),
            history=history,
        )

    def _old_value(self, request: HttpRequest, record: models.Model, change_id: uuid.UUID, place: Place) -> OldValue:
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
        field = self._settable(request, record).get(place[0])
        change = changes_of(record).filter(pk=change_id).first()
        entries = change.fields if change is not None else ()
        entry = next((entry for entry in entries if place_of(entry) == place), None)
        if field is None or change is None or entry is None or change.number == self._first_number(record):
            raise Http404
        content = snapshot(record)
        if fault := fault_of(field, entry, content):
            raise ValidationError(fault)
        name = place[0].partition(".")[0]
        try:
            value = self._value_of(request, record, name, entry)
        except LookupError as error:
            raise ValidationError(str(error.args[0])) from None
        return OldValue(change, entry, name, value, _as_in_history(record, entry, content))

    def _put_back(self, request: HttpRequest, record: models.Model, old: OldValue, form: ReasonForm) -> bool:
        """Write the value as the form would, and return True; or False, and the form then has the errors."""
        seen_change = request.POST.get("larder_seen", "")
        try:
            self.update_record(
                request,
                record,
                {old.name: old.value},
                author=author_of(request),
                reason=form.cleaned_data["change_reason"].strip(),
                precondition=lambda locked_record: refuse_when_stale(locked_record, seen_change),
            )
        except ValidationError as fault:
            show_faults(form, (), fault)
            return False
        return True

    def _value_of(self, request: HttpRequest, record: models.Model, name: str, entry: FieldChange) -> object:
        """Return the value of a field, a list or child rows before the entry, in the form that an action accepts.

        Raises LookupError, and ValidationError for a record that does not exist any more, is archived, or that the user
        may not choose.
        """
        field: Any = self.model._meta.get_field(name)
        if not field.concrete or not field.is_relation or is_nothing(entry.get("old")):
            return before(record, name, [entry])
        site_id, target = self.site_id_of(record), field.related_model
        page: Any = self
        keys = [str(key) for key in keys_of(entry["old"])]
        current = getattr(record, name).all() if field.many_to_many else ()
        choices = page.field_choices(request, field, site_id).filter(pk__in=keys)
        rows = {str(row.pk): row for row in (*choices, *current)}
        if missing_keys := [key for key in keys if key not in rows]:
            why = errors_of(target, list(target._base_manager.filter(pk__in=missing_keys)), site_id, self.model)  # type: ignore[arg-type]
            texts = set(why.values()) or {UNKNOWN.format(name=target._meta.verbose_name)}
            raise ValidationError([ValidationError(text, code="InvalidReference") for text in sorted(texts)])
        return [rows[key] for key in keys] if field.many_to_many else rows[keys[0]]


def _field_at(model: Any, name: str) -> Any:
    """Return a field of the model, its relation of child rows, or for `relation.field` a field of a child row.

    None for what only the form has, such as the reason.
    """
    relation, _dot, cell = name.partition(".")
    try:
        field = model._meta.get_field(relation)
        return field.related_model._meta.get_field(cell) if cell else field
    except FieldDoesNotExist:
        return None


def _what_happened(record: models.Model) -> str:
    newest = changes_of(record).first()
    person = newest.author_name if newest is not None and newest.author_name else gettext("The system")
    return gettext(
        "%(person)s changed this record while this page was open. Look at the value now, then confirm again."
    ) % {"person": person}


def _as_in_history(record: models.Model, entry: FieldChange, content: Snapshot) -> object:
    """Return what the record says at the place of the entry, in the form of the history: references by their names."""
    name, _dot, cell = entry["field"].partition(".")
    entries = differences(record, {}, {name: content[name]})
    value = next((other["new"] for other in entries if place_of(other)[1] == place_of(entry)[1]), None)
    return value.get(cell) if cell and value else value
