"""Import and export in people's words: labels, names, local times, child rows on sheets of their own."""

import datetime
import html
from decimal import Decimal
from typing import Any

import pytest

from documents.models import Document
from records.accounts.models import DefaultRole, User
from records.actions.models import Action, Kind
from records.audits.models import AuditProgram, AuditRecord, ProgramType
from records.complaints.models import Complaint
from records.customers.models import Customer, PartyContact
from records.employees.models import Employee
from records.history.models import Change
from records.items.models import Item
from records.reference.models import Product
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action
from tests.make.audits import find, make_audit, make_program, make_rating, response, start
from tests.make.backoffice import browser, sign_in
from tests.make.complaints import make_complaint, make_completed, make_draft, make_entry, required_of
from tests.make.customers import make_customer
from tests.make.documents import make_document, make_signer
from tests.make.items import make_item
from tests.make.transfer import as_book, bring_in, check, export, faults, page, sheets, table, text_of

UTC = datetime.UTC

pytestmark = pytest.mark.django_db


def customers(site: Site) -> Any:
    contacts = [{"first_name": "Bo", "last_name": "=Li", "email": "bo@li.se"}, {"last_name": "Ek"}]
    make_customer(site, name="Åse & Søn", code="0001", lng="-0.1278", lat="51.5", note="=1+1\n'=2\n+3")
    make_customer(site, name="Twin", party_contacts=contacts)
    make_customer(site, name="Twin")
    return Customer


def complaints(site: Site) -> Any:
    Site.objects.filter(pk=site.pk).update(time_zone="Europe/Oslo")
    required = required_of(site)
    moments = (
        datetime.datetime(2024, 5, 17, 8, 30, 15, 123000, tzinfo=UTC),
        datetime.datetime(2024, 5, 17, 8, 30, tzinfo=UTC),
        # Midnight in Oslo, and both hours that are called half past two when the clocks go back.
        datetime.datetime(2024, 5, 16, 22, tzinfo=UTC),
        datetime.datetime(2024, 10, 27, 0, 30, tzinfo=UTC),
        datetime.datetime(2024, 10, 27, 1, 30, tzinfo=UTC),
        datetime.datetime(1893, 2, 3, tzinfo=UTC),
        datetime.datetime(2024, 5, 17, tzinfo=UTC),
    )
    for moment in moments:
        make_complaint(site, **required, date=moment, quantity=Decimal("0.5000"))
    make_completed(site)
    make_draft(site, trace_number="-5")
    return Complaint


def items(site: Site) -> Any:
    make_item(site, name="@scale", serial_number="00017", notes="\tindented")
    make_item(site, name="'-5", code="-5", location="'quoted'")
    return Item


def people(site: Site) -> Any:
    boss = make.make_employee(site, first_name="Ida", last_name="Moss", code="B7")
    make.make_employee(
        site,
        reporting_to=boss,
        employment_history=[
            {"position_held": "Baker", "company": "Ovens", "start_date": datetime.datetime(2020, 1, 1, tzinfo=UTC)}
        ],
        education_training=[{"title": "HACCP", "institution": "School", "year": 2019}],
    )
    return Employee


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("fill", [customers, complaints, items, people])
def test_an_exported_file_imported_again_changes_nothing(site: Site, fill: Any, kind: str) -> None:
    model = fill(site)
    client = browser(site)
    before = Change.objects.count()
    report = check(client, model, export(client, model, kind, part=""), f"file.{kind}")
    assert report.status_code == 200
    assert "There is nothing to import" in text_of(report), (text_of(report), faults(report))
    assert report.context["unchanged"] == model.objects.filter(site=site).count()
    assert Change.objects.count() == before


def test_headings_and_values_are_read_in_peoples_words_and_in_the_interfaces_in_one_file(site: Site) -> None:
    required = required_of(site)
    row = {
        "customer": required["customer"].name,
        "ProductId": str(required["product"].pk),
        "Nonconformance *": required["nonconformance"].name.upper(),
        "TraceNumber": "L1",
        "date": "17.05.2024",
        "Manufacture  date": "2024-05-01",
        "Quantity": "1,5",
    }
    bring_in(browser(site), Complaint, [row])
    complaint = Complaint.objects.get()
    assert (complaint.trace_number, complaint.quantity) == ("L1", Decimal("1.5"))
    assert complaint.date == datetime.datetime(2024, 5, 17, tzinfo=UTC)


