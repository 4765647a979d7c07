"""A record as a PDF: title, sections of labelled values, long texts in full, and page numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4, landscape
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from records.backoffice.datetimes import NOTHING
from records.dashboard.printing.bidi import BidirectionalText, in_shape, is_right_to_left
from records.dashboard.printing.fonts import BOLD, PLAIN, is_east_asian, is_set_faithfully, markup, use_fonts

LONG = 300
"""A value with at least this many characters uses the full width and can continue on the next page."""
MOST_LINES = 6
CAUTION = _(
    "Some letters of this record belong to a script that this print cannot show correctly. "
    "The record's page on the screen shows them correctly, and the browser can print it."
)
EAST_ASIAN = _("East Asian characters are shown in a font of your PDF reader, if it has one.")


@dataclass(frozen=True, slots=True)
class Value:
    """One labelled value of a record."""

    label: str
    text: str

    @property
    def is_long(self) -> bool:
        """Return whether the value may need more space than a line of a table has."""
        return len(self.text) > LONG or self.text.count("\n") > MOST_LINES


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the paper: a heading and its values."""

    title: str
    values: Sequence[Value]


@dataclass
class Paper:
    """The printed content of a record, and the lines at the head and foot of each page."""

    title: str
    subtitle: str
    parts: list[Part] = field(default_factory=list)
    foot: str = ""
    is_numbered: bool = True
    """Whether the pages are numbered here; pages that are added to another file are numbered together with it."""
    is_wide: bool = False
    """Whether the pages are in landscape format, as for a table with many columns."""

    @property
    def texts(self) -> list[str]:
        """Return every text on the paper."""
        values = [text for part in self.parts for value in part.values for text in (value.label, value.text)]
        return [self.title, self.subtitle, self.foot, *(str(part.title) for part in self.parts), *values]


def style_of(name: str, size: float, font: str = PLAIN, **options: object) -> ParagraphStyle:
    """Return a style of text of this size (in points)."""
    return ParagraphStyle(name, fontName=font, fontSize=size, leading=size * 1.35, **options)


TITLE = style_of("title", 17, BOLD, spaceAfter=2 * mm)
SUBTITLE = style_of("subtitle", 9.5, textColor=colors.HexColor("#525d57"), spaceAfter=5 * mm)
HEADING = style_of("heading", 11.5, BOLD, spaceBefore=3.5 * mm, spaceAfter=1 * mm, keepWithNext=1)
LABEL = style_of("label", 9, BOLD)
LONG_LABEL = style_of("long label", 9, BOLD, spaceBefore=2.5 * mm, spaceAfter=0.5 * mm, keepWithNext=1)
BODY = style_of("body", 9.5)
NOTE = style_of("note", 8.5, spaceBefore=4 * mm, textColor=colors.HexColor("#7a4b00"))
LINES = TableStyle(
    (
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.HexColor("#d3d9d5")),
        ("LEFTPADDING", (0, 0), (-1, -1), 0),
        ("TOPPADDING", (0, 0), (-1, -1), 1),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
    )
)


class _NumberedCanvas(Canvas):
    """Writes the foot of each page as soon as the number of pages is known."""

    foot = ""
    is_numbered = True

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self._pages: list[dict[str, Any]] = []

    def showPage(self) -> None:  # noqa: N802 (the library's name)
        """Keep the page instead of writing it."""
        self._pages.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        """Write all pages with their feet."""
        for number, page in enumerate(self._pages, 1):
            self.__dict__.update(page)
            self.setFillColor(colors.HexColor("#525d57"))
            foot = paragraph(self.foot, style_of("foot", 7.5))
            width = self._pagesize[0]
            _, height = foot.wrap(width - 60 * mm, 20 * mm)
            foot.drawOn(self, 18 * mm, 16 * mm - height)
            if self.is_numbered:
                self.setFont(PLAIN, 7.5)
                self.drawRightString(
                    width - 18 * mm,
                    16 * mm - 9,
                    gettext("Page %(number)s of %(count)s") % {"number": number, "count": len(self._pages)},
                )
            super().showPage()
        super().save()


def render_pdf(paper: Paper) -> bytes:
    """Return the paper as a PDF; the fonts that come with the product are embedded."""
    use_fonts()
    story: list[Flowable] = []
    for part in paper.parts:
        story += [paragraph(part.title, HEADING), *_values(part.values)]
    return set_on_pages(paper, story, paper.texts)


def set_on_pages(paper: Paper, body: Sequence[Flowable], texts: Sequence[str]) -> bytes:
    """Return a PDF with this body under the paper's title; `texts` are all of its texts, whose letters are checked."""
    use_fonts()
    story = [paragraph(paper.title, TITLE), paragraph(paper.subtitle, SUBTITLE), *body]
    if not all(is_set_faithfully(in_shape(text)) for text in texts):
        story.append(paragraph(str(CAUTION), NOTE))
    if any(is_east_asian(text) for text in texts):
        story.append(paragraph(str(EAST_ASIAN), NOTE))
    out = BytesIO()
    document = SimpleDocTemplate(
        out,
        pagesize=landscape(A4) if paper.is_wide else A4,
        leftMargin=18 * mm,
        rightMargin=18 * mm,
        topMargin=16 * mm,
        bottomMargin=22 * mm,
        title=paper.title,
        author="Larder",
        lang=get_language() or "en",
    )
    canvas = type("Sheet", (_NumberedCanvas,), {"foot": paper.foot, "is_numbered": paper.is_numbered})
    document.build(story, canvasmaker=canvas)
    return out.getvalue()


def _values(values: Sequence[Value]) -> list[Flowable]:
    """Return the values in their order: short ones as lines of tables, long ones as text that can span pages."""
    flowables: list[Flowable] = []
    lines: list[list[Flowable]] = []

    def close() -> None:
        if lines:
            flowables.append(Table([*lines], colWidths=(48 * mm, None), style=LINES, hAlign="LEFT"))
            lines.clear()

    for value in values:
        if value.is_long:
            close()
            flowables += [paragraph(value.label, LONG_LABEL), *_paragraphs(value.text), Spacer(1, 2 * mm)]
        else:
            lines.append([paragraph(value.label, LABEL), paragraph(value.text or NOTHING, BODY)])
    close()
    return flowables


def _paragraphs(text: str) -> list[Flowable]:
    """Return a long text as paragraphs of at most fifty lines, because the library is slow with very long ones."""
    lines = re.sub(r"\n{3,}", "\n\n", text).split("\n")
    return [paragraph("\n".join(lines[start : start + 50]) or " ", BODY) for start in range(0, len(lines), 50)]


def paragraph(text: str, style: ParagraphStyle) -> Flowable:
    """Return a text of any script, formatted in the style; a lazily translated text is in the present language."""
    text = str(text)
    if is_right_to_left(text):
        return BidirectionalText(text, style)
    if is_east_asian(text):
        style = style.clone(f"{style.name} CJK", wordWrap="CJK")
    return Paragraph(markup(text), style)
