"""Documents that the person has to sign or read, and documents of the site that have to be reviewed."""

from django.urls import reverse
from django.utils.translation import gettext, pgettext

from documents import reading
from documents.approvals import waiting_for
from documents.models import Document, DocumentVersion, Duty, Signer
from documents.visibility import documents_for
from records.backoffice.date_filters import address_part
from records.backoffice.datetimes import shown
from records.dashboard.to_do.sections import AHEAD, Line, Section, Viewer


def to_sign(viewer: Viewer) -> Section:
    """Return the versions that wait for this person's review or approval, at all of their sites."""
    section = Section(
        "sign",
        gettext("Documents to review or approve"),
        gettext("No document waits for you. When it is your turn you also get a mail."),
        list_url=reverse("admin:documents_inbox"),
    )

    def line(signer: Signer) -> Line:
        return Line(
            gettext("%(name)s, version %(version)s")
            % {"name": signer.version.document.name, "version": signer.version.version},
            reverse("admin:documents_sign", args=(signer.version_id,)),
            pgettext("what somebody is asked to do", "Review")
            if signer.duty == Duty.REVIEW
            else pgettext("what somebody is asked to do", "Approve"),
            gettext("since %(created)s") % {"created": shown(signer.version.created, day=True)},
            viewer.other_site(signer.version.site_id),
        )

    return section.of(waiting_for(viewer.user), line)


def to_read(viewer: Viewer) -> Section:
    """Return the versions in force that this person must read, at all of their sites."""
    section = Section(
        "read",
        gettext("Documents that you must read"),
        gettext("You have read everything that your roles must read."),
        list_url=reverse("admin:documents_reading"),
    )

    def line(version: DocumentVersion) -> Line:
        return Line(
            gettext("%(name)s, version %(version)s") % {"name": version.document.name, "version": version.version},
            reverse("admin:documents_read", args=(version.pk,)),
            gettext("Read"),
            viewer.due(reading.due(version)),
            viewer.other_site(version.site_id),
            viewer.is_late(reading.due(version)),
        )

    return section.of(reading.waiting_for(viewer.user), line)


def to_review(viewer: Viewer) -> Section:
    """Return the current site's documents whose next review is due."""
    section = Section(
        "renew",
        gettext("Documents due for review"),
        gettext("No document is due for review within %(days)s days.") % {"days": AHEAD.days},
        list_url=viewer.list_of(Document, **address_part("review_date", None, viewer.today + AHEAD)),
    )
    due = Document.objects.at(viewer.site).filter(viewer.is_due("review_date"), is_archived=False)

    def line(document: Document) -> Line:
        day = document.review_date
        return Line(
            document.name, viewer.page_of(document), gettext("Review"), viewer.due(day), is_late=viewer.is_late(day)
        )

    return section.of(documents_for(viewer.user, due, viewer.site_ids).order_by("review_date", "id"), line)
