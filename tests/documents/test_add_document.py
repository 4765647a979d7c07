"""AddDocument: the shape that reads back, the file's rules, what a refusal leaves."""

import base64
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from documents.models import Document, DocumentVersion
from records.history.models import Change
from tests import make
from tests.documents.conftest import files_in
from tests.make import documents as docs


def test_an_added_document_reads_back_whole(api: Any, site: Any) -> None:
    reviewers = [docs.make_signer(site) for _ in range(3)]
    approver = docs.make_signer(site)
    folder = make.make_folder(site, make.Entity.DOCUMENT)
    content = b"\x00\xff" * 70_000
    body = docs.document_body(
        content,
        Description="How\r\nto wash",
        Version=7,
        FileName="H\u00e4nde waschen.txt",
        EntityFolderId=str(folder.pk),
        UserToReview=[{"Id": str(one.pk).upper()} for one in reviewers],
        UserToApprove=[{"Id": str(approver.pk)}],
        UserToNotify=[],
    )
    answer = api.post("/document/AddDocument", body)
    assert answer.status_code == 200, answer.content
    key = answer.json()["Id"]
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    shape = api.get(f"/document/GetDocument/{key}").json()
    version = DocumentVersion.objects.get(document_id=key)
    user, created = str(api.key.user.pk), shape["Created"]
    facts = {
        "FileName": "H\u00e4nde waschen.txt",
        "FileType": "text/plain",
        "FileSize": 140_000,
        "FileHash": docs.sha256(content),
        "RecordStatus": "Awaiting Review",
    }
    assert shape == {
        "Id": key,
        "SiteSequenceId": 1,
        "Name": "Hygiene",
        "Description": "How\nto wash",
        "Version": 7,
        "EffectiveVersion": None,
        **facts,
        "FileContent": "",
        "FileURL": "",
        "EntityFolderId": str(folder.pk),
        "UserToReview": [{"Id": str(one.pk)} for one in reviewers],
        "UserToApprove": [{"Id": str(approver.pk)}],
        "UserToNotify": [],
        "DocumentVersion": [
            {
                "Id": str(version.pk),
                "Version": 7,
                **facts,
                "Created": shape["DocumentVersion"][0]["Created"],
                "CreatedBy": user,
            }
        ],
        "Created": created,
        "CreatedBy": user,
        "LastModified": created,
        "LastModifiedBy": user,
    }
    change = Change.objects.get(record_id=key)
    assert (change.operation, change.channel) == ("AddDocument", "API")
    assert {"versions", "signers", "user_to_review"} <= {entry["field"] for entry in change.fields}


def test_a_document_that_nobody_signs_is_issued_and_in_force(api: Any) -> None:
    key = api.post("/document/AddDocument", docs.document_body()).json()["Id"]
    shape = api.get(f"/document/GetDocument/{key}").json()
    assert (shape["RecordStatus"], shape["Version"], shape["EffectiveVersion"]) == ("Issued", 1, 1)


def test_a_document_with_approvers_only_awaits_approval(api: Any, site: Any) -> None:
    body = docs.document_body(UserToApprove=[{"Id": str(docs.make_signer(site).pk)}])
    key = api.post("/document/AddDocument", body).json()["Id"]
    assert api.get(f"/document/GetDocument/{key}").json()["RecordStatus"] == "Awaiting Approval"


