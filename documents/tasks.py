"""The background task that sends the mails about versions. Each is sent once; failures are retried later."""

import datetime
import uuid

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django_tasks import task

from documents import reading, rejections
from documents.models import WAITING, Notice, Status
from records.accounts import access
from records.accounts.languages import in_language_of
from records.history.trail import now
from records.operations import stored_mails
from records.operations.stored_mails import BATCH
from records.sites.text import one_line

GIVE_UP_AFTER = datetime.timedelta(days=7)
NOT_OWED = "No longer owed; not sent."
SIGNING = "/admin/documents/inbox/"
READING = "/admin/documents/reading/"
REJECTED = "/admin/documents/rejected/"
TEMPLATES = {
    Notice.Kind.IN_FORCE: "document_in_force",
    Notice.Kind.READ: "document_read",
    Notice.Kind.REJECTED: "document_rejected",
}
PAGES = {Notice.Kind.READ: READING, Notice.Kind.REJECTED: REJECTED}


def _due() -> QuerySet[Notice]:
    return Notice.objects.filter(sent__isnull=True, due__lte=now(), created__gt=now() - GIVE_UP_AFTER)


def is_waiting() -> bool:
    """Return whether a mail is due for which no task is queued; the worker asks every few seconds."""
    return _due().exists() and not stored_mails.is_queued(send_notices)


@task()
def send_notices() -> int:
    """Send every mail that is due, and return how many were sent."""
    keys = list(_due().order_by("created", "id").values_list("pk", flat=True)[:BATCH])
    return sum(_send(key) for key in keys if stored_mails.take(Notice.objects.filter(pk=key)))


def _send(key: uuid.UUID) -> bool:
    notice = Notice.objects.select_related("version__document__site", "user").get(pk=key)
    if not is_still_due(notice):
        stored_mails.close(notice, NOT_OWED)
        return False
    return stored_mails.send(notice, lambda: message_of(notice).send(), send_notices)


def is_still_due(notice: Notice) -> bool:
    """Return whether the mail is still correct: the version waits for this active person, or is in force or rejected.

    A person who no longer holds a role at the site gets no mail about its documents, but a superuser without a role is
    notified of the rejection of an own version.
    """
    version, user = notice.version, notice.user
    if not user.is_active or not user.email or version.document.is_archived:
        return False
    if notice.kind == Notice.Kind.REJECTED:
        return rejections.waiting_for(user).filter(pk=version.pk).exists()
    if not access.holds_role_at(user.pk, version.site_id):
        return False
    if notice.kind == Notice.Kind.READ:
        return reading.waiting_for(user).filter(pk=version.pk).exists()
    if notice.kind == Notice.Kind.IN_FORCE:
        return version.record_status in (Status.APPROVED, Status.ISSUED)
    if version.record_status not in WAITING:
        return False
    return version.signers.filter(user=user, duty=notice.kind, signature__isnull=True).exists()


def _page_of(notice: Notice) -> str:
    if notice.kind == Notice.Kind.IN_FORCE:
        return f"/admin/documents/document/{notice.version.document_id}/"
    return f"{PAGES.get(Notice.Kind(notice.kind), SIGNING)}{notice.version_id}/"


def message_of(notice: Notice) -> EmailMessage:
    """Return the mail in plain text, in the person's language; its Message-ID stays the same when it is sent again."""
    with in_language_of(notice.user):
        return _message_of(notice)


def _message_of(notice: Notice) -> EmailMessage:
    version = notice.version
    context = {
        "notice": notice,
        "name": notice.user.printed_name,
        "document": version.document,
        "version": version,
        "uploader": rejections.uploader_of(version),
        "site": version.document.site,
        "rejection": rejections.rejections_of(version).last() if notice.kind == Notice.Kind.REJECTED else None,
        "link": settings.BASE_URL + _page_of(notice),
    }
    template = TEMPLATES.get(Notice.Kind(notice.kind), "document_turn")
    subject = render_to_string(f"mail/{template}_subject.txt", context)
    text = render_to_string(f"mail/{template}.txt", context)
    return stored_mails.mail_of(notice, notice.user.email, one_line(subject), text)
