"""The back-office pages of customers."""

from django.urls import reverse

from records.accounts.models import DefaultRole
from records.customers.models import Customer
from records.history.models import Change
from records.sites.models import Site
from tests.make.backoffice import address, browser, form_of, list_address
from tests.make.customers import make_customer


def test_a_customer_is_added_and_changed_with_its_contacts(site: Site) -> None:
    client = browser(site)
    path = reverse("admin:customers_customer_add")
    data = {
        **form_of(client.get(path)),
        "name": "Harbour Foods",
        "lat": "-41.2706",
        "lng": "173.2840",
        "party_contacts-TOTAL_FORMS": "1",
        "party_contacts-0-first_name": "Mira",
        "party_contacts-0-email": "mira@example.org",
    }
    assert client.post(path, data).status_code == 302
    customer = Customer.objects.get()
    contact = customer.party_contacts.get()
    assert (customer.site_sequence_id, contact.first_name) == (1, "Mira")
    data = form_of(client.get(address(customer)))
    assert client.post(address(customer), data).status_code == 302
    assert Change.objects.filter(record_id=customer.pk).count() == 1
    changes = {**data, "party_contacts-0-phone": "1", "note": "a\r\nb", "change_reason": "Called"}
    assert client.post(address(customer), changes).status_code == 302
    customer.refresh_from_db()
    contact.refresh_from_db()
    assert (customer.note, contact.phone, contact.first_name) == ("a\nb", "1", "Mira")


def test_half_a_place_is_refused_at_its_field(site: Site) -> None:
    customer = make_customer(site)
    client = browser(site)
    data = {**form_of(client.get(address(customer))), "lat": "12.5", "change_reason": "x"}
    response = client.post(address(customer), data)
    assert response.status_code == 200
    assert response.context["adminform"].form.errors.keys() == {"lng"}


def test_a_standard_user_reads_customers_only(site: Site) -> None:
    customer = make_customer(site, name="Harbour Foods")
    client = browser(site, DefaultRole.STANDARD)
    assert "Harbour Foods" in client.get(list_address(Customer) + "?q=bour").content.decode()
    assert client.get(address(customer)).status_code == 200
    assert client.post(address(customer), {"name": "x"}).status_code == 403
