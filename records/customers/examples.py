"""Worked examples of the customer endpoint."""

from records.operations.examples import STAMPS, Example, done, entry, sample

CUSTOMER = sample("Customer", "Harbour Foods")
NEW_ZEALAND = entry("Country", "NZ")
CONTACT = {
    "TitleId": entry("Title", "MS"),
    "FirstName": "Mira",
    "LastName": "Sol",
    "Position": "Buyer",
    "Email": "mira.sol@harbourfoods.example",
    "Phone": "+64 21 555 010",
}
BODY = {
    "Name": "Harbour Foods",
    "Code": "HF-1",
    "PostalAddressStreet": "Unit 2\n14 Quay Street",
    "PostalAddressCity": "Nelson",
    "PostalAddressState": "Tasman",
    "PostalAddressPoBox": "PO Box 77",
    "PostalAddressCountryId": NEW_ZEALAND,
    "PhysicalAddressStreet": "14 Quay Street",
    "PhysicalAddressCity": "Nelson",
    "PhysicalAddressState": "Tasman",
    "PhysicalAddressPoBox": "",
    "PhysicalAddressCountryId": NEW_ZEALAND,
    "Telephone": "+64 3 555 0100",
    "Fax": "",
    "Ddi": "+64 3 555 0101",
    "Note": "Deliveries before seven.",
    "EntityFolderId": sample("EntityFolder", "Retailers", entity="customer"),
    "PartyContacts": [CONTACT],
    "Lng": "173.2840",
    "Lat": "-41.2706",
}
SHOWN_CONTACT = {"Id": sample("PartyContact", "Mira Sol"), **CONTACT}
READ = {"Id": CUSTOMER, "SiteSequenceId": 1, **BODY, "PartyContacts": [SHOWN_CONTACT], **STAMPS}

ADD_CUSTOMER = (Example(body=BODY, answer=done(CUSTOMER)),)
GET_CUSTOMER = (Example(id=CUSTOMER, answer=READ),)
GET_CUSTOMER_LIST = (Example(query={"name": "harbour foods"}, answer=[READ]),)
UPDATE_CUSTOMER = (
    Example(
        title="A new number, and a second contact",
        id=CUSTOMER,
        body={
            "Telephone": "+64 3 555 0199",
            "PartyContacts": [SHOWN_CONTACT, {"FirstName": "Noor", "Position": "Quality manager"}],
        },
        answer=done(CUSTOMER),
    ),
)
