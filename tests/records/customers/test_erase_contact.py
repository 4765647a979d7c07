"""Erasing a contact of a customer: gone from the record and its history, and the chain still proves."""

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import models
from django.urls import reverse
from django.utils import translation

from records.accounts.models import DefaultRole
from records.customers.actions import update_customer
from records.customers.erasure import contacts_of, erase_contact
from records.customers.models import Customer, PartyContact
from records.history.models import Change
from records.history.verification import verify
from records.retention.actions import lift_hold, set_hold
from records.sites.models import Site
from records.sites.writing import RecordNotFoundError
from tests import make
from tests.make.backoffice import address, browser, form_of, press
from tests.make.customers import make_customer

JANE = {
    "first_name": "Wilhelmina",
    "last_name": "Przybylski",
    "position": "Buyer",
    "email": "wilhelmina@example.com",
    "phone": "555-0100",
}
SECRETS = ("wilhelmina", "przybylski", "555-0100", "555-0199", "kowalska")


def change(customer: Customer, contacts: list[dict[str, Any]], reason: str = "") -> None:
    """Give the customer these contacts."""
    update_customer(customer.site_id, customer.pk, {"party_contacts": contacts}, author=make.SYSTEM, reason=reason)


@pytest.fixture
def customer(site: Site) -> Customer:
    """Return a customer with two contacts, of whom the first was renamed and has another phone now."""
    record = make_customer(site, party_contacts=[JANE, {"first_name": "Ole", "last_name": "Olsen"}])
    jane, ole = record.party_contacts.all()
    contacts: list[dict[str, Any]] = [
        {**JANE, "id": jane.pk, "last_name": "Kowalska", "phone": "555-0199"},
        {"id": ole.pk},
    ]
    change(record, contacts, reason="Mrs PRZYBYLSKI married")
    return record


def jane_of(customer: Customer) -> PartyContact:
    """Return the customer's first contact."""
    contact = customer.party_contacts.order_by("idx").first()
    assert contact is not None
    return contact


def erase(customer: Customer, key: Any, reason: str = "Asked by letter") -> Customer:
    """Erase a contact."""
    return erase_contact(customer.site_id, customer.pk, str(key), author=make.SYSTEM, reason=reason)


def everything() -> str:
    """Return all that the database holds of customers, contacts and changes."""
    tables = (Customer, PartyContact, Change)
    rows = [list(model._base_manager.values()) for model in tables]
    return json.dumps(rows, default=str, ensure_ascii=False).casefold()


def test_nothing_of_the_contact_is_left_and_the_chain_verifies(customer: Customer) -> None:
    assert all(secret in everything() for secret in SECRETS)
    erase(customer, jane_of(customer).pk)
    assert not any(secret in everything() for secret in SECRETS)
    assert not verify().faults
    jane = jane_of(customer)
    jane.full_clean()
    assert (jane.position, jane.first_name[:7]) == ("Buyer", "erased-")
    assert "olsen" in everything()
    erasure = Change.objects.filter(record_id=customer.pk).latest("number")
    assert (erasure.operation, erasure.reason) == ("EraseContact", "Asked by letter")


@pytest.mark.parametrize("first", ["nothing", "a change", "its removal"])
def test_a_form_that_was_open_during_the_erasure_does_not_bring_the_contact_back(
    site: Site, customer: Customer, first: str
) -> None:
    jane, ole = customer.party_contacts.all()
    client = browser(site)
    form = form_of(client.get(address(customer)))
    contacts: dict[str, list[dict[str, Any]]] = {
        "a change": [{"id": jane.pk, "email": "kowalska@example.com"}, {"id": ole.pk}],
        "its removal": [{"id": ole.pk}],
    }
    if first in contacts:
        change(customer, contacts[first], reason="News")
    erase(customer, jane.pk)
    answer = client.post(address(customer), {**form, "code": "K-7", "change_reason": "The code is known"})
    assert answer.status_code == 200
    again = form_of(answer)
    assert [secret for secret in SECRETS if secret in str(again).casefold()] == []
    assert "Olsen" in str(again)
    assert client.post(address(customer), {**again, "change_reason": "The code is known"}).status_code == 302
    assert [secret for secret in SECRETS if secret in everything()] == []
    customer.refresh_from_db()
    assert (customer.code, customer.party_contacts.count()) == ("K-7", 1 if first == "its removal" else 2)
    assert not verify().faults


def test_a_contact_that_was_removed_is_erased_from_the_history(customer: Customer) -> None:
    key = jane_of(customer).pk
    change(customer, [])
    assert str(key) in dict(contacts_of(customer))
    erase(customer, key)
    assert not any(secret in everything() for secret in SECRETS)
    assert [label for _, label in contacts_of(customer)] == ["Ole Olsen (removed from the customer)"]
    assert not verify().faults


