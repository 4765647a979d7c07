"""Stamping a PDF: a band below the content of each page, and pages added at the end.

The content of each page is made a little smaller to make room for the band, so that the band hides nothing. Size and
rotation of the pages stay as they are. What a file can do by itself (scripts, attached files) is left out.
"""

import logging
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import IO, Any, cast

from django.utils.translation import gettext
from pypdf import PageObject, PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    StreamObject,
)
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas

from records.dashboard.printing.fonts import BOLD, use_fonts
from records.dashboard.printing.paper import paragraph, style_of

logger = logging.getLogger("larder.files")

MOST_PAGES = 500
MOST_BYTES = 64 * 1024 * 1024
"""How many bytes of a file's pages may be put together from parts, unpacked, or copied because pages share them."""
WIDEST = 842
"""The long side of A4, in points. On larger pages the band is larger too, so that it is readable on smaller paper."""
NARROWEST = 200
MARGIN, GAP = 6 * mm, 1.5 * mm
HIGHEST = 0.25
"""The maximum share of a page's height for the band."""
FIRST, SECOND = style_of("stamp", 7, BOLD), style_of("stamp's second line", 6.5)
ACTIVE = ("/OpenAction", "/AA", "/StructTreeRoot", "/MarkInfo")
"""Left out of a file's catalog: what runs by itself, and marks that refer to places in the pages' old content."""

Matrix = tuple[float, float, float, float, float, float]
Stamp = Callable[[str], tuple[str, str]]
"""Returns the two lines of a page's band; it gets the number of the page as a text (`Page 1 of 3`)."""


class UnprintableError(Exception):
    """Raised for a file that cannot be stamped; the text says why."""


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A page as the reader sees it: its corners in its own coordinates, its rotation, and its band's size in points."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int
    band_width: float = 0
    band_height: float = 0

    @property
    def width(self) -> float:
        upright = self.rotation in (0, 180)
        return self.right - self.left if upright else self.top - self.bottom

    @property
    def height(self) -> float:
        upright = self.rotation in (0, 180)
        return self.top - self.bottom if upright else self.right - self.left

    @property
    def as_seen(self) -> Matrix:
        """Return the transformation from the seen page, with its origin at the bottom left, to its own coordinates."""
        return {
            0: (1, 0, 0, 1, self.left, self.bottom),
            90: (0, 1, -1, 0, self.right, self.bottom),
            180: (-1, 0, 0, -1, self.right, self.top),
            270: (0, -1, 1, 0, self.left, self.top),
        }[self.rotation]

    @property
    def band_scale(self) -> float:
        return self.width / self.band_width

    @property
    def content(self) -> Matrix:
        """Return the transformation that shrinks the content towards the middle of the page's upper edge."""
        scale = max(1 - self.band_height * self.band_scale / self.height, 0.5)
        a, b, c, d, e, f = self.as_seen
        x, y = a * self.width / 2 + c * self.height + e, b * self.width / 2 + d * self.height + f
        return scale, 0, 0, scale, (1 - scale) * x, (1 - scale) * y

    @property
    def band(self) -> Matrix:
        """Return the transformation that puts the band at the lower edge of the seen page."""
        a, b, c, d, e, f = self.as_seen
        scale = self.band_scale
        return a * scale, b * scale, c * scale, d * scale, e, f


def stamp_pdf(source: IO[bytes], stamp: Stamp, appendix: bytes) -> IO[bytes]:
    """Return a temporary file with the stamped PDF and the stamped pages of the appendix after it.

    Raises UnprintableError for a file that is encrypted, too long, or not a readable PDF.
    """
    out: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    try:
        writer = _open(source)
        for page in PdfReader(BytesIO(appendix)).pages:
            writer.add_page(page)
        pages = list(_distinct(writer))
        sheets = [_sheet(page, stamp, len(pages)) for page in pages]
        bands = PdfReader(BytesIO(_bands(sheets, stamp)))
        usage = _Usage()
        for page, sheet, band in zip(pages, sheets, bands.pages, strict=True):
            _put_together(writer, page, sheet, band, usage)
        writer.write(out)
    except UnprintableError:
        out.close()
        raise
    except Exception as error:  # The library can raise almost any exception for a damaged file.
        out.close()
        logger.warning("A PDF cannot be stamped.", exc_info=True)
        raise UnprintableError(
            gettext("The file is not a PDF that can be read, so it cannot be printed from here.")
        ) from error
    return out


