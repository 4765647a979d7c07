"""What the holders of a site's jobs must have, course by course and document by document, and what they lack.

A site may have ten thousand people with jobs and a hundred thousand trainings. The database therefore counts what each
person has, and only the trainings and readings of the people on one page are read.
"""

import datetime
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import Count, Exists, F, Max, OuterRef, Prefetch, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from documents.models import Document, Reading
from documents.reading import readers_of
from records.accounts.models import User
from records.backoffice.about import existing_for
from records.backoffice.current import site_where, user_of, zone_of
from records.backoffice.date_filters import bare, today_at
from records.backoffice.extension_points import menu_link
from records.backoffice.responses import page_response
from records.backoffice.transfer.sheets import KINDS, Line, report_file
from records.employees.models import Course, EducationTraining, Employee, JobDescription
from records.history.counting import UNCACHED, Counting
from records.sites.models import Site
from records.sites.months import months_after

SEE = "employees.change_jobdescription"
DAY = datetime.timedelta(days=1)
SOON = 30 * DAY
"""How long before it expires a training is shown among the gaps."""
PEOPLE, LINES = 30, 100
"""The numbers of people, and of lines by job, on one page."""
VALID, ENDS_SOON, EXPIRED, MISSING = "valid", "soon", "expired", "missing"
State = tuple[str, Any, datetime.date | int | None, datetime.date | None]
"""The state of a need, the text about it, the day or version that the text names, and when it was last completed."""
AT_ONCE = 500
"""The number of people whose needs are read together for a file."""
Holding: Any = JobDescription.employees.through
TRAINING = "employee__education_training"
ALL = Q()


class Need(NamedTuple):
    """One thing that a person must have for a job, and its state: valid, soon to expire, expired or missing."""

    person: Employee
    job: JobDescription
    name: str
    state: str
    wording: Any
    """The text about the state, with a placeholder for the last day or for the version that was read."""
    value: datetime.date | int | None = None
    completed: datetime.date | None = None
    """The day on which the course was last completed, or the document last read."""
    is_unasked: bool = False
    """Whether the job requires a document that none of the roles of the person must read."""

    @property
    def text(self) -> str:
        """Return the state in words."""
        return str(self.wording) % {"last": self.value, "read": self.value}


@dataclass(frozen=True, slots=True)
class Summary:
    """How many holders of a job have one thing that the job requires."""

    job: JobDescription
    name: str
    holders: int
    fulfilled: int


menu_links = menu_link("training", _("Training matrix"), "admin:training", SEE, group="Reports")


