"""The back-office pages of complaints: draft, submit, complete, reopen, and who may do it."""

from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from records.accounts.models import DefaultRole
from records.backoffice.filter_bar import chips
from records.complaints.admin import SUBMIT_TOO, ComplaintAdmin
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.history.models import Change
from records.reference.models import Product
from records.sites.models import Site
from tests import make
from tests.make.backoffice import address, browser, form_of, list_address, press
from tests.make.complaints import make_complaint, make_completed, make_draft, make_entry, required_of
from tests.make.customers import make_customer

ADD = reverse("admin:complaints_complaint_add")


def step(client: Client, complaint: Complaint, name: str, **data: Any) -> Any:
    return press(client, reverse("admin:complaints_complaint_step", args=(complaint.pk, name)), {"sent": "1", **data})


def save(client: Client, complaint: Complaint, **changes: Any) -> Any:
    return client.post(address(complaint), {**form_of(client.get(address(complaint))), **changes})


def buttons(response: Any) -> list[str]:
    return [entry["name"] for entry in response.context["record_steps"]]


def add(client: Client, site: Site, **fields: Any) -> Any:
    required = {name: str(target.pk) for name, target in required_of(site).items()}
    return client.post(ADD, {**form_of(client.get(ADD)), **required, **fields})


def test_a_new_complaint_is_a_draft_and_takes_its_number_when_it_is_submitted(site: Site) -> None:
    client = browser(site, DefaultRole.STANDARD)
    assert add(client, site, date="2024-05-31T08:30", trace_number="L1").status_code == 302
    draft = Complaint.objects.get()
    assert (draft.record_status, draft.site_sequence_id, draft.trace_number) == ("Draft", None, "L1")
    page = client.get(address(draft))
    assert buttons(page) == ["submit"]
    assert "review_report" not in form_of(page)
    assert save(client, draft, quantity="2.5").status_code == 302, "A draft's change needs no reason."
    assert step(client, draft, "submit").status_code == 302
    draft.refresh_from_db()
    assert (draft.record_status, draft.site_sequence_id, str(draft.quantity)) == ("Awaiting Review", 1, "2.5000")
    operations = Change.objects.filter(record_id=draft.pk).order_by("number").values_list("operation", "channel")
    assert list(operations) == [
        ("AddComplaintDraft", "Back-office"),
        ("UpdateComplaintDraft", "Back-office"),
        ("SubmitComplaint", "Back-office"),
    ]
    again = step(client, draft, "submit")
    assert (again.status_code, "is no longer possible" in again.content.decode()) == (200, True)
    assert Complaint.objects.get().site_sequence_id == 1


def test_a_new_complaint_can_be_saved_and_submitted_at_once(site: Site) -> None:
    client = browser(site, DefaultRole.STANDARD)
    assert b'name="_submit"' in client.get(ADD).content
    assert add(client, site, _submit="1").status_code == 302
    complaint = Complaint.objects.get()
    assert (complaint.record_status, complaint.site_sequence_id) == ("Awaiting Review", 1)
    assert complaint.date is not None
    answer = add(client, site, _submit="1", product="")
    assert answer.status_code == 200
    assert "This field is required." in answer.content.decode()
    assert Complaint.objects.count() == 1


def test_what_is_known_so_far_is_kept_as_a_draft_and_not_submitted(site: Site) -> None:
    client = browser(site, DefaultRole.STANDARD)

    data = {**form_of(client.get(ADD)), "trace_number": "L7"}
    answer = client.post(ADD, {**data, SUBMIT_TOO: "1"})
    assert set(answer.context["adminform"].form.errors) == {"customer", "product", "nonconformance"}
    assert not Complaint.objects.exists()
    assert client.post(ADD, data).status_code == 302
    draft = Complaint.objects.get()
    assert (draft.record_status, draft.trace_number, draft.customer) == ("Draft", "L7", None)


def test_submitting_an_unfinished_draft_says_what_is_missing(site: Site) -> None:
    draft = make_draft(site)
    client = browser(site, DefaultRole.STANDARD)
    form = client.get(address(draft)).text
    response = step(client, draft, "submit")
    assert response.status_code == 200
    page = response.content.decode()
    for name in ("Customer", "Product", "Nonconformance"):
        link = f'<a href="{address(draft)}#id_{name.lower()}">{name}</a>'
        assert f"{link}: This field is required." in page
        assert f'id="id_{name.lower()}"' in form
    assert Complaint.objects.get().is_draft


