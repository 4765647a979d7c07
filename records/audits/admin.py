"""The back-office pages of audits: program → schedule → start → fill findings → submit → complete."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.audits import actions, workflow
from records.audits.checklist import ChecklistPages
from records.audits.forms import FindingRows
from records.audits.models import OPEN, AuditProgram, AuditRecord, RecordStatus
from records.audits.transitions import CANCEL, COMPLETE, PLAN_ONE, SCHEDULE_NEXT, START, SUBMIT
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.date_filters import DaysFilter
from records.backoffice.due import DueFilter, format_due_date
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE


class AuditDueFilter(DueFilter):
    """Filters open audits by their due dates."""

    open_statuses = OPEN


class ProgramDueFilter(DueFilter):
    """Filters programs by their due dates."""

    field = "next_due_date"


@admin.register(AuditProgram)
class AuditProgramAdmin(RecordAdmin):
    """Audit programs, from whose pages audits are scheduled."""

    add_action = staticmethod(actions.add_audit_program)
    update_action = staticmethod(actions.update_audit_program)
    archive_action = staticmethod(actions.archive_audit_program)
    record_actions = (SCHEDULE_NEXT, PLAN_ONE, ARCHIVE, RESTORE)
    suggestions = {"department": "Department"}
    list_display = ("site_sequence_id", "name", "type", "department", "risk", "frequency_months", "due")
    list_display_links = ("site_sequence_id", "name")
    list_filter = (ArchivedFilter, ProgramDueFilter, "type", "risk", ("entity_folder", ReferenceFilter))
    search_fields = ("name", "department")
    readonly_fields = ("audits",)
    fieldsets = (
        (None, {"fields": ("name", "type", "department", "risk", "entity_folder")}),
        (_("Schedule"), {"fields": ("frequency_months", "next_due_date")}),
        (_("Who"), {"fields": ("auditors", "auditees")}),
        (_("Checklists"), {"fields": ("checklists", "procedures", "rating", "rating_response")}),
    )

    @admin.display(description=_("next due"), ordering="next_due_date")
    def due(self, program: AuditProgram) -> Any:
        """Return the program's next due date."""
        return format_due_date(program.next_due_date, is_open=not program.is_archived)

    @admin.display(description=_("audits"))
    def audits(self, program: AuditProgram) -> SafeString:
        """Return links to the program's latest audits and to the list of all its audits."""
        latest = program.records.filter(is_archived=False).order_by("-due_date", "-id")[:12]
        everything = (
            reverse("admin:audits_auditrecord_changelist")
            + "?"
            + urlencode({"audit_program__id__exact": str(program.pk)})
        )
        lines = format_html_join(
            "",
            '<li><a href="{}">{}</a> · {} · {}</li>',
            (
                (
                    reverse("admin:audits_auditrecord_read", args=(record.pk,)),
                    (gettext("Extra audit %(number)s") if record.is_extra else gettext("Audit %(number)s"))
                    % {"number": record.site_sequence_id},
                    record.get_record_status_display(),
                    format_due_date(record.due_date, is_open=record.is_open),
                )
                for record in latest
            ),
        )
        return format_html(
            '<ul class="plain">{}</ul><a href="{}">{}</a>', lines, everything, gettext("All audits of this program")
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields, with the audits of a stored program for those who may see audits."""
        fieldsets = list(super().get_fieldsets(request, obj))
        if obj is not None and self.visible_rows(request, AuditRecord, obj.site_id) is not None:
            fieldsets.insert(1, (gettext("Audits"), {"fields": ("audits",)}))
        return fieldsets


READ_ONLY = (
    "audit_program",
    "record_status",
    "score",
    "rating",
    "result",
    "completed_date",
    "completed_by",
)
"""Fields that are calculated from the steps and findings, and cannot be edited."""


@admin.register(AuditRecord)
class AuditRecordAdmin(ChecklistPages, RecordAdmin):
    """Audits, which are scheduled from the page of their program."""

    update_action = staticmethod(workflow.update_audit_record)
    archive_action = staticmethod(workflow.archive_audit_record)
    record_actions = (START, SUBMIT, COMPLETE, CANCEL, ARCHIVE, RESTORE)
    moments = ("start_date", "finish_date", "completed_date")
    inlines = (FindingRows,)
    list_display = ("site_sequence_id", "audit_program", "record_status", "date", "due", "score", "rating", "result")
    list_display_links = ("site_sequence_id", "audit_program")
    list_filter = (
        ArchivedFilter,
        AuditDueFilter,
        "record_status",
        ("due_date", DaysFilter),
        ("finish_date", DaysFilter),
        "is_extra",
        ("audit_program", ReferenceFilter),
        ("entity_folder", ReferenceFilter),
    )
    search_fields = ("audit_program__name", "notes", "rating", "result")
    fieldsets = (
        (None, {"fields": ("audit_program", "record_status", ("score", "rating", "result"), "entity_folder")}),
        (
            _("When"),
            {"fields": ("date", "due_date", "is_extra", "start_date", "finish_date", "completed_date", "completed_by")},
        ),
        (_("Who"), {"fields": ("auditors", "auditees")}),
        (_("Checklists"), {"fields": ("checklists", "rating_scale")}),
        (_("Notes"), {"fields": ("notes",)}),
    )

    @admin.display(description=_("due"), ordering="due_date")
    def due(self, record: AuditRecord) -> Any:
        """Return the audit's due date, with a mark if the audit is overdue."""
        return format_due_date(record.due_date, is_open=record.is_open and not record.is_archived)

    def empty_list(self, request: HttpRequest) -> str:
        """Return where audits come from."""
        text = gettext("There are no audits here yet. An audit is scheduled on the page of its program.")
        if not self.admin_site.get_model_admin(AuditProgram).has_view_permission(request):
            return text
        url = reverse("admin:audits_auditprogram_changelist")
        return format_html('{} <a href="{}">{}</a>', text, url, gettext("Audit programs"))

    def needs_reason(self, record: Any) -> bool:
        """Return whether a change needs a reason; it does not while the audit is in progress."""
        return record.record_status != RecordStatus.IN_PROGRESS

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse to add an audit here: it is scheduled from its program's page."""
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the read-only fields; for a closed audit, these are all fields except its folder.

        A form that was opened before the audit was closed shows again what was typed; the action refuses to save it.
        """
        names: list[str] = list(READ_ONLY)
        if obj is not None and not obj.is_open:
            editable = [name for name in self.get_fields(request, obj) if name not in (*READ_ONLY, "entity_folder")]
            names += [] if any(name in request.POST for name in editable) else editable
        return (*super().get_readonly_fields(request, obj), *map(self.display_name_of, names))

    def get_fieldsets(self, request: HttpRequest, obj: object = None) -> Any:
        """Return the fields, with read-only fields in their display form."""
        readonly = set(self.get_readonly_fields(request, obj))

        def displayed(name: object) -> object:
            if isinstance(name, tuple | list):
                return [displayed(one) for one in name]
            return display if (display := self.display_name_of(name)) in readonly else name

        return [
            (title, {**options, "fields": [displayed(name) for name in options["fields"]]})
            for title, options in super().get_fieldsets(request, obj)
        ]
