"""Reading an uploaded CSV or XLSX file into a header and rows of cells; every fault has a message."""

import csv
import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from xml.etree.ElementTree import ParseError

import openpyxl
from openpyxl.utils import get_column_letter
from openpyxl.utils.datetime import WINDOWS_EPOCH, from_excel

from records.backoffice.transfer.formulas import restored

MOST_BYTES = 5 * 1024 * 1024
MOST_ROWS = 2_000
"""An import locks the site's numbers, on SQLite the whole database, until it ends; others must not wait too long."""
MOST_COLUMNS = 200
MOST_UNPACKED = 60 * 1024 * 1024
MOST_MARKUP = 250_000
"""The maximum number of tags in the parts beside the sheets (shared texts, styles), which are read as a whole."""
BLANK_ROWS = 100_000

_ZEROS = re.compile(r"0{2,32}")


class FileError(Exception):
    """Raised for a file that cannot be imported at all, with a message for users."""


@dataclass(frozen=True, slots=True)
class BadCell:
    """A cell that cannot be imported, and why."""

    message: str


Cell = str | int | float | bool | datetime.datetime | datetime.date | datetime.time | BadCell | None


@dataclass(slots=True)
class Sheet:
    """The header and the rows below it, each with its row number in the spreadsheet; blank rows are left out."""

    headers: list[str]
    rows: list[tuple[int, list[Cell]]] = field(default_factory=list)
    epoch: datetime.datetime = WINDOWS_EPOCH


def read(data: bytes) -> Sheet:
    """Return the content of a file, whose format is detected from its content. Raises FileError."""
    if len(data) > MOST_BYTES:
        raise FileError(f"The file is larger than {MOST_BYTES // 1024**2} MiB. Split it into several files.")
    if not data.strip():
        raise FileError("The file is empty.")
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileError("This is a spreadsheet in the old format (.xls), or one with a password. Save it as XLSX.")
    sheet = _read_xlsx(data) if data.startswith(b"PK\x03\x04") else _read_csv(data)
    if not sheet.rows:
        raise FileError("The file has a header, but no row under it.")
    return sheet


def _collect(lines: Iterable[list[Cell]], epoch: datetime.datetime = WINDOWS_EPOCH) -> Sheet:
    sheet: Sheet | None = None
    for number, cells in enumerate(lines, 1):
        while cells and cells[-1] in (None, ""):
            cells.pop()
        if sheet is None:
            if not cells:
                raise FileError("The first row is empty. It must hold the names of the columns.")
            if len(cells) > MOST_COLUMNS:
                raise FileError(f"The header has more than {MOST_COLUMNS} columns.")
            sheet = Sheet([_header(cell) for cell in cells], epoch=epoch)
        elif cells:
            if len(sheet.rows) >= MOST_ROWS:
                raise FileError(f"The file has more than {MOST_ROWS} rows. Split it into several files.")
            sheet.rows.append((number, cells))
        elif number > BLANK_ROWS:
            raise FileError(f"The file has more than {BLANK_ROWS} rows, most of them blank. Delete the blank ones.")
    if sheet is None:
        raise FileError("The file is empty.")
    return sheet


def _header(cell: Cell) -> str:
    if isinstance(cell, BadCell):
        raise FileError(cell.message)
    return "" if cell is None else str(cell).strip()


# --- CSV -------------------------------------------------------------------------------------------------------------


def _read_csv(data: bytes) -> Sheet:
    text = _decoded(data)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        return _collect(_lines(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)))
    except csv.Error as error:
        raise FileError(f"This is not a well-formed CSV file: {error}.") from error


def _lines(reader: Iterable[list[str]]) -> Iterator[list[Cell]]:
    for line in reader:
        yield list(line)


def _decoded(data: bytes) -> str:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        text = "The file is not encoded in UTF-8. Save it as “CSV UTF-8”, or as XLSX."
        raise FileError(text) from error
    if "\x00" in text:
        raise FileError("This is neither a CSV nor an XLSX file.")
    return text


# --- XLSX ------------------------------------------------------------------------------------------------------------


