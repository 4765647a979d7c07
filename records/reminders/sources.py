"""What has to be done, by whom and until when, from every kind of record (DECISIONS 12.5).

The person who added a document has to review it. A signature is due a week after its version was uploaded, and the
change of a rejected version a week after its rejection.
"""

import datetime
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from documents import reading, rejections
from documents.approvals import SIGN_WITHIN, pending_signers
from documents.models import Document
from records.accounts import access
from records.accounts.models import User
from records.actions.models import Action, Status
from records.audits.models import OPEN, AuditRecord
from records.backoffice.about import existing_for
from records.backoffice.date_filters import CALENDAR, bare, day_of
from records.complaints.filters import WAITS_FOR_ANSWER
from records.complaints.models import Complaint
from records.sites.models import Site

DOCUMENT = "admin:documents_document_read"
REJECTED_PAGE = "admin:documents_rejected"
REJECTED_TEXT = _("Change the document {row.document.name}, whose version {row.version} was rejected")
Users = Collection[uuid.UUID] | None
"""The people whose tasks are read; None means everybody."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a person has to do: its name, its due date (a bare day, or a time), its site, and its page."""

    owner_id: uuid.UUID
    site_id: uuid.UUID
    text: str
    due: datetime.datetime
    page: str
    needs: str | None
    """The permission that is needed to see it at the site; None if it is enough to be asked."""
    uid: str = ""
    """What stays the same for this thing as long as it has to be done."""

    def may_be_seen_by(self, user: User) -> bool:
        """Return whether the person still holds a role at the site that shows it."""
        return self.site_id in access.sites_where(user, *([self.needs] if self.needs else []))


@dataclass(frozen=True, slots=True)
class Source:
    """Records with a column for the person who has to act and a column for the due date.

    With `within`, the column is the time at which something happened, and the person has this long from then.
    """

    rows: QuerySet[Any]
    owner: str
    when: str
    page: str
    label: str
    needs: str | None
    within: datetime.timedelta = datetime.timedelta()
    key: str = "id"
    site: str = "site_id"
    in_calendars: bool = False
    """Whether calendar programs, which may belong to outside services, get it too."""
    visible_to: Callable[[User, QuerySet[Any]], QuerySet[Any]] | None = None
    """Leaves out the rows that do not exist for a person; None where all exist."""
    done_with: str | None = None
    """The permission that the person who has to act needs, if it is not enough to see the record."""
    for_superiors: tuple[str, str] | None = None
    """The page that a superior opens instead, and its column, if `page` is only for the person who has to act."""
    words: Callable[[int], str] | None = None
    """Returns the text for a number of such things; None for what moves to others when the person's access ends."""

    def _due(self, before: datetime.datetime, users: Users) -> QuerySet[Any]:
        rows = self.rows.filter(**{f"{self.when}__lt": before - self.within, f"{self.owner}__isnull": False})
        return rows if users is None else rows.filter(**{f"{self.owner}__in": users})

    def owners(self, before: datetime.datetime) -> set[uuid.UUID]:
        """Return the people who have something due before the moment; one query."""
        return set(self._due(before, None).order_by().values_list(self.owner, flat=True).distinct())

    def rows_for(self, person: User, viewer: User) -> QuerySet[Any]:
        """Return everything that a person has to do, at any time, as far as another person may see it."""
        rows = self.rows.filter(**{self.owner: person.pk})
        if self.needs is not None:
            rows = rows.filter(site__in=access.sites_where(viewer, self.needs))
        return rows if self.visible_to is None else self.visible_to(viewer, rows)

    def items(self, before: datetime.datetime, user: User, staff: Collection[uuid.UUID]) -> list[Item]:
        """Return what a person and their staff have to do before the moment, as far as it exists for the person.

        One query.
        """
        other_page, other_key = self.for_superiors or (self.page, self.key)
        columns = {"to_": self.owner, "when_": self.when, "key_": self.key, "at_": self.site, "other_": other_key}
        due = self._due(before, [user.pk, *staff])
        if self.visible_to is not None:
            due = self.visible_to(user, due)
        rows = due.annotate(**{name: F(path) for name, path in columns.items()})
        return [
            Item(
                row.to_,
                row.at_,
                self.label.format(row=row),
                row.when_ + self.within if self.within else bare(day_of(row.when_, CALENDAR)),
                reverse(self.page, args=(row.key_,)) if row.to_ == user.pk else reverse(other_page, args=(row.other_,)),
                self.done_with or self.needs if row.to_ == user.pk else self.needs,
                f"{self.rows.model._meta.model_name}-{row.key_}",
            )
            for row in rows
        ]


