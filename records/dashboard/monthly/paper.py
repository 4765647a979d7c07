"""The monthly report as a PDF: the month's figures, then each chart with its table. Its links lead to the lists."""

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from django.conf import settings
from django.utils.translation import gettext
from reportlab.graphics.shapes import Circle, Drawing, Group, Rect, String
from reportlab.graphics.shapes import Line as Stroke
from reportlab.lib import colors
from reportlab.lib.units import mm
from reportlab.platypus import Flowable, KeepTogether, LongTable, Paragraph, Spacer, TableStyle

from records.backoffice.datetimes import format_datetime
from records.dashboard.figures.drawing import Cell, Chart, Table
from records.dashboard.figures.periods import long_name
from records.dashboard.monthly.charts import Report
from records.dashboard.printing.bidi import is_right_to_left
from records.dashboard.printing.fonts import BOLD, PLAIN, is_east_asian, markup, use_fonts, width_of
from records.dashboard.printing.paper import BODY, HEADING, Paper, paragraph, set_on_pages, style_of
from records.history.trail import now

BAR, ALARM, QUIET = colors.HexColor("#2f6f4f"), colors.HexColor("#a3261b"), colors.HexColor("#525d57")
RULE, TRACK = colors.HexColor("#d3d9d5"), colors.HexColor("#e8ece9")
LINK = "#14507a"
SMALL, SMALL_BOLD, TINY_BOLD = style_of("small", 7.5), style_of("small bold", 7.5, BOLD), style_of("tiny", 6.5, BOLD)
PADDING = 4
"""The room to the right of each cell, in points."""
MANY = 8
"""The number of columns from which a table's head is printed in smaller type."""
REMARK = style_of("remark", 8, textColor=QUIET)
WIDTH = 174 * mm
"""The width of the text on A4 between the margins, in points."""
SCALE = 0.78
"""The scale of the printed charts: points for each unit of their drawing."""
GRID = TableStyle(
    (
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, RULE),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, QUIET),
        ("LEFTPADDING", (0, 0), (-1, -1), 0),
        ("RIGHTPADDING", (0, 0), (-1, -1), PADDING),
        ("TOPPADDING", (0, 0), (-1, -1), 1),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2),
    )
)


def monthly_paper(report: Report, printed_by: str, zone_name: str) -> bytes:
    """Return the report as a PDF."""
    use_fonts()
    month, earlier = long_name(report.month), long_name(report.period.months[-2])
    paper = Paper(
        title=gettext("Monthly report, %(month)s") % {"month": month},
        subtitle=gettext("%(name)s. The figures by month cover %(name2)s.")
        % {"name": report.site.name, "name2": report.period.name},
        foot=gettext("%(name)s · printed %(value)s (%(zone_name)s) by %(printed_by)s")
        % {"name": report.site.name, "value": format_datetime(now()), "zone_name": zone_name, "printed_by": printed_by},
    )
    lines = Table(
        (gettext("Figure"), month, earlier, gettext("Remark")),
        [(Cell(line.name), line.current, line.previous, Cell(line.remark)) for line in report.lines],
    )
    body: list[Flowable] = [paragraph(gettext("The month at a glance"), HEADING), _table(lines, first=80 * mm)]
    for chart in report.charts:
        body += _part(chart)
    return set_on_pages(paper, body, [paper.title, paper.subtitle, paper.foot, *_texts(lines, report.charts)])


def _texts(lines: Table, charts: Sequence[Chart]) -> list[str]:
    tables = [lines, *(chart.table for chart in charts if chart.table is not None and not chart.empty)]
    cells = [cell.text for table in tables for row in table.rows for cell in row]
    return [*cells, *(text for chart in charts for text in (chart.title, chart.empty, *chart.notes))]


def _part(chart: Chart) -> list[Flowable]:
    heading = paragraph(chart.title, HEADING)
    if chart.empty:
        return [heading, paragraph(chart.empty, BODY)]
    parts = [heading, drawing_of(chart), *(paragraph(note, REMARK) for note in chart.notes), Spacer(1, 2 * mm)]
    return [KeepTogether(parts), *([_table(chart.table)] if chart.table is not None else [])]


def _table(table: Table, first: float = 0) -> Flowable:
    is_wide = len(table.columns) > MANY
    first = first or (25 if is_wide else 40) * mm
    other_width = (WIDTH - first) / max(1, len(table.columns) - 1)
    head: list[Flowable] = [paragraph(name, TINY_BOLD if is_wide else SMALL_BOLD) for name in table.columns]
    widths = (first, *[other_width] * (len(table.columns) - 1))
    rows = [head, *([_cell(*pair) for pair in zip(row, widths, strict=True)] for row in table.rows)]
    return LongTable(rows, colWidths=widths, style=GRID, hAlign="LEFT", repeatRows=1)


