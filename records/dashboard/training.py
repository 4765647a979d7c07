"""What the holders of a site's jobs must have, course by course and document by document, and what they lack.

A site may have ten thousand people with jobs. The database therefore counts, and only the people of one page are read.
"""

import datetime
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, Exists, F, Max, OuterRef, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from documents.models import Document, Reading
from records.accounts import access
from records.accounts.models import User
from records.backoffice.about import existing_for
from records.backoffice.current import current_site, user_of, zone_of
from records.backoffice.date_filters import bare, today_at
from records.backoffice.extension_points import RecordLink
from records.employees.models import Course, EducationTraining, Employee, JobDescription
from records.sites.models import Site
from records.sites.months import months_after

SEE = "employees.change_jobdescription"
DAY = datetime.timedelta(days=1)
SOON = 30 * DAY
"""How long before it expires a training is shown among the gaps."""
PEOPLE, LINES = 30, 100
"""The numbers of people, and of lines by job, on one page."""
VALID, ENDS_SOON, EXPIRED, MISSING = "valid", "soon", "expired", "missing"
State = tuple[str, Any, datetime.date | int | None]
"""The state of a need, what is said about it, and the day or version that this names."""
Holding: Any = JobDescription.employees.through


class Need(NamedTuple):
    """One thing that a person must have for a job, and its state: valid, soon to expire, expired or missing."""

    person: Employee
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


@dataclass(frozen=True, slots=True)
class Summary:
    """How many holders of a job have one thing that the job requires."""

    job: JobDescription
    name: str
    holders: int
    fulfilled: int


def addresses(admin_site: Any) -> Sequence[Any]:
    """Return the page's address below /admin/."""
    return [path("training/", admin_site.admin_view(training), name="training")]


def links(request: HttpRequest) -> Sequence[RecordLink]:
    """Return the menu's line for those who may change job descriptions."""
    site = current_site(request)
    if site is None or not access.may(user_of(request), site, SEE):
        return ()
    return (RecordLink("training", gettext("Training matrix"), reverse("admin:training"), "Reports"),)


class Requirements:
    """What the jobs of a site require of their holders; documents that do not exist for the user are left out."""

    def __init__(self, site: Site, today: datetime.date, user: User) -> None:
        """Read the jobs that require something, with their courses and documents; four queries at most."""
        self.site, self.today = site, today
        active = {"is_archived": False}
        jobs = JobDescription.objects.at(site).filter(**active).order_by("name", "id")
        documents = existing_for(user, Document.objects.filter(**active), [site.pk])
        read = jobs.prefetch_related(
            Prefetch("required_courses", Course.objects.filter(**active)), Prefetch("required_documents", documents)
        )
        self.jobs = [job for job in read if job.required_courses.all() or job.required_documents.all()]
        self.courses = {course.pk: course for job in self.jobs for course in job.required_courses.all()}
        self.in_force = {
            document.pk: document.effective_version for job in self.jobs for document in job.required_documents.all()
        }

    @property
    def _held(self) -> QuerySet[Any]:
        return Holding.objects.filter(jobdescription__in=[job.pk for job in self.jobs], employee__is_archived=False)

    def _without_course(self, day: datetime.date) -> QuerySet[Any]:
        """Return the holders of jobs, once for each course (`needed`) that does not count on the day."""
        first_days: dict[datetime.date | None, list[uuid.UUID]] = defaultdict(list)
        for course in self.courses.values():
            first_days[first_day_of(course, day)].append(course.pk)
        counts = Q(pk__in=())
        for first, courses in first_days.items():
            counts |= Q(course__in=courses, **({"completed_on__gte": bare(first)} if first else {}))
        valid = EducationTraining.objects.filter(counts, completed_on__isnull=False)
        rows = self._held.annotate(needed=F("jobdescription__required_courses")).filter(needed__in=list(self.courses))
        return rows.filter(~Exists(valid.filter(employee=OuterRef("employee"), course=OuterRef("needed"))))

    @property
    def _without_document(self) -> QuerySet[Any]:
        """Return the holders of jobs, once for each document (`needed`) whose version in force they have not read."""
        documents = [document for document, version in self.in_force.items() if version is not None]
        newest = Reading.objects.filter(version__version__gte=F("document__effective_version"))
        rows = self._held.annotate(needed=F("jobdescription__required_documents")).filter(needed__in=documents)
        return rows.filter(~Exists(newest.filter(user=OuterRef("employee"), document=OuterRef("needed"))))

    def holders(self, *, with_gaps: bool = False) -> QuerySet[Employee]:
        """Return the people with a job that requires something, or those who lack some of it or soon will, by name."""
        people = Employee.objects.at(self.site).filter(is_archived=False).order_by("last_name", "first_name", "id")
        if not with_gaps:
            return people.filter(pk__in=self._held.values("employee"))
        courses = self._without_course(self.today + SOON + DAY)
        return people.filter(Q(pk__in=courses.values("employee")) | Q(pk__in=self._without_document.values("employee")))

    def by_job(self) -> list[Summary]:
        """Return how many holders of each job have each thing that it requires, by job and name; three queries."""
        held = self._held.values_list("jobdescription")
        holders = dict(held.annotate(count=Count("employee")))
        lacking: Counter[tuple[uuid.UUID, uuid.UUID]] = Counter()
        for rows in (self._without_course(self.today), self._without_document):
            for job_id, needed, count in rows.values_list("jobdescription", "needed").annotate(count=Count("employee")):
                lacking[job_id, needed] = count
        return [
            Summary(job, need.name, holders[job.pk], holders[job.pk] - lacking[job.pk, need.pk])
            for job in self.jobs
            if job.pk in holders
            for need in sorted(_required(job), key=lambda need: need.name)
        ]

    def needs_of(self, people: Sequence[Employee]) -> list[Need]:
        """Return everything that these people must have, by person, job and name; three queries."""
        taken = EducationTraining.objects.filter(employee__in=people, course__in=list(self.courses))
        completed = taken.filter(completed_on__isnull=False).order_by().values_list("employee", "course")
        last = {(person, course): day for person, course, day in completed.annotate(Max("completed_on"))}
        readings = Reading.objects.filter(user__in=[person.pk for person in people], document__in=list(self.in_force))
        versions = readings.order_by().values_list("user", "document").annotate(Max("version__version"))
        read = {(person, document): version for person, document, version in versions}
        states: dict[uuid.UUID, Callable[[uuid.UUID], State]] = {
            **{key: partial(_course, course, last, self.today) for key, course in self.courses.items()},
            **{key: partial(_document, key, version, read) for key, version in self.in_force.items()},
        }
        jobs_of: dict[uuid.UUID, set[uuid.UUID]] = defaultdict(set)
        for person, job in self._held.filter(employee__in=people).values_list("employee", "jobdescription"):
            jobs_of[person].add(job)
        return [
            Need(person, job, need.name, *states[need.pk](person.pk))
            for person in people
            for job in self.jobs
            if job.pk in jobs_of[person.pk]
            for need in sorted(_required(job), key=lambda need: need.name)
        ]


