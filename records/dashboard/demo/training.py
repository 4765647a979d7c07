"""The demo's training: courses, what the jobs require, who has taken what, and documents that must be read."""

import datetime

from documents import reading
from documents.actions import change_details
from documents.models import IN_FORCE, DocumentVersion
from records.accounts.models import DefaultRole, Role
from records.dashboard.demo.demo_site import DemoSite
from records.employees.actions import update_employee, update_job_description
from records.employees.models import Course, Employee
from records.sites.writing import add_record

COURSES = (("Food hygiene level 2", 36), ("Allergen awareness", 12), ("Forklift licence", 60), ("Site induction", None))
REASON = "Training plan of this year."


def fill(place: DemoSite) -> None:
    """Add courses and let jobs require them; most holders have taken them, some too long ago, a few never."""
    courses = [
        add_record(
            Course(site=place.site, name=name, months_of_validity=months),
            author=place.author(),
            operation="AddCourse",
        )
        for name, months in COURSES
    ]
    rules = _must_be_read(place)
    for idx, job in enumerate(place.records.get("JobDescription", ())):
        needs = {"required_courses": [courses[0], courses[1 + idx % 3]], "required_documents": rules[:1]}
        update_job_description(place.site.pk, job.pk, needs, author=place.author(), reason=REASON)
    for idx, employee in enumerate(place.employees):
        _train(place, idx, employee, courses)


def _train(place: DemoSite, idx: int, employee: Employee, courses: list[Course]) -> None:
    """Add what a person has taken: lines with a course, after the lines that are there."""
    rows: list[dict[str, object]] = [{"id": row.pk} for row in employee.education_training.all()]
    for number, course in enumerate(courses):
        if (idx + number) % 5 == 4:
            continue
        moment = place.today - datetime.timedelta(days=40 + (idx * 97 + number * 131) % 900)
        day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        rows.append({"title": course.name, "year": str(day.year), "course": course, "completed_on": day})
    values = {"education_training": rows}
    update_employee(place.site.pk, employee.pk, values, author=place.author(), reason=REASON)


def _must_be_read(place: DemoSite) -> list[object]:
    """Require Readers and Standard users to read the first documents in force; let some of them confirm it."""
    roles = list(Role.objects.at(place.site).filter(default_role__in=(DefaultRole.READER, DefaultRole.STANDARD)))
    versions = DocumentVersion.objects.at(place.site).filter(record_status__in=IN_FORCE).select_related("document")
    documents: list[object] = []
    for version in versions.order_by("document__site_sequence_id")[:3]:
        document = version.document
        change_details(place.site.pk, document.pk, {"must_read": roles}, author=place.author(), reason=REASON)
        readers = [user for user in place.users.values() if user.pk in reading.readers_of([document.pk])[document.pk]]
        for user in readers[: len(readers) - len(documents)]:
            reading.confirm(version.pk, user, author=place.author(user))
        documents.append(document)
    return documents
