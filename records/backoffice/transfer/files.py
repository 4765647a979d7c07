"""Reading an uploaded CSV or XLSX file into headers and rows of cells; every fault has a message.

An XLSX file can have further sheets with the child rows of the records on the first one.
"""

import csv
import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any
from xml.etree.ElementTree import ParseError
from xml.parsers import expat

from django.utils.translation import gettext

MOST_BYTES = 5 * 1024 * 1024
MOST_ROWS = 2_000
"""An import locks the site's numbers, on SQLite the whole database, until it ends; others must not wait too long."""
MOST_CHILD_ROWS = 10_000
"""The maximum number of rows of each further sheet."""
MOST_COLUMNS = 200
MOST_UNPACKED = 60 * 1024 * 1024
TEXTS = "xl/sharedStrings.xml"
MOST_TEXT_MARKUP, MOST_MARKUP = 250_000, 30_000
"""The maximum numbers of tags in the shared texts, and in all other parts that are read whole."""
MOST_SHEETS, MOST_PARTS = 200, 5_000
MOST_ELEMENTS, MOST_ELEMENTS_OF_ROW = 2_000_000, 20_000
"""The maximum number of XML elements in all sheets, and in one row: a row is read as a whole, and has 200 cells."""
BLANK_ROWS = 100_000

WINDOWS_EPOCH = datetime.datetime(1899, 12, 30)  # noqa: DTZ001 (serial dates have no zone)
_ZEROS = re.compile(r"0{2,32}")


class FileError(Exception):
    """Raised for a file that cannot be imported at all, with a message for users."""


class _EmptyError(FileError):
    """Raised for a file or a sheet without any row."""


@dataclass(frozen=True, slots=True)
class BadCell:
    """A cell that cannot be imported, and why."""

    message: str


Cell = str | int | float | bool | datetime.datetime | datetime.date | datetime.time | BadCell | None


@dataclass(slots=True)
class Sheet:
    """The header and the rows below it, each with its row number in the spreadsheet; blank rows are left out.

    `further` are the further sheets that were asked for, `ignored` the titles of those that were not.
    """

    headers: list[str]
    rows: list[tuple[int, list[Cell]]] = field(default_factory=list)
    epoch: datetime.datetime = WINDOWS_EPOCH
    title: str = ""
    further: "list[Sheet]" = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def read(data: bytes, further: Collection[str] = ()) -> Sheet:
    """Return the content of a file, whose format is detected from its content. Raises FileError.

    `further` are the titles, in lower case, of sheets of an XLSX file that are read beside the first one.
    """
    if len(data) > MOST_BYTES:
        raise FileError(
            gettext("The file is larger than %(value)s MiB. Split it into several files.")
            % {"value": MOST_BYTES // 1024**2}
        )
    if not data.strip():
        raise FileError(gettext("The file is empty."))
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileError(
            gettext("This is a spreadsheet in the old format (.xls), or one with a password. Save it as XLSX.")
        )
    sheet = _read_xlsx(data, further) if data.startswith(b"PK\x03\x04") else _read_csv(data)
    if not sheet.rows:
        raise FileError(gettext("The file has a header, but no row under it."))
    return sheet


def _collect(
    lines: Iterable[list[Cell]], epoch: datetime.datetime = WINDOWS_EPOCH, title: str = "", most: int = MOST_ROWS
) -> Sheet:
    sheet: Sheet | None = None
    for number, cells in enumerate(lines, 1):
        while cells and cells[-1] in (None, ""):
            cells.pop()
        if sheet is None:
            if not cells:
                raise FileError(gettext("The first row is empty. It must contain the names of the columns."))
            if len(cells) > MOST_COLUMNS:
                raise FileError(
                    gettext("The header has more than %(most_columns)s columns.") % {"most_columns": MOST_COLUMNS}
                )
            sheet = Sheet([_header(cell) for cell in cells], epoch=epoch, title=title)
        elif cells:
            if len(sheet.rows) >= most:
                raise FileError(
                    gettext("The file has more than %(most)s rows. Split it into several files.") % {"most": most}
                )
            sheet.rows.append((number, cells))
        elif number > BLANK_ROWS:
            raise FileError(
                gettext("The file has more than %(blank_rows)s rows, most of them blank. Delete the blank ones.")
                % {"blank_rows": BLANK_ROWS}
            )
    if sheet is None:
        raise _EmptyError(gettext("The file is empty."))
    return sheet


def _header(cell: Cell) -> str:
    if isinstance(cell, BadCell):
        raise FileError(cell.message)
    return "" if cell is None else str(cell).strip()


# --- CSV -------------------------------------------------------------------------------------------------------------


def _read_csv(data: bytes) -> Sheet:
    text = _decode(data)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    try:
        return _collect(map(list, csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)))
    except csv.Error as error:
        raise FileError(gettext("This is not a well-formed CSV file: %(error)s.") % {"error": error}) from error


def _decode(data: bytes) -> str:
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        text = gettext("The file is not encoded in UTF-8. Save it as “CSV UTF-8”, or as XLSX.")
        raise FileError(text) from error
    if "\x00" in text:
        raise FileError(gettext("This is neither a CSV nor an XLSX file. Choose one of these."))
    return text


# --- XLSX ------------------------------------------------------------------------------------------------------------


