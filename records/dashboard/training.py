"""What the holders of a site's jobs must have, course by course and document by document, and what they lack.

A site may have ten thousand people with jobs and a hundred thousand trainings. The database therefore counts what each
person has, and only the trainings and readings of the people on one page are read.
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import or_
from typing import Any, NamedTuple

from django.contrib import admin
from django.contrib.admin import AdminSite
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
from records.employees.models import Course, EducationTraining, JobDescription
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


class Person(NamedTuple):
    """An employee, as far as the matrix shows them."""

    pk: uuid.UUID
    name: str

    def __str__(self) -> str:
        return self.name


class Totals(NamedTuple):
    """How many requirements there are and how many are met, and the people who lack something or soon will."""

    required: int
    fulfilled: int
    gaps: set[uuid.UUID]


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


@dataclass(frozen=True, slots=True)
class Summary:
    """How many holders of a job have one thing that the job requires."""

    job: JobDescription
    name: str
    holders: int
    fulfilled: int


def addresses(admin_site: AdminSite) -> Sequence[Any]:
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
        needs_something = [
            Exists(required.objects.filter(jobdescription=OuterRef("pk")))
            for required in (JobDescription.required_courses.through, JobDescription.required_documents.through)
        ]
        jobs = JobDescription.objects.at(site).filter(reduce(or_, needs_something), **active).only("name")
        documents = existing_for(user, Document.objects.filter(**active), [site.pk])
        read = jobs.order_by("name", "id").prefetch_related(
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

    def _counting(self, day: datetime.date) -> Q:
        """Return the condition that a training counts on the day."""
        first_days: dict[datetime.date | None, list[uuid.UUID]] = defaultdict(list)
        for course in self.courses.values():
            first_days[first_day_of(course, day)].append(course.pk)
        counts = Q(pk__in=())
        for first, courses in first_days.items():
            counts |= Q(course__in=courses, **({"completed_on__gte": bare(first)} if first else {}))
        return counts & Q(completed_on__isnull=False)

    @property
    def _taken(self) -> QuerySet[Any]:
        """Return the trainings that count today, once for each job (`job`) of the person that requires the course."""
        required = JobDescription.required_courses.through.objects
        meant = required.filter(jobdescription=OuterRef("job"), course=OuterRef("course"))
        rows = EducationTraining.objects.filter(self._counting(self.today), employee__is_archived=False).order_by()
        rows = rows.annotate(job=F("employee__job_descriptions")).filter(job__in=[job.pk for job in self.jobs])
        return rows.filter(Exists(meant))

    @property
    def _read(self) -> QuerySet[Any]:
        """Return the holders of jobs, once for each document (`needed`) whose version in force they have read."""
        documents = [document for document, version in self.in_force.items() if version is not None]
        newest = Reading.objects.filter(version__version__gte=F("document__effective_version"))
        rows = self._held.annotate(needed=F("jobdescription__required_documents")).filter(needed__in=documents)
        return rows.filter(Exists(newest.filter(user=OuterRef("employee"), document=OuterRef("needed"))))

    @cached_property
    def holdings(self) -> list[tuple[Person, uuid.UUID]]:
        """Return who holds which job that requires something, by the names of the people; one query."""
        names = ("employee__last_name", "employee__first_name")
        rows = self._held.order_by(*names, "employee").values_list(*names, "employee", "jobdescription")
        return [(Person(pk, f"{first_name} {last_name}".strip()), job) for last_name, first_name, pk, job in rows]

    def people(self) -> list[Person]:
        """Return everybody who holds a job that requires something, by name."""
        return list(dict.fromkeys(person for person, _ in self.holdings))

    def totals(self) -> Totals:
        """Return how much is required and met today, and who lacks something or soon will; two queries."""
        later = self._counting(self.today + SOON + DAY)
        courses = Count("course", distinct=True)
        taken = self._taken.values_list("employee", "job")
        met: dict[Any, tuple[int, int]] = {
            (person, job): (now, soon)
            for person, job, now, soon in taken.annotate(now=courses, soon=Count("course", distinct=True, filter=later))
        }
        read = {
            (person, job): count
            for person, job, count in self._read.values_list("employee", "jobdescription").annotate(count=Count("*"))
        }
        # A document of which no version is in force does not have to be read yet.
        needed = {job.pk: len(_required(job)) for job in self.jobs}
        idle = {job.pk: sum(self.in_force.get(one.pk, 0) is None for one in _required(job)) for job in self.jobs}
        required, fulfilled, gaps = 0, 0, set()
        for (person, _name), job in self.holdings:
            now, soon = met.get((person, job), (0, 0))
            beside = read.get((person, job), 0) + idle[job]
            required += needed[job]
            fulfilled += now + beside
            if soon + beside < needed[job]:
                gaps.add(person)
        return Totals(required, fulfilled, gaps)

    def by_job(self) -> list[Summary]:
        """Return how many holders of each job have each thing that it requires, by job and name; three queries."""
        holders = dict(self._held.values_list("jobdescription").annotate(count=Count("employee")))
        taken = self._taken.values_list("job", "course").annotate(count=Count("employee", distinct=True))
        read = self._read.values_list("jobdescription", "needed").annotate(count=Count("employee"))
        met = {(job, needed): count for rows in (taken, read) for job, needed, count in rows}
        return [
            Summary(
                job,
                one.name,
                holders[job.pk],
                holders[job.pk] if self.in_force.get(one.pk, 0) is None else met.get((job.pk, one.pk), 0),
            )
            for job in self.jobs
            if job.pk in holders
            for one in sorted(_required(job), key=lambda one: one.name)
        ]

    def needs_of(self, people: Sequence[Person]) -> list[Need]:
        """Return everything that these people must have, by person, job and name; two queries."""
        keys = [person.pk for person in people]
        taken = EducationTraining.objects.filter(employee__in=keys, course__in=list(self.courses))
        completed = taken.filter(completed_on__isnull=False).order_by().values_list("employee", "course")
        last = {(person, course): day for person, course, day in completed.annotate(Max("completed_on"))}
        readings = Reading.objects.filter(user__in=keys, document__in=list(self.in_force))
        versions = readings.order_by().values_list("user", "document").annotate(Max("version__version"))
        read = {(person, document): version for person, document, version in versions}
        states: dict[uuid.UUID, Callable[[uuid.UUID], State]] = {
            **{key: partial(_course, course, last, self.today) for key, course in self.courses.items()},
            **{key: partial(_document, key, version, read) for key, version in self.in_force.items()},
        }
        jobs_of: dict[Person, set[uuid.UUID]] = {person: set() for person in people}
        for person, job_id in self.holdings:
            if person in jobs_of:
                jobs_of[person].add(job_id)
        return [
            Need(person, job, need.name, *states[need.pk](person.pk))
            for person in people
            for job in self.jobs
            if job.pk in jobs_of[person]
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
    by_job, everything = request.GET.get("by") == "job", request.GET.get("show") == "all"
    lines: Sequence[Any] = requirements.by_job() if by_job else ()
    rows, size = lines, LINES
    if by_job:
        required, fulfilled = sum(line.holders for line in lines), sum(line.fulfilled for line in lines)
    else:
        required, fulfilled, gaps = requirements.totals()
        rows, size = [one for one in requirements.people() if everything or one.pk in gaps], PEOPLE
    page = Paginator(rows, size).get_page(request.GET.get("page"))
    if by_job:
        lines = list(page)
    else:
        lines = [need for need in requirements.needs_of(list(page)) if everything or need.state != VALID]
    context = {
        **admin.site.each_context(request),
        "title": gettext("Training matrix of %(site)s") % {"site": site},
        "by_job": by_job,
        "everything": everything,
        "page": page,
        "lines": lines,
        "required": required,
        "fulfilled": fulfilled,
    }
    return TemplateResponse(request, "dashboard/training.html", context)
