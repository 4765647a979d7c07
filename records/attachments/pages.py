"""The attachments of a record on its page: shown with previews, added by a form or by dropping files, and served."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from records.accounts.access import asking
from records.attachments import actions
from records.attachments.models import Attachment
from records.attachments.previews import may_have_preview, preview_of
from records.attachments.visibility import may_read, sees
from records.backoffice.about import address_of
from records.backoffice.current import author_of, show_times_of, site_at, user_of
from records.backoffice.datetimes import format_datetime
from records.backoffice.extension_points import RecordPanel
from records.backoffice.once import FIELD, digest_of, key_of_row
from records.files import downloads
from records.files.content import read_upload
from records.files.storage import StorageUnavailableError
from records.operations import conditional
from records.operations.error_handlers import refusal_response
from records.operations.errors import ApiError
from records.sites.about import NOT_ABOUT, about, kinds, pointer_to
from records.sites.models import SiteRecord
from records.sites.text import read_uuid
from records.sites.writing import Values

MOST_SHOWN = 100
MOST_AT_ONCE = 20


# --- What a record's page shows -------------------------------------------------------------------------------------


def record_panels(request: HttpRequest, record: object) -> Sequence[RecordPanel]:
    """Return the panel of a record's attachments; three queries."""
    if not isinstance(record, SiteRecord) or record.ENTITY in NOT_ABOUT:
        return ()
    may = asking(request.user, record.site_id)
    if not may("attachments.view_attachment") or not sees(record.ENTITY, may):
        return ()
    rows = Attachment.objects.at(record.site_id).filter(about(record), is_archived=False)
    attachments = list(rows.select_related("created_by").order_by("-site_sequence_id")[: MOST_SHOWN + 1])
    findings = {row.pk: str(row) for row in record.findings.all()} if hasattr(record, "findings") else {}
    may_add = may_attach(request, record)
    context = {
        "rows": [line_of(row, findings) for row in attachments[:MOST_SHOWN]],
        "has_more": len(attachments) > MOST_SHOWN,
        "shown": MOST_SHOWN,
        "findings": findings,
        "add_url": reverse("admin:attachments_add", args=(record.ENTITY.value, record.pk)) if may_add else "",
        "limits": limits_at(record.site_id) if may_add else "",
        "limit": settings.FILE_SIZE_LIMIT,
    }
    return (RecordPanel("attachments/panel.html", context),)


def may_attach(request: HttpRequest, record: SiteRecord) -> bool:
    """Return whether the signed-in person may attach files to the record now."""
    if record.is_archived:
        return False
    try:
        actions.check_may_attach(record, author_of(request), asking(request.user, record.site_id))
    except (PermissionDenied, ValidationError):
        return False
    return True


def line_of(attachment: Attachment, findings: dict[uuid.UUID, str]) -> dict[str, object]:
    """Return one attachment as the panel shows it."""
    has_preview = may_have_preview(attachment.file_type)
    return {
        "attachment": attachment,
        "url": reverse("admin:attachments_file", args=(attachment.pk,)),
        "page": reverse("admin:attachments_attachment_read", args=(attachment.pk,)),
        "preview": reverse("admin:attachments_preview", args=(attachment.pk,)) if has_preview else "",
        "at": format_datetime(attachment.created),
        "finding": findings.get(attachment.finding_id, "") if attachment.finding_id else "",
    }


def limits_at(site_id: uuid.UUID) -> str:
    """Return the greatest size of a file and the used part of the site's storage, in words."""
    used, most = actions.used_by(site_id), settings.SITE_ATTACHMENTS_LIMIT
    largest = filesizeformat(settings.FILE_SIZE_LIMIT)
    return gettext(
        "A file may have %(one)s. This site's attachments use %(filesizeformat)s of %(filesizeformat2)s."
    ) % {"one": largest, "filesizeformat": filesizeformat(used), "filesizeformat2": filesizeformat(most)}


# --- Adding ---------------------------------------------------------------------------------------------------------


def add(request: HttpRequest, entity: str, record_id: uuid.UUID) -> HttpResponse:
    """Attach the uploaded files to a record, one by one; answer the page's script, or redirect to the page.

    If a file is refused, the others are stored anyway; the message names the file and the reason.
    """
    model = next((model for kind, model in kinds().items() if kind.value == entity and kind not in NOT_ABOUT), None)
    if model is None or not admin.site.is_registered(model):
        raise Http404
    page: Any = admin.site.get_model_admin(model)
    record = page.record_or_404(request, str(record_id))
    show_times_of(site_at(request, record.site_id))
    uploads = [*request.FILES.getlist("files"), *request.FILES.getlist("photo")]
    values = {"description": request.POST.get("description", ""), "finding_id": _finding(request)}
    added, faults = [], []
    for upload in uploads[:MOST_AT_ONCE]:
        try:
            once = _once(request, uploads) or id_of(read_uuid(request.POST.get(FIELD, "")), upload, values)
            added.append(attach(request, record, upload, values, once))
        except ValidationError as fault:
            faults.append(f"{upload.name}: {' '.join(fault.messages)}")
    faults += [
        gettext("%(name)s: you can attach at most %(most_at_once)s files at once.")
        % {"name": upload.name, "most_at_once": MOST_AT_ONCE}
        for upload in uploads[MOST_AT_ONCE:]
    ]
    if not uploads:
        faults.append(gettext("Choose a file first."))
    if "application/json" in request.headers.get("Accept", ""):
        return _upload_result(request, record, added, faults)
    for text in faults:
        messages.error(request, text)
    if added:
        messages.success(request, gettext("Attached: %(names)s.") % {"names": ", ".join(str(row) for row in added)})
    return redirect(f"{address_of(record)}#attachments")