class Requirements:
    """What the jobs of a site require of their holders; documents that do not exist for the user are left out."""

    def __init__(self, site: Site, today: datetime.date, user: User, count: Counting = UNCACHED) -> None:
        """Read the jobs that require something, with their courses and documents; four queries at most."""
        self.site, self.today, self._count = site, today, count
        active = {"is_archived": False}
        needs_something = [
            Exists(required.objects.filter(jobdescription=OuterRef("pk")))
            for required in (JobDescription.required_courses.through, JobDescription.required_documents.through)
        ]
        jobs = JobDescription.objects.at(site).filter(reduce(or_, needs_something), **active).only("name")
        documents = existing_for(user, Document.objects.filter(**active), [site.pk])
        job_rows = jobs.order_by("name", "id").prefetch_related(
            Prefetch("required_courses", Course.objects.filter(**active)), Prefetch("required_documents", documents)
        )
        self.jobs = [job for job in job_rows if job.required_courses.all() or job.required_documents.all()]
        self.courses = {course.pk: course for job in self.jobs for course in job.required_courses.all()}
        self.in_force = {
            document.pk: document.effective_version for job in self.jobs for document in job.required_documents.all()
        }

    def _holders(self, condition: Q = ALL) -> QuerySet[Any]:
        """Return the holders of jobs, once for each job."""
        holders = {"employee__site": self.site, "employee__is_archived": False}
        return Holding.objects.filter(condition, jobdescription__in=[job.pk for job in self.jobs], **holders)

    def _valid_trainings(self, day: datetime.date, condition: Q = ALL) -> QuerySet[Any]:
        """Return the holders of jobs, once for each training that is valid then in a course (`needed`) of their job.

        The requirements are a condition and not a join through the jobs, because PostgreSQL expects few rows of such a
        join, and would search the trainings of each person once for each course.
        """
        first_days: dict[datetime.date | None, list[uuid.UUID]] = defaultdict(list)
        for course in self.courses.values():
            first_days[first_day_of(course, day)].append(course.pk)
        counts = Q(pk__in=())
        for first, courses in first_days.items():
            since = {f"{TRAINING}__completed_on__gte": bare(first)} if first else {}
            counts |= Q(**{f"{TRAINING}__course__in": courses}, **since)
        trainings = self._holders(condition).filter(counts, **{f"{TRAINING}__completed_on__isnull": False})
        required = JobDescription.required_courses.through.objects.filter(jobdescription=OuterRef("jobdescription"))
        return trainings.annotate(needed=F(f"{TRAINING}__course")).filter(
            Exists(required.filter(course=OuterRef("needed")))
        )

    def _documents_read(self, condition: Q = ALL) -> QuerySet[Any]:
        """Return the holders of jobs, once for each document (`needed`) whose version in force they have read."""
        documents = [document for document, version in self.in_force.items() if version is not None]
        newest = Reading.objects.filter(version__version__gte=F("document__effective_version"))
        rows = (
            self._holders(condition)
            .annotate(needed=F("jobdescription__required_documents"))
            .filter(needed__in=documents)
        )
        return rows.filter(Exists(newest.filter(user=OuterRef("employee"), document=OuterRef("needed"))))

    def people(self, *, only_gaps: bool = False) -> list[int]:
        """Return the numbers of the holders of jobs that require something, by name; two queries at most.

        With `only_gaps`, only those who lack something, or will within `SOON`.
        """
        holdings = Holding.objects.filter(employee=OuterRef("pk"), jobdescription__in=[job.pk for job in self.jobs])
        people = Employee.objects.at(self.site).filter(Exists(holdings), is_archived=False)
        # Numbers instead of Ids, because ten thousand of them are stored and read much faster.
        people_in_order = people.order_by("last_name", "first_name", "pk").values_list("site_sequence_id")
        numbers = [number for (number,) in self._count(people_in_order)]
        if not only_gaps:
            return numbers
        number = "employee__site_sequence_id"
        gaps = {number for (number,) in self._count.sums_of(Employee, "employee__", self._holders_with_gaps, number)}
        return [number for number in numbers if number in gaps]

    def _holders_with_gaps(self, condition: Q) -> QuerySet[Any]:
        """Return the holders of jobs who lack something that the job requires, or will lack it within `SOON`."""
        courses = {job.pk: len(job.required_courses.all()) for job in self.jobs}
        # A document of which no version is in force does not have to be read yet.
        documents = {
            job.pk: sum(self.in_force[row.pk] is not None for row in job.required_documents.all()) for job in self.jobs
        }
        lacks = Q(pk__in=())
        for required_counts, fulfilled in (
            (courses, self._valid_trainings(self.today + SOON + DAY, condition)),
            (documents, self._documents_read(condition)),
        ):
            jobs: dict[int, list[uuid.UUID]] = defaultdict(list)
            for job, number in required_counts.items():
                jobs[number].append(job)
            jobs.pop(0, None)
            for number, job_ids in jobs.items():
                complete = fulfilled.filter(jobdescription__in=job_ids).alias(met=Count("needed", distinct=True))
                lacks |= Q(jobdescription__in=job_ids) & ~Q(pk__in=complete.filter(met=number).values("pk"))
        return self._holders(condition).filter(lacks)

    def by_job(self) -> list[Summary]:
        """Return how many holders of each job have each thing that it requires, by job and name; three queries."""
        number = {"count": Count("employee", distinct=True)}
        per_employee = partial(self._count.sums_of, Employee, "employee__")
        holders = dict(per_employee(self._holders, "jobdescription", **number))
        counts = [
            per_employee(rows, "jobdescription", "needed", **number)
            for rows in (partial(self._valid_trainings, self.today), self._documents_read)
        ]
        fulfilled = {(job, needed): count for rows in counts for job, needed, count in rows}
        return [
            Summary(
                job,
                need.name,
                holders[job.pk],
                holders[job.pk] if self.in_force.get(need.pk, 0) is None else fulfilled.get((job.pk, need.pk), 0),
            )
            for job in self.jobs
            if job.pk in holders
            for need in sorted(_required(job), key=lambda need: need.name)
        ]

    def needs_of(self, people: Iterable[int]) -> list[Need]:
        """Return everything that the people with these numbers must have, by person, job and name; six queries."""
        numbers = list(people)
        rows = Employee.objects.at(self.site).filter(site_sequence_id__in=numbers)
        persons = {row.site_sequence_id: row for row in rows.only("first_name", "last_name", "site_sequence_id")}
        keys = [person.pk for person in persons.values()]
        trainings = EducationTraining.objects.filter(employee__in=keys, course__in=list(self.courses))
        by_course = trainings.filter(completed_on__isnull=False).order_by().values_list("employee", "course")
        last = {(person, course): day for person, course, day in by_course.annotate(Max("completed_on"))}
        readings = Reading.objects.filter(user__in=keys, document__in=list(self.in_force))
        newest = readings.order_by().values_list("user", "document").annotate(Max("version__version"), Max("date"))
        zone = zone_of(self.site)
        newest_readings = {
            (person, document): (version, at.astimezone(zone).date()) for person, document, version, at in newest
        }
        readers = readers_of(list(self.in_force), self._count)
        states: dict[uuid.UUID, Callable[[uuid.UUID], State]] = {
            **{key: partial(_course, course, last, self.today) for key, course in self.courses.items()},
            **{key: partial(_document, key, version, newest_readings) for key, version in self.in_force.items()},
        }
        holdings = set(self._holders().filter(employee__in=keys).values_list("employee", "jobdescription"))
        return [
            Need(
                person,
                job,
                need.name,
                *states[need.pk](person.pk),
                is_unasked=need.pk in readers and person.pk not in readers[need.pk],
            )
            for person in map(persons.__getitem__, numbers)
            for job in self.jobs
            if (person.pk, job.pk) in holdings
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


def _course(
    course: Course, last_days: Mapping[Any, datetime.datetime], today: datetime.date, person: uuid.UUID
) -> State:
    last_day = last_days.get((person, course.pk))
    if last_day is None:
        return MISSING, _("Missing"), None, None
    last, day = course.expires(last_day), last_day.date()
    if last is None:
        return VALID, _("Never expires"), None, day
    if last < today:
        return EXPIRED, _("Expired on %(last)s"), last, day
    return ENDS_SOON if last <= today + SOON else VALID, _("Valid until %(last)s"), last, day


def _document(
    document: uuid.UUID,
    in_force: int | None,
    newest_readings: Mapping[Any, tuple[int, datetime.date]],
    person: uuid.UUID,
) -> State:
    newest, day = newest_readings.get((person, document), (0, None))
    if in_force is None:
        return VALID, _("No version is in force"), None, day
    if newest >= in_force:
        return VALID, _("Has read version %(read)s"), newest, day
    if not newest:
        return MISSING, _("Missing"), None, None
    return EXPIRED, _("Expired: read version %(read)s"), newest, day


class ReportQuery(NamedTuple):
    """What the address of the page or of its file asks for."""

    requirements: Requirements
    by_job: bool
    everything: bool

    def shows(self, need: Need) -> bool:
        """Return whether a need of a person is shown: every one, or only gaps."""
        return self.everything or need.state != VALID

    @property
    def url_query(self) -> str:
        """Return the query of the address."""
        return "by=job" if self.by_job else "show=all" if self.everything else ""


def _read_query(request: HttpRequest) -> ReportQuery:
    site = site_where(request, SEE)
    requirements = Requirements(site, today_at(zone_of(site)), user_of(request), Counting(site.pk))
    return ReportQuery(requirements, request.GET.get("by") == "job", request.GET.get("show") == "all")


def training(request: HttpRequest) -> HttpResponse:
    """Show the gaps of the current site by person or by job, or everything that its jobs require."""
    report = _read_query(request)
    requirements = report.requirements
    summaries, number = requirements.by_job(), request.GET.get("page")
    if report.by_job:
        page: Any = Paginator(summaries, LINES).get_page(number)
        lines: list[Any] = list(page)
    else:
        page = Paginator(requirements.people(only_gaps=not report.everything), PEOPLE).get_page(number)
        lines = list(filter(report.shows, requirements.needs_of(page)))
    return page_response(
        request,
        "dashboard/training.html",
        gettext("Training matrix of %(site)s") % {"site": requirements.site},
        by_job=report.by_job,
        everything=report.everything,
        query=report.url_query,
        kinds=KINDS,
        page=page,
        lines=lines,
        required=sum(line.holders for line in summaries),
        fulfilled=sum(line.fulfilled for line in summaries),
    )


@require_safe
def training_file(request: HttpRequest, kind: str) -> HttpResponseBase:
    """Answer every page of what the training matrix shows as one file; 404 for another kind of file."""
    if kind not in KINDS:
        raise Http404
    report = _read_query(request)
    lines = _lines_by_job(report) if report.by_job else _lines_by_person(report)
    title = gettext("Training matrix")
    return report_file(lines, kind, title, f"{title} {report.requirements.today.isoformat()}")


def _lines_by_job(report: ReportQuery) -> Iterator[Line]:
    yield [gettext("Job"), gettext("Required"), gettext("Holders"), gettext("Holders who have it")]
    for line in report.requirements.by_job():
        yield [str(line.job), line.name, line.holders, line.fulfilled]


def _lines_by_person(report: ReportQuery) -> Iterator[Line]:
    yield [
        gettext("Number"),
        gettext("Person"),
        gettext("Job"),
        gettext("Required"),
        gettext("State"),
        gettext("Completed or read on"),
        gettext("Expires"),
    ]
    people = report.requirements.people(only_gaps=not report.everything)
    for start in range(0, len(people), AT_ONCE):
        for need in filter(report.shows, report.requirements.needs_of(people[start : start + AT_ONCE])):
            expires = need.value if isinstance(need.value, datetime.date) else None
            person = need.person
            yield [
                person.site_sequence_id,
                str(person),
                str(need.job),
                need.name,
                need.text,
                need.completed,
                expires,
            ]


urlpatterns = [
    path("training/", training, name="training"),
    path("training/<str:kind>/", training_file, name="training_file"),
]
