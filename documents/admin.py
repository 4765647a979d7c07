"""The back-office pages of documents: the list, details and uploads. Pages of versions are in `documents.pages`."""

import uuid
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents import actions, pages, reading_pages
from documents.actions import USERS
from documents.approvals import overdue_signatures
from documents.models import FACTS as VERSION_FACTS
from documents.models import FIRST_VERSION, LAST_VERSION, Document
from documents.visibility import SEE_PENDING, as_shown_to
from records.accounts import access
from records.backoffice.choice_filters import ArchivedFilter, ChoiceFilter, FilterOptions
from records.backoffice.current import author_of, current_site, user_of, zone_of
from records.backoffice.date_filters import DaysFilter, today_at
from records.backoffice.filter_bar import ReferenceFilter
from records.backoffice.forms import ReasonForm, RecordForm
from records.backoffice.permissions import Pages
from records.backoffice.records import RecordAdmin
from records.backoffice.transitions import ARCHIVE, RESTORE, RecordStep
from records.files.content import read_upload
from records.files.storage import StorageUnavailableError
from records.sites.text import NAME
from records.sites.writing import Values

DETAILS = ("name", "description", "entity_folder", "review_date")
NEW_VERSION = ("file", "first_number")
FACTS = ("record_status", "version", "effective_version", "file_name", "file_type", "size", "file_hash")


def upload_field() -> forms.FileField:
    """Return the form field for a version's file."""
    return forms.FileField(label=_("File"), max_length=NAME, help_text=_("It is stored unchanged, under its own name."))


def _waits_too_long(request: HttpRequest) -> Q:
    overdue = overdue_signatures(today_at(zone_of(current_site(request))))
    return Q(pk__in=overdue.values("version__document"))


class SignaturesFilter(ChoiceFilter):
    """Shows the documents whose newest version waits for a signature for longer than a week."""

    title = _("signatures")
    parameter_name = "signatures"
    options: ClassVar[FilterOptions] = {"overdue": (_("Overdue"), _waits_too_long)}


class NewDocumentForm(RecordForm):
    """The form for a new document: its details, its first file, and the number of its first version."""

    file = upload_field()
    first_number = forms.IntegerField(
        label=_("Version"),
        min_value=FIRST_VERSION,
        max_value=LAST_VERSION,
        initial=FIRST_VERSION,
        help_text=_("The number to start from, if the document had earlier versions elsewhere."),
    )


class UploadForm(ReasonForm):
    """The form for a newer file and the reason for it."""

    file = upload_field()


def storage_fault() -> ValidationError:
    """Return the message that is shown when the file storage is not available."""
    return ValidationError(
        gettext("The file storage cannot be reached. Nothing was saved; try again."), code="Unavailable"
    )


def _warn_uploader(request: HttpRequest, document: Document) -> None:
    """Tell users who named themselves as approvers that they cannot approve the version that they just uploaded."""
    if document.user_to_approve.filter(pk=user_of(request).pk).exists():
        text = gettext("You uploaded this version, so you cannot approve it. Name somebody else.")
        messages.warning(request, text)


def _upload(model_admin: object, request: HttpRequest, record: Document, reason: str, data: dict[str, Any]) -> None:
    content, facts = read_upload(data["file"])
    values = {"name": record.name, **facts}
    try:
        actions.update_document(
            record.site_id,
            record.pk,
            values,
            content,
            author=author_of(request),
            reason=reason,
            precondition=data["precondition"],
        )
    except StorageUnavailableError:
        raise storage_fault() from None
    _warn_uploader(request, record)


UPLOAD = RecordStep(
    "upload",
    _("Upload a new version"),
    "change",
    _upload,
    applies=lambda record: not record.is_archived,
    form=UploadForm,
    explanation=_(
        "The file becomes the next version, and the document's reviewers and approvers are asked to sign it. It "
        "supersedes a version that is still waiting. The version in force stays in force until the new one replaces it."
    ),
    done=_("%(record)s has a new version."),
    checks_itself=True,
)


