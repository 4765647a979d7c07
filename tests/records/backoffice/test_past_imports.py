"""Imports of what exists already: warnings, matching by code or name, and taking an import back as one."""

import re
import uuid
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from materials.models import Material
from records.accounts.models import DefaultRole
from records.backoffice.models import FileImport
from records.complaints.models import Complaint
from records.customers import actions as customer_actions
from records.customers.models import Customer
from records.employees.models import Employee
from records.history.models import Change
from records.items.models import Item
from records.sites.models import Site
from tests import make
from tests.make.attachments import make_attachment
from tests.make.backoffice import browser
from tests.make.complaints import make_complaint, required_of
from tests.make.customers import make_customer
from tests.make.items import make_item
from tests.make.transfer import as_book, bring_in, check, confirm, faults, page, text_of

pytestmark = pytest.mark.django_db

FILE = [{"Name": "Acme", "Code": "A1", "Telephone": "1"}, {"Name": "Bell", "Code": "", "Telephone": "2"}]


def warnings(report: Any) -> dict[int, list[str]]:
    """Return the warnings by the number of the row."""
    return {row.number: row.warnings for row in report.context["rows"] if row.warnings}


def test_a_file_that_is_imported_again_is_warned_of_and_doubles_nothing_when_it_is_matched(site: Site) -> None:
    client = browser(site)
    bring_in(client, Customer, FILE)
    report = check(client, Customer, FILE)
    assert warnings(report) == {
        2: ["The customer Acme (No. 1) has the same code.", "The customer Acme (No. 1) has the same name."],
        3: ["The customer Bell (No. 2) has the same name."],
    }
    assert "2 rows would add a customer whose code or name exists already" in text_of(report)
    report = check(client, Customer, [{**FILE[0], "Telephone": "9"}, FILE[1]], match="name")
    assert (report.context["added"], report.context["changed_count"], report.context["unchanged"]) == (0, 1, 1)
    assert confirm(client, Customer, report, "New phone").status_code == 302
    assert list(Customer.objects.order_by("name").values_list("name", "telephone")) == [("Acme", "9"), ("Bell", "2")]
    change = Change.objects.filter(model="customers.Customer").latest("number")
    assert (change.operation, change.reason) == ("UpdateCustomer", "New phone")


def test_the_report_says_an_item(site: Site) -> None:
    client = browser(site)
    bring_in(client, Item, [{"Name": "Detector"}])
    report = text_of(check(client, Item, [{"Name": "Detector"}]))
    assert "1 row would add an item whose code or name exists already" in report


def test_the_report_offers_to_match_without_another_upload(site: Site) -> None:
    client = browser(site)
    make_customer(site, name="Other name", code="a1")
    report = check(client, Customer, FILE)
    upload = re.search(r'name="upload" value="([^"]+)"', report.content.decode())
    assert upload
    again = client.post(page(Customer, "import"), {"upload": upload[1], "check": "yes", "match": "code"})
    assert (again.context["added"], again.context["changed_count"]) == (1, 1)
    assert confirm(client, Customer, again).status_code == 302
    assert set(Customer.objects.values_list("name", "code")) == {("Acme", "A1"), ("Bell", "")}


def test_a_code_that_two_records_have_is_refused_and_both_are_named(site: Site) -> None:
    make_customer(site, name="Acme", code="A1")
    make_customer(site, name="Apex", code="a1")
    report = check(browser(site), Customer, FILE, match="code")
    assert faults(report)[2] == ["2 customers have this code: Acme (No. 1) and Apex (No. 2). Write the Id."]


def test_a_match_with_an_archived_record_is_refused_and_one_at_another_site_does_not_count(
    site: Site, other_site: Site
) -> None:
    make_customer(other_site, name="Acme", code="A1")
    customer = make_customer(site, name="Bell")
    make.archive(customer, reason="Closed")
    client = browser(site)
    assert warnings(check(client, Customer, FILE)) == {
        3: ["The customer Bell (No. 1), which is archived, has the same name."]
    }
    report = check(client, Customer, FILE, match="name")
    assert faults(report) == {3: ["The record is archived. Restore it before you change it."]}


def test_rows_of_one_file_with_the_same_code_are_warned_of_and_two_that_mean_one_record_are_refused(site: Site) -> None:
    client = browser(site)
    rows = [{"Name": "Scale", "Code": "S"}, {"Name": "Oven", "Code": "s"}]
    assert warnings(check(client, Item, rows)) == {3: ["Row 2 has the same code."]}
    make_item(site, name="Old", code="S")
    assert faults(check(client, Item, rows, match="code")) == {3: ["Row 2 is about the same item."]}


def test_people_are_matched_by_both_names_and_kinds_without_codes_are_not_asked(site: Site) -> None:
    client = browser(site)
    boss = make.make_employee(site, first_name="Ida", last_name="Moss", position="Baker")
    report = check(client, Employee, [{"First name": "ida", "Last name": "MOSS", "Position": "Chef"}], match="name")
    assert report.context["changed_count"] == 1, faults(report)
    assert confirm(client, Employee, report).status_code == 302
    assert Employee.objects.get(pk=boss.pk).position == "Chef"
    assert "What a row without an Id does" not in text_of(client.get(page(Complaint, "import")))
    assert "What a row without an Id does" not in text_of(client.get(page(Material, "import")))


