"""Pages about versions: the inbox of a signer, the versions of a document, comparing two, and replacing a signer."""

import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Prefetch
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext

from documents import approvals, reading, rejections, signing, visibility
from documents.models import IN_FORCE, Document, DocumentVersion, Duty, Signer
from records.accounts import access
from records.backoffice.autocomplete import choose_url
from records.backoffice.current import author_of, current_site, show_times_of, site_at, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.extension_points import RecordLink
from records.backoffice.form_errors import show_faults
from records.backoffice.formfields import reference_field
from records.backoffice.forms import ReasonForm
from records.backoffice.responses import page_response
from records.files import downloads

REPLACE = "documents.replace_signer"
PAGE = 200


def record_links(request: HttpRequest, record: Any) -> Sequence[RecordLink]:
    """Return the links on a document's page that lead to the file in force and to its versions."""
    if not isinstance(record, Document):
        return ()
    address = reverse("admin:documents_document_versions", args=(quote(record.pk),))
    versions = RecordLink("versions", gettext("Versions and signatures"), address)
    if record.effective_version is None:
        return (versions,)
    file = reverse("admin:documents_in_force", args=(quote(record.pk),))
    return (RecordLink("file", gettext("Open the version in force"), file, is_next=True), versions)


# --- The signer's inbox ---------------------------------------------------------------------------------------------


def inbox(request: HttpRequest) -> HttpResponseBase:
    """Show everything that waits for the signed-in person's signature at all their sites, oldest first."""
    show_times_of(current_site(request))
    waiting_versions = list(approvals.waiting_for(user_of(request))[: PAGE + 1])
    return page_response(
        request,
        "documents/inbox.html",
        gettext("Waiting for my signature"),
        waiting=[
            {"signer": signer, "since": format_datetime(signer.version.created)} for signer in waiting_versions[:PAGE]
        ],
        more=len(waiting_versions) > PAGE,
    )


def rejection(request: HttpRequest, version_id: uuid.UUID) -> HttpResponseBase:
    """Show who rejected a version and why, with the way to a new version; POST dismisses the person's notice."""
    user = user_of(request)
    version = rejections.waiting_for(user).filter(pk=version_id).first()
    if version is None:
        messages.warning(request, gettext("This version is not waiting for a change by you, or no longer is."))
        return redirect("admin:index")
    document = version.document
    if request.method == "POST":
        rejections.dismiss(version, user)
        text = gettext("%(document)s, %(version)s: the rejection is no longer shown on the start page.")
        messages.success(request, text % {"document": document, "version": version})
        return redirect("admin:index")
    show_times_of(document.site)
    may_change = access.may(user, document.site_id, "documents.change_document")
    upload = reverse("admin:documents_document_step", args=(quote(document.pk), "upload"))
    return page_response(
        request,
        "documents/rejected.html",
        gettext("Rejected: %(document)s, %(version)s") % {"document": document, "version": version},
        version=version,
        document=document,
        rejections=[
            {"signature": signature, "at": format_datetime(signature.date)}
            for signature in rejections.rejections_of(version)
        ],
        upload_url=upload if may_change else "",
    )


def file(request: HttpRequest, version_id: uuid.UUID) -> HttpResponseBase:
    """Serve a version's file to users who may see the version, and to people who are asked to sign or read it."""
    version = DocumentVersion.objects.filter(pk=version_id).first()
    user = user_of(request)
    if version is None or not (
        visibility.may_read(user, version)
        or approvals.waiting_for(user).filter(version_id=version_id).exists()
        or reading.waiting_for(user).filter(pk=version_id).exists()
    ):
        raise Http404(gettext("There is no such file."))
    return downloads.serve_on_page(request, version)


def file_in_force(request: HttpRequest, document_id: uuid.UUID) -> HttpResponseBase:
    """Serve the file of a document's version in force to users who may see documents at its site."""
    version = DocumentVersion.objects.filter(document=document_id, record_status__in=IN_FORCE).first()
    if version is None or not visibility.may_read(user_of(request), version):
        raise Http404(gettext("There is no such file."))
    return downloads.serve_on_page(request, version)


# --- A document's versions ------------------------------------------------------------------------------------------


def versions(request: HttpRequest, document: Document) -> HttpResponseBase:
    """Show every version that the user may see, newest first, with its file, signers and signatures.

    Makes a fixed number of queries.
    """
    rows = (
        visibility.versions_for(user_of(request), document)
        .select_related("created_by")
        .prefetch_related("signatures", Prefetch("signers", Signer.objects.select_related("user", "signature")))
        .order_by("-version")
    )
    may_replace = access.may(request.user, document.site_id, REPLACE)
    show_times_of(site_at(request, document.site_id))
    shown_versions = [_version_context(version, may_replace=may_replace) for version in rows]
    title = gettext("Versions: %(document)s") % {"document": document}
    return page_response(request, "documents/versions.html", title, **_about(document), versions=shown_versions)


