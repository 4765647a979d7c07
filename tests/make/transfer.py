"""Plain functions that export lists and import files through the back-office's pages."""

import csv
import io
import re
from typing import Any

import openpyxl
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse


def page(model: Any, name: str, *args: str) -> str:
    """Return the address of a page of the model's list."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


def export(client: Client, model: Any, kind: str = "csv", query: str = "", part: str = "interface") -> bytes:
    """Return the exported file: in the interface's words, or of another part of the export's address."""
    response: Any = client.get(page(model, "export", kind, *filter(None, [part])) + query)
    assert response.status_code == 200, response.status_code
    return b"".join(response.streaming_content)


def table(data: bytes) -> list[dict[str, str]]:
    """Return the rows of an exported CSV file by column."""
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    """Return rows as a CSV file whose header is the first row's keys."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def as_xlsx(rows: list[list[Any]]) -> bytes:
    """Return lines of cells as a workbook; openpyxl cells may be made by the caller's values."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def as_book(**sheets: list[list[Any]]) -> bytes:
    """Return a workbook whose sheets have these titles and lines of cells."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def sheets(data: bytes) -> dict[str, list[list[Any]]]:
    """Return the cells of each sheet of a workbook by its title."""
    book = openpyxl.load_workbook(io.BytesIO(data))
    return {sheet.title: [[cell.value for cell in row] for row in sheet.iter_rows()] for sheet in book.worksheets}


def check(
    client: Client, model: Any, data: bytes | list[dict[str, Any]], name: str = "file.csv", match: str = ""
) -> Any:
    """Upload a file and return the report's page."""
    content = as_csv(data) if isinstance(data, list) else data
    return client.post(page(model, "import"), {"file": SimpleUploadedFile(name, content), "match": match})


def confirm(client: Client, model: Any, report: Any, reason: str = "Yearly review") -> Any:
    """Confirm a report that can be imported."""
    assert report.status_code == 200
    upload = re.search(r'name="upload" value="([^"]+)"', report.content.decode())
    assert upload, [row.faults for row in report.context["rows"]] if report.context.get("rows") else text_of(report)
    return client.post(page(model, "import"), {"upload": upload[1], "change_reason": reason})


def bring_in(
    client: Client, model: Any, data: bytes | list[dict[str, Any]], reason: str = "Yearly review", match: str = ""
) -> Any:
    """Upload a file, confirm what the report says, and return the answer."""
    answer = confirm(client, model, check(client, model, data, match=match), reason)
    assert answer.status_code == 302, text_of(answer)
    return answer


def text_of(response: Any) -> str:
    """Return a page's words without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def faults(report: Any) -> dict[int, list[str]]:
    """Return what is wrong by row."""
    return {row.number: row.faults for row in report.context["rows"]}


def csv_lines(answer: Any) -> list[list[str]]:
    """Return the lines of a CSV file that was answered."""
    assert answer.status_code == 200
    return list(csv.reader(io.StringIO(b"".join(answer).decode("utf-8-sig"), newline="")))
