"""Worked examples of the item endpoint."""

from records.operations.examples import STAMPS, Example, done, sample

ITEM = sample("Item", "Metal detector 2")
BODY = {
    "Name": "Metal detector 2",
    "Code": "MD-2",
    "SerialNumber": "SN-00042",
    "Location": "Packing line 2",
    "Notes": "Test pieces: Fe 1.5 mm, SUS 2.5 mm.\nCalibrate every spring.",
    "EntityFolderId": sample("EntityFolder", "Detectors", entity="item"),
}
READ = {"Id": ITEM, "SiteSequenceId": 1, **BODY, **STAMPS}

ADD_ITEM = (Example(body=BODY, answer=done(ITEM)),)
GET_ITEM = (Example(id=ITEM, answer=READ),)
GET_ITEM_LIST = (Example(query={"location": "packing line 2"}, answer=[READ]),)
UPDATE_ITEM = (Example(id=ITEM, body={"Location": "Packing line 3", "Notes": None}, answer=done(ITEM)),)
