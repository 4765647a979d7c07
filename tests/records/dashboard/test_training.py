"""Courses, what jobs require, and the gaps of a site by person and by job."""

import datetime
import io
from typing import Any

import openpyxl
import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from documents import reading
from records.accounts.models import DefaultRole
from records.backoffice.date_filters import bare
from records.dashboard import training
from records.employees import actions
from records.employees.models import Course, EducationTraining, Employee, JobDescription
from records.history import counting
from records.history.counting import Counting
from records.history.models import Change
from records.history.trail import now
from records.history.verification import verify
from records.sites.models import Site
from records.sites.months import months_after
from records.sites.writing import add_record
from tests import make
from tests.conftest import Api
from tests.make.backoffice import address, browser, list_address, save
from tests.make.documents import add_version, make_document, version_of
from tests.make.transfer import csv_lines

TODAY = datetime.date(2026, 3, 10)
MATRIX = "/admin/training/"
FULFILLED = (training.VALID, training.ENDS_SOON)


def day(text: str) -> datetime.datetime:
    """Return midnight UTC of a day, as days are stored."""
    return datetime.datetime.fromisoformat(f"{text}T00:00:00+00:00")


def make_course(site: Site, name: str = "Hygiene", months: int | None = 12) -> Course:
    """Make a course of the site."""
    course = Course(site=site, name=name, months_of_validity=months)
    return add_record(course, author=make.SYSTEM, operation="AddCourse")


def make_job(site: Site, *holders: Employee, name: str = "Baker", **fields: Any) -> JobDescription:
    """Make a job description that people hold."""
    return actions.add_job_description(
        site.pk, {"name": name, "employees": list(holders), **fields}, author=make.SYSTEM
    )


def train(employee: Employee, course: Course, date: str) -> None:
    """Add a line of training to an employee's record."""
    rows = [{"id": row.pk} for row in employee.education_training.all()]
    rows.append({"title": course.name, "course": course, "completed_on": day(date)})  # type: ignore[dict-item]
    actions.update_employee(employee.site_id, employee.pk, {"education_training": rows}, author=make.SYSTEM)


def requirements(site: Site) -> training.Requirements:
    """Return what a Manager sees that the site's jobs require, on a day in March 2026."""
    return training.Requirements(site, TODAY, make.make_user(site=site, role=DefaultRole.MANAGER))


def totals(site: Site) -> tuple[int, int, set[Any]]:
    """Return how many requirements there are and how many are met, and who lacks something or soon will."""
    current = requirements(site)
    lines, gaps = current.by_job(), current.people(only_gaps=True)
    lacking = set(Employee.objects.at(site).filter(site_sequence_id__in=gaps).values_list("pk", flat=True))
    assert len(lacking) == len(gaps)
    return sum(line.holders for line in lines), sum(line.fulfilled for line in lines), lacking


def needs(site: Site) -> list[training.Need]:
    """Return what everybody with a job at the site needs."""
    current = requirements(site)
    return current.needs_of(current.people())


def states(site: Site) -> list[tuple[str, str, str]]:
    """Return person, requirement and how it stands, on a day in March 2026."""
    return [(str(need.person), need.name, need.text) for need in needs(site)]


@pytest.mark.parametrize(
    ("date", "months", "last"),
    [
        ("2024-02-29", 12, datetime.date(2025, 2, 28)),
        ("2026-01-31", 1, datetime.date(2026, 2, 28)),
        ("2025-12-15", 24, datetime.date(2027, 12, 15)),
        ("2025-12-15", None, None),
    ],
)
def test_a_course_expires_after_its_months(date: str, months: int | None, last: datetime.date | None) -> None:
    assert Course(name="Hygiene", months_of_validity=months).expires(day(date)) == last


def test_managers_keep_the_courses_of_their_site(site: Site, other_site: Site) -> None:
    client, add = browser(site), reverse("admin:employees_course_add")
    assert client.post(add, {"name": "Forklift", "months_of_validity": "36"}).status_code == 302
    course = Course.objects.get()
    assert (course.site, course.months_of_validity) == (site, 36)
    assert client.post(add, {"name": "forklift"}).status_code == 200
    assert client.post(add, {"name": "Zero", "months_of_validity": "0"}).status_code == 200
    assert Course.objects.count() == 1
    assert save(client, course, months_of_validity="24", change_reason="New law").status_code == 302
    assert list(Change.objects.filter(record_id=course.pk).order_by("number").values_list("operation", flat=True)) == [
        "AddCourse",
        "UpdateCourse",
    ]
    assert browser(site, DefaultRole.READER).get(list_address(Course)).status_code == 200
    assert browser(site, DefaultRole.STANDARD).get(add).status_code == 403
    assert browser(other_site).get(address(course)).status_code == 404
    assert not verify().faults


