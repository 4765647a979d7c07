"""What the holders of a site's jobs must have, course by course and document by document, and what they lack."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext

from documents.models import IN_FORCE, Document, DocumentVersion, Reading
from records.accounts import access
from records.accounts.models import User
from records.backoffice.about import existing_for
from records.backoffice.current import current_site, user_of, zone_of
from records.backoffice.date_filters import today_at
from records.backoffice.extension_points import RecordLink
from records.employees.models import Course, EducationTraining, Employee, JobDescription
from records.sites.models import Site

SEE = "employees.change_jobdescription"
SOON = datetime.timedelta(days=30)
"""How long before it expires a training is shown among the gaps."""
PAGE = 100
VALID, ENDS_SOON, EXPIRED, MISSING = "valid", "soon", "expired", "missing"


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a person must have for a job, and its state: valid, soon to expire, expired or missing."""

    person: Employee
    job: JobDescription
    name: str
    state: str
    text: str


@dataclass(slots=True)
class Summary:
    """How many holders of a job have one thing that the job requires."""

    job: JobDescription
    name: str
    holders: int = 0
    fulfilled: int = 0


def addresses(admin_site: Any) -> Sequence[Any]:
    """Return the page's address below /admin/."""
    return [path("training/", admin_site.admin_view(training), name="training")]


def links(request: HttpRequest) -> Sequence[RecordLink]:
    """Return the menu's line for those who may change job descriptions."""
    site = current_site(request)
    if site is None or not access.may(user_of(request), site, SEE):
        return ()
    return (RecordLink("training", gettext("Training matrix"), reverse("admin:training"), "Reports"),)


def needs_at(site: Site, today: datetime.date, user: User) -> list[Need]:
    """Return what everybody with a job at the site must have, by person, job and name; a fixed number of queries.

    Documents that do not exist for the user are left out.
    """
    active = {"is_archived": False}
    documents_seen = existing_for(user, Document.objects.filter(**active), [site.pk])
    jobs = (
        JobDescription.objects.at(site)
        .filter(**active)
        .prefetch_related(
            Prefetch("employees", Employee.objects.filter(**active)),
            Prefetch("required_courses", Course.objects.filter(**active)),
            Prefetch("required_documents", documents_seen),
        )
    )
    people = {person.pk: person for job in jobs for person in job.employees.all()}
    taken: dict[tuple[uuid.UUID, uuid.UUID], datetime.datetime] = {}
    rows = EducationTraining.objects.filter(employee__in=people, course__isnull=False, completed_on__isnull=False)
    for row in rows.order_by("completed_on"):
        if row.course_id is not None and row.completed_on is not None:
            taken[row.employee_id, row.course_id] = row.completed_on
    documents = {document.pk for job in jobs for document in job.required_documents.all()}
    in_force = dict(
        DocumentVersion.objects.filter(document__in=documents, record_status__in=IN_FORCE).values_list(
            "document_id", "version"
        )
    )
    read: dict[tuple[uuid.UUID, uuid.UUID], int] = defaultdict(int)
    readings = Reading.objects.filter(document__in=documents, user__in=people)
    for user_id, document_id, number in readings.values_list("user_id", "document_id", "version__version"):
        read[user_id, document_id] = max(read[user_id, document_id], number)
    found = []
    for job in jobs:
        for person in job.employees.all():
            for course in job.required_courses.all():
                found.append(Need(person, job, course.name, *_course(course, taken.get((person.pk, course.pk)), today)))
            for document in job.required_documents.all():
                state = _document(in_force.get(document.pk), read.get((person.pk, document.pk), 0))
                found.append(Need(person, job, document.name, *state))
    found.sort(key=lambda need: (str(need.person).casefold(), str(need.person.pk), need.job.name, need.name))
    return found


def _course(course: Course, completed: datetime.datetime | None, today: datetime.date) -> tuple[str, str]:
    if completed is None:
        return MISSING, gettext("Missing")
    last = course.expires(completed)
    if last is None:
        return VALID, gettext("Valid for ever")
    if last < today:
        return EXPIRED, gettext("Expired on %(last)s") % {"last": last}
    return ENDS_SOON if last <= today + SOON else VALID, gettext("Valid until %(last)s") % {"last": last}


def _document(in_force: int | None, read: int) -> tuple[str, str]:
    if in_force is None:
        return VALID, gettext("No version is in force")
    if read >= in_force:
        return VALID, gettext("Has read version %(read)s") % {"read": read}
    return (
        (EXPIRED, gettext("Expired: read version %(read)s") % {"read": read}) if read else (MISSING, gettext("Missing"))
    )


def by_job(needs: Sequence[Need]) -> list[Summary]:
    """Return how many holders of each job have each thing that it requires, by job and name."""
    found: dict[tuple[uuid.UUID, str], Summary] = {}
    for need in needs:
        line = found.setdefault((need.job.pk, need.name), Summary(need.job, need.name))
        line.holders += 1
        line.fulfilled += need.state in (VALID, ENDS_SOON)
    return sorted(found.values(), key=lambda line: (line.job.name.casefold(), str(line.job.pk), line.name))


def training(request: HttpRequest) -> HttpResponse:
    """Show the gaps of the current site by person or by job, or everything that its jobs require."""
    site = current_site(request)
    if site is None or not access.may(user_of(request), site, SEE):
        raise PermissionDenied
    needs = needs_at(site, today_at(zone_of(site)), user_of(request))
    gaps = [need for need in needs if need.state != VALID]
    by, everything = request.GET.get("by"), request.GET.get("show") == "all"
    lines: Sequence[Any] = by_job(needs) if by == "job" else needs if everything else gaps
    context = {
        **admin.site.each_context(request),
        "title": gettext("Training matrix of %(site)s") % {"site": site},
        "by_job": by == "job",
        "everything": everything,
        "page": Paginator(lines, PAGE).get_page(request.GET.get("page")),
        "required": len(needs),
        "fulfilled": sum(need.state in (VALID, ENDS_SOON) for need in needs),
    }
    return TemplateResponse(request, "dashboard/training.html", context)
