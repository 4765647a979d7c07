"""GetDocument, GetDocumentVersion and GetDocumentList."""

import json
import uuid
from pathlib import Path
from typing import Any

from records.sites.models import Site
from tests import make
from tests.documents.conftest import files_in
from tests.make import documents as docs


def test_a_version_reads_whole_by_its_id_and_by_its_documents_id_and_number(api: Any, site: Site) -> None:
    reviewer, approver = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(
        site,
        b"content",
        author=make.author_of(api.key.user),
        name="Hygiene",
        user_to_review=[reviewer],
        user_to_approve=[approver],
    )
    version = docs.version_of(document)
    docs.sign(version, reviewer, comment="Fine.")
    docs.sign(version, approver, "approve")
    shape = api.get(f"/document/GetDocumentVersion/{version.pk}").json()
    dates = [one.pop("Date") for one in shape["Signature"]]
    assert dates == sorted(dates)
    assert all(len(date) == 24 and date.endswith("Z") for date in dates)
    assert shape == {
        "Id": str(version.pk),
        "DocumentId": str(document.pk),
        "Version": 1,
        "RecordStatus": "Approved",
        "FileType": "text/plain",
        "FileName": "procedure.txt",
        "FileSize": 7,
        "FileHash": docs.sha256(b"content"),
        "FileContent": "",
        "FileURL": "",
        "Signature": [
            {
                "UserId": str(reviewer.pk),
                "UserName": reviewer.printed_name,
                "Meaning": "Reviewed",
                "Comment": "Fine.",
            },
            {"UserId": str(approver.pk), "UserName": approver.printed_name, "Meaning": "Approved", "Comment": ""},
        ],
        "Created": shape["Created"],
        "CreatedBy": str(api.key.user.pk),
    }
    body = api.get(f"/document/GetDocumentVersion/{version.pk}").json()
    assert api.get(f"/document/GetDocumentVersion/{document.pk}?version=1").json() == body
    assert api.get(f"/document/GetDocumentVersion/{document.pk}?VERSION=1").json() == body


def test_a_version_that_does_not_exist_is_404_and_a_wrong_number_400(api: Any, site: Site, other_site: Site) -> None:
    document, foreign = docs.make_document(site), docs.make_document(other_site)
    path = "/document/GetDocumentVersion"
    for missing in (f"{document.pk}?version=2", f"{document.pk}", f"{uuid.uuid4()}", f"{foreign.pk}?version=1"):
        assert api.get(f"{path}/{missing}").status_code == 404, missing
    assert api.get(f"{path}/{docs.version_of(foreign).pk}").status_code == 404
    for wrong in ("0", "-1", "x", "2147483648", "9" * 400, ""):
        answer = api.get(f"{path}/{document.pk}?version={wrong}")
        assert (answer.status_code, answer.json()["Error"]) == (400, "InvalidParameter"), wrong
    assert api.get(f"/document/GetDocument/{document.pk}?WithContent=maybe").status_code == 400


def test_content_and_address_come_only_when_asked_for(api: Any, site: Site) -> None:
    document = docs.make_document(site, b"one")
    docs.add_version(document, b"two")
    first = docs.version_of(document, 1)
    plain = api.get(f"/document/GetDocument/{document.pk}").json()
    assert (plain["FileContent"], plain["FileURL"]) == ("", "")
    both = json.loads(api.get(f"/document/GetDocument/{document.pk}?WithContent=TRUE&WithURL=1").getvalue())
    assert both["FileContent"] == docs.base64_of(b"two")
    assert both["FileURL"].startswith("http://127.0.0.1:8000/document/File/")
    assert {**both, "FileContent": "", "FileURL": ""} == plain
    old = json.loads(api.get(f"/document/GetDocumentVersion/{first.pk}?WithContent=true").getvalue())
    assert old["FileContent"] == docs.base64_of(b"one")


def test_a_head_of_a_read_with_content_has_its_length_and_no_body(api: Any, site: Site) -> None:
    document = docs.make_document(site, b"x" * 1000)
    path = f"/document/GetDocument/{document.pk}?WithContent=true"
    answer, head = api.get(path), api.send("HEAD", path)
    assert len(answer.getvalue()) == int(answer["Content-Length"])
    assert head.status_code == 200
    assert head["Content-Length"] == answer["Content-Length"]
    assert head.content == b""


