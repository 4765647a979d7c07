"""Actions from every place, photos and their proof, causes, retention periods and an erasure, each in its role."""

import hashlib
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect
from pypdf import PdfReader

from records.accounts.models import DefaultRole
from records.actions.models import Action, Status
from records.attachments.models import Attachment
from records.complaints.models import Complaint
from records.history.trail import now
from records.history.verification import verify
from records.reference.models import Cause
from records.sites.models import Site
from tests.browser.test_jobs import staff, take
from tests.browser.test_looks import faults_shown, with_axe
from tests.browser.waiting import follow, next_request
from tests.make.actions import make_action, move
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint, make_entry
from tests.make.documents import make_document

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PageOf = Callable[..., Page]
PLACE = "North of the mill"


def photo() -> bytes:
    """Return a picture that says where it was taken."""
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x010E] = PLACE
    exif.get_ifd(0x8825)[1] = "N"
    Image.new("RGB", (800, 600), "red").save(out, "JPEG", exif=exif)
    return out.getvalue()


def test_actions_are_made_from_a_complaint_a_document_and_alone_and_are_chased(site: Site, page_of: PageOf) -> None:
    boss, judge = staff(site, DefaultRole.MANAGER), staff(site, DefaultRole.MANAGER)
    for effective in (True, False):
        move(move(make_action(site, owner=boss), Status.DONE, boss), Status.CLOSED, judge, effective=effective)
    complaint, document = make_complaint(site), make_document(site, name="Sieving")
    page = page_of(boss, site)

    def add(name: str) -> None:
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Due", exact=True).fill("2026-01-05")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".messages")).to_contain_text("was added successfully")

    for record, name in ((complaint, "Change the sieve"), (document, "Rewrite step 4")):
        page.goto(address(record, "read"))
        page.get_by_role("button", name="Add an action").click()
        expect(page.get_by_text(re.compile("^About "))).to_contain_text(str(record))
        add(name)
        page.goto(address(record, "read"))
        expect(page.get_by_role("region", name="Actions", exact=True)).to_contain_text(name)
    page.goto(list_address(Action))
    page.get_by_role("link", name=re.compile("^Add")).first.click()
    add("Order spare sieves")

    page.goto("/admin/")
    mine = page.get_by_role("region", name=re.compile("My actions"))
    for name in ("Change the sieve", "Rewrite step 4", "Order spare sieves"):
        expect(mine.get_by_role("link", name=name)).to_be_visible()
    expect(page.get_by_role("figure", name="Effectiveness of actions")).to_contain_text("1 of 2 actions closed")
    ageing = page.get_by_role("figure", name="Ageing of actions")
    ageing.get_by_text("Show as a table").click()
    ageing.get_by_role("row", name=re.compile("Overdue for more than 90 days 3")).get_by_role("link").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(3)
    page.goto(f"{list_address(Action)}?mine=yes")
    expect(page.get_by_role("row", name=re.compile("Order spare sieves"))).to_contain_text("Overdue")

    page.goto(address(complaint, "read"))
    with page.expect_download() as download:
        page.get_by_role("link", name="Print (PDF)").click()
    paper = PdfReader(io.BytesIO(download.value.path().read_bytes()))
    assert "Change the sieve" in " ".join(page.extract_text() for page in paper.pages)


