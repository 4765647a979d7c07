"""UpdateCustomer, GetCustomerList and archiving."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from records.customers.models import Customer
from records.history.models import Change
from records.reference.models import Country
from tests import make
from tests.make.complaints import complaint_body, make_complaint
from tests.make.customers import make_customer

ADD = "/customer/AddCustomer"
GET = "/customer/GetCustomer/"
LIST = "/customer/GetCustomerList"
UPDATE = "/customer/UpdateCustomer/"


@pytest.fixture
def key(api: Any) -> str:
    """Return the Id of a customer with two contacts and a place."""
    contacts = [{"FirstName": "Mira", "Phone": "1"}, {"FirstName": "Noor"}]
    body = {"Name": "Harbour Foods", "Lat": "1.5", "Lng": "2.50", "Note": "a\nb", "PartyContacts": contacts}
    return api.post(ADD, body).json()["Id"]


def test_an_update_without_the_name_keeps_it(api: Any, key: str) -> None:
    before = api.get(GET + key).json()
    answer = api.put(UPDATE + key, {"Code": "HF"})
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    after = api.get(GET + key).json()
    assert after == {**before, "Code": "HF", "LastModified": after["LastModified"]}
    for empty in (None, "", " "):
        answer = api.put(UPDATE + key, {"Name": empty})
        assert answer.status_code == 400
        assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("Name", "RequiredField")]


def test_contacts_keep_their_ids_go_and_come(api: Any, key: str) -> None:
    first, second = api.get(GET + key).json()["PartyContacts"]
    rows = [{"FirstName": "Olu"}, {"Id": first["Id"].upper(), "Phone": "2"}]
    assert api.put(UPDATE + key, {"PartyContacts": rows}).status_code == 200
    new, old = api.get(GET + key).json()["PartyContacts"]
    assert (old["Id"], old["FirstName"], old["Phone"]) == (first["Id"], "Mira", "2")
    assert (new["FirstName"], new["Id"] in (first["Id"], second["Id"])) == ("Olu", False)
    change = Change.objects.filter(record_id=key).latest("number")
    removal = next(entry for entry in change.fields if entry.get("row") == second["Id"])
    assert (removal["old"], removal["new"]) == ({"first_name": "Noor", "idx": 1}, None)
    assert api.put(UPDATE + key, {"PartyContacts": []}).status_code == 200
    assert api.get(GET + key).json()["PartyContacts"] == []


def test_a_contact_of_another_customer_is_no_entry_of_this_one(api: Any, key: str) -> None:
    other = api.post(ADD, {"Name": "B", "PartyContacts": [{"FirstName": "Zed"}]}).json()["Id"]
    foreign = api.get(GET + other).json()["PartyContacts"][0]["Id"]
    answer = api.put(UPDATE + key, {"PartyContacts": [{"Id": foreign, "FirstName": "Taken"}]})
    assert answer.status_code == 400
    assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [
        ("PartyContacts[0].Id", "InvalidReference")
    ]
    assert api.get(GET + other).json()["PartyContacts"][0]["FirstName"] == "Zed"
    assert len(api.get(GET + key).json()["PartyContacts"]) == 2


def test_sending_the_read_shape_back_changes_nothing(api: Any, key: str) -> None:
    shape = api.get(GET + key).json()
    assert api.put(UPDATE + key, shape).status_code == 200
    assert api.get(GET + key).json() == shape
    assert Change.objects.filter(record_id=key).count() == 1


def test_a_place_goes_as_a_pair(api: Any, key: str) -> None:
    answer = api.put(UPDATE + key, {"Lat": None})
    assert answer.status_code == 400
    assert [one["Field"] for one in answer.json()["Fields"]] == ["Lat"]
    assert api.put(UPDATE + key, {"Lat": None, "Lng": ""}).status_code == 200
    shape = api.get(GET + key).json()
    assert (shape["Lat"], shape["Lng"]) == ("", "")


def test_lists_find_by_name_code_and_either_country(api: Any) -> None:
    site = api.key.site
    nz, fr = Country.objects.get(code="NZ"), Country.objects.get(code="FR")
    make_customer(site, name="Straße 1", code="S-1", postal_address_country=nz)
    make_customer(site, name="Strasse 10", code="S-10", physical_address_country=nz, postal_address_country=fr)
    make_customer(site, name="Quay, Foods", physical_address_country=fr)

    def numbers(**query: Any) -> list[int]:
        answer = api.get(LIST, query)
        assert answer.status_code == 200, answer.content
        assert answer["X-Total-Count"] == str(len(answer.json()))
        return [row["SiteSequenceId"] for row in answer.json()]

    assert numbers(name="STRASSE 1") == [1]
    assert numbers(name="quay, foods") == [3]
    assert numbers(code=["s-10", "s-1"]) == [1, 2]
    assert numbers(countryId=nz.pk) == [1, 2]
    assert numbers(countryId=[nz.pk, fr.pk]) == [1, 2, 3]
    assert numbers(search="asse") == [1, 2]
    assert numbers(sort="Name", order="asc") == [3, 2, 1]


def test_an_archived_customer_stays_on_its_complaints_and_is_refused_on_new_ones(api: Any) -> None:
    site = api.key.site
    complaint = make_complaint(site)
    customer = complaint.customer
    assert customer is not None
    with pytest.raises(ValidationError):
        make.archive(customer, reason="")
    for _ in range(2):
        make.archive(customer, reason="Closed down")
    changes = Change.objects.filter(record_id=customer.pk, operation="ArchiveCustomer")
    assert [change.reason for change in changes] == ["Closed down"]
    read = api.get(f"/complaint/GetComplaint/{complaint.pk}").json()
    assert read["CustomerId"] == str(customer.pk)
    body = complaint_body(site, CustomerId=str(customer.pk))
    answer = api.post("/complaint/AddComplaintDetail", body)
    assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("CustomerId", "InvalidReference")]
    answer = api.get(LIST)
    assert str(customer.pk) not in [row["Id"] for row in answer.json()]
    assert [row["Id"] for row in api.get(LIST, {"isArchived": "1"}).json()] == [str(customer.pk)]
    make.archive(customer, archived=False, reason="Open again")
    assert api.post("/complaint/AddComplaintDetail", body).status_code == 200


def test_the_key_columns_follow_the_name_and_stay_out_of_the_history(api: Any, key: str) -> None:
    api.put(UPDATE + key, {"Name": "Ärger & Söhne"})
    assert Customer.objects.get(pk=key).name_key == "ärger & söhne"
    change = Change.objects.filter(record_id=key).latest("number")
    assert [entry["field"] for entry in change.fields] == ["name"]