def test_a_training_that_names_a_course_says_when_it_was_completed(site: Site, other_site: Site) -> None:
    employee, course = make.make_employee(site), make_course(site)
    for wrong in (
        {"title": "Hygiene", "course": course},
        {"title": "Hygiene", "course": course, "completed_on": day("2999-01-01")},
        {"title": "Hygiene", "course": make_course(other_site), "completed_on": day("2026-01-01")},
    ):
        with pytest.raises(ValidationError):
            actions.update_employee(site.pk, employee.pk, {"education_training": [wrong]}, author=make.SYSTEM)
    assert not EducationTraining.objects.exists()


def test_people_lack_what_their_jobs_require_and_they_do_not_have(site: Site, other_site: Site) -> None:
    ada, bob, cleo, dan = (
        make.make_employee(site, first_name=name, last_name="") for name in ("Ada", "Bob", "Cleo", "Dan")
    )
    course = make_course(site)
    make_job(site, ada, bob, cleo, dan, required_courses=[course])
    train(ada, course, "2025-09-01")
    train(bob, course, "2025-03-20")
    train(cleo, course, "2023-01-01")
    train(cleo, course, "2025-03-09")
    assert states(site) == [
        ("Ada", "Hygiene", "Valid until 2026-09-01"),
        ("Bob", "Hygiene", "Valid until 2026-03-20"),
        ("Cleo", "Hygiene", "Expired on 2026-03-09"),
        ("Dan", "Hygiene", "Missing"),
    ]
    assert [need.state for need in needs(site)] == ["valid", "soon", "expired", "missing"]
    [line] = requirements(site).by_job()
    assert (line.name, line.holders, line.fulfilled) == ("Hygiene", 4, 2)
    assert states(other_site) == []
    actions.archive_employee(site.pk, dan.pk, archived=True, author=make.SYSTEM, reason="Left.")
    assert len(states(site)) == 3


@pytest.mark.parametrize("months", [1, 2, 12, 13, 1200])
def test_the_first_day_of_a_course_that_counts_is_found_for_every_day(months: int) -> None:
    course, step = Course(months_of_validity=months), datetime.timedelta(days=1)

    def last_day(date: datetime.date) -> datetime.date:
        last = course.expires(bare(date))
        assert last is not None
        return last

    for number in range(800):
        on = datetime.date(2027, 1, 1) + number * step
        first = training.first_day_of(course, on)
        assert first is not None
        assert last_day(first) >= on > last_day(first - step), on


@pytest.mark.parametrize("months", [None, 1, 12, 13, 24])
def test_the_database_and_the_page_agree_about_every_day_on_which_a_course_was_completed(
    site: Site, months: int | None
) -> None:
    course = make_course(site, months=months)
    edges = {
        start + datetime.timedelta(days=step)
        for today in (TODAY, TODAY + training.SOON)
        for step in range(-4, 5)
        if (start := months_after(today, -(months or 0))) is not None
    }
    people = [make.make_employee(site, first_name=f"{day:%Y%m%d}", last_name="") for day in edges]
    make_job(site, *people, make.make_employee(site, first_name="Nobody", last_name=""), required_courses=[course])
    EducationTraining.objects.bulk_create(
        EducationTraining(employee=person, idx=0, title="Taken", course=course, completed_on=bare(day))
        for person, day in zip(people, edges, strict=True)
    )
    every = needs(site)
    assert len(every) == len(edges) + 1
    gaps = {need.person.pk for need in every if need.state != training.VALID}
    assert totals(site) == (len(every), sum(need.state in FULFILLED for need in every), gaps)


def test_people_are_shown_page_by_page(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "PEOPLE", 2)
    people = [make.make_employee(site, first_name=name, last_name="") for name in ("Ada", "Bob", "Cleo")]
    make_job(site, *people, required_courses=[make_course(site), make_course(site, "Knives")])
    client = browser(site)
    first = client.get(MATRIX)
    assert [str(need.person) for need in first.context["lines"]] == ["Ada", "Ada", "Bob", "Bob"]
    assert "0 of 6 requirements are met." in first.content.decode()
    second = client.get(f"{MATRIX}?page=2")
    assert [(str(need.person), need.name) for need in second.context["lines"]] == [
        ("Cleo", "Hygiene"),
        ("Cleo", "Knives"),
    ]
    assert "Page 2 of 2" in second.content.decode()