def test_a_record_that_appeared_since_the_report_holds_the_import_back(site: Site) -> None:
    client = browser(site)
    report = check(client, Customer, FILE)
    make_customer(site, name="Acme")
    again = confirm(client, Customer, report)
    assert "Records were changed since you saw the report" in text_of(again)
    assert Customer.objects.count() == 1


# --- Taking back -----------------------------------------------------------------------------------------------------


def preview(client: Client, model: Any) -> Any:
    """Return the page that takes the newest import back."""
    return client.get(page(model, "take_back", str(FileImport.objects.latest("at").pk)))


def undo_import(client: Client, model: Any, reason: str = "Wrong file", seen: str | None = None) -> Any:
    """Take the newest import back, and return the answer."""
    preview_page = preview(client, model)
    data = {"change_reason": reason, "seen": preview_page.context["seen"] if seen is None else seen}
    return client.post(page(model, "take_back", str(FileImport.objects.latest("at").pk)), data)


def outcome(preview_page: Any) -> dict[int, tuple[str, list[str], list[str]]]:
    """Return what happens to the record of each row, its fields and the reasons."""
    return {line.row: (line.outcome, line.fields, line.reasons) for line in preview_page.context["lines"]}


def test_an_import_is_taken_back_as_one(site: Site) -> None:
    client = browser(site)
    customer = make_customer(site, name="Acme", telephone="1", note="old", party_contacts=[{"last_name": "Ek"}])
    data = as_book(
        Customers=[["Id", "Name", "Telephone", "Note"], [str(customer.pk), "Apex", "2", ""], [None, "New", "3", ""]],
        Contacts=[["Customer", "Last name", "First name"], ["Apex", "Li", ""], ["Apex", "Ek", "Eva"]],
    )
    bring_in(client, Customer, data)
    file_import = FileImport.objects.get()
    assert (file_import.added, file_import.changed) == (1, 1)
    assert (file_import.reason, file_import.file_name) == ("Yearly review", "file.csv")
    before = Change.objects.count()
    preview_page = preview(client, Customer)
    assert {row: what for row, (what, _, _) in outcome(preview_page).items()} == {2: "Put back", 3: "Archive"}
    assert Change.objects.count() == before
    answer = undo_import(client, Customer)
    assert answer.status_code == 302, text_of(answer)
    customer.refresh_from_db()
    assert (customer.name, customer.telephone, customer.note) == ("Acme", "1", "old")
    assert list(customer.party_contacts.values_list("first_name", "last_name")) == [("", "Ek")]
    assert Customer.objects.get(name="New").is_archived
    assert set(Change.objects.order_by("-number").values_list("reason", flat=True)[:2]) == {
        "Import of file.csv undone: Wrong file"
    }
    file_import.refresh_from_db()
    assert file_import.taken_back is not None
    assert "was already undone" in text_of(client.get(preview_url(file_import), follow=True))


def preview_url(file_import: FileImport) -> str:
    return page(Customer, "take_back", str(file_import.pk))


def test_what_somebody_touched_since_stays_and_is_named(site: Site) -> None:
    client = browser(site)
    customer = make_customer(site, name="Acme", telephone="1", fax="1")
    rows = [
        {"Id": str(customer.pk), "Name": "Acme", "Telephone": "2", "Fax": "2"},
        {"Id": "", "Name": "Changed", "Telephone": "", "Fax": ""},
        {"Id": "", "Name": "Used", "Telephone": "", "Fax": ""},
        {"Id": "", "Name": "Untouched", "Telephone": "", "Fax": ""},
    ]
    bring_in(client, Customer, rows)
    author = make.SYSTEM
    customer_actions.update_customer(site.pk, customer.pk, {"fax": "9"}, author=author, reason="Moved")
    changed_customer = Customer.objects.get(name="Changed")
    customer_actions.update_customer(site.pk, changed_customer.pk, {"note": "x"}, author=author, reason="Moved")
    make_complaint(site, **{**required_of(site), "customer": Customer.objects.get(name="Used")})
    assert outcome(preview(client, Customer)) == {
        2: ("Put back", ["Telephone"], [f"Fax: {author.name} has changed it since."]),
        3: ("Leave", [], [f"{author.name} has changed it since."]),
        4: ("Leave", [], ["It is used by complaints."]),
        5: ("Archive", [], []),
    }
    assert undo_import(client, Customer).status_code == 302
    customer.refresh_from_db()
    assert (customer.telephone, customer.fax) == ("1", "9")
    assert set(Customer.objects.filter(is_archived=True).values_list("name", flat=True)) == {"Untouched"}


