"""The back-office pages of documents, as people with different roles meet them."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from documents.actions import change_details
from documents.models import Document, Signer
from records.accounts.models import DefaultRole, User
from records.files import storage
from records.history.models import Change
from records.sites.models import Site
from tests import make
from tests.make import documents as docs
from tests.make.backoffice import form_of, press, sign_in

LIST = "/admin/documents/document/"
INBOX = "/admin/documents/inbox/"


@pytest.fixture
def manager(site: Site) -> User:
    """Return a Manager of the site."""
    return docs.make_signer(site, DefaultRole.MANAGER)


def upload(content: bytes = b"typed", name: str = "Händewaschen.txt") -> SimpleUploadedFile:
    """Return a file as a form sends it."""
    return SimpleUploadedFile(name, content, content_type="text/plain")


def test_a_document_is_added_with_its_file_and_goes_to_its_signers(site: Site, manager: User) -> None:
    reviewer = docs.make_signer(site)
    client = sign_in(manager)
    assert client.get(f"{LIST}add/").status_code == 200
    data = {"name": "Hygiene", "first_number": "3", "user_to_review": [str(reviewer.pk)], "file": upload()}
    answer = client.post(f"{LIST}add/", {**data, "description": "", "larder_site": str(site.pk)})
    assert answer.status_code == 302, answer.content.decode()
    document = Document.objects.get()
    assert (document.version, document.record_status, document.file_name) == (3, "Awaiting Review", "Händewaschen.txt")
    assert Change.objects.get(record_id=document.pk).channel == "Back-office"
    assert b"Hygiene" in client.get(LIST).content


def test_an_empty_or_too_large_file_is_refused_at_its_field(site: Site, manager: User, settings: Any) -> None:
    settings.FILE_SIZE_LIMIT = 10
    for content in (b"", b"x" * 11):
        answer = sign_in(manager).post(f"{LIST}add/", {"name": "Hygiene", "first_number": "1", "file": upload(content)})
        assert answer.status_code == 200
        assert answer.context["adminform"].form.errors["file"]
    assert not Document.objects.exists()


def test_a_newer_file_needs_a_reason_and_becomes_the_next_version(site: Site, manager: User) -> None:
    document = docs.make_document(site)
    path = f"{LIST}{document.pk}/do/upload/"
    client = sign_in(manager)
    assert client.get(path).status_code == 200
    assert press(client, path, {"file": upload()}).status_code == 200
    assert docs.statuses(document) == ["Issued"]
    assert press(client, path, {"file": upload(), "change_reason": "New tap."}).status_code == 302
    assert docs.statuses(document) == ["Superseded", "Issued"]
    assert Change.objects.filter(record_id=document.pk).latest("number").reason == "New tap."


def test_details_are_edited_without_a_new_version(site: Site, manager: User) -> None:
    document = docs.make_document(site, name="Old")
    client = sign_in(manager)
    page = client.get(f"{LIST}{document.pk}/change/")
    assert page.status_code == 200
    data = {**form_of(page), "name": "New", "review_date": "2031-01-15", "change_reason": "Renamed."}
    answer = client.post(f"{LIST}{document.pk}/change/", data)
    assert answer.status_code == 302, answer.content.decode()
    document = Document.objects.get()
    assert (document.name, document.version) == ("New", 1)
    assert document.review_date is not None
    assert document.review_date.isoformat() == "2031-01-15T00:00:00+00:00"
    assert docs.statuses(document) == ["Issued"]


def test_people_whose_access_ended_stay_listed_and_are_replaced_as_signers(site: Site, manager: User) -> None:
    approver, deputy, recipient = (docs.make_signer(site) for _ in range(3))
    document = docs.make_document(site, user_to_notify=[recipient])
    change_details(
        site.pk, document.pk, {"user_to_approve": [approver]}, author=make.SYSTEM, reason="He approves from now on."
    )
    User.objects.filter(pk__in=[approver.pk, recipient.pk]).update(is_active=False)
    client = sign_in(manager)
    page = f"{LIST}{document.pk}/change/"
    data = {**form_of(client.get(page)), "name": "Renamed", "change_reason": "Typing error."}
    assert client.post(page, data).status_code == 302
    assert (
        press(client, f"{LIST}{document.pk}/do/upload/", {"file": upload(), "change_reason": "New."}).status_code == 302
    )
    document.refresh_from_db()
    assert (document.name, document.record_status) == ("Renamed", "Awaiting Approval")
    assert [*document.user_to_notify.all()] == [recipient]
    [signer] = Signer.objects.filter(document=document)
    assert signer.user == approver
    place = f"{LIST}{document.pk}/signers/{signer.pk}/"
    assert client.post(place, {"user": str(deputy.pk), "change_reason": "He left."}).status_code == 302
    assert [*document.user_to_approve.all()] == [deputy]
    assert client.post(page, {**form_of(client.get(page)), "user_to_notify": [str(approver.pk)]}).status_code == 200


@pytest.mark.parametrize(
    ("duty", "decision", "message"),
    [
        ("user_to_review", "sign", "geprüft."),
        ("user_to_review", "reject", "abgelehnt."),
        ("user_to_approve", "sign", "freigegeben."),
    ],
)
def test_a_german_signer_is_told_in_german_what_was_signed(site: Site, duty: str, decision: str, message: str) -> None:
    signer = docs.make_signer(site)
    document = docs.make_document(site, b"content", name="Recall", **{duty: [signer]})
    version = docs.version_of(document)
    data = {"decision": decision, "password": make.PASSWORD, "comment": "Schritt 3 fehlt."}
    client = sign_in(signer)
    page = client.post(f"{INBOX}{version.pk}/", data, follow=True, headers={"accept-language": "de"}).text
    assert f"Recall, Fassung 1: {message}" in page


def test_a_signer_finds_opens_and_signs_what_waits(site: Site) -> None:
    reviewer = docs.make_signer(site, DefaultRole.READER)
    approver = docs.make_signer(site)
    document = docs.make_document(
        site, b"content", name="Recall", user_to_review=[reviewer], user_to_approve=[approver]
    )
    version = docs.version_of(document)
    client = sign_in(reviewer)
    assert b"Recall" in client.get(INBOX).content
    file = client.get(f"/admin/documents/file/{version.pk}/")
    assert file.getvalue() == b"content"
    assert file["Content-Disposition"].startswith("attachment")
    path = f"{INBOX}{version.pk}/"
    assert docs.sha256(b"content").encode() in client.get(path).content
    wrong = client.post(path, {"decision": "sign", "password": "wrong"})
    assert wrong.context["form"].errors == {"password": ["This is not your password."]}
    assert client.post(path, {"decision": "sign", "password": make.PASSWORD}).status_code == 302
    assert docs.statuses(document) == ["Awaiting Approval"]
    assert client.get(path)["Location"] == INBOX
    assert b"Recall" not in client.get(INBOX).content.replace(b"Recall, version 1: reviewed", b"")
    second = sign_in(approver)
    missing = second.post(path, {"decision": "reject", "password": make.PASSWORD, "comment": ""})
    assert missing.context["form"].errors["comment"]
    data = {"decision": "reject", "password": make.PASSWORD, "comment": "Too short."}
    assert second.post(path, data).status_code == 302
    assert docs.statuses(document) == ["Awaiting Change"]


def test_an_uploader_is_warned_and_offered_no_approval_of_the_own_version(site: Site, manager: User) -> None:
    client = sign_in(manager)
    data = {"name": "Hygiene", "first_number": "1", "user_to_approve": [str(manager.pk)], "larder_site": str(site.pk)}
    warning = "You uploaded this version, so you cannot approve it. Name somebody else."
    answer = client.post(f"{LIST}add/", {**data, "file": upload()}, follow=True)
    assert warning in answer.text
    document = Document.objects.get()
    newer = {"file": upload(), "change_reason": "New tap."}
    assert warning in press(client, f"{LIST}{document.pk}/do/upload/", newer, follow=True).text
    path = f"{INBOX}{docs.version_of(document).pk}/"
    page = client.get(path).text
    assert "I approve it" not in page
    assert ">Sign</button>" not in page
    client.post(path, {"decision": "sign", "password": make.PASSWORD})
    assert docs.statuses(document)[-1] == "Awaiting Approval"
    client.post(path, {"decision": "reject", "password": make.PASSWORD, "comment": "Wrong file."})
    assert docs.statuses(document)[-1] == "Awaiting Change"
    other = docs.make_document(site, user_to_approve=[docs.make_signer(site)])
    assert warning not in press(client, f"{LIST}{other.pk}/do/upload/", {**newer, "file": upload()}, follow=True).text


def test_guessing_the_password_of_a_signature_locks_as_signing_in_does(site: Site) -> None:
    reviewer = docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[reviewer])
    client = sign_in(reviewer)
    path = f"{INBOX}{docs.version_of(document).pk}/"
    answers = [client.post(path, {"decision": "sign", "password": f"guess{number}"}) for number in range(11)]
    assert answers[-1].status_code == 429
    assert client.post(path, {"decision": "sign", "password": make.PASSWORD}).status_code == 429
    assert docs.statuses(document) == ["Awaiting Review"]


def test_versions_show_signatures_and_two_are_compared(site: Site, manager: User) -> None:
    reviewer = docs.make_signer(site, given_name="Rita")
    document = docs.make_document(site, b"one", file_name="one.txt", user_to_review=[reviewer])
    docs.sign(docs.version_of(document), reviewer, comment="Clear.")
    docs.add_version(document, b"two", file_name="two.txt")
    client = sign_in(manager)
    text = client.get(f"{LIST}{document.pk}/versions/").content.decode()
    for part in ("Reviewed by Rita", "Clear.", "one.txt", "two.txt", "Awaiting Review", "In force"):
        assert part in text
    page = client.get(f"{LIST}{document.pk}/compare/?from=2&to=1").content.decode()
    assert docs.sha256(b"one") in page
    assert docs.sha256(b"two") in page
    for wrong in ("", "?from=1&to=9", "?from=1&to=1", "?from=x&to=1", "?from=1&to=\u00b2"):
        assert client.get(f"{LIST}{document.pk}/compare/{wrong}").status_code in (200, 302)


def test_a_manager_replaces_a_signer_and_others_do_not(site: Site, manager: User) -> None:
    away, deputy = docs.make_signer(site), docs.make_signer(site)
    document = docs.make_document(site, user_to_review=[away])
    signer = Signer.objects.get(document=document)
    path = f"{LIST}{document.pk}/signers/{signer.pk}/"
    assert sign_in(away).get(path).status_code == 403
    client = sign_in(manager)
    assert path in client.get(f"{LIST}{document.pk}/versions/").content.decode()
    assert client.get(path).status_code == 200
    assert client.post(path, {"user": str(deputy.pk)}).status_code == 200
    assert client.post(path, {"user": str(deputy.pk), "change_reason": "On leave."}).status_code == 302
    assert Signer.objects.get(pk=signer.pk).user == deputy


def test_pages_and_files_of_another_site_are_404(site: Site, other_site: Site, manager: User) -> None:
    document = docs.make_document(other_site)
    version = docs.version_of(document)
    client = sign_in(manager)
    for path in (
        f"{LIST}{document.pk}/versions/",
        f"{LIST}{document.pk}/compare/?from=1&to=1",
        f"/admin/documents/file/{version.pk}/",
    ):
        assert client.get(path).status_code == 404, path
    assert Client().get(f"/admin/documents/file/{version.pk}/").status_code == 302


def test_readers_see_and_do_not_change(site: Site) -> None:
    document = docs.make_document(site)
    client = sign_in(docs.make_signer(site, DefaultRole.READER))
    assert client.get(LIST).status_code == 200
    assert client.get(f"{LIST}{document.pk}/change/").status_code == 200
    assert client.get(f"{LIST}{document.pk}/versions/").status_code == 200
    assert client.get(f"{LIST}{document.pk}/do/upload/").status_code == 403
    assert client.post(f"{LIST}{document.pk}/change/", {"name": "x"}).status_code == 403


def test_pages_cost_the_same_for_few_and_many_versions(
    site: Site, manager: User, django_assert_max_num_queries: Any
) -> None:
    reviewers = [docs.make_signer(site) for _ in range(3)]
    document = docs.make_document(site, user_to_review=reviewers)
    client = sign_in(manager)
    client.get(f"{LIST}{document.pk}/versions/")
    for _ in range(6):
        docs.add_version(document)
    with django_assert_max_num_queries(14):
        assert client.get(f"{LIST}{document.pk}/versions/").status_code == 200
    client = sign_in(reviewers[0])
    for _ in range(6):
        docs.make_document(site, user_to_review=reviewers)
    with django_assert_max_num_queries(10):
        assert client.get(INBOX).status_code == 200


def test_a_damaged_file_is_named_and_not_signed(site: Site, files: Any) -> None:
    reviewer = docs.make_signer(site)
    version = docs.version_of(docs.make_document(site, b"whole", user_to_review=[reviewer]))
    (files / version.path).write_bytes(b"other")
    client = sign_in(reviewer)
    data = {"decision": "sign", "password": make.PASSWORD}
    answer = client.post(f"{INBOX}{version.pk}/", data)
    assert answer.status_code == 200
    assert "not what was stored" in str(answer.context["form"].non_field_errors())
    page = client.get(f"/admin/documents/file/{version.pk}/")
    assert page.status_code == 503
    assert page["Content-Type"].startswith("text/html")
    assert "<h1>The file cannot be opened</h1>" in page.text
    assert "Tell your administrator" in page.text
    assert 'href="/admin/"' in page.text
    german = client.get(f"/admin/documents/file/{version.pk}/", headers={"accept-language": "de"}).text
    assert "Die Datei" in german
    assert f'lang="en">The file of {version} is not what was stored' in german


def test_a_storage_that_is_away_is_said_on_a_page_with_when_to_try_again(
    site: Site, manager: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = docs.version_of(docs.make_document(site, b"whole"))

    def fail(row: Any) -> Any:
        raise storage.StorageUnavailableError

    monkeypatch.setattr(storage, "open_served", fail)
    page = sign_in(manager, site).get(f"/admin/documents/file/{version.pk}/", headers={"Accept-Language": "de"})
    assert (page.status_code, page["Retry-After"]) == (503, "30")
    assert "<h1>Im Moment nicht möglich</h1>" in page.text
    assert "öffnen Sie die Seite noch einmal" in page.text
