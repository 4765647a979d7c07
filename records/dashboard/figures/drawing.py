"""The positions of a chart's parts as plain numbers, for the SVG templates in `dashboard/charts/`, and its table.

For assistive technology a drawing is one picture with a title and a description. The records of each bar are linked
from the bar (for the pointer) and from the table (for everybody). Colours and strokes come from the stylesheet.
"""

import datetime
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.utils.html import format_html
from django.utils.safestring import SafeString

from records.backoffice.datetimes import NOTHING
from records.backoffice.responses import html_of
from records.dashboard.figures.periods import month_letters, short_name

WIDTH = 480
ROW = 36
LEFT, RIGHT, TOP, BOTTOM = 34, 8, 18, 36
LEGEND = 14
"""The space above the columns for the names of the lines across them."""
STROKES = {"mean": "—", "limit": "- -"}
"""The look of each kind of line across the columns; it is printed before the line's name."""
HEIGHT = 250
PLANE = 392
"""The greatest width of horizontal bars; their numbers are printed to the right of them."""
LONGEST = 52
"""The number of letters of a name that fit above its bar; the table has the whole name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a chart's table, with a link if there are records to show."""

    text: str
    url: str = ""

    @property
    def content(self) -> str:
        """Return the text, or the link as HTML."""
        return format_html('<a href="{}">{}</a>', self.url, self.text) if self.url else self.text


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a chart as a table; the first cell of each row is its heading."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @property
    def body(self) -> SafeString:
        """Return the rows as HTML. For hundreds of rows, a template would take longer than the rest of the page."""
        return html_of(
            '<tr><th scope="row">{}</th>{}</tr>',
            ((first.content, html_of("<td>{}</td>", ((cell.content,) for cell in rest))) for first, *rest in self.rows),
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """A bar or dot: its position, its text, its link, and the classes that colour it."""

    x: str
    y: str
    width: str
    height: str
    label: str
    url: str = ""
    kind: str = ""
    note: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line with a word: a grid line, mean or limit. Without ends it crosses the whole drawing.

    A grid line has its word on its left. All others are named above the columns, where nothing is drawn.
    """

    y: str
    label: str
    kind: str = ""
    label_x: str = ""
    anchor: str = ""
    left: str = ""
    right: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """A label under the horizontal axis."""

    x: str
    label: str
    second: str = ""


@dataclass
class Chart:
    """A chart: its texts, its drawing, its table, and the text for a chart without values."""

    key: str
    title: str
    description: str = ""
    table: Table | None = None
    empty: str = ""
    notes: list[str] = field(default_factory=list)
    form: str = "columns"
    height: int = HEIGHT
    width: int = WIDTH
    marks: list[Mark] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    path: str = ""
    points: str = ""
    """The places of single values: a path of strokes without length, which are drawn as dots."""
    dots: list[Mark] = field(default_factory=list)
    source: Cell | None = None
    """The link to the list in which people enter what the chart needs besides the records."""

    def say(self, text: str) -> None:
        """Set the chart's description to a sentence, and add the sentence to its notes."""
        self.description = text
        self.notes.append(text)

    @property
    def template(self) -> str:
        """Return the template that draws this form of chart."""
        return f"dashboard/charts/{self.form}.svg"

    @property
    def dot_links(self) -> SafeString:
        """Return the links of dots as SVG. There are hundreds, for which a template would take long."""
        return html_of(
            '<a href="{}" tabindex="-1" aria-hidden="true"><title>{}</title>'
            '<circle class="hit" cx="{}" cy="{}" r="9"/></a>',
            ((mark.url, mark.label, mark.x, mark.y) for mark in self.marks if mark.url),
        )

    @property
    def right(self) -> int:
        """Return the right end of the drawing's plane."""
        return self.width - RIGHT

    @property
    def plane(self) -> int:
        """Return the greatest width of horizontal bars."""
        return PLANE

    @property
    def left(self) -> int:
        """Return the left end of the drawing's plane."""
        return LEFT

    @property
    def legend(self) -> int:
        """Return the vertical position of the names of lines across the columns."""
        return LEGEND - 4

    @property
    def floor(self) -> int:
        """Return the vertical position of the horizontal axis."""
        return self.height - BOTTOM


@dataclass(frozen=True, slots=True)
class Column:
    """One column to draw: its value, its text, its link, and its own limit.

    A column of the kind `gap` has no value; a dash is drawn instead.
    """

    label: str
    second: str
    value: float
    title: str
    url: str = ""
    kind: str = ""
    limit: float | None = None


def at(number: float) -> str:
    """Return a coordinate as SVG writes it."""
    return f"{number:.1f}".removesuffix(".0")


def steps(highest: float, most: int = 5) -> list[int]:
    """Return whole numbers for a vertical axis from 0 to at least highest, evenly spaced, at most `most` above 0."""
    least_step = max(highest, 1) / most
    power = 10 ** math.floor(math.log10(least_step)) if least_step >= 1 else 1
    step = next(int(factor * power) for factor in (1, 2, 5, 10) if factor * power >= least_step)
    return list(range(0, step * math.ceil(max(highest, 1) / step) + 1, step))


def draw_columns(chart: Chart, columns: Sequence[Column], levels: Sequence[tuple[str, float, str]] = ()) -> None:
    """Draw columns over a horizontal axis, with at most two level lines (label, value, kind) across them."""
    limits = [column.limit for column in columns if column.limit is not None]
    axis = steps(max([column.value for column in columns] + [value for _, value, _ in levels] + limits))
    scale = (chart.floor - TOP - (LEGEND if levels else 0)) / axis[-1]
    chart.lines = [Line(at(chart.floor - step * scale), str(step), "grid") for step in axis]
    for (label, value, kind), (end, anchor) in zip(levels, ((chart.right, "end"), (LEFT, "start")), strict=False):
        chart.lines.append(Line(at(chart.floor - value * scale), f"{STROKES[kind]} {label}", kind, at(end), anchor))
    slot = (chart.right - LEFT) / len(columns)
    every = math.ceil(len(columns) / 12)
    for index, column in enumerate(columns):
        height = column.value * scale
        x = LEFT + slot * index
        chart.marks.append(
            Mark(
                at(x + slot * 0.14),
                at(chart.floor - height),
                at(slot * 0.72),
                at(height),
                column.title,
                column.url,
                column.kind,
                note=_note(column.kind),
                value=at(x + slot / 2),
            )
        )
        if column.limit is not None:
            limit_y = at(chart.floor - column.limit * scale)
            chart.lines.append(Line(limit_y, "", "limit", left=at(x), right=at(x + slot)))
        if index % every == 0:
            chart.ticks.append(Tick(at(x + slot / 2), column.label, column.second if index == 0 or every > 1 else ""))
        if every == 1 and index and column.second != columns[index - 1].second:
            chart.ticks[-1] = Tick(at(x + slot / 2), column.label, column.second)


def _note(kind: str) -> str:
    """Return the sign over a column: an arrow beyond a control limit, a dash without a value."""
    kinds = kind.split()
    return "▼" if "below" in kinds else "▲" if "beyond" in kinds else NOTHING if "gap" in kinds else ""


@dataclass(frozen=True, slots=True)
class Row:
    """One horizontal bar to draw: its name and value, and the cumulative share down to it, if shares are shown."""

    name: str
    value: int
    title: str
    url: str = ""
    kind: str = ""
    cumulative: float | None = None


def draw_rows(chart: Chart, rows: Sequence[Row]) -> None:
    """Draw horizontal bars under their names, each with a dot at the cumulative share down to it.

    No line joins the dots, because it would cross the names. The sum of all others has no bar, because it would make
    the named ones look small.
    """
    chart.form, chart.height = "rows", ROW * len(rows) + 6
    most = max([1, *(row.value for row in rows if row.kind != "others")])
    for index, row in enumerate(rows):
        top = ROW * index
        y = at(top + 17)
        share = f" · {percent(row.cumulative)}" if row.cumulative is not None else ""
        chart.marks.append(
            Mark(
                "0",
                y,
                at(max(min(row.value / most, 1) * PLANE, 2 if row.value else 0)),
                "12",
                row.title,
                row.url,
                row.kind,
                note=shorten(row.name),
                value=f"{row.value}{share}",
            )
        )
        if row.cumulative is not None and row.kind != "others":
            chart.dots.append(Mark(at(4 + row.cumulative * (PLANE - 8)), at(top + 23), "", "", ""))


def bar(name: str, value: int, url: str, kind: str = "") -> Row:
    """Return a bar that says its name and value, with a link if there are records to show."""
    return Row(name, value, f"{name}: {value}", url if value else "", kind)


def draw_bars(chart: Chart, bars: Sequence[Row], *columns: str) -> None:
    """Draw bars, and a table with their names and values under the titles of its two columns."""
    draw_rows(chart, bars)
    chart.table = Table(columns, [(Cell(row.name, row.url), Cell(str(row.value))) for row in bars])


@dataclass(frozen=True, slots=True)
class Dot:
    """One value on a day, from 0 to 100."""

    day: datetime.date
    value: float
    title: str
    url: str = ""


def draw_dots(chart: Chart, dots: Sequence[Dot], first: datetime.date, last: datetime.date) -> None:
    """Draw values from 0 to 100 on their days, and a line through the means of the months."""
    chart.form = "dots"
    scale = (chart.floor - TOP) / 100
    across = (chart.right - LEFT - 12) / max(1, (last - first).days)
    chart.lines = [Line(at(chart.floor - step * scale), str(step), "grid") for step in (0, 25, 50, 75, 100)]

    def x_of(day: datetime.date) -> float:
        return LEFT + 6 + (day - first).days * across

    months: dict[datetime.date, list[Dot]] = {}
    for dot in dots:
        months.setdefault(dot.day.replace(day=1), []).append(dot)
        chart.marks.append(Mark(at(x_of(dot.day)), at(chart.floor - dot.value * scale), "", "", dot.title, dot.url))
    chart.points = " ".join(f"M{mark.x},{mark.y}h0" for mark in chart.marks)
    points = [
        (
            sum(x_of(dot.day) for dot in dots_of_month) / len(dots_of_month),
            chart.floor - scale * sum(dot.value for dot in dots_of_month) / len(dots_of_month),
        )
        for _, dots_of_month in sorted(months.items())
    ]
    chart.path = " ".join(f"{at(x)},{at(y)}" for x, y in points) if len(points) > 1 else ""
    is_short = (last - first).days < 62
    for day in (first, first + (last - first) / 2, last):
        label = f"{day.day} {month_letters(day)}" if is_short else short_name(day)
        chart.ticks.append(Tick(at(min(max(x_of(day), LEFT + 22), chart.right - 26)), label))


def percent(share: float) -> str:
    """Return a share as whole percent; 100 only if it is the whole."""
    return f"{min(round(share * 100), 99) if share < 1 else 100} %"


def shorten(name: str) -> str:
    """Return a name that fits above its bar; letters of East Asian scripts are twice as wide."""
    room = LONGEST
    for index, letter in enumerate(name):
        room -= 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if room < 1 and index < len(name) - 1:
            return name[:index].rstrip() + "…"
    return name