def test_choices_are_written_and_read_in_the_language_of_the_reader(site: Site) -> None:
    make_action(site, kind=Kind.CORRECTIVE)
    make_program(site, name="GMP walk", type=ProgramType.SITE_AUDIT)
    person = make.make_user(site=site, role=DefaultRole.MANAGER)
    User.objects.filter(pk=person.pk).update(language="de")
    client = sign_in(person, site)
    [action] = table(export(client, Action, part=""))
    assert (action["Status"], action["Art"]) == ("Offen", "Korrekturmaßnahme")
    assert table(export(client, Action))[0]["Kind"] == "Corrective"
    [program] = table(export(client, AuditProgram, part=""))
    assert program["Art"] == "Standortaudit"
    assert "nichts zu importieren" in text_of(check(client, AuditProgram, [program]))
    bring_in(client, AuditProgram, [{**program, "Art": "internes audit"}])
    assert AuditProgram.objects.get().type == ProgramType.INTERNAL_AUDIT
    bring_in(client, AuditProgram, [{**program, "Art": "Site audit"}])
    assert AuditProgram.objects.get().type == ProgramType.SITE_AUDIT
    messages = faults(check(client, AuditProgram, [{**program, "Art": "Messe"}]))[2]
    assert messages == ["Art: Erlaubt sind: Internes Audit, Standortaudit, Selbstbewertung des Standorts."]


@pytest.mark.parametrize(
    ("text", "words"),
    [("31.02.2024", "Write a date as"), ("5/17/2024", "Write a date as"), ("2024-05-17 25:00", "no such date or time")],
)
def test_a_date_that_cannot_be_read_is_refused_in_words(site: Site, text: str, words: str) -> None:
    row = {"First name": "Bo", "Last name": "Li", "Date of birth": text}
    [fault] = [one for one in faults(check(browser(site), Employee, [row]))[2] if one.startswith("Date of birth: ")]
    assert words in fault


def test_two_headings_of_one_field_are_refused(site: Site) -> None:
    report = check(browser(site), Complaint, b"CustomerId,Customer\nx,y\n")
    assert "The columns 'CustomerId' and 'Customer' mean the same field" in html.unescape(text_of(report))


def test_faults_and_the_report_use_the_words_of_the_file(site: Site) -> None:
    client = browser(site)
    in_words = check(client, Complaint, [{"Customer": "Nobody", "Trace number": "1"}])
    assert any(one.startswith("Customer: ") for one in faults(in_words)[2])
    assert "Product: This field is required." not in faults(in_words)[2]
    make_customer(site, name="Acme")
    in_words = check(client, Complaint, [{"Customer": "Acme", "Trace number": "1"}])
    assert "Product: This field is required." in faults(in_words)[2]
    in_wire = check(client, Complaint, [{"CustomerId": "Acme", "TraceNumber": "1"}])
    assert "ProductId: This field is required." in faults(in_wire)[2]


def test_an_ambiguous_name_names_both_entries(site: Site) -> None:
    make_entry(Product, site, "Rye", code="R1")
    make_entry(Product, site, "Rye", code="R2")
    report = check(browser(site), Complaint, [{"Product": "rye", "Trace number": "1"}])
    assert (
        "Product: 2 products are called rye: Rye (R1) and Rye (R2). Write the code or the Id instead."
        in faults(report)[2]
    )


def test_child_rows_stand_on_a_sheet_of_their_own(site: Site) -> None:
    customers(site)
    book = sheets(export(browser(site), Customer, "xlsx", part=""))
    assert list(book) == ["Customers", "Contacts"]
    head, *rows = book["Contacts"]
    contacts = [dict(zip(head, row, strict=True)) for row in rows]
    assert [(row["Customer"], row["First name"], row["Last name"]) for row in contacts] == [
        ("Twin", "Bo", "'=Li"),
        ("Twin", None, "Ek"),
    ]
    assert {row["Customer Id"] for row in contacts} == {str(Customer.objects.get(party_contacts__last_name="Ek").pk)}
    assert "PartyContacts" not in book["Customers"][0]
    assert "Contacts" not in book["Customers"][0]
    as_csv = table(export(browser(site), Customer, "csv", part="PartyContacts"))
    assert [row["Last name"] for row in as_csv] == ["'=Li", "Ek"]


