"""The back-office pages of complaints, from the draft to the completed review."""

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import Count, F, Q
from django.http import HttpRequest

from records.accounts import access
from records.backoffice.current import author_of, form_state, user_of
from records.backoffice.date_filters import DaysFilter
from records.backoffice.due import due_shown
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.lists import ArchivedFilter, OwnerFilter
from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE
from records.complaints import actions, workflow
from records.complaints.filters import ResponseFilter, TargetFilter, TriageFilter
from records.complaints.models import CONSUMER, HANDLING, Complaint, RecordStatus
from records.complaints.transitions import COMPLETE, REOPEN, SUBMIT
from records.history.trail import recording
from records.sites.writing import Values

SUBMIT_TOO = "_submit"
"""The name of the button that saves a new complaint and submits it at once."""


@admin.register(Complaint)
class ComplaintAdmin(RecordAdmin):
    """Complaints: a new one is a draft until it is submitted; a completed one is the Managers' to change."""

    record_actions = (SUBMIT, COMPLETE, REOPEN, ARCHIVE, RESTORE)
    moments = ("date",)
    private_fields = CONSUMER
    private_permission = "complaints.view_private_complaint"
    # Drafts, which have no number yet, come first.
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
    # By the name of a customer or product, 100,000 complaints would have to be joined and sorted for each page.
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
        ("owner", ReferenceFilter),
        ("brand", ReferenceFilter),
        ("production_unit", ReferenceFilter),
        ("entity_folder", ReferenceFilter),
    )
    search_fields = (
        "trace_number_key",
        "consumer_last_name",
        "complaint_description",
        "customer__name_key",
        "product__name_key",
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
        ("Handling", {"fields": HANDLING}),
        ("Review", {"fields": ("review_report",)}),
        (
            "Lot",
            {"fields": ("trace_number", "manufacture_date", "expiration_date", "brand", "production_unit")},
        ),
        ("How it reached us", {"fields": ("source", "source_details", "method", "sample_details")}),
        (
            "Consumer",
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

    @admin.display(description="Number", ordering="site_sequence_id")
    def number(self, complaint: Complaint) -> str:
        """Return the complaint's number, which a draft does not have yet."""
        return str(complaint.site_sequence_id or RecordStatus.DRAFT.label)

    @admin.display(description="Target date", ordering="target_date")
    def target(self, complaint: Complaint) -> Any:
        """Return the day by which the complaint has to be answered, marked where it has passed."""
        return due_shown(complaint.target_date, waiting=complaint.waits_for_answer)

    def count_unnumbered(self, site_id: uuid.UUID) -> tuple[int, int]:
        """Return the number of the site's drafts, and of archived ones; read from the index of numbers."""
        drafts = Complaint.objects.filter(site_id=site_id, site_sequence_id=None)
        counts = drafts.aggregate(everything=Count("pk"), archived=Count("pk", filter=Q(is_archived=True)))
        return counts["everything"], counts["archived"]

    def may_complete(self, request: HttpRequest, complaint: Complaint) -> bool:
        """Return whether the user may complete the complaint, and change it afterwards."""
        return access.may(user_of(request), complaint.site_id, "complaints.complete_complaint")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may change the complaint; a completed one is for Managers (DECISIONS 5)."""
        if not super().has_change_permission(request, obj):
            return False
        return obj is None or not obj.is_completed or self.may_complete(request, obj)

    def needs_reason(self, record: Any) -> bool:
        """Return whether a change must be explained: not while it is a draft."""
        return not record.is_draft

    def hidden_fields(self, request: HttpRequest, record: Any = None) -> tuple[str, ...]:
        """Return what a form does not have yet: a new complaint's status, a draft's handling and review."""
        hidden = super().hidden_fields(request, record)
        if form_state(request) is None:
            return hidden  # A list, not a form.
        if record is None:
            return (*hidden, *HANDLING, "record_status", "review_report")
        return (*hidden, *HANDLING, "review_report") if record.is_draft else hidden

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return what the workflow sets; the report is written by those who may complete."""
        given = (*super().get_readonly_fields(request, obj), "record_status")
        return given if obj is None or self.may_complete(request, obj) else (*given, "review_report")

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Show the page, with the button that submits a new complaint at once."""
        state = form_state(request)
        site_id = state.site_id if state is not None else None
        may_submit = access.may(user_of(request), site_id, "complaints.submit_complaint")
        context["submit_too"] = SUBMIT_TOO if kwargs.get("add") and may_submit else ""
        return super().render_change_form(request, context, *args, **kwargs)

    def _new_instance(self, site_id: uuid.UUID | None) -> Complaint:
        """Return what a new complaint's form is checked against: a draft, which lacks what it lacks."""
        draft: Complaint = super()._new_instance(site_id)
        draft.record_status = RecordStatus.DRAFT
        return draft

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Complaint:
        """Keep a new complaint as a draft, and submit it where that button was pressed."""
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

    def archive(self, request: HttpRequest, record: Any, *, archived: bool, reason: str) -> Complaint:
        """Archive or restore a complaint."""
        return workflow.archive_complaint(
            record.site_id, record.pk, archived=archived, author=author_of(request), reason=reason
        )
