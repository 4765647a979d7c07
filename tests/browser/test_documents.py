"""A document's way into force, walked by three people in three browsers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from documents.models import Document, Signature
from records.accounts.models import DefaultRole, User
from records.sites.models import Site
from tests import make
from tests.browser.test_looks import faults_shown, with_axe
from tests.make import documents as docs
from tests.make.pdfs import pdf, texts_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def choose(page: Page, name: str, user: User) -> None:
    """Choose a person in a field that looks its choices up."""
    script = "([name, id, text]) => document.getElementsByName(name)[0].add(new Option(text, id, true, true))"
    page.evaluate(script, [name, str(user.pk), str(user)])


def sign(page: Page, document: str) -> None:
    """Open what waits in the inbox, sign it with the password, and be back in the inbox."""
    page.goto("/admin/documents/inbox/")
    page.get_by_role("link", name=document, exact=True).click()
    page.check("input[name=decision][value=sign]")
    page.fill("input[name=password]", make.PASSWORD)
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.get_by_text("Nothing waits for your signature.")).to_be_visible()


@pytest.fixture
def files(settings: Any, tmp_path: Path) -> Path:
    """Keep the test's files in a folder of its own, and return it."""
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": str(tmp_path / "files")}
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    return tmp_path


def test_three_people_bring_a_document_into_force(site: Site, files: Path, page_of: Callable[[User], Page]) -> None:
    manager = docs.make_signer(site, DefaultRole.MANAGER)
    reviewer, approver = docs.make_signer(site, DefaultRole.READER), docs.make_signer(site)
    procedure = files / "Rückruf.txt"
    procedure.write_text("Call the hotline.\n" * 1000)

    page = page_of(manager)
    page.goto("/admin/documents/document/add/")
    page.fill("input[name=name]", "Product recall")
    page.set_input_files("input[name=file]", procedure)
    choose(page, "user_to_review", reviewer)
    choose(page, "user_to_approve", approver)
    page.click("[name=_save]")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Awaiting Review")

    second = page_of(reviewer)
    sign(second, "Product recall")
    third = page_of(approver)
    third.goto("/admin/documents/inbox/")
    with third.expect_download() as waiting:
        third.get_by_role("link", name="Rückruf.txt").click()
    assert waiting.value.suggested_filename == "Rückruf.txt"
    assert Path(waiting.value.path()).read_bytes() == procedure.read_bytes()
    sign(third, "Product recall")

    document = Document.objects.get()
    assert (document.record_status, document.effective_version) == ("Approved", 1)
    assert [one.user for one in Signature.objects.order_by("date")] == [reviewer, approver]
    second.goto(f"/admin/documents/document/{document.pk}/versions/")
    expect(second.get_by_text("In force")).to_be_visible()
    with second.expect_download() as waiting:
        second.get_by_role("link", name="Rückruf.txt").click()
    assert Path(waiting.value.path()).read_bytes() == procedure.read_bytes()


def test_a_reader_presses_the_button_and_saves_a_numbered_copy(
    site: Site, files: Path, page_of: Callable[..., Page]
) -> None:
    document = docs.make_document(site, pdf("Wash your hands."), name="Hand washing", file_name="hands.pdf")
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.READER), site))
    page.goto(f"/admin/documents/document/{document.pk}/")
    assert faults_shown(page, "a document") == []
    for number in (1, 2):
        expect(page.locator("form[data-sending]")).to_have_count(0)
        with page.expect_download() as download:
            # On a busy machine two presses of the mouse can lie apart by what lets the form be sent again.
            button = page.get_by_role("button", name="Print a controlled copy (PDF)")
            button.evaluate("(one) => { one.click(); setTimeout(() => one.click(), 100); }")
        assert download.value.suggested_filename == f"Hand washing - version 1 - copy {number}.pdf"
        assert f"Copy {number}" in texts_of(download.value.path().read_bytes())[0]
    page.reload()
    expect(page.get_by_text("Copy 2 is the newest one")).to_be_visible()
    assert faults_shown(page, "a document") == []
