"""Photos dropped on a complaint, and an action from a finding to its closing, in the browsers of three people."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from records.accounts.models import DefaultRole
from records.actions.models import Action, Status
from records.attachments.models import Attachment
from records.sites.models import Site
from tests import make
from tests.browser.waiting import follow
from tests.make.attachments import jpeg
from tests.make.audits import make_audit, make_program
from tests.make.backoffice import address
from tests.make.complaints import make_complaint

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DROP = """([names, bytes]) => {
  const dropped = new DataTransfer();
  for (const name of names) dropped.items.add(new File([new Uint8Array(bytes)], name, { type: "image/jpeg" }));
  document.querySelector("[data-attachments]").dispatchEvent(
    new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: dropped }));
}"""


@pytest.fixture
def files(settings: Any, tmp_path: Path) -> Path:
    """Keep the test's files in a folder of its own, and return it."""
    options = {**settings.STORAGES["default"]["OPTIONS"], "location": str(tmp_path / "files")}
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": options}
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    return tmp_path


def test_photos_are_dropped_and_chosen_and_what_was_typed_stays(
    site: Site, files: Path, page_of: Callable[..., Page]
) -> None:
    complaint = make_complaint(site)
    page = page_of(make.make_user(site=site, role=DefaultRole.STANDARD), site)
    page.goto(address(complaint))
    page.get_by_label("Trace number").fill("L26057-2")
    page.get_by_label("Description", exact=True).last.fill("As the shop sent it.")
    page.evaluate(DROP, [["one.jpg", "two.jpg"], list(jpeg())])
    expect(page.get_by_text("2 files attached.")).to_be_visible()
    expect(page.get_by_text("No file is attached yet.")).to_have_count(0)
    preview = page.get_by_role("img", name="Preview of one.jpg")
    preview.scroll_into_view_if_needed()
    page.wait_for_function("image => image.complete && image.naturalWidth > 0", arg=preview.element_handle())
    page.set_input_files("#attachment-files", {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""})
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_text("empty.txt: The file is empty.")).to_be_visible()
    page.set_input_files("#attachment-photo", {"name": "three.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_role("link", name="three.jpg", exact=True)).to_be_visible()
    assert page.get_by_label("Trace number").input_value() == "L26057-2"
    assert set(Attachment.objects.values_list("file_name", "description")) == {
        (name, "As the shop sent it.") for name in ("one.jpg", "two.jpg", "three.jpg")
    }


def test_a_file_is_attached_once_however_often_the_button_is_pressed_and_the_answer_is_lost(
    site: Site, files: Path, page_of: Callable[..., Page]
) -> None:
    complaint = make_complaint(site)
    page = page_of(make.make_user(site=site, role=DefaultRole.STANDARD), site)
    page.goto(address(complaint, "read"))
    requests = []

    def lose_the_first_answer(route: Route) -> None:
        requests.append(route.request)
        if len(requests) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route(re.compile("/attachments/on/"), lose_the_first_answer)
    page.set_input_files("#attachment-files", {"name": "one.jpg", "mimeType": "image/jpeg", "buffer": jpeg()})
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_text("one.jpg: The connection was lost. Try again.")).to_be_visible()
    page.get_by_role("button", name="Attach").dblclick()
    expect(page.get_by_role("link", name="one.jpg", exact=True)).to_have_count(1)
    assert len(requests) == 2
    assert Attachment.objects.count() == 1


def test_an_action_goes_from_a_finding_to_its_closing(site: Site, page_of: Callable[..., Page]) -> None:
    owner = make.make_user(site=site, role=DefaultRole.READER)
    managers = [make.make_user(site=site, role=DefaultRole.MANAGER) for _ in range(2)]
    audit = make_audit(make_program(site))
    audit.findings.create(question="Are the crates whole?")
    page = page_of(managers[0], site)
    page.goto(address(audit))
    page.get_by_label("About", exact=True).select_option(label="Are the crates whole?")
    follow(page.get_by_role("button", name="Add an action"))
    page.get_by_label("Name").fill("Replace the crates")
    page.get_by_label("Due").fill("2031-05-01")
    script = "([id, text]) => { const owner = document.getElementsByName('owner')[0];"
    page.evaluate(f"{script} owner.add(new Option(text, id, true, true)); }}", [str(owner.pk), str(owner)])
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was added successfully")).to_be_visible()

    mine = page_of(owner, site)
    mine.goto("/admin/")
    expect(mine.get_by_role("heading", name="My actions")).to_be_visible()
    mine.get_by_role("link", name="Replace the crates").click()
    mine.get_by_role("link", name="Mark as done").click()
    mine.get_by_label("Result").fill("Grey crates are in use.")
    mine.get_by_role("button", name="Mark as done").click()
    expect(mine.get_by_text("is Done and is waiting to be judged")).to_be_visible()

    judge = page_of(managers[1], site)
    judge.goto("/admin/")
    judge.get_by_role("link", name="Replace the crates").click()
    judge.get_by_role("link", name="Close", exact=True).click()
    judge.get_by_label("Yes, it worked").check()
    judge.get_by_role("button", name="Close").click()
    expect(judge.get_by_text("was closed.")).to_be_visible()
    action = Action.objects.get()
    assert (action.record_status, action.effective, action.closed_by) == (Status.CLOSED, True, managers[1])
    assert action.finding_id == audit.findings.get().pk
