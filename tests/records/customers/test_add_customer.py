"""AddCustomer and GetCustomer."""

from typing import Any

import pytest

from records.customers.models import Customer
from records.history.models import Change
from records.reference.models import Country, Title
from records.sites.models import Entity
from tests import make

ADD = "/customer/AddCustomer"
GET = "/customer/GetCustomer/"


def test_an_added_customer_reads_back_whole(api: Any) -> None:
    folder = make.make_folder(api.key.site, Entity.CUSTOMER)
    country = str(Country.objects.get(code="NZ").pk)
    title = str(Title.objects.get(code="DR").pk)
    body = {
        "Name": "Harbour Foods",
        "Code": "HF-1",
        "PostalAddressStreet": "Unit 2\n14 Quay Street",
        "PostalAddressCity": "Nelson",
        "PostalAddressState": "Tasman",
        "PostalAddressPoBox": "PO Box 77",
        "PostalAddressCountryId": country,
        "PhysicalAddressStreet": "9 Wharf Road",
        "PhysicalAddressCity": "Motueka",
        "PhysicalAddressState": "Tasman",
        "PhysicalAddressPoBox": "7120",
        "PhysicalAddressCountryId": country,
        "Telephone": "+64 3 555 0100",
        "Fax": "+64 3 555 0109",
        "Ddi": "+64 3 555 0101",
        "Note": "Rings on Mondays.",
        "EntityFolderId": str(folder.pk),
        "PartyContacts": [
            {
                "TitleId": title,
                "FirstName": "Mira",
                "LastName": "Sol",
                "Position": "Buyer",
                "Email": "mira@example.org",
                "Phone": "+64 21 555 010",
            },
            {"FirstName": "Noor"},
        ],
        "Lng": "173.2840",
        "Lat": "-41.270632",
    }
    answer = api.post(ADD, body)
    assert answer.status_code == 200, answer.content
    key = answer.json()["Id"]
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    shape = api.get(GET + key).json()
    first, second = shape["PartyContacts"]
    user = str(api.key.user.pk)
    empty = {"TitleId": None, "LastName": "", "Position": "", "Email": "", "Phone": ""}
    assert shape == {
        **body,
        "PartyContacts": [
            {"Id": first["Id"], **body["PartyContacts"][0]},  # type: ignore[dict-item]
            {"Id": second["Id"], "FirstName": "Noor", **empty},
        ],
        "Id": key,
        "SiteSequenceId": 1,
        "Created": shape["Created"],
        "CreatedBy": user,
        "LastModified": shape["Created"],
        "LastModifiedBy": user,
    }
    change = Change.objects.get(record_id=key)
    assert (change.operation, change.author_id) == ("AddCustomer", api.key.user.pk)
    assert len([entry for entry in change.fields if entry["field"] == "party_contacts"]) == 2


def test_a_name_is_enough_and_needed(api: Any) -> None:
    for body in ({}, {"Name": None}, {"Name": ""}, {"Name": " \n"}):
        answer = api.post(ADD, body)
        assert answer.status_code == 400
        assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("Name", "RequiredField")]
    assert not Customer.objects.exists()
    key = api.post(ADD, {"Name": "Harbour Foods"}).json()["Id"]
    shape = api.get(GET + key).json()
    assert (shape["PartyContacts"], shape["Lat"], shape["Lng"], shape["EntityFolderId"]) == ([], "", "", None)


@pytest.mark.parametrize(
    ("lat", "lng"),
    [("-90", "180"), ("90.0", "-180.000000"), ("0", "0"), ("-41.27063200000000000001", "173.28")],
)
def test_coordinates_come_back_as_they_were_written(api: Any, lat: str, lng: str) -> None:
    key = api.post(ADD, {"Name": "A", "Lat": lat, "Lng": lng}).json()["Id"]
    shape = api.get(GET + key).json()
    assert (shape["Lat"], shape["Lng"]) == (lat, lng)


@pytest.mark.parametrize(
    ("lat", "lng", "fields"),
    [
        ("90.0001", "0", ["Lat"]),
        ("0", "-180.5", ["Lng"]),
        ("91", "181", ["Lat", "Lng"]),
        ("1", None, ["Lng"]),
        ("", "1", ["Lat"]),
        ("north", "0", ["Lat"]),
        ("NaN", "0", ["Lat"]),
        ("1e1", "0", ["Lat"]),
        ("٤", "0", ["Lat"]),
        ("1,5", "0", ["Lat"]),
        (" 1", "0", ["Lat"]),
        ("1\n", "0", ["Lat"]),
        ("1." + "0" * 40, "0", ["Lat"]),
        (-41.27, "0", ["Lat"]),
    ],
)
def test_what_is_no_place_on_the_globe_is_refused(api: Any, lat: Any, lng: Any, fields: list[str]) -> None:
    answer = api.post(ADD, {"Name": "A", "Lat": lat, "Lng": lng})
    assert answer.status_code == 400, answer.content
    assert sorted({one["Field"] for one in answer.json()["Fields"]}) == fields
    assert not Customer.objects.exists()


def test_faults_of_contacts_are_named_by_their_place(api: Any, other_site: Any) -> None:
    body = {
        "Name": "A",
        "PostalAddressCountryId": "00000000-0000-4000-8000-000000000000",
        "EntityFolderId": str(make.make_folder(api.key.site, Entity.ITEM).pk),
        "PartyContacts": [{"FirstName": "Mira"}, {"Email": "nobody"}, {"FristName": "x"}, 5],
    }
    answer = api.post(ADD, body)
    assert answer.status_code == 400
    assert {(one["Field"], one["Code"]) for one in answer.json()["Fields"]} == {
        ("PostalAddressCountryId", "InvalidReference"),
        ("EntityFolderId", "InvalidReference"),
        ("PartyContacts[1].Email", "InvalidValue"),
        ("PartyContacts[2].FristName", "UnknownField"),
        ("PartyContacts[3]", "InvalidValue"),
    }
    del body["PostalAddressCountryId"], body["PartyContacts"]
    answer = api.post(ADD, body)
    assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("EntityFolderId", "InvalidReference")]


def test_a_new_contact_cannot_bring_its_id(api: Any) -> None:
    body = {"Name": "A", "PartyContacts": [{"Id": "00000000-0000-4000-8000-000000000000", "FirstName": "Mira"}]}
    answer = api.post(ADD, body)
    assert answer.status_code == 400
    assert answer.json()["Fields"][0]["Field"] == "PartyContacts[0].Id"
