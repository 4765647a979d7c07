"""An auditor's pack from the form to the download, and a lot traced, in the browsers of a Manager and a Reader."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole
from records.packs.models import Pack, Status
from records.sites.models import Site
from tests import make
from tests.browser.test_looks import faults_at, faults_shown, with_axe
from tests.browser.waiting import follow
from tests.make import packs
from tests.make.attachments import make_attachment
from tests.make.backoffice import address
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PageOf = Callable[..., Page]


def test_a_manager_makes_a_pack_sees_it_become_ready_and_downloads_it(
    site: Site, page_of: PageOf, tmp_path: Path
) -> None:
    complaint = make_complaint(site, trace_number="L26330-1")
    make_attachment(site, on=complaint, content=b"A photo.", file_name="photo.jpg")
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site))
    page.goto("/admin/")
    page.get_by_role("link", name="Auditor's packs").click()
    expect(page.get_by_text("You have not made a pack of this site yet.")).to_be_visible()
    faults = faults_shown(page, "no packs")
    page.get_by_role("link", name="New pack").click()
    follow(page.get_by_role("link", name="This year"))
    expect(page.get_by_label("Complaints")).to_have_accessible_description("1 by their date")
    page.get_by_label("Materials").uncheck()
    page.get_by_label("First day").fill("2001-01-01")
    follow(page.get_by_role("button", name="Count again"))
    expect(page.get_by_label("Materials")).not_to_be_checked()
    faults += faults_shown(page, "new pack")
    page.get_by_role("button", name="Make the pack").click()
    expect(page.get_by_text("Waiting for the worker")).to_be_visible()
    faults += faults_shown(page, "waiting pack")
    pack = Pack.objects.get()
    Pack.objects.update(status=Status.MAKING, done=3, total=4)
    expect(page.get_by_text("Being made, 75 %")).to_be_visible()
    packs.make_pack.call(str(pack.pk))
    link = page.get_by_role("link", name="Download")
    expect(link).to_be_visible()
    expect(page.locator("[data-said]")).to_contain_text("No pack is being made any more.")
    faults += faults_shown(page, "ready pack")
    with page.expect_download() as download:
        link.click()
    download.value.save_as(tmp_path / "pack.zip")
    assert download.value.suggested_filename.startswith(f"Auditor pack {site.name} 2001-01-01 to ")
    with zipfile.ZipFile(tmp_path / "pack.zip") as archive:
        assert archive.read("attachments/Complaints/1 photo.jpg") == b"A photo."
        assert "records/materials.xlsx" not in archive.namelist()
        archive.extractall(tmp_path)
    assert packs.check(tmp_path)[0] == 0
    contents = (tmp_path / "Contents.html").as_uri()
    reader = page.context.browser
    assert reader is not None
    plain = with_axe(reader.new_context().new_page())
    plain.goto(contents)
    faults += faults_shown(plain, "Contents.html")
    plain.context.close()
    assert faults == []


def test_a_manager_traces_a_lot_from_a_complaint_and_prints_the_answer(site: Site, page_of: PageOf) -> None:
    corner: Any = make_customer(site, name="Corner Bakery")
    complaint = make_complaint(site, trace_number="L26330-1", customer=corner, consumer_last_name="Berg")
    make_complaint(site, complaint_description="Also of L26330-1.", customer=corner)
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site))
    page.goto(address(complaint, "read"))
    page.get_by_role("link", name="Trace", exact=True).click()
    expect(page.get_by_label("Trace numbers, lots or serial numbers")).to_have_value("L26330-1")
    expect(page.get_by_role("heading", name="Which customers (1)")).to_be_visible()
    customers = page.get_by_role("region", name="Which customers (1)")
    expect(customers.get_by_role("row", name="Corner Bakery")).to_contain_text("2")
    expect(page.get_by_text("Berg")).to_be_visible()
    faults = faults_shown(page, "trace")
    with page.expect_download() as download:
        page.get_by_role("link", name="Print (PDF)").click()
    assert download.value.suggested_filename == "trace-L26330-1.pdf"
    page.get_by_label("Trace numbers, lots or serial numbers").fill("L2633O-1\nL26330-1")
    follow(page.get_by_role("button", name="Trace"))
    page.get_by_role("link", name="L26330-1", exact=True).first.click()
    expect(page.get_by_label("Trace numbers, lots or serial numbers")).to_have_value("L26330-1")
    faults += faults_at(page, "/admin/trace/")
    faults += faults_at(page, "/admin/trace/?lots=zebra")
    assert faults == []


def test_a_reader_traces_a_lot_on_a_phone_without_private_fields(site: Site, page_of: PageOf) -> None:
    make_complaint(site, trace_number="L26330-1", consumer_last_name="Berg", consumer_email="berg@mail.example")
    page = page_of(make.make_user(site=site, role=DefaultRole.READER), site, "phone")
    page.goto("/admin/search/?q=L26330-1")
    page.get_by_role("link", name="Trace “L26330-1” as a lot").click()
    expect(page.get_by_role("heading", name="At a glance")).to_be_visible()
    expect(page.get_by_role("heading", name="Complaints (1)")).to_be_visible()
    expect(page.get_by_text("Berg")).to_have_count(0)
    expect(page.get_by_text("berg@")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page.locator(".menu > summary").click()
    expect(page.get_by_role("link", name="Trace a lot")).to_be_visible()
    expect(page.get_by_role("link", name="Auditor's packs")).to_have_count(0)
