"""The back-office pages of complaints, from the draft to the completed review."""

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import Count, F, Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.backoffice.choice_filters import ArchivedFilter, OwnerFilter
from records.backoffice.current import author_of, form_state, user_of
from records.backoffice.date_filters import DaysFilter
from records.backoffice.due import due_shown
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.plain_records import PlainAdmin, unchanged_since_seen
from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE
from records.complaints import actions, units, workflow
from records.complaints.filters import ResponseFilter, TargetFilter, TriageFilter
from records.complaints.models import CONSUMER, HANDLING, Complaint, RecordStatus, UnitsSold
from records.complaints.transitions import COMPLETE, ERASE, REOPEN, SUBMIT, TRIAGE
from records.history.trail import recording
from records.sites.writing import Values

SUBMIT_TOO = "_submit"
"""The name of the button that saves a new complaint and submits it at once."""


@admin.register(Complaint)
class ComplaintAdmin(RecordAdmin):
    """Complaints. A new complaint is a draft until it is submitted; only Managers may change a completed one."""

    record_actions = (SUBMIT, TRIAGE, COMPLETE, REOPEN, ARCHIVE, RESTORE, ERASE)
    moments = ("date",)
    private_fields = CONSUMER
    private_permission = "complaints.view_private_complaint"
    # Drafts come first because they do not have a number yet.
    ordering = (F("site_sequence_id").desc(nulls_first=True), F("id").desc())
    list_display = (
        "number",
        "date",
        "record_status",
        "severity",
        "customer",
        "product",
        "nonconformance",
        "trace_number",
        "owner",
        "target",
    )
    list_display_links = ("number", "date")
    # Sorting by the name of a customer or product would join and sort 100,000 complaints for each page.
    sortable_by = ("number", "date", "record_status", "nonconformance", "trace_number", "target")
    list_filter = (
        ArchivedFilter,
        TriageFilter,
        TargetFilter,
        OwnerFilter,
        "record_status",
        "severity",
        ResponseFilter,
        ("date", DaysFilter),
        ("target_date", DaysFilter),
        ("answered_on", DaysFilter),
        ("product", ReferenceFilter),
        ("customer", ReferenceFilter),
        ("nonconformance", ReferenceFilter),
        ("cause", ReferenceFilter),
        ("source", ReferenceFilter),
        ("method", ReferenceFilter),
        ("owner", ReferenceFilter),
        ("brand", ReferenceFilter),
        ("production_unit", ReferenceFilter),
        ("entity_folder", ReferenceFilter),
    )
    search_fields = (
        *Complaint.SEARCHED,
        "customer__name_key",
        "product__name_key",
        "nonconformance__name_key",
        "owner__given_name",
        "owner__family_name",
        "owner__display_name",
    )
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "record_status",
                    "date",
                    "customer",
                    "product",
                    "nonconformance",
                    "complaint_description",
                    "quantity",
                    "entity_folder",
                )
            },
        ),
        (_("Handling"), {"fields": HANDLING}),
        (_("Review"), {"fields": ("review_report",)}),
        (
            _("Lot"),
            {"fields": ("trace_number", "manufacture_date", "expiration_date", "brand", "production_unit")},
        ),
        (_("How it reached us"), {"fields": ("source", "source_details", "method", "sample_details")}),
        (
            _("Consumer"),
            {
                "fields": (
                    "consumer_salutation",
                    "consumer_first_name",
                    "consumer_last_name",
                    "consumer_address",
                    "consumer_purchased",
                    "consumer_phone",
                    "consumer_mobile",
                    "consumer_email",
                )
            },
        ),
    )

    @admin.display(description=_("Number"), ordering="site_sequence_id")
    def number(self, complaint: Complaint) -> str:
        """Return the complaint's number; a draft does not have one yet."""
        return str(complaint.site_sequence_id or RecordStatus.DRAFT.label)

    @admin.display(description=_("Target date"), ordering="target_date")
    def target(self, complaint: Complaint) -> Any:
        """Return the day by which the complaint must be answered, with a mark if it has passed."""
        return due_shown(complaint.target_date, waiting=complaint.waits_for_answer)

    def count_unnumbered(self, site_id: uuid.UUID) -> tuple[int, int]:
        """Return the number of the site's drafts, and how many of them are archived; uses the index of numbers."""
        drafts = Complaint.objects.at(site_id).filter(site_sequence_id=None)
        counts = drafts.aggregate(everything=Count("pk"), archived=Count("pk", filter=Q(is_archived=True)))
        return counts["everything"], counts["archived"]

    def may_complete(self, request: HttpRequest, complaint: Complaint) -> bool:
        """Return whether the user may complete the complaint and change it afterwards."""
        return access.may(user_of(request), complaint.site_id, "complaints.complete_complaint")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may change the complaint; only Managers may change a completed one (DECISIONS 5)."""
        if not super().has_change_permission(request, obj):
            return False
        return obj is None or not obj.is_completed or self.may_complete(request, obj)

    def needs_reason(self, record: Any) -> bool:
        """Return whether a change needs a reason; it does not while the complaint is a draft."""
        return not record.is_draft

    def hidden_fields(self, request: HttpRequest, record: Any = None) -> tuple[str, ...]:
        """Return the fields to leave out: a new complaint has no status yet, and a draft has no handling or review."""
        hidden = super().hidden_fields(request, record)
        if form_state(request) is None:
            return hidden  # This is a list, not a form.
        if record is None:
            return (*hidden, *HANDLING, "record_status", "review_report")
        return (*hidden, *HANDLING, "review_report") if record.is_draft else hidden

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields that the workflow sets; only users who may complete the complaint can edit the report."""
        given = (*super().get_readonly_fields(request, obj), "record_status")
        return given if obj is None or self.may_complete(request, obj) else (*given, "review_report")

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Show the page with the button that saves and submits a new complaint."""
        state = form_state(request)
        site_id = state.site_id if state is not None else None
        may_submit = access.may(user_of(request), site_id, "complaints.submit_complaint")
        context["submit_too"] = SUBMIT_TOO if kwargs.get("add") and may_submit else ""
        return super().render_change_form(request, context, *args, **kwargs)

    def _new_instance(self, site_id: uuid.UUID | None) -> Complaint:
        """Return the record for validating a new complaint's form: a draft, in which fields may be empty."""
        draft: Complaint = super()._new_instance(site_id)
        draft.record_status = RecordStatus.DRAFT
        return draft

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Complaint:
        """Save a new complaint as a draft, and submit it if that button was pressed."""
        author = author_of(request)
        with recording():
            draft = workflow.add_draft(site_id, values, author=author)
            if SUBMIT_TOO in request.POST and access.may(user_of(request), site_id, "complaints.submit_complaint"):
                return workflow.submit(site_id, draft.pk, author=author)
        return draft

    def update_record(
        self, request: HttpRequest, record: Any, values: Values, *, reason: str, precondition: Callable[[Any], None]
    ) -> Complaint:
        """Change a draft or a submitted complaint."""
        author, site_id = author_of(request), record.site_id
        if record.is_draft:
            return workflow.update_draft(
                site_id, record.pk, values, author=author, reason=reason, precondition=precondition
            )
        return actions.update_complaint_detail(
            site_id,
            record.pk,
            values,
            author=author,
            may_change_completed=self.may_complete(request, record),
            reason=reason,
            precondition=precondition,
        )


@admin.register(UnitsSold)
class UnitsSoldAdmin(PlainAdmin):
    """How many units the site sold in each month: the figures compare complaints with them."""

    ordering = ("-month", "id")
    list_display = ("month_name", "units")
    list_filter = (ArchivedFilter, ("month", DaysFilter))
    search_fields = ()
    fieldsets = ((None, {"fields": ("month", "units")}),)

    @admin.display(description=_("Month"), ordering="month")
    def month_name(self, units_sold: UnitsSold) -> str:
        """Return the month as people write it."""
        return str(units_sold)

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> UnitsSold:
        """Add the units of a month."""
        return units.add_units_sold(site_id, values, author=author_of(request))

    def update_record(
        self, request: HttpRequest, record: Any, values: Values, *, reason: str, precondition: Callable[[Any], None]
    ) -> UnitsSold:
        """Change the units of a month."""
        with unchanged_since_seen(record, precondition):
            return units.update_units_sold(record, values, author=author_of(request), reason=reason)
