"""What follows complaints and documents in the measurement of the back-office: actions, attachments, readings, holds.

`fill` stores so many of each. `visit` opens the pages that count them, trace a lot, or show what waits for somebody.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from django.urls import reverse

from documents.models import Document, DocumentVersion, Reading
from records.accounts.actions import set_members
from records.accounts.models import User
from records.actions.models import Action
from records.attachments.models import Attachment
from records.complaints.models import Complaint, UnitsSold
from records.employees.models import Course, EducationTraining, Employee, JobDescription
from records.history.models import Change
from records.history.trail import now
from records.retention.actions import SET
from records.sites.models import Entity, Site
from tests import make
from tests.make.backoffice import address

READERS = 100
"""How many people must read each document that must be read."""
HOLDS = 200
DAY = timedelta(days=1)
Store = Callable[..., list[Any]]
Open = Callable[..., None]


def fill(
    store: Store,
    site: Site,
    count: int,
    complaints: Sequence[Complaint],
    documents: Sequence[Document],
    users: Sequence[User],
) -> None:
    """Store so many actions, attachments and readings about the complaints and documents."""
    given: dict[str, Any] = {"site": site}
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    store(
        Action,
        count,
        lambda n: {
            **given,
            "name": f"Check line {n % 17}, order {n:06x}",
            "owner": users[n % len(users)],
            "due_date": midnight - (n % 1000 - 20) * DAY,
            "entity": Entity.COMPLAINT,
            "record_id": complaints[n % len(complaints)].pk,
            **_status(n, midnight),
        },
        site,
    )
    store(
        Attachment,
        count,
        lambda n: {
            **given,
            "entity": Entity.COMPLAINT,
            "record_id": complaints[n * 7 % len(complaints)].pk,
            "file_name": f"photo {n:06x}.jpg",
            "file_type": "image/jpeg",
            "file_size": 100_000 + n,
            "file_hash": f"{n:064x}",
            "path": f"bench/{n}",
        },
        site,
    )
    to_read = documents[: max(1, count // READERS)]
    versions = store(
        DocumentVersion,
        len(to_read),
        lambda n: {
            **given,
            "document": to_read[n - 1],
            "version": 1,
            "record_status": "Issued",
            "in_force_since": midnight - (n % 400) * DAY,
            "file_name": "p.pdf",
            "file_type": "application/pdf",
            "file_size": 1,
            "file_hash": "0" * 64,
            "path": f"bench/version {n}",
        },
    )
    Document.objects.filter(pk__in=[document.pk for document in to_read]).update(effective_version=1)
    readers = list(users[:READERS])
    role = make.make_role(site, ["items.view_item"], name="Bench readers")
    set_members(role, add=readers, author=make.SYSTEM)
    through = Document.must_read.through
    through.objects.bulk_create([through(document_id=document.pk, role_id=role.pk) for document in to_read])
    Reading.objects.bulk_create(
        (
            Reading(
                site=site, document=version.document, version=version, user=user, user_name="Bench", file_hash="0" * 64
            )
            for version in versions
            for number, user in enumerate(readers)
            if number % 10
        ),
        batch_size=300,
    )
    months = [(midnight.replace(day=1) - 30 * back * DAY).replace(day=1) for back in range(24)]
    for month in sorted(set(months)):
        UnitsSold.objects.create(site=site, month=month, units=5_000_000)
    Change.objects.bulk_create(
        Change(
            site_id=site.pk,
            chain=site.pk,
            number=number,
            at=midnight,
            author_name="Bench",
            channel="back-office",
            operation=SET,
            model="complaints.Complaint",
            record_id=complaint.pk,
            record_name=str(complaint),
            reason="Court case",
            fields=[{"field": "legal_hold", "old": False, "new": True}],
        )
        for number, complaint in enumerate(complaints[-HOLDS:], 2 * 10**6)
    )


def fill_training(
    store: Store, site: Site, count: int, people: Sequence[Employee], jobs: Sequence[JobDescription]
) -> None:
    """Let all people hold a job in a hundred, each of which requires three courses, and store so many trainings."""
    midnight = now().replace(hour=0, minute=0, second=0, microsecond=0)
    courses = store(
        Course, 20, lambda n: {"site": site, "name": f"Course {n}", "months_of_validity": n % 4 * 12 or None}
    )
    held = jobs[: max(1, len(jobs) // 100)]
    holds, requires = JobDescription.employees.through, JobDescription.required_courses.through
    holds.objects.bulk_create(
        (holds(jobdescription=held[n % len(held)], employee=person) for n, person in enumerate(people)), batch_size=300
    )
    requires.objects.bulk_create(
        requires(jobdescription=job, course=courses[(n + step) % 20]) for n, job in enumerate(held) for step in range(3)
    )
    EducationTraining.objects.bulk_create(
        (
            EducationTraining(
                employee=people[n % len(people)],
                idx=n // len(people),
                title="Course",
                course=courses[n // len(people) * 2 % 20],
                completed_on=midnight - n % 1500 * DAY,
            )
            for n in range(count)
        ),
        batch_size=300,
    )


def _status(number: int, midnight: Any) -> dict[str, Any]:
    """Return the outcome of an action: 97 of 100 are closed, the others open or done."""
    if number % 100 < 3:
        return {"record_status": "Done", "result": "Done."} if number % 100 == 2 else {"record_status": "Open"}
    closed = midnight - (number % 700) * DAY + timedelta(hours=9)
    return {"record_status": "Closed", "result": "Done.", "effective": number % 9 > 0, "closed_date": closed}


def visit(open_page: Open, complaint: Complaint, lot: str) -> None:
    """Open the pages that count what the site has, and those that show what waits."""
    open_page("charts of complaints", reverse("admin:complaint_charts"))
    open_page("charts of complaints, 36 months", reverse("admin:complaint_charts"), months=36)
    open_page("monthly report", reverse("admin:monthly"))
    open_page("monthly report, paper", reverse("admin:monthly_paper"))
    open_page("readings: matrix", reverse("admin:documents_readings"))
    open_page("readings: missing", reverse("admin:documents_readings"), show="missing")
    open_page("readings: mine", reverse("admin:documents_reading"))
    open_page("training matrix: gaps", reverse("admin:training"))
    open_page("training matrix: gaps, page 50", reverse("admin:training"), page=50)
    open_page("training matrix: everything", reverse("admin:training"), show="all")
    open_page("training matrix: by job", reverse("admin:training"), by="job")
    open_page("my reminders", reverse("admin:reminders"))
    open_page("trace: one lot", reverse("admin:trace"), lots=lot)
    open_page("trace: a lot of nothing", reverse("admin:trace"), lots="X999999")
    open_page("packs", reverse("admin:packs"))
    open_page("packs: new", reverse("admin:packs_new"))
    open_page("legal holds", reverse("admin:retention_holds"))
    open_page("complaint: reading page", address(complaint, "read"))
