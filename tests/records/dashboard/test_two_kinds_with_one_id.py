"""Records of two kinds that have one Id, as only the database itself can have them: each keeps what is its own."""

import uuid
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.actions.models import Action
from records.attachments.models import Attachment
from records.complaints import workflow
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.items.models import Item
from records.packs.tables import names_of_records
from records.retention import mentions
from records.retention.actions import set_hold
from records.sites.about import pointer_to
from records.sites.models import Site
from records.sites.uses import used_among, uses_of
from records.sites.writing import add_record
from tests import make
from tests.conftest import Api
from tests.make.actions import everything, make_action
from tests.make.attachments import make_attachment
from tests.make.backoffice import address, browser, form_of
from tests.make.complaints import make_complaint
from tests.make.transfer import export, table

pytestmark = pytest.mark.django_db

ADD_ACTION = "/admin/actions/action/add/"


def make_named(model: Any, key: uuid.UUID, site: Site, name: str, **fields: Any) -> Any:
    """Make an item or a customer with this Id."""
    return add_record(model(id=key, site_id=site.pk, name=name, **fields), author=make.SYSTEM, operation="Add")


@pytest.fixture
def twins(site: Site) -> tuple[Item, Customer]:
    """Return an item and a customer with one Id."""
    key = uuid.uuid4()
    return make_named(Item, key, site, "Scale"), make_named(Customer, key, site, "Acme")


def test_a_file_belongs_to_the_record_on_whose_page_it_was_added(site: Site, twins: tuple[Item, Customer]) -> None:
    draft = workflow.add_draft(site.pk, {"complaint_description": "Metal"}, author=make.SYSTEM, key=twins[0].pk)
    client, once = browser(site), str(uuid.uuid4())
    for record in (*twins, draft):
        place = reverse("admin:attachments_add", args=(record.ENTITY.value, record.pk))
        photo = SimpleUploadedFile("a.txt", b"a", "text/plain")
        assert client.post(place, {"files": photo, "once": once}).status_code == 302
    assert list(Attachment.objects.values_list("entity", flat=True)) == ["item", "customer", "complaint"]


def test_a_complaint_with_the_id_of_its_customer_is_a_use_of_it(site: Site, twins: tuple[Item, Customer]) -> None:
    _, customer = twins
    values = {"complaint_description": "Metal", "customer": customer}
    workflow.add_draft(site.pk, values, author=make.SYSTEM, key=customer.pk)
    uses = uses_of(customer, lambda model: model._default_manager.all())
    assert [(use.count, use.kind) for use in uses] == [(1, "complaint")]


def test_an_action_is_about_the_record_on_whose_page_it_was_added(site: Site, twins: tuple[Item, Customer]) -> None:
    client = browser(site)
    for record in twins:
        place = f"{ADD_ACTION}?about={pointer_to(record)}"
        page = client.get(place)
        assert str(record) in page.text
        data = {**form_of(page), "name": "Clean", "due_date": "2031-05-01"}
        assert client.post(place, data).status_code == 302
    assert list(Action.objects.values_list("entity", flat=True)) == ["item", "customer"]


def test_an_id_that_does_not_say_which_record_is_meant_is_refused(site: Site, twins: tuple[Item, Customer]) -> None:
    file = {"FileName": "a.txt", "FileType": "text/plain", "FileContent": "YQ=="}
    answer = Api(make.make_key(site)).post("/attachment/AddAttachment", {"RecordId": str(twins[0].pk), **file})
    assert answer.status_code == 400
    assert [(fault["Field"], fault["Code"]) for fault in answer.json()["Fields"]] == [("RecordId", "InvalidReference")]


def test_the_trace_of_a_lot_has_the_actions_about_its_records_alone(site: Site) -> None:
    complaint = make_complaint(site, trace_number="L26330")
    make_action(site, about=complaint, name="Withdraw")
    make_action(site, about=make_named(Item, complaint.pk, site, "Scale"), name="Calibrate")
    page = browser(site).get("/admin/trace/", {"lots": "L26330"}).text
    assert "Withdraw" in page
    assert "Calibrate" not in page