def _version_context(version: DocumentVersion, *, may_replace: bool) -> dict[str, object]:
    waits = {duty for duty, status in approvals.TURN.items() if version.record_status == status}
    open_duties = {*waits, Duty.APPROVE} if Duty.REVIEW in waits else waits
    return {
        "version": version,
        "at": format_datetime(version.created),
        "signatures": [
            {"signature": signature, "at": format_datetime(signature.date)} for signature in version.signatures.all()
        ],
        "waiting": [
            {"signer": signer, "replaceable": may_replace}
            for signer in sorted(version.signers.all(), key=lambda signer: signer.duty != Duty.REVIEW)
            if signer.signature_id is None and signer.duty in open_duties
        ],
    }


def compare(request: HttpRequest, document: Document) -> HttpResponseBase:
    """Show the details of two versions side by side, and mark those that differ."""
    visible = visibility.versions_for(user_of(request), document)
    rows = visible.select_related("created_by").prefetch_related("signatures")
    texts = (request.GET.get("from", ""), request.GET.get("to", ""))
    numbers = [int(text) for text in texts if text.isdecimal() and len(text) < 11]
    versions = {version.version: version for version in rows.filter(version__in=numbers)}
    if len(numbers) != 2 or any(number not in versions for number in numbers):
        messages.warning(request, gettext("Choose two versions to compare."))
        return redirect("admin:documents_document_versions", quote(document.pk))
    show_times_of(site_at(request, document.site_id))
    older, newer = (versions[number] for number in sorted(numbers))
    lines = [
        {"label": label, "old": old, "new": new, "differs": old != new}
        for (label, old), (_, new) in zip(_details(older), _details(newer), strict=True)
    ]
    title = gettext("%(document)s: %(older)s and %(newer)s") % {"document": document, "older": older, "newer": newer}
    about = _about(document)
    return page_response(request, "documents/compare.html", title, **about, older=older, newer=newer, lines=lines)


def _details(version: DocumentVersion) -> list[tuple[str, str]]:
    signatures = [
        gettext("%(meaning)s by %(user_name)s, %(date)s (%(confirmed_by)s)")
        % {
            "meaning": signature.get_meaning_display(),
            "user_name": signature.user_name,
            "date": format_datetime(signature.date),
            "confirmed_by": signature.get_confirmed_by_display(),
        }
        for signature in version.signatures.all()
    ]
    return [
        (gettext("Status"), version.get_record_status_display()),
        (gettext("File name"), version.file_name),
        (gettext("File type"), version.file_type),
        (gettext("File size"), gettext("%(file_size)s bytes") % {"file_size": f"{version.file_size:,}"}),
        ("SHA-256", version.file_hash),
        (gettext("Uploaded by"), str(version.created_by or gettext("The system"))),
        (gettext("Uploaded"), format_datetime(version.created)),
        (gettext("Signatures"), "\n".join(signatures)),
    ]


def _about(document: Document) -> dict[str, Any]:
    return {
        "opts": document._meta,
        "original": document,
        "back": reverse("admin:documents_document_read", args=(quote(document.pk),)),
        "versions_url": reverse("admin:documents_document_versions", args=(quote(document.pk),)),
        "compare_url": reverse("admin:documents_document_compare", args=(quote(document.pk),)),
    }


# --- Replacing a signer ---------------------------------------------------------------------------------------------


class ReplaceForm(ReasonForm):
    """The form that asks for the new signer and the reason."""

    field_order = ("user", "change_reason")

    def __init__(self, document: Document, *args: object) -> None:
        super().__init__(*args)
        field = Document._meta.get_field("user_to_review")
        address = partial(choose_url, field, document.site_id)
        self.fields["user"] = reference_field(
            partial(access.accounts_at, document.site_id), address, label=gettext("Who signs instead")
        )
        self.order_fields(self.field_order)


def replace(request: HttpRequest, document: Document, signer_id: uuid.UUID) -> HttpResponseBase:
    """Ask who signs instead of a person who is away, and why."""
    if not access.may(request.user, document.site_id, REPLACE):
        raise PermissionDenied
    signer = Signer.objects.select_related("user", "version").filter(pk=signer_id, document=document).first()
    if signer is None:
        raise Http404(gettext("There is no such signer."))
    about, form = _about(document), ReplaceForm(document, request.POST or None)
    if request.method == "POST" and form.is_valid():
        reason = form.cleaned_data["change_reason"]
        try:
            approvals.replace_signer(signer.pk, form.cleaned_data["user"], reason=reason, author=author_of(request))
        except ValidationError as fault:
            show_faults(form, (), fault)
        else:
            messages.success(
                request,
                gettext("%(user)s now signs instead of %(user2)s.")
                % {"user": form.cleaned_data["user"], "user2": signer.user},
            )
            return redirect(about["versions_url"])
    step = {
        "label": gettext("Replace"),
        "explanation": gettext("Signatures that were already given stay. The new person is notified by e-mail."),
    }
    names = {"user": signer.user, "document": document, "version": signer.version}
    title = gettext("Replace %(user)s for %(document)s, %(version)s") % names
    return page_response(request, "backoffice/step.html", title, **about, form=form, step=step)


urlpatterns = [
    path("documents/inbox/", inbox, name="documents_inbox"),
    path("documents/inbox/<uuid:version_id>/", signing.sign, name="documents_sign"),
    path("documents/rejected/<uuid:version_id>/", rejection, name="documents_rejected"),
    path("documents/file/<uuid:version_id>/", file, name="documents_file"),
    path("documents/in-force/<uuid:document_id>/", file_in_force, name="documents_in_force"),
]