class _Word(Flowable):
    """A table cell of one line, with or without a link. A report has hundreds; a paragraph takes ten times as long."""

    def __init__(self, text: str, address: str, width: float) -> None:
        super().__init__()
        self.text, self.address = text, address
        self.width, self.height = width, SMALL.leading

    def wrap(self, *_available: float) -> tuple[float, float]:
        """Return the width and height of the line."""
        return self.width, self.height

    def draw(self) -> None:
        """Draw the line in the place of a paragraph of one line."""
        self.canv.setFont(SMALL.fontName, SMALL.fontSize)
        self.canv.setFillColor(colors.HexColor(LINK) if self.address else SMALL.textColor)
        self.canv.drawString(0, self.height - SMALL.fontSize, self.text)
        if self.address:
            self.canv.linkURL(self.address, (0, 0, self.width, self.height), relative=1)


def _cell(cell: Cell, width: float) -> Flowable:
    """Return a cell for a column of this width, with a link (a whole URL) if there are records to show."""
    text, address = cell.text, f"{settings.BASE_URL}{cell.url}" if cell.url else ""
    text_width = width_of(text, SMALL.fontName, SMALL.fontSize)
    if text.isascii() and "\n" not in text and text_width <= width - PADDING:
        return _Word(text, address, text_width)
    if not address or is_right_to_left(text):
        return paragraph(text, SMALL)
    style = SMALL.clone("small CJK", wordWrap="CJK") if is_east_asian(text) else SMALL
    return Paragraph(f'<a href={quoteattr(address)} color="{LINK}">{markup(text)}</a>', style)


def drawing_of(chart: Chart) -> Drawing:
    """Return a chart of columns or of rows as it is drawn on the screen, in the colours of paper."""
    shapes = Group(transform=(SCALE, 0, 0, -SCALE, 0, chart.height * SCALE))
    texts = Group()
    if chart.form == "rows":
        _rows(chart, shapes, texts)
    else:
        _columns(chart, shapes, texts)
    return Drawing(chart.width * SCALE, chart.height * SCALE, shapes, texts)


class _Pen:
    """Writes words at places of a drawing, whose vertical axis points down."""

    def __init__(self, chart: Chart, texts: Group) -> None:
        self.height, self.texts = chart.height, texts

    def write(self, x: float, y: float, text: str, anchor: str = "start", colour: colors.Color = QUIET) -> None:
        place = (x * SCALE, (self.height - y) * SCALE)
        self.texts.add(String(*place, text, fontName=PLAIN, fontSize=7, textAnchor=anchor, fillColor=colour))


def _columns(chart: Chart, shapes: Group, texts: Group) -> None:
    pen = _Pen(chart, texts)
    for line in chart.lines:
        y = float(line.y)
        if line.kind == "grid":
            shapes.add(Stroke(chart.left, y, chart.right, y, strokeColor=RULE, strokeWidth=0.6))
            pen.write(chart.left - 5, y + 3, line.label, "end")
    for mark in chart.marks:
        alarm = "beyond" in mark.kind
        x, y, width, height = (float(part) for part in (mark.x, mark.y, mark.width, mark.height))
        shapes.add(Rect(x, y, width, height, fillColor=ALARM if alarm else BAR, strokeColor=None))
        if mark.note:
            pen.write(float(mark.value), y - 3, mark.note, "middle", ALARM if alarm else QUIET)
    for line in chart.lines:
        if line.kind == "grid":
            continue
        y, colour = float(line.y), ALARM if line.kind == "limit" else colors.black
        left, right = float(line.left or chart.left), float(line.right or chart.right)
        dashes = (5, 3) if line.kind == "limit" else None
        shapes.add(Stroke(left, y, right, y, strokeColor=colour, strokeWidth=1, strokeDashArray=dashes))
        if line.label:
            pen.write(float(line.label_x), chart.legend, line.label, line.anchor, colour)
    for tick in chart.ticks:
        pen.write(float(tick.x), chart.floor + 15, tick.label, "middle")
        pen.write(float(tick.x), chart.floor + 28, tick.second, "middle")


def _rows(chart: Chart, shapes: Group, texts: Group) -> None:
    pen = _Pen(chart, texts)
    for mark in chart.marks:
        y = float(mark.y)
        shapes.add(Rect(0, y, chart.plane, 12, fillColor=TRACK, strokeColor=None))
        colour = ALARM if "late" in mark.kind else BAR
        shapes.add(Rect(0, y, float(mark.width), 12, fillColor=colour, strokeColor=None))
        pen.write(0, y - 5, mark.note, colour=colors.black)
        pen.write(chart.width, y + 10, mark.value, "end", colors.black)
    for dot in chart.dots:
        shapes.add(Circle(float(dot.x), float(dot.y), 2.5, fillColor=colors.white, strokeColor=colors.black))