def _open(source: IO[bytes]) -> PdfWriter:
    reader = PdfReader(source)
    if reader.is_encrypted:
        text = gettext(
            "The PDF is encrypted, so it cannot be stamped. Upload a version without a password or restrictions."
        )
        raise UnprintableError(text)
    if not 0 < len(reader.pages) <= MOST_PAGES:
        text = gettext(
            "The PDF has %(count)s pages. Only files of 1 to %(most_pages)s pages can be printed from here."
        ) % {"count": len(reader.pages), "most_pages": MOST_PAGES}
        raise UnprintableError(text)
    writer = PdfWriter(clone_from=reader)
    catalog = writer.root_object
    for name in ACTIVE:
        catalog.pop(name, None)
    names = catalog.get("/Names", DictionaryObject()).get_object()
    for name in ("/JavaScript", "/EmbeddedFiles"):
        names.pop(name, None)
    return writer


def _distinct(writer: PdfWriter) -> Iterator[PageObject]:
    """Yield each page once, even if a file uses the same page several times."""
    yielded_keys: set[int] = set()
    for page in writer.pages:
        key = page.indirect_reference.idnum if page.indirect_reference else id(page)
        if key not in yielded_keys:
            yielded_keys.add(key)
            yield page


# --- Sizes ----------------------------------------------------------------------------------------------------------


def _sheet(page: PageObject, stamp: Stamp, count: int) -> _Sheet:
    media, crop = page.mediabox, page.cropbox
    left, bottom = max(media.left, crop.left), max(media.bottom, crop.bottom)
    right, top = min(media.right, crop.right), min(media.top, crop.top)
    if right <= left or top <= bottom:
        left, bottom, right, top = media.left, media.bottom, media.right, media.top
    if right <= left or top <= bottom:
        raise UnprintableError(gettext("The PDF has a page without a size, so it cannot be printed from here."))
    rotation = int(page.rotation or 0) % 360 // 90 * 90
    plain_sheet = _Sheet(float(left), float(bottom), float(right), float(top), rotation)
    width = min(max(plain_sheet.width * float(page.user_unit), NARROWEST), WIDEST)
    lines = stamp(gettext("Page %(count)s of %(count)s") % {"count": count})
    height = _height(lines, width)
    for _ in range(16):
        if height * plain_sheet.width / width <= HIGHEST * plain_sheet.height:
            break
        width *= 1.5
        height = _height(lines, width)
    return replace(plain_sheet, band_width=width, band_height=height)


def _height(lines: tuple[str, str], width: float) -> float:
    use_fonts()
    parts = (paragraph(line, style) for line, style in zip(lines, (FIRST, SECOND), strict=True))
    return float(sum(part.wrap(width - 2 * MARGIN, WIDEST)[1] for part in parts)) + 3 * GAP


def _bands(sheets: list[_Sheet], stamp: Stamp) -> bytes:
    """Return the bands as one PDF with a band on each page, so that they share their fonts."""
    use_fonts()
    out = BytesIO()
    canvas = Canvas(out)
    for number, sheet in enumerate(sheets, 1):
        canvas.setPageSize((sheet.band_width, sheet.band_height))
        canvas.setLineWidth(0.5)
        y = sheet.band_height - GAP / 2
        canvas.line(MARGIN, y, sheet.band_width - MARGIN, y)
        y -= GAP / 2
        lines = stamp(gettext("Page %(number)s of %(count)s") % {"number": number, "count": len(sheets)})
        for line, style in zip(lines, (FIRST, SECOND), strict=True):
            part = paragraph(line, style)
            _, height = part.wrap(sheet.band_width - 2 * MARGIN, WIDEST)
            y -= height
            part.drawOn(canvas, MARGIN, y)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


# --- Putting a page together ----------------------------------------------------------------------------------------


