"""Putting a value of the history back: an ordinary change with a reason, offered only where it can be done."""

import datetime
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.audits import workflow
from records.backoffice.datetimes import NOTHING
from records.complaints.actions import update_complaint_detail
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.customers.actions import update_customer
from records.customers.erasure import erase_contact
from records.employees.models import Course
from records.history.models import Change
from records.reference.models import Product
from records.sites.models import Entity, Site
from tests import make
from tests.make.actions import make_action
from tests.make.audits import make_audit, make_checklist, make_program, make_rating, response, start
from tests.make.backoffice import address, browser, save, sign_in
from tests.make.complaints import make_complaint, make_completed, make_entry
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item
from tests.records.backoffice.test_record_admin import changes_of

pytestmark = pytest.mark.django_db


def url_of(record: Any, name: str, change: Change | None = None, row: Any = None) -> str:
    """Return the address that puts back the value of the field before the change (by default the newest)."""
    number = (change or changes_of(record)[-1]).pk
    kind = f"admin:{record._meta.app_label}_{record._meta.model_name}_put_back"
    return reverse(kind, args=(record.pk, number, name)) + (f"?row={row}" if row else "")


def offered_fields(client: Client, record: Any) -> list[str]:
    """Return the names of the fields that the history page offers to put back, newest change first."""
    page = client.get(address(record, "history")).content.decode()
    return re.findall(r'class="put-back" href="[^"]*/([a-z_.]+)/(?:\?row=[0-9a-f-]{36})?"', page)


def confirmation_data(page: Any, reason: str = "Was right") -> dict[str, str]:
    """Return what the confirmation page sends once the reason is typed."""
    assert f'name="larder_seen" value="{page.context["seen"]}"' in page.content.decode()
    return {"larder_seen": page.context["seen"], "change_reason": reason}


def put_back(client: Client, url: str, reason: str = "Was right") -> Any:
    return client.post(url, confirmation_data(client.get(url), reason), follow=True)


def change_complaint(complaint: Complaint, **values: Any) -> Complaint:
    return update_complaint_detail(
        complaint.site_id, complaint.pk, values, author=make.SYSTEM, may_change_completed=True, reason="Because"
    )


def day(number: int) -> datetime.datetime:
    return datetime.datetime(2026, 3, number, 9, 30, 12, 345000, tzinfo=datetime.UTC)


def test_plain_values_of_each_kind_are_put_back_exactly_with_a_change_and_its_reason(site: Site) -> None:
    bread, cake = make_entry(Product, site, "Rye loaf"), make_entry(Product, site, "Cake")
    folder = make.make_folder(site, Entity.COMPLAINT)
    before = {
        "complaint_description": "A stone\nin it",
        "product": bread,
        "date": day(1),
        "severity": "Major",
        "trace_number": "",
        "entity_folder": None,
    }
    after = {
        "complaint_description": "A stick",
        "product": cake,
        "date": day(2),
        "severity": "Minor",
        "trace_number": "L7",
        "entity_folder": folder,
    }
    complaint = make_complaint(site, **before)
    change_complaint(complaint, **after)
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    client, update = sign_in(manager, site), changes_of(complaint)[-1]
    assert sorted(offered_fields(client, complaint)) == sorted(before)
    for name, value in before.items():
        answer = put_back(client, url_of(complaint, name, update), f"Wrong {name}")
        assert "the earlier value was put back." in answer.content.decode()
        assert getattr(Complaint.objects.get(pk=complaint.pk), name) == value
        change = changes_of(complaint)[-1]
        assert (change.reason, change.author_id, change.channel) == (f"Wrong {name}", manager.pk, "Back-office")
        [entry], [update_entry] = change.fields, [entry for entry in update.fields if entry["field"] == name]
        assert (entry["field"], entry["new"] or None) == (name, update_entry["old"] or None)
    assert len(changes_of(complaint)) == 2 + len(before)


KINDS: list[tuple[Callable[[Site], Any], str, Any]] = [
    (lambda site: make_document(site, description="Wash hands"), "description", "Wash feet"),
    (lambda site: make_action(site, due_date=day(4)), "due_date", "2026-03-09"),
    (lambda site: make_program(site, risk="Low"), "risk", "High"),
    (lambda site: make_audit(make_program(site), notes="Bring boots"), "notes", "Bring gloves"),
    (lambda site: make_customer(site, lat="48.5", lng="9.1"), "lat", "49.25"),
    (lambda site: make.make_employee(site, position="Baker"), "position", "Miller"),
]