@admin.register(Document)
class DocumentAdmin(RecordAdmin):
    """The documents with their version in force, their status and their next review."""

    update_action = staticmethod(actions.change_details)
    archive_action = staticmethod(actions.archive_document)
    record_actions = (UPLOAD, ARCHIVE, RESTORE)
    own_pages: ClassVar[Pages] = (
        ("<str:object_id>/versions/", "versions_view", "versions"),
        ("<str:object_id>/readers/", "readers_view", "readers"),
        ("<str:object_id>/compare/", "compare_view", "compare"),
        ("<str:object_id>/signers/<uuid:signer_id>/", "replace_view", "signer"),
    )
    list_display = ("site_sequence_id", "name", "record_status", "version", "effective_version", "review_date")
    list_display_links = ("site_sequence_id", "name")
    list_filter = (
        ArchivedFilter,
        "record_status",
        SignaturesFilter,
        ("review_date", DaysFilter),
        ("entity_folder", ReferenceFilter),
    )
    search_fields = ("name", "description", "file_name")
    readonly_fields = FACTS

    def form_for(self, record: object) -> type[RecordForm]:
        """Return the form. A new document includes its file; later files are uploaded as new versions."""
        return NewDocumentForm if record is None else RecordForm

    def own_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields: those of the first file for a new document, else the data of the visible version."""
        newest = (gettext("First version"), NEW_VERSION) if obj is None else (self._title_of_facts(request, obj), FACTS)
        sets = ((None, DETAILS), newest, (gettext("Who signs, who is notified, who must read"), (*USERS, "must_read")))
        return [(title, {"fields": fields}) for title, fields in sets]

    # --- Users who see only versions in force -----------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[Document]:
        """Return the documents that the user may see, each with the version data that the user sees."""
        sites = self.sites_where(request, "view", "change")
        return as_shown_to(user_of(request), super().get_queryset(request), sites)

    def sees_pending(self, request: HttpRequest, record: Any = None) -> bool:
        """Return whether the user may see versions that are not in force, at the record's or else the current site."""
        return access.may(request.user, record.site_id if record else current_site(request), SEE_PENDING)

    @admin.display(description=_("file size"))
    def size(self, document: Document) -> str:
        """Return the file's size in words."""
        return filesizeformat(document.file_size)

    def _title_of_facts(self, request: HttpRequest, record: Document) -> str:
        in_force = record.effective_version is not None and not self.sees_pending(request, record)
        return gettext("Version in force") if in_force else gettext("Newest version")

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Return the filters; those by status and signatures are for users who may see versions not in force."""
        if self.sees_pending(request):
            return self.list_filter
        return [entry for entry in self.list_filter if entry not in ("record_status", SignaturesFilter)]

    def lookup_allowed(self, lookup: str, value: object, request: HttpRequest | None = None) -> bool:
        """Refuse a filter on data of the newest version if the list shows versions in force."""
        if request is not None and lookup.split("__")[0] in VERSION_FACTS and not self.sees_pending(request):
            return False
        return super().lookup_allowed(lookup, value, request)

    def get_sortable_by(self, request: HttpRequest) -> Any:
        """Return the sortable columns, without data of a version that the list does not show."""
        if self.sees_pending(request):
            return super().get_sortable_by(request)
        return [name for name in self.get_list_display(request) if name in ("site_sequence_id", "name")]

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Return the columns that the search covers; the file name is that of the version that the list shows."""
        names = super().get_search_fields(request)
        if self.sees_pending(request):
            return names
        return ["in_force__file_name" if name == "file_name" else name for name in names]

    def add_record(self, request: HttpRequest, site_id: uuid.UUID, values: Values) -> Document:
        """Add a document with the uploaded file."""
        content, facts = read_upload(values.pop("file"))
        facts["version"] = values.pop("first_number")
        try:
            document = actions.add_document(site_id, {**values, **facts}, content, author=author_of(request))
        except StorageUnavailableError:
            raise storage_fault() from None
        _warn_uploader(request, document)
        return document

    def versions_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Show every version with its signatures."""
        return pages.versions(request, self.record_or_404(request, object_id))

    def readers_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Show who has read the version in force and who has not."""
        return reading_pages.readers(request, self.record_or_404(request, object_id))

    def compare_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        """Show the details of two versions side by side."""
        return pages.compare(request, self.record_or_404(request, object_id))

    def replace_view(self, request: HttpRequest, object_id: str, signer_id: uuid.UUID) -> HttpResponseBase:
        """Replace a signer by another person."""
        return pages.replace(request, self.record_or_404(request, object_id), signer_id)
