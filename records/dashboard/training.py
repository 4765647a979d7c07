"""What the holders of a site's jobs must have, course by course and document by document, and what they lack."""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Exists, F, Max, OuterRef, Prefetch
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents.models import IN_FORCE, Document, DocumentVersion, Reading
from records.accounts import access
from records.accounts.models import User
from records.backoffice.about import existing_for
from records.backoffice.current import current_site, user_of, zone_of
from records.backoffice.date_filters import today_at
from records.backoffice.extension_points import RecordLink
from records.employees.models import Course, EducationTraining, JobDescription
from records.sites.models import Site

SEE = "employees.change_jobdescription"
SOON = datetime.timedelta(days=30)
"""How long before it expires a training is shown among the gaps."""
PAGE = 100
VALID, ENDS_SOON, EXPIRED, MISSING = "valid", "soon", "expired", "missing"
State = tuple[str, Any, datetime.date | int | None]
"""The state of a need, what is said about it, and the day or version that this names."""


class Person(NamedTuple):
    """An employee, as far as the matrix shows them."""

    pk: uuid.UUID
    name: str

    def __str__(self) -> str:
        return self.name


class Need(NamedTuple):
    """One thing that a person must have for a job, and its state: valid, soon to expire, expired or missing."""

    person: Person
    job: JobDescription
    name: str
    state: str
    says: Any
    """What is said about the state, with a place for the last day or for the version that was read."""
    value: datetime.date | int | None = None

    @property
    def text(self) -> str:
        """Return the state in words."""
        return str(self.says) % {"last": self.value, "read": self.value}


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

    Documents that do not exist for the user are left out. Of people, trainings and readings, of which there can be a
    hundred thousand, only columns are read.
    """
    active = {"is_archived": False}
    documents_seen = existing_for(user, Document.objects.filter(**active), [site.pk])
    holding = JobDescription.employees.through.objects.filter(employee__is_archived=False)
    jobs = list(
        JobDescription.objects.at(site)
        .filter(Exists(holding.filter(jobdescription=OuterRef("pk"))), **active)
        .order_by("name", "id")
        .prefetch_related(
            Prefetch("required_courses", Course.objects.filter(**active)),
            Prefetch("required_documents", documents_seen),
        )
    )
    documents = {document.pk for job in jobs for document in job.required_documents.all()}
    in_force = dict(
        DocumentVersion.objects.filter(document__in=documents, record_status__in=IN_FORCE).values_list(
            "document_id", "version"
        )
    )
    readings = Reading.objects.filter(document__in=documents).order_by().values_list("user_id", "document_id")
    read = {(person, document): most for person, document, most in readings.annotate(Max("version__version"))}
    required = {"course": F("employee__job_descriptions__required_courses"), "completed_on__isnull": False}
    trainings = EducationTraining.objects.filter(employee__job_descriptions__in=jobs, **required).order_by()
    pairs = trainings.values_list("employee_id", "course_id").annotate(Max("completed_on"))
    taken = {(person, course): last for person, course, last in pairs}
    jobs_of: dict[Person, list[uuid.UUID]] = defaultdict(list)
    names = ("employee_id", "employee__first_name", "employee__last_name", "jobdescription_id")
    for pk, first_name, last_name, job_id in holding.filter(jobdescription__in=jobs).values_list(*names):
        jobs_of[Person(pk, f"{first_name} {last_name}".strip())].append(job_id)
    needs: dict[uuid.UUID, list[tuple[JobDescription, str, Callable[[uuid.UUID], State]]]] = {}
    for job in jobs:
        courses = [(one.name, partial(_course, one, taken, today)) for one in job.required_courses.all()]
        papers = [(one.name, partial(_document, one.pk, in_force, read)) for one in job.required_documents.all()]
        needs[job.pk] = [(job, name, state) for name, state in sorted(courses + papers, key=itemgetter(0))]
    place = {job.pk: number for number, job in enumerate(jobs)}
    return [
        Need(person, job, name, *state(person.pk))
        for person in sorted(jobs_of, key=lambda person: (person.name.casefold(), str(person.pk)))
        for job_id in sorted(jobs_of[person], key=place.__getitem__)
        for job, name, state in needs[job_id]
    ]


def _course(course: Course, taken: Mapping[Any, datetime.datetime], today: datetime.date, person: uuid.UUID) -> State:
    completed = taken.get((person, course.pk))
    if completed is None:
        return MISSING, _("Missing"), None
    last = course.expires(completed)
    if last is None:
        return VALID, _("Valid for ever"), None
    if last < today:
        return EXPIRED, _("Expired on %(last)s"), last
    return ENDS_SOON if last <= today + SOON else VALID, _("Valid until %(last)s"), last


def _document(
    document: uuid.UUID, in_force: Mapping[uuid.UUID, int], read: Mapping[Any, int], person: uuid.UUID
) -> State:
    version, newest = in_force.get(document), read.get((person, document), 0)
    if version is None:
        return VALID, _("No version is in force"), None
    if newest >= version:
        return VALID, _("Has read version %(read)s"), newest
    return (EXPIRED, _("Expired: read version %(read)s"), newest) if newest else (MISSING, _("Missing"), None)


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
