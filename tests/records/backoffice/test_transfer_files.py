"""What files may hold: formulas, spreadsheets' dates and numbers, other encodings, and whatever is malformed."""

import datetime
import io
import re
import zipfile
from decimal import Decimal
from typing import Any

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from records.backoffice.transfer import files
from records.backoffice.transfer.formulas import guard, unguard
from records.complaints.models import Complaint
from records.history.models import Change
from records.items.models import Item
from records.sites.models import Site
from tests.make.backoffice import browser
from tests.make.complaints import make_complaint, required_of
from tests.make.items import make_item
from tests.make.transfer import as_book, as_csv, as_xlsx, bring_in, check, export, faults, page, table, text_of

CLOCK = datetime.datetime(2024, 5, 17, 14, 30, tzinfo=datetime.UTC).replace(tzinfo=None)
FORMULAS = ["=cmd|' /C calc'!A0", "@SUM(1+1)", "+49 123", "-1+1", "\t=1", "\n=1", "\uff1d1", "=1\n=2", "'=1", "''+1"]


@pytest.mark.parametrize("text", [*FORMULAS, "-5", "-0.25", "'-5", "plain", "'quoted'", "'", "", "a=1"])
def test_guarded_text_is_restored_exactly(text: str) -> None:
    assert unguard(guard(text)) == text


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_exported_text_never_runs_as_a_formula_and_comes_back_as_it_was(site: Site, text: str, kind: str) -> None:
    complaint = make_complaint(site, complaint_description=text, quantity=Decimal("5"))
    client = browser(site)
    data = export(client, Complaint, kind)
    if kind == "csv":
        assert table(data)[0]["ComplaintDescription"] == f"'{text}"
    else:
        sheet = openpyxl.load_workbook(io.BytesIO(data)).active
        cells = [cell for row in sheet.iter_rows() for cell in row]
        assert not [cell for cell in cells if cell.data_type == "f"]
        assert f"'{text}" in [cell.value for cell in cells]
    assert check(client, Complaint, data).context["unchanged"] == 1
    Complaint.objects.filter(pk=complaint.pk).update(complaint_description="")
    bring_in(client, Complaint, data)
    assert Complaint.objects.get().complaint_description == text


def test_true_negative_numbers_stay_numbers(site: Site) -> None:
    from records.customers.models import Customer
    from tests.make.customers import make_customer

    make_customer(site, lng="-0.1278", lat="-5")
    client = browser(site)
    row = table(export(client, Customer))[0]
    assert (row["Lng"], row["Lat"]) == ("-0.1278", "-5")
    complaint = make_complaint(site, quantity=Decimal("123456789.0100"))
    assert table(export(client, Complaint))[0]["Quantity"] == "123456789.01"
    sheet = openpyxl.load_workbook(io.BytesIO(export(client, Complaint, "xlsx"))).active
    by_name = {head.value: cell for head, cell in zip(sheet[1], sheet[2], strict=True)}
    assert (by_name["Quantity"].value, by_name["Quantity"].data_type) == (123456789.01, "n")
    assert by_name["SiteSequenceId"].value == complaint.site_sequence_id


def test_a_spreadsheets_cells_are_read_as_their_columns_hold(site: Site) -> None:
    required = required_of(site)
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["CustomerId", "ProductId", "NonconformanceId", "TraceNumber", "Quantity", "Date", "ManufactureDate"])
    whom = [required["customer"].name, required["product"].name, required["nonconformance"].name]
    sheet.append([*whom, 123, 0.1, datetime.date(2024, 5, 17), 45429])
    sheet["D2"].number_format = "00000"
    sheet.append([*whom, "00042", 12345678901.2345, CLOCK, datetime.date(2024, 5, 1)])
    sheet.append([*whom, 12.5, 1, "2024-05-17T08:30:00+02:00", None])
    file = io.BytesIO()
    book.save(file)
    Site.objects.filter(pk=site.pk).update(time_zone="Europe/Oslo")
    bring_in(browser(site), Complaint, file.getvalue())
    utc = datetime.UTC
    assert list(
        Complaint.objects.order_by("site_sequence_id").values_list(
            "trace_number", "quantity", "date", "manufacture_date"
        )
    ) == [
        (
            "00123",
            Decimal("0.1"),
            datetime.datetime(2024, 5, 17, tzinfo=utc),
            datetime.datetime(2024, 5, 17, tzinfo=utc),
        ),
        (
            "00042",
            Decimal("12345678901.2345"),
            datetime.datetime(2024, 5, 17, 12, 30, tzinfo=utc),
            datetime.datetime(2024, 5, 1, tzinfo=utc),
        ),
        ("12.5", Decimal(1), datetime.datetime(2024, 5, 17, 6, 30, tzinfo=utc), None),
    ]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("=1+1", "Cell B2 contains a formula"),
        (1234567890123456, "keeps only 15 digits"),
        ("x" * 256, "at most 255 characters"),
    ],
)
def test_a_cell_that_cannot_be_meant_is_refused(site: Site, cell: Any, words: str) -> None:
    report = check(browser(site), Item, as_xlsx([["Name", "SerialNumber"], ["Scale", cell]]))
    assert words.casefold() in faults(report)[2][0].casefold()
    assert faults(report)[2][0].startswith("SerialNumber: ")
    assert not Item.objects.exists()


