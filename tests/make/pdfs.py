"""Plain functions that make PDF files for tests."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdfium2 import PdfDocument
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

Size = tuple[float, float]


def pdf(*texts: str, size: Size = A4) -> bytes:
    """Return a PDF with a page for each text."""
    out = BytesIO()
    canvas = Canvas(out, pagesize=size)
    for text in texts or ("Wash your hands.",):
        canvas.drawString(20, 20, text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def change_pdf(content: bytes, change: Any) -> bytes:
    """Return the PDF after a change of its writer."""
    writer = PdfWriter(clone_from=PdfReader(BytesIO(content)))
    change(writer)
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def texts_of(content: bytes) -> list[str]:
    """Return the text of each page, with single blanks; PDFium reads it in a tenth of the time that pypdf takes."""
    with PdfDocument(content) as document:
        return [" ".join(page.get_textpage().get_text_range().split()) for page in document]


Box = tuple[int, int, int, int]
SCALE = 2
"""How many points of a picture there are for each point of a page."""


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page as it is drawn: a picture that is white where something is, and each letter of its text with its box."""

    picture: Image.Image
    letters: list[tuple[str, Box]]

    def missing_letters(self) -> list[str]:
        """Return the letters in whose boxes nothing is; not East Asian ones, whose fonts are those of the reader."""
        letters = ((letter, box) for letter, box in self.letters if unicodedata.east_asian_width(letter) not in "WF")
        return [letter for letter, box in letters if not self.picture.crop(box).getbbox()]

    def overlapping_letters(self) -> list[str]:
        """Return the letters that are drawn over another one by a third of their box or more."""
        overlaps, rows = [], sorted(self.letters, key=lambda letter: letter[1][1])
        for index, (letter, box) in enumerate(rows):
            for other, beside in rows[index + 1 :]:
                if beside[1] >= box[3]:
                    break
                wide, high = min(box[2], beside[2]) - max(box[0], beside[0]), min(box[3], beside[3]) - beside[1]
                smaller = min((right - left) * (low - top) for left, top, right, low in (box, beside))
                if wide > 0 and high > 0 and 3 * wide * high >= smaller:
                    overlaps.append(f"{letter} and {other} at {box}")
        return overlaps

    def margin(self) -> float:
        """Return how far everything that is drawn is from the edges of the page, in points."""
        box = self.picture.getbbox()
        assert box
        return min(box[0], box[1], self.picture.width - box[2], self.picture.height - box[3]) / SCALE


def _ink(grey: int) -> int:
    """Return 255 for a grey (of 255, which is white) that counts as drawn, also as the edge of a thin stroke."""
    return 255 * (grey < 235)


def drawn_pages(content: bytes, most: int = 3) -> Iterator[DrawnPage]:
    """Yield the first pages of a PDF as PDFium draws them, which browsers use too."""
    document = PdfDocument(content)
    for number in range(min(most, len(document))):
        page = document[number]
        picture, text, letters = page.render(scale=SCALE, grayscale=True).to_pil(), page.get_textpage(), []
        for index in range(text.count_chars()):
            letter = text.get_text_range(index, 1)
            if not letter.strip():
                continue
            left, low, right, top = text.get_charbox(index)
            x, y = (round(left * SCALE), round(right * SCALE)), (round(top * SCALE), round(low * SCALE))
            letters.append((letter, (x[0], picture.height - y[0] - 1, x[1] + 1, picture.height - y[1] + 1)))
        yield DrawnPage(picture.point(_ink), letters)
    document.close()