@pytest.mark.parametrize(("make_record", "name", "other"), KINDS, ids=[name for _, name, _ in KINDS])
def test_each_kind_of_record_is_written_by_its_own_action(
    site: Site, make_record: Callable[[Site], Any], name: str, other: str
) -> None:
    record, client = make_record(site), browser(site)
    before = type(record).objects.values_list(name, flat=True).get(pk=record.pk)
    save(client, record, **{name: other, "change_reason": "Misread"})
    update = changes_of(record)[-1]
    assert name in offered_fields(client, record)
    assert "was put back." in put_back(client, url_of(record, name)).content.decode()
    assert type(record).objects.values_list(name, flat=True).get(pk=record.pk) == before
    assert changes_of(record)[-1].operation == update.operation


def test_the_page_shows_both_values_and_asks_for_the_reason(site: Site) -> None:
    bread, cake = make_entry(Product, site, "Rye loaf"), make_entry(Product, site, "Cake")
    complaint = make_complaint(site, product=bread)
    change_complaint(complaint, product=cake)
    client, url = browser(site), url_of(complaint, "product")
    page = client.get(url)
    assert (page.context["now"], page.context["then"]) == ("Cake", "Rye loaf")
    answer = put_back(client, url, " ")
    assert "This field is required." in answer.content.decode()
    assert Complaint.objects.get(pk=complaint.pk).product == cake
    assert len(changes_of(complaint)) == 2


def test_statuses_and_what_the_first_change_tells_are_not_offered(site: Site) -> None:
    employee = make.make_employee(site, employment_history=[{"company": "Mill"}])
    client = browser(site)
    [row] = employee.employment_history.all()
    assert offered_fields(client, employee) == []
    assert client.get(url_of(employee, "position", changes_of(employee)[0])).status_code == 404
    assert client.get(url_of(employee, "employment_history", row=row.pk)).status_code == 404
    complaint = make_completed(site)
    assert offered_fields(client, complaint) == ["review_report"]
    assert client.get(url_of(complaint, "record_status")).status_code == 404
    assert client.get(url_of(complaint, "nonsense")).status_code == 404
    assert client.get(url_of(complaint, "change_reason")).status_code == 404


def test_cells_and_rows_are_put_back_each_on_its_own(site: Site) -> None:
    course = Course.objects.create(site=site, name="Hygiene")
    day_of = {"course": course, "completed_on": day(1)}
    employee = make.make_employee(
        site, education_training=[{"title": "Baker"}, {"title": "Hygiene", **day_of}, {"title": "First aid"}]
    )
    client = browser(site)
    titles = lambda: [row.title for row in employee.education_training.all()]  # noqa: E731
    baker, hygiene, aid = employee.education_training.all()
    changes = {"education_training-0-title": "Cook", "education_training-1-DELETE": "on", "change_reason": "Misread"}
    save(client, employee, **changes)
    update = changes_of(employee)[-1]
    assert titles() == ["Cook", "First aid"]
    assert sorted(offered_fields(client, employee)) == ["education_training", "education_training.title"]
    page = client.get(url_of(employee, "education_training", update, hygiene.pk))
    assert page.context["now"] == NOTHING
    assert page.context["then"] == "Title: Hygiene; Course: Hygiene; Completed on: 2026-03-01"
    put_back(client, url_of(employee, "education_training", update, hygiene.pk), "She has it")
    assert titles() == ["Cook", "Hygiene", "First aid"]
    back: Any = employee.education_training.get(title="Hygiene")
    assert (back.course, back.completed_on.date()) == (course, day(1).date())
    assert offered_fields(client, employee) == ["education_training", "education_training.title"], (
        "Only to take it out again."
    )
    page = client.get(url_of(employee, "education_training.title", update, baker.pk))
    assert (page.context["now"], page.context["then"]) == ("Cook", "Baker")
    put_back(client, url_of(employee, "education_training.title", update, baker.pk))
    assert titles() == ["Baker", "Hygiene", "First aid"]
    addition = next(one for one in changes_of(employee) if one.reason == "She has it")
    put_back(client, url_of(employee, "education_training", addition, back.pk), "She has it not")
    assert titles() == ["Baker", "First aid"]
    assert [one.reason for one in changes_of(employee)[2:]] == ["She has it", "Was right", "She has it not"]
    [removed_row] = [one["old"] for one in changes_of(employee)[-1].fields if one["field"] == "education_training"]
    assert removed_row["title"] == "Hygiene"
    assert {row.pk for row in employee.education_training.all()} == {baker.pk, aid.pk}


