"""Before a person is erased from a record, its page lists the other records that say who the person is."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice.about import address_of
from records.backoffice.transitions import Listing
from records.complaints.actions import update_complaint_detail
from records.complaints.models import Complaint
from records.history.models import Change
from records.retention import forms
from records.retention import mentions as finding
from records.sites.models import Site
from tests import make
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.audits import find, make_audit, make_program, start
from tests.make.backoffice import browser, press
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.items import make_item

pytestmark = pytest.mark.django_db


@pytest.fixture
def complaint(site: Site) -> Complaint:
    """Return the complaint of a consumer who has moved on to another phone."""
    made = make_complaint(
        site, consumer_first_name="Ann", consumer_last_name="Przybylski", consumer_phone="0171 555 01 00"
    )
    values = {"consumer_phone": "0171 555 02 00"}
    update_complaint_detail(site.pk, made.pk, values, author=make.SYSTEM, may_change_completed=True, reason="New phone")
    return made


def place(record: Any, name: str = "erase-consumer") -> str:
    """Return the address of the step's page with what it has searched for."""
    return (
        reverse(f"admin:{record._meta.app_label}_{record._meta.model_name}_step", args=(record.pk, name)) + "?searched"
    )


def listed(page: Any) -> list[tuple[str, str]]:
    """Return the address and the text after the link of each record that the page lists."""
    [listing] = [line for line in page.context["searched"] if isinstance(line, Listing)] or [Listing("", ())]
    parts = [str(item).partition("</a>") for item in listing.items]
    return [(link.partition('href="')[2].partition('"')[0], after.strip()) for link, _, after in parts]


def test_actions_attachments_and_other_records_that_name_the_consumer_are_listed(
    site: Site, other_site: Site, complaint: Complaint
) -> None:
    call = make_action(site, about=complaint, name="Call Ann back", description="Mrs. PRZYBYLSKI waits")
    photo = make_attachment(site, on=complaint, file_name="ann.jpg", name="Letter")
    oven = make_item(site, name="Oven", notes="Repaired after the call from 0171 555 01 00")
    second = make_complaint(site, consumer_last_name="Przybylski")
    audit = find(start(make_audit(make_program(site))), None)
    audit.findings.update(comment="Asked about Przybylski")
    make_item(site, name="Annex")
    make_item(site, name="Ann's table")
    make_action(other_site, name="Przybylski")
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(place(complaint))
    assert sorted(listed(page)) == sorted(
        [
            (address_of(call), "(Description, Name)"),
            (address_of(photo), "(File name)"),
            (address_of(oven), "(Notes)"),
            (address_of(second), "(Consumer last name)"),
            (address_of(audit), "(Comment)"),
        ]
    )
    assert "These other records contain one of the values" in page.text


def test_the_page_is_shown_before_other_records_are_searched(site: Site, complaint: Complaint) -> None:
    oven = make_item(site, name="Oven of Mrs. Przybylski")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    with CaptureQueriesContext(connection) as asked:
        page = client.get(place(complaint).partition("?")[0])
    assert not [query for query in asked if "items_item" in query["sql"]]
    assert (page.context["searched"], address_of(oven) in page.text) == (None, False)
    assert '<a href="?searched">Search other records for these values</a>' in page.text
    assert listed(client.get(place(complaint))) == [(address_of(oven), "(Name)")]


def test_a_record_without_the_values_says_so(site: Site) -> None:
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(place(make_complaint(site)))
    assert "The record contains none of the values, so no other record was searched." in page.text


def test_records_that_the_user_may_not_see_are_not_listed(site: Site, complaint: Complaint) -> None:
    make_item(site, name="Oven of Mrs. Przybylski")
    user = make.make_user(site=site)
    make.make_role(site, ["complaints.view_complaint", "complaints.erase_consumer"], [user])
    page = browser(site, user=user).get(place(complaint))
    assert "No other record that you may see was found to contain" in page.text


def test_every_text_column_is_looked_at_also_where_the_search_does_not(site: Site) -> None:
    facts = {
        "consumer_phone": "0900 5551234",
        "consumer_email": "xw@wolke.example",
        "consumer_address": "Wolkengasse 3\nBonn",
    }
    complaint = make_complaint(site, consumer_last_name="Wolkenstein", **facts)
    same = make_complaint(site, consumer_first_name="Xenia", **facts)
    other = make_complaint(site, consumer_mobile="0900 5551234")
    customer = make_customer(site, fax="0900 5551234")
    make_complaint(site, consumer_address="Wolkengasse 5\nBonn")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    page = client.get(place(complaint))
    assert sorted(listed(page)) == sorted(
        [
            (address_of(same), "(Consumer address, Consumer phone, Consumer e-mail)"),
            (address_of(other), "(Consumer mobile)"),
            (address_of(customer), "(Fax)"),
        ]
    )
    told = "Consumer last name, Consumer address, Consumer phone, Consumer mobile, Consumer e-mail. Attached files"
    assert told in page.text


