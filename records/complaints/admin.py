"""The back-office pages of complaints, from the draft to the completed review."""

import uuid
from typing import Any, Unpack

from django.contrib import admin
from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from records.accounts import access
from records.backoffice.choice_filters import ArchivedFilter, OwnerFilter
from records.backoffice.current import author_of, form_state
from records.backoffice.date_filters import DaysFilter
from records.backoffice.due import format_due_date
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.plain_records import PlainAdmin
from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE
from records.complaints import actions, workflow
from records.complaints.filters import ResponseFilter, TargetFilter, TriageFilter
from records.complaints.models import ABOUT_CONSUMER, CONSUMER, HANDLING, Complaint, RecordStatus, UnitsSold
from records.complaints.transitions import COMPLETE, ERASE, REOPEN, SUBMIT, TRIAGE
from records.history.trail import recording
from records.sites.writing import Values, WriteArgs

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
        (_("Consumer"), {"fields": ABOUT_CONSUMER}),
    )

    @admin.display(description=_("Number"), ordering="site_sequence_id")
    def number(self, complaint: Complaint) -> str:
        """Return the complaint's number; a draft does not have one yet."""
        return str(complaint.site_sequence_id or RecordStatus.DRAFT.label)

    @admin.display(description=_("Target date"), ordering="target_date")
    def target(self, complaint: Complaint) -> str:
        """Return the day by which the complaint must be answered, with a mark if it has passed."""
        return format_due_date(complaint.target_date, is_open=complaint.waits_for_answer)

    def count_unnumbered(self, site_id: uuid.UUID) -> tuple[int, int]:
        """Return the number of the site's drafts, and how many of them are archived; uses the index of numbers."""
        drafts = Complaint.objects.at(site_id).filter(site_sequence_id=None)
        counts = drafts.aggregate(everything=Count("pk"), archived=Count("pk", filter=Q(is_archived=True)))
        return counts["everything"], counts["archived"]

    def may_complete(self, request: HttpRequest, complaint: Complaint) -> bool:
        """Return whether the user may complete the complaint and change it afterwards."""
        return access.may(request.user, complaint.site_id, "complaints.complete_complaint")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may change the complaint; only Managers may change a completed one (DECISIONS 5)."""
        if not super().has_change_permission(request, obj):
            return False
        return obj is None or not obj.is_completed or self.may_complete(request, obj)

    def needs_reason(self, record: Any) -> bool:
        """Return whether a change needs a reason; it does not while the complaint is a draft."""
        return not record.is_draft

    def excluded_fields(self, record: Any) -> tuple[str, ...]:
        """Return the fields without a use yet: a new complaint has no status, and a draft has no handling or review."""
        if record is None:
            return (*HANDLING, "record_status", "review_report")
        return (*HANDLING, "review_report") if record.is_draft else ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields that the workflow sets; only users who may complete the complaint can edit the report."""
        own_section = (
            ("record_status",) if obj is None or self.may_complete(request, obj) else ("record_status", "review_report")
        )
        return (*super().get_readonly_fields(request, obj), *own_section)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the page with the button that saves and submits a new complaint."""
        state = form_state(request)
        site_id = state.site_id if state is not None else None
        may_submit = access.may(request.user, site_id, "complaints.submit_complaint")
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
            if SUBMIT_TOO in request.POST and access.may(request.user, site_id, "complaints.submit_complaint"):
                return workflow.submit(site_id, draft.pk, author=author)
        return draft

    def update_record(
        self, request: HttpRequest, record: Complaint, values: Values, **options: Unpack[WriteArgs]
    ) -> Complaint:
        """Change a draft or a submitted complaint."""
        site_id, key, may = record.site_id, record.pk, self.may_complete(request, record)
        if record.is_draft:
            return workflow.update_draft(site_id, key, values, **options)
        return actions.update_complaint_detail(site_id, key, values, may_change_completed=may, **options)


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
