"""Legal holds: set by Managers, lifted by Site Administrators, told by the history, and obeyed by erasing."""

from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from documents.models import Document
from records.accounts.models import DefaultRole
from records.backoffice.about import link_to
from records.complaints.erasure import erase_consumer
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.history.models import Change
from records.history.verification import verify
from records.retention.actions import lift_hold, on_hold_since, set_hold
from records.retention.models import SET_HOLD
from records.retention.pages import PAGE
from records.sites.models import Site
from records.sites.writing import RecordNotFoundError
from tests import make
from tests.make.backoffice import address, browser, form_of, press
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.documents import make_document, make_signer

REFUSAL = "This complaint is on legal hold, so no part of it may be erased. A Site Administrator can lift the hold."


@pytest.fixture
def complaint(site: Site) -> Complaint:
    """Return a complaint of a consumer."""
    return make_complaint(site, consumer_last_name="Przybylski")


def hold_address(record: Any, name: str) -> str:
    """Return the address of the page that sets or lifts a hold."""
    return reverse("admin:retention_hold", args=(name, record.ENTITY.value, record.pk))


def hold(client: Client, record: Any, name: str, reason: str = "Court case 12") -> Any:
    """Set or lift a record's hold."""
    return press(client, hold_address(record, name), {"change_reason": reason})


def erase(client: Client, record: Complaint, reason: str = "Asked by letter") -> Any:
    """Press the button that erases a consumer."""
    url = reverse("admin:complaints_complaint_step", args=(record.pk, "erase-consumer"))
    return press(client, url, {"change_reason": reason})


def name_of(complaint: Complaint) -> str:
    """Return the consumer's name as it is stored now."""
    complaint.refresh_from_db()
    return complaint.consumer_last_name


def test_a_manager_sets_a_hold_and_a_site_administrator_lifts_it(site: Site, complaint: Complaint) -> None:
    manager, administrator = browser(site), browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert hold(manager, complaint, "set", reason=" ").status_code == 200
    assert on_hold_since(complaint) is None
    assert hold(manager, complaint, "set").status_code == 302
    page = manager.get(address(complaint, "read")).text
    assert "On legal hold since" in page
    assert hold_address(complaint, "set") not in page
    assert hold_address(complaint, "lift") not in page
    assert hold(manager, complaint, "lift").status_code == 403
    assert hold_address(complaint, "lift") in administrator.get(address(complaint, "read")).text
    assert hold(administrator, complaint, "lift", reason="Case closed").status_code == 302
    assert "On legal hold" not in administrator.get(address(complaint, "read")).text
    changes = Change.objects.filter(record_id=complaint.pk, operation__endswith="LegalHold").order_by("number")
    assert [(one.operation, one.reason) for one in changes] == [
        ("SetLegalHold", "Court case 12"),
        ("LiftLegalHold", "Case closed"),
    ]
    assert "Legal hold" in manager.get(address(complaint, "history")).text
    assert not verify().faults


def test_standard_users_see_a_hold_and_cannot_set_one(site: Site, complaint: Complaint) -> None:
    client = browser(site, DefaultRole.STANDARD)
    assert hold_address(complaint, "set") not in client.get(address(complaint, "read")).text
    assert hold(client, complaint, "set").status_code == 403
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    assert "On legal hold since" in client.get(address(complaint, "read")).text


def test_any_kind_of_record_can_be_held(site: Site) -> None:
    employee = make.make_employee(site)
    client = browser(site)
    assert hold(client, employee, "set").status_code == 302
    assert "On legal hold since" in client.get(address(employee, "read")).text
    assert "On legal hold since" in client.get(address(employee)).text


def test_a_hold_refuses_erasing_through_every_door(site: Site, complaint: Complaint) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    hold(client, complaint, "set")
    before = Change.objects.count()
    with pytest.raises(ValidationError, match="on legal hold"):
        erase_consumer(site.pk, complaint.pk, author=make.SYSTEM, reason="Asked")
    answer = erase(client, complaint)
    assert answer.status_code == 200
    assert REFUSAL in answer.text
    assert (name_of(complaint), Change.objects.count()) == ("Przybylski", before)
    hold(client, complaint, "lift")
    assert erase(client, complaint).status_code == 302
    assert name_of(complaint).startswith("erased-")
    assert not verify().faults


