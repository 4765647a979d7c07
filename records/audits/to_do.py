"""Audits that are due, and audit programs for which an audit has to be scheduled."""

import datetime
import uuid
from collections.abc import Collection

from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from records.accounts import access
from records.audits.models import OPEN, AuditProgram, AuditRecord
from records.audits.schedule import REGULAR, free_dates
from records.backoffice.about import address_of, list_of
from records.backoffice.date_filters import address_part
from records.backoffice.to_do import AHEAD, Line, Section, ToDo, Viewer

CARRY_OUT = "audits.change_auditrecord"
LESS_THAN_A_MONTH = datetime.timedelta(days=27)


def own_audits(viewer: Viewer) -> Section | None:
    """Return the audits due that this person carries out and may fill in, at all sites; None if there are none."""
    sites = access.sites_where(viewer.user, CARRY_OUT)
    section = Section(
        "audit",
        gettext("Audits that you carry out"),
        gettext("No audit of yours is due within %(days)s days.") % {"days": AHEAD.days},
    )
    return _fill(viewer, section, _naming_viewer(viewer, sites)) if sites else None


def audits_naming_viewer(viewer: Viewer) -> Section | None:
    """Return the audits due that name this person as auditor but that somebody else fills in.

    Their roles allow them to read those audits only; None if there is no site where that is so.
    """
    readable = access.sites_where(viewer.user, "audits.view_auditrecord")
    sites = set(readable) - set(access.sites_where(viewer.user, CARRY_OUT))
    if not sites:
        return None
    section = Section("audit-named", gettext("Audits that name you as auditor"), "")
    task = gettext("%(status)s; somebody whose role may change audits fills it in")
    return _fill(viewer, section, _naming_viewer(viewer, sites), task)


def _naming_viewer(viewer: Viewer, sites: Collection[uuid.UUID]) -> QuerySet[AuditRecord]:
    return AuditRecord.objects.filter(site__in=sites, auditors=viewer.user.pk)


def of_others(viewer: Viewer) -> Section:
    """Return the current site's other audits that are due, for a person who may complete them."""
    section = Section(
        "audits",
        gettext("Audits of others"),
        gettext("No other audit is due within %(days)s days.") % {"days": AHEAD.days},
        list_url=list_of(
            AuditRecord,
            record_status__in=",".join(OPEN),
            **address_part("due_date", None, viewer.today + AHEAD),
        ),
    )
    audits_by_user = AuditRecord.auditors.through.objects.filter(auditrecord=OuterRef("pk"), employee=viewer.user.pk)
    return _fill(viewer, section, AuditRecord.objects.at(viewer.site).filter(~Exists(audits_by_user)))


def to_schedule(viewer: Viewer) -> Section:
    """Return the current site's audit programs for whose due date no audit is planned; one query."""
    section = Section(
        "schedule",
        gettext("Audits to schedule"),
        gettext("Every audit program that is due has its audit planned."),
        list_url=list_of(AuditProgram),
    )
    programs = AuditProgram.objects.at(viewer.site).filter(viewer.is_due("next_due_date"), is_archived=False)
    # All planned audits at once: for each program by itself, PostgreSQL would read all open audits of the site again.
    due = F("audit_program__next_due_date")
    planned_audits = AuditRecord.objects.at(viewer.site).filter(
        REGULAR,
        viewer.is_due("audit_program__next_due_date"),
        audit_program__is_archived=False,
        record_status__in=OPEN,
        due_date__gte=due,
    )
    of_program = ("audit_program", "audit_program__next_due_date", "audit_program__frequency_months")
    earliest = planned_audits.order_by().values_list(*of_program).annotate(earliest=Min("due_date"))
    skipped_programs = [
        key
        for key, first, months, day in earliest.filter(earliest__gt=due)
        if months and day - first > months * LESS_THAN_A_MONTH
        for program in [AuditProgram(next_due_date=first, frequency_months=months)]
        if first == next(free_dates(program, [(day, OPEN[0])], viewer.zone), None)
    ]
    is_unplanned = ~Q(pk__in=planned_audits.order_by().values("audit_program")) | Q(pk__in=skipped_programs)
    rows = programs.filter(is_unplanned)

    def line(program: AuditProgram) -> Line:
        page = address_of(program)
        return viewer.due_line(program.name, page, gettext("Schedule an audit"), program.next_due_date)

    return section.show(rows.order_by("next_due_date", "id"), line)


def _fill(viewer: Viewer, section: Section, rows: QuerySet[AuditRecord], task: str = "%(status)s") -> Section:
    due = rows.filter(viewer.is_due("due_date"), is_archived=False, record_status__in=OPEN)

    def line(record: AuditRecord) -> Line:
        page, text = address_of(record), task % {"status": record.get_record_status_display()}
        return viewer.due_line(str(record), page, text, record.due_date, record.site_id)

    return section.show(due.select_related("audit_program").order_by("due_date", "id"), line)


SECTIONS = (
    ToDo(90, own_audits),
    ToDo(100, audits_naming_viewer),
    ToDo(110, of_others, "audits.complete_auditrecord"),
    ToDo(120, to_schedule, "audits.add_auditrecord"),
)
