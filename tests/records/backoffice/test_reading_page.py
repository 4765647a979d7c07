"""The page that a record opens with: what it says, what belongs to it, and the way to its form."""

import re
from typing import Any

import pytest
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.actions.models import Action
from records.backoffice.about import address_of
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.reference.models import Product
from tests import make
from tests.make import audits as make_audits
from tests.make.actions import make_action
from tests.make.backoffice import address, browser, form_of, list_address, sign_in
from tests.make.complaints import make_complaint, make_draft, make_entry
from tests.make.documents import make_document

pytestmark = pytest.mark.django_db


def text_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_a_list_leads_to_the_reading_page_with_status_edit_and_no_form_boxes(site: Any) -> None:
    complaint = make_complaint(site, trace_number="L-77", complaint_description="Metal in the loaf")
    client = browser(site)
    assert f'href="{address(complaint, "read")}"' in text_of(client.get(list_address(Complaint)))
    text = text_of(client.get(address(complaint, "read")))
    assert "Metal in the loaf" in text
    assert "L-77" in text
    assert 'class="tag tone-warn">Awaiting Review<' in text
    assert f'href="{address(complaint)}" class="button edit"' in text
    assert "<textarea" not in text
    assert "Not filled in:" in text


def test_edit_is_offered_only_to_those_who_may_and_private_fields_stay_hidden(site: Any) -> None:
    complaint = make_complaint(site, consumer_last_name="Secretname")
    text = text_of(browser(site, DefaultRole.READER).get(address(complaint, "read")))
    assert "Secretname" not in text
    assert "button default edit" not in text
    assert "Newest changes" not in text
    assert "Secretname" in text_of(browser(site, DefaultRole.STANDARD).get(address(complaint, "read")))


def test_the_newest_changes_say_what_was_done_and_name_the_fields_that_have_a_value(site: Any) -> None:
    client = browser(site)
    add = reverse("admin:customers_customer_add")
    client.post(add, {**form_of(client.get(add)), "name": "Oakfield Stores"})
    text = text_of(client.get(address(Customer.objects.get(), "read")))
    newest = text.partition('id="recent-title"')[2].partition("</section>")[0]
    assert re.search(r"<li>[^<]* · [^<]+ · Added · Number, Name</li>", newest), newest


def test_a_product_and_a_customer_lead_to_their_complaints(site: Any) -> None:
    complaint = make_complaint(site)
    client = browser(site)
    assert complaint.product is not None
    assert complaint.customer is not None
    for target, field in ((complaint.product, "product"), (complaint.customer, "customer")):
        text = text_of(client.get(address(target, "read")))
        assert address(complaint, "read") in text
        link = f"{list_address(Complaint)}?{field}__id__exact={target.pk}"
        assert link in text
        assert address(complaint, "read") in text_of(client.get(link))


def test_related_records_of_kinds_or_sites_that_the_user_may_not_see_are_left_out(site: Any) -> None:
    product = make_entry(Product, site)
    make_complaint(site, product=product)
    stranger = make.make_user(site=site, role=None)
    make.make_role(site, ["reference.view_product"], [stranger])
    text = text_of(sign_in(stranger, site).get(address(product, "read")))
    assert "related-complaint" not in text


def test_an_audit_shows_its_findings_as_a_table_and_a_program_its_audits(site: Any) -> None:
    program = make_audits.make_program(site)
    audit = make_audits.start(make_audits.make_audit(program))
    client = browser(site)
    text = text_of(client.get(address(audit, "read")))
    for finding in audit.findings.all():
        assert finding.question in text
    assert address(audit, "read") in text_of(client.get(address(program, "read")))


def test_a_draft_an_employee_and_a_document_open_as_well(site: Any) -> None:
    client = browser(site)
    for record in (make_draft(site), make.make_employee(site), make_document(site)):
        assert address(record) in text_of(client.get(address(record, "read")))


def test_a_judgment_that_nobody_has_made_is_not_shown_as_an_answer(site: Any) -> None:
    page = browser(site).get(address(make_action(site), "read"))
    assert "it worked" in map(str.lower, map(str, page.context["left_empty"]))
    assert "icon-unknown" not in page.content.decode()


def test_a_record_of_another_site_is_not_found(site: Any, other_site: Any) -> None:
    elsewhere = make_complaint(other_site)
    assert browser(site).get(address(elsewhere, "read")).status_code == 404
    assert browser(site).get(reverse("admin:complaints_complaint_read", args=(site.pk,))).status_code == 404


def test_a_reading_page_costs_a_fixed_number_of_queries(site: Any, django_assert_max_num_queries: Any) -> None:
    customer = make_complaint(site).customer
    for _ in range(8):
        make_complaint(site, customer=customer)
    client = browser(site)
    client.get(address(customer, "read"))
    with django_assert_max_num_queries(40):
        text_of(client.get(address(customer, "read")))


def test_a_reading_page_costs_no_query_for_each_account_of_the_site_that_it_names(
    site: Any, django_assert_max_num_queries: Any
) -> None:
    people = [make.make_user(site=site, role=DefaultRole.MANAGER) for _ in range(3)]
    action, client = make_action(site, owner=people[0]), sign_in(people[0], site)
    counts = []
    for owner, done_by, closed_by in ([people[0]] * 3, people):
        Action.objects.filter(pk=action.pk).update(owner=owner, done_by=done_by, closed_by=closed_by)
        client.get(address(action, "read"))
        with django_assert_max_num_queries(40) as queries:
            assert address_of(closed_by) in text_of(client.get(address(action, "read")))
        counts.append(len(queries))
    assert counts[0] == counts[1]