def test_an_unchanged_document_is_304_unless_an_address_is_asked_for(api: Any, site: Site) -> None:
    document = docs.make_document(site, b"x")
    path = f"/document/GetDocument/{document.pk}"
    tag = api.get(path)["ETag"]
    assert api.get(path, **{"If-None-Match": tag}).status_code == 304
    assert api.get(f"{path}?WithContent=1", **{"If-None-Match": tag}).status_code == 304
    assert api.get(f"{path}?WithURL=1", **{"If-None-Match": tag}).json()["FileURL"]
    docs.add_version(document)
    assert api.get(path, **{"If-None-Match": tag}).status_code == 200


def test_a_signature_changes_the_etag_of_document_and_version(api: Any, site: Site) -> None:
    first, second = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[first, second])
    version = docs.version_of(document)
    paths = (f"/document/GetDocument/{document.pk}", f"/document/GetDocumentVersion/{version.pk}")
    before = [api.get(path)["ETag"] for path in paths]
    docs.sign(version, first)
    after = [api.get(path)["ETag"] for path in paths]
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_a_missing_or_altered_file_is_a_clear_error_and_is_never_served(api: Any, site: Site, files: Path) -> None:
    document = docs.make_document(site, b"as it was")
    path = files_in(files)[0]
    for damage in (lambda: path.write_bytes(b"as it wos"), lambda: path.write_bytes(b"as it"), path.unlink):
        url = api.get(f"/document/GetDocument/{document.pk}?WithURL=1").json()["FileURL"]
        path.parent.chmod(0o700)
        if path.exists():
            path.chmod(0o600)
        damage()
        for answer in (
            api.get(f"/document/GetDocument/{document.pk}?WithContent=true"),
            api.get(url.removeprefix("http://127.0.0.1:8000")),
        ):
            assert answer.status_code == 503
            assert answer.json()["Error"] == "Unavailable"
            assert "version 1" in answer.json()["Message"]
        assert api.get(f"/document/GetDocument/{document.pk}").status_code == 200


def test_the_list_filters_by_status_name_and_type_and_never_carries_content(api: Any, site: Site) -> None:
    signer = docs.make_signer(site)
    one = docs.make_document(site, name="Hygiene", file_type="application/pdf")
    two = docs.make_document(site, name="Recall", user_to_review=[signer])
    rows = api.get("/document/GetDocumentList").json()
    assert [row["Id"] for row in rows] == [str(one.pk), str(two.pk)]
    assert all((row["FileContent"], row["FileURL"]) == ("", "") for row in rows)
    assert rows[0] == api.get(f"/document/GetDocument/{one.pk}").json()

    def names_for(query: str) -> list[str]:
        return [row["Name"] for row in api.get(f"/document/GetDocumentList?{query}").json()]

    assert names_for("recordStatus=awaiting review") == ["Recall"]
    assert names_for("recordStatus=Awaiting Review,Issued") == ["Hygiene", "Recall"]
    assert names_for("name=hygiene") == ["Hygiene"]
    assert names_for("fileType=Application/PDF") == ["Hygiene"]
    assert names_for("search=reca") == ["Recall"]
    assert api.get("/document/GetDocumentList?recordStatus=Aproved").status_code == 400
    assert api.get("/document/GetDocumentList?WithContent=true").status_code == 400


def test_metadata_is_read_without_touching_any_file(api: Any, site: Site, files: Path) -> None:
    document = docs.make_document(site)
    for path in files_in(files):
        path.unlink()
    assert api.get(f"/document/GetDocument/{document.pk}").status_code == 200
    assert api.get("/document/GetDocumentList").status_code == 200
    assert api.get(f"/document/GetDocumentVersion/{docs.version_of(document).pk}").status_code == 200


def test_a_job_description_names_a_document_of_its_site(api: Any, site: Site, other_site: Site) -> None:
    document, foreign = docs.make_document(site), docs.make_document(other_site)
    answer = api.post("/employee/AddJobDescription", {"Name": "Baker", "DocumentId": str(document.pk)})
    assert answer.status_code == 200, answer.content
    shape = api.get(f"/employee/GetJobDescription/{answer.json()['Id']}").json()
    assert shape["DocumentId"] == str(document.pk)
    refusal = api.post("/employee/AddJobDescription", {"Name": "Baker", "DocumentId": str(foreign.pk)})
    assert refusal.status_code == 400
    assert [one["Code"] for one in refusal.json()["Fields"]] == ["InvalidReference"]