def _finding(request: HttpRequest) -> uuid.UUID | None:
    """Return the finding in the form; a text that is not an Id is treated like a finding that does not exist."""
    text = request.POST.get("finding", "")
    return (read_uuid(text) or uuid.UUID(int=0)) if text else None


def _once(request: HttpRequest, uploads: Sequence[object]) -> uuid.UUID | None:
    """Return the id of the upload, under which the page's script may have to send the file again."""
    return read_uuid(request.POST.get("once", "")) if len(uploads) == 1 else None


def id_of(form: uuid.UUID | None, upload: "UploadedFile[Any]", values: Values) -> uuid.UUID | None:
    """Return the id of the upload: the same if its form is sent again, another one for other content."""
    return form and uuid.uuid5(form, repr((upload.name, digest_of(upload), sorted(values.items()))))


def attach(
    request: HttpRequest, record: SiteRecord, upload: Any, values: Values, once: uuid.UUID | None = None
) -> Attachment:
    """Store one uploaded file; raises ValidationError or PermissionDenied.

    A file that is sent again under the same id `once`, because the first answer was lost, is stored only once.
    """
    key = once and key_of_row(request, once, pointer_to(record))
    if key and (earlier := Attachment.objects.filter(pk=key).first()):
        return earlier
    try:
        content, file = read_upload(upload)
        return actions.add_attachment(
            record.site_id,
            {**values, **file},
            content,
            author=author_of(request),
            may=asking(request.user, record.site_id),
            on=record,
            key=key,
        )
    except IntegrityError:
        earlier = Attachment.objects.filter(pk=key).first() if key else None
        if earlier is None:
            raise
        return earlier
    except actions.SiteFullError:
        raise ValidationError(
            gettext("The storage for this site's attachments is full. Ask the operator of Larder for more.")
        ) from None
    except StorageUnavailableError:
        raise ValidationError(gettext("The file storage cannot be reached. Try again.")) from None


def _upload_result(
    request: HttpRequest, record: Any, added: Sequence[Attachment], faults: Sequence[str]
) -> JsonResponse:
    findings = {row.pk: str(row) for row in record.findings.all()} if hasattr(record, "findings") else {}
    lines = [
        render_to_string("attachments/line.html", {"row": line_of(row, findings)}, request=request) for row in added
    ]
    limits = limits_at(record.site_id)
    return JsonResponse({"added": lines, "faults": faults, "limits": limits}, status=200 if added else 400)


# --- Serving --------------------------------------------------------------------------------------------------------


def _readable(request: HttpRequest, attachment_id: uuid.UUID) -> Attachment:
    """Return an attachment that the signed-in person may read; raises Http404 for any other."""
    attachment = Attachment.objects.filter(pk=attachment_id).first()
    if attachment is None or not may_read(user_of(request), attachment):
        raise Http404(gettext("There is no such attachment."))
    return attachment


def file(request: HttpRequest, attachment_id: uuid.UUID) -> HttpResponseBase:
    """Serve the original file, as it was stored."""
    return downloads.serve_on_page(request, _readable(request, attachment_id))


def preview(request: HttpRequest, attachment_id: uuid.UUID) -> HttpResponseBase:
    """Serve a small picture without the metadata of the original; 404 for a file that is not a picture."""
    attachment = _readable(request, attachment_id)
    tag = f'"preview-{attachment.file_hash}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
    if conditional.matches(request.headers.get("If-None-Match", ""), tag):
        return HttpResponse(status=304, headers=headers)
    if not may_have_preview(attachment.file_type):
        raise Http404(gettext("There is no preview of this file."))
    try:
        with downloads.open_file(attachment) as file:
            picture = preview_of(file)
    except ApiError as refusal:
        return refusal_response(request, refusal)
    if picture is None:
        raise Http404(gettext("There is no preview of this file."))
    return HttpResponse(picture, content_type="image/jpeg", headers=headers)


urlpatterns = [
    path("attachments/on/<str:entity>/<uuid:record_id>/", require_POST(add), name="attachments_add"),
    path("attachments/file/<uuid:attachment_id>/", file, name="attachments_file"),
    path("attachments/preview/<uuid:attachment_id>/", preview, name="attachments_preview"),
]
