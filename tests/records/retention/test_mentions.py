"""Before a person is erased from a record, its page lists the other records that say who the person is."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice.about import address_of, link_to
from records.backoffice.permissions import SitePermissions
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
from tests.make.complaints import make_complaint, make_draft
from tests.make.customers import make_customer
from tests.make.documents import add_version, make_document, make_signer
from tests.make.items import make_item

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _in_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first part search everything, however busy the machine is."""
    monkeypatch.setattr(finding, "STEP_SECONDS", 60)
    monkeypatch.setattr(finding, "QUICK_SECONDS", 0)


@pytest.fixture
def complaint(site: Site) -> Complaint:
    """Return the complaint of a consumer who has moved on to another phone."""
    row = make_complaint(
        site, consumer_first_name="Ann", consumer_last_name="Przybylski", consumer_phone="0171 555 01 00"
    )
    values = {"consumer_phone": "0171 555 02 00"}
    update_complaint_detail(site.pk, row.pk, values, author=make.SYSTEM, may_change_completed=True, reason="New phone")
    return row


def place(record: Any, name: str = "erase-consumer") -> str:
    """Return the address of the step's page with what it has searched for."""
    return (
        reverse(f"admin:{record._meta.app_label}_{record._meta.model_name}_step", args=(record.pk, name)) + "?searched"
    )


