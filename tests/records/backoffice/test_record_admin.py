"""What every record's back-office page sees to, shown on employees."""

import datetime
from functools import partial
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole, User
from records.backoffice import history_pages
from records.backoffice.datetimes import NOTHING
from records.employees.actions import update_employee
from records.employees.models import Employee, JobDescription
from records.history.models import Change
from records.history.trail import now
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, browser, form_of, list_address, press, sign_in
from tests.make.complaints import make_period


def save(client: Client, record: Any, **changes: Any) -> Any:
    data = form_of(client.get(address(record)))
    return client.post(address(record), {**data, **changes})


def changes_of(record: Any) -> list[Change]:
    return list(Change.objects.filter(record_id=record.pk, model=record._meta.label).order_by("number"))


def test_a_change_needs_a_reason_and_leaves_one_change_of_the_backoffice(site: Site) -> None:
    employee = make.make_employee(site)
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    client = browser(site, user=manager)
    response = save(client, employee, position="Baker")
    assert response.status_code == 200
    assert "Say why the record is changed." in response.content.decode()
    assert len(changes_of(employee)) == 1
    assert save(client, employee, position="Baker", change_reason="Promoted").status_code == 302
    change = changes_of(employee)[-1]
    assert (change.channel, change.author_id, change.reason) == ("Back-office", manager.pk, "Promoted")
    assert change.fields == [{"field": "position", "old": "Line lead", "new": "Baker"}]


def test_saving_an_untouched_page_changes_nothing(site: Site) -> None:
    employee = make.make_employee(
        site,
        position="Line\nlead",  # The interface takes line ends in every text; an input of one line has none.
        address=" 1 Mill Lane\nHillside \n",
        date_of_birth=datetime.datetime(1980, 5, 17, tzinfo=datetime.UTC),
        commencement_date=datetime.datetime(2012, 4, 23, 18, 25, 43, 511000, tzinfo=datetime.UTC),
        education_training=[{"title": "Hygiene\nlevel 2", "year": "2019"}],
        employment_history=[{"company": "Mill", "start_date": datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)}],
    )
    client = browser(site)
    assert save(client, employee).status_code == 302
    after = Employee.objects.get(pk=employee.pk)
    assert after.revision == employee.revision
    assert len(changes_of(employee)) == 1
    assert after.address == " 1 Mill Lane\nHillside \n"
    assert save(client, employee, phone="1", change_reason="Called").status_code == 302
    assert [entry["field"] for entry in changes_of(employee)[-1].fields] == ["phone"]


@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Auckland", "UTC"])
def test_a_date_of_birth_is_the_same_day_in_every_zone(site: Site, zone: str) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone=zone)
    date_of_birth = datetime.datetime(1980, 5, 17, tzinfo=datetime.UTC)
    employee = make.make_employee(site, date_of_birth=date_of_birth)
    client = browser(site)
    assert form_of(client.get(address(employee)))["date_of_birth"] == ["1980-05-17"]
    save(client, employee, position="Baker", change_reason="Promoted")
    assert Employee.objects.get(pk=employee.pk).date_of_birth == date_of_birth
    save(client, employee, date_of_birth="1980-05-18", change_reason="Misread")
    assert Employee.objects.get(pk=employee.pk).date_of_birth == date_of_birth + datetime.timedelta(days=1)


@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Auckland"])
@pytest.mark.parametrize(
    "moment",
    [
        datetime.datetime(1, 1, 1, 0, 30, tzinfo=datetime.UTC),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999000, tzinfo=datetime.UTC),
    ],
)
def test_dates_at_the_ends_of_the_calendar_open_and_save(site: Site, zone: str, moment: datetime.datetime) -> None:
    Site.objects.filter(pk=site.pk).update(time_zone=zone)
    employee = make.make_employee(site, commencement_date=moment)
    client = browser(site)
    assert save(client, employee).status_code == 302
    assert Employee.objects.get(pk=employee.pk).commencement_date == moment
    assert browser(site, DefaultRole.READER).get(address(employee)).status_code == 200


