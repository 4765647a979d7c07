"""Every record and every list on paper: what it says, who gets it, and at what cost."""

from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from documents.models import Document
from records.accounts.models import DefaultRole
from records.backoffice.about import reads_first
from records.backoffice.wording import without_markup
from records.customers.models import Customer
from records.dashboard.printing import lists
from records.employees.models import Employee
from records.items.models import Item
from records.reference.models import Checklist, Country, Product
from records.sites.models import EntityFolder, Site
from records.sites.writing import archive_record
from tests import make
from tests.make.actions import make_action
from tests.make.attachments import make_attachment
from tests.make.audits import make_audit, make_checklist, make_program
from tests.make.backoffice import address, browser, list_address, make_superuser, sign_in
from tests.make.complaints import make_complaint, make_entry
from tests.make.customers import make_customer
from tests.make.documents import make_document, make_signer
from tests.make.items import make_item
from tests.make.pdfs import texts_of

pytestmark = pytest.mark.django_db


def paper_of(record: Any) -> str:
    return reverse("admin:print", args=(record._meta.model_name, record.pk))


def paper_of_list(model: Any, query: str = "") -> str:
    return reverse("admin:print_list", args=(model._meta.model_name,)) + query


def text_of(client: Client, path: str) -> str:
    """Return the words of a PDF; where lines end is left to the paper."""
    response = client.get(path)
    assert response.status_code == 200, path
    assert response["Content-Type"] == "application/pdf"
    return " ".join(texts_of(response.content))


def test_the_list_of_every_kind_of_record_is_printed(site: Site) -> None:
    client = sign_in(make_superuser(), site)
    kinds = [model for model in admin.site._registry if reads_first(model)]
    assert len({model._meta.model_name for model in kinds}) == len(kinds)
    # The pages of most lists that records point into are one class: one of them stands for all.
    for model in {type(admin.site._registry[model]): model for model in kinds}.values():
        path = paper_of_list(model)
        assert client.get(path).content.startswith(b"%PDF-"), path
        # The address of the folders shows their tree, unless it has a filter.
        query = "?archived=all" if model is EntityFolder else ""
        assert f'href="{path}{query}"' in client.get(f"{list_address(model)}{query}").content.decode(), model


def test_a_list_is_printed_as_it_is_filtered_in_the_columns_of_the_person(site: Site) -> None:
    make_item(site, name="Oven <b>1</b> & Co", code="OV-1", location="Hall 2")
    make_item(site, name="Mixer", code="MX-1")
    old = make_item(site, name="Old oven")
    archive_record(Item, site.pk, old.pk, archived=True, author=make.SYSTEM, reason="Sold")
    client = browser(site)
    text = text_of(client, paper_of_list(Item, "?q=oven"))
    assert "Oven <b>1</b> & Co" in text
    assert "Hall 2" in text
    assert "Only: Search: “oven”" in text
    assert site.name in text
    assert "Mixer" not in text
    assert "Old oven" not in text
    client.post(reverse("admin:items_item_columns"), {"column": ["code"]})
    text = text_of(client, paper_of_list(Item))
    assert "Location" not in text
    assert "MX-1" in text


def test_a_list_without_records_says_so(site: Site) -> None:
    client = browser(site)
    assert "The list is empty." in text_of(client, paper_of_list(Item))
    assert "Nothing matches." in text_of(client, paper_of_list(Item, "?q=oven"))


def test_a_long_list_says_that_it_is_cut_and_what_to_do(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "MOST_ROWS", 2)
    for name in ("Oven", "Mixer", "Scale"):
        make_item(site, name=name)
    text = text_of(browser(site), paper_of_list(Item))
    assert "These are the first 2 records." in text
    assert "Scale" in text
    assert "Oven" not in text


def test_long_words_and_long_texts_fit_on_the_pages_of_a_list(site: Site) -> None:
    make_item(site, name="x" * 200, code="y" * 200, notes="Hall\n" * 300, serial_number="z" * 200)
    for _ in range(3):
        make_customer(site, name="Å" * 150, telephone="0" * 50)
    client = browser(site)
    assert "…" not in text_of(client, paper_of_list(Item, "?o=1"))
    assert "Customers" in text_of(client, paper_of_list(Customer))


def test_cells_of_a_list_are_broken_between_words_and_keep_every_script(site: Site) -> None:
    name = "An oven with a long name " * 9
    make_item(site, name=name.strip(), location="Hall <b>2</b>")
    make_item(site, name="Ofen\u00a0Ö & Söhne", location="仓库 3")
    make_item(site, name="Oven", location="אולם 4")
    text = text_of(browser(site), paper_of_list(Item))
    assert name.strip() in text
    assert "Hall <b>2</b>" in text
    assert "Ofen Ö & Söhne" in text
    assert "仓库 3" in text
    assert "אולם" in text


def test_a_list_that_cannot_be_read_is_refused_in_words(site: Site) -> None:
    response = browser(site).get(paper_of_list(Item, "?archived=maybe"))
    assert response.status_code == 400
    assert "The list cannot be filtered by" in response.content.decode()