def test_a_manager_completes_with_a_report_and_reopens_with_a_reason(site: Site) -> None:
    complaint = make_complaint(site)
    client = browser(site)
    assert buttons(client.get(address(complaint))) == ["triage", "complete", "archive"]
    assert step(client, complaint, "complete", review_report=" ").status_code == 200
    assert step(client, complaint, "complete", review_report="Blade replaced.\r\nStaff told.").status_code == 302
    complaint.refresh_from_db()
    assert (complaint.record_status, complaint.review_report) == ("Completed", "Blade replaced.\nStaff told.")
    assert buttons(client.get(address(complaint))) == ["reopen", "archive"]
    assert step(client, complaint, "reopen", change_reason="").status_code == 200
    assert step(client, complaint, "reopen", change_reason="New facts").status_code == 302
    complaint.refresh_from_db()
    assert complaint.record_status == "Awaiting Review"
    form = client.get(reverse("admin:complaints_complaint_step", args=(complaint.pk, "complete")))
    assert "Blade replaced." in form.content.decode()


def test_a_standard_user_neither_completes_nor_changes_a_completed_complaint(site: Site) -> None:
    waiting, complete = make_complaint(site), make_completed(site)
    client = browser(site, DefaultRole.STANDARD)
    assert buttons(client.get(address(waiting))) == ["triage"]
    assert step(client, waiting, "complete", review_report="x").status_code == 403
    assert "review_report" not in form_of(client.get(address(waiting)))
    data = {**form_of(client.get(address(waiting))), "review_report": "x", "trace_number": "L2", "change_reason": "y"}
    assert client.post(address(waiting), data).status_code == 302
    waiting.refresh_from_db()
    assert (waiting.review_report, waiting.trace_number) == ("", "L2")
    page = client.get(address(complete))
    assert page.status_code == 200
    assert "Metal detector checked." in page.content.decode()
    assert 'name="trace_number"' not in page.content.decode()
    # The form was open when somebody completed the complaint: it is shown again, and nothing is stored.
    late_data = {**form_of(browser(site).get(address(complete))), "trace_number": "L3", "change_reason": "Lot found"}
    assert client.post(address(complete), late_data).status_code == 200
    complete.refresh_from_db()
    assert complete.trace_number == ""
    for name in ("reopen", "archive"):
        assert step(client, complete, name, change_reason="x").status_code == 403
    assert save(browser(site), complete, trace_number="L3", change_reason="Lot found").status_code == 302


def test_the_status_cannot_be_set_by_the_form(site: Site) -> None:
    complaint = make_complaint(site)
    save(browser(site), complaint, record_status="Completed", trace_number="L2", change_reason="x")
    complaint.refresh_from_db()
    assert (complaint.record_status, complaint.trace_number) == ("Awaiting Review", "L2")


def test_saving_an_untouched_complaint_changes_nothing(site: Site) -> None:
    complaint = make_complaint(site, consumer_address="a\nb", quantity=3, complaint_description="x\ny")
    Site.objects.filter(pk=site.pk).update(time_zone="America/New_York")
    assert save(browser(site), complaint).status_code == 302
    stored_complaint = Complaint.objects.get()
    assert (stored_complaint.revision, stored_complaint.date) == (1, complaint.date)
    assert Change.objects.filter(record_id=complaint.pk).count() == 1


def test_drafts_stand_first_in_the_list(site: Site) -> None:
    complaint, draft = make_complaint(site), make_draft(site, trace_number="L9")
    rows = browser(site).get(list_address(Complaint)).context["cl"].result_list
    assert [row.pk for row in rows] == [draft.pk, complaint.pk]


def test_the_lists_total_counts_drafts_too(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ComplaintAdmin, "list_per_page", 2)
    for _ in range(3):
        make_complaint(site)
    make_draft(site)
    duplicate, client = make_draft(site), browser(site)

    def total(query: str = "") -> Any:
        return client.get(list_address(Complaint) + query).context["cl"].total

    assert total() == 5
    step(client, duplicate, "archive", change_reason="Sent twice")
    assert (total(), total("?archived=all"), total("?archived=yes")) == (4, 5, 1)
    page = client.get(list_address(Complaint)).content.decode()
    assert 'tone-quiet">Draft</span>' in page


