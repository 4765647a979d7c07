"""Controlled prints: the button on a document's page, and the stamped PDF of its version in force."""

import uuid
from collections.abc import Sequence
from typing import IO

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from documents import copies
from documents.models import IN_FORCE, ControlledPrint, Document, DocumentVersion
from documents.visibility import may_read
from records.backoffice.current import author_of, show_times_of, user_of, zone_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.extension_points import RecordPanel
from records.backoffice.once import process_once
from records.dashboard.printing.paper import Paper, Part, Value, render_pdf
from records.dashboard.printing.stamping import UnprintableError, stamp_pdf
from records.files import downloads
from records.history.moments import now
from records.operations.errors import ApiError

ATTEMPTS = 5
UNCONTROLLED = _("Uncontrolled when printed")


def record_panels(request: HttpRequest, record: object) -> Sequence[RecordPanel]:
    """Return the panel with the button, for a document whose version in force is a PDF; two queries."""
    if not isinstance(record, Document) or record.effective_version is None or record.is_archived:
        return ()
    version = DocumentVersion.objects.filter(document=record, record_status__in=IN_FORCE).first()
    if version is None or not copies.is_printable(version):
        return ()
    newest = version.prints.order_by("-number").first()
    context = {
        "version": version,
        "newest": newest,
        "at": format_datetime(newest.date) if newest else "",
        "url": reverse("admin:documents_print", args=(record.pk,)),
    }
    return (RecordPanel("documents/print_panel.html", context),)


def print_document(request: HttpRequest, document_id: uuid.UUID) -> HttpResponseBase:
    """Answer the next numbered copy of a document's version in force as a PDF for saving.

    Answers 404 if the person may not see the document, if no version is in force, or if its file is not a PDF. If the
    file cannot be stamped, nothing changes, and the document's page shows the reason.
    """
    user = user_of(request)
    versions = DocumentVersion.objects.select_related("document__site")
    version = versions.filter(document=document_id, record_status__in=IN_FORCE).first()
    if version is None or not copies.is_printable(version) or not may_read(user, version):
        raise Http404(gettext("There is no such document."))
    show_times_of(version.document.site)
    try:
        pdf, copy = _make_copy(request, version)
    except ValidationError as fault:
        messages.error(request, " ".join(fault.messages))
    except UnprintableError as fault:
        messages.error(request, gettext("%(fault)s Nothing was printed.") % {"fault": fault})
    except ApiError as refusal:
        messages.error(request, gettext("%(message)s Nothing was printed.") % {"message": refusal.message})
    else:
        return _response(pdf, copy)
    return redirect("admin:documents_document_read", quote(document_id))


def _make_copy(request: HttpRequest, version: DocumentVersion) -> tuple[IO[bytes], ControlledPrint]:
    """Make the next copy and record it; make it again if another person got its number in the meantime."""
    user, back = user_of(request), reverse("admin:documents_document_read", args=(quote(version.document_id),))
    for _attempt in range(ATTEMPTS):
        copy = ControlledPrint(number=copies.next_number(version), date=now(), user_name=user.printed_name)
        with downloads.open_file(version) as source:
            pdf = _copy(source, version, copy)
        try:
            with process_once(request, back):
                return pdf, copies.add(version.pk, copy.number, user, date=copy.date, author=author_of(request))
        except copies.NumberTakenError:
            pdf.close()
        except BaseException:
            pdf.close()
            raise
    text = gettext("Several people are printing this document at the moment. Nothing was printed; try again.")
    raise ValidationError(text, code="Conflict")


def _copy(source: IO[bytes], version: DocumentVersion, copy: ControlledPrint) -> IO[bytes]:
    document = version.document
    at = f"{format_datetime(copy.date)} ({zone_of(document.site).key})"

    def stamp(page: str) -> tuple[str, str]:
        return (
            gettext("%(name)s · Version %(version)s · %(record_status)s · Copy %(number)s")
            % {
                "name": document.name,
                "version": version.version,
                "record_status": version.get_record_status_display(),
                "number": copy.number,
            },
            gettext("%(uncontrolled)s · Printed %(at)s by %(user_name)s · %(page)s")
            % {"uncontrolled": UNCONTROLLED, "at": at, "user_name": copy.user_name, "page": page},
        )

    return stamp_pdf(source, stamp, render_pdf(signature_paper(version, copy, at)))


def signature_paper(version: DocumentVersion, copy: ControlledPrint, at: str) -> Paper:
    """Return the last page of a copy: the file, who printed it and when, and who signed the file; one query."""
    document = version.document
    paper = Paper(
        title=gettext("Signatures: %(name)s") % {"name": document.name}, subtitle=str(UNCONTROLLED), is_numbered=False
    )
    paper.parts = [
        Part(
            gettext("Document"),
            [
                Value(gettext("Site"), document.site.name),
                Value(gettext("Number"), str(document.site_sequence_id)),
                Value(gettext("Version"), str(version.version)),
                Value(gettext("Status"), version.get_record_status_display()),
                Value(gettext("In force since"), format_datetime(version.in_force_since)),
                Value(gettext("File"), version.file_name),
                Value(gettext("SHA-256 of the file"), version.file_hash),
            ],
        ),
        Part(
            gettext("This copy"),
            [
                Value(gettext("Copy"), str(copy.number)),
                Value(gettext("Printed"), at),
                Value(gettext("Printed by"), copy.user_name),
            ],
        ),
    ]
    for signature in version.signatures.all():
        values = [
            Value(gettext("Printed name"), signature.user_name),
            Value(gettext("Meaning"), signature.get_meaning_display()),
            Value(gettext("Date"), format_datetime(signature.date)),
            Value(gettext("Confirmed by"), signature.get_confirmed_by_display()),
            Value(gettext("SHA-256 of the file"), signature.file_hash),
        ]
        paper.parts.append(
            Part(
                gettext("%(meaning)s by %(user_name)s")
                % {"meaning": signature.get_meaning_display(), "user_name": signature.user_name},
                values,
            )
        )
    if len(paper.parts) == 2:
        paper.parts.append(
            Part(
                gettext("Signatures"),
                [Value(gettext("None"), gettext("This version came into force without signatures."))],
            )
        )
    return paper


def _response(pdf: IO[bytes], copy: ControlledPrint) -> HttpResponseBase:
    length = pdf.seek(0, 2)
    name = gettext("%(name)s - version %(version)s - copy %(number)s.pdf") % {
        "name": copy.document.name,
        "version": copy.version.version,
        "number": copy.number,
    }
    headers = {"Content-Disposition": downloads.disposition(name), "Content-Length": str(length)}
    return StreamingHttpResponse(downloads.Pieces(pdf, 0, length), content_type="application/pdf", headers=headers)


urlpatterns = [path("documents/print/<uuid:document_id>/", require_POST(print_document), name="documents_print")]
