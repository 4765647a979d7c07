"""Documents that the person has to sign or read, and documents of the site that have to be reviewed."""

from typing import Any

from django.db.models import Prefetch
from django.urls import reverse
from django.utils.text import Truncator
from django.utils.translation import gettext, pgettext

from documents import reading, rejections
from documents.approvals import waiting_for
from documents.models import Document, DocumentVersion, Duty, Meaning, Signature, Signer
from documents.visibility import documents_for
from records.backoffice.about import address_of, list_of
from records.backoffice.date_filters import address_part
from records.backoffice.to_do import AHEAD, Line, Section, ToDo, Viewer

REASON_SHOWN = 200
"""How many characters of the reason for a rejection a line shows."""


def to_sign(viewer: Viewer) -> Section:
    """Return the versions that wait for this person's review or approval, at all of their sites."""
    section = Section(
        "sign",
        gettext("Documents to review or approve"),
        gettext("No document waits for your review or approval. When it is your turn you also get a mail."),
        list_url=reverse("admin:documents_inbox"),
    )

    def line(signer: Signer) -> Line:
        return Line(
            _name_of(signer.version),
            reverse("admin:documents_sign", args=(signer.version_id,)),
            pgettext("what somebody is asked to do", "Review")
            if signer.duty == Duty.REVIEW
            else pgettext("what somebody is asked to do", "Approve"),
            viewer.since_day(signer.version.created),
            viewer.other_site(signer.version.site_id),
        )

    return section.show(waiting_for(viewer.user), line)


def rejected_versions(viewer: Viewer) -> Section:
    """Return the rejected versions that are shown to the person, with the reasons."""
    section = Section("rejected", gettext("Documents that were rejected"), "")
    reasons = Prefetch("signatures", Signature.objects.filter(meaning=Meaning.REJECTED), to_attr="rejections")

    def line(version: Any) -> Line:
        last = version.rejections[-1]
        if version.created_by_id == viewer.user.pk:
            name = gettext("Your version %(version)s of %(name)s")
        else:
            name = gettext("Version %(version)s of %(name)s, uploaded by %(who)s")
        return Line(
            name % {"name": version.document.name, "version": version.version, "who": rejections.uploader_of(version)},
            reverse("admin:documents_rejected", args=(version.pk,)),
            gettext("Rejected by %(who)s: %(why)s")
            % {"who": last.user_name, "why": Truncator(last.comment).chars(REASON_SHOWN)},
            viewer.since_day(last.date),
            viewer.other_site(version.site_id),
        )

    return section.show(rejections.waiting_for(viewer.user).prefetch_related(reasons), line)


def to_read(viewer: Viewer) -> Section:
    """Return the versions in force that this person must read, at all of their sites."""
    section = Section(
        "read",
        gettext("Documents that you must read"),
        gettext("You have read everything that your roles must read."),
        list_url=reverse("admin:documents_reading"),
    )

    def line(version: DocumentVersion) -> Line:
        page = reverse("admin:documents_read", args=(version.pk,))
        return viewer.due_line(_name_of(version), page, gettext("Read"), reading.due(version), version.site_id)

    return section.show(reading.waiting_for(viewer.user), line)


def to_review(viewer: Viewer) -> Section:
    """Return the current site's documents whose next review is due."""
    section = Section(
        "renew",
        gettext("Documents due for review"),
        gettext("No document is due for review within %(days)s days.") % {"days": AHEAD.days},
        list_url=list_of(Document, **address_part("review_date", None, viewer.today + AHEAD)),
    )
    due = Document.objects.at(viewer.site).filter(viewer.is_due("review_date"), is_archived=False)

    def line(document: Document) -> Line:
        page = address_of(document)
        return viewer.due_line(document.name, page, gettext("Review"), document.review_date)

    return section.show(documents_for(viewer.user, due, viewer.site_ids).order_by("review_date", "id"), line)


def _name_of(version: DocumentVersion) -> str:
    return gettext("%(name)s, version %(version)s") % {"name": version.document.name, "version": version.version}


SECTIONS = (
    ToDo(0, rejected_versions),
    ToDo(10, to_sign),
    ToDo(20, to_read),
    ToDo(130, to_review, "documents.change_document"),
)
