"""GET /change/GetChangeList: every change that the caller may see, in order, once, and no values."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from documents.models import Document
from records.accounts.default_roles import ORDER
from records.accounts.models import DefaultRole
from records.complaints.actions import update_complaint_detail
from records.employees import actions
from records.history.models import ChainHead, Change
from records.reference.models import Product
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.complaints import make_complaint, make_draft, make_entry
from tests.make.customers import make_customer
from tests.make.documents import make_document, make_signer
from tests.make.items import make_item
from tests.make.materials import make_material

PATH = "/change/GetChangeList"


def make_pending(site: Site) -> Document:
    """Make a document whose first version waits for its reviewer."""
    return make_document(site, user_to_review=[make_signer(site)])


def test_a_row_has_exactly_the_documented_fields_and_no_values(site: Site, api: Api) -> None:
    employee = make.make_employee(site, phone="555-0100")
    answer = api.get(PATH, {"entity": "Employee"})
    (row,) = answer.json()
    change = Change.objects.get(record_id=employee.pk)
    assert list(row) == ["Number", "Date", "Entity", "RecordId", "Operation", "Channel", "AuthorId", "Fields"]
    assert (row["Number"], row["Entity"], row["RecordId"]) == (change.number, "Employee", str(employee.pk))
    assert {"FirstName", "NatureOfEmploymentId", "Phone"} <= set(row["Fields"])
    assert b"555-0100" not in answer.content


def test_numbers_rise_and_pages_meet_every_change_once(site: Site, api: Api) -> None:
    for _ in range(7):
        make_item(site)
    numbers = [row["Number"] for row in api.get(PATH).json()]
    assert numbers == sorted(numbers)
    walk: list[int] = []
    while page := api.get(PATH, {"after": walk[-1] if walk else 0, "limit": 3}).json():
        assert len(page) <= 3
        walk += [row["Number"] for row in page]
    assert walk == numbers


def test_the_header_tells_the_newest_number_whatever_the_answer_holds(site: Site, api: Api) -> None:
    make_item(site)
    last = str(ChainHead.objects.get(chain=site.pk).number)
    for query in ({}, {"limit": "1"}, {"after": last}, {"entity": "Complaint"}):
        assert api.get(PATH, query)["X-Last-Number"] == last
    assert api.get(PATH, {"after": last}).json() == []


def test_another_sites_changes_are_not_there(other_site: Site, api: Api) -> None:
    item = make_item(other_site)
    assert str(item.pk) not in str(api.get(PATH).json())


def test_accounts_roles_and_drafts_are_left_out(site: Site, api: Api) -> None:
    make_draft(site, customer=make_customer(site))
    assert {row["Entity"] for row in api.get(PATH).json()} == {"Customer"}


def test_entities_are_named_as_the_documents_name_them(site: Site, api: Api) -> None:
    make_material(site)
    make.make_job_description(site)
    make_entry(Product, site)
    names = {row["Entity"]: row["Fields"] for row in api.get(PATH).json()}
    assert {"Material", "JobDescription", "Product"} <= names.keys()
    assert "externalId" in names["Material"]
    assert "Name" in names["Product"]
    both = api.get(PATH, {"entity": "material,PRODUCT"}).json()
    assert {row["Entity"] for row in both} == {"Material", "Product"}


def test_archiving_is_in_the_feed(site: Site, api: Api) -> None:
    item = make_item(site)
    make.archive(item, reason="Sold")
    row = api.get(PATH, {"entity": "Item"}).json()[-1]
    assert (row["Operation"], row["Fields"]) == ("ArchiveItem", ["IsArchived"])


@pytest.mark.parametrize(
    ("role", "sees_employees", "sees_consumers"),
    [
        (DefaultRole.READER, False, False),
        (DefaultRole.STANDARD, False, True),
        (DefaultRole.MANAGER, True, True),
        (DefaultRole.SITE_ADMINISTRATOR, True, True),
    ],
)
def test_private_facts_are_left_out_by_role(
    site: Site, api_of: Callable[..., Api], role: DefaultRole, sees_employees: bool, sees_consumers: bool
) -> None:
    employee, complaint = make.make_employee(site), make_complaint(site, consumer_last_name="Meyer")
    actions.update_employee(site.pk, employee.pk, {"phone": "1", "code": "E9"}, author=make.SYSTEM)
    actions.update_employee(site.pk, employee.pk, {"phone": "2"}, author=make.SYSTEM)
    update_complaint_detail(
        site.pk, complaint.pk, {"consumer_phone": "3"}, author=make.SYSTEM, may_change_completed=False
    )
    rows = [(row["Entity"], row["Fields"]) for row in api_of(role).get(PATH, {"entity": "Employee,Complaint"}).json()]
    assert (("Employee", ["Phone"]) in rows) == sees_employees
    assert (("Employee", ["Code", "Phone"] if sees_employees else ["Code"]) in rows) or (
        ("Employee", ["Phone", "Code"]) in rows
    )
    assert (("Complaint", ["ConsumerPhone"]) in rows) == sees_consumers
    assert any("ConsumerLastName" in fields for _, fields in rows) == sees_consumers


def test_a_document_that_is_not_in_force_is_seen_by_managers_alone(site: Site, api_of: Callable[..., Api]) -> None:
    make_document(site, user_to_review=[make_signer(site)])
    assert api_of(DefaultRole.STANDARD).get(PATH, {"entity": "Document"}).json() == []
    assert len(api_of(DefaultRole.MANAGER).get(PATH, {"entity": "Document"}).json()) == 1


@pytest.mark.parametrize(
    ("make_record", "lowest"),
    [
        (make_item, DefaultRole.READER),
        (make_complaint, DefaultRole.STANDARD),
        (make.make_employee, DefaultRole.MANAGER),
        (make_pending, DefaultRole.MANAGER),
        (lambda site: make_action(site, about=make_pending(site)), DefaultRole.MANAGER),
        (lambda site: make_draft(site, customer=make_customer(site)), None),
    ],
    ids=["item", "complaint", "employee", "document not in force", "action about one", "draft"],
)
def test_an_attachment_is_in_the_feed_of_those_who_may_see_it_on_its_record(
    site: Site, api_of: Callable[..., Api], make_record: Callable[[Site], Any], lowest: DefaultRole | None
) -> None:
    attachment = make_attachment(site, on=make_record(site))
    make.archive(attachment, reason="Blurred")
    for place, role in enumerate(ORDER):
        rows = api_of(role).get(PATH, {"entity": "Attachment"}).json()
        sees_it = lowest is not None and place >= ORDER.index(lowest)
        assert [row["Operation"] for row in rows] == (["AddAttachment", "ArchiveAttachment"] if sees_it else []), role


def test_an_action_about_a_document_that_is_not_in_force_is_in_the_feed_of_managers_alone(
    site: Site, api_of: Callable[..., Api]
) -> None:
    hidden = make_action(site, about=make_pending(site))
    shared = [
        make_action(site),
        make_action(site, about=make_complaint(site)),
        make_action(site, about=make_item(site)),
    ]
    for one in (hidden, *shared):
        make.archive(one, reason="Twice")
    for role in (DefaultRole.READER, DefaultRole.STANDARD):
        ids = [row["RecordId"] for row in api_of(role).get(PATH, {"entity": "Action"}).json()]
        assert ids == [str(one.pk) for one in shared] * 2
    ids = [row["RecordId"] for row in api_of(DefaultRole.MANAGER).get(PATH, {"entity": "Action"}).json()]
    assert ids == [str(one.pk) for one in (hidden, *shared)] * 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("after", "-1"), ("after", "x"), ("after", "1e3"), ("limit", "0"), ("limit", "1001"), ("entity", "Employe")],
)
def test_a_faulty_parameter_is_refused_by_name(api: Api, name: str, value: str) -> None:
    answer = api.get(PATH, {name: value})
    assert (answer.status_code, answer.json()["Error"]) == (400, "InvalidParameter")
    assert name in answer.json()["Message"]


def test_the_feed_costs_the_same_however_many_changes_there_are(
    site: Site, api: Api, django_assert_num_queries: Any
) -> None:
    api.get(PATH)
    for _ in range(2):
        with django_assert_num_queries(3):
            api.get(PATH)
        for _ in range(20):
            make_item(site)


@pytest.mark.django_db(transaction=True)
def test_a_follower_of_the_feed_meets_every_change_in_order_while_writers_write(settings: Any) -> None:
    settings.RATE_LIMIT = 10**6
    site = make.make_site("Hillside Bakery")
    api, end = Api(make.make_key(site)), threading.Event()

    def write() -> None:
        for _ in range(12):
            make_item(site)

    def follow() -> list[int]:
        numbers: list[int] = []
        while True:
            last_round = end.is_set()
            while page := api.get(PATH, {"after": numbers[-1] if numbers else 0, "limit": 5}).json():
                numbers += [row["Number"] for row in page]
            if last_round:
                return numbers

    def watch() -> None:
        try:
            make.at_once(*[write] * 4)
        finally:
            end.set()

    _, numbers = make.at_once(watch, follow)
    expected = Change.objects.filter(chain=site.pk, lowest_role="reader").order_by("number")
    assert numbers == list(expected.values_list("number", flat=True))
    assert len(numbers) == 48
