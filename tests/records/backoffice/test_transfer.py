"""Import and export of records: round trips, numbers, history, permissions, sites."""

import datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from records.accounts.models import DefaultRole
from records.backoffice.datetimes import NOTHING
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.history.models import Change
from records.items.models import Item
from records.reference.models import Product
from records.sites.models import Site
from tests import make
from tests.make.backoffice import browser
from tests.make.complaints import make_complaint, make_completed, make_draft, make_entry, required_of
from tests.make.customers import make_customer
from tests.make.items import make_item
from tests.make.transfer import bring_in, check, confirm, export, faults, page, table, text_of

DAY = datetime.datetime(2024, 5, 17, tzinfo=datetime.UTC)
MOMENT = datetime.datetime(2024, 5, 17, 8, 30, 15, 123000, tzinfo=datetime.UTC)

pytestmark = pytest.mark.django_db


def customers(site: Site) -> Any:
    make_customer(site, name="Åse & Søn", code="0001", lng="-0.1278", lat="51.5", note="=1+1\n'=2\n+3")
    make_customer(site, name="Twin", party_contacts=[{"first_name": "Bo", "last_name": "Li", "email": "bo@li.se"}])
    make_customer(site, name="Twin")
    return Customer


def complaints(site: Site) -> Any:
    required = required_of(site)
    make_complaint(
        site, **required, quantity=Decimal("12345678901.2345"), date=MOMENT, manufacture_date=DAY, trace_number="0012"
    )
    twins = [make_entry(Product, site, "Rye", code=code) for code in ("R1", "R2")]
    make_complaint(site, **{**required, "product": twins[1]}, quantity=Decimal("0.5000"))
    make_completed(site)
    make_draft(site, trace_number="-5")
    return Complaint


def items(site: Site) -> Any:
    make_item(site, name="@scale", serial_number="00017", notes="\tindented")
    make_item(site, name="'-5", code="-5", location="'quoted'")
    return Item


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("fill", [customers, complaints, items])
def test_an_exported_file_imported_again_changes_nothing(site: Site, fill: Any, kind: str) -> None:
    model = fill(site)
    client = browser(site)
    before = Change.objects.count()
    report = check(client, model, export(client, model, kind), f"file.{kind}")
    assert report.status_code == 200
    assert "There is nothing to import" in text_of(report), (text_of(report), faults(report))
    assert report.context["unchanged"] == model.objects.filter(site=site).count()
    assert Change.objects.count() == before


def test_a_hundred_imported_complaints_move_the_number_by_a_hundred(site: Site) -> None:
    first = make_complaint(site)
    required = required_of(site)
    rows = [
        {
            "CustomerId": required["customer"].name,
            "ProductId": required["product"].name,
            "NonconformanceId": required["nonconformance"].name,
            "TraceNumber": f"{number:05}",
        }
        for number in range(100)
    ]
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    bring_in(browser(site, user=user), Complaint, rows, "Taken over from the old system")
    complaints = list(Complaint.objects.exclude(pk=first.pk).order_by("site_sequence_id"))
    start = first.site_sequence_id or 0
    assert [one.site_sequence_id for one in complaints] == list(range(start + 1, start + 101))
    assert [one.trace_number for one in complaints] == [f"{number:05}" for number in range(100)]
    assert make_complaint(site).site_sequence_id == start + 101
    changes = Change.objects.filter(record_id__in=[one.pk for one in complaints])
    assert changes.count() == 100
    assert set(changes.values_list("channel", "reason", "author_id", "operation")) == {
        ("Import", "Taken over from the old system", user.pk, "AddComplaintDetail")
    }


def test_the_report_names_each_row_and_field(site: Site) -> None:
    customer = make_customer(site, name="Acme", telephone="1")
    report = check(
        browser(site),
        Customer,
        [
            {"Id": str(customer.pk), "Name": "Acme Ltd", "Telephone": "1"},
            {"Id": "", "Name": "Newcomer", "Telephone": "0049 1"},
        ],
    )
    change, add = report.context["rows"]
    assert (change.number, change.outcome, change.lines) == (
        2,
        "changed",
        [{"name": "Name", "old": "Acme", "new": "Acme Ltd"}],
    )
    assert (add.number, add.outcome) == (3, "added")
    assert add.lines == [
        {"name": "Name", "old": NOTHING, "new": "Newcomer"},
        {"name": "Telephone", "old": NOTHING, "new": "0049 1"},
    ]
    assert Customer.objects.count() == 1
    assert not Change.objects.filter(channel="Import").exists()


