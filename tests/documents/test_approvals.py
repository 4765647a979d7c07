"""Review and approval: whose turn it is, what a signature demands and keeps, what it moves."""

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from documents import actions, approvals
from documents.models import Document, Signature, Signer
from records.accounts import actions as account_actions
from records.files.storage import FileDamagedError
from records.history.models import Change
from records.sites.models import Site
from records.sites.writing import RecordNotFoundError, archive_record
from tests import make
from tests.documents.conftest import files_in
from tests.make import documents as docs


def codes(error_info: pytest.ExceptionInfo[ValidationError]) -> list[str]:
    """Return the codes of a refusal's faults."""
    error = error_info.value
    faults = (
        [fault for error_list in error.error_dict.values() for fault in error_list]
        if hasattr(error, "error_dict")
        else error.error_list
    )
    return [str(fault.code) for fault in faults]


def test_a_version_goes_through_its_reviewers_and_approvers_into_force(site: Site) -> None:
    first, second, third, fourth = (docs.make_signer(site) for _ in range(4))
    document = docs.make_document(site, b"one", user_to_review=[first, second], user_to_approve=[third, fourth])
    version = docs.version_of(document)
    statuses = [docs.statuses(document)]
    for user, step in ((second, "sign_review"), (first, "sign_review"), (third, "approve"), (fourth, "approve")):
        docs.sign(version, user, step)
        statuses.append(docs.statuses(document))
    assert [one[0] for one in statuses] == [
        "Awaiting Review",
        "Awaiting Review",
        "Awaiting Approval",
        "Awaiting Approval",
        "Approved",
    ]
    document = Document.objects.get(pk=document.pk)
    assert (document.record_status, document.effective_version) == ("Approved", 1)
    signatures = Signature.objects.filter(version=version)
    assert [(one.user, one.meaning) for one in signatures] == [
        (second, "Reviewed"),
        (first, "Reviewed"),
        (third, "Approved"),
        (fourth, "Approved"),
    ]
    assert {one.file_hash for one in signatures} == {docs.sha256(b"one")}
    assert {one.user_name for one in signatures} == {one.printed_name for one in (first, second, third, fourth)}
    changes = Change.objects.filter(record_id=document.pk).order_by("number")
    assert [change.operation for change in changes] == ["AddDocument", "SignReview", "SignReview", "Approve", "Approve"]
    assert {"signatures", "versions.record_status", "record_status", "effective_version"} <= {
        entry["field"] for entry in changes[4].fields
    }


def test_reviewed_by_all_and_approved_by_nobody_is_issued_never_approved(site: Site) -> None:
    reviewer = docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[reviewer])
    docs.sign(docs.version_of(document), reviewer)
    assert docs.statuses(document) == ["Issued"]


def test_the_version_in_force_stays_so_until_the_new_one_is(site: Site) -> None:
    approver = docs.make_signer(site)
    document = docs.make_document(site)
    docs.add_version(document, user_to_approve=[approver])
    assert docs.statuses(document) == ["Issued", "Awaiting Approval"]
    assert Document.objects.get(pk=document.pk).effective_version == 1
    docs.sign(docs.version_of(document), approver, "approve")
    assert docs.statuses(document) == ["Superseded", "Approved"]
    assert Document.objects.get(pk=document.pk).effective_version == 2


def test_a_rejection_needs_a_comment_and_sends_the_version_back(site: Site) -> None:
    reviewer, other = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[reviewer, other])
    version = docs.version_of(document)
    with pytest.raises(ValidationError) as error_info:
        docs.sign(version, reviewer, "reject", comment=" \n")
    assert codes(error_info) == ["RequiredField"]
    docs.sign(version, reviewer, "reject", comment="Step 3 is missing.")
    assert docs.statuses(document) == ["Awaiting Change"]
    with pytest.raises(ValidationError) as error_info:
        docs.sign(version, other)
    assert codes(error_info) == ["InvalidTransition"]
    docs.add_version(document)
    assert docs.statuses(document) == ["Superseded", "Awaiting Review"]
    signature = Signature.objects.get(version=version)
    assert (signature.meaning, signature.comment) == ("Rejected", "Step 3 is missing.")


def test_a_newer_file_supersedes_the_one_that_waits_and_its_signers_are_asked_anew(site: Site) -> None:
    reviewer = docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[reviewer])
    first = docs.version_of(document)
    docs.add_version(document)
    assert docs.statuses(document) == ["Superseded", "Awaiting Review"]
    with pytest.raises(ValidationError) as error_info:
        docs.sign(first, reviewer)
    assert codes(error_info) == ["InvalidTransition"]
    assert [one.version for one in approvals.waiting_for(reviewer)] == [docs.version_of(document)]


@pytest.mark.parametrize("step", ["sign_review", "approve", "reject"])
def test_a_signature_demands_the_signers_own_password(site: Site, step: str) -> None:
    signer = docs.make_signer(site)
    lists: dict[str, Any] = {"user_to_approve" if step == "approve" else "user_to_review": [signer]}
    document = docs.make_document(site, **lists)
    version = docs.version_of(document)
    more = {"comment": "No."} if step == "reject" else {}
    for password in ("", "wrong", make.PASSWORD + " "):
        with pytest.raises(ValidationError) as error_info:
            docs.sign(version, signer, step, password=password, **more)
        assert list(error_info.value.error_dict) == ["password"]
    assert not Signature.objects.exists()
    assert docs.statuses(document) == [version.record_status]


