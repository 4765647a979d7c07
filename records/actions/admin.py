"""The back-office pages of actions: added from a record or alone, done by their owner, judged by somebody else."""

import uuid
from functools import partial
from typing import Any, Unpack

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.actions import actions
from records.actions.models import UNFINISHED, Action, Status
from records.actions.transitions import CLOSE, MARK_DONE, STEPS, mover
from records.backoffice.about import link_to, may_see
from records.backoffice.choice_filters import ArchivedFilter, OwnerFilter
from records.backoffice.current import author_of, current_site, user_of
from records.backoffice.date_filters import DaysFilter
from records.backoffice.due import DueFilter, format_due_date
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.forms import RecordForm
from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE, RecordStep
from records.sites.about import record_at, unknown
from records.sites.text import read_uuid
from records.sites.writing import Values, WriteArgs


class NewActionForm(RecordForm):
    """A new action, with the record and the finding that it is about."""

    about = forms.CharField(required=False, widget=forms.HiddenInput)
    finding = forms.CharField(required=False, widget=forms.HiddenInput)


class ActionDueFilter(DueFilter):
    """Shows actions that somebody still has to do, by their due dates."""

    open_statuses = UNFINISHED


@admin.register(Action)
class ActionAdmin(RecordAdmin):
    """Actions. They are edited while they are Open; afterwards only the steps of the workflow change them."""

    record_actions = (*STEPS, ARCHIVE, RESTORE)
    moments = ("done_date", "closed_date")
    list_display = (
        "site_sequence_id",
        "name",
        "kind",
        "priority",
        "owner",
        "due",
        "record_status",
        "effective",
    )
    list_display_links = ("site_sequence_id", "name")
    list_filter = (
        ArchivedFilter,
        ActionDueFilter,
        OwnerFilter,
        ("owner", ReferenceFilter),
        "record_status",
        "effective",
        "kind",
        "priority",
        ("cause", ReferenceFilter),
        ("due_date", DaysFilter),
        ("closed_date", DaysFilter),
    )
    search_fields = ("name", "description", "result", "owner__given_name", "owner__family_name", "owner__display_name")
    readonly_fields = ("record", "record_status", "done_by", "done_date", "effective", "closed_by", "closed_date")

    def form_for(self, record: object) -> type[RecordForm]:
        """Return the form; that of a new action also has the record that the action is about."""
        return NewActionForm if record is None else RecordForm

    def own_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Return the fields; those about the result are shown after the action is stored."""
        facts = {"fields": ("name", "description", "owner", "due_date", "priority", "kind", "cause")}
        if obj is None:
            return ((None, {**facts, "description": self._about_new(request)}),)
        outcome = ("record_status", "result", "done_by", "done_date", "effective", "closed_by", "closed_date")
        return ((None, {"fields": ("record", *facts["fields"])}), (gettext("Outcome"), {"fields": outcome}))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the initial values of a new action: the user as owner, and the record that the address names."""
        values = {name: request.GET.get(name, "") for name in ("about", "finding")}
        return {"owner": user_of(request), "priority": "Medium", **values}

    def _about_new(self, request: HttpRequest) -> str:
        """Return the name of the record that a new action is about; empty if it is about none."""
        pointer = (request.POST if request.method == "POST" else request.GET).get("about", "")
        site = current_site(request)
        record = record_at(site.pk, pointer, Action.ABOUT) if site is not None else None
        if record is None or not may_see(user_of(request), record):
            return ""
        return format_html("<p>{} {}</p>", gettext("About"), link_to(record))

    def get_object(self, request: HttpRequest, object_id: str, from_field: object = None, **annotations: object) -> Any:
        """Return an action that the user may see; its record is shown only if it exists for the user too."""
        action = super().get_object(request, object_id, from_field, **annotations)
        if action is not None:
            about = action.about()
            action.shows_about = about is not None and may_see(user_of(request), about)
        return action

    @admin.display(description=_("about"))
    def record(self, action: Action) -> Any:
        """Return a link to the record that the action is about, with the name of the finding if there is one."""
        record: Any = action.about()
        if record is None:
            return self.get_empty_value_display()
        if not getattr(action, "shows_about", False):
            return gettext("a record that you may not see")
        finding = record.findings.filter(pk=action.finding_id).first() if action.finding_id else None
        return format_html("{}, {}", link_to(record), finding) if finding is not None else link_to(record)

    @admin.display(description=_("due"), ordering="due_date")
    def due(self, action: Action) -> Any:
        """Return when the action is due."""
        return format_due_date(action.due_date, is_open=action.record_status in UNFINISHED and not action.is_archived)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may edit the action, which is possible only while it is Open."""
        return super().has_change_permission(request, obj) and (obj is None or obj.record_status == Status.OPEN)

    def may_step(self, request: HttpRequest, step: RecordStep, record: Action) -> bool:
        """Return whether the user may take the step: owners mark their own actions as Done and never close them."""
        user = user_of(request)
        if step is MARK_DONE and record.owner_id == user.pk:
            return access.may(user, record.site_id, "actions.view_action")
        if step is CLOSE and user.pk in (record.owner_id, record.done_by_id):
            return False
        return super().may_step(request, step, record)

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Action:
        """Add an action about the record that its form was opened for, or about none."""
        columns = {**values}
        about, finding = (columns.pop(name, "") for name in ("about", "finding"))
        record = record_at(site_id, about, Action.ABOUT)
        if about and record is None:
            raise unknown("record_id", "record")
        columns["finding_id"], sees = read_uuid(finding), partial(may_see, user_of(request))
        return actions.add_action(site_id, columns, author=author_of(request), sees=sees, on=record)

    def update_record(
        self, request: HttpRequest, record: Action, values: Values, **options: Unpack[WriteArgs]
    ) -> Action:
        """Change an open action."""
        by, precondition = mover(request, record, options["reason"]), options.get("precondition")
        return actions.update_action(record.site_id, record.pk, values, mover=by, precondition=precondition)