def test_child_rows_are_edited_in_place_added_and_taken_out(site: Site) -> None:
    employee = make.make_employee(
        site, employment_history=[{"company": "Mill"}, {"company": "Dairy"}], education_training=[{"title": "Hygiene"}]
    )
    mill, dairy = employee.employment_history.all()
    changes = {
        "employment_history-0-company": "Water mill",
        "employment_history-1-DELETE": "on",
        "employment_history-TOTAL_FORMS": "3",
        "employment_history-2-company": "Bakery",
        "employment_history-2-position_held": "Baker",
        "change_reason": "Corrected",
    }
    assert save(browser(site), employee, **changes).status_code == 302
    rows = list(employee.employment_history.values_list("company", "position_held"))
    assert rows == [("Water mill", ""), ("Bakery", "Baker")]
    assert employee.employment_history.all()[0].pk == mill.pk
    assert not employee.employment_history.filter(pk=dairy.pk).exists()
    assert employee.education_training.get().title == "Hygiene"
    assert len(changes_of(employee)) == 2


def test_a_fault_of_the_action_is_shown_at_its_field_with_the_input_kept(site: Site) -> None:
    chief = make.make_employee(site, first_name="Ann", last_name="Baker")
    employee = make.make_employee(site, first_name="Tom", last_name="Miller", reporting_to=chief)
    response = save(browser(site), chief, reporting_to=str(employee.pk), position="Owner", change_reason="New order")
    page = response.content.decode()
    assert response.status_code == 200
    assert "Tom Miller cannot be the superior of Ann Baker, because Tom Miller already reports to Ann Baker" in page
    assert 'value="Owner"' in page
    assert response.context["adminform"].form.errors.keys() == {"reporting_to"}


def test_a_page_goes_by_the_stored_name_until_another_is_stored(site: Site) -> None:
    employee = make.make_employee(site, first_name="Ann", last_name="Baker")
    response = save(browser(site), employee, last_name="Miller")
    assert (response.status_code, response.context["title"]) == (200, "Edit Ann Baker")
    assert form_of(response)["last_name"] == ["Miller"]


def test_a_fault_in_a_row_is_shown_at_its_cell(site: Site) -> None:
    employee = make.make_employee(site, employment_history=[{"company": "Mill"}])
    changes = {
        "employment_history-0-start_date": "2020-05-01",
        "employment_history-0-finish_date": "2019-05-01",
        "change_reason": "Dates",
    }
    response = save(browser(site), employee, **changes)
    assert response.status_code == 200
    assert "The finish date is before the start date." in response.content.decode()
    assert len(changes_of(employee)) == 1


def test_any_two_moments_are_compared_also_when_they_stand_on_different_pages(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_pages, "PAGE", 2)
    employee, client = make.make_employee(site), browser(site)
    history = address(employee, "history")
    assert 'type="radio"' not in client.get(history).content.decode(), "There is nothing to compare yet."
    for position in ("Baker", "Miller", "Owner"):
        save(client, employee, position=position, change_reason="Moved on")
    first, *_, last = changes_of(employee)
    page = client.get(f"{history}?from={last.pk}")
    next_query = page.context["next"]
    assert [one["is_from"] for one in page.context["changes"]] == [True, False]
    page = client.get(history + next_query)
    [choice] = page.context["chosen"]
    assert (choice["change"].pk, choice["is_from"]) == (last.pk, True)
    assert "Chosen on another page" in page.content.decode()
    page = client.get(f"{history}{next_query}&to={first.pk}")
    assert page.context["comparison"]["lines"] == [{"label": "Position", "old": "Line lead", "new": "Owner"}]


