"""UpdateDocument: always the next version, the earlier ones kept, also under simultaneous writers."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from documents.models import IN_FORCE, WAITING, Document, DocumentVersion, Notice, Signature
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.documents.conftest import files_in
from tests.make import documents as docs


def test_an_update_makes_the_next_version_and_keeps_the_earlier_one(api: Any) -> None:
    key = api.post("/document/AddDocument", docs.document_body(b"one", Version=3)).json()["Id"]
    first = api.get(f"/document/GetDocument/{key}").json()
    answer = api.put(f"/document/UpdateDocument/{key}", docs.document_body(b"two", FileName="two.txt"))
    assert answer.json() == {"Error": "", "Message": "Success.", "Id": key}
    shape = api.get(f"/document/GetDocument/{key}").json()
    assert (shape["Version"], shape["EffectiveVersion"], shape["FileName"]) == (4, 4, "two.txt")
    assert [(one["Version"], one["RecordStatus"]) for one in shape["DocumentVersion"]] == [
        (3, "Superseded"),
        (4, "Issued"),
    ]
    old = api.get(f"/document/GetDocumentVersion/{first['DocumentVersion'][0]['Id']}?WithContent=1")
    assert docs.base64_of(b"one").encode() in old.getvalue()
    change = Change.objects.filter(record_id=key).latest("number")
    assert change.operation == "UpdateDocument"
    assert {"version", "versions", "versions.record_status", "file_hash"} <= {one["field"] for one in change.fields}


def test_the_same_file_again_is_a_version_too(api: Any) -> None:
    key = api.post("/document/AddDocument", docs.document_body()).json()["Id"]
    assert api.put(f"/document/UpdateDocument/{key}", docs.document_body()).status_code == 200
    assert docs.statuses(uuid.UUID(key)) == ["Superseded", "Issued"]


def test_a_document_read_edited_and_put_back_keeps_what_it_does_not_name(api: Any, site: Site) -> None:
    signer = docs.make_signer(site)
    body = docs.document_body(Description="d", UserToApprove=[{"Id": str(signer.pk)}])
    key = api.post("/document/AddDocument", body).json()["Id"]
    shape = api.get(f"/document/GetDocument/{key}").json()
    body = {**shape, "FileContent": docs.base64_of(b"two"), "Name": "New name"}
    assert api.put(f"/document/UpdateDocument/{key}", body).status_code == 200
    assert api.put(f"/document/UpdateDocument/{key}", docs.document_body(b"three")).status_code == 200
    after = api.get(f"/document/GetDocument/{key}").json()
    assert (after["Version"], after["Description"]) == (3, "d")
    assert after["UserToApprove"] == [{"Id": str(signer.pk)}]
    assert docs.statuses(uuid.UUID(key)) == ["Superseded", "Superseded", "Awaiting Approval"]


def test_people_are_listed_in_the_order_in_which_they_were_sent_last(api: Any, site: Site) -> None:
    people = [{"Id": str(docs.make_signer(site).pk)} for _ in range(3)]
    body = docs.document_body(b"one", UserToReview=people, UserToNotify=people)
    key = api.post("/document/AddDocument", body).json()["Id"]
    for order in (people[::-1], [people[1], people[0], people[2]]):
        api.put(f"/document/UpdateDocument/{key}", docs.document_body(b"two", UserToReview=order))
        shape = api.get(f"/document/GetDocument/{key}").json()
        assert (shape["UserToReview"], shape["UserToNotify"]) == (order, people)


def test_changing_only_the_approvers_leaves_old_and_new_list_in_the_history(api: Any, site: Site) -> None:
    first, second = docs.make_signer(site), docs.make_signer(site)
    body = docs.document_body(UserToApprove=[{"Id": str(first.pk)}])
    key = api.post("/document/AddDocument", body).json()["Id"]
    body["UserToApprove"] = [{"Id": str(second.pk)}]
    api.put(f"/document/UpdateDocument/{key}", body)
    change = Change.objects.filter(record_id=key).latest("number")
    entry = next(one for one in change.fields if one["field"] == "user_to_approve")
    assert [one["id"] for one in entry["old"]] == [str(first.pk)]
    assert [one["id"] for one in entry["new"]] == [str(second.pk)]


@pytest.mark.parametrize("missing", ["Name", "FileType", "FileName", "FileContent"])
def test_an_update_without_a_required_field_changes_nothing(api: Any, files: Path, missing: str) -> None:
    key = api.post("/document/AddDocument", docs.document_body()).json()["Id"]
    body = docs.document_body()
    del body[missing]
    answer = api.put(f"/document/UpdateDocument/{key}", body)
    assert answer.status_code == 400
    assert [one["Field"] for one in answer.json()["Fields"]] == [missing]
    assert len(files_in(files)) == 1
    assert docs.statuses(uuid.UUID(key)) == ["Issued"]


def test_another_sites_document_is_404_and_no_file_stays(api: Any, other_site: Site, files: Path) -> None:
    document = docs.make_document(other_site)
    for key in (document.pk, uuid.uuid4()):
        assert api.put(f"/document/UpdateDocument/{key}", docs.document_body()).status_code == 404
    assert len(files_in(files)) == 1


def test_a_stale_if_match_is_412_and_stores_nothing(api: Any, files: Path) -> None:
    key = api.post("/document/AddDocument", docs.document_body()).json()["Id"]
    tag = api.get(f"/document/GetDocument/{key}")["ETag"]
    assert api.put(f"/document/UpdateDocument/{key}", docs.document_body(), **{"If-Match": tag}).status_code == 200
    answer = api.put(f"/document/UpdateDocument/{key}", docs.document_body(), **{"If-Match": tag})
    assert answer.status_code == 412
    assert len(files_in(files)) == 2


def test_there_is_no_version_after_the_last_number(api: Any) -> None:
    key = api.post("/document/AddDocument", docs.document_body(Version=2_147_483_647)).json()["Id"]
    answer = api.put(f"/document/UpdateDocument/{key}", docs.document_body())
    assert answer.status_code == 400
    assert api.get(f"/document/GetDocument/{key}").json()["Version"] == 2_147_483_647


@pytest.mark.django_db(transaction=True)
def test_parallel_updates_give_the_next_numbers_without_gap_or_repeat(site: Site, files: Path) -> None:
    document = docs.make_document(site)
    works = [lambda: docs.add_version(document) for _ in range(6)]
    results = make.at_once(*works)
    assert not [one for one in results if isinstance(one, Exception)]
    versions = DocumentVersion.objects.filter(document=document).order_by("version")
    assert [one.version for one in versions] == [1, 2, 3, 4, 5, 6, 7]
    assert docs.statuses(document) == ["Superseded"] * 6 + ["Issued"]
    assert len({one.path for one in versions}) == len(files_in(files)) == 7
    assert Change.objects.filter(record_id=document.pk).count() == 7


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_round", range(3))
def test_an_approval_and_a_newer_file_at_once_leave_one_newest_and_one_in_force(site: Site, _round: int) -> None:
    approver = docs.make_signer(site)
    document = docs.make_document(site, user_to_approve=[])
    docs.add_version(document, user_to_approve=[approver])
    waiting = docs.version_of(document)
    results = make.at_once(
        lambda: docs.sign(waiting, approver, "approve"), lambda: docs.add_version(document, user_to_approve=[approver])
    )
    assert not isinstance(results[1], Exception)
    statuses = docs.statuses(document)
    if isinstance(results[0], Exception):
        assert statuses == ["Issued", "Superseded", "Awaiting Approval"]
    else:
        assert statuses == ["Superseded", "Approved", "Awaiting Approval"]
    document = Document.objects.get(pk=document.pk)
    in_force = DocumentVersion.objects.get(document=document, record_status__in=IN_FORCE)
    assert document.effective_version == in_force.version
    newest = DocumentVersion.objects.get(document=document, record_status__in=WAITING)
    assert (
        (document.version, document.record_status) == (newest.version, newest.record_status) == (3, "Awaiting Approval")
    )


@pytest.mark.django_db(transaction=True)
def test_two_signatures_at_once_move_the_version_exactly_once(site: Site) -> None:
    first, second, approver = (docs.make_signer(site) for _ in range(3))
    document = docs.make_document(site, user_to_review=[first, second], user_to_approve=[approver])
    version = docs.version_of(document)
    results = make.at_once(lambda: docs.sign(version, first), lambda: docs.sign(version, second))
    assert not [one for one in results if isinstance(one, Exception)], results
    assert docs.statuses(document) == ["Awaiting Approval"]
    assert Signature.objects.filter(version=version).count() == 2
    assert Notice.objects.filter(kind=Notice.Kind.APPROVE, user=approver).count() == 1
    results = make.at_once(
        lambda: docs.sign(version, approver, "approve"), lambda: docs.sign(version, approver, "approve")
    )
    assert len([one for one in results if isinstance(one, Exception)]) == 1
    assert docs.statuses(document) == ["Approved"]
    assert Signature.objects.filter(version=version, user=approver).count() == 1
