"""Text with scripts that are written from right to left.

The PDF library prints letters from left to right in their stored order. Therefore this module breaks the lines first,
gives Arabic letters the shapes that depend on their neighbours, and puts each line in visual order (Unicode, Annex 9).
"""

import re
import unicodedata

from arabic_reshaper import ArabicReshaper
from bidi import get_display
from bidi.mirror import MIRRORED
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Flowable

from records.dashboard.printing.fonts import stretches, width_of

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_MARK = "\N{COMBINING GRAPHEME JOINER}"
_MIRRORED = re.compile("[{}]".format(re.escape("".join(MIRRORED))))
_REVERSED = re.compile(f"{_MARK}{_MIRRORED.pattern}")
# Vowel signs are kept as they were written; the one ligature that the font does not have is not used.
_reshaper = ArabicReshaper(configuration={"delete_harakat": False, "ARABIC LIGATURE ALLAH": False})

Line = tuple[str, bool]
"""A line in its visual order, and whether its paragraph is read from right to left."""


def is_right_to_left(text: str) -> bool:
    """Return whether the text contains letters that are written from right to left."""
    return _RIGHT_TO_LEFT.search(text) is not None


def in_shape(text: str) -> str:
    """Return the text with each Arabic letter in the shape that it has between its neighbours."""
    return str(_reshaper.reshape(text)) if is_right_to_left(text) else text


def visual_lines(text: str, width: float, style: ParagraphStyle) -> list[Line]:
    """Return the text's lines of at most this width (in points), each in the order in which it is printed."""
    lines: list[Line] = []
    for paragraph in text.split("\n"):
        from_right = _begins_right_to_left(paragraph)
        for line in wrap_text(in_shape(paragraph), width, style):
            lines.append((_as_read(line, from_right=from_right), from_right))
    return lines


def _as_read(line: str, *, from_right: bool) -> str:
    """Return the line in its visual order, with brackets and the like mirrored in reversed text (rule L4).

    The library reorders brackets but does not mirror them. To find out which ones are in reversed text, each gets an
    invisible mark after it: if the mark comes out before its bracket, the bracket was reversed.
    """
    with_marks = _MIRRORED.sub(rf"\g<0>{_MARK}", line.replace(_MARK, ""))
    visual = str(get_display(with_marks, base_dir="R" if from_right else "L"))
    mirrored = _REVERSED.sub(lambda match: MIRRORED[match[0][1]], visual)
    return mirrored.replace(_MARK, "")


def _begins_right_to_left(paragraph: str) -> bool:
    """Return the direction of the first letter that has one (rule P2)."""
    for letter in paragraph:
        direction = unicodedata.bidirectional(letter)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False


def wrap_text(text: str, width: float, style: ParagraphStyle) -> list[str]:
    """Return lines of at most this width (in points); only a word that is wider than a line is broken."""
    lines = []
    for line in text.replace("\t", "    ").split("\n"):
        if _width(line, style) <= width:
            lines.append(line)
        else:
            lines += _wrap_line(line, width, style)
    return lines


def _wrap_line(paragraph: str, width: float, style: ParagraphStyle) -> list[str]:
    lines, line = [], ""
    for word in paragraph.split(" "):
        longer = f"{line} {word}" if line else word
        if _width(longer, style) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        line = word
        while _width(line, style) > width and len(line) > 1:
            fits = _letters_that_fit(line, width, style)
            lines.append(line[:fits])
            line = line[fits:]
    return [*lines, line]


def _width(line: str, style: ParagraphStyle) -> float:
    return width_of(line, style.fontName, style.fontSize)


def _letters_that_fit(word: str, width: float, style: ParagraphStyle) -> int:
    """Return how many letters of a long word fit into a line, at least one; uses a binary search."""
    least, most = 1, len(word)
    while least < most:
        middle = (least + most + 1) // 2
        if _width(word[:middle], style) <= width:
            least = middle
        else:
            most = middle - 1
    return least


class BidirectionalText(Flowable):
    """A text of both directions on paper; it can continue on the next page after any line."""

    def __init__(self, text: str, style: ParagraphStyle, lines: list[Line] | None = None) -> None:
        super().__init__()
        self.text, self.style, self.lines = text, style, lines
        self.spaceBefore, self.spaceAfter = style.spaceBefore, style.spaceAfter
        self.keepWithNext = getattr(style, "keepWithNext", 0)

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        """Break the text into lines of the width, and return the space that they need."""
        if self.lines is None:
            self.lines = visual_lines(self.text, width, self.style)
        self.width, self.height = width, len(self.lines) * self.style.leading
        return self.width, self.height

    def split(self, width: float, height: float) -> list[Flowable]:
        """Return the lines that fit, and the rest."""
        self.wrap(width, height)
        lines, fitting = self.lines or [], int(height // self.style.leading)
        if fitting < 1:
            return []
        parts = (lines[:fitting], lines[fitting:])
        return [BidirectionalText("", self.style, part) for part in parts if part]

    def draw(self) -> None:
        """Print the lines from the top; those that are read from right to left are aligned at the right."""
        canvas = self.canv
        canvas.setFillColor(self.style.textColor)
        name, size = self.style.fontName, self.style.fontSize
        for number, (line, from_right) in enumerate(self.lines or [], 1):
            x = self.width - width_of(line, name, size) if from_right else 0
            y = self.height - number * self.style.leading + (self.style.leading - size)
            for font, stretch in stretches(line, name):
                canvas.setFont(font, size)
                canvas.drawString(x, y, stretch)
                x += width_of(stretch, name, size)