def _zip(**entries: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


def _sheet(rows: bytes) -> bytes:
    """Return a workbook whose sheet has these rows and nothing else."""
    return _zip(**{"xl/worksheets/sheet1.xml": b"<worksheet><sheetData>" + rows + b"</sheetData></worksheet>"})


with zipfile.ZipFile(io.BytesIO(as_xlsx([["Name"], ["Scale"]]))) as _archive:
    PARTS = {name: _archive.read(name) for name in _archive.namelist()}
TEXTS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
WITH_TEXTS = PARTS["[Content_Types].xml"].replace(
    b"</Types>", f'<Override PartName="/{files.TEXTS}" ContentType="{TEXTS}"/></Types>'.encode()
)


MALFORMED_FILES = {
    "empty": (b"", "empty"),
    "blank": (b"\n\n  ", "empty"),
    "header alone": (b"Name,Code\r\n", "no row under it"),
    "first row blank": (b"\nName\nx\n", "first row is empty"),
    "latin-1": ("Name\nK\xe6se\n".encode("latin-1"), "not encoded in UTF-8"),
    "binary": (b"Name\n\x00\x01\n", "neither a CSV nor an XLSX"),
    "quote left open": (b'Name\n"Scale\n', "not a well-formed CSV"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1", "old format"),
    "damaged": (b"PK\x03\x04 nothing", "damaged"),
    "no workbook": (_zip(hello=b"x"), "damaged"),
    "bomb": (_zip(hello=b"0" * (files.MOST_UNPACKED + 1)), "unpacks to more"),
    "bomb of shared texts": (
        _zip(**{**PARTS, "[Content_Types].xml": WITH_TEXTS, files.TEXTS: b"<sst>" + b"<si/>" * 400_000}),
        "more texts or styles",
    ),
    "bomb of styles": (
        _zip(**{**PARTS, "xl/styles.xml": b"<fonts>" + b"<font/>" * files.MOST_MARKUP}),
        "more texts or styles",
    ),
    "bomb of relations": (
        _zip(**{**PARTS, "xl/worksheets/_rels/sheet1.xml.rels": b"<r/>" * (files.MOST_MARKUP + 1)}),
        "more texts or styles",
    ),
    "bomb of parts": (_zip(**{f"x{n}": b"" for n in range(files.MOST_PARTS + 1)}), "unpacks to more"),
    "bomb of one row": (_sheet(b"<row>" + b"<c/>" * files.MOST_ELEMENTS_OF_ROW + b"</row>"), "more cells than"),
    "bomb of rows in a row": (_sheet(b"<row>" + (b"<row/>" + b"<c/>" * 999) * 30 + b"</row>"), "more cells than"),
    "duplicate": (b"Name,name\nx,y\n", "occurs twice"),
    "nameless": (b"Name,,Code\nx,y,z\n", "Column 2 of the header has no name"),
    "unknown": (b"Name,SerialNo\nx,y\n", "Did you mean SerialNumber?"),
    "nothing to import": (b"Id,Created\n1,2\n", "No column of the file can be imported"),
    "too many rows": (b"Name\n" + b"x\n" * (files.MOST_ROWS + 1), f"more than {files.MOST_ROWS} rows"),
    "too many columns": (b",".join(b"Name" for _ in range(300)) + b"\nx\n", "more than 200 columns"),
    "too large": (b"Name\n" + b"x" * files.MOST_BYTES, "larger than 5 MiB"),
    "huge cell": (b"Name\n" + b"x" * 200_000 + b"\n", "not a well-formed CSV"),
}


@pytest.mark.parametrize("name", MALFORMED_FILES)
def test_a_malformed_file_gets_a_clear_message(site: Site, name: str) -> None:
    data, words = MALFORMED_FILES[name]
    response = check(browser(site), Item, data)
    assert response.status_code == 200
    assert words in text_of(response).replace("&#x27;", "'"), text_of(response)
    assert not Change.objects.filter(channel="Import").exists()
    assert not Item.objects.exists()


def test_a_broken_sheet_inside_a_workbook_gets_a_clear_message(site: Site) -> None:
    client = browser(site)
    for name in PARTS:
        for content in (b"", b"<a>", PARTS[name][: len(PARTS[name]) // 2]):
            response = check(client, Item, _zip(**{**PARTS, name: content}))
            assert response.status_code == 200, name


def test_all_cells_of_all_sheets_together_are_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    data = as_xlsx([["Name"], ["Scale"], ["Oven"]])
    client = browser(site)
    assert "more cells than" not in text_of(check(client, Item, data))
    monkeypatch.setattr(files, "MOST_ELEMENTS", 5)
    assert "more cells than" in text_of(check(client, Item, data))


def test_a_sheet_that_is_named_twice_and_too_many_sheets_are_not_read(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser(site)
    sheet = re.search(rb"<sheet [^>]*/>", PARTS["xl/workbook.xml"])
    assert sheet is not None
    again = sheet[0].replace(b'name="Sheet"', b'name="Again"').replace(b'sheetId="1"', b'sheetId="2"')
    named_twice = PARTS["xl/workbook.xml"].replace(sheet[0], sheet[0] + again)
    assert "more sheets than" in text_of(check(client, Item, _zip(**{**PARTS, "xl/workbook.xml": named_twice})))
    several = as_book(Items=[["Name"], ["Scale"]], Notes=[["Seen"]], Plans=[["Later"]])
    assert "more sheets than" not in text_of(check(client, Item, several))
    monkeypatch.setattr(files, "MOST_SHEETS", 2)
    assert "more sheets than" in text_of(check(client, Item, several))


def test_what_a_reader_never_opens_may_be_long_and_what_it_opens_may_not(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_MARKUP", 2_000)
    long = b"<calcChain>" + b'<c r="A1"/>' * 3_000 + b"</calcChain>"
    unread_parts = dict.fromkeys(
        ("xl/calcChain.xml", "xl/pivotCache/pivotCacheRecords1.xml", "xl/drawings/drawing1.xml"), long
    )
    assert check(browser(site), Item, _zip(**PARTS, **unread_parts)).context["added"] == 1
    styles = PARTS["xl/styles.xml"].replace(b"<numFmts", b"<!-- -->" * 3_000 + b"<numFmts")
    report = check(browser(site), Item, _zip(**{**PARTS, "xl/styles.xml": styles}))
    assert "more texts or styles than can be read" in text_of(report)
    as_sheet = PARTS["xl/_rels/workbook.xml.rels"].replace(b"/xl/worksheets/sheet1.xml", b"/xl/calcChain.xml")
    book = {**PARTS, "xl/_rels/workbook.xml.rels": as_sheet, "xl/calcChain.xml": long}
    assert "more texts or styles than can be read" in text_of(check(browser(site), Item, _zip(**book)))


@pytest.mark.parametrize("part", ["/xl/sharedStrings.xml", "/xl/worksheets/book.xml"])
def test_no_part_passes_for_one_that_may_have_more_markup(site: Site, part: str) -> None:
    types = PARTS["[Content_Types].xml"]
    assert b"/xl/workbook.xml" in types
    moved_types = types.replace(b"/xl/workbook.xml", part.encode())
    book = {**PARTS, "[Content_Types].xml": moved_types, part.lstrip("/"): PARTS["xl/workbook.xml"]}
    assert "damaged" in text_of(check(browser(site), Item, _zip(**book)))


def test_an_upload_beyond_the_limit_is_refused_before_it_is_read(site: Site) -> None:
    client = browser(site)
    response = client.post(page(Item, "import"), {"file": SimpleUploadedFile("a.csv", b"x" * 12 * 1024 * 1024)})
    assert response.status_code == 413


def test_no_file_and_a_post_without_token_are_refused(site: Site) -> None:
    client = browser(site)
    assert "Choose a file." in text_of(client.post(page(Item, "import"), {}))
    client.handler.enforce_csrf_checks = True
    response = client.post(page(Item, "import"), {"file": SimpleUploadedFile("a.csv", b"Name\nx\n")})
    assert response.status_code == 403


@pytest.mark.parametrize(
    "data",
    [
        b"Name;Code\r\nScale, large;007\r\n",
        "Name\tCode\nScale, large\t007\n".encode("utf-16"),
        '\ufeffname,CODE\n\n"Scale, large",007\n,\n'.encode(),
    ],
)
def test_separators_and_encodings_of_spreadsheets_are_understood(site: Site, data: bytes) -> None:
    bring_in(browser(site), Item, data)
    assert Item.objects.values_list("name", "code").get() == ("Scale, large", "007")


def test_row_numbers_are_those_that_a_spreadsheet_shows(site: Site) -> None:
    report = check(browser(site), Item, b'Name,Notes\nA,"two\nlines"\n\n,x\nB,x,y\n')
    assert faults(report) == {
        4: ["Name: This field is required."],
        5: ["The row has more cells than the header."],
    }


def test_control_characters_are_refused_by_name(site: Site) -> None:
    report = check(browser(site), Item, as_csv([{"Name": "a\x07b"}]))
    assert faults(report) == {2: ["Name: Control characters are not allowed in text."]}


def test_what_a_workbook_cannot_hold_is_exported_as_csv_only(site: Site) -> None:
    make_item(site, notes="\uffff")
    client = browser(site)
    answer: Any = client.get(page(Item, "export", "xlsx"))
    assert answer.status_code == 302
    assert "Export as CSV instead" in text_of(client.get(answer.url))
    assert table(export(client, Item))[0]["Notes"] == "\uffff"
    assert client.get(page(Item, "import").replace("import", "export/pdf")).status_code == 404