def test_a_required_document_counts_when_the_version_in_force_was_read(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    employee = make.make_employee(site, id=user.pk, first_name="Ada", last_name="")
    Employee.objects.filter(pk=employee.pk).update(user=user)
    role = make.make_role(site, ["items.view_item"], [user])
    document = make_document(site, name="Rules", must_read=[role])
    make_job(site, employee, required_documents=[document])
    assert states(site) == [("Ada", "Rules", "Missing")]
    assert totals(site) == (1, 0, {employee.pk})
    reading.confirm(version_of(document).pk, user, author=make.author_of(user))
    assert states(site) == [("Ada", "Rules", "Has read version 1")]
    assert totals(site) == (1, 1, set())
    [line] = requirements(site).by_job()
    assert (line.name, line.holders, line.fulfilled) == ("Rules", 1, 1)
    add_version(document)
    assert states(site) == [("Ada", "Rules", "Expired: read version 1")]
    assert totals(site) == (1, 0, {employee.pk})
    [line] = requirements(site).by_job()
    assert line.fulfilled == 0


def test_the_matrix_names_who_lacks_a_document_that_none_of_their_roles_must_read(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.READER)
    ada = make.make_employee(site, id=user.pk, first_name="Ada", last_name="")
    Employee.objects.filter(pk=ada.pk).update(user=user)
    document = make_document(site, name="Rules", must_read=[make.make_role(site, ["items.view_item"], [user])])
    bob = make.make_employee(site, first_name="Bob", last_name="")
    make_job(site, ada, bob, required_documents=[document], required_courses=[make_course(site)])
    lines = browser(site).get(MATRIX).content.decode().split("<tr>")
    of_nobody = [line for line in lines if "on the document names none of their roles" in line]
    assert len(of_nobody) == 1
    assert "Bob" in of_nobody[0]
    assert "Rules" in of_nobody[0]


def test_who_lacks_one_of_several_courses_or_documents_of_one_of_several_jobs_has_a_gap(site: Site) -> None:
    users = [make.make_user(site=site, role=DefaultRole.READER) for _ in range(8)]
    people = [make.make_employee(site, id=user.pk, first_name=f"P{n}", last_name="") for n, user in enumerate(users)]
    courses = [make_course(site, name) for name in ("Hygiene", "Knives", "Fire")]
    readers = make.make_role(site, ["items.view_item"], users)
    rules, waiting = (
        make_document(site, name="Rules", must_read=[readers]),
        make_document(site, user_to_review=users[:1]),
    )
    make_job(site, *people[:6], name="Baker", required_courses=courses[:2], required_documents=[rules, waiting])
    make_job(site, *people[4:], name="Warden", required_courses=courses[1:])
    make_job(site, *people, name="Guest")
    for number, person in enumerate(people):
        for bit, course in enumerate(courses):
            if number >= 6 or number != bit:
                train(person, course, "2026-01-05")
                train(person, course, "2020-01-05")
    for user in users[:3]:
        reading.confirm(version_of(rules).pk, user, author=make.author_of(user))
    every = needs(site)
    assert len(every) == 6 * 4 + 4 * 2
    gaps = {need.person.pk for need in every if need.state != training.VALID}
    assert gaps == {person.pk for person in (people[0], people[1], *people[3:6])}
    assert totals(site) == (len(every), sum(need.state in FULFILLED for need in every), gaps)


def test_what_is_kept_equals_a_new_count_after_every_kind_of_write(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setattr(counting, "PART", 2)
    reader = make.make_user(site=site, role=DefaultRole.MANAGER)
    people = [make.make_employee(site, id=reader.pk), *(make.make_employee(site) for _ in range(5))]
    course, document = (
        make_course(site),
        make_document(site, must_read=[make.make_role(site, ["items.view_item"], [reader])]),
    )
    job = make_job(site, *people[:4], required_courses=[course], required_documents=[document])
    other = make_job(site, *people[3:], name="Warden", required_courses=[course])
    before: list[Any] = []

    def has_moved() -> None:
        cached, fresh = (
            training.Requirements(site, TODAY, reader, count) for count in (Counting(site.pk), counting.UNCACHED)
        )
        figures = (
            [(line.job.pk, line.name, line.holders, line.fulfilled) for line in cached.by_job()],
            [cached.people(only_gaps=only_gaps) for only_gaps in (False, True)],
        )
        assert figures == (
            [(line.job.pk, line.name, line.holders, line.fulfilled) for line in fresh.by_job()],
            [fresh.people(only_gaps=only_gaps) for only_gaps in (False, True)],
        )
        assert figures not in before[-1:]
        before.append(figures)

    has_moved()
    train(people[3], course, "2026-01-05")
    has_moved()
    assert save(browser(site), course, months_of_validity="1", change_reason="New law").status_code == 302
    has_moved()
    make.archive(people[4])
    has_moved()
    actions.update_employee(site.pk, people[5].pk, {"last_name": "Aaron"}, author=make.SYSTEM)
    has_moved()
    actions.update_job_description(site.pk, other.pk, {"employees": people[:2]}, author=make.SYSTEM)
    has_moved()
    actions.update_job_description(site.pk, job.pk, {"required_courses": []}, author=make.SYSTEM)
    has_moved()
    reading.confirm(version_of(document).pk, reader, author=make.author_of(reader))
    has_moved()


def test_after_an_employee_was_written_only_the_part_with_that_employee_is_counted_again(
    site: Site, monkeypatch: Any
) -> None:
    monkeypatch.setattr(counting, "PART", 2)
    people, course = [make.make_employee(site) for _ in range(5)], make_course(site)
    make_job(site, *people, required_courses=[course])
    user = make.make_user(site=site, role=DefaultRole.MANAGER)

    def gaps() -> list[int]:
        current = training.Requirements(site, TODAY, user, Counting(site.pk))
        current.by_job()
        return current.people(only_gaps=True)

    assert len(gaps()) == 5
    train(people[-1], course, "2026-01-05")
    with CaptureQueriesContext(connection) as queries:
        assert len(gaps()) == 4
    counts = [query["sql"] for query in queries if '"site_sequence_id" / 2' in query["sql"]]
    assert len(counts) == 3
    number = people[-1].site_sequence_id
    assert number is not None
    assert all(f'"site_sequence_id" >= {number // 2 * 2}' in sql for sql in counts)


def test_the_page_shows_gaps_by_person_and_by_job(site: Site) -> None:
    client = browser(site)
    assert "No job of this site requires a course or document" in client.get(MATRIX).content.decode()
    ada, bob = (make.make_employee(site, first_name=name, last_name="") for name in ("Ada", "Bob"))
    course = make_course(site, months=None)
    job = make_job(site, ada, bob, required_courses=[course])
    train(ada, course, "2020-01-01")
    page = client.get(MATRIX)
    assert [str(need.person) for need in page.context["lines"]] == ["Bob"]
    assert "1 of 2 requirements are met." in page.content.decode()
    assert [str(need.person) for need in client.get(f"{MATRIX}?show=all").context["lines"]] == ["Ada", "Bob"]
    assert "1 of 2 <strong" in client.get(f"{MATRIX}?by=job").content.decode()
    train(bob, course, "2020-01-01")
    assert "Everybody meets the requirements of their jobs." in client.get(MATRIX).content.decode()
    assert browser(site, DefaultRole.STANDARD).get(MATRIX).status_code == 403
    answer = save(client, job, required_courses=[], change_reason="Not needed")
    assert answer.status_code == 302
    assert not job.required_courses.exists()


def test_the_matrix_is_a_file_with_what_is_shown_on_every_page(site: Site, monkeypatch: Any) -> None:
    monkeypatch.setattr(training, "PEOPLE", 1)
    monkeypatch.setattr(training, "AT_ONCE", 1)
    ada, bob = (make.make_employee(site, first_name=name, last_name="") for name in ("=Ada", "Bob"))
    yearly, forever = make_course(site), make_course(site, "Forklift", months=None)
    user = make.make_user(site=site, role=DefaultRole.READER)
    cy = make.make_employee(site, id=user.pk, first_name="Cy", last_name="")
    document = make_document(site, name="Plan", must_read=[make.make_role(site, ["items.view_item"], [user])])
    make_job(site, ada, bob, required_courses=[yearly, forever])
    make_job(site, cy, name="Mixer", required_documents=[document])
    monkeypatch.setattr(training, "today_at", lambda zone: TODAY)
    train(ada, yearly, "2025-01-05")
    train(ada, forever, "2020-01-01")
    client, head = browser(site), ["Number", "Person", "Job", "Required", "State", "Completed or read on", "Expires"]
    gaps = [
        [str(ada.site_sequence_id), "'=Ada", "Baker", "Hygiene", "Expired on 2026-01-05", "2025-01-05", "2026-01-05"],
        [str(bob.site_sequence_id), "Bob", "Baker", "Forklift", "Missing", "", ""],
        [str(bob.site_sequence_id), "Bob", "Baker", "Hygiene", "Missing", "", ""],
        [str(cy.site_sequence_id), "Cy", "Mixer", "Plan", "Missing", "", ""],
    ]
    page = client.get(MATRIX)
    assert f'href="{MATRIX}csv/"' in page.content.decode()
    assert csv_lines(client.get(f"{MATRIX}csv/")) == [head, *gaps]
    more = client.get(f"{MATRIX}?show=all").content.decode()
    assert f'href="{MATRIX}xlsx/?show=all"' in more
    everything = csv_lines(client.get(f"{MATRIX}csv/?show=all"))
    forklift = [str(ada.site_sequence_id), "'=Ada", "Baker", "Forklift", "Never expires", "2020-01-01", ""]
    assert everything == [head, forklift, *gaps]
    workbook = openpyxl.load_workbook(io.BytesIO(b"".join(client.get(f"{MATRIX}xlsx/?show=all"))))
    sheet = list(workbook.active.values)
    assert sheet[1][0] == ada.site_sequence_id
    assert sheet[2][5:] == (day("2025-01-05").replace(tzinfo=None), day("2026-01-05").replace(tzinfo=None))
    assert csv_lines(client.get(f"{MATRIX}csv/?by=job")) == [
        ["Job", "Required", "Holders", "Holders who have it"],
        ["Baker", "Forklift", "2", "1"],
        ["Baker", "Hygiene", "2", "0"],
        ["Mixer", "Plan", "1", "0"],
    ]
    reading.confirm(version_of(document).pk, user, author=make.author_of(user))
    today = now().date().isoformat()
    [line] = [line for line in csv_lines(client.get(f"{MATRIX}csv/?show=all")) if line[3] == "Plan"]
    assert line[4:] == ["Has read version 1", today, ""]


def test_the_file_of_the_matrix_follows_the_rights_and_the_site(site: Site, other_site: Site) -> None:
    make_job(other_site, make.make_employee(other_site), required_courses=[make_course(other_site)])
    client = browser(site)
    assert len(csv_lines(client.get(f"{MATRIX}csv/?show=all"))) == 1
    assert client.get(f"{MATRIX}pdf/").status_code == 404
    assert client.post(f"{MATRIX}csv/").status_code == 405
    assert browser(site, DefaultRole.STANDARD).get(f"{MATRIX}csv/").status_code == 403


def test_the_page_costs_the_same_for_few_and_for_many(site: Site) -> None:
    client, course = browser(site), make_course(site)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(MATRIX).status_code == 200
        return len(queries)

    client.get(MATRIX)
    make_job(site, make.make_employee(site), required_courses=[course])
    few = cost()
    for number in range(3):
        make_job(site, *(make.make_employee(site) for _ in range(5)), name=f"Job {number}", required_courses=[course])
    assert cost() == few


def test_the_interface_keeps_the_documented_shape_and_the_course_of_a_line(api: Api, site: Site) -> None:
    employee, course = make.make_employee(site), make_course(site)
    train(employee, course, "2026-01-05")
    [line] = api.get(f"/employee/GetEmployee/{employee.pk}").json()["EducationTraining"]
    assert set(line) == {"Id", "Title", "Institution", "Year", "Award", "EducationResultId"}
    body = {"EducationTraining": [{**line, "Award": "Certificate"}], "FirstName": "Ada"}
    current = api.get(f"/employee/GetEmployee/{employee.pk}").json()
    required = {name: current[name] for name in ("NatureOfEmploymentId", "Position", "LastName")}
    assert api.put(f"/employee/UpdateEmployee/{employee.pk}", {**required, **body}).status_code == 200
    row = EducationTraining.objects.get()
    assert (row.award, row.course) == ("Certificate", course)