def test_repeating_it_changes_nothing_and_later_changes_verify(customer: Customer) -> None:
    key = jane_of(customer).pk
    erase(customer, key)
    before = Change.objects.count()
    with pytest.raises(ValidationError, match="There is nothing to erase"):
        erase(customer, key)
    assert Change.objects.count() == before
    change(customer, [{"id": key, "position": "Head of purchasing"}])
    assert not verify().faults
    change(customer, [])
    assert not verify().faults
    with pytest.raises(ValidationError, match="There is nothing to erase"):
        erase(customer, key, reason="Once more")
    assert not verify().faults


def test_an_archived_customer_can_be_erased_from_and_a_held_one_cannot(site: Site, customer: Customer) -> None:
    make.archive(customer, reason="Closed")
    set_hold(Customer, site.pk, customer.pk, author=make.SYSTEM, reason="Court")
    with pytest.raises(ValidationError, match="on legal hold"):
        erase(customer, jane_of(customer).pk)
    lift_hold(Customer, site.pk, customer.pk, author=make.SYSTEM, reason="Over")
    erase(customer, jane_of(customer).pk)
    assert "kowalska" not in everything()


def test_another_site_a_stranger_and_a_telling_reason_are_refused(
    site: Site, other_site: Site, customer: Customer
) -> None:
    jane = jane_of(customer)
    stranger = jane_of(make_customer(site, party_contacts=[JANE]))
    with pytest.raises(RecordNotFoundError):
        erase_contact(other_site.pk, customer.pk, str(jane.pk), author=make.SYSTEM, reason="Asked")
    with pytest.raises(ValidationError, match="does not have this contact"):
        erase(customer, stranger.pk)
    with pytest.raises(ValidationError, match="must not say"):
        erase(customer, jane.pk, reason="Wilhelmina wrote to us")
    assert jane_of(customer).last_name == "Kowalska"


def test_a_note_that_names_the_contact_is_named_and_erased_only_if_asked(site: Site, customer: Customer) -> None:
    update_customer(site.pk, customer.pk, {"note": "Ask Wilhelmina first."}, author=make.SYSTEM)
    jane = str(jane_of(customer).pk)
    path = reverse("admin:customers_customer_step", args=(customer.pk, "erase-contact"))
    client = browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert "Other texts that contain these values: Note" in client.get(path).text
    data = {"contact": jane, "change_reason": "Asked by letter"}
    assert press(client, path, data).status_code == 200
    assert press(client, path, {**data, "with_texts": "yes"}).status_code == 302
    assert "wilhelmina" not in everything()
    assert not verify().faults


def test_a_site_administrator_chooses_the_contact_on_the_customers_page(site: Site, customer: Customer) -> None:
    path = reverse("admin:customers_customer_step", args=(customer.pk, "erase-contact"))
    manager, client = browser(site), browser(site, DefaultRole.SITE_ADMINISTRATOR)
    assert path not in manager.get(address(customer, "read")).text
    assert manager.get(path).status_code == 403
    assert path in client.get(address(customer, "read")).text
    page = client.get(path)
    assert "Wilhelmina Kowalska, Buyer" in page.text
    jane = jane_of(customer)
    answer = press(client, path, {"contact": "nobody", "change_reason": "Asked"})
    assert answer.status_code == 200
    assert jane_of(customer).last_name == "Kowalska"
    assert press(client, path, {"contact": str(jane.pk), "change_reason": "Asked"}).status_code == 302
    assert jane_of(customer).last_name.startswith("erased-")
    assert "Wilhelmina" not in client.get(address(customer, "history")).text
    assert "Wilhelmina" not in client.get(path).text


def test_contacts_are_offered_with_a_fixed_number_of_queries(
    customer: Customer, django_assert_num_queries: Any
) -> None:
    fresh = Customer.objects.get(pk=customer.pk)
    with django_assert_num_queries(2):
        assert [label for _, label in contacts_of(fresh)] == ["Wilhelmina Kowalska, Buyer", "Ole Olsen"]


def test_a_contact_without_a_name_is_offered_in_the_language_of_the_page(customer: Customer) -> None:
    change(customer, [{"position": "Buyer", "email": "sales@example.com"}])
    with translation.override("de"):
        assert "Ohne Namen, Buyer" in [label for _, label in contacts_of(customer)]


def test_a_forged_value_in_the_place_of_an_erased_contact_is_found(customer: Customer) -> None:
    erase(customer, jane_of(customer).pk)
    first: Any = models.QuerySet(Change).filter(record_id=customer.pk).earliest("number")
    for entry in first.fields:
        if entry["field"] == "party_contacts" and "erased" in (entry["new"] or {}):
            entry["new"] = {"idx": 0, "first_name": "Somebody"}
    models.QuerySet(Change).filter(pk=first.pk).update(fields=first.fields)
    assert [fault.number for fault in verify().faults] == [first.number]
