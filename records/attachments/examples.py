"""Worked examples of the attachment endpoint."""

import base64
import hashlib

from records.operations.examples import CALLER, MOMENT, Example, done, sample

ATTACHMENT = sample("Attachment", "Certificate of the metal detector")
ITEM = sample("Item", "Metal detector 2")
TEXT = b"Calibrated with Fe 1.5 mm and SUS 2.5 mm."
CONTENT = base64.b64encode(TEXT).decode()
BODY = {
    "RecordId": ITEM,
    "Name": "Certificate 2026",
    "Description": "From the yearly service.",
    "FileName": "certificate.txt",
    "FileType": "text/plain",
}
READ = {
    "Id": ATTACHMENT,
    "RecordId": ITEM,
    "FindingId": None,
    "Name": "Certificate 2026",
    "Description": "From the yearly service.",
    "FileName": "certificate.txt",
    "FileType": "text/plain",
    "FileSize": len(TEXT),
    "FileHash": hashlib.sha256(TEXT).hexdigest(),
    "FileContent": "",
    "FileURL": "",
    "IsArchived": False,
    "Created": MOMENT,
    "CreatedBy": CALLER,
}
URL = "http://127.0.0.1:8000/attachment/File/1a5c…:1w0Xyz:signature"

ADD_ATTACHMENT = (Example(body={**BODY, "FileContent": CONTENT}, answer=done(ATTACHMENT)),)
GET_ATTACHMENT = (
    Example(id=ATTACHMENT, answer=READ),
    Example(
        id=ATTACHMENT,
        query={"WithContent": "true", "WithURL": "true"},
        answer={**READ, "FileContent": CONTENT, "FileURL": URL},
        differs=("FileURL",),
        title="With the file, and an address that serves it for 30 minutes",
    ),
)
GET_ATTACHMENT_LIST = (Example(query={"recordId": ITEM}, answer=[READ]),)