def test_a_quick_complaint_is_not_changed_elsewhere_when_another_record_is(site: Site) -> None:
    client, place = browser(site, DefaultRole.STANDARD), reverse("admin:quick_complaint")
    data = {"complaint_description": "Metal", "once": str(uuid.uuid4()), "larder_site": str(site.pk)}
    client.post(place, data)
    make_named(Item, Complaint.objects.get().pk, site, "Scale")
    assert client.post(place, {**data, "complaint_description": "Two pieces of metal"}).status_code == 302
    assert Complaint.objects.get().complaint_description == "Two pieces of metal"


def test_a_history_shows_the_changes_of_its_record_alone(site: Site) -> None:
    action = make_action(site, name="Calibrate", description="Every year")
    item = make_named(Item, action.pk, site, "Scale")
    repair = make_action(site, about=item, name="Repair")
    make_named(Customer, repair.pk, site, "Acme")
    client = browser(site)
    page = client.get(address(item, "history"))
    assert [entry["of"] for entry in page.context["changes"]] == ["action Repair", ""]
    assert "Calibrate" not in client.get(address(item, "read")).text
    file = client.get(reverse("admin:items_item_history_export", args=(item.pk, "csv")))
    assert b"Every year" not in b"".join(file)


def test_a_row_about_a_record_with_the_id_of_its_own_action_is_told_as_the_actions(site: Site) -> None:
    item = make_named(Item, uuid.uuid4(), site, "Scale")
    action = add_record(
        Action(id=item.pk, site_id=site.pk, entity="item", record_id=item.pk),
        {"name": "Repair", "owner": make.make_user(site=site, role=DefaultRole.READER), "due_date": item.created},
        author=make.SYSTEM,
        operation="AddAction",
    )
    page = browser(site).get(address(item, "history"))
    assert [(entry["of"], entry["is_own"]) for entry in page.context["changes"]] == [
        ("action Repair", False),
        ("", True),
    ]
    assert str(action) in browser(site).get(address(item, "read")).text


def test_an_id_of_two_records_is_called_after_both_in_a_history(site: Site, twins: tuple[Item, Customer]) -> None:
    action = make_action(site, about=twins[0])
    assert "Item 1: Scale / Customer 1: Acme" in browser(site).get(address(action, "history")).text


def test_files_and_packs_name_the_record_of_the_rows_kind(site: Site, twins: tuple[Item, Customer]) -> None:
    rows = [make_action(site, about=record) for record in twins]
    names = ["Item 1: Scale", "Customer 1: Acme"]
    exports = table(export(browser(site), Action, part=""))
    assert sorted((row["Name"], row["Record"]) for row in exports) == [
        (row.name, name) for row, name in zip(rows, names, strict=True)
    ]
    assert list(names_of_records(rows, make.make_user(site=site).pk, everything).values()) == names


def test_legal_holds_on_both_are_listed(site: Site, twins: tuple[Item, Customer]) -> None:
    for record in twins:
        set_hold(type(record), site.pk, record.pk, author=make.SYSTEM, reason="Court")
    page = browser(site).get(reverse("admin:retention_holds")).text
    assert all(address(record, "read") in page for record in twins)


def test_a_record_that_names_a_consumer_is_listed_beside_the_complaint(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "STEP_SECONDS", 60)  # One part searches everything, however busy the machine is.
    complaint = make_complaint(site, consumer_last_name="Przybylski")
    first = make_named(Item, complaint.pk, site, "Scale", notes="Lent to Przybylski")
    second = make_named(Customer, complaint.pk, site, "Przybylski and sons")
    place = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(f"{place}?searched").text
    assert all(address(record, "read") in page for record in (first, second))


def test_what_is_about_one_does_not_use_the_other(site: Site, twins: tuple[Item, Customer]) -> None:
    item, customer = twins
    make_attachment(site, on=customer)
    assert used_among(Customer, [customer.pk]) == {customer.pk: {"attachments"}}
    assert used_among(Item, [item.pk]) == {}