def test_a_list_says_what_a_link_narrowed_it_to_and_names_nothing_of_other_sites(site: Site, other_site: Site) -> None:
    rye, foreign = make_entry(Product, site, "Rye loaf"), make_entry(Product, other_site, "Secret loaf")
    author = make.make_user(site=site, display_name="Secret Author")
    make_complaint(site)
    client = browser(site)

    def list_of_query(query: str) -> list[str]:
        page = client.get(f"{list_address(Complaint)}?{query}")
        assert page.status_code == 200
        assert "Secret" not in page.content.decode()
        return [chip["text"] for chip in chips(page.context["cl"])]

    both = f"product__id__exact={rye.pk}&record_status__in=Awaiting+Review,Completed&date__since=2024-01-01"
    assert list_of_query(both) == ["Date: 2024-01-01 to …", "Product: Rye loaf", "Status: Awaiting Review or Completed"]
    assert list_of_query("record_status__exact=Draft&archived=all&q=x") == [
        "Search: “x”",
        "Active or archived: All",
        "Status: Draft",
    ]
    assert list_of_query(f"product__id__exact={foreign.pk}") == ["Product: nothing at this site"]
    assert list_of_query(f"created_by__id__exact={author.pk}") == ["Created by: nothing at this site"]


def test_a_quantity_is_shown_without_the_zeros_of_its_column(site: Site) -> None:
    complaint = make_complaint(site, quantity=Decimal(100))
    assert form_of(browser(site).get(address(complaint)))["quantity"] == ["100"]
    read_only = browser(site, DefaultRole.READER).get(address(complaint)).content.decode()
    assert ">100<" in read_only
    assert "100.0" not in read_only


def test_archiving_what_complaints_use_says_by_whom(site: Site, other_site: Site) -> None:
    complaint = make_complaint(site)
    for _ in range(4):
        make_complaint(
            site, customer=complaint.customer, product=complaint.product, nonconformance=complaint.nonconformance
        )
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    for target in (complaint.customer, complaint.product):
        assert target is not None
        label = f"{target._meta.app_label}_{target._meta.model_name}"
        page = client.get(reverse(f"admin:{label}_step", args=(target.pk, "archive"))).content.decode()
        assert "Used by 5 complaints (Complaint 1, Complaint 2, Complaint 3, …)." in page
    customer = make_customer(site)
    page = client.get(reverse("admin:customers_customer_step", args=(customer.pk, "archive"))).content.decode()
    assert "Used by" not in page


@pytest.mark.django_db
def test_the_form_and_its_choices_cost_the_same_beside_thousands(site: Site) -> None:
    complaint = make_complaint(site)
    client = browser(site)

    def cost(path: str, query: dict[str, str] | None = None) -> tuple[int, Any]:
        client.get(path, query or {})  # What is remembered for a short time is read now.
        with CaptureQueriesContext(connection) as queries:
            answer = client.get(path, query or {})
        assert answer.status_code == 200
        return len(queries), answer

    def choices(field: str, text: str) -> dict[str, str]:
        return {"field": f"complaints.complaint.{field}", "site": str(site.pk), "q": text}

    pages: list[tuple[str, dict[str, str] | None]] = [
        (address(complaint), None),
        (ADD, None),
        (reverse("admin:choose"), choices("customer", "cust")),
        (reverse("admin:choose"), choices("product", "prod")),
        (reverse("admin:choose"), choices("customer", "")),
    ]
    before = [cost(*page)[0] for page in pages]
    Customer.objects.bulk_create(
        Customer(site=site, name=f"Customer of old {number}", site_sequence_id=1000 + number) for number in range(1000)
    )
    Product.objects.bulk_create(Product(site=site, name=f"Product of old {number}") for number in range(1000))
    assert [cost(*page)[0] for page in pages] == before
    assert max(before) <= 20
    _, answer = cost(reverse("admin:choose"), choices("customer", "customer OF old 9"))
    assert len(answer.json()["results"]) == 30
    assert answer.json()["more"]
    make_entry(Product, site, "Heel of rye")
    _, inside = cost(reverse("admin:choose"), choices("product", "rye"))
    assert [row["text"] for row in inside.json()["results"]] == ["Heel of rye"]