def _read_xlsx(data: bytes) -> Sheet:
    unreadable = "The XLSX file is damaged or is not a spreadsheet."
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_UNPACKED:
                raise FileError("The XLSX file unpacks to more than can be read. Split it into several files.")
            if _markup_beside_sheets(archive) > MOST_MARKUP:
                raise FileError("The XLSX file has more different texts than can be read. Split it into several files.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
            if not book.worksheets:
                raise FileError("The XLSX file has no sheet with cells.")
            active = book.active if book.active in book.worksheets else book.worksheets[0]
            # The size that the file declares need not be true.
            active.reset_dimensions()
            rows = active.iter_rows(max_col=MOST_COLUMNS + 1)
            return _collect(([_cell(cell) for cell in row] for row in rows), book.epoch)
    except FileError:
        raise
    except (
        zipfile.BadZipFile,
        ParseError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        OSError,
        EOFError,
        NotImplementedError,
        OverflowError,
        RuntimeError,
        RecursionError,
        openpyxl.utils.exceptions.InvalidFileException,
    ) as error:
        # The library raises various exceptions for faulty content.
        raise FileError(unreadable) from error


def _markup_beside_sheets(archive: zipfile.ZipFile) -> int:
    """Return the number of tags in the parts beside the sheets, counted without parsing them."""
    number = 0
    for entry in archive.infolist():
        if not entry.filename.lower().lstrip("/").startswith("xl/worksheets/"):
            with archive.open(entry) as part:
                while number <= MOST_MARKUP and (piece := part.read(1024 * 1024)):
                    number += piece.count(b"<")
    return number


def _cell(cell: Any) -> Cell:
    value = cell.value
    if value is None:
        return None
    if cell.data_type == "f":
        at = f"{get_column_letter(cell.column)}{cell.row}"
        return BadCell(f"Cell {at} holds a formula. Paste it as a value instead.")
    if cell.data_type == "e":
        return BadCell(f"Cell {get_column_letter(cell.column)}{cell.row} holds the error {value}.")
    if isinstance(value, datetime.timedelta):
        return str(value)
    if type(value) is int and value >= 0 and _ZEROS.fullmatch(str(cell.number_format)):
        # The cell's format shows 00123; its writer meant the zeros.
        return str(value).zfill(len(cell.number_format))
    return str(value) if not isinstance(value, str | int | float | bool | datetime.date | datetime.time) else value


# --- Cells as text ---------------------------------------------------------------------------------------------------


def as_text(cell: Any, kind: str, sheet: Sheet, stored: Any) -> str:
    """Return a cell as the text that its column reads; raises ValueError with a message.

    A number in a column of dates is a spreadsheet's serial date. `stored` turns a local time of the site into UTC.
    """
    if cell is None:
        return ""
    if isinstance(cell, BadCell):
        raise ValueError(cell.message)
    if isinstance(cell, str):
        return restored(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        if kind == "date":
            cell = _serial(cell, sheet.epoch)
        else:
            return _number(cell, kind)
    if isinstance(cell, datetime.datetime):
        cell = _to_the_millisecond(cell)
        if cell.time() == datetime.time(0):
            return cell.date().isoformat()
        if kind == "date":
            moment: datetime.datetime = stored(cell)
            return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return cell.isoformat(" ", timespec="seconds")
    return str(cell.isoformat())


def _to_the_millisecond(clock: datetime.datetime) -> datetime.datetime:
    """Return the time rounded to the millisecond: serial dates are floats."""
    try:
        rounded = clock + datetime.timedelta(microseconds=500)
    except OverflowError:
        rounded = clock
    return rounded.replace(microsecond=rounded.microsecond // 1000 * 1000)


def _serial(number: float, epoch: datetime.datetime) -> Any:
    try:
        found = from_excel(number, epoch)
    except (OverflowError, ValueError):
        found = None
    if not isinstance(found, datetime.datetime):
        raise ValueError("Write a date as 2024-05-31.")
    return found


def _number(number: float, kind: str) -> str:
    """Return a number as people see it in the cell: at most 15 digits, which is what spreadsheets store."""
    if kind not in ("number", "integer") and abs(number) >= 10**15:
        raise ValueError("A spreadsheet keeps only 15 digits of a number. Format the cell as text and enter it again.")
    exact = Decimal(number) if isinstance(number, int) else Decimal(format(number, ".15g"))
    return format(exact, "f")