def _required(job: JobDescription) -> list[Any]:
    return [*job.required_courses.all(), *job.required_documents.all()]


def first_day_of(course: Course, day: datetime.date) -> datetime.date | None:
    """Return the first day on which a course that counts on the given day can have been completed.

    Returns None for a course that counts for ever. See `Course.expires`, which counts in the other direction.
    """
    if course.months_of_validity is None:
        return None
    first = months_after(day, -course.months_of_validity)
    if first is None:
        return datetime.date.min
    return first if first.day == day.day else first + DAY


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


def _document(document: uuid.UUID, in_force: int | None, read: Mapping[Any, int], person: uuid.UUID) -> State:
    newest = read.get((person, document), 0)
    if in_force is None:
        return VALID, _("No version is in force"), None
    if newest >= in_force:
        return VALID, _("Has read version %(read)s"), newest
    return (EXPIRED, _("Expired: read version %(read)s"), newest) if newest else (MISSING, _("Missing"), None)


def training(request: HttpRequest) -> HttpResponse:
    """Show the gaps of the current site by person or by job, or everything that its jobs require."""
    site = current_site(request)
    if site is None or not access.may(user_of(request), site, SEE):
        raise PermissionDenied
    requirements = Requirements(site, today_at(zone_of(site)), user_of(request))
    summary = requirements.by_job()
    by_job, everything = request.GET.get("by") == "job", request.GET.get("show") == "all"
    rows: Any = summary if by_job else requirements.holders(with_gaps=not everything)
    page = Paginator(rows, LINES if by_job else PEOPLE).get_page(request.GET.get("page"))
    needs = [] if by_job else requirements.needs_of(list(page))
    context = {
        **admin.site.each_context(request),
        "title": gettext("Training matrix of %(site)s") % {"site": site},
        "by_job": by_job,
        "everything": everything,
        "page": page,
        "lines": page if by_job else [need for need in needs if everything or need.state != VALID],
        "required": sum(line.holders for line in summary),
        "fulfilled": sum(line.fulfilled for line in summary),
    }
    return TemplateResponse(request, "dashboard/training.html", context)
