"""A list as a PDF: what the list in the back-office shows, not divided into its pages."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.templatetags.admin_list import items_for_result, result_headers
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.platypus import Flowable, LongTable

from records.accounts.models import User
from records.backoffice.datetimes import NOTHING
from records.backoffice.filter_bar import chips
from records.backoffice.wording import without_markup
from records.dashboard.printing.bidi import is_right_to_left, wrap_text
from records.dashboard.printing.fonts import BOLD, PLAIN, is_east_asian, use_fonts
from records.dashboard.printing.layouts import foot_of
from records.dashboard.printing.paper import BODY, LINES, Paper, paragraph, set_on_pages, style_of
from records.sites.hidden import without_hidden
from records.sites.models import Site

MOST_ROWS = 500
"""The maximum number of records of a list on paper; longer lists can be exported."""
WIDTH = A4[1] - 36 * mm
HEAD = style_of("column", 8, BOLD)
CELL = style_of("cell", 8)
LINES_OF_CELL = 30
"""The approximate maximum number of lines of a cell, so that a row always fits on a page."""
LETTER = 1.6 * mm
"""The approximate width of a character in a cell."""
LONGEST_WORD = 45 * mm
"""The greatest width that a column gets so that a word fits; a longer word is broken."""
GAP = 7
"""The points between two columns."""
YES_OR_NO = {"True": _("Yes"), "False": _("No"), "None": NOTHING}
FONT = ("FONT", (0, 1), (-1, -1), CELL.fontName, CELL.fontSize, CELL.leading)
HEADING = ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#eef1ee"))


def list_pdf(changelist: Any, site: Site, user: User) -> bytes:
    """Return the filtered list as a PDF with the columns that the user sees and at most 500 records."""
    use_fonts()
    first_rows = list(changelist.queryset[: MOST_ROWS + 1])
    rows = first_rows[:MOST_ROWS]
    without_hidden(user.pk, changelist.may, rows, lists=False)
    changelist.list_display = [name for name in changelist.list_display if name != "action_checkbox"]
    changelist.list_display_links = None
    lines = [[capfirst(str(header["text"])) for header in result_headers(changelist)]]
    lines += [[_text(str(cell)) for cell in items_for_result(changelist, row, None)] for row in rows]
    filters = [chip["text"] for chip in chips(changelist)]
    notes = []
    if filters:
        notes.append(gettext("Only: %(filters)s") % {"filters": "; ".join(filters)})
    if len(first_rows) > MOST_ROWS:
        text = gettext("These are the first %(most)s records. Filter the list, or export it to get all of them.")
        notes.append(text % {"most": MOST_ROWS})
    if not rows:
        notes.append(gettext("Nothing matches.") if filters else gettext("The list is empty."))
    paper = Paper(capfirst(str(changelist.opts.verbose_name_plural)), site.name, foot=foot_of(site, user), is_wide=True)
    body: list[Flowable] = [paragraph(note, BODY) for note in notes]
    texts = [paper.title, paper.subtitle, paper.foot, *notes, *(text for line in lines for text in line)]
    return set_on_pages(paper, [*body, _table(lines)] if rows else body, texts)


def _text(cell: str) -> str:
    """Return a cell of the list as text; Django shows yes and no as pictures."""
    text = without_markup(cell)
    return str(YES_OR_NO.get(text, text) if "<img" in cell else text) or NOTHING


def _table(lines: Sequence[Sequence[str]]) -> Flowable:
    """Return the lines as a table whose first line is repeated on each page; very long texts are cut."""
    widths = _widths(list(zip(*lines, strict=True)))
    head, *body = lines
    cells = [[paragraph(text, HEAD) for text in head], *(_cells(line, widths) for line in body)]
    return LongTable(cells, colWidths=widths, style=(*LINES.getCommands(), HEADING, FONT), repeatRows=1, hAlign="LEFT")


def _cells(line: Sequence[str], widths: Sequence[float]) -> Sequence[str | Flowable]:
    """Return the cells of a record: broken into lines here, which takes a tenth of the time, if all are in one font."""
    texts = [_cut(text, width) for text, width in zip(line, widths, strict=True)]
    if any(is_right_to_left(text) or is_east_asian(text) for text in texts):
        return [paragraph(text, CELL) for text in texts]
    return ["\n".join(wrap_text(text, width - GAP, CELL)) for text, width in zip(texts, widths, strict=True)]


def _widths(columns: Sequence[Sequence[str]]) -> list[float]:
    """Return the widths of columns of texts: no word is broken if all fit, and long texts share the rest."""
    least, preferred = [], []
    for head, *texts in columns:
        word = max((word for text in texts for word in text.split()), key=len, default="")
        head_width = max(stringWidth(part, BOLD, 8) for part in (*head.split(), ""))
        least.append(max(head_width, min(stringWidth(word, PLAIN, 8), LONGEST_WORD)) + GAP)
        preferred.append(min(max(map(len, (head, *texts))), 60) * LETTER)
    remaining_width = WIDTH - sum(least)
    if remaining_width < 0:
        return [WIDTH * part / sum(least) for part in least]
    missing_widths = [max(width - part, 0) for width, part in zip(preferred, least, strict=True)]
    return [
        part + remaining_width * share / (sum(missing_widths) or 1)
        for part, share in zip(least, missing_widths, strict=True)
    ]


def _cut(text: str, width: float) -> str:
    lines = text.splitlines()
    if len(lines) > LINES_OF_CELL:
        text = "\n".join(lines[:LINES_OF_CELL]) + " …"
    most = int(width / LETTER) * LINES_OF_CELL
    return text if len(text) <= most else f"{text[: max(most - 2, 1)]} …"
