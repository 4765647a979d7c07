"""Photos on every kind of record that takes them: the camera, dropping several, progress, proof and archiving."""

import hashlib
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect

from records.accounts.models import DefaultRole
from records.attachments.models import Attachment
from records.sites.models import Site
from tests import make
from tests.browser.test_actions_and_attachments import DROP
from tests.browser.test_follow_up import PLACE, photo
from tests.browser.test_jobs import staff, take
from tests.browser.waiting import follow, next_request
from tests.make.actions import make_action
from tests.make.audits import make_audit, make_program
from tests.make.backoffice import address
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.documents import make_document
from tests.make.items import make_item
from tests.make.materials import make_material

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PageOf = Callable[..., Page]


def a_finding(site: Site) -> Any:
    audit = make_audit(make_program(site))
    audit.findings.create(question="Are the crates whole?")
    return audit


KINDS: dict[str, Callable[[Site], Any]] = {
    "complaint": make_complaint,
    "finding": a_finding,
    "action": make_action,
    "item": make_item,
    "customer": make_customer,
    "employee": make.make_employee,
    "material": make_material,
    "document": make_document,
}


@pytest.mark.parametrize("kind", KINDS)
def test_photos_are_taken_and_dropped_on_a_record_proven_and_archived(site: Site, page_of: PageOf, kind: str) -> None:
    record, content = KINDS[kind](site), photo()
    page = page_of(staff(site, DefaultRole.MANAGER), site, "phone")
    page.goto(address(record, "read"))
    panel = page.get_by_role("region", name="Attachments", exact=True)
    expect(panel.get_by_text("No file is attached yet.")).to_be_visible()
    expect(panel.get_by_text(re.compile(r"A file may have .* This site's attachments use 0.bytes of "))).to_be_visible()
    if kind == "finding":
        panel.get_by_label("Belongs to").select_option(label="Are the crates whole?")

    waiting: list[Route] = []
    page.route(re.compile("/attachments/on/"), lambda route: waiting.append(route))
    camera = panel.get_by_label("Take a photo")
    expect(camera).to_have_attribute("capture", "environment")
    camera.set_input_files({"name": "taken.jpg", "mimeType": "image/jpeg", "buffer": content})
    panel.get_by_role("button", name="Attach", exact=True).click()
    expect(panel.get_by_role("progressbar", name="taken.jpg")).to_be_visible()
    next_request(page, waiting).continue_()
    expect(panel.get_by_role("status")).to_have_text("1 file attached.")
    page.unroute_all()
    page.evaluate(DROP, [["one.jpg", "two.jpg"], list(content)])
    expect(panel.get_by_role("status")).to_have_text("2 files attached.")

    expect(panel.get_by_role("progressbar")).to_have_count(0)
    expect(panel.get_by_role("listitem").filter(has_text="SHA-256")).to_have_count(3)
    expect(panel.get_by_text(hashlib.sha256(content).hexdigest())).to_have_count(3)
    expect(panel.get_by_text("use 0 bytes")).to_have_count(0)
    preview = page.request.get(panel.get_by_role("img", name="Preview of one.jpg").get_attribute("src") or "").body()
    assert PLACE.encode() not in preview
    assert dict(Image.open(io.BytesIO(preview)).getexif()) == {}
    url = panel.get_by_role("link", name="one.jpg", exact=True).get_attribute("href") or ""
    assert page.request.get(url).body() == content
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    if kind == "finding":
        expect(panel.get_by_text("On the finding: Are the crates whole?")).to_have_count(3)

    follow(panel.get_by_role("link", name="Details of two.jpg"))
    page.get_by_role("button", name="More", exact=True).click()
    take(page, "Archive", Reason_for_change="Shows somebody's face.")
    page.goto(address(record, "read"))
    expect(panel.get_by_role("link", name="one.jpg", exact=True)).to_be_visible()
    expect(panel.get_by_role("link", name="two.jpg", exact=True)).to_have_count(0)
    page.goto(address(record, "history"))
    expect(page.get_by_role("main")).to_contain_text("Shows somebody's face.")
    assert sorted(Attachment.objects.values_list("file_name", "is_archived")) == [
        ("one.jpg", False),
        ("taken.jpg", False),
        ("two.jpg", True),
    ]
