"""Worked examples of the document endpoint."""

import base64
import hashlib
from typing import Any

from records.operations.examples import CALLER, MOMENT, STAMPS, Example, done, sample

DOCUMENT = sample("Document", "Hand washing")
FIRST, SECOND = sample("DocumentVersion", "Hand washing, 1"), sample("DocumentVersion", "Hand washing, 2")
TEXTS = {1: b"Wash your hands for twenty seconds.", 2: b"Wash your hands for thirty seconds."}


def file(number: int) -> dict[str, Any]:
    """Return a version's file as it appears in an answer."""
    text = TEXTS[number]
    facts = {"FileType": "text/plain", "FileName": f"hand-washing-{number}.txt", "FileSize": len(text)}
    return {**facts, "FileHash": hashlib.sha256(text).hexdigest()}


def file_body(number: int) -> dict[str, str]:
    """Return a version's file as it appears in a request."""
    facts = {"FileType": "text/plain", "FileName": f"hand-washing-{number}.txt"}
    return {**facts, "FileContent": base64.b64encode(TEXTS[number]).decode()}


def line(key: str, number: int, status: str) -> dict[str, Any]:
    """Return a version's entry in its document's list."""
    names = ("FileName", "FileType", "FileSize", "FileHash")
    facts = {name: file(number)[name] for name in names}
    return {"Id": key, "Version": number, **facts, "RecordStatus": status, "Created": MOMENT, "CreatedBy": CALLER}


FOLDER = sample("EntityFolder", "Work instructions", entity="document")
DESCRIPTION = "When and how hands are washed.\nApplies to everybody who enters production."
READ = {
    "Id": DOCUMENT,
    "SiteSequenceId": 1,
    "RecordStatus": "Awaiting Review",
    "Name": "Hand washing",
    "Description": DESCRIPTION,
    "Version": 2,
    "EffectiveVersion": 1,
    **file(2),
    "FileContent": "",
    "FileURL": "",
    "EntityFolderId": FOLDER,
    "UserToReview": [{"Id": CALLER}],
    "UserToApprove": [],
    "UserToNotify": [{"Id": CALLER}],
    "DocumentVersion": [line(FIRST, 1, "Issued"), line(SECOND, 2, "Awaiting Review")],
    **STAMPS,
}
VERSION = {
    "Id": FIRST,
    "DocumentId": DOCUMENT,
    "Version": 1,
    "RecordStatus": "Issued",
    **file(1),
    "FileContent": "",
    "FileURL": "",
    "Signature": [],
    "Created": MOMENT,
    "CreatedBy": CALLER,
}

ADD_DOCUMENT = (
    Example(
        body={
            "Name": "Hand washing",
            "Description": DESCRIPTION,
            **file_body(1),
            "EntityFolderId": FOLDER,
            "UserToNotify": [{"Id": CALLER}],
        },
        answer=done(DOCUMENT),
        title="In force at once: nobody is named to sign",
    ),
)
UPDATE_DOCUMENT = (
    Example(
        id=DOCUMENT,
        body={"Name": "Hand washing", **file_body(2), "UserToReview": [{"Id": CALLER}]},
        answer=done(DOCUMENT),
        title="The next version, which a reviewer has to sign",
    ),
)
URL = "http://127.0.0.1:8000/document/File/1a5c…:1w0Xyz:signature"
GET_DOCUMENT = (
    Example(id=DOCUMENT, answer=READ),
    Example(
        id=DOCUMENT,
        query={"WithContent": "true", "WithURL": "true"},
        answer={**READ, "FileContent": file_body(2)["FileContent"], "FileURL": URL},
        differs=("FileURL",),
        title="With the newest version's file, and an address that serves it for 30 minutes",
    ),
)
GET_DOCUMENT_VERSION = (
    Example(id=FIRST, answer=VERSION),
    Example(
        id=DOCUMENT,
        query={"version": "1", "WithContent": "true"},
        answer={**VERSION, "FileContent": file_body(1)["FileContent"]},
        title="By the document's Id and a version number, with the file",
    ),
)
GET_DOCUMENT_LIST = (Example(query={"recordStatus": "Awaiting Review"}, answer=[READ]),)
