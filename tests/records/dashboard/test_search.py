"""The search across all kinds of record: what it finds, for whom, and what it costs."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.actions.models import Action
from records.audits.models import Finding
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.dashboard.search import KINDS, Kind, matches
from records.history.statements import run_reads
from records.reference.models import Nonconformance, Product
from records.sites.models import Site
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action
from tests.make.backoffice import address, browser, list_address, sign_in
from tests.make.complaints import make_complaint, make_draft, make_entry
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.figures import make_complaints, noon
from tests.make.items import make_item
from tests.make.materials import make_category, make_material

KIND: dict[Any, Kind] = {kind.model: kind for kind in KINDS}


def search_results(client: Any, text: str) -> dict[str, list[str]]:
    response = client.get(reverse("admin:search"), {"q": text})
    assert response.status_code == 200
    return {group.key: [hit.name for hit in group.hits] for group in response.context["groups"]}


def rows_of(model: Any, site: Site, text: str) -> list[Any]:
    return run_reads([matches(KIND[model], {site.pk}, text)])[0]


def names(model: Any, site: Site, text: str) -> list[str]:
    return [str(row) for row in rows_of(model, site, text)]


def test_a_name_is_found_in_any_case_what_begins_with_it_first(site: Site) -> None:
    for name in ("Corner Bakery", "BAKERY Ångström", "Dairy"):
        make_customer(site, name=name)
    assert names(Customer, site, "bakery") == ["BAKERY Ångström", "Corner Bakery"]
    assert names(Customer, site, "ÅNGSTRÖM bak") == ["BAKERY Ångström"]
    assert names(Customer, site, "%") == []


def test_a_code_and_a_number_are_found(site: Site) -> None:
    first, second = make_customer(site, name="First", code="AX-77"), make_customer(site, name="Second")
    assert names(Customer, site, "ax-7") == ["First"]
    assert names(Customer, site, f"#{second.site_sequence_id}") == ["Second"]
    assert names(Customer, site, str(first.site_sequence_id)) == ["First"]
    complaint = make_complaint(site, trace_number="L24-0815")
    assert [row.pk for row in rows_of(Complaint, site, "l24-08")] == [complaint.pk]
    assert names(Customer, site, "9" * 40) == []


def test_the_record_with_the_number_comes_before_codes_that_begin_with_it(site: Site) -> None:
    make_customer(site, name="Aardvark", code="2000")
    make_customer(site, name="Zebra")
    assert names(Customer, site, "2") == ["Zebra", "Aardvark"]


def test_the_page_groups_what_it_finds_by_kind_with_links(site: Site) -> None:
    employee = make.make_employee(site, first_name="Mira", last_name="Quill")
    document = make_document(site, name="Quill pen cleaning")
    program = make_audits.make_program(site, name="Quill audit")
    client = browser(site)
    assert search_results(client, "quill") == {
        "document": ["Quill pen cleaning (No. 1)"],
        "auditprogram": ["Quill audit (No. 1)"],
        "employee": ["Mira Quill (No. 1)"],
    }
    text = client.get(reverse("admin:search"), {"q": "quill"}).content.decode()
    for record in (employee, document, program):
        assert f'href="{address(record, "read")}"' in text


def test_other_sites_and_kinds_without_permission_stay_invisible(site: Site, other_site: Site) -> None:
    make.make_employee(site, last_name="Quill")
    make.make_employee(other_site, last_name="Quill")
    make_document(site, name="Quill")
    assert search_results(browser(site), "quill") == {"document": ["Quill (No. 1)"], "employee": ["Ada Quill (No. 1)"]}
    clerk = make.make_user(site=site)
    make.make_role(site, ["documents.view_document"], [clerk])
    assert search_results(sign_in(clerk, site), "quill") == {"document": ["Quill (No. 1)"]}
    assert search_results(sign_in(make.make_user()), "quill") == {}


def test_all_sites_of_the_user_are_searched_and_named(site: Site, other_site: Site) -> None:
    manager = make.make_user(site=site, role=DefaultRole.MANAGER)
    make.give_role(manager, other_site, DefaultRole.READER)
    make.make_employee(other_site, last_name="Quill")
    client = sign_in(manager, site)
    response = client.get(reverse("admin:search"), {"q": "quill"})
    [group] = response.context["groups"]
    assert group.hits[0].about.endswith(f"at {other_site.name}")


@pytest.mark.parametrize("text", ["", " ", "a", "\x00", "%00", "'", "#", "# ", "'; drop table", "\ud83d", "x" * 5000])
def test_odd_texts_answer_with_a_page(site: Site, text: str) -> None:
    response = browser(site).get(reverse("admin:search"), {"q": text.encode("utf-8", "replace").decode()})
    assert response.status_code == 200
    assert response.context["groups"] == []


def test_what_was_typed_is_escaped(site: Site) -> None:
    text = browser(site).get(reverse("admin:search"), {"q": "<script>alert(1)"}).content.decode()
    assert "<script>alert(1)" not in text


def test_a_draft_is_found_without_a_number(site: Site) -> None:
    make_draft(site, trace_number="L9-DRAFT")
    assert names(Complaint, site, "l9-dr") == ["Draft complaint: L9-DRAFT"]


def test_a_stranger_is_sent_to_sign_in(site: Site) -> None:
    from django.test import Client

    response = Client().get(reverse("admin:search"), {"q": "quill"})
    assert response.status_code == 302
    assert "login" in response["Location"]


def test_a_search_costs_no_more_for_300_records_than_for_3(site: Site) -> None:
    client = browser(site)

    def cost() -> int:
        with CaptureQueriesContext(connection) as queries:
            search_results(client, "quill")
        return len(queries)

    for _ in range(3):
        make_item(site, name="Quill")
        make_document(site, name="Quill")
    make_complaints(site, [noon("2026-03-10")] * 3, trace_number="Quill")
    cost()
    few = cost()
    make_complaints(site, [noon("2026-03-10")] * 300, trace_number="Quill")
    for _ in range(12):
        make_item(site, name="Quill")
        make_document(site, name="Quill")
        make.make_employee(site, last_name="Quill")
    assert cost() <= few


def test_a_beginning_is_read_from_an_index(site: Site) -> None:
    plan = str(
        Customer.objects.filter(site__in=[site.pk], name_key__startswith="baker").order_by("name_key", "id").explain()
    )
    if connection.vendor == "sqlite":
        assert "USING INDEX customer_by_name" in plan or "USING COVERING INDEX customer_by_name" in plan, plan


def test_words_of_descriptions_and_findings_are_found_with_the_place_where_they_stand(site: Site) -> None:
    make_complaint(site, complaint_description="The customer bit on a metal splinter in the crust.")
    audit = make_audits.start(make_audits.make_audit(make_audits.make_program(site)))
    Finding.objects.create(audit_record=audit, idx=0, question="Blades?", comment="A splinter under the slicer")
    client = browser(site)
    groups = {group.key: group for group in client.get(reverse("admin:search"), {"q": "splinter"}).context["groups"]}
    assert groups.keys() == {"complaint", "finding"}
    assert groups["complaint"].hits[0].snippet == (
        "The customer bit on a metal ",
        "splinter",
        " in the crust.",
    )
    assert groups["finding"].hits[0].url == address(audit, "read")
    text = client.get(reverse("admin:search"), {"q": "splinter", "kind": "finding"}).content.decode()
    assert "<mark>splinter</mark> under the slicer" in text
    assert "bit on a metal" not in text


def test_a_consumer_is_found_by_those_alone_who_may_see_consumers(site: Site) -> None:
    make_complaint(site, consumer_last_name="Zimmermann")
    assert search_results(browser(site, DefaultRole.READER), "zimmermann") == {}
    assert search_results(browser(site, DefaultRole.STANDARD), "zimmermann").keys() == {"complaint"}


def test_a_complaint_s_number_is_named_once(site: Site) -> None:
    complaint = make_complaint(site, trace_number="L2611-0042")
    assert search_results(browser(site), "l2611")["complaint"] == [str(complaint)]


def test_the_list_of_complaints_is_searched_by_product_and_customer(site: Site) -> None:
    rye = make_complaint(site, product=make_entry(Product, site, "Rye loaf"))
    make_complaint(site)
    rows = browser(site).get(list_address(Complaint), {"q": "rye"}).context["cl"].result_list
    assert [row.pk for row in rows] == [rye.pk]


def test_a_customer_is_found_by_its_city_its_telephone_and_its_contacts(site: Site, other_site: Site) -> None:
    contacts = [{"first_name": "Mira", "last_name": "Quill", "email": "mira@harbour.example", "phone": "555-0142"}]
    make_customer(
        site, name="Harbour Foods", physical_address_city="Lübeck", telephone="+49 451 77", party_contacts=contacts
    )
    make_customer(other_site, name="Elsewhere", party_contacts=contacts)
    client = browser(site, DefaultRole.READER)
    for text in ("übec", "451", "quill", "Mira", "0142", "mira@harbour"):
        hits = search_results(client, text)
        assert {name for several in hits.values() for name in several} == {"Harbour Foods (No. 1)"}, text
    assert "Harbour Foods" in client.get(f"{list_address(Customer)}?q=lübeck").content.decode()
    assert "Nothing matches" in client.get(f"{list_address(Customer)}?q=hamburg").content.decode()


def test_lists_are_searched_by_the_names_that_their_columns_show(site: Site) -> None:
    ada = make.make_user("ada", site=site, role=DefaultRole.MANAGER, given_name="Ada", family_name="Lovell")
    metal = make_entry(Nonconformance, site, "Foreign body: metal")
    complaint = make_complaint(site, nonconformance=metal)
    Complaint.objects.filter(pk=complaint.pk).update(owner=ada)
    make_complaint(site, trace_number="L-OTHER")
    action = make_action(site, owner=ada)
    make_action(site)
    client = browser(site)
    for text in ("metal", "lovell", "ada metal"):
        page = client.get(list_address(Complaint), {"q": text})
        assert [row.pk for row in page.context["cl"].result_list] == [complaint.pk], text
    page = client.get(list_address(Action), {"q": "ada lovell"})
    assert [row.pk for row in page.context["cl"].result_list] == [action.pk]


def test_answers_results_places_and_jobs_are_found(site: Site) -> None:
    complaint = make_complaint(site)
    Complaint.objects.filter(pk=complaint.pk).update(correction="Sieve replaced", review_report="Torn mesh")
    action = make_action(site, name="Change the gasket")
    Action.objects.filter(pk=action.pk).update(result="Leak is gone")
    make_item(site, name="Scale", location="Cold store 4")
    make.make_employee(site, first_name="Ada", last_name="Baker", position="Fermentation lead")
    make_audits.make_program(site, name="GMP walk", department="Despatch")
    make.make_job_description(site, name="Packer", department="Packing hall")
    client = browser(site)
    for text, key, name in (
        ("sieve", "complaint", str(complaint)),
        ("torn mesh", "complaint", str(complaint)),
        ("leak", "action", "Change the gasket (No. 1)"),
        ("cold store", "item", "Scale (No. 1)"),
        ("fermentation", "employee", "Ada Baker (No. 1)"),
        ("despatch", "auditprogram", "GMP walk (No. 1)"),
        ("packing", "jobdescription", "Packer (No. 1)"),
    ):
        assert search_results(client, text) == {key: [name]}, text
    rows = client.get(list_address(Complaint), {"q": "sieve"}).context["cl"].result_list
    assert [row.pk for row in rows] == [complaint.pk]


def test_every_text_of_materials_items_jobs_customers_and_sources_is_found(site: Site) -> None:
    complaint = make_complaint(
        site, source_details="Phoned the hotline", sample_details="Half a loaf", consumer_purchased="Harbour market"
    )
    make_material(site, name="T550", description="Stone-ground wheat")
    make_item(site, name="Scale", notes="Wobbles on the left foot")
    texts = {
        "purpose": "Keeps the line running",
        "responsibilities": "Greases bearings",
        "authority": "Stops machines",
        "qualifications": "Fitter certificate",
        "experience": "Three years of baking",
    }
    make.make_job_description(site, name="Fitter", **texts)
    make_customer(site, name="Harbour Foods", postal_address_city="Bremerhaven", note="Delivers before dawn")
    client = browser(site)
    for text, key, name in (
        ("hotline", "complaint", str(complaint)),
        ("half a", "complaint", str(complaint)),
        ("market", "complaint", str(complaint)),
        ("stone-ground", "material", "T550 (No. 1)"),
        ("wobbles", "item", "Scale (No. 1)"),
        *((text, "jobdescription", "Fitter (No. 1)") for text in texts.values()),
        ("bremerhaven", "customer", "Harbour Foods (No. 2)"),
        ("dawn", "customer", "Harbour Foods (No. 2)"),
    ):
        assert search_results(client, text) == {key: [name]}, text
        model = next(kind.model for kind in KINDS if kind.key == key)
        assert len(client.get(list_address(model), {"q": text}).context["cl"].result_list) == 1, text


def test_products_and_kinds_of_fault_are_found_and_lead_to_their_complaints(site: Site, other_site: Site) -> None:
    rye = make_entry(Product, site, "Rye loaf 500 g", code="P017")
    make_entry(Product, other_site, "Rye loaf 500 g")
    metal = make_entry(Nonconformance, site, "Foreign body: metal")
    complaint = make_complaint(site, product=rye, nonconformance=metal)
    client = browser(site, DefaultRole.READER)
    for text in ("rye", "loaf 500", "p017"):
        assert search_results(client, text) == {"product": ["Rye loaf 500 g"]}, text
    assert search_results(client, "metal") == {"nonconformance": ["Foreign body: metal"]}
    [group] = client.get(reverse("admin:search"), {"q": "rye"}).context["groups"]
    assert str(complaint) in client.get(group.hits[0].url).content.decode()


def test_lists_are_searched_by_the_type_of_employment_and_the_category_that_they_show(site: Site) -> None:
    agency = make.make_employee(site, nature_of_employment=make.nature("Agency"))
    make.make_employee(site)
    flour = make_material(site, name="T550", material_category=make_category(site, "Flour"))
    make_material(site, name="Film", material_category=make_category(site, "Packaging"))
    client = browser(site)
    for record, text in ((agency, "agenc"), (flour, "flour")):
        rows = client.get(list_address(type(record)), {"q": text}).context["cl"].result_list
        assert [row.pk for row in rows] == [record.pk], text