def test_a_site_that_demands_an_approver_refuses_a_document_without_one(api: Any, site: Any, files: Path) -> None:
    type(site).objects.filter(pk=site.pk).update(demands_approver=True)
    answer = api.post("/document/AddDocument", docs.document_body())
    assert answer.status_code == 400
    assert [one["Field"] for one in answer.json()["Fields"]] == ["UserToApprove"]
    assert not Document.objects.exists()
    assert files_in(files) == []


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "RequiredField"),
        ("", "RequiredField"),
        (123, "InvalidValue"),
        (5, "InvalidValue"),
        ({"a": {"b": 1}}, "InvalidValue"),
        (["QQ=="], "InvalidValue"),
        ("QQ", "InvalidBase64"),
        ("QQ=", "InvalidBase64"),
        ("QR==", "InvalidBase64"),
        ("QQ==QQ==", "InvalidBase64"),
        ("QQ==\n", "InvalidBase64"),
        ("QQ\r\n==", "InvalidBase64"),
        ("-_-_", "InvalidBase64"),
        ("data:text/plain;base64,QQ==", "InvalidBase64"),
        ("ÄÄ==", "InvalidBase64"),
        ("====", "InvalidBase64"),
        ("A" * 400_000 + "QQ==" + "AAAA" * 100_000, "InvalidBase64"),
    ],
)
def test_file_content_that_is_no_file_is_refused(api: Any, files: Path, content: Any, code: str) -> None:
    answer = api.post("/document/AddDocument", {**docs.document_body(), "FileContent": content})
    assert answer.status_code == 400, answer.content
    assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [("FileContent", code)]
    assert not Document.objects.exists()
    assert files_in(files) == []


def test_all_faults_of_a_document_are_named_at_once(api: Any, other_site: Any) -> None:
    stranger = docs.make_signer(other_site)
    body = docs.document_body(Nmae="x", FileContent="Q", FileName="a" * 256, UserToReview=[{"Id": str(uuid.uuid4())}])
    del body["Name"]
    answer = api.post("/document/AddDocument", body)
    assert {(one["Field"], one["Code"]) for one in answer.json()["Fields"]} == {
        ("Nmae", "UnknownField"),
        ("Name", "RequiredField"),
        ("FileContent", "InvalidBase64"),
        ("FileName", "ValueTooLong"),
        ("UserToReview[0].Id", "InvalidReference"),
    }
    body = docs.document_body(UserToNotify=[{"Id": str(api.key.user.pk)}, {"Id": str(stranger.pk)}])
    answer = api.post("/document/AddDocument", body)
    assert answer.status_code == 400
    assert [(one["Field"], one["Code"]) for one in answer.json()["Fields"]] == [
        ("UserToNotify[1].Id", "InvalidReference")
    ]


@pytest.mark.parametrize(
    "raw",
    ["", "[]", "null", "5", "{", '{"Name": ' + "[" * 20_000, '{"FileContent": "QQ=="', '{"Name": "\\ud800"}', "\xff"],
)
def test_a_body_that_is_no_json_object_is_400(api: Any, files: Path, raw: str) -> None:
    answer = api.post("/document/AddDocument", raw.encode("latin-1"))
    assert answer.status_code == 400, answer.content
    assert files_in(files) == []


@pytest.mark.parametrize("first", ["QQ==", "Q" * 400_000 + "==", "not base64", 5])
@pytest.mark.parametrize("second", ["QQ==", "Q" * 400_000])
def test_a_file_that_is_sent_twice_is_400(api: Any, files: Path, first: Any, second: str) -> None:
    body = json.dumps(docs.document_body(FileContent=second))
    answer = api.post("/document/AddDocument", f'{{"FileContent": {json.dumps(first)}, {body[1:]}')
    assert (answer.status_code, answer.json()["Error"]) == (400, "MalformedJson")
    assert "'FileContent' occurs twice" in answer.json()["Message"]
    assert files_in(files) == []


@pytest.mark.parametrize("number", [0, -1, 2_147_483_648, 1.5, "2", True])
def test_a_version_number_out_of_range_is_refused(api: Any, number: Any) -> None:
    answer = api.post("/document/AddDocument", docs.document_body(Version=number))
    assert answer.status_code == 400
    assert answer.json()["Fields"][0]["Field"] == "Version"


