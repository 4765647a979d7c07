"""The operations of attachments: what is stored, who may attach to what, and who sees it."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from records.accounts import access
from records.accounts.models import DefaultRole
from records.attachments import actions
from records.attachments.models import Attachment
from records.complaints import workflow
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.conftest import Api
from tests.make import documents as docs
from tests.make.actions import make_action
from tests.make.attachments import MAKERS, make_attachment
from tests.make.audits import make_audit, make_program
from tests.make.complaints import make_complaint, required_of
from tests.make.items import make_item

READER, STANDARD, MANAGER = DefaultRole.READER, DefaultRole.STANDARD, DefaultRole.MANAGER
CONTENT = b"\x89PNG\r\n" + bytes(range(256)) * 40


def api_of(site: Site, role: DefaultRole) -> Api:
    """Return a client with a key of somebody in the role."""
    return Api(make.make_key(site, role))


def body(record: Any, **fields: Any) -> dict[str, Any]:
    """Return a body for AddAttachment."""
    defaults = {"RecordId": str(record.pk), "FileName": "crate.png", "FileType": "image/png"}
    return {**defaults, "FileContent": docs.base64_of(CONTENT), **fields}


def attach(api: Api, record: Any, **fields: Any) -> Any:
    """Send AddAttachment."""
    return api.post("/attachment/AddAttachment", body(record, **fields))


@pytest.mark.parametrize("kind", MAKERS)
def test_a_file_is_attached_to_a_record_of_any_kind_and_reads_back_as_it_was_sent(site: Site, kind: str) -> None:
    api, record = api_of(site, MANAGER), MAKERS[kind](site)
    key = attach(api, record, Name="The crate", Description="Its rim.").json()["Id"]
    shape = api.get(f"/attachment/GetAttachment/{key}").json()
    assert shape.pop("Created")
    assert shape == {
        "Id": key,
        "RecordId": str(record.pk),
        "FindingId": None,
        "Name": "The crate",
        "Description": "Its rim.",
        "FileName": "crate.png",
        "FileType": "image/png",
        "FileSize": len(CONTENT),
        "FileHash": docs.sha256(CONTENT),
        "FileContent": "",
        "FileURL": "",
        "IsArchived": False,
        "CreatedBy": str(api.key.user.pk),  # type: ignore[union-attr]
    }
    both = json.loads(api.get(f"/attachment/GetAttachment/{key}?WithContent=true&WithURL=true").getvalue())
    assert both["FileContent"] == docs.base64_of(CONTENT)
    download = Api().get(both["FileURL"].removeprefix("http://127.0.0.1:8000"))
    assert download.getvalue() == CONTENT
    assert download["Content-Disposition"].startswith("attachment;")
    assert [row["Id"] for row in api.get(f"/attachment/GetAttachmentList?recordId={record.pk}").json()] == [key]
    change = Change.objects.get(record_id=key)
    assert (change.operation, change.record_name) == ("AddAttachment", "The crate")


def test_a_file_is_attached_to_one_finding_of_an_audit(site: Site) -> None:
    api, audit = api_of(site, MANAGER), make_audit(make_program(site))
    finding = audit.findings.create(question="Are the crates whole?")
    key = attach(api, audit, FindingId=str(finding.pk)).json()["Id"]
    assert api.get(f"/attachment/GetAttachment/{key}").json()["FindingId"] == str(finding.pk)
    for record in (make_audit(make_program(site)), make_item(site)):
        answer = attach(api, record, FindingId=str(finding.pk))
        assert (answer.status_code, answer.json()["Fields"][0]["Field"]) == (400, "FindingId")


@pytest.mark.parametrize("kind", ["another site's", "unknown", "an attachment", "a draft"])
def test_a_record_that_the_site_does_not_show_is_no_such_record(site: Site, other_site: Site, kind: str) -> None:
    record_id = {
        "another site's": lambda: make_item(other_site).pk,
        "unknown": uuid.uuid4,
        "an attachment": lambda: make_attachment(site).pk,
        "a draft": lambda: workflow.add_draft(site.pk, {}, author=make.SYSTEM).pk,
    }[kind]()
    before = Attachment.objects.count()
    answer = attach(api_of(site, MANAGER), make_item(site), RecordId=str(record_id))
    assert (answer.status_code, answer.json()["Message"]) == (400, "RecordId: No such record at this site.")
    assert Attachment.objects.count() == before


@pytest.mark.parametrize("kind", ["document", "archived document", "action"])
def test_a_record_that_is_hidden_from_the_caller_is_no_such_record(site: Site, kind: str) -> None:
    """A document without a version in force, and what is about it, do not exist below Manager."""
    hidden: Any = docs.make_document(site, user_to_review=[docs.make_signer(site)])
    if kind == "action":
        hidden = make_action(site, about=hidden)
    elif kind == "archived document":
        make.archive(hidden)
    answer = attach(api_of(site, STANDARD), hidden)
    assert (answer.status_code, answer.json()["Message"]) == (400, "RecordId: No such record at this site.")
    assert not Attachment.objects.exists()
    assert attach(api_of(site, MANAGER), hidden).status_code == (409 if kind == "archived document" else 200)


def test_nobody_attaches_to_an_archived_record_and_no_file_is_left(site: Site, settings: Any) -> None:
    item = make_item(site)
    make.archive(item, reason="Sold.")
    answer = attach(api_of(site, MANAGER), item)
    assert (answer.status_code, answer.json()["Error"]) == (409, "InvalidTransition")
    assert not Attachment.objects.exists()


@pytest.mark.parametrize(
    ("kind", "lowest"),
    [
        ("action", STANDARD),
        ("complaint", STANDARD),
        ("audit", MANAGER),
        ("customer", MANAGER),
        ("document", MANAGER),
        ("employee", MANAGER),
        ("item", MANAGER),
        ("material", MANAGER),
    ],
)
def test_whoever_may_change_the_record_may_attach_to_it(site: Site, kind: str, lowest: DefaultRole) -> None:
    record = MAKERS[kind](site)
    order = [READER, STANDARD, MANAGER]
    for role in order:
        answer = attach(api_of(site, role), record)
        assert answer.status_code == (200 if order.index(role) >= order.index(lowest) else 403), (kind, role)


def test_only_managers_attach_to_a_completed_complaint(site: Site) -> None:
    complaint = make_complaint(site)
    workflow.complete(site.pk, complaint.pk, review_report="Sorted.", author=make.SYSTEM)
    answer = attach(api_of(site, STANDARD), complaint)
    assert (answer.status_code, answer.json()["Error"]) == (409, "InvalidTransition")
    assert attach(api_of(site, MANAGER), complaint).status_code == 200


def test_a_complaint_that_is_completed_during_the_upload_is_closed_to_it(site: Site) -> None:
    complaint = make_complaint(site)

    class Slow:
        """A file during whose upload a Manager completes the complaint."""

        size, sha256 = len(CONTENT), docs.sha256(CONTENT)

        def pieces(self) -> Iterator[bytes]:
            workflow.complete(site.pk, complaint.pk, review_report="Sorted.", author=make.SYSTEM)
            yield CONTENT

    values = {"record_id": complaint.pk, "file_name": "crate.png", "file_type": "image/png"}
    may = access.asking(make.make_user(site=site, role=STANDARD), site)
    with pytest.raises(ValidationError, match="only a Manager"):
        actions.add_attachment(site.pk, values, Slow(), author=make.SYSTEM, may=may)
    assert not Attachment.objects.exists()


def test_owning_a_complaint_gives_nobody_more_rights_than_their_role(site: Site) -> None:
    api = api_of(site, STANDARD)
    complaint = make_complaint(site, owner=api.key.user)  # type: ignore[union-attr]
    workflow.complete(site.pk, complaint.pk, review_report="Sorted.", author=make.SYSTEM)
    answer = attach(api, complaint)
    assert (answer.status_code, answer.json()["Error"]) == (409, "InvalidTransition")
    assert not Attachment.objects.exists()


@pytest.mark.parametrize(("kind", "lowest"), [("complaint", STANDARD), ("employee", MANAGER), ("item", READER)])
def test_an_attachment_is_seen_by_whoever_sees_what_is_private_to_its_record(
    site: Site, kind: str, lowest: DefaultRole
) -> None:
    record = MAKERS[kind](site)
    key = make_attachment(site, on=record).pk
    url = api_of(site, MANAGER).get(f"/attachment/GetAttachment/{key}?WithURL=true").json()["FileURL"]
    assert Api().get(url.removeprefix("http://127.0.0.1:8000")).getvalue()
    order = [READER, STANDARD, MANAGER]
    for role in order:
        api, sees = api_of(site, role), order.index(role) >= order.index(lowest)
        for switch in ("", "?WithContent=true", "?WithURL=true"):
            read = api.get(f"/attachment/GetAttachment/{key}{switch}")
            assert read.getvalue()
            assert read.status_code == (200 if sees else 404), (role, switch)
        for query in ({}, {"recordId": str(record.pk)}):
            response = api.get("/attachment/GetAttachmentList", query)
            assert [row["Id"] for row in response.json()] == ([str(key)] if sees else [])
            assert response["X-Total-Count"] == str(int(sees))


def test_what_is_on_a_draft_appears_when_the_draft_is_submitted(site: Site) -> None:
    api = api_of(site, MANAGER)
    draft = workflow.add_draft(site.pk, required_of(site), author=make.SYSTEM)
    key = make_attachment(site, on=draft).pk
    assert api.get(f"/attachment/GetAttachment/{key}").status_code == 404
    assert api.get("/attachment/GetAttachmentList").json() == []
    workflow.submit(site.pk, draft.pk, author=make.SYSTEM)
    assert api.get(f"/attachment/GetAttachment/{key}").status_code == 200
    assert len(api.get("/attachment/GetAttachmentList").json()) == 1


def test_an_archived_attachment_leaves_the_list_and_can_still_be_read(site: Site) -> None:
    api, attachment = api_of(site, READER), make_attachment(site)
    make.archive(attachment, reason="Wrong photo.")
    assert api.get("/attachment/GetAttachmentList").json() == []
    assert [row["IsArchived"] for row in api.get("/attachment/GetAttachmentList?isArchived=true").json()] == [True]
    assert api.get(f"/attachment/GetAttachment/{attachment.pk}").json()["IsArchived"] is True
    with pytest.raises(ValidationError):
        make.archive(attachment, archived=False, reason=" ")


def test_a_site_holds_so_many_bytes_and_no_more(site: Site, other_site: Site, settings: Any) -> None:
    settings.SITE_ATTACHMENTS_LIMIT = len(CONTENT) + 10
    api, item = api_of(site, MANAGER), make_item(site)
    assert attach(api, item).status_code == 200
    answer = attach(api, item)
    assert (answer.status_code, answer.json()["Error"]) == (413, "PayloadTooLarge")
    assert Attachment.objects.count() == 1
    assert attach(api_of(other_site, MANAGER), make_item(other_site)).status_code == 200


@pytest.mark.parametrize("content", ["", "abc", "!!!!", None, 5, {"a": 1}])
def test_what_is_not_a_file_is_refused(site: Site, content: Any) -> None:
    answer = attach(api_of(site, MANAGER), make_item(site), FileContent=content)
    assert answer.status_code == 400
    assert answer.json()["Fields"][0]["Field"] == "FileContent"


def test_a_file_above_the_limit_is_413(site: Site, settings: Any) -> None:
    settings.FILE_SIZE_LIMIT = 100
    assert attach(api_of(site, MANAGER), make_item(site)).status_code == 413


def test_a_retry_under_one_idempotency_key_attaches_once(site: Site) -> None:
    api, item = api_of(site, MANAGER), make_item(site)
    answers = [
        api.send("POST", "/attachment/AddAttachment", body(item), **{"Idempotency-Key": "a"}).json() for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert Attachment.objects.count() == 1