def test_a_photo_shows_its_progress_hides_its_place_is_proven_and_archived(site: Site, page_of: PageOf) -> None:
    complaint, content = make_complaint(site), photo()
    page = with_axe(page_of(staff(site, DefaultRole.MANAGER), site, "phone"))
    page.goto(address(complaint, "read"))
    camera = page.get_by_label("Take a photo")
    expect(camera).to_have_attribute("capture", "environment")
    expect(page.get_by_text(re.compile(r"This site's attachments use 0.bytes of"))).to_be_visible()
    waiting: list[Route] = []
    page.route(re.compile("/attachments/on/"), lambda route: waiting.append(route))
    camera.set_input_files({"name": "crumb.jpg", "mimeType": "image/jpeg", "buffer": content})
    page.get_by_role("button", name="Attach", exact=True).click()
    expect(page.get_by_role("progressbar", name="crumb.jpg")).to_be_visible()
    expect(page.get_by_text("1 still to be sent.")).to_be_visible()
    next_request(page, waiting).continue_()
    expect(page.get_by_text("1 file attached.")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    expect(page.get_by_text(hashlib.sha256(content).hexdigest())).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    faults = faults_shown(page, "complaint with a photo")
    preview = page.request.get(page.get_by_role("img", name="Preview of crumb.jpg").get_attribute("src") or "").body()
    assert dict(Image.open(io.BytesIO(preview)).getexif()) == {}
    assert PLACE.encode() in content
    assert PLACE.encode() not in preview
    url = page.get_by_role("link", name="crumb.jpg", exact=True).get_attribute("href") or ""
    assert page.request.get(url).body() == content

    follow(page.get_by_role("link", name="Details of crumb.jpg"))
    faults += faults_shown(page, "attachment")
    page.get_by_role("button", name="More", exact=True).click()
    take(page, "Archive", Reason_for_change="Shows somebody's face.")
    assert Attachment.objects.get().is_archived
    page.goto(address(complaint, "read"))
    expect(page.get_by_text("No file is attached yet.")).to_be_visible()
    page.goto(address(complaint, "history"))
    expect(page.get_by_role("main")).to_contain_text("Shows somebody's face.")
    assert faults == []


def test_the_causes_of_complaints_are_compared_and_lead_to_their_list(site: Site, page_of: PageOf) -> None:
    torn, worn = make_entry(Cause, site, "Torn sieve"), make_entry(Cause, site, "Worn belt")
    for cause, answered_on in ((torn, now()), (torn, None), (worn, None)):
        Complaint.objects.filter(pk=make_complaint(site).pk).update(cause=cause, answered_on=answered_on)
    page = page_of(staff(site, DefaultRole.READER), site)
    page.goto(list_address(Complaint))
    page.get_by_role("link", name="Show as charts").click()
    expect(page.get_by_role("figure", name="Response times")).to_contain_text("1 complaint was answered")
    causes = page.get_by_role("figure", name="Complaints by cause")
    causes.get_by_text("Show as a table").click()
    expect(causes.get_by_role("row").nth(1)).to_contain_text("Torn sieve")
    causes.get_by_role("row", name=re.compile("Torn sieve 2")).get_by_role("link").click()
    expect(page.locator("#result_list tbody tr")).to_have_count(2)


def test_a_site_administrator_sets_how_long_complaints_are_kept_and_erases_a_consumer(
    site: Site, page_of: PageOf
) -> None:
    who: dict[str, Any] = {"consumer_last_name": "Przybylski", "consumer_email": "p@mail.example"}
    complaint = make_complaint(site, trace_number="L26-7", **who)
    page = page_of(staff(site, DefaultRole.SITE_ADMINISTRATOR), site)
    page.goto("/admin/")
    page.locator("summary", has_text="Administration").click()
    page.get_by_role("link", name="Retention periods").click()
    page.get_by_role("link", name=re.compile("^Add")).first.click()
    page.get_by_label("Kind of record").select_option(label="Complaints")
    page.get_by_label("Keep at least (months)").fill("36")
    follow(page.get_by_role("button", name="Save", exact=True))
    page.goto(address(complaint, "read"))
    expect(page.get_by_text(f"Kept at least until {now().year + 3}-")).to_be_visible()

    page.get_by_role("link", name="Erase the consumer").click()
    expect(page.get_by_text("It stays; only personal data is erased.")).to_be_visible()
    page.get_by_label("Reason for erasing").fill("Mr Przybylski asked for it")
    page.get_by_role("button", name="Erase the consumer").click()
    expect(page.get_by_text("so it must not say what is erased").first).to_be_visible()
    page.get_by_label("Reason for erasing").fill("Asked by letter")
    page.get_by_role("button", name="Erase the consumer").click()
    expect(page.get_by_text("The consumer was erased from")).to_be_visible()
    for where in (address(complaint, "read"), address(complaint, "history"), "/admin/trace/?lots=L26-7"):
        page.goto(where)
        expect(page.get_by_text("Przybylski")).to_have_count(0)
        expect(page.get_by_text("p@mail.example")).to_have_count(0)
    page.goto(address(complaint, "history"))
    expect(page.get_by_text("“Asked by letter”")).to_be_visible()
    assert not verify().faults