def test_one_faulty_row_holds_back_the_whole_file_and_every_fault_is_named(site: Site, other_site: Site) -> None:
    foreign = make_customer(other_site, name="Elsewhere")
    make_entry(Product, site, "Rye", code="R1")
    make_entry(Product, site, "Rye", code="R2")
    required = required_of(site)
    good = {
        "CustomerId": required["customer"].name.upper(),
        "ProductId": required["product"].name,
        "NonconformanceId": str(required["nonconformance"].pk),
        "Quantity": "1",
        "Date": "2024-05-17",
    }
    report = check(
        browser(site),
        Complaint,
        [
            good,
            {**good, "ProductId": "rye"},
            {**good, "CustomerId": "Elsewhere"},
            {**good, "CustomerId": str(foreign.pk)},
            {**good, "Quantity": "1,500", "Date": "5/17/2024"},
            {**good, "CustomerId": ""},
        ],
    )
    assert not report.context["upload"]
    assert faults(report) == {
        3: ["ProductId: 2 products are called rye: Rye (R1) and Rye (R2). Write the code or the Id instead."],
        4: ["CustomerId: No such customer at this site (Elsewhere)."],
        5: [f"CustomerId: No such customer at this site ({foreign.pk})."],
        6: [
            "Quantity: This must be a number, with a point before its decimals, such as 12.5.",
            "Date: Write a date as 2024-05-31, or a time as 2024-05-31 08:30.",
        ],
        7: ["CustomerId: This field is required."],
    }
    assert "Elsewhere" not in text_of(report).replace("(Elsewhere)", "")
    assert not Complaint.objects.exists()


def test_a_record_of_another_site_is_neither_exported_nor_changed(site: Site, other_site: Site) -> None:
    foreign = make_item(other_site, name="Theirs")
    make_item(site, name="Ours")
    client = browser(site)
    assert [row["Name"] for row in table(export(client, Item))] == ["Ours"]
    report = check(client, Item, [{"Id": str(foreign.pk), "Name": "Mine"}])
    assert faults(report) == {2: ["Id: The site has no item with this Id."]}


def test_adding_and_changing_need_their_permissions(site: Site) -> None:
    item = make_item(site, name="Scale")
    role = make.make_role(site, ["items.view_item", "items.change_item"])
    user = make.make_user(site=site)
    make.account_actions.set_members(role, add=[user], author=make.SYSTEM)
    client = browser(site, user=user)
    report = check(client, Item, [{"Id": str(item.pk), "Name": "Balance"}, {"Id": "", "Name": "New"}])
    assert faults(report) == {3: ["You may not add items at this site."]}
    reader = browser(site, DefaultRole.READER)
    assert reader.get(page(Item, "import")).status_code == 403
    assert len(table(export(reader, Item))) == 1
    assert browser(site, user=make.make_user()).get(page(Item, "export", "csv")).status_code == 403


def test_a_confirmed_upload_is_imported_once(site: Site) -> None:
    client = browser(site)
    report = check(client, Item, [{"Name": "Scale"}])
    assert confirm(client, Item, report).status_code == 302
    again = client.get(confirm(client, Item, report).url)
    assert "imported already" in text_of(again)
    assert Item.objects.count() == 1


def test_nothing_is_imported_when_records_moved_on_since_the_report(site: Site) -> None:
    item = make_item(site, name="Scale", location="Hall 1")
    client = browser(site)
    report = check(client, Item, [{"Id": str(item.pk), "Location": "Hall 2"}])
    bring_in(browser(site), Item, [{"Id": str(item.pk), "Location": "Hall 3"}])
    answer = confirm(client, Item, report)
    assert "nothing was imported" in text_of(answer)
    assert Item.objects.get().location == "Hall 3"
    assert confirm(client, Item, answer).status_code == 302
    assert Item.objects.get().location == "Hall 2"


def test_an_import_needs_a_reason_and_the_same_user_and_site(site: Site, other_site: Site) -> None:
    user = make.make_user(site=site, role=DefaultRole.MANAGER)
    make.give_role(user, other_site, DefaultRole.MANAGER)
    client = browser(site, user=user)
    report = check(client, Item, [{"Name": "Scale"}])
    assert "This field is required" in text_of(confirm(client, Item, report, reason="  "))
    assert "made at another site" in text_of(confirm(browser(site), Item, report))
    assert "made at another site" in text_of(confirm(browser(other_site, user=user), Item, report))
    answer = client.post(page(Item, "import"), {"upload": "abc", "change_reason": "x"})
    assert "cannot be used" in text_of(answer)
    assert not Item.objects.exists()


