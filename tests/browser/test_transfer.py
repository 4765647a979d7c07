"""Importing and exporting files in a browser: the report, the reason, and what the files hold that are saved."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from records.accounts.models import DefaultRole, User
from records.complaints.models import Complaint
from records.customers.models import Customer
from records.history.models import Change
from records.items.models import Item
from records.sites.models import Site
from tests import make
from tests.browser.test_looks import faults_shown, wide_and_light, with_axe
from tests.browser.waiting import follow, settle
from tests.make.backoffice import address, list_address
from tests.make.complaints import make_complaint
from tests.make.customers import make_customer
from tests.make.items import make_item
from tests.make.transfer import as_book, table


def accessible(page: Page) -> None:
    """Fail on every serious or critical violation."""
    settle(page)
    violations = Axe().run(page).response["violations"]
    assert not [(one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in ("serious", "critical")]


@pytest.mark.django_db(transaction=True)
def test_a_manager_imports_a_file(site: Site, page_of: Callable[[User], Page]) -> None:
    item = make_item(site, name="Scale", location="Hall 1")
    page: Any = page_of(make.make_user(site=site, role=DefaultRole.MANAGER))
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/admin/items/item/")
    page.get_by_role("button", name="More", exact=True).click()
    follow(page.get_by_role("link", name="Import", exact=True))
    accessible(page)

    def upload(content: str) -> None:
        page.set_input_files("input[name=file]", {"name": "a.csv", "mimeType": "text/csv", "buffer": content.encode()})
        follow(page.get_by_role("button", name="Check the file"))

    upload(f"Id,Name,Location\n{item.pk},,Hall 2\n")
    expect(page.get_by_role("main")).to_contain_text("Name: This field is required.")
    accessible(page)
    page.click("text=Choose another file")
    upload(f"Id,Name,Location\n{item.pk},Scale,Hall 2\n,Oven,Hall 3\n")
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.fill("textarea[name=change_reason]", "Moved")
    page.click("button:text-is('Import')")
    expect(page.get_by_role("main")).to_contain_text("Imported: 1 added, 1 changed, 0 unchanged.")
    assert set(Item.objects.values_list("name", "location")) == {("Scale", "Hall 2"), ("Oven", "Hall 3")}


@pytest.mark.django_db(transaction=True)
def test_a_reader_saves_a_list_as_csv_and_xlsx(site: Site, page_of: Callable[..., Page], tmp_path: Path) -> None:
    noon = datetime.datetime(2024, 5, 17, 12, 30, tzinfo=datetime.UTC)
    make_complaint(site, trace_number="00123", date=noon, manufacture_date=noon, complaint_description="=1+1")
    make_complaint(site, trace_number="L2")
    page = page_of(make.make_user(site=site, role=DefaultRole.READER), site)
    page.goto(f"{list_address(Complaint)}?q=00123")
    expect(page.get_by_role("link", name="Import", exact=True)).to_have_count(0)
    as_text, as_book = (download(page, f"Export {kind}", tmp_path) for kind in ("CSV", "XLSX"))
    assert (as_text.suffix, as_book.suffix) == (".csv", ".xlsx")
    # Only what the list was narrowed to.
    [row] = table(as_text.read_bytes())
    assert row["Date"] == "2024-05-17 12:30"
    sheet: Any = openpyxl.load_workbook(as_book).active
    heads, cells = sheet.iter_rows()
    in_book = {head.value: cell for head, cell in zip(heads, cells, strict=True)}
    assert [*in_book] == [*row]
    for name, value, kind in (
        ("Trace number", "00123", "s"),
        ("Description", "'=1+1", "s"),
        ("Date", noon.replace(tzinfo=None), "d"),
    ):
        assert (in_book[name].value, in_book[name].data_type) == (value, kind)
    page.get_by_text("More exports").click()
    [row] = table(download(page, "CSV with the interface's names", tmp_path).read_bytes())
    assert (row["TraceNumber"], row["Date"]) == ("00123", "2024-05-17T12:30:00.000Z")


def download(page: Page, link: str, folder: Path) -> Path:
    """Press a link and return the file that the browser saves."""
    with page.expect_download() as download_info:
        page.get_by_role("link", name=link, exact=True).click()
    file = folder / download_info.value.suggested_filename
    download_info.value.save_as(file)
    return file


@pytest.mark.django_db(transaction=True)
def test_a_file_that_exists_already_is_matched_and_its_import_taken_back(
    site: Site, page_of: Callable[..., Page]
) -> None:
    make_customer(site, name="Oakfield Stores", code="C1", telephone="1")
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site))
    page.goto(list_address(Customer))
    page.get_by_role("link", name="Import", exact=True).click()
    expect(page.get_by_role("radio", name="Add a new customer")).to_be_checked()
    assert faults_shown(page, "import") == []
    wide_and_light(page)
    book = as_book(
        Customers=[["Name", "Code", "Telephone"], ["Oakfield Stores", "C1", 2], ["Mill Shop", "C2", 3]],
        Contacts=[["Customer", "First name", "Last name"], ["C2", "Nia", "Novak"]],
    )
    page.set_input_files("input[name=file]", {"name": "customers.xlsx", "mimeType": "", "buffer": book})
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_role("status").first).to_contain_text("1 row would add a customer whose code or name exists")
    assert faults_shown(page, "report") == []
    wide_and_light(page)
    page.get_by_label("What a row without an Id does").select_option(label=BY_CODE)
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_text("Check this")).to_have_count(0)
    page.get_by_label("Reason for change").fill("List of the sales department")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator(".messages")).to_contain_text("Imported: 1 added, 1 changed, 0 unchanged.")
    assert set(Customer.objects.values_list("name", "telephone")) == {("Oakfield Stores", "2"), ("Mill Shop", "3")}
    follow(page.get_by_role("link", name="Earlier imports of this list, to undo one"))
    assert faults_shown(page, "imports") == []
    wide_and_light(page)
    follow(page.get_by_role("link", name="Undo the import of customers.xlsx"))
    assert faults_shown(page, "take back") == []
    wide_and_light(page)
    follow(page.get_by_role("button", name="Undo"))
    expect(page.get_by_role("main")).to_contain_text("This field is required.")
    page.get_by_label("Reason for change").fill("The wrong list")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".messages")).to_contain_text("1 archived, 1 put back, 0 left as they are")
    rows = Customer.objects.values_list("name", "telephone", "is_archived")
    assert set(rows) == {("Oakfield Stores", "1", False), ("Mill Shop", "3", True)}


BY_CODE = "Change the customer that has the same code; add it if there is none"


@pytest.mark.django_db(transaction=True)
def test_a_history_is_saved_as_a_file_and_shown_whole_to_print(
    site: Site, page_of: Callable[..., Page], tmp_path: Path
) -> None:
    item = make_item(site, name="Scale")
    page = with_axe(page_of(make.make_user(site=site, role=DefaultRole.MANAGER), site))
    page.goto(address(item, "history"))
    assert {row["Record"] for row in table(download(page, "Export CSV", tmp_path).read_bytes())} == {"Scale"}
    assert faults_shown(page, "history") == []
    wide_and_light(page)
    follow(page.get_by_role("link", name="All on one page, to print"))
    page.emulate_media(media="print")
    expect(page.get_by_role("link", name="Export CSV")).to_be_hidden()
    expect(page.locator(".trail")).to_be_visible()
    page.emulate_media(media="screen")
    page.goto(list_address(Change))
    assert download(page, "Export XLSX", tmp_path).read_bytes().startswith(b"PK")
    assert faults_shown(page, "changes") == []
