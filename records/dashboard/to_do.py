"""What waits for the person who is signed in: documents to sign, actions, complaints to complete or submit, audits."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from documents import reading
from documents.approvals import waiting_for
from documents.models import Document, Duty
from documents.visibility import documents_for
from records.accounts import access
from records.actions.models import Action, Status
from records.audits.models import OPEN, AuditProgram, AuditRecord
from records.backoffice.about import existing_for
from records.backoffice.current import current_site, sites_of, user_of, zone_of
from records.backoffice.date_filters import CALENDAR, address_part, before, day_of, today_at
from records.backoffice.datetimes import shown
from records.complaints.filters import TO_TRIAGE, WAITS_FOR_ANSWER
from records.complaints.models import Complaint, RecordStatus
from records.dashboard.addresses import form_for_new, list_of, page_of
from records.sites.models import Site

SHOWN = 5
MOST_COUNTED = 1000
AHEAD = datetime.timedelta(days=30)
"""How long before its due date something begins to wait."""
LONG = datetime.timedelta(days=30)
"""What has waited for its review for longer than this is marked as late."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One record that waits: what it is, what is to be done with it, since or until when, and where."""

    name: str
    url: str
    task: str
    when: str = ""
    site: str = ""
    is_late: bool = False


@dataclass
class Section:
    """One kind of thing that can wait: how many do, the first few, and what to do when there is none."""

    key: str
    title: str
    empty: str
    total: int = 0
    rows: Sequence[Waiting] = ()
    list_url: str = ""
    next_url: str = ""
    next_label: str = ""
    elsewhere: Sequence[str] = field(default_factory=list)

    @property
    def count(self) -> str:
        """Return the number as it is printed; counting stops at a thousand."""
        return f"more than {MOST_COUNTED:,}" if self.total > MOST_COUNTED else str(self.total)

    @property
    def has_more(self) -> bool:
        """Return whether more wait than are shown."""
        return self.total > len(self.rows)


