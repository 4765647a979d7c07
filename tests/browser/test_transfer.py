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
from records.items.models import Item
from records.sites.models import Site
from tests import make
from tests.make.backoffice import list_address
from tests.make.complaints import make_complaint
from tests.make.items import make_item
from tests.make.transfer import table


def accessible(page: Page) -> None:
    """Fail on every serious or critical violation."""
    found = Axe().run(page).response["violations"]
    assert not [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]


@pytest.mark.django_db(transaction=True)
def test_a_manager_imports_a_file(site: Site, page_of: Callable[[User], Page]) -> None:
    item = make_item(site, name="Scale", location="Hall 1")
    page: Any = page_of(make.make_user(site=site, role=DefaultRole.MANAGER))
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/admin/items/item/")
    page.click("text=Import")
    accessible(page)

    def upload(content: str) -> None:
        page.set_input_files("input[name=file]", {"name": "a.csv", "mimeType": "text/csv", "buffer": content.encode()})
        page.click("text=Check the file")

    upload(f"Id,Name,Location\n{item.pk},,Hall 2\n")
    assert "Name: This field is required." in page.inner_text("main")
    accessible(page)
    page.click("text=Choose another file")
    upload(f"Id,Name,Location\n{item.pk},Scale,Hall 2\n,Oven,Hall 3\n")
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.fill("textarea[name=change_reason]", "Moved")
    page.click("button:text-is('Import')")
    assert "Imported: 1 added, 1 changed, 0 unchanged." in page.inner_text("main")
    assert set(Item.objects.values_list("name", "location")) == {("Scale", "Hall 2"), ("Oven", "Hall 3")}


@pytest.mark.django_db(transaction=True)
def test_a_reader_saves_a_list_as_csv_and_xlsx(site: Site, page_of: Callable[..., Page], tmp_path: Path) -> None:
    noon = datetime.datetime(2024, 5, 17, 12, 30, tzinfo=datetime.UTC)
    make_complaint(site, trace_number="00123", date=noon, manufacture_date=noon, complaint_description="=1+1")
    make_complaint(site, trace_number="L2")
    page = page_of(make.make_user(site=site, role=DefaultRole.READER), site)
    page.goto(f"{list_address(Complaint)}?q=00123")
    expect(page.get_by_role("link", name="Import", exact=True)).to_have_count(0)

    def saved(kind: str) -> Path:
        with page.expect_download() as started:
            page.get_by_role("link", name=f"Export {kind}", exact=True).click()
        file = tmp_path / started.value.suggested_filename
        started.value.save_as(file)
        return file

    as_text, as_book = saved("CSV"), saved("XLSX")
    assert (as_text.suffix, as_book.suffix) == (".csv", ".xlsx")
    # Only what the list was narrowed to.
    [row] = table(as_text.read_bytes())
    sheet: Any = openpyxl.load_workbook(as_book).active
    heads, cells = sheet.iter_rows()
    in_book = {head.value: cell for head, cell in zip(heads, cells, strict=True)}
    assert [*in_book] == [*row]
    for name, held in {
        "TraceNumber": "00123",
        "ComplaintDescription": "'=1+1",
        "Date": "2024-05-17T12:30:00.000Z",
        "ManufactureDate": "2024-05-17T12:30:00.000Z",
    }.items():
        assert (row[name], in_book[name].value, in_book[name].data_type) == (held, held, "s")