def test_whoever_uploaded_a_version_cannot_approve_it(site: Site) -> None:
    uploader, successor = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(site, author=make.author_of(uploader), user_to_approve=[uploader])
    version = docs.version_of(document)
    with pytest.raises(ValidationError) as error_info:
        docs.sign(version, uploader, "approve")
    assert codes(error_info) == ["Forbidden"]
    signer = Signer.objects.get(version=version)
    approvals.replace_signer(signer.pk, successor, reason="Uploaded it.", author=make.SYSTEM)
    docs.sign(version, successor, "approve")
    assert docs.statuses(document) == ["Approved"]


def test_only_whoever_is_asked_signs_and_only_in_turn_and_once(site: Site, other_site: Site) -> None:
    reviewer, second, approver, stranger = (docs.make_signer(site) for _ in range(4))
    document = docs.make_document(site, user_to_review=[reviewer, second], user_to_approve=[approver])
    version = docs.version_of(document)
    for user, step in ((stranger, "sign_review"), (approver, "approve"), (reviewer, "approve"), (approver, "reject")):
        with pytest.raises(ValidationError):
            docs.sign(version, user, step, **({"comment": "x"} if step == "reject" else {}))
    docs.sign(version, reviewer)
    with pytest.raises(ValidationError):
        docs.sign(version, reviewer)
    with pytest.raises(RecordNotFoundError):
        docs.sign(version, docs.make_signer(other_site))
    account_actions.end_access(second, author=make.SYSTEM)
    with pytest.raises(RecordNotFoundError):
        docs.sign(version, second)
    assert Signature.objects.count() == 1


def test_a_damaged_file_cannot_be_signed(site: Site, files: Path) -> None:
    reviewer = docs.make_signer(site)
    document = docs.make_document(site, b"whole", user_to_review=[reviewer])
    files_in(files)[0].write_bytes(b"other")
    with pytest.raises(FileDamagedError):
        docs.sign(docs.version_of(document), reviewer)
    assert not Signature.objects.exists()


def test_an_absent_signer_is_replaced_with_a_reason_and_given_signatures_stay(site: Site, other_site: Site) -> None:
    present, away, deputy = (docs.make_signer(site) for _ in range(3))
    document = docs.make_document(site, user_to_review=[present, away])
    version = docs.version_of(document)
    docs.sign(version, present)
    absent = Signer.objects.get(version=version, user=away)
    refusals: list[tuple[Any, Any, str]] = [
        (absent, deputy, " "),
        (absent, present, "Away."),
        (absent, docs.make_signer(other_site), "Away."),
        (Signer.objects.get(version=version, user=present), deputy, "Away."),
    ]
    for signer, successor, reason in refusals:
        with pytest.raises(ValidationError):
            approvals.replace_signer(signer.pk, successor, reason=reason, author=make.SYSTEM)
    approvals.replace_signer(absent.pk, deputy, reason="On leave.", author=make.SYSTEM)
    assert set(Document.objects.get(pk=document.pk).user_to_review.all()) == {present, deputy}
    change = Change.objects.filter(record_id=document.pk).latest("number")
    assert (change.operation, change.reason) == ("ReplaceSigner", "On leave.")
    assert {"signers.user", "user_to_review"} <= {entry["field"] for entry in change.fields}
    with pytest.raises(ValidationError):
        docs.sign(version, away)
    docs.sign(version, deputy)
    assert docs.statuses(document) == ["Issued"]
    assert Signature.objects.filter(version=version).count() == 2


def test_an_inbox_shows_what_waits_for_this_person_now(site: Site) -> None:
    reviewer, approver = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[reviewer], user_to_approve=[approver])
    version = docs.version_of(document)
    assert [one.version for one in approvals.waiting_for(reviewer)] == [version]
    assert not approvals.waiting_for(approver)
    docs.sign(version, reviewer)
    assert not approvals.waiting_for(reviewer)
    assert [one.version for one in approvals.waiting_for(approver)] == [version]


def test_an_archived_document_waits_for_nobody(site: Site) -> None:
    reviewer = docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[reviewer])
    archive_record(
        Document, site.pk, document.pk, archived=True, author=make.SYSTEM, operation="ArchiveDocument", reason="Gone."
    )
    assert not approvals.waiting_for(reviewer)
    with pytest.raises(ValidationError) as error_info:
        docs.sign(docs.version_of(document), reviewer)
    assert codes(error_info) == ["InvalidTransition"]


def test_details_change_without_a_new_version_and_not_who_signs_a_waiting_one(site: Site) -> None:
    signer, other = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[signer])
    actions.change_details(site.pk, document.pk, {"name": "New", "user_to_notify": [other]}, author=make.SYSTEM)
    assert docs.statuses(document) == ["Awaiting Review"]
    with pytest.raises(ValidationError) as error_info:
        actions.change_details(site.pk, document.pk, {"user_to_review": [other]}, author=make.SYSTEM)
    assert codes(error_info) == ["InvalidTransition"]
    docs.sign(docs.version_of(document), signer)
    actions.change_details(site.pk, document.pk, {"user_to_approve": [other]}, author=make.SYSTEM)
    document = Document.objects.get(pk=document.pk)
    assert (document.name, document.version, document.record_status) == ("New", 1, "Issued")
    docs.add_version(document)
    assert docs.statuses(document) == ["Issued", "Awaiting Review"]