@pytest.mark.parametrize(
    ("make_subject", "name", "label"),
    [
        (make_complaint, "erase-consumer", "Erase the consumer"),
        (make_customer, "erase-contact", "Erase a contact"),
        (partial(make.make_employee, is_archived=True), "erase-private-facts", "Erase private facts"),
    ],
)
def test_the_pages_of_a_held_record_say_why_it_cannot_be_erased_instead_of_offering_it(
    site: Site, make_subject: Any, name: str, label: str
) -> None:
    record = make_subject(site)
    client, manager = browser(site, DefaultRole.SITE_ADMINISTRATOR), browser(site)
    url = reverse(f"admin:{record._meta.label_lower.replace('.', '_')}_step", args=(record.pk, name))
    pages = (address(record), address(record, "read"))
    assert all(url in client.get(page).text for page in pages)
    set_hold(type(record), site.pk, record.pk, author=make.SYSTEM, reason="Court")
    refusal = f"This {record._meta.verbose_name} is on legal hold, so no part of it may be erased."
    for page in pages:
        text = client.get(page).text
        assert url not in text
        assert f"“{label}” is not possible now. {refusal} A Site Administrator can lift the hold." in text
        assert label not in manager.get(page).text
    answer = client.get(url, follow=True)
    assert answer.redirect_chain == [(address(record, "read"), 302)]
    assert [str(message) for message in answer.context["messages"]] == [
        f"{refusal} A Site Administrator can lift the hold."
    ]


def test_a_hold_that_is_set_while_the_page_is_open_refuses_and_keeps_what_was_typed(
    site: Site, complaint: Complaint
) -> None:
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    url = reverse("admin:complaints_complaint_step", args=(complaint.pk, "erase-consumer"))
    form = form_of(client.get(url))
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    page = client.post(url, {**form, "change_reason": "Asked by letter"})
    assert REFUSAL in page.text
    assert form_of(page)["change_reason"] == ["Asked by letter"]


def test_only_a_site_administrator_erases_with_a_reason_that_does_not_name_the_consumer(
    site: Site, complaint: Complaint
) -> None:
    assert erase(browser(site), complaint).status_code == 403
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert erase(client, complaint, reason="").status_code == 200
    answer = erase(client, complaint, reason="PRZYBYLSKI wrote to us")
    assert "must not say what is erased" in answer.text
    assert name_of(complaint) == "Przybylski"
    assert erase(client, complaint).status_code == 302
    assert name_of(complaint).startswith("erased-")
    assert client.get(address(complaint, "read")).status_code == 200


def test_repeating_is_refused_and_changes_nothing(site: Site, complaint: Complaint) -> None:
    with pytest.raises(ValidationError, match="not on legal hold"):
        lift_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Over")
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    before = Change.objects.filter(record_id=complaint.pk).count()
    assert "already on legal hold" in hold(browser(site), complaint, "set").text
    assert Change.objects.filter(record_id=complaint.pk).count() == before