def test_an_empty_cell_clears_and_an_absent_column_keeps(site: Site) -> None:
    item = make_item(site, name="Scale", location="Hall 1", code="S1")
    bring_in(browser(site), Item, [{"Id": str(item.pk), "Location": ""}])
    after = Item.objects.get()
    assert (after.name, after.location, after.code) == ("Scale", "", "S1")


def test_line_ends_of_a_file_are_no_change(site: Site) -> None:
    item = make_item(site, name="Scale", notes="one\ntwo")
    report = check(browser(site), Item, [{"Id": str(item.pk), "Notes": "one\r\ntwo"}])
    assert report.context["unchanged"] == 1


def test_two_rows_about_one_record_are_refused(site: Site) -> None:
    item = make_item(site)
    data = [
        {"Id": str(item.pk), "Name": "A"},
        {"Id": str(item.pk).upper(), "Name": "B"},
        {"Id": "nonsense", "Name": "C"},
    ]
    assert faults(check(browser(site), Item, data)) == {
        3: ["Row 2 is about the same item."],
        4: ["Id: The site has no item with this Id."],
    }


def test_archived_records_are_not_changed(site: Site) -> None:
    customer = make_customer(site, name="Acme")

    make.archive(customer, reason="Closed")
    client = browser(site)
    assert table(export(client, Customer)) == []
    rows = table(export(client, Customer, query="?archived=all"))
    assert check(client, Customer, rows).context["unchanged"] == 1
    report = check(client, Customer, [{**rows[0], "Name": "Acme Ltd"}])
    assert faults(report) == {2: ["The record is archived. Restore it before you change it."]}


def test_a_completed_complaint_is_changed_by_managers_only(site: Site) -> None:
    complaint = make_completed(site)
    data = [{"Id": str(complaint.pk), "TraceNumber": "7"}]
    report = check(browser(site, DefaultRole.STANDARD), Complaint, data)
    assert faults(report) == {2: ["This complaint is completed; only a Manager can change it."]}
    bring_in(browser(site), Complaint, data)
    assert Complaint.objects.get(pk=complaint.pk).trace_number == "7"


def test_children_are_changed_in_place(site: Site) -> None:
    customer = make_customer(site, party_contacts=[{"first_name": "Bo"}, {"first_name": "Li"}])
    client = browser(site)
    row = table(export(client, Customer))[0]
    contacts = row["PartyContacts"].replace('"Bo"', '"Bob"')
    bring_in(client, Customer, [{"Id": row["Id"], "PartyContacts": contacts}])
    assert [one.first_name for one in customer.party_contacts.all()] == ["Bob", "Li"]
    change = Change.objects.get(channel="Import")
    assert [(entry["field"], entry["old"], entry["new"]) for entry in change.fields] == [
        ("party_contacts.first_name", "Bo", "Bob")
    ]
    report = check(client, Customer, [{"Id": row["Id"], "PartyContacts": '[{"FristName": "x"}]'}])
    assert "Did you mean FirstName?" in faults(report)[2][0]


def test_the_export_follows_the_lists_search_and_filters(site: Site) -> None:
    make_item(site, name="Scale")
    make_item(site, name="Oven")
    assert [row["Name"] for row in table(export(browser(site), Item, query="?q=ove"))] == ["Oven"]


def test_an_export_costs_the_same_statements_however_long_the_list(site: Site) -> None:
    required = required_of(site)
    client = browser(site)

    def cost() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            export(client, Complaint)
        return len(queries)

    make_complaint(site, **required)
    cost()
    few = cost()
    for _ in range(20):
        make_complaint(site, **required)
    assert cost() == few


def test_complaints_are_added_in_a_number_of_statements_that_does_not_grow_with_them(site: Site) -> None:
    required = required_of(site)
    client = browser(site)
    row = {
        name: str(required[key].pk)
        for name, key in (("CustomerId", "customer"), ("ProductId", "product"), ("NonconformanceId", "nonconformance"))
    }

    def cost(count: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            bring_in(client, Complaint, [row] * count)
        return len(queries)

    cost(2)
    assert cost(20) == cost(3)
