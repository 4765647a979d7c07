"""The back-office pages of attachments: the list, and the page of one with its history. They are not added here."""

from typing import Any

from django.contrib import admin
from django.db.models import Model, Q
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.accounts.access import asking
from records.attachments.models import Attachment
from records.attachments.pages import limits_at
from records.attachments.previews import may_have_preview
from records.attachments.visibility import hidden_condition
from records.backoffice.about import link_to
from records.backoffice.choice_filters import ArchivedFilter
from records.backoffice.current import current_site, user_of
from records.backoffice.date_filters import DaysFilter
from records.backoffice.records import RecordAdmin


@admin.register(Attachment)
class AttachmentAdmin(RecordAdmin):
    """Attachments of records that the user may see. They are added on the record's page and never edited."""

    moments = ("created",)
    list_display = ("site_sequence_id", "__str__", "file_name", "size", "created", "created_by")
    list_display_links = ("site_sequence_id", "__str__")
    list_filter = (ArchivedFilter, "entity", ("created", DaysFilter))
    search_fields = (
        "name",
        "description",
        "file_name",
        "created_by__given_name",
        "created_by__family_name",
        "created_by__display_name",
    )
    readonly_fields = ("record", "picture", "file", "size", "file_type", "file_hash")
    fieldsets = (
        (None, {"fields": ("record", "name", "description")}),
        (_("File"), {"fields": ("picture", "file", "size", "file_type", "file_hash")}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: files are attached on the page of their record."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Return False: an attachment is never edited."""
        return False

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the attachments, without those that show private facts which the user may not see."""
        hidden_rows = Q()
        for site_id in self.sites_where(request, "view"):
            if condition := hidden_condition(user_of(request).pk, asking(request.user, site_id)):
                hidden_rows |= Q(site_id=site_id) & condition
        rows = super().get_queryset(request)
        return rows.exclude(hidden_rows) if hidden_rows else rows

    def list_context(self, request: HttpRequest) -> dict[str, object]:
        """Return also the used part of the site's storage."""
        site = current_site(request)
        return {**super().list_context(request), **({"limits": limits_at(site.pk)} if site is not None else {})}

    def empty_list(self, request: HttpRequest) -> str:
        """Return where files are attached."""
        return gettext("No file is attached yet. Files are attached on the page of the record that they belong to.")

    @admin.display(description=_("record"))
    def record(self, attachment: Attachment) -> Any:
        """Return a link to the record, with the name of the finding if there is one."""
        record: Any = attachment.about()
        finding = record.findings.filter(pk=attachment.finding_id).first() if attachment.finding_id else None
        return format_html("{}, {}", link_to(record), finding) if finding is not None else link_to(record)

    @admin.display(description=_("preview"))
    def picture(self, attachment: Attachment) -> SafeString:
        """Return the preview of a picture."""
        if not may_have_preview(attachment.file_type):
            return self.get_empty_value_display()
        address = reverse("admin:attachments_preview", args=(attachment.pk,))
        return format_html(
            '<img src="{}" alt="{}" class="preview-large">',
            address,
            gettext("Preview of %(attachment)s") % {"attachment": attachment},
        )

    @admin.display(description=_("file"))
    def file(self, attachment: Attachment) -> SafeString:
        """Return a link to the original file."""
        address = reverse("admin:attachments_file", args=(attachment.pk,))
        return format_html('<a href="{}">{}</a>', address, attachment.file_name)

    @admin.display(description=_("size"), ordering="file_size")
    def size(self, attachment: Attachment) -> str:
        """Return the file's size in words."""
        return filesizeformat(attachment.file_size)