def test_a_cell_of_a_row_that_is_gone_and_a_row_whose_course_is_archived_are_refused_in_words(site: Site) -> None:
    course = Course.objects.create(site=site, name="Hygiene")
    lines = [{"title": "Baker"}, {"title": "Hygiene", "course": course, "completed_on": day(1)}]
    employee = make.make_employee(site, education_training=lines)
    client = browser(site)
    baker, hygiene = employee.education_training.all()
    save(client, employee, **{"education_training-0-title": "Cook", "change_reason": "Misread"})
    update = changes_of(employee)[-1]
    data = {"education_training-0-DELETE": "on", "education_training-1-DELETE": "on", "change_reason": "Wrong person"}
    save(client, employee, **data)
    removal = changes_of(employee)[-1]
    text = client.get(url_of(employee, "education_training.title", update, baker.pk), follow=True).content.decode()
    assert "nothing was put back. This row does not exist any more." in text
    Course.objects.update(is_archived=True)
    answer = put_back(client, url_of(employee, "education_training", removal, hygiene.pk))
    assert "This course is archived and cannot be chosen any more." in answer.content.decode()
    assert not employee.education_training.exists()
    assert len(changes_of(employee)) == 3


def test_a_list_is_put_back_as_it_was_without_what_can_no_longer_be_chosen(site: Site) -> None:
    ada, ben, cy = (make.make_employee(site, first_name=name, last_name="") for name in ("Ada", "Ben", "Cy"))
    audit = make_audit(make_program(site), auditors=[ada, ben])
    client = browser(site)
    save(client, audit, auditors=[str(cy.pk)], change_reason="Swapped")
    update = changes_of(audit)[-1]
    assert offered_fields(client, audit) == ["auditors"]
    page = client.get(url_of(audit, "auditors", update))
    assert (page.context["now"], {*page.context["then"].split(", ")}) == ("Cy", {"Ada", "Ben"})
    put_back(client, url_of(audit, "auditors", update))
    assert {*audit.auditors.all()} == {ada, ben}
    assert offered_fields(client, audit) == ["auditors"], "Only the list of the newest change differs now."
    save(client, audit, auditors=[], change_reason="Nobody")
    make.archive(ben, reason="Left")
    text = client.get(url_of(audit, "auditors"), follow=True).content.decode()
    assert "Auditors: nothing was put back. This employee is archived and cannot be chosen any more." in text
    assert not audit.auditors.exists()


def test_findings_are_put_back_while_the_audit_takes_them_and_rate_it_anew(site: Site) -> None:
    program = make_program(
        site, checklists=[make_checklist(site, questions=("Clean?", "Dry?"))], rating=make_rating(site)
    )
    audit: Any = start(make_audit(program))
    client, [clean, dry] = browser(site), audit.findings.all()
    yes, no = response(audit.rating_scale, "Yes"), response(audit.rating_scale, "No")
    rows = [{"id": clean.pk, "rating_response": yes}, {"id": dry.pk, "rating_response": yes}]
    workflow.save_findings(site.pk, audit.pk, rows, author=make.SYSTEM)
    workflow.submit_audit_record(site.pk, audit.pk, author=make.SYSTEM)
    rows[1]["rating_response"] = no
    workflow.save_findings(site.pk, audit.pk, rows, author=make.SYSTEM, reason="Looked again")
    audit.refresh_from_db()
    worse, url = audit.score, url_of(audit, "findings.rating_response", row=dry.pk)
    assert "findings.rating_response" in offered_fields(client, audit)
    put_back(client, url, "It was dry")
    audit.refresh_from_db()
    assert audit.score > worse
    assert [str(one.rating_response) for one in audit.findings.all()] == ["Yes", "Yes"]
    workflow.complete_audit_record(site.pk, audit.pk, author=make.SYSTEM)
    assert "findings.rating_response" not in offered_fields(client, audit)
    assert client.get(url).status_code == 404