def mentions(page: Any) -> list[tuple[str, str]]:
    """Return the address and the text after the link of each record that the page lists."""
    listing = page.context["searched"].listing
    parts = [str(item).partition("</a>") for item in (listing.items if listing else ())]
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
    assert sorted(mentions(page)) == sorted(
        [
            (address_of(call), "(Name, Description)"),
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
    with CaptureQueriesContext(connection) as queries:
        page = client.get(place(complaint).partition("?")[0])
    assert not [query for query in queries if "items_item" in query["sql"]]
    assert (page.context["searched"], address_of(oven) in page.text) == (None, False)
    assert '<a href="?searched">Search other records for these values</a>' in page.text
    assert mentions(client.get(place(complaint))) == [(address_of(oven), "(Name)")]


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
    same_person = make_complaint(site, consumer_first_name="Xenia", **facts)
    other = make_complaint(site, consumer_mobile="0900 5551234")
    customer = make_customer(site, fax="0900 5551234")
    make_complaint(site, consumer_address="Wolkengasse 5\nBonn")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    page = client.get(place(complaint))
    assert sorted(mentions(page)) == sorted(
        [
            (address_of(same_person), "(Consumer address, Consumer phone, Consumer e-mail)"),
            (address_of(other), "(Consumer mobile)"),
            (address_of(customer), "(Fax)"),
        ]
    )
    labels = "Consumer last name, Consumer address, Consumer phone, Consumer mobile, Consumer e-mail. Attached files"
    assert labels in page.text


def test_a_name_of_two_letters_is_found_as_a_whole_word(site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Ng")
    same_name = make_complaint(site, consumer_last_name="NG", complaint_description="Nothing was wrong.")
    mention = make_complaint(site, complaint_description="Called (Ng) again.")
    item = make_item(site, name="Ng", notes="Ringing")
    contact = make_customer(site, party_contacts=[{"last_name": "Ng"}])
    make_complaint(site, complaint_description="Ringing during longer evenings, 5ng of it")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert sorted(mentions(client.get(place(complaint)))) == sorted(
        [
            (address_of(same_name), "(Consumer last name)"),
            (address_of(mention), "(Description)"),
            (address_of(item), "(Name)"),
            (address_of(contact), "(Last name)"),
        ]
    )
    chinese = make_complaint(site, consumer_last_name="李")
    item = make_item(site, name="Oven", notes="给李打电话")
    assert mentions(client.get(place(chinese))) == [(address_of(item), "(Notes)")]


@pytest.mark.parametrize(
    "number",
    [
        "+49 (0)171 234 56 78",
        "0049171/2345678",
        "Call 0171-23 45 67 8.",
        "01712345678",
        "0171\u00a0234\u20115678",
        "\uff10\uff11\uff17\uff11\uff0d\uff12\uff13\uff14\uff15\uff16\uff17\uff18",
    ],
)
def test_a_phone_number_is_found_in_any_spelling(site: Site, number: str) -> None:
    complaint = make_complaint(site, consumer_last_name="Wolkenstein", consumer_phone="0171 2345678")
    item = make_item(site, name="Oven", notes=f"{number}\nClean it.")
    same = make_complaint(site, consumer_mobile=number)
    make_item(site, name="Mixer", notes="Batches 171, 23, 4 and 5679 of 0171 2345679.")
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(place(complaint))
    assert sorted(mentions(page)) == sorted([(address_of(item), "(Notes)"), (address_of(same), "(Consumer mobile)")])


def test_the_private_facts_of_another_employee_are_compared(site: Site) -> None:
    facts = {"phone": "0900 5551234", "address": "Wolkengasse 3\nBonn"}
    employee, other = make.make_employee(site, **facts), make.make_employee(site, **facts)
    make.archive(employee)
    complaint = make_complaint(site, consumer_address="Wolkengasse 3\nBonn")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert sorted(mentions(client.get(place(employee, "erase-private-facts")))) == sorted(
        [(address_of(other), "(Address, Phone)"), (address_of(complaint), "(Consumer address)")]
    )


def test_it_is_said_when_not_all_were_looked_at(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST_HITS", 2)
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
    assert mentions(client.get(place(customer, "erase-contact"))) == []
    make.make_role(site, ["complaints.view_private_complaint"], [user])
    assert mentions(client.get(place(customer, "erase-contact"))) == [(address_of(complaint), "(Consumer last name)")]


def test_nothing_is_listed_after_the_erasure_and_other_records_stay(site: Site, complaint: Complaint) -> None:
    client, action = browser(site, DefaultRole.SITE_ADMINISTRATOR), make_action(site, name="Visit Mrs. Przybylski")
    assert len(mentions(client.get(place(complaint)))) == 1
    count = Change.objects.filter(record_id=action.pk).count()
    assert press(client, place(complaint), {"change_reason": "Asked by letter"}).status_code == 302
    page = client.get(place(complaint))
    assert mentions(page) == []
    assert "No other record says" not in page.text
    action.refresh_from_db()
    assert action.name == "Visit Mrs. Przybylski"
    assert Change.objects.filter(record_id=action.pk).count() == count


def test_a_contact_and_an_employee_are_looked_for_in_the_same_way(site: Site) -> None:
    customer = make_customer(site, party_contacts=[{"first_name": "Bo", "last_name": "Ångström"}])
    employee = make.make_employee(site, phone="0171 555 03 00")
    make.archive(employee)
    first, second = make_action(site, name="Ask ångström"), make_action(site, name="Ring 0171 555 03 00")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert mentions(client.get(place(customer, "erase-contact"))) == [(address_of(first), "(Name)")]
    assert mentions(client.get(place(employee, "erase-private-facts"))) == [(address_of(second), "(Name)")]


def test_a_short_name_between_underscores_is_found(site: Site) -> None:
    complaint = make_complaint(site, consumer_last_name="Bo")
    letter = make_attachment(site, on=make_item(site), file_name="Letter_Bo_2.txt")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert mentions(client.get(place(complaint))) == [(address_of(letter), "(File name)")]


def test_a_long_list_is_cut_and_costs_a_fixed_number_of_queries(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)

    def queries(count: int, make_one: Callable[[int], Any]) -> int:
        for number in range(count):
            make_one(number)
        client.get(place(complaint))
        with CaptureQueriesContext(connection) as context:
            client.get(place(complaint))
        return len(context)

    few = queries(1, lambda number: make_item(site, name=f"Przybylski {number}"))
    assert queries(4, lambda number: make_item(site, name=f"Mrs. Przybylski {number}")) == few
    first = make_action(site, about=complaint, name="Call Ann")
    monkeypatch.setattr(forms, "MOST_SHOWN", 3)
    page = client.get(place(complaint))
    assert mentions(page)[0] == (address_of(first), "(Name)")
    assert [after for _, after in mentions(page)] == ["(Name)"] * 3 + [""]
    assert "Item 1: Przybylski 0" in page.text
    assert "and others" in page.text


def in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each part of a search be as small as it can be: the beginning of a kind, or four of its records."""
    monkeypatch.setattr(finding, "STEP_SECONDS", 0)
    monkeypatch.setattr(finding, "FIRST_SIZE", 4)


def parts(client: Any, record: Any, *, are_whole_pages: bool = False) -> list[Any]:
    """Return all parts of a search, each of which leads to the next: alone, as a script asks for them, or as pages."""
    query = {} if are_whole_pages else {"part": ""}
    pages = [client.get(place(record), {"searched": "", **query})]
    while following := pages[-1].context["searched"].next_place:
        assert f'href="?{urlencode({"searched": following})}"' in pages[-1].text
        pages.append(client.get(place(record), {"searched": following, **query}))
    return pages


def test_a_search_in_parts_finds_what_one_part_finds(
    site: Site, other_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint = make_complaint(
        site,
        consumer_first_name="Ann",
        consumer_last_name="Ng",
        consumer_phone="0171 2345678",
        consumer_email="ng@wolke.example",
        consumer_address="Wolkengasse 3",
    )
    for text in ("", "Ng called", "wolkengasse 3", "NG@WOLKE.EXAMPLE", "+49 171 2345-678", "Annoyed, as yours was"):
        make_action(site, about=complaint, name="Ring Ann", description=text)
        make_action(site, name="Answer", description=text)
        make_item(site, name=text or "Oven", notes=text)
        make_draft(site, consumer_address=text, complaint_description=text)
        make_customer(site, name=f"Customer {text}", party_contacts=[{"last_name": text, "phone": text}])
        make_complaint(site, consumer_address=text, complaint_description=text)
        make.make_employee(site, address=text)
        make_complaint(other_site, consumer_address=text)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    full_page = client.get(place(complaint))
    assert (full_page.context["searched"].next_place, len(mentions(full_page))) == ("", 30)
    in_small_parts(monkeypatch)
    pages = parts(client, complaint, are_whole_pages=True)
    # What an index finds is known at the beginning of its kind, the other fields of a contact's customer later.
    addresses = dict.fromkeys(address_ for page in pages for address_, _ in mentions(page))
    assert sorted(addresses) == sorted(address_ for address_, _ in mentions(full_page))
    assert all("kinds of records have been searched. Next: " in page.text for page in pages[:-1])
    assert not [page for page in pages[:-1] if re.search("No other record|records that you may see", page.text)]
    assert "0 of 11 kinds of records have been searched. Next: actions." in pages[0].text
    assert "All 11 kinds of records that you may see have been searched." in pages[-1].text
    assert "Parts before this one have found records too" in pages[-1].text
    assert "No other record" not in pages[-1].text


def test_records_with_more_child_rows_than_are_compared_at_once_are_searched_in_fewer(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    contacts = [{"first_name": f"Bo {number}", "phone": f"0171 555 0{number} 00"} for number in range(4)]
    customers = [make_customer(site, party_contacts=contacts[::turn]) for turn in (1, -1, 1, -1)]
    monkeypatch.setattr(finding, "STEP_ROWS", 8)
    pages = parts(browser(site, DefaultRole.SITE_ADMINISTRATOR), complaint)
    rows = [one for page in pages for one in mentions(page)]
    assert sorted(rows) == sorted((address_of(customer), "(Phone)") for customer in customers)
    in_small_parts(monkeypatch)
    assert [
        one for page in parts(browser(site, DefaultRole.SITE_ADMINISTRATOR), complaint) for one in mentions(page)
    ] == rows


def test_rows_with_many_values_are_not_left_out_in_silence(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST_HITS", 2)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    names = ("name", "code", "serial_number", "location")
    make_item(site, **dict.fromkeys(names, "Przybylski"))
    assert "not all were looked at" not in client.get(place(complaint)).text
    make_item(site, **dict.fromkeys(names, "Przybylski 2"))
    make_item(site, name="Oven", notes="Przybylski")
    assert "not all were looked at" in client.get(place(complaint)).text


def test_only_the_last_part_says_that_nothing_was_found(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small_parts(monkeypatch)
    pages = parts(browser(site, DefaultRole.SITE_ADMINISTRATOR), complaint)
    assert len(pages) > 11
    assert [page for page in pages if "No other record that you may see was found" in page.text] == pages[-1:]
    assert "Parts before this one" not in pages[-1].text


def test_the_last_part_knows_that_rows_of_a_kind_were_left_out(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small_parts(monkeypatch)
    monkeypatch.setattr(finding, "MOST_HITS", 3)
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for _ in range(2):
        make_draft(site, complaint_description="Ring 0171 5550100")
    assert "not all were looked at" not in parts(client, complaint)[-1].text
    make_complaint(site, complaint_description="Ring 0171 5550100")
    make_item(site, notes="Ring 0171 5550100")
    pages = parts(client, complaint)
    assert "not all were looked at" in pages[-1].text
    assert "have been searched" not in pages[-1].text
    assert sum(len(mentions(page)) for page in pages) == 4


def test_a_record_without_a_number_is_named_by_its_kind(site: Site) -> None:
    draft, item = make_draft(site), make_item(site, name="Oven")
    assert "Complaint: Draft complaint</a>" in link_to(draft)
    assert f"Item {item.site_sequence_id}: Oven</a>" in link_to(item)


def test_a_part_alone_has_no_form(site: Site, complaint: Complaint) -> None:
    oven = make_item(site, name="Oven of Mrs. Przybylski")
    part = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(f"{place(complaint)}&part")
    assert mentions(part) == [(address_of(oven), "(Name)")]
    assert "<form" not in part.text


def test_a_place_that_is_not_of_this_search_is_refused(
    site: Site, complaint: Complaint, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_small_parts(monkeypatch)
    second = make_complaint(site, consumer_last_name="Przybylski")
    user = make.make_user(site=site, role=DefaultRole.SITE_ADMINISTRATOR)
    client, other = browser(site, user=user), browser(site, DefaultRole.SITE_ADMINISTRATOR)

    def status(visitor: Any, of: Complaint, text: str) -> int:
        answer = visitor.get(place(of), {"searched": text})
        if answer.status_code == 400:
            assert '<a class="button default" href="?searched">Search again from the beginning</a>' in answer.text
        code: int = answer.status_code
        return code

    following = client.get(place(complaint)).context["searched"].next_place
    assert status(client, complaint, following) == 200
    forgeries = ["x", "0", following[:-1], f"x{following}", following.replace(":", ""), "\0", "é" * 3000]
    assert {status(client, complaint, text) for text in forgeries} == {400}
    assert (status(client, second, following), status(other, complaint, following)) == (400, 400)
    # A right that was lost, or one more value to search for, ends the search.
    with monkeypatch.context() as patch:
        patch.setattr(SitePermissions, "hidden_fields", lambda *_: ("notes",))
        assert status(client, complaint, following) == 400
    values = {"consumer_phone": "0171 555 03 00"}
    update_complaint_detail(site.pk, complaint.pk, values, author=make.SYSTEM, may_change_completed=True, reason="New")
    assert status(client, complaint, following) == 400


def test_a_text_of_a_version_that_is_not_in_force_is_not_found_for_those_who_do_not_see_it(
    site: Site, complaint: Complaint
) -> None:
    reviewer = [make_signer(site)]
    visible, with_new_version = make_document(site, name="Visit of Mrs. Przybylski"), make_document(site, name="Oven")
    add_version(with_new_version, b"new", file_name="przybylski.txt", user_to_review=reviewer)
    make_document(site, name="Letter of Mrs. Przybylski", user_to_review=reviewer)
    user = make.make_user(site=site)
    make.make_role(site, ["complaints.view_complaint", "complaints.erase_consumer", "documents.view_document"], [user])
    assert mentions(browser(site, user=user).get(place(complaint))) == [(address_of(visible), "(Name)")]
    full_page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(place(complaint))
    assert (address_of(with_new_version), "(File name)") in mentions(full_page)
    assert len(mentions(full_page)) == 3