def test_a_record_is_added_at_the_site_that_the_form_was_opened_for(site: Site, other_site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    make.give_role(manager, other_site, DefaultRole.MANAGER)
    client = sign_in(manager, site)
    data = form_of(client.get(reverse("admin:employees_employee_add")))
    client.post(reverse("admin:switch-site"), {"site": str(other_site.pk)})
    data |= {
        "first_name": "Noor",
        "last_name": "Hale",
        "position": "Cook",
        "nature_of_employment": str(make.nature().pk),
    }
    assert client.post(reverse("admin:employees_employee_add"), data).status_code == 302
    employee = Employee.objects.get(last_name="Hale")
    assert (employee.site_id, employee.site_sequence_id, employee.created_by_id) == (site.pk, 1, manager.pk)
    assert changes_of(employee)[0].channel == "Back-office"


def test_a_record_cannot_be_added_at_a_site_where_the_user_may_not(site: Site, other_site: Site) -> None:
    client = browser(site)
    data = form_of(client.get(reverse("admin:employees_employee_add")))
    data |= {"first_name": "N", "last_name": "H", "position": "C", "nature_of_employment": str(make.nature().pk)}
    for foreign in (str(other_site.pk), "x"):
        response = client.post(reverse("admin:employees_employee_add"), {**data, "larder_site": foreign})
        assert response.status_code == (403 if foreign != "x" else 302)
    assert not Employee.objects.filter(site=other_site).exists()


def test_records_of_other_sites_do_not_exist(site: Site, other_site: Site) -> None:
    foreign = make.make_employee(other_site)
    client = browser(site)
    for page in ("change", "history"):
        assert client.get(address(foreign, page)).status_code == 404
    assert client.get(reverse("admin:employees_employee_step", args=(foreign.pk, "archive"))).status_code == 404
    assert foreign.last_name not in client.get(list_address(Employee)).content.decode()


def test_a_reader_sees_and_cannot_write(site: Site) -> None:
    employee = make.make_employee(site)
    client = browser(site, DefaultRole.READER)
    page = client.get(address(employee))
    assert page.status_code == 200
    assert 'name="position"' not in page.content.decode()
    assert client.post(address(employee), {"position": "Owner"}).status_code == 403
    assert client.get(reverse("admin:employees_employee_add")).status_code == 403
    assert client.get(address(employee, "history")).status_code == 403


def test_nothing_is_deleted(site: Site) -> None:
    employee = make.make_employee(site)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert client.post(address(employee, "delete"), {"post": "yes"}).status_code == 403
    assert "delete" not in client.get(list_address(Employee)).content.decode().lower()
    assert Employee.objects.filter(pk=employee.pk).exists()


def test_the_second_editor_sees_who_changed_what_and_loses_nothing(site: Site) -> None:
    employee = make.make_employee(site, employment_history=[{"company": "Mill"}])
    row = employee.employment_history.get()
    first = make.make_user("first", site=site, role=DefaultRole.MANAGER, display_name="Fay First")
    one, two = browser(site, user=first), browser(site)
    second = form_of(two.get(address(employee)))
    save(
        one,
        employee,
        position="Baker",
        code="B7",
        **{
            "change_reason": "Promoted",
            "employment_history-TOTAL_FORMS": "2",
            "employment_history-1-company": "Dairy",
        },
    )
    second |= {"position": "Owner", "email_address": "ada@example.com", "change_reason": "Bought it"}
    second |= {"employment_history-0-company": "Water mill"}
    response = two.post(address(employee), second)
    page = response.content.decode()
    assert response.status_code == 200
    assert "Fay First" in page
    assert "Promoted" in page
    conflict = response.context["conflict"]
    assert conflict["both"] == ["Position"]
    assert {"label": "Position", "old": "Line lead", "new": "Baker"} in conflict["changes"][0]["lines"]
    assert len(changes_of(employee)) == 2
    merged_form = form_of(response)
    assert merged_form["position"] == ["Owner"]
    assert merged_form["code"] == ["B7"]
    assert merged_form["email_address"] == ["ada@example.com"]
    assert two.post(address(employee), merged_form).status_code == 302
    after = Employee.objects.get(pk=employee.pk)
    assert (after.position, after.code, after.email_address) == ("Owner", "B7", "ada@example.com")
    assert [(r.pk == row.pk, r.company) for r in after.employment_history.all()] == [
        (True, "Water mill"),
        (False, "Dairy"),
    ]


def test_a_row_that_another_took_out_stays_out_unless_it_was_edited(site: Site) -> None:
    rows = [{"company": "Mill"}, {"company": "Dairy"}]
    employee = make.make_employee(site, employment_history=rows)
    one, two = browser(site), browser(site)
    second = form_of(two.get(address(employee)))
    removals = {"employment_history-0-DELETE": "on", "employment_history-1-DELETE": "on", "change_reason": "Out"}
    assert save(one, employee, **removals).status_code == 302
    second |= {"employment_history-1-company": "Old dairy", "change_reason": "Renamed"}
    response = two.post(address(employee), second)
    assert response.status_code == 200
    assert two.post(address(employee), form_of(response)).status_code == 302
    assert [row.company for row in employee.employment_history.all()] == ["Old dairy"]


def test_private_fields_are_neither_shown_nor_overwritten(site: Site) -> None:
    employee = make.make_employee(site, notes="Left-handed", phone="0123")
    clerk = make.make_user(site=site)
    make.make_role(site, ["employees.view_employee", "employees.change_employee", "history.view_change"], [clerk])
    client = sign_in(clerk, site)
    page = client.get(address(employee)).content.decode()
    assert "Left-handed" not in page
    assert 'name="notes"' not in page
    response = save(client, employee, position="Baker", notes="x", phone="", change_reason="Promoted")
    assert response.status_code == 302
    after = Employee.objects.get(pk=employee.pk)
    assert (after.position, after.notes, after.phone) == ("Baker", "Left-handed", "0123")
    assert "Left-handed" not in client.get(address(employee, "history")).content.decode()
    assert "Left-handed" not in browser(site, DefaultRole.READER).get(address(employee)).content.decode()
    assert "Left-handed" in browser(site).get(address(employee, "history")).content.decode()


def test_archiving_an_employee_ends_the_access_and_restoring_does_not_bring_it_back(site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    employee = make.make_employee(site, id=user.pk, user=user)
    own_browser, client = browser(site, user=user), browser(site)
    assert own_browser.get(list_address(Employee)).status_code == 200
    step = reverse("admin:employees_employee_step", args=(employee.pk, "archive"))
    assert press(client, step, {"change_reason": ""}).status_code == 200
    assert not Employee.objects.get(pk=employee.pk).is_archived
    assert press(client, step, {"change_reason": "Left"}).status_code == 302
    assert Employee.objects.get(pk=employee.pk).is_archived
    assert not User.objects.get(pk=user.pk).is_active
    assert own_browser.get(list_address(Employee)).status_code == 302
    assert client.get(step).status_code == 302
    restore = reverse("admin:employees_employee_step", args=(employee.pk, "restore"))
    assert press(client, restore, {"change_reason": "Came back"}).status_code == 302
    assert not Employee.objects.get(pk=employee.pk).is_archived
    assert not User.objects.get(pk=user.pk).is_active
    assert [change.operation for change in changes_of(employee)] == [
        "AddEmployee",
        "ArchiveEmployee",
        "RestoreEmployee",
    ]


def test_a_standard_user_archives_nothing(site: Site) -> None:
    employee = make.make_employee(site)
    step = reverse("admin:employees_employee_step", args=(employee.pk, "archive"))
    assert browser(site, DefaultRole.STANDARD).post(step, {"change_reason": "x"}).status_code == 403


def test_history_is_filtered_paged_and_compared(site: Site) -> None:
    employee = make.make_employee(site)
    client = browser(site)
    for number in range(30):
        update_employee(
            site.pk, employee.pk, {"position": f"Grade {number}"}, author=make.SYSTEM, reason=f"Step {number}"
        )
    save(client, employee, code="C1", change_reason="Coded")
    page = address(employee, "history")
    assert "Coded" in client.get(page).content.decode()
    assert "Coded" not in client.get(page, {"field": "position"}).content.decode()
    assert "Step 2" in client.get(page, {"p": "2"}).content.decode()
    changes = changes_of(employee)
    comparison = client.get(page, {"from": str(changes[1].pk), "to": str(changes[-1].pk)}).context["comparison"]
    assert comparison["lines"] == [
        {"label": "Position", "old": "Grade 0", "new": "Grade 29"},
        {"label": "Employee code", "old": NOTHING, "new": "C1"},
    ]


def test_a_form_costs_the_same_for_few_and_for_many_rows(site: Site, django_assert_max_num_queries: Any) -> None:
    client = browser(site)
    counts = []
    for number in (1, 12):
        education = [{"title": f"Course {n}", "education_result": make.education_result()} for n in range(number)]
        employee = make.make_employee(site, education_training=education)
        client.get(address(employee))
        with django_assert_max_num_queries(40) as queries:
            client.get(address(employee))
        counts.append(len(queries.captured_queries))
    assert counts[0] == counts[1]


def test_a_job_description_keeps_its_holders_when_something_else_changes(site: Site) -> None:
    holder = make.make_employee(site)
    job = make.make_job_description(site, employees=[holder])
    assert save(browser(site), job, purpose="Bake\r\nbread", change_reason="Said").status_code == 302
    after = JobDescription.objects.get(pk=job.pk)
    assert list(after.employees.all()) == [holder]
    assert after.purpose == "Bake\nbread"


def test_a_change_under_a_clock_that_is_behind_is_still_the_newest(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines' clocks differ; an editor who saw the earlier change must not overwrite the later one."""
    employee = make.make_employee(site)
    client = browser(site)
    data = form_of(client.get(address(employee)))
    behind = now() - datetime.timedelta(minutes=5)
    monkeypatch.setattr("records.history.trail.now", lambda: behind)
    update_employee(site.pk, employee.pk, {"position": "Baker"}, author=make.SYSTEM)
    monkeypatch.undo()
    page = client.post(address(employee), {**data, "position": "Packer", "change_reason": "Moved"})
    assert page.status_code == 200
    assert Employee.objects.get(pk=employee.pk).position == "Baker"


@pytest.mark.parametrize("number", ["\u00b2", "9" * 5000, "-1", "x", ""])
def test_a_malformed_number_of_rows_takes_no_row_with_it(site: Site, number: str) -> None:
    rows = [{"company": "Millers", "position_held": "Packer"}]
    employee = make.make_employee(site, employment_history=rows)
    client = browser(site)
    answer = save(
        client, employee, **{"employment_history-TOTAL_FORMS": number, "position": "Baker"}, change_reason="x"
    )
    assert answer.status_code in (200, 302)
    assert employee.employment_history.get().company == "Millers"


@pytest.mark.parametrize(
    ("make_row", "name"),
    [
        (make.make_folder, "entity"),
        (partial(make_period, months=24), "entity"),
        (lambda site: make.make_user(site=site), "is_service_account"),
    ],
    ids=["folder", "retention period", "account"],
)
def test_what_can_only_be_chosen_for_a_new_row_is_not_an_input_afterwards(site: Site, make_row: Any, name: str) -> None:
    row = make_row(site)
    client = sign_in(make.make_user("root", site=site, is_superuser=True), site)
    add = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_add")
    forms = [client.get(url).context["adminform"].form.fields for url in (add, address(row))]
    assert [name in fields for fields in forms] == [True, False]
