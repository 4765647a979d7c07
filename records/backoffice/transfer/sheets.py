"""Writing an export: CSV and XLSX files of any length in limited memory, without formulas."""

import csv
import re
import tempfile
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

from django.db import models

from records.backoffice.transfer.formulas import guarded
from records.backoffice.transfer.resources import RecordResource
from records.backoffice.transfer.table import Column

STEP = 1_000
LONGEST_CELL = 32_767
KINDS = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

Cell = str | int | Decimal | None
Line = Sequence[Cell]


class TooLongError(Exception):
    """Raised for content that an XLSX file cannot contain (a CSV file can), with a message for users."""


def lines(resource: RecordResource, queryset: models.QuerySet[Any, Any]) -> Iterator[Line]:
    """Yield the header and one line per record; a fixed number of statements for every 1,000 records."""
    columns = resource.columns()
    yield [column.name for column in columns]
    batch: list[dict[str, Any]] = []
    for values in resource.table.fetch(queryset, STEP):
        batch.append(values)
        if len(batch) == STEP:
            yield from _batch(resource, columns, batch)
            batch = []
    yield from _batch(resource, columns, batch)


def _batch(resource: RecordResource, columns: Sequence[Column], batch: Sequence[dict[str, Any]]) -> Iterator[Line]:
    wanted: dict[Any, set[uuid.UUID]] = {}
    for column in columns:
        if column.target is not None:
            keys = wanted.setdefault(column.target, set())
            keys.update(key for values in batch for key in _keys(values[column.name]))
    spelt = {model: resource.names.spell(model, keys) for model, keys in wanted.items() if keys}
    for values in batch:
        yield [_cell(resource, column, values[column.name], spelt.get(column.target, {})) for column in columns]


def _keys(value: Any) -> list[uuid.UUID]:
    if value is None:
        return []
    return [uuid.UUID(entry["Id"]) for entry in value] if isinstance(value, list) else [value]


def _cell(
    resource: RecordResource, column: Column, value: Any, spelt: dict[uuid.UUID, str]
) -> str | int | Decimal | None:
    if value is None:
        return None
    if column.kind == "integer":
        return int(value)
    if column.kind == "number":
        return Decimal(value)
    if column.kind == "reference":
        return guarded(spelt[value])
    if column.kind == "references":
        return guarded(resource.table.text_of("texts", [spelt[key] for key in _keys(value)]))
    return guarded(resource.table.text_of(column.kind, value))


def _plain(number: int | Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def write_csv(found: Iterable[Line]) -> Any:
    """Return a file with the lines in UTF-8 with a byte order mark, by which spreadsheets detect UTF-8; rewound."""
    file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 (the answer closes it)
    wrapped = _Utf8(file)
    wrapped.write("\ufeff")
    writer = csv.writer(wrapped)
    for line in found:
        writer.writerow([_plain(cell) if isinstance(cell, int | Decimal) else cell for cell in line])
    file.seek(0)
    return file


class _Utf8:
    """Encodes the output of the CSV writer."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, text: str) -> int:
        return int(self.file.write(text.encode()))


def write_xlsx(found: Iterable[Line], title: str) -> Any:
    """Return a workbook with one sheet, in which texts are texts and numbers are numbers; rewound.

    Raises TooLongError. We write the format of ECMA-376 ourselves: openpyxl takes ten times as long, and turns texts
    that begin with = into formulas.
    """
    file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 (the answer closes it)
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            for name, content in _PARTS.items():
                archive.writestr(name, content.format(title=_attribute(title[:31])))
            with archive.open("xl/worksheets/sheet1.xml", "w", force_zip64=True) as sheet:
                sheet.write(_SHEET_HEAD.encode())
                for number, line in enumerate(found, 1):
                    style = ' s="1"' if number == 1 else ""
                    cells = "".join([_xml_cell(value, number, style) for value in line])
                    sheet.write(f'<row r="{number}">{cells}</row>'.encode())
                sheet.write(b"</sheetData></worksheet>")
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _xml_cell(value: Cell, number: int, style: str) -> str:
    if value is None or value == "":
        return "<c/>"
    if not isinstance(value, str):
        return f"<c><v>{_plain(value)}</v></c>"
    if len(value) > LONGEST_CELL:
        raise TooLongError(f"A cell of row {number} holds more than an XLSX file can. Export as CSV instead.")
    if _NO_XML.search(value):
        raise TooLongError(f"A cell of row {number} holds a character that XLSX files cannot. Export as CSV instead.")
    return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{escape(value)}</t></is></c>'


def _attribute(text: str) -> str:
    return escape(text, {'"': "&quot;"})


_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_PARTS = {
    "[Content_Types].xml": f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
    '<sheets><sheet name="{title}" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'{_XML}<styleSheet xmlns="{_MAIN}"><fonts count="2"><font/><font><b/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/>'
    '<xf xfId="0" fontId="1" applyFont="1"/></cellXfs><cellStyles count="1">'
    '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}
_SHEET_HEAD = (
    f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>'
)