def test_lists_on_paper_follow_the_rights_and_the_site(site: Site, other_site: Site) -> None:
    make_item(site, name="Oven")
    assert Client().get(paper_of_list(Item)).status_code == 302
    assert "Oven" not in text_of(browser(other_site), paper_of_list(Item))
    clerk = make.make_user(site=site)
    make.make_role(site, ["documents.view_document"], [clerk])
    assert sign_in(clerk, site).get(paper_of_list(Item)).status_code == 403
    assert browser(site).get("/admin/print/nonsense/").status_code == 404
    pending = make_document(site, name="Secret plan", user_to_review=[make_signer(site)])
    assert pending.name not in text_of(browser(site, DefaultRole.READER), paper_of_list(Document))


@pytest.mark.parametrize("kind", [Item, Employee, Document])
def test_a_printed_list_costs_the_same_queries_for_many_records(site: Site, kind: Any) -> None:
    add = {Item: make_item, Employee: make.make_employee, Document: make_document}[kind]
    client, counts = browser(site), []
    for _ in range(2):
        for _ in range(3):
            add(site)
        with CaptureQueriesContext(connection) as queries:
            client.get(paper_of_list(kind))
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_customers_paper_holds_its_fields_contacts_actions_and_attachments(site: Site) -> None:
    contacts = [{"first_name": "Bo", "last_name": "Ek", "email": "bo@ek.se"}]
    customer = make_customer(site, name="Acme", code="C-1", note="First line\nSecond line", party_contacts=contacts)
    make_attachment(site, on=customer, name="Contract")
    client = browser(site)
    text = text_of(client, paper_of(customer))
    assert f"Customer: Acme (No. {customer.site_sequence_id})" in text
    assert "First line Second line" in text
    assert "Last name: Ek" in text
    assert "Contract" in text
    response = client.get(paper_of(customer))
    assert f"customer-{customer.site_sequence_id}.pdf" in response["Content-Disposition"]
    item = make_item(site, name="Scale")
    make_action(site, about=item, name="Calibrate")
    assert "Calibrate" in text_of(client, paper_of(item))


def test_statuses_and_other_choices_are_printed_in_the_reader_s_language(site: Site) -> None:
    action = make_action(site, kind="Corrective", priority="High")
    complaint = make_complaint(site, severity="Critical")
    audit = make_audit(make_program(site))
    client = browser(site)
    expected = {
        action: ["Offen", "Korrekturmaßnahme", "Hoch"],
        complaint: ["Wartet auf Prüfung", "Kritisch"],
        audit: ["Geplant"],
    }
    for record, words in expected.items():
        page = client.get(address(record, "read"), headers={"Accept-Language": "de"}).text
        answer = client.get(paper_of(record), headers={"Accept-Language": "de"}).content
        paper = " ".join(texts_of(answer))
        for word in words:
            assert word in page
            assert word in paper


def test_a_papers_fields_are_those_that_the_reader_sees(site: Site, other_site: Site) -> None:
    employee = make.make_employee(site, first_name="Ida", last_name="Moss", mobile="555-0199")
    assert "555-0199" in text_of(browser(site), paper_of(employee))
    reader = text_of(browser(site, DefaultRole.READER), paper_of(employee))
    assert "Moss" in reader
    assert "555-0199" not in reader
    assert browser(other_site).get(paper_of(employee)).status_code == 404


def test_entries_of_lists_are_printed_too_also_of_those_that_all_sites_share(site: Site) -> None:
    client = browser(site)
    assert "Product: Rye loaf" in text_of(client, paper_of(make_entry(Product, site, "Rye loaf")))
    assert "Is it dry?" in text_of(client, paper_of(make_checklist(site, questions=("Is it dry?",))))
    norway = Country.objects.get(code="NO")
    text = text_of(client, paper_of(norway))
    assert "Country: Norway" in text
    assert "All sites" in text
    assert "Norway" in text_of(client, paper_of_list(Country, "?q=Norway"))
    assert Checklist.objects.filter(site=site).exists()


def test_the_button_of_a_document_tells_its_paper_from_the_controlled_copy(site: Site) -> None:
    document = make_document(site, name="Cleaning plan")
    page = browser(site).get(address(document, "read")).content.decode()
    assert "Print the details (PDF)" in page
    assert "Cleaning plan" in text_of(browser(site), paper_of(document))


def test_markup_of_a_page_becomes_lines_of_text() -> None:
    assert without_markup("a &lt;b&gt;<br>&amp; c<p>d</p>") == "a <b>\n& cd"
    assert without_markup('<a href="/x/">Rye &amp; Co</a> <img src="/y" alt="Yes">') == "Rye & Co Yes"
    assert without_markup('<td class="field-code nowrap"><a href="/x/?a=b">Rye</a></td>') == "Rye"
    assert without_markup('<td class="field-used"><img src="/y" alt="Yes"></td>') == "Yes"
    assert without_markup('<td title="1 > 0">Rye</td>') == "Rye"
