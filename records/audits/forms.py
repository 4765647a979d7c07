"""The inline rows and forms of the audit pages: findings with their responses, and the forms of the steps."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from records.audits.actions import MOST_AT_ONCE
from records.audits.models import AuditRecord, Finding, RecordStatus
from records.backoffice.current import form_state
from records.backoffice.fields import DayField, ReferenceField, TextField
from records.backoffice.forms import WithoutReason
from records.backoffice.inlines import RowsStacked
from records.reference.models import RatingResponse
from records.sites.text import FREE_TEXT

WRITTEN_IN = (RecordStatus.IN_PROGRESS, RecordStatus.AWAITING_REVIEW)


class ResponseField(ReferenceField):
    """The field for a response of the audit's rating scale; the page holds all choices because there are few."""

    widget: Any = forms.Select

    def __init__(self, responses: list[RatingResponse], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choose_from = RatingResponse.objects.none
        self.responses = {str(response.pk): response for response in responses}
        self.set_current(())

    def set_current(self, targets: Any) -> None:
        """Offer the responses of the scale, and the present response of the finding even if it is archived."""
        self.current_targets = {**self.responses, **{str(target.pk): target for target in targets}}
        self.widget.choices = [("", ""), *((key, str(response)) for key, response in self.current_targets.items())]


class FindingRows(RowsStacked):
    """The findings on an audit's page, which can be edited while it is In Progress or Awaiting Review."""

    model = Finding
    fields = ("question", "rating_response", "comment", "nonconformance")

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: object) -> Any:
        """Return a select field for the audit's responses (one query), or a multi-line field for the question."""
        options: dict[str, Any] = {"required": not db_field.blank, "label": str(db_field.verbose_name).capitalize()}
        if db_field.name == "rating_response":
            state = form_state(request)
            return ResponseField(_responses(state.record if state is not None else None), **options)
        if db_field.name == "question":
            return TextField(max_length=db_field.max_length, widget=forms.Textarea({"rows": 2}), **options)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether findings can be added in the audit's present status."""
        return _takes_findings(obj) and super().has_add_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether findings can be changed in the audit's present status."""
        return _takes_findings(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether findings can be removed in the audit's present status; the history keeps them."""
        return _takes_findings(obj) and super().has_delete_permission(request, obj)


def _takes_findings(record: AuditRecord | None) -> bool:
    return record is not None and record.record_status in WRITTEN_IN


def _responses(record: AuditRecord | None) -> list[RatingResponse]:
    if record is None or record.rating_scale_id is None:
        return []
    return list(RatingResponse.objects.filter(rating_id=record.rating_scale_id, is_archived=False))


class StartForm(WithoutReason):
    """The form that asks when the audit started."""

    start_date = DayField(label=_("Started on"), required=False, help_text=_("If empty, now."))


class ScheduleNextForm(WithoutReason):
    """The form that asks how many audits to schedule."""

    count = forms.IntegerField(
        label=_("How many"),
        min_value=1,
        max_value=MOST_AT_ONCE,
        initial=1,
        help_text=_("One audit for each next due date."),
    )
    first = forms.DateTimeField(required=False, widget=forms.HiddenInput)


class PlanOneForm(WithoutReason):
    """The form that asks when one audit takes place, and whether it is an extra one."""

    date = DayField(label=_("Planned for"), required=True)
    due_date = DayField(label=_("Due by"), required=False, help_text=_("If empty, the planned day."))
    is_extra = forms.BooleanField(
        label=_("Extra audit"),
        required=False,
        help_text=_(
            "Besides the regular audits, for example after a complaint: the program's due date does not change. "
            "Without this mark, the audit takes the place of the regular one that is due on its due date or last "
            "before it. An audit that is due before the program is always extra."
        ),
    )
    notes = TextField(
        label=_("Notes"), required=False, max_length=FREE_TEXT, widget=forms.Textarea({"rows": 3}), empty_value=""
    )