class Desk:
    """Asks what waits for one person at the site that they look at; each question costs two or three queries."""

    def __init__(self, admin_site: AdminSite, request: HttpRequest) -> None:
        self.admin_site = admin_site
        self.user = user_of(request)
        self.site = current_site(request)
        self.sites = {site.pk: site for site in sites_of(request)}
        self.zone = zone_of(self.site)
        self.today = today_at(self.zone)

    def sections(self) -> list[Section]:
        """Return what can wait for this person, what is never theirs left out."""
        found = [self.documents_to_sign(), self.documents_to_read(), self.own_actions()]
        if self.may("actions.close_action"):
            found.append(self.actions_to_judge())
        found.append(self.own_complaints())
        if self.may("complaints.complete_complaint"):
            found.append(self.complaints_to_triage())
        if self.may("complaints.complete_complaint"):
            found.append(self.complaints_to_complete())
        if self.may("complaints.submit_complaint"):
            found.append(self.drafts())
        found.append(self.own_audits())
        if self.may("audits.complete_auditrecord"):
            found.append(self.audits_of_the_site())
        if self.may("audits.add_auditrecord"):
            found.append(self.programs_to_schedule())
        if self.may("documents.change_document"):
            found.append(self.documents_to_renew())
        return found

    def may(self, permission: str) -> bool:
        """Return whether the person may do this at the current site."""
        return self.site is not None and access.may(self.user, self.site, permission)

    def documents_to_sign(self) -> Section:
        """Return the versions that wait for this person's review or approval, at all of their sites."""
        section = Section(
            "sign",
            "Documents to review or approve",
            "No document waits for you. When it is your turn you also get a mail.",
            list_url=reverse("admin:documents_inbox"),
        )
        rows = waiting_for(self.user)
        section.total = counted(rows)
        section.rows = [
            Waiting(
                f"{signer.version.document.name}, version {signer.version.version}",
                reverse("admin:documents_sign", args=(signer.version_id,)),
                "Review" if signer.duty == Duty.REVIEW else "Approve",
                f"since {shown(signer.version.created, day=True)}",
                self.elsewhere(signer.version.site_id),
            )
            for signer in rows[:SHOWN]
        ]
        return section

    def documents_to_read(self) -> Section:
        """Return the versions in force that this person must read, at all of their sites."""
        section = Section(
            "read",
            "Documents that you must read",
            "You have read everything that your roles must read.",
            list_url=reverse("admin:documents_reading"),
        )
        rows = reading.waiting_for(self.user)
        section.total = counted(rows)
        section.rows = [
            Waiting(
                f"{version.document.name}, version {version.version}",
                reverse("admin:documents_read", args=(version.pk,)),
                "Read",
                self.due(reading.due(version)),
                self.elsewhere(version.site_id),
                self.is_late(reading.due(version)),
            )
            for version in rows[:SHOWN]
        ]
        return section

    def own_actions(self) -> Section:
        """Return the open actions that this person owns, at all sites where they may see actions."""
        section = Section(
            "actions",
            "My actions",
            "You have no open action.",
            list_url=list_of(self.admin_site, Action, mine="yes", record_status__exact=Status.OPEN.value),
            next_url=form_for_new(self.admin_site, Action) if self.may("actions.add_action") else "",
            next_label="Add an action",
        )
        sites = access.sites_where(self.user, "actions.view_action")
        rows = Action.objects.filter(owner=self.user, record_status=Status.OPEN, is_archived=False, site__in=sites)
        return self._actions(section, rows, "Do it and mark it as done")

    def actions_to_judge(self) -> Section:
        """Return the current site's actions that are Done and that this person may close."""
        section = Section(
            "judge",
            "Actions to judge",
            "No action of others waits to be judged.",
            list_url=list_of(self.admin_site, Action, record_status__exact=Status.DONE.value),
        )
        done = Action.objects.filter(site=self.site, record_status=Status.DONE, is_archived=False)
        others = done.exclude(owner=self.user).filter(~Q(done_by=self.user) | Q(done_by=None))
        others = existing_for(self.user, others, [self.key])
        return self._actions(section, others, "Judge whether it worked")

    def _actions(self, section: Section, rows: QuerySet[Action], task: str) -> Section:
        section.total = counted(rows)
        section.rows = [
            Waiting(
                row.name,
                page_of(self.admin_site, Action, row.pk),
                f"{task}, priority {row.priority}" if row.priority else task,
                self.due(row.due_date),
                self.elsewhere(row.site_id),
                self.is_late(row.due_date),
            )
            for row in rows.order_by("due_date", "id")[:SHOWN]
        ]
        return section

    def own_complaints(self) -> Section:
        """Return the complaints that this person has to answer, at all sites where they may see complaints."""
        section = Section(
            "answer",
            "My complaints",
            "You have no complaint to answer.",
            list_url=list_of(self.admin_site, Complaint, mine="yes", answered_on__isnull="True"),
        )
        sites = access.sites_where(self.user, "complaints.view_complaint")
        rows = Complaint.objects.filter(WAITS_FOR_ANSWER, owner=self.user, is_archived=False, site__in=sites)
        return self._complaints(section, rows.order_by(F("target_date").asc(nulls_last=True), "id"), "Answer")

    def complaints_to_triage(self) -> Section:
        """Return the current site's complaints without owner, severity or target date, lowest number first."""
        section = Section(
            "triage",
            "Complaints to triage",
            "Every open complaint has its owner, severity and target date.",
            list_url=list_of(self.admin_site, Complaint, triage="needed"),
        )
        rows = Complaint.objects.filter(TO_TRIAGE, site=self.site, is_archived=False)
        return self._complaints(section, rows.order_by("site_sequence_id"), "Name owner, severity and target date")

    def _complaints(self, section: Section, rows: QuerySet[Complaint], task: str) -> Section:
        section.total = counted(rows)
        section.rows = [
            Waiting(
                f"Complaint {row.site_sequence_id}",
                page_of(self.admin_site, Complaint, row.pk),
                f"{task}, {row.severity.lower()}" if row.severity else task,
                self.due(row.target_date),
                self.elsewhere(row.site_id),
                self.is_late(row.target_date),
            )
            for row in rows[:SHOWN]
        ]
        return section

    def complaints_to_complete(self) -> Section:
        """Return the current site's complaints that await their review, lowest number first."""
        section = Section(
            "complete",
            "Complaints to complete",
            "No complaint awaits its review.",
            list_url=list_of(self.admin_site, Complaint, record_status__exact=RecordStatus.AWAITING_REVIEW.value),
            next_url=form_for_new(self.admin_site, Complaint) if self.may("complaints.add_complaint") else "",
            next_label="Record a complaint",
        )
        awaiting = Complaint.objects.filter(record_status=RecordStatus.AWAITING_REVIEW, is_archived=False)
        rows = awaiting.filter(site=self.site).order_by("site_sequence_id")
        section.total = counted(rows)
        section.rows = [
            Waiting(
                f"Complaint {row.site_sequence_id}",
                page_of(self.admin_site, Complaint, row.pk),
                f"{row.product}: {row.nonconformance}",
                self.since(row.date),
                is_late=self.is_old(row.date),
            )
            for row in rows.select_related("product", "nonconformance")[:SHOWN]
        ]
        others = [
            key for key in access.sites_where(self.user, "complaints.complete_complaint") if key != self.key and key
        ]
        here = awaiting.filter(site=OuterRef("pk"))
        section.elsewhere = list(
            Site.objects.filter(Exists(here), pk__in=others).order_by("name").values_list("name", flat=True)
        )
        return section

    def drafts(self) -> Section:
        """Return the drafts that this person began at the current site, newest first."""
        section = Section(
            "submit",
            "Your complaint drafts",
            "You have no unfinished drafts.",
            list_url=list_of(self.admin_site, Complaint, record_status__exact=RecordStatus.DRAFT.value),
            next_url=form_for_new(self.admin_site, Complaint),
            next_label="Begin a complaint",
        )
        rows = Complaint.objects.filter(
            site=self.site, record_status=RecordStatus.DRAFT, created_by=self.user, is_archived=False
        ).order_by("-created", "id")
        section.total = counted(rows)
        section.rows = [
            Waiting(
                f"Draft: {row.product}" if row.product else "Draft",
                page_of(self.admin_site, Complaint, row.pk),
                "Complete and submit",
                f"since {shown(row.created, day=True)}",
            )
            for row in rows.select_related("product")[:SHOWN]
        ]
        return section

    def own_audits(self) -> Section:
        """Return the audits due that this person carries out, at all sites where they may see audits."""
        section = Section("audit", "Audits that you carry out", f"No audit of yours is due within {AHEAD.days} days.")
        sites = access.sites_where(self.user, "audits.view_auditrecord")
        mine = AuditRecord.objects.filter(site__in=sites, auditors=self.user.pk)
        return self._audits(section, mine)

    def audits_of_the_site(self) -> Section:
        """Return the current site's other audits that are due, for who may complete them."""
        section = Section(
            "audits",
            "Audits of others",
            f"No other audit is due within {AHEAD.days} days.",
            list_url=list_of(
                self.admin_site,
                AuditRecord,
                record_status__in=",".join(OPEN),
                **address_part("due_date", None, self.today + AHEAD),
            ),
        )
        mine = AuditRecord.auditors.through.objects.filter(auditrecord=OuterRef("pk"), employee=self.user.pk)
        return self._audits(section, AuditRecord.objects.filter(~Exists(mine), site=self.site))

    def _audits(self, section: Section, rows: QuerySet[AuditRecord]) -> Section:
        due = rows.filter(self.is_due("due_date"), is_archived=False, record_status__in=OPEN).order_by("due_date", "id")
        section.total = counted(due)
        section.rows = [
            Waiting(
                str(row),
                page_of(self.admin_site, AuditRecord, row.pk),
                row.record_status,
                self.due(row.due_date),
                self.elsewhere(row.site_id),
                self.is_late(row.due_date),
            )
            for row in due.select_related("audit_program")[:SHOWN]
        ]
        return section

    def programs_to_schedule(self) -> Section:
        """Return the current site's audit programs that are due while no audit of theirs is planned."""
        section = Section(
            "schedule",
            "Audits to schedule",
            "Every audit program that is due has its audit planned.",
            list_url=list_of(self.admin_site, AuditProgram),
        )
        planned = AuditRecord.objects.filter(audit_program=OuterRef("pk"), is_archived=False, record_status__in=OPEN)
        rows = AuditProgram.objects.filter(
            self.is_due("next_due_date"), ~Exists(planned), site=self.site, is_archived=False
        ).order_by("next_due_date", "id")
        section.total = counted(rows)
        section.rows = [
            Waiting(
                row.name,
                page_of(self.admin_site, AuditProgram, row.pk),
                "Schedule an audit",
                self.due(row.next_due_date),
                is_late=self.is_late(row.next_due_date),
            )
            for row in rows[:SHOWN]
        ]
        return section

    def documents_to_renew(self) -> Section:
        """Return the current site's documents whose next review is due."""
        section = Section(
            "renew",
            "Documents due for review",
            f"No document has to be looked through within {AHEAD.days} days.",
            list_url=list_of(self.admin_site, Document, **address_part("review_date", None, self.today + AHEAD)),
        )
        due = Document.objects.filter(self.is_due("review_date"), site=self.site, is_archived=False)
        rows = documents_for(self.user, due, [self.key])
        section.total = counted(rows)
        section.rows = [
            Waiting(
                row.name,
                page_of(self.admin_site, Document, row.pk),
                "Review",
                self.due(row.review_date),
                is_late=self.is_late(row.review_date),
            )
            for row in rows.order_by("review_date", "id")[:SHOWN]
        ]
        return section

    @property
    def key(self) -> Any:
        """Return the current site's id, or None."""
        return self.site.pk if self.site else None

    def elsewhere(self, site_id: Any) -> str:
        """Return the name of the site where it is not the current one."""
        return "" if site_id == self.key or site_id not in self.sites else self.sites[site_id].name

    def is_due(self, field_name: str) -> Q:
        """Return the condition that the field's day has passed or comes soon."""
        return before(field_name, self.today + AHEAD + datetime.timedelta(days=1), CALENDAR)

    def is_late(self, moment: datetime.datetime | None) -> bool:
        """Return whether the moment's day has passed."""
        return moment is not None and day_of(moment, CALENDAR) < self.today

    def is_old(self, moment: datetime.datetime | None) -> bool:
        """Return whether something has waited longer than LONG."""
        return moment is not None and self.today - day_of(moment, self.zone) > LONG

    def since(self, moment: datetime.datetime | None) -> str:
        """Return since when something waits, and for how long: `of 2026-02-14, 9 months ago`."""
        if moment is None:
            return ""
        day = day_of(moment, self.zone)
        days = (self.today - day).days
        months = days // 30
        ago = "yesterday" if days == 1 else f"{days} days ago" if days > 1 else "today"
        ago = f"{months} months ago" if months > 1 else ago
        return f"of {day}, {ago}"

    def due(self, moment: datetime.datetime | None) -> str:
        """Return when something is due, in words."""
        if moment is None:
            return ""
        day = day_of(moment, CALENDAR)
        return f"overdue since {day}" if day < self.today else "due today" if day == self.today else f"due {day}"


def counted(rows: QuerySet[Any]) -> int:
    """Return how many rows there are, up to one more than a thousand."""
    return rows.order_by()[: MOST_COUNTED + 1].count()