def test_a_record_with_an_attachment_stays(site: Site) -> None:
    client = browser(site)
    bring_in(client, Item, [{"Name": "Scale"}])
    item = Item.objects.get()
    make_attachment(site, on=item)
    assert outcome(preview(client, Item)) == {2: ("Leave", [], ["It is used by attachments."])}
    assert "No part of this import can be undone" in text_of(preview(client, Item))
    assert (
        client.post(
            page(Item, "take_back", str(FileImport.objects.get().pk)), {"change_reason": "x", "seen": ""}
        ).status_code
        == 200
    )
    assert FileImport.objects.get().taken_back is None


def test_lists_references_and_emptied_fields_are_put_back(site: Site) -> None:
    client = browser(site)
    boss = make.make_employee(site, first_name="Ida", last_name="Moss", code="B7")
    worker = make.make_employee(site, first_name="Bo", last_name="Li", reporting_to=boss, notes="n")
    before = {name: getattr(worker, name) for name in ("position", "reporting_to_id", "notes", "commencement_date")}
    row = {"Id": str(worker.pk), "Position": "Chef", "ReportingToId": "", "Notes": "", "CommencementDate": "2024-01-01"}
    bring_in(client, Employee, [row])
    assert undo_import(client, Employee).status_code == 302
    worker.refresh_from_db()
    assert {name: getattr(worker, name) for name in before} == before


def test_materials_are_taken_back_too(site: Site) -> None:
    client = browser(site)
    bring_in(client, Material, [{"externalId": "1", "name": "Flour", "countryOfOrigin": "Norway"}])
    bring_in(client, Material, [{"externalId": "1", "name": "Rye flour", "countryOfOrigin": "Norway; Korea"}])
    assert undo_import(client, Material).status_code == 302
    material = Material.objects.get()
    assert (material.name, material.country_of_origin) == ("Flour", ["Norway"])


def test_taking_back_needs_the_permissions_and_the_same_site(site: Site, other_site: Site) -> None:
    bring_in(browser(site), Complaint, [complaint_row(site)])
    standard = browser(site, DefaultRole.STANDARD)
    assert outcome(preview(standard, Complaint)) == {2: ("Leave", [], ["You may not do this to the record."])}
    assert preview(browser(site, DefaultRole.READER), Complaint).status_code == 403
    assert preview(browser(other_site), Complaint).status_code == 404
    assert (
        page(Complaint, "take_back", str(FileImport.objects.get().pk))
        not in browser(other_site).get(page(Complaint, "imports")).content.decode()
    )


def test_taking_back_leaves_private_values_to_those_who_see_them(site: Site) -> None:
    employee = make.make_employee(site, phone="112", code="E1")
    bring_in(browser(site), Employee, [{"Id": str(employee.pk), "Phone": "999", "Code": "E2"}])
    clerk = make.make_user(site=site)
    make.make_role(site, ["employees.view_employee", "employees.change_employee"], [clerk])
    client = browser(site, user=clerk)
    assert outcome(preview(client, Employee)) == {2: ("Put back", ["Employee code"], ["Phone: You may not change it."])}
    assert undo_import(client, Employee).status_code == 302
    employee.refresh_from_db()
    assert (employee.code, employee.phone) == ("E1", "999")


def complaint_row(site: Site) -> dict[str, str]:
    required = required_of(site)
    return {
        "Customer": required["customer"].name,
        "Product": required["product"].name,
        "Nonconformance": required["nonconformance"].name,
    }


def test_a_page_that_is_out_of_date_takes_nothing_back(site: Site) -> None:
    client = browser(site)
    bring_in(client, Customer, FILE)
    seen = preview(client, Customer).context["seen"]
    customer_actions.update_customer(
        site.pk, Customer.objects.get(name="Acme").pk, {"note": "x"}, author=make.SYSTEM, reason="Moved"
    )
    answer = undo_import(client, Customer, seen=seen)
    assert "Records were changed since you saw this page" in text_of(answer)
    assert not Customer.objects.filter(is_archived=True).exists()
    assert undo_import(client, Customer, reason=" ").status_code == 200
    assert not Customer.objects.filter(is_archived=True).exists()


def test_the_list_of_imports_is_paged_in_a_fixed_number_of_queries(site: Site) -> None:
    client = browser(site)
    bring_in(client, Item, [{"Name": "Scale"}])
    client.get(page(Item, "imports"))
    with CaptureQueriesContext(connection) as few:
        client.get(page(Item, "imports"))
    only = FileImport.objects.get()
    for number in range(30):
        only.pk, only.file_name = uuid.uuid4(), f"{number}.csv"
        only.save(force_insert=True)
    with CaptureQueriesContext(connection) as many:
        response = client.get(page(Item, "imports"))
    assert len(few) == len(many)
    assert (len(response.context["lines"]), bool(response.context["next"])) == (25, True)
    assert len(client.get(page(Item, "imports") + "?p=2").context["lines"]) == 6
    assert "There are no more imports" in text_of(client.get(page(Item, "imports") + "?p=9"))
