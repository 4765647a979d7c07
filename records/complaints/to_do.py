"""Complaints that the person has to answer, to triage, to complete or to submit."""

from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils.translation import gettext

from records.accounts import access
from records.backoffice.about import address_of, list_of
from records.backoffice.to_do import Line, Section, ToDo, Viewer
from records.complaints.filters import TO_TRIAGE, WAITS_FOR_ANSWER
from records.complaints.models import Complaint, RecordStatus
from records.sites.models import Site


def own_complaints(viewer: Viewer) -> Section:
    """Return the complaints that this person has to answer, at all sites where they may see complaints."""
    section = Section(
        "answer",
        gettext("My complaints"),
        gettext("You have no complaint to answer."),
        list_url=list_of(Complaint, mine="yes", answered_on__isnull="True"),
    )
    sites = access.sites_where(viewer.user, "complaints.view_complaint")
    rows = Complaint.objects.filter(WAITS_FOR_ANSWER, owner=viewer.user, is_archived=False, site__in=sites)
    return _fill(viewer, section, rows.order_by(F("target_date").asc(nulls_last=True), "id"), gettext("Answer"))


def to_triage(viewer: Viewer) -> Section:
    """Return the current site's complaints without owner, severity or target date, lowest number first."""
    section = Section(
        "triage",
        gettext("Complaints to triage"),
        gettext("Every open complaint has its owner, severity and target date."),
        list_url=list_of(Complaint, triage="needed"),
    )
    rows = Complaint.objects.at(viewer.site).filter(TO_TRIAGE, is_archived=False).order_by("site_sequence_id")
    return _fill(viewer, section, rows, gettext("Name owner, severity and target date"))


def to_complete(viewer: Viewer) -> Section:
    """Return the current site's complaints that await their review, lowest number first."""
    section = Section(
        "complete",
        gettext("Complaints to complete"),
        gettext("No complaint awaits its review."),
        list_url=list_of(Complaint, record_status__exact=RecordStatus.AWAITING_REVIEW.value),
        next_url=viewer.form_for(Complaint, "complaints.add_complaint"),
        next_label=gettext("Record a complaint"),
    )
    awaiting_review = Complaint.objects.filter(record_status=RecordStatus.AWAITING_REVIEW, is_archived=False)
    other_sites = set(access.sites_where(viewer.user, "complaints.complete_complaint")) - {viewer.site_id, None}
    sites = Site.objects.filter(Exists(awaiting_review.filter(site=OuterRef("pk"))), pk__in=other_sites)
    section.other_sites = list(sites.order_by("name").values_list("name", flat=True))

    def line(complaint: Complaint) -> Line:
        return Line(
            _name_of(complaint),
            address_of(complaint),
            f"{complaint.product}: {complaint.nonconformance}",
            viewer.since(complaint.date),
            is_late=viewer.is_old(complaint.date),
        )

    rows = awaiting_review.at(viewer.site).order_by("site_sequence_id")
    return section.show(rows.select_related("product", "nonconformance"), line)


def drafts(viewer: Viewer) -> Section:
    """Return the drafts that this person began at the current site, newest first."""
    section = Section(
        "submit",
        gettext("Your complaint drafts"),
        gettext("You have no unfinished drafts."),
        list_url=list_of(Complaint, record_status__exact=RecordStatus.DRAFT.value),
        next_url=viewer.form_for(Complaint),
        next_label=gettext("Start a complaint"),
    )
    rows = Complaint.objects.at(viewer.site).filter(
        record_status=RecordStatus.DRAFT, created_by=viewer.user, is_archived=False
    )

    def line(draft: Complaint) -> Line:
        return Line(
            gettext("Draft: %(product)s") % {"product": draft.product} if draft.product else gettext("Draft"),
            address_of(draft),
            gettext("Complete and submit"),
            viewer.since_day(draft.created),
        )

    return section.show(rows.order_by("-created", "id").select_related("product"), line)


def _name_of(complaint: Complaint) -> str:
    return gettext("Complaint %(site_sequence_id)s") % {"site_sequence_id": complaint.site_sequence_id}


def _fill(viewer: Viewer, section: Section, rows: QuerySet[Complaint], task: str) -> Section:
    def line(complaint: Complaint) -> Line:
        severity = complaint.get_severity_display().lower()
        text = f"{task}, {severity}" if severity else task
        name, page = _name_of(complaint), address_of(complaint)
        return viewer.due_line(name, page, text, complaint.target_date, complaint.site_id)

    return section.show(rows, line)


SECTIONS = (
    ToDo(50, own_complaints),
    ToDo(60, to_triage, "complaints.complete_complaint"),
    ToDo(70, to_complete, "complaints.complete_complaint"),
    ToDo(80, drafts, "complaints.submit_complaint"),
)