def _read_xlsx(data: bytes, further: Collection[str]) -> Sheet:
    # The library takes a tenth of the server's start, and only an import needs it.
    import openpyxl
    from openpyxl.reader.excel import ExcelReader

    unreadable = gettext("The XLSX file is damaged or is not a spreadsheet. Save it again as XLSX.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            if sum(part.file_size for part in parts) > MOST_UNPACKED or len(parts) > MOST_PARTS:
                raise FileError(gettext("The XLSX file unpacks to more than can be read. Split it into several files."))
            _check_elements(archive)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = ExcelReader(io.BytesIO(data), read_only=True, keep_links=False)
            reader.archive = _Archive(io.BytesIO(data))
            _check_sheets(reader)
            reader.read()
            book = reader.wb
            if not book.worksheets:
                raise FileError(gettext("The XLSX file has no sheet with cells."))
            first = [sheet for sheet in book.worksheets if _fold(sheet.title) not in further]
            main = book.active if book.active in first else (first or book.worksheets)[0]
            sheet_read = _collect(_cells(main), book.epoch, main.title)
            for sheet in book.worksheets:
                if sheet is not main and _fold(sheet.title) in further:
                    with suppress(_EmptyError):
                        sheet_read.further.append(_collect(_cells(sheet), book.epoch, sheet.title, MOST_CHILD_ROWS))
                elif sheet is not main:
                    sheet_read.ignored.append(sheet.title)
            return sheet_read
    except FileError:
        raise
    except (
        zipfile.BadZipFile,
        ParseError,
        expat.ExpatError,
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


def _check_sheets(reader: Any) -> None:
    """Raise FileError for too many sheets, and for two that are one part, which would be read as often as it is named.

    The library reads the beginning of each sheet, and its relations, before any sheet is asked for.
    """
    reader.read_manifest()
    for part in reader.package.Override:
        name, kind = part.PartName.lstrip("/"), part.ContentType
        if (name == TEXTS and "sharedStrings" not in kind) or (_is_sheet(name) and "worksheet" not in kind):
            raise ValueError(name)  # A part must not pass for one that may have more markup.
    reader.read_workbook()
    parts = [relation.target for _, relation in reader.parser.find_sheets()]
    if len(set(parts)) < len(parts) or len(parts) > MOST_SHEETS:
        raise FileError(gettext("The XLSX file has more sheets than can be read. Split it into several files."))


def _fold(title: str) -> str:
    return title.strip().casefold()


def _cells(sheet: Any) -> Iterator[list[Cell]]:
    # The size that the file declares need not be true.
    sheet.reset_dimensions()
    for row in sheet.iter_rows(max_col=MOST_COLUMNS + 1):
        yield [_cell(cell) for cell in row]


class _Archive(zipfile.ZipFile):
    """Counts the tags of each part that is opened, without parsing it; raises FileError for too many.

    Sheets have a check of their own. Parts that are never opened, such as pivot tables and the order in which formulas
    are calculated, may have any length.
    """

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.remaining = {True: MOST_TEXT_MARKUP, False: MOST_MARKUP}
        self.counted_parts: set[str] = set()

    def open(self, name: str | zipfile.ZipInfo, *args: Any, **options: Any) -> IO[bytes]:
        """Open a part, once its tags are counted."""
        part_name = name.filename if isinstance(name, zipfile.ZipInfo) else name
        if part_name not in self.counted_parts and not _is_sheet(part_name):
            self.counted_parts.add(part_name)
            with super().open(name) as part:
                while min(self.remaining.values()) >= 0 and (piece := part.read(1024 * 1024)):
                    self.remaining[part_name == TEXTS] -= piece.count(b"<")
        if min(self.remaining.values()) < 0:
            raise FileError(gettext("The XLSX file has more texts or styles than can be read. Save it as CSV."))
        return super().open(name, *args, **options)


def _is_sheet(name: str) -> bool:
    folder, _, file_name = name.lower().lstrip("/").rpartition("/")
    return folder == "xl/worksheets" and not file_name.endswith(".rels")


class _Elements:
    """Counts the elements of sheets while they are parsed; raises FileError for too many."""

    def __init__(self) -> None:
        self.all = self.in_row = self.depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Count an element; a row is a child of the sheet's data, which is a child of the sheet."""
        self.all, self.in_row, self.depth = self.all + 1, self.in_row + 1, self.depth + 1
        if self.all > MOST_ELEMENTS or self.in_row > MOST_ELEMENTS_OF_ROW:
            raise FileError(gettext("The XLSX file has more cells than can be read. Split it into several files."))

    def end(self, name: str) -> None:
        """Note that an element ends; after a row, the next row begins."""
        self.depth -= 1
        if self.depth <= 2:
            self.in_row = 0


def _check_elements(archive: zipfile.ZipFile) -> None:
    """Raise FileError for sheets with too many elements: a few kilobytes can unpack to millions, which fill the memory.

    Counting builds nothing, so it needs no memory, however large the sheets are.
    """
    elements = _Elements()
    for entry in (entry for entry in archive.infolist() if _is_sheet(entry.filename)):
        elements.depth = elements.in_row = 0
        parser = expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = elements.start, elements.end
        with archive.open(entry) as part:
            parser.ParseFile(part)


def _cell(cell: Any) -> Cell:
    value = cell.value
    if value is None:
        return None
    if cell.data_type == "f":
        return BadCell(gettext("Cell %(at)s contains a formula. Paste its value instead.") % {"at": cell.coordinate})
    if cell.data_type == "e":
        return BadCell(
            gettext("Cell %(get_column_letter)s%(row)s contains the error %(value)s.")
            % {"get_column_letter": cell.column_letter, "row": cell.row, "value": value}
        )
    if isinstance(value, datetime.timedelta):
        return str(value)
    if type(value) is int and value >= 0 and _ZEROS.fullmatch(str(cell.number_format)):
        # The cell's format shows 00123; its writer meant the zeros.
        return str(value).zfill(len(cell.number_format))
    return str(value) if not isinstance(value, str | int | float | bool | datetime.date | datetime.time) else value