def test_the_contacts_that_were_erased_are_not_put_back(site: Site) -> None:
    customer = make_customer(site, party_contacts=[{"first_name": "Nia", "last_name": "Novak"}])
    client = browser(site)
    [nia] = customer.party_contacts.all()
    save(client, customer, **{"party_contacts-0-first_name": "Nina", "change_reason": "Misread"})
    renaming = changes_of(customer)[-1]
    save(client, customer, **{"party_contacts-0-DELETE": "on", "change_reason": "Left"})
    removal = changes_of(customer)[-1]
    assert offered_fields(client, customer) == ["party_contacts"]
    erase_contact(site.pk, customer.pk, str(nia.pk), author=make.SYSTEM, reason="Asked for it")
    assert offered_fields(client, customer) == []
    for url in (
        url_of(customer, "party_contacts", removal, nia.pk),
        url_of(customer, "party_contacts.first_name", renaming, nia.pk),
    ):
        text = client.get(url, follow=True).content.decode()
        assert "nothing was put back." in text
    assert not customer.party_contacts.exists()


def test_an_added_contact_that_was_erased_is_not_offered_to_be_removed(site: Site) -> None:
    customer, client = make_customer(site), browser(site)
    contacts = [{"first_name": "Nia", "last_name": "Novak"}]
    update_customer(site.pk, customer.pk, {"party_contacts": contacts}, author=make.SYSTEM, reason="New")
    assert offered_fields(client, customer) == ["party_contacts"]
    nia, addition = customer.party_contacts.get(), changes_of(customer)[-1]
    erase_contact(site.pk, customer.pk, str(nia.pk), author=make.SYSTEM, reason="Asked for it")
    assert offered_fields(client, customer) == []
    text = client.get(url_of(customer, "party_contacts", addition, nia.pk), follow=True).content.decode()
    assert "nothing was put back. The value was erased for good." in text


def test_the_value_that_is_in_place_is_not_offered_and_not_written_again(site: Site) -> None:
    item = make_item(site, name="Oven")
    client = browser(site)
    save(client, item, name="Big oven", change_reason="Bigger")
    url = url_of(item, "name")
    assert offered_fields(client, item) == ["name"]
    save(client, item, name="Oven", change_reason="Not bigger")
    assert offered_fields(client, item) == ["name"], "Only “Big oven” can be put back now."
    text = client.post(url, {"change_reason": "Again"}, follow=True).content.decode()
    assert "Name: nothing was put back. The record has this value already." in text
    assert len(changes_of(item)) == 3


def test_who_was_slower_sees_who_changed_the_record_and_decides_again(site: Site) -> None:
    item = make_item(site, name="Oven")
    client = browser(site)
    save(client, item, name="Big oven", change_reason="Bigger")
    url = url_of(item, "name")
    data = confirmation_data(client.get(url))
    other = make.make_user(site=site, role=DefaultRole.MANAGER)
    save(sign_in(other, site), item, name="Huge oven", change_reason="Bigger still")
    page = client.post(url, data)
    assert f"{other.printed_name} changed this record while this page was open." in page.content.decode()
    assert (page.context["now"], page.context["then"]) == ("Huge oven", "Oven")
    assert len(changes_of(item)) == 3
    assert "Was right</textarea>" in page.content.decode()
    assert client.post(url, {"change_reason": "Without having seen anything"}).status_code == 200
    assert len(changes_of(item)) == 3
    client.post(url, confirmation_data(page))
    item.refresh_from_db()
    assert (item.name, len(changes_of(item))) == ("Oven", 4)


def test_nothing_is_put_back_into_an_archived_record(site: Site) -> None:
    complaint = make_complaint(site, severity="Major")
    change_complaint(complaint, severity="Minor")
    client, url = browser(site), url_of(complaint, "severity")
    data = confirmation_data(client.get(url))
    make.archive(complaint, reason="Old")
    assert offered_fields(client, complaint) == []
    text = client.post(url, data, follow=True).content.decode()
    assert "This complaint is archived. Restore it before you change it." in text
    assert len(changes_of(complaint)) == 3