def test_a_name_of_two_letters_is_found_as_a_whole_word(site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Ng")
    same = make_complaint(site, consumer_last_name="NG", complaint_description="Nothing was wrong.")
    told = make_complaint(site, complaint_description="Called (Ng) again.")
    item = make_item(site, name="Ng", notes="Ringing")
    contact = make_customer(site, party_contacts=[{"last_name": "Ng"}])
    make_complaint(site, complaint_description="Ringing during longer evenings, 5ng of it")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert sorted(listed(client.get(place(complaint)))) == sorted(
        [
            (address_of(same), "(Consumer last name)"),
            (address_of(told), "(Description)"),
            (address_of(item), "(Name)"),
            (address_of(contact), "(Last name)"),
        ]
    )
    chinese = make_complaint(site, consumer_last_name="李")
    noted = make_item(site, name="Oven", notes="给李打电话")
    assert listed(client.get(place(chinese))) == [(address_of(noted), "(Notes)")]


@pytest.mark.parametrize(
    "said",
    [
        "+49 (0)171 234 56 78",
        "0049171/2345678",
        "Call 0171-23 45 67 8.",
        "01712345678",
        "0171\u00a0234\u20115678",
        "\uff10\uff11\uff17\uff11\uff0d\uff12\uff13\uff14\uff15\uff16\uff17\uff18",
    ],
)
def test_a_phone_number_is_found_in_any_spelling(site: Site, said: str) -> None:
    complaint = make_complaint(site, consumer_last_name="Wolkenstein", consumer_phone="0171 2345678")
    item = make_item(site, name="Oven", notes=f"{said}\nClean it.")
    same = make_complaint(site, consumer_mobile=said)
    make_item(site, name="Mixer", notes="Batches 171, 23, 4 and 5679 of 0171 2345679.")
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(place(complaint))
    assert sorted(listed(page)) == sorted([(address_of(item), "(Notes)"), (address_of(same), "(Consumer mobile)")])


def test_the_private_facts_of_another_employee_are_compared(site: Site) -> None:
    facts = {"phone": "0900 5551234", "address": "Wolkengasse 3\nBonn"}
    employee, other = make.make_employee(site, **facts), make.make_employee(site, **facts)
    make.archive(employee)
    complaint = make_complaint(site, consumer_address="Wolkengasse 3\nBonn")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert sorted(listed(client.get(place(employee, "erase-private-facts")))) == sorted(
        [(address_of(other), "(Address, Phone)"), (address_of(complaint), "(Consumer address)")]
    )


def test_it_is_said_when_not_all_were_looked_at(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST", 2)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    make_item(site, name="Przybylskian 1")
    make_item(site, name="Przybylskian 2")
    assert "not all were looked at" not in client.get(place(complaint)).text
    make_item(site, name="Przybylski")
    assert "not all were looked at" in client.get(place(complaint)).text


def test_a_private_field_is_named_only_to_those_who_may_see_it(site: Site, other_site: Site) -> None:
    customer = make_customer(site, party_contacts=[{"first_name": "Bo", "last_name": "Przybylski"}])
    complaint = make_complaint(site, consumer_last_name="Przybylski")
    user = make.make_user(site=site)
    make.make_role(site, ["customers.view_customer", "customers.erase_contact", "complaints.view_complaint"], [user])
    make.make_role(other_site, ["complaints.view_private_complaint"], [user])
    client = browser(site, user=user)
    assert listed(client.get(place(customer, "erase-contact"))) == []
    make.make_role(site, ["complaints.view_private_complaint"], [user])
    assert listed(client.get(place(customer, "erase-contact"))) == [(address_of(complaint), "(Consumer last name)")]


def test_nothing_is_listed_after_the_erasure_and_other_records_stay(site: Site, complaint: Complaint) -> None:
    client, action = browser(site, DefaultRole.SITE_ADMINISTRATOR), make_action(site, name="Visit Mrs. Przybylski")
    assert len(listed(client.get(place(complaint)))) == 1
    known = Change.objects.filter(record_id=action.pk).count()
    assert press(client, place(complaint), {"change_reason": "Asked by letter"}).status_code == 302
    page = client.get(place(complaint))
    assert listed(page) == []
    assert "No other record says" not in page.text
    action.refresh_from_db()
    assert action.name == "Visit Mrs. Przybylski"
    assert Change.objects.filter(record_id=action.pk).count() == known


def test_a_contact_and_an_employee_are_looked_for_in_the_same_way(site: Site) -> None:
    customer = make_customer(site, party_contacts=[{"first_name": "Bo", "last_name": "Ångström"}])
    employee = make.make_employee(site, phone="0171 555 03 00")
    make.archive(employee)
    first, second = make_action(site, name="Ask ångström"), make_action(site, name="Ring 0171 555 03 00")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert listed(client.get(place(customer, "erase-contact"))) == [(address_of(first), "(Name)")]
    assert listed(client.get(place(employee, "erase-private-facts"))) == [(address_of(second), "(Name)")]


def test_a_long_list_is_cut_and_costs_a_fixed_number_of_queries(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)

    def queries(count: int, made: Callable[[int], Any]) -> int:
        for number in range(count):
            made(number)
        client.get(place(complaint))
        with CaptureQueriesContext(connection) as asked:
            client.get(place(complaint))
        return len(asked)

    few = queries(1, lambda number: make_item(site, name=f"Przybylski {number}"))
    assert queries(4, lambda number: make_item(site, name=f"Mrs. Przybylski {number}")) == few
    first = make_action(site, about=complaint, name="Call Ann")
    monkeypatch.setattr(forms, "SHOWN", 3)
    page = client.get(place(complaint))
    assert listed(page)[0] == (address_of(first), "(Name)")
    assert [after for _, after in listed(page)] == ["(Name)"] * 3 + [""]
    assert "Item 1: Przybylski 0" in page.text
    assert "and others" in page.text