@dataclass
class _Usage:
    """What the pages use of the file: the streams that are used as they are, and the bytes of all others."""

    streams: set[int] = field(default_factory=set)
    size: int = 0

    def add(self, size: int) -> None:
        """Count bytes; raises UnprintableError. A small file can have many pages that share or unpack much."""
        self.size += size
        if self.size > MOST_BYTES:
            raise UnprintableError(gettext("The pages of the PDF are too large to be printed from here."))


def _put_together(writer: PdfWriter, page: PageObject, sheet: _Sheet, band: PageObject, usage: _Usage) -> None:
    """Let the page draw its old content in a smaller size, and then the band; each is a form object of its own."""
    box = (sheet.left, sheet.bottom, sheet.right, sheet.top)
    old = _form(writer, _content(writer, page, usage), box, _entry_of(page, "/Resources"), page.get("/Group"))
    stream = DecodedStreamObject()
    stream.set_data(band.get_contents().get_data())  # type: ignore[union-attr]
    fonts = band["/Resources"].clone(writer)
    stamp = _form(writer, stream.flate_encode(), (0, 0, sheet.band_width, sheet.band_height), fonts, None)
    drawing = DecodedStreamObject()
    drawing.set_data(f"q {_numbers(sheet.content)} cm /Content Do Q q {_numbers(sheet.band)} cm /Stamp Do Q".encode())
    page[NameObject("/Contents")] = writer._add_object(drawing)
    forms = DictionaryObject({NameObject("/Content"): old, NameObject("/Stamp"): stamp})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/XObject"): forms})
    for name in ("/AA", "/StructParents"):
        page.pop(name, None)
    _move_notes(page, sheet.content)


def _content(writer: PdfWriter, page: PageObject, usage: _Usage) -> StreamObject:
    """Return the page's content as one stream; a stream that only this page uses is taken as it is, still packed."""
    contents = page.get("/Contents")
    contents = contents.get_object() if contents is not None else None
    if isinstance(contents, StreamObject):
        key = id(contents)
        if key not in usage.streams:
            usage.streams.add(key)
            return contents
        usage.add(len(contents._data))
        return cast(StreamObject, contents.clone(writer, force_duplicate=True, ignore_fields=("/Resources", "/Group")))
    data = bytearray()
    for part in contents if isinstance(contents, ArrayObject) else ():
        content = part.get_object().get_data()
        usage.add(len(content))
        data += content + b"\n"
    stream = DecodedStreamObject()
    stream.set_data(bytes(data))
    return stream.flate_encode()


def _form(writer: PdfWriter, stream: StreamObject, box: tuple[float, ...], resources: object, group: object) -> Any:
    stream[NameObject("/Type")] = NameObject("/XObject")
    stream[NameObject("/Subtype")] = NameObject("/Form")
    stream[NameObject("/BBox")] = ArrayObject([FloatObject(edge) for edge in box])
    stream[NameObject("/Resources")] = resources if resources is not None else DictionaryObject()
    if group is not None:
        stream[NameObject("/Group")] = group
    return getattr(stream, "indirect_reference", None) or writer._add_object(stream)


def _entry_of(page: PageObject, name: str) -> Any:
    """Return an entry of the page, or the one that it inherits from the page tree."""
    node: Any = page
    for _ in range(100):
        if name in node:
            return node.raw_get(name)
        if "/Parent" not in node:
            break
        node = node["/Parent"]
    return None


def _move_notes(page: PageObject, matrix: Matrix) -> None:
    """Move what lies above the content, such as stamps, notes and the fields of forms, together with the content."""
    scale, _, _, _, x, y = matrix
    notes = page.get("/Annots")
    for note in notes.get_object() if notes is not None else ():
        entry = note.get_object()
        rect = entry.get("/Rect") if isinstance(entry, DictionaryObject) else None
        if rect is not None:
            edges = [float(edge) for edge in rect.get_object()]
            moved_edges = [scale * edge + (x, y)[index % 2] for index, edge in enumerate(edges)]
            entry[NameObject("/Rect")] = ArrayObject([FloatObject(edge) for edge in moved_edges])


def _numbers(matrix: Matrix) -> str:
    return " ".join(f"{number:.5f}" for number in matrix)