@pytest.mark.parametrize("obstacle", ["archived", "elsewhere"])
def test_a_reference_that_cannot_be_chosen_any_more_is_said_in_plain_words(
    site: Site, other_site: Site, obstacle: str
) -> None:
    bread, cake = make_entry(Product, site, "Rye loaf"), make_entry(Product, site, "Cake")
    complaint = make_complaint(site, product=bread)
    change_complaint(complaint, product=cake)
    if obstacle == "archived":
        make.archive(bread)
    else:
        Product.objects.filter(pk=bread.pk).update(site=other_site)
    client, url = browser(site), url_of(complaint, "product")
    why = {
        "archived": "This product is archived and cannot be chosen any more.",
        "elsewhere": "No such product at this site.",
    }
    text = client.post(url, {"change_reason": "x"}, follow=True).content.decode()
    assert f"Product: nothing was put back. {why[obstacle]}" in text
    assert len(changes_of(complaint)) == 2


def test_an_erased_value_is_not_put_back(site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Przybylski", severity="Major")
    change_complaint(complaint, consumer_last_name="Smith", severity="Minor")
    update, client = changes_of(complaint)[-1], browser(site)
    assert sorted(offered_fields(client, complaint)) == ["consumer_last_name", "severity"]
    erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked for it")
    assert set(offered_fields(client, complaint)) == {"severity"}
    count = len(changes_of(complaint))
    answer = client.post(url_of(complaint, "consumer_last_name", update), {"change_reason": "x"}, follow=True)
    assert "The value was erased for good." in answer.content.decode()
    assert len(changes_of(complaint)) == count


def test_who_may_not_change_the_record_is_offered_nothing_and_refused(site: Site, other_site: Site) -> None:
    item, foreign = make_item(site, name="Oven"), make_item(other_site, name="Oven")
    for one in (item, foreign):
        save(browser(one.site), one, name="Big oven", change_reason="Bigger")
    auditor = make.make_user(site=site)
    make.make_role(site, ["items.view_item", "history.view_change"], [auditor])
    for client in (sign_in(auditor, site), browser(site, DefaultRole.READER)):
        assert client.get(url_of(item, "name")).status_code == 403
        assert client.post(url_of(item, "name"), {"change_reason": "x"}).status_code == 403
    assert offered_fields(sign_in(auditor, site), item) == []
    manager = browser(site)
    assert manager.get(url_of(foreign, "name")).status_code == 404
    assert manager.post(url_of(foreign, "name"), {"change_reason": "x"}).status_code == 404
    foreign_change = changes_of(foreign)[-1]
    assert manager.get(url_of(item, "name", foreign_change)).status_code == 404, "A change of another record."
    unknown = Change(pk=uuid.uuid4())
    assert manager.get(url_of(item, "name", unknown)).status_code == 404
    assert [len(changes_of(one)) for one in (item, foreign)] == [2, 2]


def test_a_private_value_is_not_there_for_who_may_not_see_it(site: Site) -> None:
    employee = make.make_employee(site, address="1 Mill Lane")
    save(browser(site), employee, address="2 Mill Lane", position="Baker", change_reason="Moved")
    clerk = make.make_user(site=site)
    permissions = ["employees.view_employee", "employees.change_employee", "history.view_change"]
    make.make_role(site, permissions, [clerk])
    client = sign_in(clerk, site)
    assert offered_fields(client, employee) == ["position"]
    assert client.get(url_of(employee, "address")).status_code == 404


def test_what_the_writer_refuses_is_said_and_changes_nothing(site: Site) -> None:
    manufacture_date, expiration_date = day(1), day(9)
    complaint = make_complaint(site, manufacture_date=manufacture_date, expiration_date=day(5))
    change_complaint(complaint, expiration_date=expiration_date)
    change_complaint(complaint, manufacture_date=day(7))
    client, earlier = browser(site), changes_of(complaint)[1]
    answer = put_back(client, url_of(complaint, "expiration_date", earlier))
    assert answer.context["form"].errors
    assert "expiration date" in answer.content.decode().lower()
    assert Complaint.objects.get(pk=complaint.pk).expiration_date == expiration_date
    assert len(changes_of(complaint)) == 3


def test_the_history_costs_as_many_queries_for_many_changes_as_for_few(
    site: Site, django_assert_max_num_queries: Any
) -> None:
    item = make_item(site, name="Oven 0")
    client = browser(site)
    save(client, item, name="Oven 1", change_reason="More")
    with django_assert_max_num_queries(40) as few:
        client.get(address(item, "history"))
    count = len(few.captured_queries)
    for number in range(2, 8):
        save(client, item, name=f"Oven {number}", change_reason="More")
    with django_assert_max_num_queries(count):
        assert offered_fields(client, item) == ["name"] * 7