def test_child_rows_of_new_and_of_stored_records_are_imported(site: Site) -> None:
    customer = make_customer(site, name="Acme", party_contacts=[{"last_name": "Old"}, {"last_name": "Kept"}])
    other_customer = make_customer(site, name="Other", party_contacts=[{"last_name": "Untouched"}])
    contact = PartyContact.objects.get(last_name="Kept")
    data = as_book(
        Customers=[
            ["Id", "Name", "Code"],
            [str(customer.pk), "Acme", None],
            [None, "New", "N1"],
            [str(other_customer.pk), "Other", None],
        ],
        Contacts=[
            ["Customer", "Customer Id", "Id", "First name", "Last name"],
            [None, str(customer.pk), str(contact.pk), "Kit", "Kept"],
            ["n1", None, None, "Nia", "Novak"],
            ["NEW", None, None, None, "Noor"],
        ],
    )
    bring_in(browser(site), Customer, data)

    def contacts(name: str) -> list[tuple[str, str]]:
        rows = PartyContact.objects.filter(customer__name=name).order_by("idx")
        return list(rows.values_list("first_name", "last_name"))

    assert contacts("Acme") == [("Kit", "Kept")]
    assert contacts("New") == [("Nia", "Novak"), ("", "Noor")]
    assert contacts("Other") == [("", "Untouched")]
    assert PartyContact.objects.get(pk=contact.pk).first_name == "Kit"


def test_child_rows_without_ids_that_say_what_is_stored_change_nothing(site: Site) -> None:
    customer = make_customer(site, name="Acme", party_contacts=[{"last_name": "Ek"}, {"last_name": "Li"}])
    data = as_book(
        Customers=[["Id", "Name"], [str(customer.pk), "Acme"]],
        Contacts=[["Customer", "Last name"], ["Acme", "Ek"], ["Acme", "Li"]],
    )
    assert "There is nothing to import" in text_of(check(browser(site), Customer, data))


def test_a_child_row_whose_record_is_unknown_or_ambiguous_holds_the_file_back(site: Site) -> None:
    data = as_book(
        Customers=[["Name"], ["Twin"], ["Twin"]],
        Contacts=[["Customer", "Last name", "Title"], ["Twin", "A", None], ["Nobody", "B", None], [None, "C", None]],
    )
    report = check(browser(site), Customer, data)
    messages = [(row.sheet, row.number, row.faults) for row in report.context["rows"]]
    assert messages == [
        (
            "Contacts",
            2,
            ["Several rows of the first sheet are called Twin: 2 and 3. Write the Id of the customer instead."],
        ),
        ("Contacts", 3, ["No row of the first sheet is the customer Nobody."]),
        ("Contacts", 4, ["Say which customer the row belongs to."]),
    ]
    assert not Customer.objects.exists()


def test_a_faulty_cell_of_a_child_row_names_its_sheet_row_and_column(site: Site) -> None:
    data = as_book(
        Customers=[["Name"], ["Acme"]],
        Contacts=[["Customer", "Last name", "Email"], ["Acme", "A", "a@b.example"], ["Acme", "B", "nothing"]],
    )
    assert faults(check(browser(site), Customer, data)) == {
        2: ["Contacts, row 3: Email: This is not a well-formed e-mail address."]
    }


def test_a_child_row_of_another_record_or_site_is_refused(site: Site, other_site: Site) -> None:
    foreign_customer = make_customer(other_site, name="Theirs", party_contacts=[{"last_name": "X"}])
    own = make_customer(site, name="Acme")
    data = as_book(
        Customers=[["Id", "Name"], [str(own.pk), "Acme"]],
        Contacts=[
            ["Customer", "Id", "Last name"],
            ["Acme", str(PartyContact.objects.get(customer=foreign_customer).pk), "Y"],
        ],
    )
    assert faults(check(browser(site), Customer, data))[2]
    assert PartyContact.objects.get().last_name == "X"


def test_ids_are_names_in_an_export_and_findings_are_rows(site: Site) -> None:
    rating = make_rating(site)
    audit = start(make_audit(make_program(site, name="GMP walk", rating=rating)))
    find(audit, response(rating, "Yes"), response(rating, "No"))
    book = sheets(export(browser(site, DefaultRole.READER), AuditRecord, "xlsx", part=""))
    assert list(book) == ["Audits", "Findings"]
    head, row = book["Audits"]
    audit_row = dict(zip(head, row, strict=True))
    assert (audit_row["Audit program"], audit_row["Rating scale"]) == ("GMP walk", rating.name)
    assert "Id" not in audit_row
    assert not any(isinstance(cell, str) and cell.startswith("[{") for cell in row)
    head, *rows = book["Findings"]
    lines = [dict(zip(head, row, strict=True)) for row in rows]
    assert [(line["Number"], line["Audit"], line["Question"], line["Response"]) for line in lines] == [
        (audit.site_sequence_id, "GMP walk", "Question 1", "Yes"),
        (audit.site_sequence_id, "GMP walk", "Question 2", "No"),
    ]


