"""Writing an export: CSV and XLSX files of any length in limited memory, without formulas."""

import csv
import datetime
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from django.http import FileResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from records.backoffice.transfer.formulas import guard

LONGEST_CELL = 32_767
KINDS = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

Cell = str | int | Decimal | datetime.datetime | datetime.date | None
"""A date-time is a local time without zone."""
Line = Sequence[Cell]
CUT = _(" … (cut here)")


class TooLongError(Exception):
    """Raised for content that an XLSX file cannot contain (a CSV file can), with a message for users."""


def _plain(number: int | Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def clock_text(clock: datetime.datetime) -> str:
    """Return a local time as an import reads it: `2024-05-17 08:30`, with seconds and milliseconds if it has any."""
    precision = "milliseconds" if clock.microsecond else "seconds" if clock.second else "minutes"
    return clock.isoformat(" ", timespec=precision)


def _text(cell: Cell) -> str | None:
    if isinstance(cell, datetime.datetime):
        return clock_text(cell)
    if isinstance(cell, datetime.date):
        return cell.isoformat()
    return _plain(cell) if isinstance(cell, int | Decimal) else cell


def report_file(lines: Iterable[Line], kind: str, title: str, name: str) -> FileResponse:
    """Answer the lines of a report as a file named `name.kind`; no cell is a formula.

    A text that a workbook cannot contain is cut, and its impossible characters are replaced.
    """
    safe = ([guard(cell) if isinstance(cell, str) else cell for cell in line] for line in lines)
    if kind == "csv":
        file = write_csv(safe)
    else:
        file = write_xlsx(([_cut(cell) if isinstance(cell, str) else cell for cell in line] for line in safe), title)
    return FileResponse(file, as_attachment=True, filename=f"{name}.{kind}", content_type=KINDS[kind])


def _cut(text: str) -> str:
    text = _NO_XML.sub("\ufffd", text)
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - len(CUT)] + CUT


def write_csv(lines: Iterable[Line]) -> IO[bytes]:
    """Return a file with the lines in UTF-8 with a byte order mark, by which spreadsheets detect UTF-8; rewound."""
    file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 (the answer closes it)
    text_file = _Utf8(file)
    text_file.write("\ufeff")
    writer = csv.writer(text_file)
    for line in lines:
        writer.writerow([_text(cell) for cell in line])
    file.seek(0)
    return file


class _Utf8:
    """Encodes the output of the CSV writer."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def write(self, text: str) -> int:
        return self.file.write(text.encode())


class FurtherSheet:
    """A further sheet of a workbook, whose lines are kept on disk while the first sheet is written."""

    def __init__(self, title: str, header: Line) -> None:
        self.title = title
        self._rows = tempfile.TemporaryFile("w+b")  # noqa: SIM115 (`rows` closes it)
        self._number = 0
        self.add(header)

    def add(self, line: Line) -> None:
        """Add a line. Raises TooLongError."""
        self._number += 1
        self._rows.write(_row(self._number, line))

    def rows(self) -> Iterator[bytes]:
        """Yield what was added, once."""
        with self._rows:
            self._rows.seek(0)
            while piece := self._rows.read(1024 * 1024):
                yield piece


def write_xlsx(lines: Iterable[Line], title: str, further: Sequence[FurtherSheet] = ()) -> IO[bytes]:
    """Return a workbook in which texts are texts, numbers are numbers and dates are dates; rewound.

    `further` are sheets that `lines` fills while it is read. Raises TooLongError. We write the format of ECMA-376
    ourselves: openpyxl takes ten times as long, and turns texts that begin with = into formulas.
    """
    file = tempfile.TemporaryFile("w+b")  # noqa: SIM115 (the answer closes it)
    titles = [title, *(sheet.title for sheet in further)]
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
            for name, content in _parts(titles).items():
                archive.writestr(name, content)
            first = (_row(number, line) for number, line in enumerate(lines, 1))
            for number, rows in enumerate([first, *(sheet.rows() for sheet in further)], 1):
                with archive.open(f"xl/worksheets/sheet{number}.xml", "w", force_zip64=True) as part:
                    part.write(_SHEET_HEAD.encode())
                    for row in rows:
                        part.write(row)
                    part.write(b"</sheetData></worksheet>")
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _row(number: int, line: Line) -> bytes:
    style = ' s="1"' if number == 1 else ""
    cells = "".join([_xml_cell(value, number, style) for value in line])
    return f'<row r="{number}">{cells}</row>'.encode()


_EPOCH = datetime.date(1899, 12, 30)
_EARLIEST = datetime.date(1900, 3, 1)
"""Spreadsheets count days before this one differently; they are written as text."""
_DAY = 86_400_000


def _serial(value: datetime.date) -> tuple[str, int] | None:
    """Return the number and the style by which a spreadsheet shows a day or a local time; None if it cannot."""
    day = value.date() if isinstance(value, datetime.datetime) else value
    if day < _EARLIEST:
        return None
    days = (day - _EPOCH).days
    if not isinstance(value, datetime.datetime):
        return str(days), 2
    milliseconds = ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    if not milliseconds:
        # It would be read as a day.
        return None
    return f"{days + Decimal(milliseconds) / _DAY:.11f}", 3


def _xml_cell(value: Cell, number: int, style: str) -> str:
    if value is None or value == "":
        return "<c/>"
    if isinstance(value, datetime.date):
        serial = _serial(value)
        if serial is not None:
            return f'<c s="{serial[1]}"><v>{serial[0]}</v></c>'
        value = _text(value) or ""
    if isinstance(value, int | Decimal):
        return f"<c><v>{_plain(value)}</v></c>"
    value = str(value)  # It may be a text that is translated only here.
    if len(value) > LONGEST_CELL:
        raise TooLongError(
            gettext("A cell of row %(number)s contains more text than an XLSX file can. Export as CSV instead.")
            % {"number": number}
        )
    if _NO_XML.search(value):
        raise TooLongError(
            gettext("A cell of row %(number)s contains a character that XLSX does not allow. Export as CSV instead.")
            % {"number": number}
        )
    return f'<c t="inlineStr"{style}><is><t xml:space="preserve">{escape(value)}</t></is></c>'


_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_STYLES = (
    f'{_XML}<styleSheet xmlns="{_MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/></numFmts>'
    '<fonts count="2"><font/><font><b/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="4"><xf xfId="0"/>'
    '<xf xfId="0" fontId="1" applyFont="1"/><xf xfId="0" numFmtId="164" applyNumberFormat="1"/>'
    '<xf xfId="0" numFmtId="165" applyNumberFormat="1"/></cellXfs><cellStyles count="1">'
    '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
_SHEET_HEAD = (
    f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
    '<cols><col min="1" max="200" width="18" customWidth="1"/></cols><sheetData>'
)


def _parts(titles: Sequence[str]) -> dict[str, str]:
    """Return the parts of a workbook beside its sheets, by their names."""
    numbers = range(1, len(titles) + 1)
    styles = len(titles) + 1
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        for number in numbers
    )
    entries = "".join(
        f'<sheet name={quoteattr(title[:31])} sheetId="{number}" r:id="rId{number}"/>'
        for number, title in enumerate(titles, 1)
    )
    relations = "".join(
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number in numbers
    )
    return {
        "[Content_Types].xml": f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>{overrides}</Types>',
        "_rels/.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{entries}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{relations}'
        f'<Relationship Id="rId{styles}" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": _STYLES,
    }