class Readings:
    """The versions in force that people must read and have not read yet."""

    def _open(self, before: datetime.datetime, sites: QuerySet[Site]) -> list[reading.Progress]:
        keys = list(sites.filter(is_archived=False).values_list("pk", flat=True))
        return [entry for entry in reading.progress(keys) if entry.missing_count and entry.due < before]

    def owners(self, before: datetime.datetime) -> set[uuid.UUID]:
        """Return the people who have something to read before the moment; seven queries at most."""
        return set().union(*reading.missing_readers(self._open(before, Site.objects.all())).values())

    def items(self, before: datetime.datetime, user: User, staff: Collection[uuid.UUID]) -> list[Item]:
        """Return what a person and their staff have to read before the moment; eight queries at most."""
        open_readings = self._open(before, Site.objects.filter(pk__in=access.sites_where(user)))
        missing_readers = reading.missing_readers(open_readings, {user.pk, *staff})
        versions = reading.shown_versions([entry for entry in open_readings if missing_readers[entry.version_id]])
        return [
            Item(
                reader,
                versions[entry.version_id].site_id,
                gettext("Read the document %(document)s, version %(version)s")
                % {"document": versions[entry.version_id].document, "version": versions[entry.version_id].version},
                entry.due,
                reverse("admin:documents_read", args=(entry.version_id,))
                if reader == user.pk
                else reverse(DOCUMENT, args=(entry.document_id,)),
                None,
            )
            for entry in open_readings
            for reader in missing_readers[entry.version_id]
        ]


class UnreachableUploaders:
    """The rejected versions whose uploader is unreachable; they wait for those who may upload a new one at the site."""

    @staticmethod
    def _before(rows: QuerySet[Any], before: datetime.datetime) -> QuerySet[Any]:
        return rows.filter(rejected__lt=before - rejections.CHANGE_WITHIN)

    def owners(self, before: datetime.datetime) -> set[uuid.UUID]:
        """Return the people who have one to change before the moment; five queries."""
        rows = self._before(rejections.of_unreachable_uploaders(), before)
        sites = set(rows.order_by().values_list("site_id", flat=True))
        return set().union(*rejections.notified_instead(sites).values())

    def items(self, before: datetime.datetime, user: User, staff: Collection[uuid.UUID]) -> list[Item]:
        """Return the ones that the person has to change before the moment; one query."""
        rows = self._before(rejections.waiting_for(user), before).exclude(created_by=user)
        return [
            Item(
                user.pk,
                row.site_id,
                REJECTED_TEXT.format(row=row),
                row.rejected + rejections.CHANGE_WITHIN,
                reverse(REJECTED_PAGE, args=(row.pk,)),
                rejections.CHANGE,
            )
            for row in rows
        ]


def _existing(user: User, rows: QuerySet[Any]) -> QuerySet[Any]:
    sites = access.sites_where(user)
    return existing_for(user, rows.filter(site__in=sites), sites)


def sources() -> list[Source | Readings | UnreachableUploaders]:
    """Return every kind of thing that people are reminded of, in the language of the moment."""
    return [
        Source(
            Action.objects.filter(record_status=Status.OPEN, is_archived=False),
            "owner_id",
            "due_date",
            "admin:actions_action_read",
            gettext("Action {row.site_sequence_id}: {row.name}"),
            "actions.view_action",
            in_calendars=True,
            visible_to=_existing,
            words=lambda number: ngettext("%(number)s open action", "%(number)s open actions", number),
        ),
        Source(
            Complaint.objects.filter(WAITS_FOR_ANSWER, is_archived=False),
            "owner_id",
            "target_date",
            "admin:complaints_complaint_read",
            gettext("Answer {row}"),
            "complaints.view_complaint",
            words=lambda number: ngettext("%(number)s complaint to answer", "%(number)s complaints to answer", number),
        ),
        Source(
            AuditRecord.objects.filter(record_status__in=OPEN, is_archived=False).select_related("audit_program"),
            "auditors__user_id",
            "due_date",
            "admin:audits_auditrecord_read",
            gettext("Audit {row.site_sequence_id}: {row}"),
            "audits.view_auditrecord",
            in_calendars=True,
            done_with="audits.change_auditrecord",
            words=lambda number: ngettext("%(number)s audit", "%(number)s audits", number),
        ),
        Source(
            Document.objects.filter(is_archived=False, review_date__isnull=False),
            "created_by_id",
            "review_date",
            DOCUMENT,
            gettext("Review the document {row.name}, whose review is due"),
            "documents.change_document",
            in_calendars=True,
            visible_to=_existing,
            words=lambda number: ngettext("%(number)s document to review", "%(number)s documents to review", number),
        ),
        Source(
            pending_signers(),
            "user_id",
            "version__created",
            "admin:documents_sign",
            "{row.asks}",
            None,
            within=SIGN_WITHIN,
            key="version_id",
            site="version__site_id",
            visible_to=lambda user, rows: rows.filter(
                Q(user=user) | Q(version__site__in=access.sites_where(user, Document.SEEN_WHOLE_WITH))
            ),
            for_superiors=(DOCUMENT, "version__document_id"),
            words=lambda number: ngettext("%(number)s signature", "%(number)s signatures", number),
        ),
        Source(
            rejections.of_reachable_uploaders(),
            "created_by_id",
            "rejected",
            REJECTED_PAGE,
            str(REJECTED_TEXT),
            None,
            within=rejections.CHANGE_WITHIN,
            visible_to=lambda user, rows: rows.filter(
                Q(created_by=user) | Q(site__in=access.sites_where(user, Document.SEEN_WHOLE_WITH))
            ),
            for_superiors=(DOCUMENT, "document_id"),
        ),
        UnreachableUploaders(),
        Readings(),
    ]