@pytest.mark.parametrize("role", [DefaultRole.READER, DefaultRole.MANAGER])
def test_an_export_names_who_made_a_record(site: Site, role: DefaultRole) -> None:
    user = make.make_user("ann", site=site, role=DefaultRole.MANAGER, given_name="Ann", family_name="Lee")
    bring_in(browser(site, user=user), Item, [{"Name": "Scale"}])
    row = table(export(browser(site, role), Item, part=""))[0]
    assert (row["Created by"], row["Last modified by"]) == (str(user), str(user))
    assert row["Number"] == "1"


def test_a_number_cell_is_read_as_a_coordinate(site: Site) -> None:
    data = as_book(Customers=[["Name", "Latitude", "Longitude"], ["Acme", 51.5072, -0.1276]])
    bring_in(browser(site), Customer, data)
    assert list(Customer.objects.values_list("lat", "lng")) == [("51.5072", "-0.1276")]
    far = as_book(Customers=[["Name", "Latitude", "Longitude"], ["Acme", 95, 1]])
    assert faults(check(browser(site), Customer, far)) == {
        2: ["Latitude: This must be a decimal number from -90 to 90, such as 51.5072."]
    }


def test_sheets_that_are_not_read_are_named(site: Site) -> None:
    data = as_book(Items=[["Name"], ["Scale"]], Notes=[["x"], ["y"]])
    assert "Sheets that were not read: Notes." in text_of(check(browser(site), Item, data))


def test_actions_are_exported_with_the_names_of_what_they_are_about_as_far_as_the_user_sees_it(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.READER, given_name="Ada", family_name="Lee")
    item = make_item(site, name="Scale")
    make_action(site, about=item, owner=ada, name="Calibrate")
    make_action(site, owner=ada, name="Alone")
    rows = table(export(browser(site), Action, part=""))
    assert {(row["Name"], row["Record"], row["Owner"]) for row in rows} == {
        ("Calibrate", f"Item {item.site_sequence_id}: Scale", "Ada Lee"),
        ("Alone", "", "Ada Lee"),
    }
    clerk = make.make_user(site=site)
    make.make_role(site, ["actions.view_action"], [clerk])
    clerk_rows = table(export(browser(site, user=clerk), Action, part=""))
    assert {row["Record"] for row in clerk_rows} == {""}
    assert str(item.pk) not in str(clerk_rows)


def test_versions_of_documents_are_rows_for_those_who_see_all_of_them(site: Site) -> None:
    document = make_document(site, name="Plan", user_to_review=[make_signer(site)])
    book = sheets(export(browser(site), Document, "xlsx", part=""))
    assert list(book) == ["Documents", "Versions"]
    head, row = book["Versions"]
    line = dict(zip(head, row, strict=True))
    assert (line["Document"], line["Version"], line["Status"]) == ("Plan", 1, "Awaiting Review")
    reader = sheets(export(browser(site, DefaultRole.READER), Document, "xlsx", part=""))
    assert list(reader) == ["Documents"]
    assert str(document.pk) not in str(reader)
    part = page(Document, "export", "csv", "DocumentVersion")
    assert part in browser(site).get(page(Document, "changelist")).content.decode()
    client = browser(site, DefaultRole.READER)
    assert part not in client.get(page(Document, "changelist")).content.decode()
    assert client.get(part).status_code == 404


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("City", "Did you mean Postal address city or Physical address city?"),
        ("postal CITY", "Did you mean Postal address city?"),
        ("Naem", "Did you mean Name?"),
        ("Zebra", "There is no column “Zebra”."),
        ("x" * 150, f"There is no column “{'x' * 100}…”."),
    ],
)
def test_an_unknown_heading_is_refused_with_the_columns_that_it_can_mean(site: Site, header: str, message: str) -> None:
    text = text_of(check(browser(site), Customer, f"Name,{header}\nHarbour,Kiel\n".encode()))
    assert message in text
    assert ("Did you mean" in text) is ("Did you mean" in message)
