"""Plain functions that make PDF files for tests."""

from io import BytesIO
from typing import Any

from pypdf import PdfReader, PdfWriter
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


def changed(content: bytes, change: Any) -> bytes:
    """Return the PDF after a change of its writer."""
    writer = PdfWriter(clone_from=PdfReader(BytesIO(content)))
    change(writer)
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


def texts_of(content: bytes) -> list[str]:
    """Return the text of each page, with single blanks."""
    return [" ".join(page.extract_text().split()) for page in PdfReader(BytesIO(content)).pages]