def test_escaped_base64_as_other_languages_write_it_is_understood(api: Any) -> None:
    content = bytes(range(256)) * 3000
    text = docs.base64_of(content)
    for variant in (text.replace("/", "\\/"), text.replace("+", "\\u002B").replace("/", "\\u002f")):
        raw = '{"Name": "n", "FileType": "t", "FileName": "f", "FileContent" : "' + variant + '" }'
        answer = api.post("/document/AddDocument", raw)
        assert answer.status_code == 200, answer.content
        shape = api.get(f"/document/GetDocument/{answer.json()['Id']}").json()
        assert (shape["FileHash"], shape["FileSize"]) == (docs.sha256(content), len(content))


@pytest.mark.parametrize("over", [0, 1, 2, 3])
def test_a_file_above_the_limit_is_413(api: Any, settings: Any, files: Path, over: int) -> None:
    settings.FILE_SIZE_LIMIT = 300_000
    answer = api.post("/document/AddDocument", docs.document_body(b"x" * (300_000 + over)))
    assert answer.status_code == (413 if over else 200), answer.content
    if over:
        assert answer.json()["Error"] == "PayloadTooLarge"
        assert not Document.objects.exists()
        assert files_in(files) == []


def test_a_body_above_the_limit_is_413_in_the_envelope(api: Any) -> None:
    answer = api.post("/document/AddDocument", b'{"FileContent": "' + b"A" * 60_000_000 + b'"}')
    assert answer.status_code == 413
    assert answer.json()["Error"] == "PayloadTooLarge"


def test_other_endpoints_keep_their_smaller_limit(api: Any) -> None:
    answer = api.post("/employee/AddEmployee", b'{"Notes": "' + b"A" * 17_000_000 + b'"}')
    assert answer.status_code == 413


def test_the_storage_path_is_never_the_file_name(api: Any, files: Path) -> None:
    for name in ("a." * 100 + "pdf", "../../etc/passwd", "C:\\x\\y.txt", "\u4f60\u597d.pdf", "."):
        answer = api.post("/document/AddDocument", docs.document_body(FileName=name))
        assert answer.status_code == 200, answer.content
        assert api.get(f"/document/GetDocument/{answer.json()['Id']}").json()["FileName"] == name
    names = [path.name for path in files_in(files)]
    assert len(names) == 5
    assert all(len(name) == 32 and name.isalnum() for name in names)
    assert api.post("/document/AddDocument", docs.document_body(FileName="a" * 256)).status_code == 400


def test_a_repeated_add_under_one_key_stores_one_file(api: Any, files: Path) -> None:
    body = docs.document_body(b"once")
    first = api.post("/document/AddDocument", body, **{"Idempotency-Key": "k1"})
    again = api.post("/document/AddDocument", body, **{"Idempotency-Key": "k1"})
    assert first.json() == again.json()
    assert len(files_in(files)) == Document.objects.count() == 1
    other = api.post("/document/AddDocument", docs.document_body(b"twice"), **{"Idempotency-Key": "k1"})
    assert other.status_code == 409
    assert len(files_in(files)) == 1


def test_a_storage_that_cannot_be_written_is_503_and_leaves_nothing(api: Any, files: Path) -> None:
    files.write_bytes(b"a file where the folder should be")
    answer = api.post("/document/AddDocument", docs.document_body())
    assert answer.status_code == 503, answer.content
    assert answer.json()["Error"] == "Unavailable"
    assert not Document.objects.exists()


def test_content_reads_back_as_it_was_sent(api: Any) -> None:
    for size in (1, 2, 3, 196_607, 196_608, 196_609):
        content = bytes(index % 251 for index in range(size))
        key = api.post("/document/AddDocument", docs.document_body(content)).json()["Id"]
        answer = api.get(f"/document/GetDocument/{key}?WithContent=true")
        text = answer.getvalue()
        assert base64.b64decode(json.loads(text)["FileContent"], validate=True) == content
        assert int(answer["Content-Length"]) == len(text)