def test_a_record_of_another_site_does_not_exist(site: Site, other_site: Site, complaint: Complaint) -> None:
    stranger = browser(other_site, DefaultRole.SITE_ADMINISTRATOR)
    for name in ("set", "lift"):
        assert stranger.get(hold_address(complaint, name)).status_code == 404
        assert hold(stranger, complaint, name).status_code == 404
    assert erase(stranger, complaint).status_code == 404
    assert browser(site).get(f"/admin/retention/hold/keep/complaint/{complaint.pk}/").status_code == 404
    assert browser(site).get(f"/admin/retention/hold/set/nothing/{complaint.pk}/").status_code == 404
    with pytest.raises(RecordNotFoundError):
        set_hold(Complaint, other_site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    assert on_hold_since(complaint) is None


def test_a_hold_on_an_archived_record_stays(site: Site, complaint: Complaint) -> None:
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court")
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    archive = reverse("admin:complaints_complaint_step", args=(complaint.pk, "archive"))
    assert press(client, archive, {"change_reason": "Old"}).status_code == 302
    assert REFUSAL in erase(client, complaint).text


# --- The list of holds --------------------------------------------------------------------------------------------

HOLDS = "/admin/retention/holds/"


def test_managers_see_the_holds_that_last_at_their_site(site: Site, other_site: Site, complaint: Complaint) -> None:
    customer, elsewhere = make_customer(site, name="Oakfield Stores"), make_complaint(other_site)
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court case 12")
    set_hold(Customer, site.pk, customer.pk, author=make.SYSTEM, reason="Recall")
    set_hold(Complaint, other_site.pk, elsewhere.pk, author=make.SYSTEM, reason="Elsewhere")
    client = browser(site)
    page = client.get(HOLDS)
    assert [line["hold"].reason for line in page.context["lines"]] == ["Recall", "Court case 12"]
    assert address(customer, "read") in page.text
    assert "Lift" not in page.text
    lift_hold(Customer, site.pk, customer.pk, author=make.SYSTEM, reason="Over")
    page = browser(site, DefaultRole.SITE_ADMINISTRATOR).get(HOLDS)
    assert [line["hold"].reason for line in page.context["lines"]] == ["Court case 12"]
    assert hold_address(complaint, "lift") in page.text
    assert HOLDS in client.get("/admin/").text


def test_a_hold_on_a_document_that_does_not_exist_for_somebody_is_not_listed(site: Site) -> None:
    pending = make_document(site, name="Secret recipe", user_to_review=[make_signer(site)])
    visible = make_document(site, name="Hygiene rules")
    for document in (pending, visible):
        set_hold(Document, site.pk, document.pk, author=make.SYSTEM, reason="Court case 12")
    user = make.make_user(site=site)
    make.make_role(site, [SET_HOLD, "documents.view_document"], [user])
    page = browser(site, user=user).get(HOLDS)
    assert [str(line["link"]) for line in page.context["lines"]] == [str(link_to(visible))]
    assert "Secret recipe" not in page.text
    assert "Secret recipe" in browser(site).get(HOLDS).text


def test_the_list_of_holds_is_for_those_who_set_them_and_says_that_it_is_empty(site: Site) -> None:
    standard = browser(site, DefaultRole.STANDARD)
    assert standard.get(HOLDS).status_code == 403
    assert HOLDS not in standard.get("/admin/").text
    text = browser(site).get(HOLDS).text
    assert "No record of this site is on legal hold. To set a hold, use “Set legal hold” on the record's page." in text


def test_the_list_of_holds_has_pages_and_costs_a_fixed_number_of_queries(site: Site, complaint: Complaint) -> None:
    client = browser(site)
    set_hold(Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court")

    def query_count(path: str = HOLDS) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get(path).status_code == 200
        return len(queries)

    client.get(HOLDS)
    few = query_count()
    for _ in range(PAGE):
        other = make_complaint(
            site, customer=complaint.customer, product=complaint.product, nonconformance=complaint.nonconformance
        )
        set_hold(Complaint, site.pk, other.pk, author=make.SYSTEM, reason="Recall")
    assert query_count() == few
    assert "Page 2 of 2" in client.get(f"{HOLDS}?page=2").text


@pytest.mark.django_db(transaction=True)
def test_a_hold_and_an_erasure_that_meet_leave_one_of_two_orders() -> None:
    """Either the hold came first and nothing was erased, or the erasure did and the hold came after it."""
    site = make.make_site()
    for _ in range(4):
        complaint = make_complaint(site, consumer_last_name="Przybylski")
        hold_result, erasure = make.at_once(
            partial(set_hold, Complaint, site.pk, complaint.pk, author=make.SYSTEM, reason="Court"),
            partial(erase_consumer, site.pk, complaint.pk, author=make.SYSTEM, reason="Asked"),
        )
        assert isinstance(hold_result, Complaint)
        operations = Change.objects.filter(record_id=complaint.pk).order_by("number")
        names = list(operations.values_list("operation", flat=True))
        if isinstance(erasure, Complaint):
            assert names[-2:] == ["EraseConsumer", "SetLegalHold"]
            assert name_of(complaint).startswith("erased-")
        else:
            assert "on legal hold" in str(erasure)
            assert names[-1] == "SetLegalHold"
            assert name_of(complaint) == "Przybylski"
    assert not verify().faults
